"""Put small faults into scores, forms, graphs, search and pairs, and count those that tests detect.

`python benchmarks/mutants.py --mutants 300 --minutes 60` draws mutants with a seed and resumes the
last run. Survivors are tried again once a test was added. Equivalent mutants, which compute the
same results, are listed with the reason in `benchmarks/mutants_equivalent.toml`. Counts go to the
place of the seed in `docs/reliability.md`; the command fails if less than 95 % of the other mutants
are detected.

Tests that are written for the survivors of a seed increase its share. So write the counts of a new
seed with `--first` before that; they are kept with the later ones.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from contextlib import suppress
from pathlib import Path

# Threads of BLAS do not survive a fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from measured_pages import show
from mutation.covering import Cover, measure
from mutation.trying import (
    ARGUMENTS,
    compile_tests,
    copy_checkout,
    fork,
    outcome,
    prepare,
    run_tests,
    wait_for_any,
)

ROOT = Path(__file__).parents[1]
PACKAGE = "src/linkselect"
PARTS = ("scores", "_forms.py", "_samples/moments.py", "graphs", "_search", "pairs")
# The tests of these parts, and those that compare every selector with its definition.
TESTS = [
    "test_forms",
    "test_blocks",
    "test_defaults",
    "test_published",
    "test_supervision",
    "samples/test_*",
    "scores/test_*",
    "graphs/test_*",
    "search/test_*",
    "pairs/test_*",
    "selectors/test_*",
    "cluster/test_*",
    "all_selectors/test_*",
    "docs/test_bibliography",
]
STATE = Path(__file__).with_suffix(".jsonl")
COVERS = Path(__file__).parent / "mutants_cover"
EQUIVALENT = Path(__file__).parent / "mutants_equivalent.toml"
PAGE = ROOT / "docs" / "reliability.md"
SEED = 21
# Seconds of tests per mutant, measured without it: few at first, and more for survivors that are
# not known to be equivalent.
BUDGETS = (5, 30)
GOAL = 0.95
N_CONTROLS = 3


def source_files():
    """Return the files that are mutated, as paths from the root."""
    package = ROOT / PACKAGE
    files = [file for part in PARTS for file in sorted((package / part).glob("*.py"))]
    return [
        str(file.relative_to(ROOT))
        for file in [*files, package / "forms.py", package / "moments.py"]
    ]


def part_of(path):
    return path.removeprefix(f"{PACKAGE}/").split("/")[0]


def draw(n_mutants, seed):
    """Return the drawn mutants, and the number of places they were drawn from."""
    # Not installed where the tests import this file.
    from mutation.drawing import chosen_operators, drawn, mutant_of, places

    operators = chosen_operators()
    codes = {path: (ROOT / path).read_text() for path in source_files()}
    found = [place for path, code in codes.items() for place in places(path, code, operators)]
    chosen = drawn(found, n_mutants, seed)
    return [mutant_of(place, codes[place.path], operators, seed) for place in chosen], len(found)


def hash_of(*files):
    """Return a hash of the content of files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def test_units():
    """Return the units of the coverage: each file of tests, and the doctests of each part."""
    files = sorted({file for name in TESTS for file in (ROOT / "tests").glob(f"{name}.py")})
    sources = [ROOT / path for path in source_files()]
    helpers = sorted((ROOT / "tests" / "helpers").glob("*.py"))
    common = hash_of(*sources, *helpers)
    units = {
        str(file.relative_to(ROOT)): COVERS / f"{file.stem}-{common}-{hash_of(file)}.json"
        for file in files
    }
    for part in (*PARTS, "selectors"):
        inside = sorted((ROOT / PACKAGE / part).glob("*.py")) or [ROOT / PACKAGE / part]
        units[f"{PACKAGE}/{part}"] = COVERS / f"{Path(part).stem}-{common}-{hash_of(*inside)}.json"
    return units


def run_all(works, folders, limit, each):
    """Run functions in processes, one per folder at a time; call `each` with every outcome."""
    running, free = {}, list(folders)
    works = iter(works)
    try:
        while True:
            while free and (work := next(works, None)) is not None:
                folder = free.pop()
                log = folder.with_suffix(".log")
                subject, function = work(folder)
                pid = fork(function, folder, log)
                running[pid] = (time.monotonic(), subject, folder, log)
            if not running:
                return
            pid, code = wait_for_any({pid: entry[0] for pid, entry in running.items()}, limit)
            started, subject, folder, log = running.pop(pid)
            each(subject, code, time.monotonic() - started, folder, log)
            free.append(folder)
    finally:
        for pid in running:
            with suppress(ProcessLookupError):  # it has not started yet
                os.killpg(pid, signal.SIGKILL)


