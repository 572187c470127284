"""Kill processes at random moments and damage their stores: no finished result may be lost.

`python benchmarks/kills.py --data-dir ../shared/data` does three things, each with a seed. It kills
`linkselect reproduce` and checks that every stored result survives and that the finished table
equals that of an undisturbed run. It kills a process that keeps rewriting a file and checks that
the file is intact. And it damages the stored results, after which `reproduce` must make the same
table or report an error. The counts go between the marks of `docs/reliability.md`.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import numpy as np  # noqa: E402
from tests.helpers.mutated_files import flip_bits, overwrite_a_number  # noqa: E402

from fuzz import judge, run_apart  # noqa: E402
from linkselect._files import written_whole  # noqa: E402
from linkselect.cli import run  # noqa: E402

STATE = Path(__file__).with_suffix(".jsonl")
PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- kills: start -->", "<!-- kills: end -->"
PAPER, TABLE, RUNS = "constraint-score-2008", "2", "10"
SIZE = 200_000
# Limits of bytes and seconds for a reproduction.
LIMITS = (4 << 30, 300)
UPDATES = [
    "result = NULL",
    "result = 'other'",
    """result = '{"values": [1]}'""",
    "result = x'ff00'",
    "seconds = NULL",
    "seconds = 'long'",
    "key = 'another'",
    "protocol = 'another'",
    "paper = NULL",
    "checksum = ''",
]


def reproduce(data_dir, folder):
    return [
        *("reproduce", PAPER, "--table", TABLE, "--runs", RUNS, "--jobs", "1"),
        *("--data-dir", str(data_dir), "--out", str(folder)),
    ]


def rows_of(folder):
    """Return the stored results by key."""
    store = folder / "results.sqlite"
    if not store.exists():
        return {}
    with closing(sqlite3.connect(store)) as connection:
        try:
            found = connection.execute("SELECT key, result FROM results").fetchall()
        except sqlite3.OperationalError:  # killed before the table was made
            return {}
    return dict(found)


def killed(work, seconds):
    """Run a function in a process and kill it after some seconds; return whether it was running."""
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    ended, _ = os.waitpid(pid, os.WNOHANG)
    if ended:
        return False
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


class Kills:
    """A folder whose processes are killed again and again."""

    def __init__(self, data_dir, scratch):
        self.data_dir, self.scratch = data_dir, scratch
        self.right = scratch / "right"
        # In this process, so that forked processes need no imports.
        with (scratch / "log").open("w") as log, redirect_stdout(log), redirect_stderr(log):
            code = run(reproduce(data_dir, self.right))
        if code:
            raise SystemExit((scratch / "log").read_text())
        start = time.monotonic()
        run_apart(reproduce(data_dir, scratch / "again"), scratch / "log", *LIMITS)
        # So that kills interrupt the work on any machine.
        self.seconds = time.monotonic() - start
        self.table = (self.right / f"table-{TABLE}.csv").read_bytes()
        self.rows = {key: json.loads(text) for key, text in rows_of(self.right).items()}

    def reproduction(self, seed):
        """Kill a reproduction up to five times, then let it finish."""
        rng = random.Random(seed)
        folder = self.scratch / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        before, n_kills = {}, 0
        for _ in range(5):
            seconds = rng.uniform(0.02, 0.6) * self.seconds
            n_kills += killed(lambda: run(reproduce(self.data_dir, folder)), seconds)
            after = rows_of(folder)
            if any(after.get(key) != text for key, text in before.items()):
                return "lost a result", n_kills
            before = after
        code, _ = run_apart(reproduce(self.data_dir, folder), self.scratch / "log", *LIMITS)
        wrong = judge(code, (self.scratch / "log").read_text(errors="replace"))
        if wrong or code:
            return wrong or "did not resume", n_kills
        same = (folder / f"table-{TABLE}.csv").read_bytes() == self.table
        return ("intact" if same else "another table"), n_kills

    def file(self, seed):
        """Kill a process that keeps rewriting a file."""
        path = self.scratch / "file.csv"

        def write():
            for version in range(1_000_000):
                with written_whole(path) as part:
                    part.write_text(f"{version:09}\n" * (SIZE // 10))

        n_kills = killed(write, random.Random(seed).uniform(0.001, 0.2))
        lines = set(path.read_text().split("\n")) if path.exists() else set()
        whole = not lines or (path.stat().st_size == SIZE and len(lines - {""}) == 1)
        for left in self.scratch.glob(".file.*"):
            left.unlink()
        return ("intact" if whole else "incomplete"), n_kills

    def store(self, seed):
        """Damage the stored results, and reproduce the table from them."""
        rng = np.random.default_rng(seed)
        folder = self.scratch / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.right, folder)
        (folder / f"table-{TABLE}.csv").unlink()
        store = folder / "results.sqlite"
        if seed % 2:
            update = UPDATES[seed // 2 % len(UPDATES)]
            with closing(sqlite3.connect(store)) as connection, connection:
                connection.execute(
                    f"UPDATE OR IGNORE results SET {update} WHERE rowid % 7 = ?", (seed % 7,)
                )
        else:
            change = flip_bits if rng.random() < 0.5 else overwrite_a_number
            content = bytearray(store.read_bytes())
            if rng.random() < 0.2:
                content = content[: int(rng.integers(len(content)))]
            store.write_bytes(change(content, rng) if content else b"")
        code, _ = run_apart(reproduce(self.data_dir, folder), self.scratch / "log", *LIMITS)
        wrong = judge(code, (self.scratch / "log").read_text(errors="replace"))
        if wrong:
            return wrong, 0
        if code:
            return "refused", 0
        same = (folder / f"table-{TABLE}.csv").read_bytes() == self.table
        return ("same table" if same else "another table"), 0


GOOD = {"intact", "refused", "same table"}
WORDS = {
    "reproduction": "`reproduce` killed",
    "file": "a process that writes a file killed",
    "store": "stored results damaged",
}


def read_state():
    return [json.loads(line) for line in STATE.read_text().splitlines()] if STATE.exists() else []


def go_on(done, options):
    end = time.monotonic() + 60 * options.minutes
    wanted = {"file": options.files, "store": options.stores, "reproduction": options.runs}
    with tempfile.TemporaryDirectory() as name, STATE.open("a") as state:
        kills = Kills(options.data_dir, Path(name))
        for what, count in wanted.items():
            seeds = {line["seed"] for line in done if line["what"] == what}
            for seed in range(count):
                if seed in seeds or time.monotonic() > end:
                    continue
                outcome, n_kills = getattr(kills, what)(seed)
                line = {"what": what, "seed": seed, "outcome": outcome, "kills": n_kills}
                done.append(line)
                state.write(json.dumps(line) + "\n")
                state.flush()
    return done


def write_page(done):
    lines = ["| trial | times | kills | outcome |", "|---|---|---|---|"]
    n_all = sum(line["kills"] for line in done)
    for what, words in WORDS.items():
        some = [line for line in done if line["what"] == what]
        ends = Counter(line["outcome"] for line in some)
        listed = ", ".join(f"{outcome}: {count}" for outcome, count in ends.most_common())
        n_kills = sum(line["kills"] for line in some)
        lines.append(f"| {words} | {len(some)} | {n_kills or ''} | {listed} |")
    before, rest = PAGE.read_text().split(START)
    said = f"Processes were killed {n_all} times in total, with seeds starting at 0. The last "
    said += "column gives the outcomes and their counts."
    text = "\n".join([said, "", *lines])
    PAGE.write_text(f"{before}{START}\n{text}\n{END}{rest.split(END)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--runs", type=int, default=40, help="reproductions, five kills each")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--stores", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    done = go_on(read_state(), options)
    write_page(done)
    failed = [line for line in done if line["outcome"] not in GOOD]
    for line in failed:
        print(line)
    print(f"{len(done)} trials, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
