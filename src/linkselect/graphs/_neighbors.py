"""Nearest neighbours, exactly, in memory proportional to the number of neighbours."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._blocks import count_threads, map_threads
from linkselect._messages import GuidedValueError
from linkselect._samples.devices import device_of
from linkselect._samples.one_pass import Surveyed
from linkselect.graphs import _device_distances as device_distances
from linkselect.graphs import _stored_neighbors as stored_neighbors
from linkselect.graphs import _wide_distances as wide_distances
from linkselect.graphs._candidates import (
    MANY_CANDIDATES,
    Found,
    first_reach,
    place_in_run,
    possible,
)
from linkselect.graphs._distances import (
    TILE_SIZE,
    closest,
    pair_distances,
    products,
    row_tiles,
)
from linkselect.graphs._graph_types import Edges, edge_numbers
from linkselect.graphs._products import Products

# Entries of a tile of which each serves both its ends: 8 MB in float32.
MUTUAL_TILE_SIZE = 1 << 21
# Fewer queries at a time, and going through all samples for them costs more than the products;
# with the larger number it is a small part of these.
LEAST_QUERIES, ENOUGH_QUERIES = 32, 512
# Among more samples a tile has some of them only, for as many queries as are enough.
MANY_SAMPLES = 1 << 15


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
    check_n_neighbors(n_neighbors, X.shape[0])
    return join_edges(X.shape[0], *nearest(X, n_neighbors, n_jobs=n_jobs))


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Refuse no neighbours, and more of them than there are other samples."""
    if not 1 <= n_neighbors < n_samples:
        raise GuidedValueError(
            f"n_neighbors={n_neighbors}, but X has {n_samples} samples, so a sample has only "
            f"{n_samples - 1} others.",
            f"Choose n_neighbors from 1 to {n_samples - 1}.",
            "n_neighbors",
        )


def join_edges(n_samples: int, left: IntArray, right: IntArray, distances: FloatArray) -> Edges:
    """List each edge once, whichever end found it."""
    numbers, first = np.unique(edge_numbers(left, right, n_samples), return_index=True)
    return Edges(n_samples, *np.divmod(numbers, n_samples), distances[first])


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
    if (here := device_of(X)) is not None:
        return device_distances.nearest(here, X, n_neighbors, queries, pool, rows)
    if isinstance(X, Surveyed):
        return stored_neighbors.nearest(X, n_neighbors, queries, n_jobs)
    if queries is None and pool is None and rows is None and wide_distances.is_wide(X):
        return wide_distances.nearest(X, n_neighbors, np.arange(X.shape[0]), n_jobs)
    X = X.tocsr() if issparse(X) else X
    rough = products(X, n_jobs=n_jobs) if rows is None else rows
    if queries is None and pool is None:
        candidates = _mutual_candidates(rough, n_neighbors, n_jobs)
        if candidates is not None:
            return closest(X, *candidates, n_neighbors, n_jobs)
    everything = np.arange(X.shape[0])
    queries = everything if queries is None else queries
    pool = everything if pool is None else np.sort(pool)
    if not len(queries) or not len(pool):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)

    def search(rows: Products, part: slice, most: float) -> Found | None:
        candidates = _candidates(rows, queries[part], pool, n_neighbors, most)
        return None if candidates is None else closest(X, *candidates, n_neighbors, n_jobs=1)

    tiles = _query_tiles(len(queries), len(pool), n_jobs)
    found = map_threads(lambda part: search(rough, part, MANY_CANDIDATES), tiles, n_jobs)
    if any(part is None for part in found):
        # Now every pair may be a candidate, so a tile has fewer rows.
        fine = products(X, np.float64, n_jobs=n_jobs)
        tiles = row_tiles(len(queries), 8 * len(pool))
        found = map_threads(lambda part: search(fine, part, np.inf), tiles, n_jobs)
    return _joined([part for part in found if part is not None])


