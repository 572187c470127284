"""Compare every selector with its definition, seed after seed, and record the counts.

`python benchmarks/thorough.py --minutes 30` resumes the last run; counts of another version of the
library are dropped. Results are in `benchmarks/thorough.json`, and their table goes between the
marks of `docs/verification.md`. A failure names the seed that repeats it.

`python benchmarks/thorough.py --seed 114 --kind scales` shows one problem and compares all on it.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from tests.helpers.comparisons import CASES, compare
from tests.helpers.problems import KINDS, draw_problem

ROOT = Path(__file__).parents[1]
COUNTS = Path(__file__).with_suffix(".json")
PAGE = ROOT / "docs" / "verification.md"
START, END = "<!-- thorough: start -->", "<!-- thorough: end -->"
# Packages that no selector uses.
APART = ("asking", "cli", "cluster", "evaluation", "plot", "report", "reproduction", "__main__.py")
COMPARED = ["comparisons.py", "references.py", "search_references.py", "literal.py", "problems.py"]
STATUSES = ("compared", "refused", "discarded", "failed")


def problem_of(seed, kind):
    return draw_problem(np.random.default_rng([seed, *kind.encode()]), kind)


def run_seed(seed):
    """Compare every case with one problem of every kind; return rows and failures."""
    rows = {case.name: {**dict.fromkeys(STATUSES, 0), "error": 0.0} for case in CASES}
    failures = []
    for kind in KINDS:
        problem = problem_of(seed, kind)
        for case in CASES:
            row = rows[case.name]
            try:
                outcome = compare(case, problem)
            except Exception as error:  # any exception is a failure
                row["failed"] += 1
                said = f"{type(error).__name__}: {error}"[:300]
                failures.append(
                    {"selector": case.name, "kind": kind, "seed": seed, "message": said}
                )
            else:
                row[outcome.status] += 1
                row["error"] = max(row["error"], outcome.error)
    return seed, rows, failures


def fingerprint():
    """Return a hash of the library and of the comparisons, by which counts are kept or dropped."""
    source = ROOT / "src" / "linkselect"
    files = [p for p in source.rglob("*.py") if p.relative_to(source).parts[0] not in APART]
    files += [ROOT / "tests" / "helpers" / name for name in COMPARED]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def load():
    state = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    if state.get("fingerprint") != fingerprint():
        return {"fingerprint": fingerprint(), "seeds": [], "rows": {}, "failures": []}
    return state


def add(state, seed, rows, failures):
    for name, row in rows.items():
        old = state["rows"].setdefault(name, {**dict.fromkeys(STATUSES, 0), "error": 0.0})
        for status in STATUSES:
            old[status] += row[status]
        old["error"] = max(old["error"], row["error"])
    state["seeds"] = sorted([*state["seeds"], seed])
    state["failures"] += failures
    COUNTS.write_text(json.dumps(state, indent=1) + "\n")


def table(state):
    lines = ["| selector | compared | refused | left open | largest error | failures |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    rows = state["rows"].items()
    for name, row in rows:
        error = f"{row['error']:.0e}" if row["error"] else "0"
        counts = f"{row['compared']:,} | {row['refused']:,} | {row['discarded']:,}"
        lines.append(f"| `{name}` | {counts} | {error} | {row['failed']:,} |")
    total = {status: sum(row[status] for _, row in rows) for status in STATUSES}
    counts = f"{total['compared']:,} | {total['refused']:,} | {total['discarded']:,}"
    lines.append(f"| all | {counts} | | {total['failed']:,} |")
    return "\n".join(lines)


def write_page(state):
    before, rest = PAGE.read_text().split(START)
    said = (
        f"With each of {len(state['seeds'])} seeds, one problem of each of {len(KINDS)} kinds was "
        "drawn. The columns give the numbers of problems that were compared, [refused or left "
        "open](#tolerance), and of failures.\n"
    )
    PAGE.write_text(f"{before}{START}\n{said}\n{table(state)}\n{END}{rest.split(END)[1]}")


def go_on(state, minutes, n_seeds, jobs):
    """Compare seed after seed until the time is over or `n_seeds` are done."""
    deadline = time.monotonic() + 60 * minutes
    done = set(state["seeds"])
    waiting = (seed for seed in range(n_seeds) if seed not in done)
    with ProcessPoolExecutor(jobs) as workers:
        running = {workers.submit(run_seed, seed) for seed in islice(waiting, jobs)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for result in finished:
                seed, rows, failures = result.result()
                add(state, seed, rows, failures)
                for failed in failures:
                    where = f"--seed {seed} --kind {failed['kind']}"
                    print(f"FAILED {failed['selector']}, {where}: {failed['message']}", flush=True)
            if time.monotonic() < deadline:
                following = islice(waiting, len(finished))
                running |= {workers.submit(run_seed, seed) for seed in following}


def show(seed, kind):
    """Print one problem and the outcome for every selector."""
    problem = problem_of(seed, kind)
    print(f"storage {problem.storage}, type {problem.stored.dtype}, number {problem.draw}")
    for name in ("X", "y", "partial", "one_each"):
        print(f"{name} = {getattr(problem, name).tolist()}")
    print(f"must = {problem.must}\ncannot = {problem.cannot}")
    for case in CASES:
        try:
            print(case.name, *compare(case, problem))
        except Exception as error:
            print(case.name, "FAILED", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="time limit")
    parser.add_argument("--seeds", type=int, default=10**9, help="total number of seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--seed", type=int, help="show only the problem of this seed")
    parser.add_argument("--kind", choices=[*KINDS], default="plain", help="kind of that problem")
    asked = parser.parse_args()
    if asked.seed is not None:
        return show(asked.seed, asked.kind)
    state = load()
    go_on(state, asked.minutes, asked.seeds, asked.jobs)
    write_page(state)
    print(table(state))
    return f"{len(state['failures'])} failures" if state["failures"] else None


if __name__ == "__main__":
    sys.exit(main())
