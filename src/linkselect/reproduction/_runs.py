"""Runs over many units that can be stopped at any time and resumed later."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib

# Loaded here, so that limiting threads finds the linear algebra of SciPy.
import scipy.linalg  # noqa: F401
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

from linkselect.reproduction._paper import Setup, Unit
from linkselect.reproduction._store import Store, StoredResult, StoreError

Compute = Callable[[Unit, Path | None], dict[str, Any]]
# A worker that is killed is most often one too many for the memory; the next may have more room.
TRIES_AFTER_A_KILL = 3
SECONDS_BETWEEN_LOOKS = 0.5


class UnitError(RuntimeError):
    """An error in the work of one unit; its cause is the error itself."""


class WorkerError(RuntimeError):
    """Worker processes were killed again and again."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Parameters
    ----------
    done, total : int
        Units with a result, and all of them.
    found : int
        How many of those done were in the store already.
    seconds_left : float or None
        An estimate from the units done so far; None before the first.
    """

    done: int
    total: int
    found: int
    seconds_left: float | None


def run_units(
    units: Iterable[Unit],
    compute: Compute,
    store: Store,
    jobs: int = 1,
    data_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    timed: Collection[str] = (),
) -> dict[Unit, dict[str, Any]]:
    """Compute the units that the store lacks, and return the results of all.

    Each result is stored as soon as it is there. Results do not depend on the number of jobs:
    a unit's draws follow from the unit alone, and its linear algebra runs in one thread.

    Parameters
    ----------
    units : iterable of Unit
        The work. A unit named twice is computed once.
    compute : function
        Turns a unit and the data folder into plain data.
    store : Store
        Keeps the results. Other processes may work on the same store at the same time.
    jobs : int, default=1
        The number of processes.
    data_dir : Path or None
        The data folder, handed on to `compute`.
    progress : function or None
        Called with a `Progress` at the start and after each unit.
    timed : collection of str
        Experiments that measure time. They come last, one unit at a time, so that other units do
        not slow them down.

    Returns
    -------
    dict from Unit to result
        In the order of `units`.

    Raises
    ------
    UnitError
        At the first unit that fails. What was finished before is stored.
    WorkerError
        If processes are killed from outside, time and again. One that is killed once loses
        nothing: its unit is tried again.
    """
    in_order = list(dict.fromkeys(units))
    done = store.find(in_order)
    clock = _Clock(in_order, done, jobs)
    report = progress or (lambda _: None)
    report(clock.progress())
    todo = [unit for unit in in_order if unit not in done]
    # At random, since processes that share a store would compute the same units if all had the same
    # order. Then run after run over all data sets and methods: the time left is soon known, and a
    # process that is killed leaves the same number of runs everywhere.
    random.Random().shuffle(todo)
    todo.sort(key=lambda unit: unit.run)
    plain = [unit for unit in todo if unit.experiment not in timed]
    alone = [unit for unit in todo if unit.experiment in timed]
    for part, n_jobs in ((plain, jobs), (alone, 1)):
        for unit, stored in _spread(part, compute, store, n_jobs, data_dir):
            done[unit] = stored
            clock.count(unit, stored.seconds)
            report(clock.progress())
    return {unit: done[unit].result for unit in in_order}


def _spread(
    todo: Sequence[Unit], compute: Compute, store: Store, jobs: int, data_dir: Path | None
) -> Iterator[tuple[Unit, StoredResult]]:
    """Yield each unit with its result as it is finished, here or by another process."""
    left = list(todo)
    while left:
        finished = set()
        for unit, stored in _round(left, compute, store, jobs, data_dir):
            if stored is not None:
                finished.add(unit)
                yield unit, stored
        left = [unit for unit in left if unit not in finished]
        if left and not finished:  # other processes have claimed all that is left
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _round(
    todo: Sequence[Unit], compute: Compute, store: Store, jobs: int, data_dir: Path | None
) -> Iterator[tuple[Unit, StoredResult | None]]:
    """Go once over the units, and yield None for those that another process has claimed."""
    if jobs == 1 or len(todo) < 2:
        for unit in todo:
            yield unit, _one(unit, compute, store, data_dir)
        return
    left = dict.fromkeys(todo)
    kills_in_a_row = 0
    while left:
        try:
            n_jobs = max(1, jobs >> kills_in_a_row)  # fewer processes share the memory
            for unit, stored in _in_processes(list(left), compute, store, n_jobs, data_dir):
                left.pop(unit)
                kills_in_a_row = 0
                yield unit, stored
        except BrokenProcessPool as error:
            kills_in_a_row += 1
            if kills_in_a_row > TRIES_AFTER_A_KILL:
                raise WorkerError(
                    f"Worker processes were killed {kills_in_a_row} times in a row, most likely "
                    "since memory ran out. What was finished is kept. Run the same again with "
                    "fewer jobs, such as one."
                ) from error


def _in_processes(
    todo: Sequence[Unit], compute: Compute, store: Store, jobs: int, data_dir: Path | None
) -> Iterator[tuple[Unit, StoredResult | None]]:
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        # Even a single job has a process of its own: what kills it must not kill this one.
        pool = joblib.Parallel(
            n_jobs=max(2, jobs),
            batch_size=1,
            pre_dispatch=2 * jobs if jobs > 1 else 1,
            return_as="generator_unordered",
        )
        job = joblib.delayed(_in_worker)
        yield from pool(job(os.getpid(), unit, compute, store, data_dir) for unit in todo)


def _in_worker(
    parent: int, unit: Unit, compute: Compute, store: Store, data_dir: Path | None
) -> tuple[Unit, StoredResult | None]:
    _end_with(parent)
    return unit, _one(unit, compute, store, data_dir)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent; one that was killed cannot tell its workers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    # Ctrl-C reaches workers, too. The parent ends them; they would only print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _one(unit: Unit, compute: Compute, store: Store, data_dir: Path | None) -> StoredResult | None:
    """Compute a unit and store it; return None if another process is at it."""
    if not store.claim(unit):
        return store.find([unit]).get(unit)
    start = time.perf_counter()
    try:
        # Warnings of selectors, such as constant features in a draw, are expected here.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            result = compute(unit, data_dir)
        return store.keep(unit, result, time.perf_counter() - start)
    except BaseException as error:
        with suppress(StoreError):
            store.give_back(unit)
        if isinstance(error, StoreError) or not isinstance(error, Exception):
            raise
        name = f"{unit.experiment}, {unit.dataset}, {unit.method}, run {unit.run}"
        raise UnitError(f"{name}: {error}") from error


class _Clock:
    """Counts units, and estimates the time left from the mean times of each setup."""

    def __init__(self, units: Sequence[Unit], done: Mapping[Unit, StoredResult], jobs: int) -> None:
        self.jobs = jobs
        self.total = len(units)
        self.found = len(done)
        self.waiting = Counter(unit.setup for unit in units)
        self.finished: Counter[Setup] = Counter()
        self.spent: dict[Setup, float] = defaultdict(float)
        for unit, stored in done.items():
            self.count(unit, stored.seconds)

    def count(self, unit: Unit, seconds: float) -> None:
        self.waiting[unit.setup] -= 1
        self.finished[unit.setup] += 1
        self.spent[unit.setup] += seconds

    def progress(self) -> Progress:
        done = self.finished.total()
        return Progress(done, self.total, self.found, self._seconds_left())

    def _seconds_left(self) -> float | None:
        means = {setup: self.spent[setup] / count for setup, count in self.finished.items()}
        if not means:
            return None
        typical = sum(means.values()) / len(means)
        work = sum(means.get(setup, typical) * count for setup, count in self.waiting.items())
        return work / self.jobs
