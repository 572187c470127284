"""Nearest neighbours, exactly, in memory proportional to the number of neighbours."""

from __future__ import annotations

import threading
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect.arrays import FloatArray, IntArray, Matrix
from linkselect.blocks import map_threads, slices
from linkselect.graphs.distances import Products, pair_distances, products, row_tiles
from linkselect.graphs.kinds import Edges
from linkselect.messages import GuidedValueError

__all__ = ["ball_edges", "join_edges", "nearest", "nearest_edges"]

Found = tuple[IntArray, IntArray, FloatArray]

# A tile that leaves more candidates per row than this is done again in float64.
MANY_CANDIDATES = 64
MUTUAL_TILE_SIZE = 1 << 21


def nearest_edges(X: Matrix, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Join two samples if either is among the nearest of the other.

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
        raise GuidedValueError(
            f"n_neighbors={n_neighbors}, but X has {n_samples} samples, so a sample has only "
            f"{n_samples - 1} others.",
            f"Choose n_neighbors from 1 to {n_samples - 1}.",
            "n_neighbors",
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
    rows: Products | None = None,
    n_jobs: int | None = None,
) -> Found:
    """Find the nearest rows of `pool` for each row in `queries`, itself left out.

    Where the pool has fewer rows than `n_neighbors`, all of them are found.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense or sparse.
    n_neighbors : int
        How many to find for each query.
    queries, pool : ndarray of int, optional
        Row numbers. Default: all rows.
    rows : Products, optional
        `products(X)`, where several searches share it.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    left, right : ndarray of int
        A query and one of its neighbours, queries in order and neighbours from near to far;
        equally near ones by row number.
    distances : ndarray of float
        Their squared distances, by direct differences in float64.
    """
    X = X.tocsr() if issparse(X) else X
    rough = products(X, n_jobs=n_jobs) if rows is None else rows
    if queries is None and pool is None:
        candidates = _mutual_candidates(rough, n_neighbors, n_jobs)
        if candidates is not None:
            return _closest(X, *candidates, n_neighbors, n_jobs)
    everything = np.arange(X.shape[0])
    queries = everything if queries is None else queries
    pool = everything if pool is None else np.sort(pool)
    if not len(queries) or not len(pool):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)

    def search(rows: Products, part: slice, most: float) -> Found | None:
        candidates = _candidates(rows, queries[part], pool, n_neighbors, most)
        return None if candidates is None else _closest(X, *candidates, n_neighbors, n_jobs=1)

    tiles = row_tiles(len(queries), len(pool))
    found = map_threads(lambda part: search(rough, part, MANY_CANDIDATES), tiles, n_jobs)
    if any(part is None for part in found):
        # Now every pair may be a candidate, so a tile has fewer rows.
        fine = products(X, np.float64, n_jobs=n_jobs)
        tiles = row_tiles(len(queries), 8 * len(pool))
        found = map_threads(lambda part: search(fine, part, np.inf), tiles, n_jobs)
    return _joined([part for part in found if part is not None])