def measured_cover(folders):
    """Measure which test reaches which line, unless measured before."""
    COVERS.mkdir(exist_ok=True)
    units = test_units()
    for file in set(COVERS.glob("*.json")) - set(units.values()):
        file.unlink()

    def works():
        for unit, target in units.items():
            if not target.exists():
                yield lambda folder, unit=unit, target=target: (
                    (unit, target),
                    lambda: measure(
                        [unit],
                        [folder / path for path in source_files()],
                        [argument for argument in ARGUMENTS if argument != "-x"],
                        target,
                    ),
                )

    def each(subject, code, seconds, folder, log):
        unit, target = subject
        if not target.exists():
            raise SystemExit(f"{unit} could not be measured:\n{log.read_text()[-2000:]}")
        content = json.loads(target.read_text())
        lines = {
            os.path.relpath(source, folder): lines for source, lines in content["lines"].items()
        }
        target.write_text(json.dumps({**content, "lines": lines}))
        print(f"{unit}: {len(content['seconds'])} tests in {seconds:.0f} s, {code}", flush=True)

    run_all(works(), folders, 3600, each)
    return Cover([json.loads(target.read_text()) for target in units.values()])


def tests_of(mutant, cover, budget):
    """Return the tests to run for a mutant, in their order."""
    code = (ROOT / mutant.path).read_text()
    return cover.in_order(cover.reaching(mutant.path, code, mutant.line), mutant.path, budget)


def hash_of_tests(tests, root=ROOT):
    """Return a hash of the names of tests and of their files."""
    names = hashlib.sha256("\n".join(sorted(tests)).encode()).hexdigest()[:16]
    return names + hash_of(*sorted({root / test.split("::")[0] for test in tests}))


def try_all(mutants, cover, folders, budget, end, state=None):
    """Run the tests of each mutant, and add a line for each to the state."""
    found = {}

    def record(mutant, result, seconds, said):
        line = {
            **{name: getattr(mutant, name) for name in ("path", "function", "before", "after")},
            "outcome": result,
            "seconds": round(seconds, 1),
            "said": said,
            "budget": budget,
            "tests": hash_of_tests(tests_of(mutant, cover, BUDGETS[-1]), folders[0]),
        }
        found[mutant.key] = line
        if state is not None:
            state.write(json.dumps(line) + "\n")
            state.flush()
        print(f"{result} ({seconds:.0f} s) {mutant.line}: {mutant.key}", flush=True)

    def works():
        for mutant in mutants:
            tests = tests_of(mutant, cover, budget)
            if time.monotonic() > end:
                return
            if not tests:
                record(mutant, "survived", 0.0, "no test reaches it")
                continue
            yield lambda folder, mutant=mutant, tests=tests: (
                mutant,
                lambda: _with_mutant(folder, mutant, tests, cover.seconds),
            )

    def each(mutant, code, seconds, folder, log):
        (folder / mutant.path).write_bytes((ROOT / mutant.path).read_bytes())
        lines = [line for line in log.read_text(errors="replace").splitlines() if line]
        said = next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "")
        record(mutant, outcome(code), seconds, said[:200])

    run_all(works(), folders, 1200, each)
    return found


def _with_mutant(folder, mutant, tests, seconds):
    file = folder / mutant.path
    file.write_text(mutant.code)
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()
    return run_tests(tests, seconds)


def key_of(line):
    return f"{line['path']} {line['function']} {line['before']} -> {line['after']}"


def read_state():
    lines = STATE.read_text().splitlines() if STATE.exists() else []
    return {key_of(line): line for line in map(json.loads, lines)}


def read_equivalent():
    """Return the reasons why mutants are equivalent, by key."""
    if not EQUIVALENT.exists():
        return {}
    given = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    return {
        f"{PACKAGE}/{one['file']} {one['function']} {one['before']} -> {one['after']}": one["why"]
        for one in given
    }


def counts_of(lines, equivalent):
    """Return the numbers of drawn, detected, equivalent and missed mutants."""
    detected = sum(line["outcome"] != "survived" for line in lines)
    survivors = [line for line in lines if line["outcome"] == "survived"]
    same = sum(key_of(line) in equivalent for line in survivors)
    return len(lines), detected, same, len(survivors) - same


