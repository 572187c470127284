"""Update rankings, validation and reports in a background process while answers arrive.

The process belongs to joblib's executor, which has the interface of `concurrent.futures`. Unlike
the executor of the standard library, it does not run the user's script again in the new process,
and it can terminate a running task.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from linkselect._arrays import IntArray
from linkselect.labelling import _worker

Rows = IntArray | Sequence[tuple[int, int]]

# A check (held-out estimate, stability of the best features) runs after every tenth answer. Beyond
# 100 answers, it runs when their number has grown by a tenth.
EVERY = 10
# Tasks run in this order.
FIRST = (_worker.report, _worker.rank, _worker.check)
# Timeout in seconds when waiting for another thread.
PATIENCE = 5.0
ENDED_EARLY = "the computation stopped unexpectedly; is there enough memory?"


class Links(NamedTuple):
    """Must-links and cannot-links between rows; adaptive links cannot be held out."""

    must: Rows
    cannot: Rows
    adaptive: Rows = ()

    @property
    def are_enough(self) -> bool:
        """Whether features can be ranked: `LinkSelector` requires a must-link."""
        return len(self.must) > 0

    @property
    def key(self) -> str:
        """A hash of the links, independent of their order.

        Examples
        --------
        >>> Links([(0, 1)], [(2, 3)]).key == Links([(1, 0)], [(2, 3)]).key
        True
        """
        links = [np.array(some, dtype=np.intp).reshape(-1, 2) for some in self[:2]]
        plain = [sorted(np.sort(some, axis=1).tolist()) for some in links]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Found:
    """The latest results of the background process.

    Attributes
    ----------
    order : ndarray of int
        All features, best first; empty before the first ranking.
    path : tuple of float
        Cumulative proportion of the differences between samples that the best features explain.
    n_answers : int
        Number of answers on which this ranking is based.
    checked : dict or None
        `estimate`, `reason`, `n_kept`, `n_best` and `n_answers` of the last check.
    report : bytes or None
        The report as HTML; None until it is ready.
    report_key : str
        The key of the links on which the report is based.
    alarms : tuple of str
        Warnings in the report about the selected features.
    trouble : str or None
        The reason why the last ranking failed, if it did.
    report_trouble : str or None
        The reason why the last report failed, if it did.
    report_trouble_key : str
        The key of the links for which the report failed.
    """

    order: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    path: tuple[float, ...] = ()
    n_answers: int = 0
    checked: dict[str, Any] | None = None
    report: bytes | None = None
    report_key: str = ""
    alarms: tuple[str, ...] = ()
    trouble: str | None = None
    report_trouble: str | None = None
    report_trouble_key: str = ""

    @property
    def best(self) -> IntArray:
        """The best features, best first."""
        return self.order[: len(self.path)]


class Task(NamedTuple):
    """A call to a `_worker` function; `about` is the number of answers or the key of the links."""

    work: Callable[..., dict[str, Any]]
    about: Any
    arguments: tuple[Any, ...]


class Background:
    """Run tasks in a background process, one at a time and with the latest answers.

    Parameters
    ----------
    X : array or sparse matrix
        The samples after preparation.
    about : dict
        The description of the samples for the report: `names`, `ids`, `source`, `preparation` and
        `image_shape`.
    n_best : int
        Number of best features.
    """

    def __init__(self, X: Any, about: dict[str, Any], n_best: int) -> None:
        self._held: Any = (X, about)
        self._n_best = n_best
        self._changed = threading.Condition()
        # Waiting tasks by function; a newer task replaces an older one.
        self._wanted: dict[Any, Task] = {}
        self._running: Task | None = None
        self._n_checked = 0  # number of answers at the last requested check
        self._future: Future[dict[str, Any]] = Future()  # of the last task
        self._pool: Any = None  # also None after it was terminated for a more urgent task
        self._closed = False
        self.found = Found()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a task is waiting or running."""
        with self._changed:
            return bool(self._wanted) or self._running is not None

    def rank(self, n_answers: int, links: Links, before: Links | None) -> None:
        """Request a ranking based on `n_answers` answers, and a check if one is due."""
        if not links.are_enough:
            return
        with self._changed:
            self._want(_worker.rank, n_answers, links, self._n_best)
            if abs(n_answers - self._n_checked) >= max(EVERY, n_answers // EVERY):
                self._n_checked = n_answers
                earlier = before if before is not None and before.are_enough else None
                self._want(_worker.check, n_answers, links, earlier, self._n_best)

    def write_report(self, links: Links, call: str, *, again: bool = False) -> str:
        """Request a report unless it exists or failed for these links; return the key of the links.

        Other tasks wait until the report is ready. With `again`, a report that failed is written
        again.
        """
        key = links.key
        with self._changed:
            if again and self.found.report_trouble_key == key:
                self.found = replace(self.found, report_trouble=None, report_trouble_key="")
            underway = [self._wanted.get(_worker.report)]
            if self._pool is not None:
                underway.append(self._running)
            known = (self.found.report_key, self.found.report_trouble_key)
            if key not in (*known, *(task.about for task in underway if task)):
                self._want(_worker.report, key, links, call)
                if self._running is not None:
                    self._end_process()
        return key

    def _want(self, work: Callable[..., dict[str, Any]], about: Any, *arguments: Any) -> None:
        self._wanted[work] = Task(work, about, arguments)
        self._changed.notify_all()

    def close(self) -> None:
        """Terminate the background process and delete its files."""
        with self._changed:
            self._closed = True
            # Python keeps a reference to `close` until it exits; do not keep the samples as well.
            self._held = None
            self._end_process()
            self._changed.notify_all()
        self._thread.join(timeout=PATIENCE)

    def _serve(self) -> None:
        with TemporaryDirectory(prefix="linkselect-", ignore_cleanup_errors=True) as folder:
            file = Path(folder) / "samples"
            while (task := self._next()) is not None:
                try:
                    if not file.exists():
                        joblib.dump(self._held, file)
                    self._do(task, file)
                except OSError as error:
                    self._note(task, {"error": str(error)})
                with self._changed:
                    self._running = None

    def _next(self) -> Task | None:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closed)
            if self._closed:
                return None
            first = next(work for work in FIRST if work in self._wanted)
            self._running = self._wanted.pop(first)
            return self._running

    def _do(self, task: Task, file: Path) -> None:
        pool = None
        try:
            with self._changed:
                if self._closed:
                    return
                future = self._submitted(task, file)
                pool = self._pool
            self._note(task, future.result())
        except Exception as error:
            has_ended = isinstance(error, BrokenExecutor)
            with self._changed:
                if pool is not None and self._pool is not pool:
                    # Terminated for a report: repeat the task afterwards, unless a newer one waits.
                    self._wanted.setdefault(task.work, task)
                    return
                self._pool = None if has_ended else self._pool
            text = ENDED_EARLY if has_ended else f"{type(error).__name__}: {error}"
            self._note(task, {"error": text})

    def _submitted(self, task: Task, file: Path) -> Future[dict[str, Any]]:
        """Submit a task to the process, which is started if it is not running."""
        with suppress(BrokenExecutor):
            if self._pool is not None:
                self._future = self._pool.submit(task.work, file, *task.arguments)
                return self._future
        given = (os.getpid(), file.parent)
        self._pool = ProcessPoolExecutor(1, initializer=_worker.start, initargs=given)
        self._future = self._pool.submit(task.work, file, *task.arguments)
        # At exit, executors wait for their tasks before `atexit` functions run. Registered after
        # them, `close` runs first and does not wait.
        threading._register_atexit(self.close)  # type: ignore[attr-defined]
        return self._future

    def _end_process(self) -> None:
        if self._pool is not None:
            self._wait_until_taken()
            self._pool.shutdown(wait=False, kill_workers=True)
            self._pool = None

    def _wait_until_taken(self) -> None:
        # An executor that is shut down before its thread has accepted the last task prints a
        # KeyError and leaks semaphores. Accepting a task takes milliseconds.
        end = time.monotonic() + PATIENCE
        while not (self._future.running() or self._future.done()) and time.monotonic() < end:
            time.sleep(0.001)

    def _note(self, task: Task, found: dict[str, Any]) -> None:
        """Store the result of a task."""
        is_report, error = task.work is _worker.report, found.pop("error", None)
        with self._changed:
            if error is not None and is_report:
                new = {"report_trouble": error, "report_trouble_key": task.about}
            elif error is not None:
                new = {"trouble": error}
            elif is_report:
                new = {"report_key": task.about, "report_trouble": None, "report_trouble_key": ""}
            elif task.work is _worker.rank:
                new = {"n_answers": task.about, "trouble": None}
            else:
                checked = {**found, "n_answers": task.about}
                new, found = {"checked": checked, "trouble": None}, {}
            self.found = replace(self.found, **found, **new)
