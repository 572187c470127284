"""Nearest neighbours in memory, exactly, in memory proportional to the number of neighbours.

A product finds `|x|^2 - 2 x'y + |y|^2` quickly but loses digits when samples are far from the
origin compared with their distance. So columns are centred first, every product comes with a
bound on its error, and whatever that bound leaves open is settled by `sum((x - y)^2)` in float64.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import count_threads, map_threads, slices

if TYPE_CHECKING:
    from linkselect._samples.samples import Samples

# Entries of a tile of distances between some rows and all others: 32 MB in float32.
TILE_SIZE = 1 << 23
# Queries, their neighbours and the squared distances.
Found = tuple[IntArray, IntArray, FloatArray]

# A tile that leaves more candidates per row than this is done again in float64.
MANY_CANDIDATES = 64
# With so many groups two of the nearest seldom share one, which would make a reach larger.
GROUPS_PER_NEIGHBOR = 16


# Entries of a tile of which each serves both its ends: 8 MB in float32.
MUTUAL_TILE_SIZE = 1 << 21
# Fewer queries at a time, and going through all samples for them costs more than the products;
# with the larger number it is a small part of these.
LEAST_QUERIES, ENOUGH_QUERIES = 32, 512
# Among more samples a tile has some of them only, for as many queries as are enough.
MANY_SAMPLES = 1 << 15


# Products over at most this many columns are added up, which bounds the rounding error of a
# product over millions of columns by that of a short one.
PRODUCT_WIDTH = 1024
# Sums of the length of a product, one after the other, that a distance in float64 is made of: the
# product itself, the norm, and the differences that decide, which count four times.
SUMS_IN_FLOAT64 = 6


@dataclass(frozen=True)
class Products:
    """Rows prepared for fast distances, with the error those distances may have.

    Attributes
    ----------
    rows : matrix of shape (n_samples, n_features)
        Centred (if dense) and scaled copy of the samples.
    norms : ndarray of shape (n_samples,)
        The squared norm of each row.
    scale : float
        `rows` times `scale` are the centred samples.
    errors : ndarray of shape (n_samples,)
        A distance between rows i and j is wrong by at most `errors[i] + errors[j]`.
    """

    rows: Any
    norms: FloatArray
    scale: float
    errors: FloatArray

    def take(self, chosen: Any) -> Self:
        """Return the chosen rows only."""
        rows, norms, errors = (part[chosen] for part in (self.rows, self.norms, self.errors))
        return replace(self, rows=rows, norms=norms, errors=errors)

    def distances(self, queries: Any, pool: Products) -> NDArray[Any]:
        """Compute squared distances to the rows of `pool`, without the queries' own squared norms.

        What is left out, the norm of the query, is the same for a whole row of the result.
        """
        rows = self.rows[queries]
        tile = None
        for columns in slices(rows.shape[1], PRODUCT_WIDTH):
            part = rows[:, columns] @ pool.rows[:, columns].T
            tile = part if tile is None else np.add(tile, part, out=tile)
        assert tile is not None
        tile *= -2
        tile += pool.norms.astype(tile.dtype)
        return tile


class Search(NamedTuple):
    """Which rows look for their nearest ones, and among which.

    Attributes
    ----------
    queries, pool : ndarray of int, optional
        Row numbers. Default: all rows.
    rows : Products, optional
        Those of all samples in float32, where several searches share them.
    """

    queries: IntArray | None = None
    pool: IntArray | None = None
    rows: Products | None = None


EVERYTHING = Search()


def product_length(n_features: int) -> int:
    """Return how many roundings a product over so many columns goes through."""
    return min(n_features, PRODUCT_WIDTH) + -(-n_features // PRODUCT_WIDTH)


def product_errors(norms: Any, length: int, dtype: Any) -> Any:
    """Bound what products of so many terms do to distances, given the squared norms of the rows.

    `docs/bounds.md` derives it.
    """
    limits = np.finfo(dtype)
    # Norms, and the differences that decide, are summed in float64: beside products in float32
    # they are exact.
    sums = 1 if limits.bits == 32 else SUMS_IN_FLOAT64
    relative = (sums * length / 2 + 16) * float(limits.eps)
    return relative * norms + (length + 16) * float(limits.tiny)


def possible(
    tile: NDArray[Any],
    own: FloatArray,
    others: FloatArray,
    n_neighbors: int,
    reach: FloatArray | None = None,
) -> BoolArray:
    """Tell which entries of a tile can be among the nearest of their row.

    Parameters
    ----------
    tile : ndarray of shape (n_queries, n_others)
        Rough squared distances, up to a constant for each row; infinite where there is none.
        It is written to.
    own, others : ndarray of float
        A distance is wrong by at most the sum of the errors of its two ends.
    n_neighbors : int
        How many nearest.
    reach : ndarray of shape (n_queries,), optional
        What other tiles of the same queries leave possible; becomes less if this tile says so.
    """
    if tile.shape[1] <= n_neighbors:
        return np.isfinite(tile)
    errors = others.astype(tile.dtype)
    tile += errors
    # The tile now holds upper bounds, so the n-th smallest of a row bounds its n-th nearest.
    # Whatever is farther by its lower bound is out.
    own_reach = first_reach(tile, n_neighbors) + 2 * own
    reach = own_reach if reach is None else np.minimum(reach, own_reach, out=reach)
    tile -= 2 * errors
    return tile <= np.nextafter(reach.astype(tile.dtype), np.inf)[:, None]


def first_reach(tile: NDArray[Any], n_neighbors: int) -> NDArray[Any]:
    """Return a number for each row that is at least its n-th smallest entry, and hardly more.

    The smallest entries of groups of columns are found much faster than those of a row.
    """
    n_rows, n_columns = tile.shape
    n_groups = min(n_columns, GROUPS_PER_NEIGHBOR * n_neighbors)
    size = n_columns // n_groups
    grouped = tile[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    last = n_neighbors - 1
    return np.partition(grouped, last, axis=1)[:, last]


def keep_nearest(
    query: IntArray, right: IntArray, distances: FloatArray, n_neighbors: int
) -> IntArray:
    """List the nearest of each query, queries in order; equally near ones by number."""
    by_query = np.lexsort((right, distances, query))
    return by_query[place_in_run(query[by_query]) < n_neighbors]


def place_in_run(values: IntArray) -> IntArray:
    """Count within each run of equal values: 0, 1, 2, ..."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)


