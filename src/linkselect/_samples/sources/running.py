"""Application of a function to every part of stored samples, in threads or on a Dask cluster."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import map_threads
from linkselect._samples.sources.clusters import Job, Report, active_client, run_job
from linkselect._samples.sources.merging import FAN_IN, MergeTree

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Part, Stored

reporting: ContextVar[Report | None] = ContextVar("reporting", default=None)
"""Progress callback, called with the number of finished parts, the total number and a task name."""


def map_parts(X: Stored, function: Callable[..., Any], **options: Any) -> list[Any]:
    """Apply a function to every part, and return the results in the order of the parts.

    The options are the same as those of `reduce_parts`.
    """
    found: list[Any] = reduce_parts(X, partial(_in_list, function), _join_lists, **options)
    return found


def reduce_parts(
    X: Stored,
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    *,
    per_part: Callable[[Part], tuple[Any, ...]] | None = None,
    shared: IntArray | None = None,
    n_jobs: int | None = None,
    what: str = "part",
    fan_in: int = FAN_IN,
) -> Any:
    """Apply a function to every part and merge the results in a tree.

    The merge tree depends only on the number of parts, so the result is bit for bit the same for
    any number of threads or workers.

    Parameters
    ----------
    X : Stored
        The samples.
    function : callable
        Function that takes a part, the values of `per_part` and the shared rows. It must be
        picklable; for example, a module-level function.
    merge : callable
        Function that merges a list of results, in the order of the parts, into one result.
    per_part : callable, optional
        Function that takes a part and returns small additional arguments for it, such as the labels
        of its rows.
    shared : ndarray of int, optional
        The numbers of rows whose values are passed to every call, such as the queries of a
        neighbour search.
    n_jobs : int, optional
        The number of threads if no Dask client is active; see `linkselect._blocks.map_threads`.
    what : str, default="part"
        The name of the task, which is shown in progress reports.
    fan_in : int
        The number of results that are merged at a time.

    Returns
    -------
    object
        The result of the last merge.
    """
    inputs = [() if per_part is None else tuple(per_part(part)) for part in X.parts]
    taken = None if shared is None else _picking(X, shared)
    numbers = list(range(len(X.parts)))
    job = Job(X, numbers, function, merge, inputs, what, shared=taken, fan_in=fan_in)
    return _run(job, n_jobs, reporting.get())


def take_stored_rows(X: Stored, rows: IntArray, n_jobs: int | None = None) -> NDArray[Any]:
    """Read some rows of the samples into memory, in the given order."""
    return np.asarray(_run(_picking(X, rows), n_jobs, None))


def _run(job: Job, n_jobs: int | None, report: Report | None) -> Any:
    """Run a job with the active Dask client or, if there is none, in threads of this process."""
    if not job.numbers:
        return job.finish(job.merge([]))
    client = active_client()
    if client is not None:
        return run_job(client, job, report)
    shared = () if job.shared is None else (_run(job.shared, n_jobs, None),)
    tree = MergeTree(len(job.numbers), job.merge, job.fan_in)

    def work(place: int) -> None:
        part = job.samples.parts[job.numbers[place]]
        tree.add(place, job.function(part, *job.inputs[place], *shared))

    _run_threads(work, len(job.numbers), n_jobs, job.what, report)
    return job.finish(tree.top)


def _picking(X: Stored, rows: IntArray) -> Job:
    """Return a job that reads some rows from the parts that contain at least one of them."""
    wanted, places = np.unique(rows, return_inverse=True)
    numbers, inputs = [], []
    for part in X.parts:
        first, last = np.searchsorted(wanted, (part.rows.start, part.rows.stop))
        if first < last:
            numbers.append(part.number)
            inputs.append((wanted[first:last],))
    none = np.empty((0, X.shape[1]), X.dtype)
    finish = partial(_in_order, places, none, 1 if X.by_columns else 0)
    return Job(X, numbers, _pick, _join_lists, inputs, "rows", finish)


def _pick(part: Part, wanted: IntArray) -> list[NDArray[Any]]:
    return [part.pick(wanted)]


def _in_order(
    places: IntArray, none: NDArray[Any], axis: int, found: list[NDArray[Any]]
) -> NDArray[Any]:
    values = np.concatenate(found or [none], axis=axis)
    return values if np.array_equal(places, np.arange(len(values))) else values[places]


def _in_list(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(*arguments)]


def _join_lists(lists: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(lists))


def _run_threads(
    work: Callable[[int], None], total: int, n_jobs: int | None, what: str, report: Report | None
) -> None:
    """Call `work` for all positions in threads, and report progress in the calling thread."""
    if report is None:
        map_threads(work, range(total), n_jobs)
        return
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    stopped = threading.Event()

    def counted(place: int) -> None:
        if not stopped.is_set():
            work(place)
            ended.put(True)

    report(0, total, what)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(copy_context().run, map_threads, counted, range(total), n_jobs)
        running.add_done_callback(lambda _: ended.put(False))
        try:
            done = 0
            while ended.get():
                done += 1
                report(done, total, what)
        finally:
            stopped.set()
    running.result()
