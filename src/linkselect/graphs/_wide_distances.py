"""Distances between few samples with very many features, stored by columns or in memory.

Products are added up over parts of the columns, so that no copy of the samples is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._blocks import Scratch, map_threads, slices
from linkselect._samples.devices import device_of
from linkselect._samples.one_pass import Surveyed
from linkselect._samples.sources import WIDE_SAMPLES, Part
from linkselect._samples.sources.merging import MergeTree
from linkselect._samples.sources.running import reduce_parts
from linkselect.graphs._candidates import MANY_CANDIDATES, Found, possible
from linkselect.graphs._distances import closest
from linkselect.graphs._products import PRODUCT_WIDTH, product_errors, product_length

# A copy of samples in memory is made up to this size.
COPY_BYTES = 64 * 2**20
# The columns whose products one thread adds up before it hands them on.
PIECE_WIDTH = 4 * PRODUCT_WIDTH

# Products of all samples with each other, and their squared norms.
Sums = tuple[NDArray[Any], FloatArray]


def is_wide(X: Matrix) -> bool:
    """Whether distances between samples are summed over parts of the columns, without a copy."""
    if isinstance(X, Surveyed):
        return X.by_columns
    if issparse(X) or device_of(X) is not None:
        return False
    n_samples, n_features = X.shape
    is_large = n_samples * n_features * np.dtype(np.float32).itemsize > COPY_BYTES
    return is_large and n_samples < n_features and n_samples <= WIDE_SAMPLES


def nearest(X: Matrix, n_neighbors: int, queries: IntArray, n_jobs: int | None = None) -> Found:
    """Find the nearest of all samples for each query, itself left out; see `neighbors.nearest`."""
    n_samples = X.shape[0]
    found = _candidates(X, n_neighbors, queries, np.float32, n_jobs)
    if len(found) > MANY_CANDIDATES * n_neighbors * len(queries):
        found = _candidates(X, n_neighbors, queries, np.float64, n_jobs)
    row, right = np.divmod(found, n_samples)
    left = queries[row]
    other = left != right
    return closest(X, left[other], right[other], n_neighbors, n_jobs)


def _candidates(
    X: Matrix, n_neighbors: int, queries: IntArray, dtype: Any, n_jobs: int | None
) -> IntArray:
    """Number every query and sample that can be among its nearest, query by query."""
    tile, errors = rough_distances(X, n_jobs, dtype)
    tile = tile[queries]
    tile[np.arange(len(queries)), queries] = np.inf
    return np.flatnonzero(possible(tile, errors[queries], errors, n_neighbors))


def rough_distances(
    X: Matrix, n_jobs: int | None = None, dtype: Any = np.float32
) -> tuple[NDArray[Any], FloatArray]:
    """Compute all squared distances between few samples, up to errors and the factor `scale^2`.

    The distance between i and j is wrong by at most `errors[i] + errors[j]`. The products of
    stored samples are computed once for all who ask.
    """
    (product, norms), n_parts = _products(X, dtype, n_jobs)
    # Parts may end within a product, and are added up in the end.
    length = product_length(X.shape[1]) + 2 * n_parts
    tile = -2 * product
    own = norms.astype(tile.dtype)
    tile += own
    tile += own[:, None]
    return tile, product_errors(norms, length, dtype)


def rough_scale(X: Matrix) -> float:
    """Return what samples are divided by before products are computed."""
    if isinstance(X, Surveyed):
        low, high = X.low, X.high
    else:
        low, high = (side(axis=0).astype(np.float64) for side in (X.min, X.max))
    return 2.0 * float((high - low).max()) or 1.0


def _products(X: Matrix, dtype: Any, n_jobs: int | None) -> tuple[Sums, int]:
    """Return the sums, and of how many parts they are."""
    scale = rough_scale(X)
    if isinstance(X, Surveyed):
        name = f"products in {np.dtype(dtype)}"
        if name not in X.kept:
            work = partial(_products_of_part, scale=scale, dtype=dtype)
            X.kept[name] = reduce_parts(X, work, _added, n_jobs=n_jobs, what="multiply samples")
        return X.kept[name], len(X.parts)
    pieces = slices(X.shape[1], PIECE_WIDTH)
    tree = MergeTree(len(pieces), _added)

    def multiply(place: int) -> None:
        tree.add(place, _products_of(X[:, pieces[place]], scale, dtype))

    map_threads(multiply, range(len(pieces)), n_jobs)
    return tree.top, len(pieces)


def _products_of_part(part: Part, *, scale: float, dtype: Any) -> Sums:
    ((_, values),) = part.slabs()
    return _products_of(values, scale, dtype)


def _products_of(values: NDArray[Any], scale: float, dtype: Any) -> Sums:
    n_samples, n_columns = values.shape
    product = np.zeros((n_samples, n_samples), dtype)
    norms = np.zeros(n_samples)
    scratch = Scratch()
    for columns in slices(n_columns, PRODUCT_WIDTH):
        some = values[:, columns]
        # Counted from the first sample, so that an offset of any size costs no digits.
        block = np.subtract(some, some[0], out=scratch.array(*some.shape), dtype=np.float64)
        block -= block.mean(axis=0)
        block /= scale
        rounded = block.astype(dtype)
        product += rounded @ rounded.T
        norms += np.square(rounded, out=block, dtype=np.float64).sum(axis=1)
    return product, norms


def _added(parts: Sequence[Sums]) -> Sums:
    product, norms = parts[0][0].copy(), parts[0][1].copy()
    for more, others in parts[1:]:
        product += more
        norms += others
    return product, norms
