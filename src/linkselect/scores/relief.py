"""ReliefF: good features differ between near samples of different classes and not within one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkselect.arrays import BoolArray, FloatArray, IntArray, Matrix
from linkselect.bibliography import cites
from linkselect.blocks import dense_blocks, map_threads, slices
from linkselect.compiled.manhattan import FEATURES_PER_SUM, manhattan_distances

__all__ = ["relieff"]

# Distances closer than this, per feature, are ties. It is far above the rounding of a float64 sum
# and far below any difference that means something, so a tie in exact arithmetic stays one
# whatever the unit of a feature.
TIE_PER_FEATURE = 2.0**-42
# Importing and compiling numba takes about a second, in which SciPy gets this far.
COMPARISONS_WORTH_COMPILING = 2e9
ROWS_PER_BLOCK = 64


@cites("robnik2003", "kira1992")
def relieff(
    X: Matrix,
    classes: IntArray,
    n_neighbors: int,
    discrete: BoolArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Compare the change to the nearest misses with that to the nearest hits; larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense or sparse.
    classes : ndarray of shape (n_samples,)
        The class of each sample from 0, none of them empty.
    n_neighbors : int
        How many neighbours every class contributes; all it has where these are fewer.
    discrete : ndarray of bool of shape (n_features,), optional
        Which features hold categories. Default: none.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
        Between -1 and 1; 0 for a constant feature.
    """
    if discrete is None:
        discrete = np.zeros(X.shape[1], dtype=bool)
    # Classes become runs of rows. The sort is stable, so inside a class the index breaks ties.
    by_class = np.argsort(classes, kind="stable")
    codes = _difference_codes(X, discrete)[by_class]
    propose = _proposals(codes, discrete)
    sizes = np.bincount(classes)
    ends = np.cumsum(sizes)
    members = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    weights = _class_weights(sizes)[classes[by_class]]

    def work(rows: slice) -> FloatArray:
        distances = propose(rows)
        own = np.arange(rows.start, rows.stop)
        distances[own - rows.start, own] = np.inf
        candidates = [_candidates(distances, some, n_neighbors, codes.shape[1]) for some in members]
        total = np.zeros(codes.shape[1])
        for row, *by_class in zip(own, *candidates, strict=True):
            _add_differences(total, codes, row, by_class, weights[row], n_neighbors)
        return total

    parts = map_threads(work, slices(len(codes), ROWS_PER_BLOCK), n_jobs)
    return np.sum(parts, axis=0) / len(codes)


def _difference_codes(X: Matrix, discrete: BoolArray) -> FloatArray:
    """Encode features so that two samples differ by `minimum(|a - b|, 1)` in every one.

    Numeric features are scaled to [0, 1]; the values of a discrete one become 0, 1, 2, ...
    """
    codes = np.empty(X.shape)
    for columns, block in dense_blocks(X):
        low, high = block.min(axis=0), block.max(axis=0)
        # Halves, if the whole range would overflow.
        half = np.where(np.maximum(np.abs(low), np.abs(high)) > 1e300, 0.5, 1.0)
        extent = half * high - half * low
        codes[:, columns] = (half * block - half * low) / np.where(extent > 0, extent, 1.0)
        for feature in np.flatnonzero(discrete[columns]):
            values = np.unique(block[:, feature], return_inverse=True)[1]
            codes[:, columns.start + feature] = values
    return codes


def _class_weights(sizes: IntArray) -> FloatArray:
    """Weigh the mean difference to a class (column) seen from another (row); -1 for the own."""
    priors = sizes / sizes.sum()
    others = 1.0 - priors if len(sizes) > 1 else np.ones(1)
    weights = priors / others[:, None]
    np.fill_diagonal(weights, -1.0)
    return weights


def _proposals(codes: FloatArray, discrete: BoolArray) -> Callable[[slice], NDArray[Any]]:
    """Return what gives the distances from some rows to all, right to single precision."""
    n_samples, n_features = codes.shape
    if n_samples**2 * n_features > COMPARISONS_WORTH_COMPILING:
        compiled = manhattan_distances()
        if compiled is not None:
            single = codes.astype(np.float32)
            return lambda rows: compiled(single[rows], single)
    numeric, categories = codes[:, ~discrete], codes[:, discrete]

    def by_scipy(rows: slice) -> FloatArray:
        distances = np.zeros((rows.stop - rows.start, n_samples))
        if numeric.shape[1]:
            distances += cdist(numeric[rows], numeric, "cityblock")
        if categories.shape[1]:
            distances += cdist(categories[rows], categories, "hamming") * categories.shape[1]
        return distances

    return by_scipy


def _candidates(
    distances: NDArray[Any], members: slice, n_neighbors: int, n_features: int
) -> list[IntArray]:
    """List, for every row, the members of a class that may be among its nearest."""
    proposed = distances[:, members]
    if proposed.shape[1] <= n_neighbors:
        found = np.isfinite(proposed)
    else:
        place = n_neighbors - 1
        reach = np.partition(proposed, place, axis=1)[:, place].astype(np.float64)
        # Codes in single precision are off by 2^-25 each, a difference with its own rounding by
        # 2^-23; a float32 sum of m terms, in any order, by at most m * 2^-24 of itself.
        relative = (min(n_features, FEATURES_PER_SUM) + 8) * 2.0**-24
        absolute = n_features * (2.0**-23 + TIE_PER_FEATURE)
        found = proposed <= ((reach * (1 + relative) + 2 * absolute) / (1 - relative))[:, None]
    rows, columns = np.nonzero(found)
    ends = np.cumsum(np.bincount(rows, minlength=len(found)))
    return np.split(columns + members.start, ends[:-1])


def _add_differences(
    total: FloatArray,
    codes: FloatArray,
    row: int,
    by_class: list[IntArray],
    weights: FloatArray,
    n_neighbors: int,
) -> None:
    """Add one sample's weighted mean differences to its nearest of every class to the total."""
    for candidates, weight in zip(by_class, weights, strict=True):
        if len(candidates) == 0:
            continue
        differences = codes[candidates]
        differences -= codes[row]
        np.abs(differences, out=differences)
        np.minimum(differences, 1.0, out=differences)
        if len(candidates) > n_neighbors:
            grid = TIE_PER_FEATURE * codes.shape[1]
            in_ties = np.rint(differences.sum(axis=1) / grid)
            kept = np.argsort(in_ties, kind="stable")[:n_neighbors]
            differences = differences[np.sort(kept)]
        total += np.full(len(differences), weight / len(differences)) @ differences
