"""Correlations of given features with all features, computed in blocks."""

from collections.abc import Iterator

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import one_blas_thread
from linkselect._samples import Samples

# Two features are copies if the absolute value of their correlation is at least this large.
COPY = 0.999
# With fewer samples, such correlations occur by chance.
FEWEST_FOR_COPIES = 10


def correlated(
    X: Samples, features: IntArray, least: float
) -> Iterator[list[tuple[int, int, float]]]:
    """Yield all pairs of a given feature and another feature with `|r| >= least`, in blocks.

    Each pair is a tuple of the position of the given feature in `features`, the other feature and
    their correlation.
    """
    wanted = standardized(X.own_values(features).astype(np.float64))
    # One BLAS thread, since the order of its sums depends on the number of threads.
    with one_blas_thread():
        for block, values in X.dense_blocks():
            found = wanted.T @ standardized(values)
            places = zip(*np.nonzero(np.abs(found) >= least), strict=True)
            near = [(int(i), block.start + int(j), float(found[i, j])) for i, j in places]
            yield [(i, j, min(1.0, max(-1.0, r))) for i, j, r in near if j != features[i]]


def standardized(columns: FloatArray) -> FloatArray:
    """Centre columns and scale them to unit norm.

    Columns that are constant or contain missing values become 0.
    """
    with np.errstate(all="ignore"):
        # Divide by the largest value first, because the square of a large value overflows.
        columns = columns / np.abs(columns).max(axis=0, initial=0)
        centred = columns - columns.mean(axis=0)
        scaled = centred / np.linalg.norm(centred, axis=0)
        # The rounding error of a constant column is not a signal.
        scaled[:, np.abs(centred).max(axis=0, initial=0) < 1e-12] = 0
    return np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0)


def copies_of(X: Samples, features: IntArray) -> Iterator[tuple[int, int]]:
    """Yield a tuple (feature, copy) for each exact or near copy of each given feature."""
    if X.shape[0] >= FEWEST_FOR_COPIES and len(features):
        for near in correlated(X, features, COPY):
            yield from ((int(features[place]), other) for place, other, _ in near)