def share_of(counts):
    return counts[1] / max(counts[1] + counts[3], 1)


def table_of(lines, equivalent, n_places, seed):
    """Return the lines of the page for a seed: the counts of each part."""
    ends = Counter(line["outcome"] for line in lines)
    table = [
        f"Of {len(lines)} mutants (seed {seed}, {n_places:,} places), {ends['killed']} were "
        f"detected by failed tests, {ends['hangs']} by timeouts and {ends['crashes']} by crashes.",
        "",
        "| part | mutants | detected | equivalent | missed | share detected |",
        "|---|---|---|---|---|---|",
    ]
    for part in (*PARTS, None):
        inside = [line for line in lines if part in (None, part_of(line["path"]))]
        counts = counts_of(inside, equivalent)
        name = f"`{part}`" if part else "all"
        if inside:
            table.append(
                f"| {name} | {' | '.join(map(str, counts))} | {100 * share_of(counts):.1f} % |"
            )
    return table


def place_of(seed, is_first):
    """Return the name of the place on the page for the counts of a seed."""
    return f"mutants, seed {seed}{', at first' if is_first else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    parser.add_argument(
        "--first", action="store_true", help="write counts from before tests for these mutants"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that temporary folders are removed
    if options.fresh:
        STATE.unlink(missing_ok=True)
    os.environ.setdefault("LINKSELECT_DATA", str(ROOT.parent / "shared" / "data"))
    mutants, n_places = draw(options.mutants, options.seed)
    prepare()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as name, STATE.open("a") as state:
        folders = [Path(name) / f"copy{number}" for number in range(options.jobs)]
        for folder in folders:
            copy_checkout(ROOT, folder)
        cover = measured_cover(folders)
        known = read_state()
        if len(known.keys() & {mutant.key for mutant in mutants}) < len(mutants) / 2:
            for folder in folders:  # worth it for many mutants
                os.waitpid(fork(lambda: compile_tests(test_units()), folder, folder / "log"), 0)
        check_controls(mutants, cover, folders, end)
        same = read_equivalent()
        for budget in BUDGETS:
            to_try = [
                mutant
                for mutant in mutants
                if not (mutant.key in known and mutant.key in same)
                and needs_trial(known.get(mutant.key), tests_of(mutant, cover, BUDGETS[-1]), budget)
            ]
            known |= try_all(to_try, cover, folders, budget, end, state)
    sys.exit(report(mutants, known, n_places, options))


def needs_trial(line, tests, budget):
    """Return whether a mutant was never tried, or survived other or fewer tests."""
    if line is None:
        return True
    is_same = line["tests"] == hash_of_tests(tests) and line["budget"] >= budget
    return line["outcome"] == "survived" and not is_same


def check_controls(mutants, cover, folders, end):
    """Run the tests of some mutants on the unchanged code; stop if one of them fails."""
    unchanged = [
        type(mutant)(mutant.path, "control", mutant.line, "", "", (ROOT / mutant.path).read_text())
        for mutant in mutants[:N_CONTROLS]
    ]
    found = try_all(unchanged, cover, folders, BUDGETS[0], end)
    failed = [line for line in found.values() if line["outcome"] != "survived"]
    if failed:
        raise SystemExit(f"Tests fail on unchanged code: {failed}")


def report(mutants, known, n_places, options):
    """Print unexplained survivors, write the page; return whether the goal was missed."""
    equivalent = read_equivalent()
    lines = [known[mutant.key] for mutant in mutants if mutant.key in known]
    for line in lines:
        if line["outcome"] == "survived" and key_of(line) not in equivalent:
            print(f"missed: {key_of(line)}")
        if line["outcome"] != "survived" and key_of(line) in equivalent:
            print(f"listed as equivalent, but detected: {key_of(line)}")
    counts = counts_of(lines, equivalent)
    print(
        f"{counts[0]} of {len(mutants)} mutants tried: {counts[1]} detected, {counts[2]} "
        f"equivalent, {counts[3]} missed; {100 * share_of(counts):.1f} % detected of the others"
    )
    place = place_of(options.seed, options.first)
    has_place = f"<!-- measured: {place} -->" in PAGE.read_text()
    show({place: table_of(lines, equivalent, n_places, options.seed)}, PAGE, has_place)
    return share_of(counts) < GOAL


if __name__ == "__main__":
    main()
