"""Computation in blocks, with bounded memory and results independent of the number of threads."""

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

# Number of entries of a block: large enough to hide the cost of a Python call, and small enough
# that a block and its temporary arrays fit into the last-level cache. It must not depend on the
# number of threads.
BLOCK_SIZE = 1 << 19
# Bounds on the number of columns of a block. In narrower blocks, the cost of Python calls would
# dominate; with wider ones, there would be too few blocks for the threads.
LEAST_WIDTH, MOST_WIDTH = 16, 1 << 13


def slices(total: int, size: int) -> list[slice]:
    """Split `range(total)` into slices of at most `size` elements."""
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def sum_by(places: IntArray, values: FloatArray, total: int) -> FloatArray:
    """Return the sum of the values for each place; it is float64 even if there are no values."""
    return np.bincount(places, values, total).astype(np.float64, copy=False)


def block_width(size: int, n_rows: int) -> int:
    """Return the number of columns in a block with `n_rows` rows and about `size` entries."""
    return max(size // max(n_rows, 1), LEAST_WIDTH)


def column_slices(X: NDArray[Any], n_rows: int | None = None) -> list[slice]:
    """Split the columns of X into blocks with `n_rows` rows and about BLOCK_SIZE entries."""
    n_samples, n_features = X.shape
    return slices(n_features, min(block_width(BLOCK_SIZE, n_rows or n_samples), MOST_WIDTH))


class Scratch(threading.local):
    """Memory buffer that each thread reuses for successive blocks.

    Allocating new memory for each block would take several times as long as the arithmetic.
    """

    def __init__(self, dtype: Any = np.float64) -> None:
        self._memory = np.empty(0, dtype)

    def array(self, *shape: int) -> NDArray[Any]:
        """Return an uninitialised array in C order that reuses the memory of the previous array."""
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
    """Return a float64 copy of columns, so that integers cannot overflow and X is not changed."""
    values = X[:, columns][rows]
    copy = np.empty(values.shape) if scratch is None else scratch.array(*values.shape)
    copy[...] = values
    return copy


def centre(block: FloatArray) -> FloatArray:
    """Subtract the mean of each column of a block in place.

    The first row is subtracted before the mean is computed, so that a large offset does not reduce
    the precision.
    """
    block -= block[0].copy()
    block -= block.mean(axis=0)
    return block


def map_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Apply `function` to all items in threads, and return the results in the order of the items.

    With `n_jobs=None`, the number of threads equals the number of BLAS threads, which respects
    `OMP_NUM_THREADS`, `threadpool_limits` and the limits that joblib sets in its worker processes.
    """
    items = list(items)
    n_threads = min(count_threads(n_jobs), len(items))
    with one_blas_thread():
        if n_threads <= 1:
            return [function(item) for item in items]
        return _share_out(function, items, n_threads)


def count_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that `map_threads` uses if there are enough items."""
    return blas_threads() if n_jobs is None else int(effective_n_jobs(n_jobs))


def _share_out(
    function: Callable[[Item], Result], items: list[Item], n_threads: int
) -> list[Result]:
    """Process the items in several threads until all are processed or one of them fails."""
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
    """Limit BLAS to one thread, unless another thread of this process has already done so.

    The limit applies to the whole process. A second fit would mistake the limit of one thread for
    the original setting and restore it at the end.
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
    """Return the number of BLAS threads, which is the default number for `map_threads`."""
    return max((library["num_threads"] for library in _blas().info()), default=1)
