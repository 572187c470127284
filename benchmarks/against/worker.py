"""A process that measures one contender at one size: `python -m against.worker TASK NAME N D OUT`.

It prepares the problem, warms up on a small one, and then answers each line on its standard input:
`first` calls once, writes the output to OUT and reports seconds and peak memory; `time COUNT` calls
COUNT times and reports the seconds per call. Answers are lines of JSON.
"""

import json
import os
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

from against.tasks import TASKS


def status_of(process="self"):
    """Read the memory now in use by a process and its peak, in bytes; Linux only."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def descendants(process):
    """Return all child processes of a process, recursively."""
    found = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        # A thread may end in the meantime.
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                found += [child, *descendants(child)]
    return found


class Memory:
    """Peak memory above that in use before, including child processes; NaN if unknown."""

    def __init__(self):
        try:
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the preparation
            self.before = status_of()[0]
        except OSError:
            self.before = None

    def peak(self):
        if self.before is None:
            return float("nan")
        total = status_of()[1] - self.before
        for process in descendants("self"):
            with suppress(OSError):
                total += status_of(process)[1]
        return total


def seconds_of(call, count=1):
    start = time.perf_counter()
    for _ in range(count):
        output = call()
    return (time.perf_counter() - start) / count, output


def main():
    # Libraries may print, so answers need their own stream.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    name, contender, n_samples, n_features, out = sys.argv[1:]
    task = TASKS[name]
    prepare = task.contender(contender).prepare
    problem = task.make(int(n_samples), int(n_features))
    if task.warm is not None:
        prepare(task.make(*task.warm))()
    call = prepare(problem)
    print(json.dumps({"ready": problem.data}), file=answers)
    for line in sys.stdin:
        command, _, count = line.strip().partition(" ")
        if command == "first":
            memory = Memory()
            seconds, output = seconds_of(call)
            np.save(out, np.asarray(output))
            answer = {"seconds": seconds, "peak": memory.peak()}
        else:
            answer = {"seconds": seconds_of(call, int(count))[0]}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
