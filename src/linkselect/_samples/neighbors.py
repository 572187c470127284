"""Exact nearest neighbours of samples, in memory proportional to the number of neighbours.

Matrix products compute `|x|^2 - 2 x'y + |y|^2` quickly, but they lose digits if samples are far
from the origin compared with the distance between them. Columns are therefore centred first, and
every product has a rounding error bound. If this bound does not determine the order of neighbours,
`sum((x - y)^2)` is computed in float64.
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

# The number of distances in a tile between some rows and all others: 32 MB in float32.
TILE_SIZE = 1 << 23
# Query numbers, their neighbours and the squared distances.
Found = tuple[IntArray, IntArray, FloatArray]

# A tile with more candidates per neighbour than this is recomputed in float64.
MANY_CANDIDATES = 64
# The reach of a sample is an upper bound on the distance to its last neighbour. With this many
# groups, two neighbours are seldom in the same group, which would increase the reach.
GROUPS_PER_NEIGHBOR = 16


# The number of distances in a tile that is used for both ends of each pair: 8 MB in float32.
MUTUAL_TILE_SIZE = 1 << 21
# With fewer queries per tile than the first number, reading all samples takes longer than the
# products. With the second number, it takes a small fraction of their time.
LEAST_QUERIES, ENOUGH_QUERIES = 32, 512
# With more samples than this, a tile has only some of them, but up to ENOUGH_QUERIES queries.
MANY_SAMPLES = 1 << 15


# Products are computed over at most this many columns and then summed, which keeps the rounding
# error of a product over millions of columns close to that of a short one.
PRODUCT_WIDTH = 1024
# The number of consecutive sums, each as long as a product, behind a distance in float64: the
# product, the norm, and the deciding differences, which count four times.
SUMS_IN_FLOAT64 = 6


@dataclass(frozen=True)
class Products:
    """Rows prepared for fast distance computations, with rounding error bounds.

    Attributes
    ----------
    rows : matrix of shape (n_samples, n_features)
        Scaled copy of the samples, centred if they are dense.
    norms : ndarray of shape (n_samples,)
        The squared norm of each row.
    scale : float
        The factor by which the centred samples were divided.
    errors : ndarray of shape (n_samples,)
        Error bounds: the error of the distance between rows i and j is at most
        `errors[i] + errors[j]`.
    """

    rows: Any
    norms: FloatArray
    scale: float
    errors: FloatArray

    def take(self, chosen: Any) -> Self:
        """Return the prepared rows with the given numbers."""
        rows, norms, errors = (part[chosen] for part in (self.rows, self.norms, self.errors))
        return replace(self, rows=rows, norms=norms, errors=errors)

    def distances(self, queries: Any, pool: Products) -> NDArray[Any]:
        """Compute squared distances from queries to the pool, up to a constant per query.

        The squared norms of queries are omitted, which does not change the order of the neighbours
        of a query.
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
    """The queries of a nearest-neighbour search, and the pool of possible neighbours.

    Attributes
    ----------
    queries, pool : ndarray of int, optional
        Row numbers. Default: all rows.
    rows : Products, optional
        The prepared rows of all samples in float32, if they are reused in several searches.
    """

    queries: IntArray | None = None
    pool: IntArray | None = None
    rows: Products | None = None


EVERYTHING = Search()


