"""Distances between samples with very many features, stored by columns or in memory.

Inner products are summed over blocks of columns, so that the samples need not be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import Scratch, centre, column_block, map_threads, slices
from linkselect._samples import neighbors
from linkselect._samples.sources.merging import MergeTree

if TYPE_CHECKING:
    from linkselect._samples.samples import Samples

# Samples in memory are copied up to this size.
COPY_BYTES = 64 * 2**20
# The number of columns whose products one thread sums before they are merged.
PIECE_WIDTH = 4 * neighbors.PRODUCT_WIDTH

# Products between all samples, and the squared norms of the samples.
Sums = tuple[NDArray[Any], FloatArray]
# Takes a dtype and returns the squared distances between all samples, divided by the square of a
# scale; an error bound for each sample, whose sums bound the errors of distances; and the scale.
Rough = Callable[[Any], tuple[NDArray[Any], FloatArray, float]]


def nearest(
    X: Samples, rough: Rough, n_neighbors: int, queries: IntArray, n_jobs: int | None
) -> neighbors.Found:
    """Find the nearest neighbours of each query among all other samples."""
    found = _candidates(rough, n_neighbors, queries, np.float32)
    if len(found) > neighbors.MANY_CANDIDATES * n_neighbors * len(queries):
        found = _candidates(rough, n_neighbors, queries, np.float64)
    row, right = np.divmod(found, X.shape[0])
    left = queries[row]
    other = left != right
    return neighbors.closest(X, left[other], right[other], n_neighbors, n_jobs)


def _candidates(rough: Rough, n_neighbors: int, queries: IntArray, dtype: Any) -> IntArray:
    """Return the pairs that may be neighbours, as flat indices into a queries x samples matrix."""
    tile, errors, _ = rough(dtype)
    tile = tile[queries]
    tile[np.arange(len(queries)), queries] = np.inf
    return np.flatnonzero(neighbors.possible(tile, errors[queries], errors, n_neighbors))


def rough_pairs(rough: Rough, among: IntArray) -> tuple[NDArray[Any], FloatArray]:
    """Return approximate squared distances of all pairs i < j, and their error bounds."""
    tile, errors, _ = rough(np.float32)
    return tile[np.ix_(among, among)][np.triu_indices(len(among), k=1)], errors


def rough_distances(
    X: NDArray[Any], n_jobs: int | None, dtype: Any
) -> tuple[NDArray[Any], FloatArray, float]:
    """Compute approximate squared distances between all samples of an array, with error bounds."""
    scale = scale_of(*(side(axis=0).astype(np.float64) for side in (X.min, X.max)))
    pieces = slices(X.shape[1], PIECE_WIDTH)
    tree = MergeTree(len(pieces), added)

    def multiply(place: int) -> None:
        tree.add(place, products_of(X[:, pieces[place]], scale, dtype))

    map_threads(multiply, range(len(pieces)), n_jobs)
    return *distances_from(tree.top, X.shape[1], len(pieces), dtype), scale


def scale_of(low: FloatArray, high: FloatArray) -> float:
    """Return the scale by which samples are divided before inner products are computed."""
    return 2.0 * float((high - low).max()) or 1.0


def distances_from(
    sums: Sums, n_features: int, n_parts: int, dtype: Any
) -> tuple[NDArray[Any], FloatArray]:
    """Convert sums of inner products over parts to squared distances with error bounds."""
    product, norms = sums
    # Parts may split a product of PRODUCT_WIDTH columns, and their sums are added at the end.
    length = neighbors.product_length(n_features) + 2 * n_parts
    tile = -2 * product
    own = norms.astype(tile.dtype)
    tile += own
    tile += own[:, None]
    return tile, neighbors.product_errors(norms, length, dtype)


def products_of(values: NDArray[Any], scale: float, dtype: Any) -> Sums:
    """Compute the inner products of samples over some columns, centred and divided by `scale`."""
    n_samples, n_columns = values.shape
    product = np.zeros((n_samples, n_samples), dtype)
    norms = np.zeros(n_samples)
    scratch = Scratch()
    for columns in slices(n_columns, neighbors.PRODUCT_WIDTH):
        block = centre(column_block(values, columns, scratch=scratch))
        block /= scale
        rounded = block.astype(dtype)
        product += rounded @ rounded.T
        norms += np.square(rounded, out=block, dtype=np.float64).sum(axis=1)
    return product, norms


def added(parts: Sequence[Sums]) -> Sums:
    """Sum the inner products and norms over several blocks of columns."""
    product, norms = parts[0][0].copy(), parts[0][1].copy()
    for more, others in parts[1:]:
        product += more
        norms += others
    return product, norms
