"""ReliefF, which favours features that differ between neighbours of different classes."""

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._blocks import map_threads, slices
from linkselect._compiled.manhattan import FEATURES_PER_SUM, manhattan_distances
from linkselect._samples import Samples, as_samples
from linkselect._samples.neighbors import Bounds, Found, even_parts

# Two distances tie if they differ by less than this, per feature. The value is far above the
# rounding error of a float64 sum and far below any meaningful difference, so ties in exact
# arithmetic remain ties in every unit.
TIE_PER_FEATURE = 2.0**-42
# Error bound of the difference of two codes in single precision, derived in docs/bounds.md.
CODE_ROUNDING = 2.0**-23
# SciPy computes about this many differences in the second that importing and compiling numba takes.
COMPARISONS_WORTH_COMPILING = 2e9
ROWS_PER_BLOCK = 64
# Distances are symmetric: only half of them are computed, in square tiles with this side length.
TILE_SIDE = 512
# With more candidates per neighbour, a tile has too many ties to keep them all.
MANY_CANDIDATES = 8

# Returns, for each of some rows, the candidate neighbours as one array of row numbers per class.
Candidates = Callable[[slice], Iterable[Sequence[IntArray]]]


@cites("robnik2003", "kira1992")
def relieff(
    X: Any,
    classes: IntArray,
    n_neighbors: int,
    discrete: BoolArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute the ReliefF score: mean difference to nearest misses minus that to nearest hits.

    Hits are samples of the same class, and misses are samples of other classes. Larger scores are
    better.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, dense or sparse.
    classes : ndarray of shape (n_samples,)
        The class of each sample, numbered from 0 without gaps.
    n_neighbors : int
        Number of nearest neighbours from each class. If a class has fewer samples, all of them are
        used.
    discrete : ndarray of bool of shape (n_features,), optional
        A mask of the categorical features. Default: no feature is categorical.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
        The scores, which are between -1 and 1. The score of a constant feature is 0.
    """
    X = as_samples(X)
    if discrete is None:
        discrete = np.zeros(X.shape[1], dtype=bool)
    # Sort rows by class. The sort is stable, so within a class ties are resolved by index.
    by_class = np.argsort(classes, kind="stable")
    codes = _difference_codes(X, discrete)[by_class]
    sizes = np.bincount(classes)
    candidates = _candidates(codes, discrete, sizes, n_neighbors, n_jobs)
    weights = _class_weights(sizes)[classes[by_class]]

    cut = bool(discrete.any())

    def work(rows: slice) -> FloatArray:
        total = np.zeros(codes.shape[1])
        for row, near in zip(range(rows.start, rows.stop), candidates(rows), strict=True):
            _add_differences(total, codes, row, near, weights[row], n_neighbors, cut)
        return total

    parts = map_threads(work, slices(len(codes), ROWS_PER_BLOCK), n_jobs)
    return np.sum(parts, axis=0) / len(codes)


def _difference_codes(X: Samples, discrete: BoolArray) -> FloatArray:
    """Encode features so that the difference of two samples is `minimum(|a - b|, 1)`.

    Numeric features are scaled to [0, 1], and the values of discrete features are replaced by
    integers.
    """
    codes = np.empty(X.shape)
    for columns, block in X.dense_blocks():
        low, high = block.min(axis=0), block.max(axis=0)
        # Halve the values if their range would overflow.
        half = np.where(np.maximum(np.abs(low), np.abs(high)) > 1e300, 0.5, 1.0)
        extent = half * high - half * low
        codes[:, columns] = (half * block - half * low) / np.where(extent > 0, extent, 1.0)
        for feature in columns.start + np.flatnonzero(discrete[columns]):
            values = X.own_values(slice(feature, feature + 1)).ravel()
            codes[:, feature] = np.unique(values, return_inverse=True)[1]
    return codes


def _class_weights(sizes: IntArray) -> FloatArray:
    """Return the weights of mean differences between each sample class and each neighbour class.

    Rows correspond to the class of the sample, and columns to the class of its neighbours. The
    weight of the sample's own class is -1.
    """
    priors = sizes / sizes.sum()
    others = 1.0 - priors if len(sizes) > 1 else np.ones(1)
    weights = priors / others[:, None]
    np.fill_diagonal(weights, -1.0)
    return weights


def _candidates(
    codes: FloatArray, discrete: BoolArray, sizes: IntArray, n_neighbors: int, n_jobs: int | None
) -> Candidates:
    """Return a function that lists the possible nearest samples of given rows in each class."""
    n_samples, n_features = codes.shape
    compiled = None
    if n_samples**2 * n_features > COMPARISONS_WORTH_COMPILING:
        compiled = manhattan_distances()
    if compiled is None:
        return _by_rows(_scipy_distances(codes, discrete), sizes, n_neighbors, n_features)
    distances, single, cut = compiled, codes.astype(np.float32), bool(discrete.any())

    def between(left: Any, right: Any) -> NDArray[Any]:
        return distances(single[left], single[right], cut)

    if MANY_CANDIDATES * n_neighbors * len(sizes) <= n_samples:
        found = _by_halves(between, sizes, n_neighbors, n_features, n_jobs)
        if found is not None:
            return found
    return _by_rows(lambda rows: between(rows, slice(None)), sizes, n_neighbors, n_features)


def _scipy_distances(codes: FloatArray, discrete: BoolArray) -> Callable[[slice], NDArray[Any]]:
    """Return a function that computes the distances from given rows to all rows."""
    numeric, categories = codes[:, ~discrete], codes[:, discrete]

    def by_scipy(rows: slice) -> FloatArray:
        distances = np.zeros((rows.stop - rows.start, len(codes)))
        if numeric.shape[1]:
            distances += cdist(numeric[rows], numeric, "cityblock")
        if categories.shape[1]:
            distances += cdist(categories[rows], categories, "hamming") * categories.shape[1]
        return distances

    return by_scipy


def _within(reach: FloatArray, n_features: int) -> FloatArray:
    """Return the largest approximate distance at which a sample may be a nearest neighbour.

    The argument `reach` is the approximate distance of the last neighbour. The bound is derived in
    docs/bounds.md.
    """
    relative = _sum_rounding(n_features)
    absolute = n_features * (CODE_ROUNDING + TIE_PER_FEATURE)
    return (reach * (1 + relative) + 2 * absolute) / (1 - relative)


def _sum_rounding(n_features: int) -> float:
    """Return a bound on the relative rounding error of float32 sums, for any summation order."""
    return (min(n_features, FEATURES_PER_SUM) + 8) * 2.0**-24


def _by_rows(
    propose: Callable[[slice], NDArray[Any]], sizes: IntArray, n_neighbors: int, n_features: int
) -> Candidates:
    """Return a function that finds candidates row by row and computes distances on demand."""
    ends = np.cumsum(sizes)

    def of_class(distances: NDArray[Any], members: slice) -> list[IntArray]:
        proposed = distances[:, members]
        if proposed.shape[1] <= n_neighbors:
            found = np.isfinite(proposed)
        else:
            place = n_neighbors - 1
            reach = np.partition(proposed, place, axis=1)[:, place].astype(np.float64)
            found = proposed <= _within(reach, n_features)[:, None]
        rows, columns = np.nonzero(found)
        stops = np.cumsum(np.bincount(rows, minlength=len(found)))
        return np.split(columns + members.start, stops[:-1])

    def candidates(rows: slice) -> Iterable[Sequence[IntArray]]:
        distances = propose(rows)
        own = np.arange(rows.start, rows.stop)
        distances[own - rows.start, own] = np.inf
        classes = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        return zip(*(of_class(distances, members) for members in classes), strict=True)

    return candidates


def _by_halves(
    between: Callable[[IntArray, IntArray], NDArray[Any]],
    sizes: IntArray,
    n_neighbors: int,
    n_features: int,
    n_jobs: int | None,
) -> Candidates | None:
    """Return candidate neighbours, computing each distance only once for both samples.

    As in `_samples.neighbors`, a list of the smallest distances found so far per sample and class
    determines which entries of a tile are kept. The result is None if ties leave too many
    candidates.
    """
    n_classes, n_samples = len(sizes), int(sizes.sum())
    # Every tile contains all classes in proportion, so the first tile of a sample bounds its
    # distance to the last neighbour in each class.
    place = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    mixed = np.argsort(place, kind="stable")
    classes = np.repeat(np.arange(n_classes), sizes)[mixed]
    bounds = Bounds(n_samples * n_classes, n_neighbors)
    smallest = bounds.smallest.reshape(n_samples, n_classes, n_neighbors)
    overfull = threading.Event()

    def within_reach(tile: NDArray[Any], own: slice, other: slice, axis: int) -> Found:
        # Slightly larger, since conversion to single precision may round down.
        limits = _within(smallest[own, :, -1], n_features) * (1 + 2.0**-22)
        limit = limits.astype(np.float32)[:, classes[other]]
        possible = tile <= (limit.T if axis else limit)
        if np.count_nonzero(possible) > MANY_CANDIDATES * n_neighbors * limits.size:
            overfull.set()
            possible[:] = False
        places = np.divmod(np.flatnonzero(possible), tile.shape[1])
        left, right = places[axis] + own.start, places[1 - axis] + other.start
        slot = left * n_classes + classes[right]
        order = np.argsort(slot, kind="stable")
        return slot[order], right[order], tile[places][order].astype(np.float64)

    def work(pair: tuple[slice, slice]) -> list[Found]:
        if overfull.is_set():
            return []
        own, other = pair
        tile = between(mixed[own], mixed[other])
        if own == other:
            np.fill_diagonal(tile, np.inf)
            smallest[own, :, -1] = _first_reach(tile, classes[other], smallest.shape[1:])
        found = [within_reach(tile, own, other, axis=0)]
        if own != other:
            found.append(within_reach(tile, other, own, axis=1))
        for slots, _, values in found:
            bounds.add(slots, values)
        return found

    parts = even_parts(n_samples, TILE_SIDE, n_neighbors + 1)
    tiles = map_threads(work, [(part, part) for part in parts], n_jobs)
    tiles += map_threads(work, combinations(parts, 2), n_jobs)
    if overfull.is_set():
        return None
    slot, right, values = map(np.concatenate, zip(*chain.from_iterable(tiles), strict=True))
    kept = values <= _within(bounds.reach, n_features)[slot]
    kept &= slot // n_classes != right
    return _listed(mixed[slot[kept] // n_classes], mixed[right[kept]], sizes)


def _first_reach(tile: NDArray[Any], classes: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """Return the n-th smallest distance from each row to each class with more than n samples."""
    n_classes, n_neighbors = shape
    reach = np.full((len(tile), n_classes), np.inf)
    for label in range(n_classes):
        members = tile[:, classes == label]
        if members.shape[1] > n_neighbors:
            reach[:, label] = np.partition(members, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    return reach


def _listed(left: IntArray, right: IntArray, sizes: IntArray) -> Candidates:
    """Return a function that looks up candidates in a list of pairs."""
    n_samples, n_classes = int(sizes.sum()), len(sizes)
    # Rows are sorted by class, so this sorts by class as well.
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    slot = left * n_classes + np.repeat(np.arange(n_classes), sizes)[right]
    ends = np.cumsum(np.bincount(slot, minlength=n_samples * n_classes))

    def candidates(rows: slice) -> Iterable[Sequence[IntArray]]:
        for row in range(rows.start, rows.stop):
            stops = ends[row * n_classes : (row + 1) * n_classes]
            start = ends[row * n_classes - 1] if row else 0
            yield np.split(right[start : stops[-1]], stops[:-1] - start)

    return candidates


def _add_differences(
    total: FloatArray,
    codes: FloatArray,
    row: int,
    by_class: Sequence[IntArray],
    weights: FloatArray,
    n_neighbors: int,
    cut: bool,
) -> None:
    """Add the weighted mean differences between a sample and its nearest samples of each class."""
    for candidates, weight in zip(by_class, weights, strict=True):
        if len(candidates) == 0:
            continue
        differences = codes[candidates]
        differences -= codes[row]
        np.abs(differences, out=differences)
        if cut:  # no numeric feature differs by more than 1
            np.minimum(differences, 1.0, out=differences)
        if len(candidates) > n_neighbors:
            differences = differences[
                _nearest(differences.sum(axis=1), n_neighbors, codes.shape[1])
            ]
        total += np.full(len(differences), weight / len(differences)) @ differences


def _nearest(distances: FloatArray, n_neighbors: int, n_features: int) -> BoolArray:
    """Return a mask of the nearest samples; ties with the last one are broken by index."""
    tie = TIE_PER_FEATURE * n_features
    last = np.partition(distances, n_neighbors - 1)[n_neighbors - 1]
    # Ties are measured from the last neighbour: rounding to a grid could separate tied values.
    nearer, tied = distances < last - tie, np.abs(distances - last) <= tie
    missing = n_neighbors - np.count_nonzero(nearer)
    nearer[np.flatnonzero(tied)[:missing]] = True
    return nearer
