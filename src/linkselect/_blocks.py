"""Computation in blocks: bounded memory, and the same result for any number of threads."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from math import prod
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from linkselect._arrays import FloatArray, IntArray

Item = TypeVar("Item")
Result = TypeVar("Result")

# Large enough to hide the cost of a Python call; small enough that a block and its temporary
# arrays fit into the last-level cache. It must not depend on the number of threads.
BLOCK_SIZE = 1 << 19
# Bounds on the number of columns of a block. In narrower blocks, the cost of Python calls would
# dominate; with wider ones, there would be too few blocks for the threads.
LEAST_WIDTH, MOST_WIDTH = 16, 1 << 13


def slices(total: int, size: int) -> list[slice]:
    """Split `range(total)` into slices of at most `size` elements."""
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def sum_by(places: IntArray, values: FloatArray, total: int) -> FloatArray:
    """Sum the values with the same place; `bincount` alone returns integers for empty input."""
    return np.bincount(places, values, total).astype(np.float64, copy=False)


def block_width(size: int, n_rows: int) -> int:
    """Return the number of columns of `n_rows` rows in a block of about `size` entries."""
    return max(size // max(n_rows, 1), LEAST_WIDTH)


def column_slices(X: NDArray[Any], n_rows: int | None = None) -> list[slice]:
    """Split the columns of X into blocks of about BLOCK_SIZE entries in `n_rows` rows."""
    n_samples, n_features = X.shape
    return slices(n_features, min(block_width(BLOCK_SIZE, n_rows or n_samples), MOST_WIDTH))


class Scratch(threading.local):
    """Memory that a thread reuses for each block.

    Allocating memory for each block takes several times as long as the arithmetic in it.
    """

    def __init__(self, dtype: Any = np.float64) -> None:
        self._memory = np.empty(0, dtype)

    def array(self, *shape: int) -> NDArray[Any]:
        """Return an uninitialised array in C order, which overwrites the previous one."""
        size = prod(shape)
        if size > 2 * BLOCK_SIZE:
            return np.empty(shape, self._memory.dtype)  # too large to keep
        if size > len(self._memory):
            self._memory = np.empty(size, self._memory.dtype)
        return self._memory[:size].reshape(shape)


def column_block(
    X: NDArray[Any],
    columns: slice | IntArray,
    rows: Any = slice(None),
    scratch: Scratch | None = None,
) -> FloatArray:
    """Copy columns as float64, so that integers cannot overflow and the input is not changed."""
    values = X[:, columns][rows]
    copy = np.empty(values.shape) if scratch is None else scratch.array(*values.shape)
    copy[...] = values
    return copy


def centre(block: FloatArray) -> FloatArray:
    """Subtract the mean of each column, in place.

    The first row is subtracted first, so that a large offset does not cost precision.
    """
    block -= block[0].copy()
    block -= block.mean(axis=0)
    return block


def map_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Apply `function` to every item in threads; return the results in the order of the items.

    With `n_jobs=None`, the number of threads is that of BLAS, which respects `OMP_NUM_THREADS`,
    `threadpool_limits` and the limits that joblib sets in its worker processes.
    """
    items = list(items)
    n_threads = min(count_threads(n_jobs), len(items))
    with one_blas_thread():
        if n_threads <= 1:
            return [function(item) for item in items]
        return _share_out(function, items, n_threads)


def count_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that `map_threads` uses for many items."""
    return blas_threads() if n_jobs is None else int(effective_n_jobs(n_jobs))


def _share_out(
    function: Callable[[Item], Result], items: list[Item], n_threads: int
) -> list[Result]:
    """Let every thread process the next item until none is left or one fails."""
    results: list[Any] = [None] * len(items)
    # Threads share one iterator; the interpreter lock makes `next` atomic.
    remaining = iter(range(len(items)))
    stopped = threading.Event()

    def work() -> None:
        # MKL has a limit per thread, so it must be set in each.
        with _blas().select(internal_api="mkl").limit(limits=1):
            for place in remaining:
                if stopped.is_set():
                    return
                results[place] = function(items[place])

    with ThreadPoolExecutor(n_threads) as threads:
        # Copy the context so that NumPy's error state in each thread is that of the caller.
        started = [threads.submit(copy_context().run, work) for _ in range(n_threads)]
        try:
            for thread in started:
                thread.result()
        finally:
            stopped.set()
    return results


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


_limiting = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, unless a fit in another thread of this process already does.

    The limit applies to the whole process: a second fit would mistake it for the original limit
    and restore it at the end.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limiting.release()


def blas_threads() -> int:
    """Return the number of threads that BLAS may use, which `map_threads` uses by default."""
    return max((library["num_threads"] for library in _blas().info()), default=1)
