"""Discretisation of numeric features, for the estimation of mutual information from counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray
from linkselect._samples import as_samples

N_BINS = 5
# Below this number of states, one byte stores a state.
SMALL = 256
# Error bound of the distance between a value and a cut, in standard deviations: two means and the
# root of a pairwise sum, with at most 48 roundings each.
ROUNDING = 160 * 2.0**-53


def states_of(X: Any, how: str | None) -> NDArray[np.integer[Any]]:
    """Convert each feature to discrete states, which are numbered from 0.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, dense or sparse. Sparse columns are converted to dense blocks one at a time.
    how : {"deviation", "uniform", "quantile"} or None
        With "deviation", the state is 0 if `f <= mean - deviation`, 2 if `f > mean + deviation`,
        and 1 otherwise, where `deviation` is the standard deviation. "uniform" and "quantile"
        create five bins of equal width or equal count. With None, each distinct value is a state.

    Returns
    -------
    ndarray of int of shape (n_samples, n_features)
        The state of each value. Some states may not occur.

    Examples
    --------
    >>> import numpy as np
    >>> states_of(np.array([[0.0], [4.0], [5.0], [6.0], [10.0]]), "deviation").ravel()
    array([0, 1, 1, 1, 2], dtype=uint8)
    """
    X = as_samples(X)
    states: NDArray[np.integer[Any]] = np.empty(X.shape, dtype=np.uint8, order="F")
    for columns, block in X.dense_blocks():
        if how is None:
            found = _values(X.own_values(columns))
        else:
            scaled = _scaled(block)
            found = _by_deviation(scaled) if how == "deviation" else _by_bins(scaled, how)
        if found.max(initial=0) >= SMALL and states.dtype == np.uint8:
            states = states.astype(np.int64)
        states[:, columns] = found
    return states


def _scaled(block: FloatArray) -> FloatArray:
    """Scale columns by powers of 2 so that their squares neither overflow nor underflow."""
    exponent = np.frexp(np.abs(block).max(axis=0, initial=0.0))[1]
    return np.ldexp(block, -exponent)


def _by_deviation(block: FloatArray) -> NDArray[np.integer[Any]]:
    # With one feature per row, NumPy sums pairwise, and the error hardly grows with the number of
    # samples.
    rows = np.ascontiguousarray(block.T)
    centred = rows - rows.mean(axis=1, keepdims=True)
    # With a large offset the mean is rounded, but subtracting it is exact. Subtracting the mean of
    # the result removes the error.
    centred -= centred.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    # If a feature has two equally frequent values, they lie exactly on the two cuts. So values that
    # equal a cut up to rounding count as equal to it.
    rounding = ROUNDING * deviation
    above = (centred > deviation + rounding).astype(np.uint8)
    return (1 + above - (centred <= rounding - deviation)).T


def _by_bins(block: FloatArray, how: str) -> NDArray[np.integer[Any]]:
    """Return the bin of each value, which is the number of bin edges that it reaches."""
    if how == "uniform":
        cuts = np.linspace(block.min(axis=0), block.max(axis=0), N_BINS + 1)[1:-1]
    else:
        shares = np.arange(1, N_BINS) / N_BINS
        cuts = np.quantile(block, shares, axis=0, method="averaged_inverted_cdf")
    states = np.zeros(block.shape, dtype=np.uint8)
    for cut in cuts:
        states += block >= cut
    return states


def _values(block: NDArray[Any]) -> NDArray[np.integer[Any]]:
    states = np.empty(block.shape, dtype=np.int64)
    for feature, column in enumerate(block.T):
        states[:, feature] = np.unique(column, return_inverse=True)[1]
    return states
