"""Forward selection by the accuracy of the nearest-neighbour classifier (SFS-1NN)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._blocks import map_threads, slices
from linkselect._compiled.hits import count_hits

Split = tuple[IntArray, IntArray]

# Queries times references per block: small enough for the processor's cache, large enough for a
# negligible overhead in Python.
DISTANCES_PER_BLOCK = 2**16
# Up to this many distances are kept from step to step; more are recomputed in each step.
MAX_KEPT_DISTANCES = 2**22
# With fewer squared differences per step, a second thread costs more than it saves.
DIFFERENCES_WORTH_THREADS = 2**25
# Compiling pays off from this many squared differences in a whole search. The evaluation of one
# candidate has a fixed cost, in units of squared differences. With few candidates, sorting the
# references costs too much.
DIFFERENCES_WORTH_COMPILING = 1e9
DIFFERENCES_PER_EVALUATION = 1e4
CANDIDATES_WORTH_SORTING = 100
# Without numba, this many of the nearest references are examined before all others.
N_NEAREST = 32


class AccuracyPath(NamedTuple):
    """The result of a forward selection by accuracy."""

    order: IntArray
    """Features in the order of selection.

    The remaining features are sorted by accuracy at the last step.
    """
    path: FloatArray
    """The accuracy after adding each selected feature."""
    scores: FloatArray
    """The accuracy of each feature alone."""


class _Queries(NamedTuple):
    """A block of the test samples of a split, and the training samples to compare them to."""

    split: int
    train: IntArray
    queries: IntArray
    kept: FloatArray | None
    """The squared distances computed from the selected features, if they fit into memory."""


@cites("whitney1971")
def select_by_nearest_neighbor(
    X: NDArray[Any],
    labels: NDArray[Any],
    n_features: int,
    splits: Sequence[Split] | None = None,
    *,
    first: Sequence[int] = (),
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    n_jobs: int | None = None,
) -> AccuracyPath:
    """Select features greedily by the accuracy of the nearest-neighbour classifier.

    A squared distance is a sum over features. To evaluate a candidate, one squared difference is
    added to each known distance, so no classifier needs to be fitted.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_all_features)
        The samples.
    labels : ndarray of shape (n_samples,)
        The class of each sample.
    n_features : int
        Number of features to select.
    splits : sequence of (train, test) index arrays, optional
        Each test sample is assigned the label of its nearest training sample, and the accuracy is
        averaged over splits. Default: leave-one-out.
    first : sequence of int, optional
        Features that are selected before all others, in this order.
    track : callable
        Function that wraps the iterable of step numbers and yields each number when its step
        begins. If it stops early, the search ends.
    n_jobs : int, optional
        Number of threads, which does not affect the result.

    Returns
    -------
    path : AccuracyPath

    Notes
    -----
    Ties between neighbours are broken by their order in `train`, and ties between features in
    favour of the lowest index. If all distances require at most 32 MB, they are kept in memory;
    otherwise they are computed in blocks. Large searches use compiled loops if numba is installed,
    which does not change the result.
    """
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    leave_self_out = splits is None
    if splits is None:
        everything = np.arange(len(labels))
        splits = [(everything, everything)]
    n_distances = sum(len(train) * len(test) for train, test in splits)
    n_threads = n_jobs if n_distances * len(columns) >= DIFFERENCES_WORTH_THREADS else 1
    hits_of = _way_to_count(n_distances, len(columns), n_features)
    codes = np.unique(labels, return_inverse=True)[1]
    keep = n_distances <= MAX_KEPT_DISTANCES
    blocks = [
        block for number, split in enumerate(splits) for block in _blocks(number, split, keep)
    ]
    n_queries = np.array([[len(test)] for _, test in splits])

    def accuracy_with(candidates: IntArray, chosen: list[int]) -> FloatArray:
        def hits(block: _Queries) -> IntArray:
            distances = _distances(columns, block, chosen, leave_self_out)
            return hits_of(columns, codes, block, candidates, distances)

        found = np.zeros((len(n_queries), len(candidates)), dtype=np.intp)
        for block, counted in zip(blocks, map_threads(hits, blocks, n_threads), strict=True):
            found[block.split] += counted
        # One row per feature, so that means are summed in the same order as in scikit-learn: they
        # then agree in the last digit.
        return np.ascontiguousarray((found / n_queries).T).mean(axis=1)

    chosen: list[int] = []
    path: list[float] = []
    scores = np.empty(0)
    ranked = remaining = np.arange(len(columns))
    for step in track(range(n_features)):
        accuracy = accuracy_with(remaining, chosen)
        if step == 0:
            scores = accuracy
        ranked = remaining[np.argsort(-accuracy, kind="stable")]
        chosen.append(int(first[step] if step < len(first) else ranked[0]))
        path.append(float(accuracy[remaining == chosen[-1]][0]))
        for block in blocks:
            if block.kept is not None:
                _add_feature(block.kept, columns[chosen[-1]], block)
        ranked = ranked[ranked != chosen[-1]]
        remaining = np.sort(ranked)
    order = np.concatenate([np.array(chosen, dtype=np.intp), ranked])
    return AccuracyPath(order, np.array(path), scores)


def _way_to_count(n_distances: int, n_candidates: int, n_features: int) -> Callable[..., IntArray]:
    """Return the faster of two equivalent functions that count correctly classified queries."""
    work = (n_distances + DIFFERENCES_PER_EVALUATION) * n_candidates * n_features
    is_large = work >= DIFFERENCES_WORTH_COMPILING and n_candidates >= CANDIDATES_WORTH_SORTING
    loop = count_hits() if is_large else None
    return _hits if loop is None else partial(_compiled_hits, loop)


def _blocks(number: int, split: Split, keep: bool) -> Iterator[_Queries]:
    train, test = split
    for part in slices(len(test), max(1, DISTANCES_PER_BLOCK // len(train))):
        queries = test[part]
        kept = np.zeros((len(queries), len(train))) if keep else None
        yield _Queries(number, train, queries, kept)


def _add_feature(distances: FloatArray, column: FloatArray, block: _Queries) -> None:
    distances += _squared_differences(column, block.queries[:, None], block.train)


def _distances(
    columns: FloatArray, block: _Queries, chosen: list[int], leave_self_out: bool
) -> FloatArray:
    """Return the squared distances computed from the selected features."""
    _, train, queries, kept = block
    if kept is None:
        distances = np.zeros((len(queries), len(train)))
        for feature in chosen:
            _add_feature(distances, columns[feature], block)
    else:
        distances = kept
    if leave_self_out:
        distances[queries[:, None] == train] = np.inf
    return distances


def _hits(
    columns: FloatArray,
    codes: IntArray,
    block: _Queries,
    candidates: IntArray,
    distances: FloatArray,
) -> IntArray:
    """Count, for each candidate, the queries whose nearest neighbour has the same class."""
    # Before the first selection, all distances are 0 and no reference is nearest.
    nearest_with = _nearest_of_few if len(candidates) < len(columns) else _nearest_of_all
    nearest = nearest_with(columns, candidates, block.queries, block.train, distances)
    own = codes[block.queries]
    return np.array([np.count_nonzero(codes[rows] == own) for rows in nearest], dtype=np.intp)


def _compiled_hits(
    loop: Callable[..., IntArray],
    columns: FloatArray,
    codes: IntArray,
    block: _Queries,
    candidates: IntArray,
    distances: FloatArray,
) -> IntArray:
    """Return the same counts as `_hits`, computed in a compiled loop."""
    nearest = np.argsort(distances, axis=1)
    ascending = np.take_along_axis(distances, nearest, axis=1)
    # Index here, where an invalid row number raises an error; the compiled loop does not check.
    own, theirs = codes[block.queries], codes[block.train]
    return loop(columns, candidates, block.queries, block.train, own, theirs, nearest, ascending)


def _nearest_of_all(
    columns: FloatArray,
    candidates: IntArray,
    queries: IntArray,
    train: IntArray,
    distances: FloatArray,
) -> Iterator[IntArray]:
    """Yield, for each candidate, the nearest reference of each query."""
    for feature in candidates:
        grown = _squared_differences(columns[feature], queries[:, None], train)
        grown += distances
        yield train[grown.argmin(axis=1)]


def _nearest_of_few(
    columns: FloatArray,
    candidates: IntArray,
    queries: IntArray,
    train: IntArray,
    distances: FloatArray,
) -> Iterator[IntArray]:
    """Yield the same references as `_nearest_of_all`, but examine only the nearest ones first."""
    near, beyond = _nearest_so_far(distances)
    near_distances = np.take_along_axis(distances, near, axis=1)
    near_samples = train[near]
    row = np.arange(len(queries))
    for position, feature in enumerate(candidates):
        grown = _squared_differences(columns[feature], queries[:, None], near_samples)
        grown += near_distances
        place = grown.argmin(axis=1)
        nearest = near_samples[row, place]
        unsure = np.flatnonzero(grown[row, place] >= beyond)
        if len(unsure):
            one = candidates[position : position + 1]
            (nearest[unsure],) = _nearest_of_all(
                columns, one, queries[unsure], train, distances[unsure]
            )
        yield nearest


def _nearest_so_far(distances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the nearest references of each query, and a lower bound on all other distances.

    An additional feature never decreases a distance. If a reference remains nearer than this bound,
    the other references therefore need not be examined.
    """
    n_references = distances.shape[1]
    if n_references <= 2 * N_NEAREST:
        everything = np.broadcast_to(np.arange(n_references), distances.shape)
        return everything, np.full(len(distances), np.inf)
    parted = np.argpartition(distances, N_NEAREST, axis=1)[:, : N_NEAREST + 1]
    beyond = np.take_along_axis(distances, parted[:, N_NEAREST:], axis=1)[:, 0]
    return np.sort(parted[:, :N_NEAREST], axis=1), beyond


def _squared_differences(column: FloatArray, queries: IntArray, references: IntArray) -> FloatArray:
    difference = column.take(queries) - column.take(references)
    difference *= difference
    return difference