def product_length(n_features: int) -> int:
    """Return the number of successive rounding errors in an inner product of `n_features` terms."""
    return min(n_features, PRODUCT_WIDTH) + -(-n_features // PRODUCT_WIDTH)


def product_errors(norms: Any, length: int, dtype: Any) -> Any:
    """Return the error bounds of distances computed from inner products of `length` terms.

    The argument `norms` contains the squared norms of the rows. For the derivation, see
    `docs/bounds.md`.
    """
    limits = np.finfo(dtype)
    # Norms and the deciding differences are summed in float64, so their errors are negligible
    # compared with those of products in float32.
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
    """Return a mask of the entries of a tile that may be among the nearest neighbours in their row.

    Parameters
    ----------
    tile : ndarray of shape (n_queries, n_others)
        Approximate squared distances, up to a constant for each row; infinite for excluded pairs.
        This array is modified in place.
    own, others : ndarray of float
        Error bounds of the queries and of the other samples. The error of a distance is at most the
        sum of both bounds.
    n_neighbors : int
        The number of neighbours.
    reach : ndarray of shape (n_queries,), optional
        Upper bounds on the distance of each query to its last neighbour, obtained from earlier
        tiles. They are updated in place if this tile yields smaller bounds.
    """
    if tile.shape[1] <= n_neighbors:
        return np.isfinite(tile)
    errors = others.astype(tile.dtype)
    tile += errors
    # The tile now holds upper bounds, so the n-th smallest of a row bounds its n-th nearest.
    # Entries whose lower bound is larger are excluded.
    own_reach = first_reach(tile, n_neighbors) + 2 * own
    reach = own_reach if reach is None else np.minimum(reach, own_reach, out=reach)
    tile -= 2 * errors
    return tile <= np.nextafter(reach.astype(tile.dtype), np.inf)[:, None]


def first_reach(tile: NDArray[Any], n_neighbors: int) -> NDArray[Any]:
    """Return a close upper bound on the n-th smallest entry of each row.

    The bound is the n-th smallest of the minima of groups of columns, which is much faster to
    compute.
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
    """Return the indices of the nearest candidates, sorted by query, distance and row number."""
    by_query = np.lexsort((right, distances, query))
    return by_query[place_in_run(query[by_query]) < n_neighbors]


def place_in_run(values: IntArray) -> IntArray:
    """Return the position of each entry within its run of equal values, counted from 0."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)


def nearest(X: Samples, n_neighbors: int, n_jobs: int | None, among: Search) -> Found:
    """Find the nearest neighbours of each query among the rows of a pool; see `graphs.nearest`."""
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
        # Here, every pair may be a candidate, so tiles have fewer rows.
        fine = X.products(np.float64, n_jobs)
        tiles = row_tiles(len(queries), 8 * len(pool))
        found = map_threads(lambda part: search(fine, part, np.inf), tiles, n_jobs)
    return joined([part for part in found if part is not None])


def none_found() -> Found:
    """Return the empty result of a search without queries."""
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)


def joined(found: list[Found]) -> Found:
    """Concatenate the search results for several sets of queries."""
    left, right, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, distances


def closest(
    X: Samples, left: IntArray, right: IntArray, n_neighbors: int, n_jobs: int | None
) -> Found:
    """Return the nearest candidates of each query; equal entries of `left` must be adjacent."""
    # If two samples are candidates of each other, their distance is computed once.
    numbers, place = np.unique(edge_numbers(left, right, X.shape[0]), return_inverse=True)
    distances = X.pair_distances(*np.divmod(numbers, X.shape[0]), n_jobs)[place]
    query = np.cumsum(np.diff(left, prepend=left[:1]) != 0)
    kept = keep_nearest(query, right, distances, n_neighbors)
    return left[kept], right[kept], distances[kept]


def edge_numbers(left: IntArray, right: IntArray, n_samples: int) -> IntArray:
    """Return one number per undirected edge; `divmod` by `n_samples` recovers its two samples."""
    return np.minimum(left, right) * n_samples + np.maximum(left, right)


