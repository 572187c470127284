"""Feed damaged files of every format to the command line, each in a separate process.

`python benchmarks/fuzz.py --files 10000 --minutes 30` resumes the last run. A file fails if the
command crashes, prints a traceback, reports an internal error, takes more than 20 seconds, or
exceeds its memory. Failing files are kept in `benchmarks/fuzz_found` for tests; counts and seeds go
between the marks of `docs/reliability.md`.

Processes are forked from one that has imported everything and parsed the command of each kind,
since both take longer than reading a file.
"""

import argparse
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

# Threads of linear algebra do not survive a fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.mutated_files import KINDS, delimited, mutated, table  # noqa: E402

STATE = Path(__file__).with_suffix(".jsonl")
FOUND = Path(__file__).parent / "fuzz_found"
PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- fuzz: start -->", "<!-- fuzz: end -->"
SECONDS = 20
# The memory limit for the table, and for the whole process above its start.
MAX_MEMORY = "200MB"
ROOM = 600 << 20


def name_for(kind):
    return f"t{kind}" if kind.startswith(".") else kind


def command_for(kind, path, folder):
    """Return the arguments of the command that reads a file of this kind."""
    if kind.startswith("pairs"):
        good = str(folder / "good.csv")
        options = ["--drop", "class", "--id-column", "id", "--method", "constraint"]
        return ["rank", good, "--pairs", str(path), *options, "--no-validate"]
    label = {".npy": "0", ".svm": "y"}.get(path.suffix, "class")
    options = ["--label", label, "--method", "fisher", "--no-validate", "--out"]
    if not kind.endswith((".npy", ".mat", ".arff", ".svm")):
        options = ["--id-column", "id", *options]
    if kind.startswith("by-parts"):
        options = ["--by-parts", *options]
    return ["rank", str(path), *options, str(folder / "ranking.csv"), "--max-memory", MAX_MEMORY]


def run_apart(arguments, log, room=ROOM, seconds=SECONDS):
    """Run a command in a separate process; return its exit code and its largest memory."""
    pid = os.fork()
    if pid == 0:
        _as_child(arguments, log, room, seconds)
    give_up = time.monotonic() + seconds
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > give_up:
            os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            return "hangs", usage.ru_maxrss << 10
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    return code, usage.ru_maxrss << 10


def _as_child(arguments, log, room, seconds):
    file = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(file, 1)
    os.dup2(file, 2)
    size = _data_size() + room
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    code = 99
    try:
        from linkselect.cli import run

        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _data_size():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if "VmData" in line)


def judge(code, text):
    """Return what is wrong with the outcome of a command, or an empty string."""
    if code == "hangs":
        return "did not end in time"
    if code not in (0, 1, 2):
        return f"ended with {code}"
    if "Traceback" in text:
        return "printed a traceback"
    if "bug in linkselect" in text:
        return "reported an internal error"
    if code and not text.strip():
        return "failed without a message"
    return ""


def try_one(kind, seed, folder):
    """Feed one damaged file to the command; return a line of the state."""
    content = mutated(kind, seed)[1]
    path = folder / name_for(kind)
    path.write_bytes(content)
    log = folder / "log"
    code, memory = run_apart(command_for(kind, path, folder), log)
    text = log.read_text(errors="replace")
    wrong = judge(code, text)
    if wrong:
        FOUND.mkdir(exist_ok=True)
        (FOUND / f"{seed}-{path.name}").write_bytes(content)
        (FOUND / f"{seed}-{path.name}.log").write_text(f"{wrong}\n{text}")
    outcome = wrong or {0: "ranked", 1: "refused", 2: "refused"}[code]
    return {"kind": kind, "seed": seed, "outcome": outcome, "memory": memory}


class Parsed:
    """A cache of parsed command lines."""

    def __init__(self, app):
        self._app, self._known = app, {}

    def __call__(self, arguments, **options):
        key = tuple(arguments)
        if key not in self._known:
            self._known[key] = self._app.parse_args(arguments, exit_on_error=False)[:2]
        command, bound = self._known[key]
        return command(*bound.args, **bound.kwargs)