def _query_tiles(n_queries: int, n_pool: int, n_jobs: int | None) -> Iterator[slice]:
    """Cut queries so that every thread gets some, each of them enough at a time."""
    least = LEAST_QUERIES
    if n_pool > MANY_SAMPLES:
        least = min(max(n_queries // (4 * count_threads(n_jobs)), least), ENOUGH_QUERIES)
    return row_tiles(n_queries, n_pool, least)


class Bounds:
    """The smallest upper bounds of each sample's distances to others that are known so far.

    Threads replace the bounds of a sample without a lock. That is harmless: the j-th of them is
    never below the distance to the j-th nearest, whichever write survives. A bound that was lost
    only leaves more candidates, and the exact distances decide among these. So the result never
    depends on the order of the threads.
    """

    def __init__(self, n_samples: int, n_neighbors: int) -> None:
        self.smallest = np.full((n_samples, n_neighbors), np.inf)

    @property
    def reach(self) -> FloatArray:
        """An upper bound of the distance to the last of the nearest."""
        return self.smallest[:, -1]

    def start(self, part: slice, tile: NDArray[Any]) -> None:
        """Give some samples a first reach, from a tile of their bounds among themselves.

        `add` drops it again: n entries of the row are as small.
        """
        self.smallest[part, -1] = first_reach(tile, self.smallest.shape[1])

    def add(self, samples: IntArray, bounds: FloatArray) -> None:
        """Choose again, with some more bounds; `samples` is sorted."""
        chosen, counts = np.unique(samples, return_counts=True)
        width = self.smallest.shape[1]
        rivals = np.full((len(chosen), width + counts.max(initial=0)), np.inf)
        rivals[:, :width] = self.smallest[chosen]
        rivals[np.repeat(np.arange(len(chosen)), counts), width + place_in_run(samples)] = bounds
        rivals.sort(axis=1)
        self.smallest[chosen] = rivals[:, :width]


def _mutual_candidates(
    rows: Products, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, IntArray] | None:
    """List every pair that can be among the nearest, with each product used for both its ends.

    Returns None if the products leave too many pairs open.
    """
    n_samples = len(rows.norms)
    n_neighbors = max(1, min(n_neighbors, n_samples - 1))
    upper = replace(rows, norms=rows.norms + rows.errors)
    bounds = Bounds(n_samples, n_neighbors)
    overfull = threading.Event()

    def within_reach(tile: NDArray[Any], own: slice, other: slice, axis: int) -> Found:
        """List the entries that can be among the nearest of `own`, which lies along an axis."""
        slack = 2 * (rows.errors[own] + rows.errors[other].max())
        reach = (bounds.reach[own] + slack).astype(tile.dtype)
        possible = tile <= np.expand_dims(reach, 1 - axis)
        if np.count_nonzero(possible) > MANY_CANDIDATES * n_neighbors * len(reach):
            overfull.set()
            possible[:] = False
        # The mask is nearly empty, and a flat search of it is several times faster.
        places = np.divmod(np.flatnonzero(possible), tile.shape[1])
        order = np.argsort(places[axis], kind="stable")
        left, right = places[axis][order], places[1 - axis][order]
        return left + own.start, right + other.start, tile[places][order].astype(np.float64)

    def work(pair: tuple[slice, slice]) -> list[Found]:
        if overfull.is_set():
            return []
        own, other = pair
        # Upper bounds of all distances, so that the n-th smallest bounds the n-th nearest.
        tile = rows.distances(own, upper.take(other))
        tile += upper.norms[own, None].astype(tile.dtype)
        if own == other:
            np.fill_diagonal(tile, np.inf)
            bounds.start(own, tile)
        found = [within_reach(tile, own, other, axis=0)]
        if own != other:
            found.append(within_reach(tile, other, own, axis=1))
        for left, _, values in found:
            bounds.add(left, values)
        return found

    # A tile of samples with themselves gives all of them some reach. After that the other tiles
    # need no search for the smallest entries, which would take as long as the products.
    parts = even_parts(n_samples, isqrt(MUTUAL_TILE_SIZE), n_neighbors + 1)
    tiles = map_threads(work, [(part, part) for part in parts], n_jobs)
    tiles += map_threads(work, combinations(parts, 2), n_jobs)
    if overfull.is_set():
        return None
    left, right, values = _joined([side for sides in tiles for side in sides])
    possible = values - 2 * (rows.errors[left] + rows.errors[right]) <= bounds.reach[left]
    possible &= left != right
    left, right = left[possible], right[possible]
    by_left = np.argsort(left, kind="stable")
    return left[by_left], right[by_left]


def even_parts(total: int, size: int, least: int) -> list[slice]:
    """Cut `range(total)` into pieces of about the same size, none of them below `least`."""
    n_parts = max(1, min(-(-total // size), total // least))
    ends = [total * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in pairwise(ends)]


def _candidates(
    rows: Products, queries: IntArray, pool: IntArray, n_neighbors: int, most: float
) -> tuple[IntArray, IntArray] | None:
    """List every pair that can be among the nearest, given the error of the products.

    Returns None if that is more than `most` times the number of neighbours.
    """
    is_all = len(pool) == len(rows.norms)
    reach = np.full(len(queries), np.inf)
    row, right, least = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    for part in even_parts(len(pool), max(TILE_SIZE // len(queries), 1), n_neighbors + 1):
        some = pool[part]
        reference = rows.take(part if is_all else some)
        tile = rows.distances(queries, reference)
        place = np.minimum(np.searchsorted(some, queries), len(some) - 1)
        itself = np.flatnonzero(some[place] == queries)
        tile[itself, place[itself]] = np.inf
        own, others = rows.errors[queries], reference.errors
        numbers = np.flatnonzero(possible(tile, own, others, n_neighbors, reach))
        more, column = np.divmod(numbers, len(some))
        row, right = np.append(row, more), np.append(right, some[column])
        least = np.append(least, tile.ravel()[numbers])
        # Of sorted samples every part may be nearer than the one before, which is out then.
        kept = least <= np.nextafter(reach.astype(tile.dtype), np.inf)[row]
        row, right, least = row[kept], right[kept], least[kept]
        if len(row) > most * n_neighbors * len(queries):
            return None
    by_query = np.argsort(row, kind="stable")
    left, right = queries[row[by_query]], right[by_query]
    return left[left != right], right[left != right]


def _joined(found: list[Found]) -> Found:
    left, right, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, distances


def ball_edges(X: Matrix, radius: float, n_jobs: int | None = None) -> Edges:
    """Join samples at most `radius` apart; the weight of an edge is the squared distance."""
    if (here := device_of(X)) is not None:
        return Edges(X.shape[0], *device_distances.ball_pairs(here, X, radius))
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
