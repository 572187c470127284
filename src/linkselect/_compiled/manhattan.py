"""Manhattan distances for ReliefF, in which each difference is truncated at 1."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Each float32 sum runs over at most this many features, so the rounding error stays small for any
# number of features (docs/bounds.md).
FEATURES_PER_SUM = 4096
# Number of rows that remain in the L2 cache during the loop over all columns.
ROWS_AT_ONCE = 64


@cache
def manhattan_distances() -> Callable[[NDArray[Any], NDArray[Any], bool], NDArray[Any]] | None:
    """Return a compiled function for Manhattan distances, or None if numba is not installed.

    The function computes sums of `minimum(|a - b|, 1)` or of `|a - b|` and is several times as fast
    as SciPy's `cdist`. It is only used to find candidate neighbours, which are then compared in
    float64, so it does not affect the scores.
    """
    try:
        from numba import njit
    except ImportError:
        return None

    # Reordering of sums must be allowed for vectorisation; the error bound holds for any order.
    compiled = njit(nogil=True, fastmath={"reassoc", "nsz"})

    @compiled
    def cut_sum(a: Any, b: Any) -> Any:
        part = np.float32(0)
        for feature in range(a.size):
            part += min(abs(a[feature] - b[feature]), np.float32(1))
        return part

    @compiled
    def plain_sum(a: Any, b: Any) -> Any:
        part = np.float32(0)
        for feature in range(a.size):
            part += abs(a[feature] - b[feature])
        return part

    @compiled
    def distances(rows: Any, columns: Any, cut: Any) -> Any:
        result = np.empty((rows.shape[0], columns.shape[0]), np.float32)
        for first in range(0, rows.shape[0], ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, rows.shape[0])
            for column in range(columns.shape[0]):
                for row in range(first, last):
                    total: Any = 0.0
                    for start in range(0, rows.shape[1], FEATURES_PER_SUM):
                        # Slice first: the loop is vectorised only if its index starts at 0.
                        a = rows[row, start : start + FEATURES_PER_SUM]
                        b = columns[column, start : start + FEATURES_PER_SUM]
                        total += cut_sum(a, b) if cut else plain_sum(a, b)
                    result[row, column] = total
        return result

    return distances