def nearest(X: Samples, n_neighbors: int, n_jobs: int | None, among: Search) -> Found:
    """Find the nearest rows of a pool for each query; see `graphs.nearest`."""
    queries, pool, rows = among
    rough = X.products(np.float32, n_jobs) if rows is None else rows
    if queries is None and pool is None:
        candidates = _mutual_candidates(rough, n_neighbors, n_jobs)
        if candidates is not None:
            return closest(X, *candidates, n_neighbors, n_jobs)
    everything = np.arange(X.shape[0])
    queries = everything if queries is None else queries
    pool = everything if pool is None else np.sort(pool)
    if not len(queries) or not len(pool):
        return none_found()

    def search(rows: Products, part: slice, most: float) -> Found | None:
        candidates = _candidates(rows, queries[part], pool, n_neighbors, most)
        return None if candidates is None else closest(X, *candidates, n_neighbors, n_jobs=1)

    tiles = _query_tiles(len(queries), len(pool), n_jobs)
    found = map_threads(lambda part: search(rough, part, MANY_CANDIDATES), tiles, n_jobs)
    if any(part is None for part in found):
        # Now every pair may be a candidate, so a tile has fewer rows.
        fine = X.products(np.float64, n_jobs)
        tiles = row_tiles(len(queries), 8 * len(pool))
        found = map_threads(lambda part: search(fine, part, np.inf), tiles, n_jobs)
    return joined([part for part in found if part is not None])


def none_found() -> Found:
    """Return what is found for no queries."""
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)


def joined(found: list[Found]) -> Found:
    """Join what was found for several queries."""
    left, right, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, distances


def closest(
    X: Samples, left: IntArray, right: IntArray, n_neighbors: int, n_jobs: int | None
) -> Found:
    """Keep the nearest of each query's candidates; `left` comes in runs of one query."""
    # Two samples that are candidates of each other need one distance.
    numbers, place = np.unique(edge_numbers(left, right, X.shape[0]), return_inverse=True)
    distances = X.pair_distances(*np.divmod(numbers, X.shape[0]), n_jobs)[place]
    query = np.cumsum(np.diff(left, prepend=left[:1]) != 0)
    kept = keep_nearest(query, right, distances, n_neighbors)
    return left[kept], right[kept], distances[kept]


def edge_numbers(left: IntArray, right: IntArray, n_samples: int) -> IntArray:
    """Give each edge one number, whichever end comes first; `divmod` by `n_samples` undoes it."""
    return np.minimum(left, right) * n_samples + np.maximum(left, right)


def row_tiles(n_rows: int, n_columns: int, least: int = 1) -> Iterator[slice]:
    """Cut rows so that a tile of them against all columns has about TILE_SIZE entries.

    However many columns there are, a tile has `least` rows.
    """
    yield from slices(n_rows, max(TILE_SIZE // max(n_columns, 1), least))


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
    left, right, values = joined([side for sides in tiles for side in sides])
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


def pairs_within(X: Samples, radius: float, n_jobs: int | None) -> Found:
    """List all pairs of samples at most `radius` apart, each once, with squared distances."""
    rows = X.products(np.float32, n_jobs)
    norms, errors = X.fetched(rows.norms), X.fetched(rows.errors)
    # Beyond the largest distance a larger radius changes nothing, but may overflow.
    limit = min(radius / rows.scale, 2.0 * np.sqrt(norms.max()) + 1.0) ** 2

    def work(part: slice) -> Found:
        reach = (limit - norms[part] + errors[part] + errors.max()).astype(np.float32)
        reach = np.nextafter(reach, np.float32(np.inf))
        near = rows.distances(part, rows) <= X.placed(reach[:, None])
        row, right = map(X.fetched, X.xp.nonzero(near))
        left = row + part.start
        once = left < right
        left, right = left[once], right[once]
        distances = X.pair_distances(left, right, 1)
        inside = np.sqrt(distances) <= radius
        return left[inside], right[inside], distances[inside]

    return joined(X.map(work, row_tiles(X.shape[0], X.shape[0]), n_jobs))
