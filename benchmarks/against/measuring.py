"""Measure all contenders of a task at one size, each in its own process, in turns."""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from against.tasks import OURS

FOLDER = Path(__file__).parents[1]
# A shorter measurement is the mean of several calls.
SHORTEST = 0.1
START_LIMIT = 300.0


class GaveUpError(Exception):
    """A contender took too long or failed."""


class Worker:
    """One contender at one size: a process that waits for commands."""

    def __init__(self, task_name, contender, size, out):
        command = [sys.executable, "-m", "against.worker", task_name, contender, *map(str, size)]
        self.log = Path(f"{out}.log")
        self.out = Path(out)
        with self.log.open("wb") as errors:
            # Its own session, so that its child processes end with it.
            self.process = subprocess.Popen(
                [*command, str(out)],
                cwd=FOLDER,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,
            )
        self.rest = b""

    def answer(self, limit):
        """Wait for one line of JSON."""
        until = time.monotonic() + limit
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise GaveUpError(f"more than {limit:.0f} s")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise GaveUpError(f"failed: {self.last_words()}")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def ask(self, command, limit):
        self.process.stdin.write(f"{command}\n".encode())
        return self.answer(limit)

    def last_words(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no message"

    def output(self):
        return np.load(self.out)

    def end(self):
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def measure(task_name, task, size, *, repeats, limit, skip=()):
    """Return the measurements at one size as plain data, one entry for each contender."""
    names = [c.name for c in task.contenders if c.name not in skip]
    found = {name: {"seconds": [], "peak": None, "failed": None} for name in names}
    record = {"task": task_name, "size": list(size), "data": "", "found": found}
    with TemporaryDirectory() as folder:
        workers = {}
        try:
            for number, name in enumerate(names):
                out = Path(folder) / f"{number}.npy"
                workers[name] = Worker(task_name, name, size, out)
            record["data"] = started(workers, found)
            counts = first_calls(workers, found, limit)
            for turn in range(repeats):
                in_turns(workers, found, counts, limit, backwards=turn % 2 == 1)
            if not repeats:
                for measured in found.values():
                    measured["seconds"] = [measured["first"]] if "first" in measured else []
            compare(task, workers, found)
        finally:
            for worker in workers.values():
                worker.end()
    return record


def started(workers, found):
    """Wait until all contenders have prepared their problem and warmed up, in parallel."""
    data = ""
    for name in list(workers):
        try:
            data = workers[name].answer(START_LIMIT)["ready"]
        except GaveUpError as reason:
            drop(workers, found, name, reason)
    return data


def first_calls(workers, found, limit):
    """Call each once, record its peak memory, and return the number of calls per measurement."""
    counts = {}
    for name in list(workers):
        try:
            answer = workers[name].ask("first", limit)
        except GaveUpError as reason:
            drop(workers, found, name, reason)
            continue
        found[name]["peak"] = None if math.isnan(answer["peak"]) else answer["peak"]
        found[name]["first"] = answer["seconds"]
        counts[name] = max(1, math.ceil(SHORTEST / max(answer["seconds"], 1e-6)))
    return counts


def in_turns(workers, found, counts, limit, *, backwards):
    """Time each once; every other turn is reversed, so that no contender is always first."""
    names = list(workers)
    for name in reversed(names) if backwards else names:
        try:
            seconds = workers[name].ask(f"time {counts[name]}", limit)["seconds"]
        except GaveUpError as reason:
            drop(workers, found, name, reason)
            continue
        found[name]["seconds"].append(seconds)


def drop(workers, found, name, reason):
    found[name]["failed"] = str(reason)
    workers.pop(name).end()


def compare(task, workers, found):
    """Record for each alternative whether its output agrees with ours."""
    if OURS not in workers:
        return
    ours = workers[OURS].output()
    for name, worker in workers.items():
        contender = task.contender(name)
        if contender.compare is not None:
            found[name]["agreement"] = contender.compare(ours, worker.output()).as_dict()
