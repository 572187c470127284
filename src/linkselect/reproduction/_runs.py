"""Resumable computation of many units, each of which is one run of a method on a data set."""

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

# Imported here, so that the limit on threads also applies to the linear algebra of SciPy.
import scipy.linalg  # noqa: F401
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

from linkselect.reproduction._paper import Setup, Unit
from linkselect.reproduction._store import Store, StoredResult, StoreError

Compute = Callable[[Unit, Path | None], dict[str, Any]]
# A worker is most often killed because memory runs out; fewer workers may then succeed.
TRIES_AFTER_A_KILL = 3
SECONDS_BETWEEN_LOOKS = 0.5


class UnitError(RuntimeError):
    """Raised when the computation of a unit fails; `__cause__` is the original error."""


class WorkerError(RuntimeError):
    """Raised when worker processes are killed repeatedly."""


@dataclass(frozen=True)
class Progress:
    """The progress of a computation of many units.

    Parameters
    ----------
    done, total : int
        The number of units that have a result, and the total number of units.
    found : int
        The number of results that were already stored.
    seconds_left : float or None
        The estimated remaining time; None before the first result.
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
    """Compute the units that have no stored result, and return the results of all units.

    Each result is stored as soon as it is computed. Results do not depend on the number of jobs,
    because random draws depend only on the unit and linear algebra runs in one thread.

    Parameters
    ----------
    units : iterable of Unit
        The units. Duplicates are computed once.
    compute : function
        Function that returns the result of a unit as JSON values, given the unit and the data
        folder.
    store : Store
        The store of results, which other processes can use at the same time.
    jobs : int, default=1
        The number of processes.
    data_dir : Path or None
        The data folder, which is passed to `compute`.
    progress : function or None
        Function that is called with a `Progress` at the start and after each unit.
    timed : collection of str
        Experiments that measure run times. They are computed last and one at a time, so that other
        units do not slow them down.

    Returns
    -------
    dict from Unit to result
        The results, in the same order as `units`.

    Raises
    ------
    UnitError
        If a unit fails. Results that were computed before the failure are stored.
    WorkerError
        If worker processes are killed several times in a row. If a process is killed only once, the
        unit is computed again.
    """
    in_order = list(dict.fromkeys(units))
    done = store.find(in_order)
    clock = _Clock(in_order, done, jobs)
    report = progress or (lambda _: None)
    report(clock.progress())
    todo = [unit for unit in in_order if unit not in done]
    # Shuffle, so that processes that share a store rarely choose the same unit. Then sort by run:
    # the remaining time can soon be estimated, and a killed process leaves about the same number of
    # runs for all data sets and methods.
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
    """Yield each unit and its result once this or another process has computed it."""
    left = list(todo)
    while left:
        finished = set()
        for unit, stored in _round(left, compute, store, jobs, data_dir):
            if stored is not None:
                finished.add(unit)
                yield unit, stored
        left = [unit for unit in left if unit not in finished]
        if left and not finished:  # other processes have claimed all remaining units
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _round(
    todo: Sequence[Unit], compute: Compute, store: Store, jobs: int, data_dir: Path | None
) -> Iterator[tuple[Unit, StoredResult | None]]:
    """Compute each unit once, and yield None for units that another process has claimed."""
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
                    "because memory ran out. Finished results are stored. Run the same command "
                    "again with fewer jobs, for example one."
                ) from error


def _in_processes(
    todo: Sequence[Unit], compute: Compute, store: Store, jobs: int, data_dir: Path | None
) -> Iterator[tuple[Unit, StoredResult | None]]:
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        # Use a separate process even for a single job, so that a kill does not end this process.
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
    """End this worker process soon after its parent process ends, even if the parent is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    # Ctrl-C also reaches workers. They ignore it to avoid tracebacks, and the parent ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _one(unit: Unit, compute: Compute, store: Store, data_dir: Path | None) -> StoredResult | None:
    """Compute and store the result of a unit; return None if another process is computing it."""
    if not store.claim(unit):
        return store.find([unit]).get(unit)
    start = time.perf_counter()
    try:
        # Selectors are expected to warn, for example of constant features in a random subset.
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
    """Counts finished units, and estimates the remaining time from the times of each setup."""

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
