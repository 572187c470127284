"""Compare linkselect with its alternatives: time, memory, growth, ratios. Run with `make bench`.

Every contender at every size runs in its own process; they are timed in turns. A full run writes
`benchmarks/RESULTS.md`, which docs/benchmarks.md includes, and the line in README.md. It resumes
unless code or machine has changed. `--quick` tries everything at small sizes and writes nothing;
`--tasks NAME ...` repeats some tasks.
"""

import argparse
import json
import os
import resource
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from against.machine import describe, fingerprint
from against.measuring import measure
from against.results import (
    results_page,
    size_rows,
    speed_lines,
    summary_of,
    summary_table,
)
from against.tasks import OURS, TASKS
from linkselect._files import written_whole
from measured_pages import put

FOLDER = Path(__file__).parent
STATE = FOLDER / "bench.jsonl"
RESULTS = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"


def read_state(mark):
    """Return the measurements of this code on this machine."""
    lines = STATE.read_text(encoding="utf-8").splitlines() if STATE.exists() else []
    records = [json.loads(line) for line in lines]
    return [record for record in records if record["mark"] == mark]


def add_state(record):
    with STATE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def by_task(records):
    """Sort records by task and size; the last one of each size counts."""
    found = {(r["task"], *r["size"]): r for r in records}
    return {
        name: [found[name, *size] for size in task.sizes if (name, *size) in found]
        for name, task in TASKS.items()
    }


def complete(records):
    return all(len(records[name]) == len(task.sizes) for name, task in TASKS.items())


def smaller(task, size):
    """Return a smaller size for a trial, but not below what the task needs."""
    return tuple(max(length // 4, least) for length, least in zip(size, task.warm, strict=True))


def measured_task(name, task, done, options):
    """Yield a record for each size that was not measured yet, the smallest first."""
    known = {tuple(record["size"]) for record in done}
    # A contender that failed at one size is skipped at larger ones.
    given_up = {c for r in done for c, m in r["found"].items() if m["failed"] and c != OURS}
    for size in task.sizes:
        if size in known:
            continue
        repeats = min(task.repeats, 2) if options.quick else task.repeats
        actual = smaller(task, size) if options.quick else size
        slow = {c.name for c in task.contenders if c.most is not None and size[0] > c.most}
        skip = given_up | slow
        record = measure(name, task, actual, repeats=repeats, limit=options.limit, skip=skip)
        given_up |= {c for c, m in record["found"].items() if m["failed"] and c != OURS}
        yield record


def report(task, record):
    for line in size_rows(task, [record]):
        print(line, flush=True)


def write_results(records, machine):
    with written_whole(RESULTS) as part:
        part.write_text(results_page(TASKS, records, machine), encoding="utf-8")
    copy_summary(summary_table(TASKS, records))
    print(f"Wrote {RESULTS.name} and the line in {README.name}.")


def copy_summary(table):
    """Put a summary of the table into README."""
    page = put(README.read_text(encoding="utf-8"), "speed", speed_lines(table))
    with written_whole(README) as part:
        part.write_text(page, encoding="utf-8")


def load():
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="a quarter of each size, two turns")
    add("--tasks", nargs="+", choices=list(TASKS), metavar="NAME", help="only these")
    add("--limit", type=float, default=150.0, help="seconds for one measurement")
    add("--fresh", action="store_true", help="discard earlier measurements")
    add("--write", action="store_true", help="write the measurements so far, without measuring")
    add("--copy", action="store_true", help="summarise the table of RESULTS.md in README.md")
    return parser.parse_args()


def begin(options, mark):
    """Return the records that need not be measured again."""
    if options.fresh:
        STATE.unlink(missing_ok=True)
    kept = read_state(mark)
    if options.tasks:
        return [record for record in kept if record["task"] not in options.tasks]
    if kept and not options.write and complete(by_task(kept)):
        print("The last run was complete; measuring everything again.")
        STATE.unlink()
        return []
    return kept


def measure_all(options, records, mark):
    """Add the missing records."""
    notes = {"mark": mark, "load": load(), "when": datetime.now(UTC).strftime("%Y-%m-%d")}
    started = time.monotonic()
    for name in options.tasks or TASKS:
        task = TASKS[name]
        print(f"{name}: {task.title}", flush=True)
        done = [record for record in records if record["task"] == name]
        for record in measured_task(name, task, done, options):
            records.append(record | notes)
            report(task, record)
            if not options.quick:
                add_state(records[-1])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes = (time.monotonic() - started) / 60, (used.ru_utime + used.ru_stime) / 60
    print(f"{minutes[0]:.1f} minutes, {minutes[1]:.1f} CPU minutes.")


def finish(records, description, *, partly):
    """Write the pages if every task was measured with this code on this machine, or if `partly`."""
    found = by_task(records)
    missing = [name for name, task in TASKS.items() if len(found[name]) < len(task.sizes)]
    if missing and not (partly and records):
        print(f"Not measured with this code: {', '.join(missing)}. Nothing was written.")
        return
    busy = max(record["load"] for record in records)
    when = max(record["when"] for record in records)
    notes = {"when": f"{when}; load before: {busy:.1f}"}
    if missing:
        notes["not measured"] = ", ".join(missing)
    write_results({name: found[name] for name in TASKS if name not in missing}, description | notes)


def main():
    options = parse()
    # On SIGTERM, end the child processes as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.copy:
        copy_summary(summary_of(RESULTS.read_text(encoding="utf-8")))
        return
    if options.quick:
        measure_all(options, [], "")
        return
    description = describe()
    mark = fingerprint(description, TASKS)
    records = begin(options, mark)
    if not options.write:
        measure_all(options, records, mark)
    finish(records, description, partly=options.write)


if __name__ == "__main__":
    main()