def _mutual_candidates(
    rows: Products, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, IntArray] | None:
    """List every pair that can be among the nearest, with each product used for both its ends.

    Returns None if the products leave too many pairs open.
    """
    n_samples = len(rows.norms)
    parts = slices(n_samples, max(isqrt(MUTUAL_TILE_SIZE), n_neighbors + 1))
    # Threads write to slices of `reach` that may overlap, without a lock. That is harmless: every
    # value written is an upper bound of the distance to the n-th neighbour, so whichever write
    # survives, `reach` stays one. A bound that was lost only leaves more candidates, and the exact
    # distances decide among these. So the result never depends on the order of the threads.
    reach = np.full(n_samples, np.inf)
    overfull = threading.Event()

    def one_way(tile: NDArray[Any], own: slice, other: slice) -> Found:
        if tile.shape[1] > n_neighbors:
            place = n_neighbors - 1
            farthest = np.partition(tile, place, axis=1)[:, place]
            reach[own] = np.minimum(reach[own], farthest)
        slack = 2 * (rows.errors[own] + rows.errors[other].max())
        possible = tile <= (reach[own] + slack)[:, None].astype(tile.dtype)
        if np.count_nonzero(possible) > MANY_CANDIDATES * n_neighbors * tile.shape[0]:
            overfull.set()
            possible[:] = False
        # The mask is nearly empty, and a flat search of it is several times faster.
        found = np.flatnonzero(possible)
        row, column = np.divmod(found, tile.shape[1])
        return row + own.start, column + other.start, tile.ravel()[found].astype(np.float64)

    def work(pair: tuple[slice, slice]) -> list[Found]:
        if overfull.is_set():
            return []
        own, other = pair
        # Upper bounds of all distances, so that the n-th smallest bounds the n-th nearest.
        tile = rows.distances(own, rows.take(other))
        tile += rows.errors[other].astype(tile.dtype)
        tile += (rows.norms + rows.errors)[own, None].astype(tile.dtype)
        if own == other:
            np.fill_diagonal(tile, np.inf)
            return [one_way(tile, own, other)]
        return [one_way(tile, own, other), one_way(np.ascontiguousarray(tile.T), other, own)]

    pairs = [(own, other) for i, own in enumerate(parts) for other in parts[i:]]
    found = map_threads(work, pairs, n_jobs)
    if overfull.is_set():
        return None
    left, right, upper = _joined([side for both in found for side in both])
    by_left = np.lexsort((upper, left))
    left, right, upper = left[by_left], right[by_left], upper[by_left]
    nth = _place_in_run(left) == n_neighbors - 1
    reach[left[nth]] = upper[nth]
    possible = upper - 2 * (rows.errors[left] + rows.errors[right]) <= reach[left]
    possible &= left != right
    return left[possible], right[possible]


def _candidates(
    rows: Products, queries: IntArray, pool: IntArray, n_neighbors: int, most: float
) -> tuple[IntArray, IntArray] | None:
    """List every pair that can be among the nearest, given the error of the products.

    Returns None if that is more than `most` times the number of neighbours.
    """
    reference = rows if len(pool) == len(rows.norms) else rows.take(pool)
    tile = rows.distances(queries, reference)
    errors = reference.errors.astype(tile.dtype)
    if len(pool) <= n_neighbors:
        possible = np.ones(tile.shape, dtype=bool)
    else:
        tile += errors
        place = np.minimum(np.searchsorted(pool, queries), len(pool) - 1)
        itself = np.flatnonzero(pool[place] == queries)
        tile[itself, place[itself]] = np.inf
        # The tile now holds upper bounds, so the n-th smallest of a row bounds its n-th nearest.
        # Whatever is farther by its lower bound is out.
        reach = np.partition(tile, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        reach = reach + 2 * rows.errors[queries]
        tile -= 2 * errors
        possible = tile <= reach[:, None].astype(tile.dtype)
        if np.count_nonzero(possible) > most * n_neighbors * len(queries):
            return None
    row, column = np.divmod(np.flatnonzero(possible), len(pool))
    left, right = queries[row], pool[column]
    return left[left != right], right[left != right]


def _closest(
    X: Matrix, left: IntArray, right: IntArray, n_neighbors: int, n_jobs: int | None
) -> Found:
    """Keep the nearest of each query's candidates; `left` comes in runs of one query."""
    # Two samples that are candidates of each other need one distance.
    number = np.minimum(left, right) * X.shape[0] + np.maximum(left, right)
    number, place = np.unique(number, return_inverse=True)
    distances = pair_distances(X, number // X.shape[0], number % X.shape[0], n_jobs)[place]
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
    rows = products(X.tocsr() if issparse(X) else X, n_jobs=n_jobs)
    # Beyond the largest distance a larger radius changes nothing, but may overflow.
    limit = min(radius / rows.scale, 2.0 * np.sqrt(rows.norms.max()) + 1.0) ** 2

    def work(part: slice) -> Found:
        queries = np.arange(part.start, part.stop)
        tile = rows.distances(queries, rows)
        own = rows.norms[queries]
        reach = limit - own + rows.errors[queries] + rows.errors.max()
        row, right = np.nonzero(tile <= np.nextafter(reach.astype(tile.dtype), np.inf)[:, None])
        left = queries[row]
        once = left < right
        left, right = left[once], right[once]
        distances = pair_distances(X, left, right, n_jobs=1)
        near = np.sqrt(distances) <= radius
        return left[near], right[near], distances[near]

    found = map_threads(work, row_tiles(X.shape[0], X.shape[0]), n_jobs)
    return Edges(X.shape[0], *_joined(found))