def prepare(folder):
    """Import what the command needs, and write the table for the pairs."""
    import numpy as np

    from linkselect import cli

    parsed = Parsed(cli.make_app())
    cli.make_app = lambda: parsed

    (folder / "good.csv").write_bytes(delimited(table(np.random.default_rng(0))))
    for kind in KINDS:  # imports persist in this process
        good = mutated(kind, 0)[0]
        path = folder / name_for(kind)
        path.write_bytes(good)
        with Path(os.devnull).open("w") as nowhere:
            streams = sys.stdout, sys.stderr
            sys.stdout = sys.stderr = nowhere
            code = cli.run(command_for(kind, path, folder))
            sys.stdout, sys.stderr = streams
        if code:
            raise SystemExit(f"The undamaged {kind} is not ranked either.")
    gc.collect()
    gc.freeze()  # so that children do not copy memory that they only read


def read_state():
    if not STATE.exists():
        return []
    return [json.loads(line) for line in STATE.read_text().splitlines()]


def go_on(done, n_files, minutes, state, before=()):
    """Try files up to a number or time limit; add a line for each to the state.

    Lines of files in `before` are marked as failed before.
    """
    end = time.monotonic() + 60 * minutes
    known = {(line["kind"], line["seed"]) for line in done}
    left = (one for one in ((kind, seed) for seed in count() for kind in KINDS) if one not in known)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        while len(done) < n_files and time.monotonic() < end:
            kind, seed = next(left)
            line = try_one(kind, seed, folder)
            if (kind, seed) in before:
                line["failed_before"] = True
            done.append(line)
            state.write(json.dumps(line) + "\n")
            state.flush()
    return done


def write_page(done):
    """Write the counts of each kind to the page."""
    lines = ["| format | files | ranked | refused | failed |", "|---|---|---|---|---|"]
    for kind in KINDS:
        counts = Counter(line["outcome"] for line in done if line["kind"] == kind)
        failed = counts.total() - counts["ranked"] - counts["refused"]
        row = (kind, counts.total(), counts["ranked"], counts["refused"], failed)
        lines.append(f"| {' | '.join(map(str, row))} |")
    most = max((line["memory"] for line in done), default=0) >> 20
    n_mended = sum("failed_before" in line for line in done)
    mended = f" ({n_mended} failed at first and were fixed)" * bool(n_mended)
    said = (
        f"We tested {len(done):,} files generated with seeds 0 to "
        f"{max((line['seed'] for line in done), default=0):,}; "
        f"{sum(is_failure(line) for line in done)} failed{mended}. "
        f"No process used more than {most} MB, including Python and all libraries."
    )
    before, rest = PAGE.read_text().split(START)
    table_text = "\n".join(lines)
    PAGE.write_text(f"{before}{START}\n{said}\n\n{table_text}\n{END}{rest.split(END)[1]}")


def is_failure(line):
    return line["outcome"] not in ("ranked", "refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    parser.add_argument("--again", action="store_true", help="repeat the files that failed")
    parser.add_argument("--trial", action="store_true", help="begin at seed 0, and store nothing")
    options = parser.parse_args()
    if options.fresh:
        STATE.unlink(missing_ok=True)
    before = set()
    if options.again:
        before = {(line["kind"], line["seed"]) for line in read_state() if is_failure(line)}
        kept = [json.dumps(line) for line in read_state() if not is_failure(line)]
        STATE.write_text("".join(f"{line}\n" for line in kept))
    if options.trial:
        with Path(os.devnull).open("w") as nowhere:
            done = go_on([], options.files, options.minutes, nowhere)
    else:
        with STATE.open("a") as state:
            done = go_on(read_state(), options.files, options.minutes, state, before)
        write_page(done)
    failed = [line for line in done if is_failure(line)]
    for line in failed[:20]:
        print(line)
    print(f"{len(done)} files, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
