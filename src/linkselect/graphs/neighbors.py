"""Nearest neighbours, exactly, in memory proportional to the number of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect.blocks import Matrix, map_threads
from linkselect.graphs.distances import Products, pair_distances, products, row_tiles
from linkselect.graphs.kinds import Edges

__all__ = ["ball_edges", "join_edges", "nearest", "nearest_edges"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Found = tuple[IntArray, IntArray, FloatArray]

# A tile that leaves more candidates per row than this is done again in float64.
MANY_CANDIDATES = 64


def nearest_edges(X: Matrix, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Join samples where either is among the nearest of the other.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense or sparse.
    n_neighbors : int
        How many nearest samples, itself left out; ties go to the lower row number.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Edges
        Each edge once; its weight is the squared distance.
    """
    n_samples = X.shape[0]
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors}, but X has {n_samples} samples, so a sample has only "
            f"{n_samples - 1} others. Choose n_neighbors from 1 to {n_samples - 1}."
        )
    return join_edges(n_samples, *nearest(X, n_neighbors, n_jobs=n_jobs))


def join_edges(n_samples: int, left: IntArray, right: IntArray, distances: FloatArray) -> Edges:
    """List each edge once, whichever end found it."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    key, first = np.unique(low * n_samples + high, return_index=True)
    return Edges(n_samples, key // n_samples, key % n_samples, distances[first])


def nearest(
    X: Matrix,
    n_neighbors: int,
    *,
    queries: IntArray | None = None,
    pool: IntArray | None = None,
    n_jobs: int | None = None,
) -> Found:
    """Find the nearest rows of `pool` for each row in `queries`, itself left out.

    Where the pool has fewer rows than `n_neighbors`, all of them are found.

    Returns
    -------
    left, right : ndarray of int
        A query and one of its neighbours, queries in order and neighbours from near to far;
        equally near ones by row number.
    distances : ndarray of float
        Their squared distances, by direct differences in float64.
    """
    X = X.tocsr() if issparse(X) else X
    everything = np.arange(X.shape[0])
    queries = everything if queries is None else queries
    pool = everything if pool is None else np.sort(pool)
    tiles = list(row_tiles(len(queries), len(pool)))
    if not tiles:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)

    def search(rows: Products, part: slice, limit: float) -> Found | None:
        candidates = _candidates(rows, queries[part], pool, n_neighbors)
        if len(candidates[0]) > limit * n_neighbors * len(queries[part]):
            return None
        return _closest(X, *candidates, n_neighbors)

    rough = products(X)
    found = map_threads(lambda part: search(rough, part, MANY_CANDIDATES), tiles, n_jobs)
    undecided = [tile for tile, result in enumerate(found) if result is None]
    if undecided:
        fine = products(X, np.float64)
        again = map_threads(lambda tile: search(fine, tiles[tile], np.inf), undecided, n_jobs)
        for tile, result in zip(undecided, again, strict=True):
            found[tile] = result
    return _joined([result for result in found if result is not None])


def _candidates(
    rows: Products, queries: IntArray, pool: IntArray, n_neighbors: int
) -> tuple[IntArray, IntArray]:
    """List every pair that can be among the nearest, given the error of the products."""
    if len(pool) <= n_neighbors:
        row, column = np.divmod(np.arange(len(queries) * len(pool)), len(pool))
        left, right = queries[row], pool[column]
        return left[left != right], right[left != right]
    reference = rows if len(pool) == len(rows.norms) else rows.take(pool)
    tile = rows.distances(queries, reference)
    error = rows.error * reference.norms.astype(tile.dtype)
    tile += error
    place = np.minimum(np.searchsorted(pool, queries), len(pool) - 1)
    itself = np.flatnonzero(pool[place] == queries)
    tile[itself, place[itself]] = np.inf
    # The tile now holds upper bounds, so the n-th smallest of a row bounds its n-th nearest.
    # Whatever is farther by its lower bound is out.
    reach = np.partition(tile, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    reach = reach + 2 * rows.error * rows.norms[queries]
    tile -= 2 * error
    row, column = np.nonzero(tile <= reach[:, None].astype(tile.dtype))
    left, right = queries[row], pool[column]
    return left[left != right], right[left != right]


def _closest(X: Matrix, left: IntArray, right: IntArray, n_neighbors: int) -> Found:
    """Keep the nearest of each query's candidates; `left` comes in runs of one query."""
    distances = pair_distances(X, left, right, n_jobs=1)
    query = np.cumsum(np.diff(left, prepend=left[:1]) != 0)
    by_query = np.lexsort((right, distances, query))
    kept = by_query[_place_in_run(query[by_query]) < n_neighbors]
    return left[kept], right[kept], distances[kept]


def _joined(found: list[Found]) -> Found:
    left, right, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, distances


def _place_in_run(values: IntArray) -> IntArray:
    """Count within each run of equal values: 0, 1, 2, ..."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)


def ball_edges(X: Matrix, radius: float, n_jobs: int | None = None) -> Edges:
    """Join samples at most `radius` apart; the weight of an edge is the squared distance."""
    rows = products(X.tocsr() if issparse(X) else X)
    limit = min(radius / rows.scale, 1e100) ** 2
    largest = rows.norms.max()

    def work(part: slice) -> Found:
        queries = np.arange(part.start, part.stop)
        tile = rows.distances(queries, rows)
        own = rows.norms[queries]
        reach = limit - own + rows.error * (own + largest)
        row, right = np.nonzero(tile <= np.nextafter(reach.astype(tile.dtype), np.inf)[:, None])
        left = queries[row]
        once = left < right
        left, right = left[once], right[once]
        distances = pair_distances(X, left, right, n_jobs=1)
        near = distances <= radius**2
        return left[near], right[near], distances[near]

    found = map_threads(work, row_tiles(X.shape[0], X.shape[0]), n_jobs)
    return Edges(X.shape[0], *_joined(found))
