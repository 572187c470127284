"""Which features say the same as a selected one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import one_blas_thread
from linkselect._samples import as_samples

LEAST_CORRELATION = 0.9
MOST_TWINS = 3
# More rows would not change what is called a twin.
MOST_ROWS = 2000


class Twin(NamedTuple):
    """Another feature with nearly the same values, up to shift, scale and sign."""

    feature: int
    correlation: float


def correlated_twins(X: Any, features: IntArray) -> list[tuple[Twin, ...]]:
    """Find the features most correlated with each of some: at least 0.9 or at most -0.9.

    Of more than 2,000 rows, 2,000 in even steps are looked at.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    features : array of int
        The features whose twins are wanted.

    Returns
    -------
    list of tuple of Twin
        Up to three for each feature, the most correlated first.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> X = np.column_stack([x, x**2, -2 * x, [3, 1, 4, 1, 5]])
    >>> [twin.feature for twin in correlated_twins(X, np.array([0]))[0]]
    [2, 1]
    """
    samples = as_samples(X)
    n_samples = samples.shape[0]
    if n_samples > MOST_ROWS:
        samples = samples.take(np.linspace(0, n_samples - 1, MOST_ROWS).astype(np.intp))
    wanted = _standardized(samples.own_values(features).astype(np.float64))
    found: list[list[Twin]] = [[] for _ in features]
    # One BLAS thread, since the order of its sums depends on how many it has.
    with one_blas_thread():
        for block, values in samples.dense_blocks():
            correlations = wanted.T @ _standardized(values)
            for i, j in zip(*np.nonzero(np.abs(correlations) >= LEAST_CORRELATION), strict=True):
                if (other := block.start + int(j)) != features[i]:
                    found[i].append(Twin(other, float(np.clip(correlations[i, j], -1, 1))))
            found = [_best(twins) for twins in found]
    return [tuple(twins) for twins in found]


def _best(twins: list[Twin]) -> list[Twin]:
    # Rounded, so that equally good ones come in the order of the columns.
    return sorted(twins, key=lambda twin: (-round(abs(twin.correlation), 9), twin.feature))[
        :MOST_TWINS
    ]


def _standardized(columns: FloatArray) -> FloatArray:
    """Centre columns and scale them to length 1; constant ones, or such with gaps, become 0."""
    with np.errstate(all="ignore"):
        # By the largest value first: the square of a large one is infinite.
        columns = columns / np.abs(columns).max(axis=0, initial=0)
        centred = columns - columns.mean(axis=0)
        scaled = centred / np.linalg.norm(centred, axis=0)
        # What rounding leaves of a constant is no feature.
        scaled[:, np.abs(centred).max(axis=0, initial=0) < 1e-12] = 0
    return np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0)
