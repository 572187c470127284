"""Distances and nearest neighbours of samples on a device.

As on the CPU, candidates are found with matrix products in float32 and compared by their exact
distances in float64. If the rounding error bound of the products (docs/bounds.md) is too large to
determine the neighbours of a query, its search is repeated in higher precision.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples import neighbors
from linkselect._samples.devices import BLOCK_SIZE, Device, k_smallest, product_rounding, to_numpy

# The number of float32 distances in a tile: 1 GB.
TILE_SIZE = 1 << 28
# Candidates in addition to the neighbours. With 11, no row of MNIST had to be searched again.
MORE_CANDIDATES = 11
# This many differences take about as long as preparing all rows again in float64.
DIFFERENCES_AT_ONCE = 1 << 36


def pair_distances(here: Device, X: Any, left: Any, right: Any) -> Any:
    """Compute `|x_i - x_j|^2` for the given pairs of rows by subtraction in float64."""
    xp = here.xp
    n_features = max(X.shape[1], 1)
    found = [here.zeros(0)]
    for chunk in slices(left.shape[0], max(BLOCK_SIZE // n_features, 1)):
        difference = here.float64(xp.take(X, left[chunk], axis=0))
        difference = difference - here.float64(xp.take(X, right[chunk], axis=0))
        found.append(xp.sum(difference * difference, axis=1))
    return xp.concat(found)


@dataclass(frozen=True)
class DeviceProducts(neighbors.Products):
    """Rows on a device, prepared for fast distance computations."""

    here: Device

    def take(self, chosen: Any) -> Self:
        """Return the prepared rows with the given row numbers, an array on the device."""
        take = self.here.xp.take
        rows, norms, errors = (
            take(part, chosen, axis=0) for part in (self.rows, self.norms, self.errors)
        )
        return replace(self, rows=rows, norms=norms, errors=errors)

    def distances(self, queries: slice, pool: neighbors.Products) -> Any:
        """Compute squared distances from queries to the pool, up to a constant per query."""
        return tile(self.here, self.rows[queries, :], pool.rows, pool.norms)


def products(here: Device, X: Any, dtype: Any) -> DeviceProducts:
    """Prepare the rows of X for fast distance computations in the given precision."""
    xp = here.xp
    n_samples, n_features = X.shape
    chunks = slices(n_samples, max(BLOCK_SIZE // max(n_features, 1), 1))
    # Differences from the first sample are used, so that a large offset costs no precision.
    first = here.float64(X[:1, :])
    total, largest = here.zeros(n_features), 0.0
    for chunk in chunks:
        deviation = here.float64(X[chunk, :]) - first
        total = total + xp.sum(deviation, axis=0)
        largest = max(largest, float(xp.max(xp.abs(deviation))))
    mean = first + (total / n_samples)[None, :]
    scale = 2.0 * largest or 1.0
    rows = xp.empty(X.shape, dtype=dtype, device=here.device)
    norms = here.zeros(n_samples)
    for chunk in chunks:
        rows[chunk, :] = xp.astype((here.float64(X[chunk, :]) - mean) / scale, dtype)
        kept = here.float64(rows[chunk, :])
        norms[chunk] = xp.sum(kept * kept, axis=1)
    single = dtype == xp.float32
    length = neighbors.product_length(n_features)
    errors = neighbors.product_errors(norms, length, np.float32 if single else np.float64)
    if single:
        # Relative errors r of both factors change a product by at most 2 r |x| |y|, and so a
        # distance by at most 4 r |x| |y|, which is at most 2 r (|x|^2 + |y|^2).
        errors = errors + 2.0 * product_rounding(xp) * norms
    return DeviceProducts(rows, norms, scale, errors, here)


def tile(here: Device, queries: Any, pool: Any, added: Any) -> Any:
    """Compute `added - 2 x'y` for all queries x and pool rows y."""
    xp = here.xp
    doubled = queries * -2.0
    first, *others = slices(queries.shape[1], neighbors.PRODUCT_WIDTH)
    total = doubled[:, first] @ xp.permute_dims(pool[:, first], (1, 0))
    for columns in others:
        total += doubled[:, columns] @ xp.permute_dims(pool[:, columns], (1, 0))
    total += xp.astype(added, total.dtype, copy=False)[None, :]
    return total


def median_distance(here: Device, X: Any) -> float:
    """Compute the exact median of the squared distances between all samples."""
    xp = here.xp
    rows = products(here, X, xp.float32)
    rough = here.float64(tile(here, rows.rows, rows.rows, rows.norms)) + rows.norms[:, None]
    number = here.arange(0, X.shape[0])
    is_pair = number[:, None] < number[None, :]
    ordered = xp.sort(rough[is_pair])
    n_pairs = ordered.shape[0]
    middle = np.array([(n_pairs - 1) // 2, n_pairs // 2])
    low, high = (float(ordered[int(place)]) for place in middle)
    # Errors of at most `error` shift the median, and every other distance, by at most `error`.
    error = 2.0 * float(xp.max(rows.errors))
    is_near = is_pair & (rough >= low - 2 * error) & (rough <= high + 2 * error)
    n_below = int(xp.sum(xp.astype(ordered < low - 2 * error, xp.int64)))
    exact = to_numpy(pair_distances(here, X, *xp.nonzero(is_near)))
    return float(np.mean(np.sort(exact)[middle - n_below]))


def nearest(here: Device, X: Any, n_neighbors: int, among: neighbors.Search) -> neighbors.Found:
    """Find the nearest neighbours of each query among the rows of a pool; see `graphs.nearest`."""
    xp, (queries, pool, rows) = here.xp, among
    everything = np.arange(X.shape[0])
    queries = everything if queries is None else np.asarray(queries)
    pool = everything if pool is None else np.sort(pool)
    if not len(queries) or not len(pool):
        return neighbors.none_found()
    search = _Search(here, X, here.put(pool), min(n_neighbors, len(pool)))
    rows = products(here, X, xp.float32) if rows is None else rows
    near, distances, is_open = search.by_products(rows, queries, MORE_CANDIDATES)
    left = np.flatnonzero(is_open)
    if len(left) * len(pool) * X.shape[1] > DIFFERENCES_AT_ONCE:
        fine = products(here, X, xp.float64)
        again = search.by_products(fine, queries[left], 8 * MORE_CANDIDATES)
        near[left], distances[left] = again[0], again[1]
        left = left[again[2]]
    if len(left):
        near[left], distances[left] = search.by_differences(queries[left])
    found = np.isfinite(distances)
    return np.repeat(queries, found.sum(axis=1)), near[found], distances[found]


class _Search(NamedTuple):
    """Inputs shared by all steps of a nearest-neighbour search."""

    here: Device
    X: Any
    pool: Any
    n_neighbors: int

    def by_products(
        self, rows: neighbors.Products, queries: IntArray, n_more: int
    ) -> tuple[IntArray, FloatArray, Any]:
        """Find neighbours with matrix products, and return a mask of the uncertain queries."""
        here, xp = self.here, self.here.xp
        n_pool = self.pool.shape[0]
        reference = rows if n_pool == rows.norms.shape[0] else rows.take(self.pool)
        n_candidates = min(self.n_neighbors + n_more + 1, n_pool)
        certain = reference.norms - reference.errors
        all_queries = here.put(queries)
        found = []
        for part in slices(len(queries), max(TILE_SIZE // n_pool, 1)):
            own = all_queries[part]
            mine = rows.take(own)
            # These are lower bounds on distances, minus the norm of the query. All samples that
            # are not candidates are at least as far away as the last candidate.
            lower, place = k_smallest(
                xp, tile(here, mine.rows, reference.rows, certain), n_candidates
            )
            lower = here.float64(lower)
            error = _take(xp, reference.errors, place)
            candidates = _take(xp, self.pool, place)
            itself = candidates == own[:, None]
            upper = xp.where(itself, xp.full_like(lower, xp.inf), lower + 2.0 * error)
            reach = xp.sort(upper, axis=1)[:, self.n_neighbors - 1] + 2.0 * mine.errors
            is_open = lower[:, -1] <= reach
            found.append((*self._decide(own, candidates), is_open))
        near, distances, is_open = (
            to_numpy(column[0] if len(column) == 1 else xp.concat(column))
            for column in map(list, zip(*found, strict=True))
        )
        if n_candidates == n_pool:
            is_open = np.zeros(len(queries), dtype=bool)
        return np.array(near), np.array(distances), is_open

    def _decide(self, own: Any, candidates: Any) -> tuple[Any, Any]:
        """Return the nearest candidates of each query, sorted by exact distance."""
        here, xp = self.here, self.here.xp
        candidates = xp.sort(candidates, axis=1)
        width = candidates.shape[1]
        left = xp.reshape(xp.broadcast_to(own[:, None], candidates.shape), (-1,))
        distances = pair_distances(here, self.X, left, xp.reshape(candidates, (-1,)))
        distances = xp.reshape(distances, (-1, width))
        distances = xp.where(candidates == own[:, None], xp.full_like(distances, xp.inf), distances)
        order = xp.argsort(distances, axis=1, stable=True)[:, : self.n_neighbors]
        return (
            xp.take_along_axis(candidates, order, axis=1),
            xp.take_along_axis(distances, order, axis=1),
        )

    def by_differences(self, queries: IntArray) -> tuple[IntArray, FloatArray]:
        """Find the neighbours of queries by computing exact distances to all rows of the pool."""
        found = []
        for query in queries:
            one = self._decide(self.here.put(np.array([query])), self.pool[None, :])
            found.append([to_numpy(part[0, :]) for part in one])
        near, distances = (np.array(side) for side in zip(*found, strict=True))
        return near, distances


def _take(xp: Any, values: Any, places: Any) -> Any:
    """Return the values of an array at the positions given by a matrix."""
    return xp.reshape(xp.take(values, xp.reshape(places, (-1,))), places.shape)
