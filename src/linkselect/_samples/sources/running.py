"""Run a function on every part of stored samples: in threads, or by the active Dask client."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import map_threads
from linkselect._samples.sources.clusters import Job, active_client, run_job
from linkselect._samples.sources.merging import MergeTree

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Part, Stored

Report = Callable[[int, int, str], None]

reporting: ContextVar[Report | None] = ContextVar("reporting", default=None)
"""Called with the number of finished parts, of all parts, and what is being done to them."""


@dataclass(frozen=True, eq=False)
class TakenRows:
    """Some rows of the samples that every part needs, such as the queries of a search.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers, in the order in which the function gets the rows.
    """

    rows: IntArray


def map_parts(
    X: Stored,
    function: Callable[..., Any],
    *,
    per_part: Callable[[Part], tuple[Any, ...]] | None = None,
    shared: TakenRows | None = None,
    n_jobs: int | None = None,
    what: str | None = None,
) -> list[Any]:
    """Apply a function to every part; the results are in the order of the parts.

    See `reduce_parts`.
    """
    listed = partial(_in_list, function)
    return list(
        reduce_parts(
            X,
            listed,
            _join_lists,
            per_part=per_part,
            shared=shared,
            n_jobs=n_jobs,
            what=what or _name_of(function),
        )
    )


def reduce_parts(
    X: Stored,
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    *,
    per_part: Callable[[Part], tuple[Any, ...]] | None = None,
    shared: TakenRows | None = None,
    n_jobs: int | None = None,
    what: str | None = None,
) -> Any:
    """Apply a function to every part and merge the results by a tree.

    The tree depends on the number of parts only: the same bits for any number of threads or
    workers.

    Parameters
    ----------
    X : Stored
        The samples.
    function : callable
        Takes a part, the values of `per_part` and the shared rows. Other processes must be able
        to load it by its name.
    merge : callable
        Takes a list of results in the order of the parts and returns one.
    per_part : callable, optional
        Takes a part and returns small values that belong to it, such as the labels of its rows.
    shared : TakenRows, optional
        Rows that every call gets.
    n_jobs : int, optional
        The number of threads if no Dask client is active; see `linkselect._blocks.map_threads`.
    what : str, optional
        What is being done, for progress. Default: the name of the function.
    """
    inputs = [() if per_part is None else tuple(per_part(part)) for part in X.parts]
    what = what or _name_of(function)
    client = active_client()
    if client is not None:
        taken = None if shared is None else _picking(X, shared.rows)
        job = Job(X, list(range(len(X.parts))), function, merge, inputs, what=what, shared=taken)
        return run_job(client, job, reporting.get())
    values = () if shared is None else (take_stored_rows(X, shared.rows, n_jobs),)
    tree = MergeTree(len(X.parts), merge)

    def work(part: Part) -> None:
        tree.add(part.number, function(part, *inputs[part.number], *values))

    _run_threads(work, X.parts, n_jobs, what)
    return tree.top


def take_stored_rows(X: Stored, rows: IntArray, n_jobs: int | None = None) -> NDArray[Any]:
    """Read some rows of the samples into memory, in the given order."""
    if not len(rows):
        return np.empty((0, X.shape[1]), X.dtype)
    job = _picking(X, rows)
    client = active_client()
    if client is not None:
        return run_job(client, job, None)
    found: dict[int, NDArray[Any]] = {}

    def work(place: int) -> None:
        found[place] = job.function(X.parts[job.numbers[place]], *job.inputs[place])

    map_threads(work, range(len(job.numbers)), n_jobs)
    return job.finish(job.merge([found[place] for place in range(len(found))]))


def _picking(X: Stored, rows: IntArray) -> Job:
    """Return what takes rows: only parts that hold one of them are read."""
    wanted, places = np.unique(rows, return_inverse=True)
    numbers, inputs = [], []
    for part in X.parts:
        first, last = np.searchsorted(wanted, (part.rows.start, part.rows.stop))
        if first < last:
            numbers.append(part.number)
            inputs.append((wanted[first:last],))
    join = partial(np.concatenate, axis=1 if X.by_columns else 0)
    return Job(X, numbers, _pick, join, inputs, what="rows", finish=partial(_in_order, places))


def _pick(part: Part, wanted: IntArray) -> NDArray[Any]:
    return part.pick(wanted)


def _in_order(places: IntArray, values: NDArray[Any]) -> NDArray[Any]:
    if np.array_equal(places, np.arange(len(values))):
        return values
    return values[places]


def _in_list(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(*arguments)]


def _join_lists(lists: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(lists))


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", "part").strip("_")


def _run_threads(
    work: Callable[[Part], None], parts: tuple[Part, ...], n_jobs: int | None, what: str
) -> None:
    """Work on all parts in threads and report the progress from the thread of the caller."""
    report = reporting.get()
    if report is None:
        map_threads(work, parts, n_jobs)
        return
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    stopped = threading.Event()

    def counted(part: Part) -> None:
        if not stopped.is_set():
            work(part)
            ended.put(True)

    report(0, len(parts), what)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(copy_context().run, map_threads, counted, parts, n_jobs)
        running.add_done_callback(lambda _: ended.put(False))
        try:
            done = 0
            while ended.get():
                done += 1
                report(done, len(parts), what)
        finally:
            stopped.set()
    running.result()