def row_tiles(n_rows: int, n_columns: int, least: int = 1) -> Iterator[slice]:
    """Split the rows of a matrix into tiles of about TILE_SIZE entries.

    Every tile has all columns and at least `least` rows, however many columns there are.
    """
    yield from slices(n_rows, max(TILE_SIZE // max(n_columns, 1), least))


def _query_tiles(n_queries: int, n_pool: int, n_jobs: int | None) -> Iterator[slice]:
    """Split the queries into tiles that are not too small, with several tiles per thread."""
    least = LEAST_QUERIES
    if n_pool > MANY_SAMPLES:
        least = min(max(n_queries // (4 * count_threads(n_jobs)), least), ENOUGH_QUERIES)
    return row_tiles(n_queries, n_pool, least)


class Bounds:
    """The smallest upper bounds found so far on the distances of each sample to the others.

    Threads replace the bounds of a sample without a lock. This is safe because the j-th bound is
    never below the distance to the j-th neighbour, whichever write survives. A lost update only
    leaves additional candidates, which are then compared by exact distances. The result therefore
    does not depend on the order in which threads run.
    """

    def __init__(self, n_samples: int, n_neighbors: int) -> None:
        self.smallest = np.full((n_samples, n_neighbors), np.inf)

    @property
    def reach(self) -> FloatArray:
        """Upper bound on the distance of each sample to its last neighbour."""
        return self.smallest[:, -1]

    def start(self, part: slice, tile: NDArray[Any]) -> None:
        """Initialise the reach of some samples from a tile of upper bounds on their distances.

        The method `add` later replaces this initial bound, because n entries of the row are at
        least as small.
        """
        self.smallest[part, -1] = first_reach(tile, self.smallest.shape[1])

    def add(self, samples: IntArray, bounds: FloatArray) -> None:
        """Update the smallest bounds of the given samples, which must be sorted."""
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
    """List all pairs of samples that may be neighbours, using the symmetry of distances.

    Return None if there are too many candidates.
    """
    n_samples = len(rows.norms)
    n_neighbors = max(1, min(n_neighbors, n_samples - 1))
    upper = replace(rows, norms=rows.norms + rows.errors)
    bounds = Bounds(n_samples, n_neighbors)
    overfull = threading.Event()

    def within_reach(tile: NDArray[Any], own: slice, other: slice, axis: int) -> Found:
        """List the tile's entries that may be neighbours of `own`, the samples along `axis`."""
        slack = 2 * (rows.errors[own] + rows.errors[other].max())
        reach = (bounds.reach[own] + slack).astype(tile.dtype)
        possible = tile <= np.expand_dims(reach, 1 - axis)
        if np.count_nonzero(possible) > MANY_CANDIDATES * n_neighbors * len(reach):
            overfull.set()
            possible[:] = False
        # The mask is nearly empty, and searching it as a flat array is several times faster.
        places = np.divmod(np.flatnonzero(possible), tile.shape[1])
        order = np.argsort(places[axis], kind="stable")
        left, right = places[axis][order], places[1 - axis][order]
        return left + own.start, right + other.start, tile[places][order].astype(np.float64)

    def work(pair: tuple[slice, slice]) -> list[Found]:
        if overfull.is_set():
            return []
        own, other = pair
        # These are upper bounds on distances, so the n-th smallest bounds the n-th nearest.
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

    # Tiles of samples with themselves give every sample an initial reach. The other tiles then
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
    """Split `range(total)` into pieces of about equal size; no piece is smaller than `least`."""
    n_parts = max(1, min(-(-total // size), total // least))
    ends = [total * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in pairwise(ends)]


def _candidates(
    rows: Products, queries: IntArray, pool: IntArray, n_neighbors: int, most: float
) -> tuple[IntArray, IntArray] | None:
    """List all pairs of a query and a row of the pool that may be neighbours.

    Return None if there are more than `most` candidates per neighbour.
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
        # Later parts may have nearer samples, so earlier candidates are checked again.
        kept = least <= np.nextafter(reach.astype(tile.dtype), np.inf)[row]
        row, right, least = row[kept], right[kept], least[kept]
        if len(row) > most * n_neighbors * len(queries):
            return None
    by_query = np.argsort(row, kind="stable")
    left, right = queries[row[by_query]], right[by_query]
    return left[left != right], right[left != right]


def pairs_within(X: Samples, radius: float, n_jobs: int | None) -> Found:
    """List each pair of samples at most `radius` apart once, with its squared distance."""
    rows = X.products(np.float32, n_jobs)
    norms, errors = X.fetched(rows.norms), X.fetched(rows.errors)
    # A radius beyond the largest distance is reduced, because its square may overflow.
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
