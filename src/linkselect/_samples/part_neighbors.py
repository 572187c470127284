"""Nearest neighbours among stored samples that are read in blocks of rows.

In each part, candidates are found with matrix products in float32 and compared by exact distances
in float64. The nearest candidates of all parts are then merged.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples import neighbors
from linkselect._samples.distances import distances_between, prepared
from linkselect._samples.sources.merging import FAN_IN
from linkselect._samples.sources.running import reduce_parts
from linkselect._samples.sources.stored import Part, Stored
from linkselect._samples.survey import Survey

# The size of the queries, in their stored dtype, that all parts are compared with at a time.
QUERY_BYTES = 128 * 2**20
# The size of the lists for each neighbour of a query: a number and a distance, times the number of
# parts that are merged at once.
LISTED_BYTES = 16 * FAN_IN
# The number of distances in a tile between queries and the samples of a slab.
TILE_SIZE = 1 << 22

# The numbers of the nearest samples of each query and their squared distances, in ascending order;
# if there are fewer neighbours, the list ends with -1 and infinity.
Lists = tuple[IntArray, FloatArray]


def nearest(
    X: Stored, survey: Survey, n_neighbors: int, queries: IntArray, n_jobs: int | None
) -> neighbors.Found:
    """Find the nearest neighbours of each query among all other samples; see `graphs.nearest`."""
    centre, scale = _centre(survey)
    work = partial(_nearest_in_part, centre=centre, scale=scale, n_neighbors=n_neighbors)
    per_query = max(X.shape[1] * X.dtype.itemsize, LISTED_BYTES * n_neighbors)
    size = max(X.allowed(QUERY_BYTES) // per_query, 1)
    found = []
    for batch in slices(len(queries), size):
        some = queries[batch]
        lists = reduce_parts(
            X,
            partial(work, queries=some),
            partial(_nearest_of_all, n_neighbors=n_neighbors),
            shared=some,
            n_jobs=n_jobs,
            what="search neighbours",
        )
        found.append(_listed(some, *lists))
    return neighbors.joined(found)


def _centre(survey: Survey) -> tuple[FloatArray, float]:
    """Return the mean of all samples, and an upper bound on absolute values after centring."""
    assert survey.moments is not None
    mean = survey.moments.together().means_minus(0.0)[0]
    largest = float(np.maximum(survey.high - mean, mean - survey.low).max())
    return mean, 2.0 * largest or 1.0


def _listed(queries: IntArray, rows: IntArray, distances: FloatArray) -> neighbors.Found:
    present = rows >= 0
    left = np.repeat(queries, np.count_nonzero(present, axis=1))
    return left, rows[present], distances[present]


def _nearest_in_part(
    part: Part,
    query_rows: NDArray[Any],
    *,
    queries: IntArray,
    centre: FloatArray,
    scale: float,
    n_neighbors: int,
) -> Lists:
    """Find the nearest neighbours of each query within one part."""
    found = _no_neighbors(len(queries), n_neighbors)
    for rows, slab in part.slabs():
        # float32 suffices for nearly all samples; rows in float64 are prepared only if needed.
        pool = cache(partial(prepared, slab, centre, scale, n_jobs=1))
        lists = []
        for some in slices(len(queries), max(TILE_SIZE // len(slab), 1)):
            own, itself = query_rows[some], queries[some] - rows.start
            row, column = _candidates(own, itself, pool, centre, n_neighbors)
            apart = distances_between(own, row, slab, column, 1)
            lists.append(_in_lists(len(own), n_neighbors, row, column, apart))
        numbers, distances = (np.concatenate(side) for side in zip(*lists, strict=True))
        numbers = np.where(numbers >= 0, numbers + rows.start, -1)
        found = _nearest_of_all([found, (numbers, distances)], n_neighbors=n_neighbors)
    return found


def _candidates(
    own: NDArray[Any],
    itself: IntArray,
    pool: Callable[[Any], neighbors.Products],
    centre: FloatArray,
    n_neighbors: int,
) -> tuple[IntArray, IntArray]:
    """List all pairs that may be neighbours; `itself` is the row of each query in the pool."""

    def search(dtype: Any) -> tuple[IntArray, int]:
        others = pool(dtype)
        mine = prepared(own, centre, others.scale, dtype, 1)
        tile = mine.distances(slice(None), others)
        n_others = tile.shape[1]
        here = np.flatnonzero((itself >= 0) & (itself < n_others))
        tile[here, itself[here]] = np.inf
        return np.flatnonzero(
            neighbors.possible(tile, mine.errors, others.errors, n_neighbors)
        ), n_others

    found, n_others = search(np.float32)
    if len(found) > neighbors.MANY_CANDIDATES * n_neighbors * len(own):
        found, n_others = search(np.float64)
    row, column = np.divmod(found, n_others)
    other = column != itself[row]
    return row[other], column[other]


def _in_lists(
    n_queries: int, n_neighbors: int, row: IntArray, column: IntArray, distances: FloatArray
) -> Lists:
    kept = neighbors.keep_nearest(row, column, distances, n_neighbors)
    numbers, nearest_distances = _no_neighbors(n_queries, n_neighbors)
    counts = np.bincount(row[kept], minlength=n_queries)
    place = np.arange(n_neighbors) < counts[:, None]
    numbers[place], nearest_distances[place] = column[kept], distances[kept]
    return numbers, nearest_distances


def _no_neighbors(n_queries: int, n_neighbors: int) -> Lists:
    shape = (n_queries, n_neighbors)
    return np.full(shape, -1, dtype=np.intp), np.full(shape, np.inf)


def _nearest_of_all(parts: Sequence[Lists], *, n_neighbors: int) -> Lists:
    """Merge the neighbours found in all parts; ties are broken in favour of lower row numbers."""
    numbers, distances = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
    order = np.lexsort((numbers, distances), axis=1)[:, :n_neighbors]
    return np.take_along_axis(numbers, order, 1), np.take_along_axis(distances, order, 1)
