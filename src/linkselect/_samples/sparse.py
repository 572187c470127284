"""Sparse samples in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import Scratch, map_threads, slices, sum_by
from linkselect._samples.distances import CHUNK_SIZE
from linkselect._samples.neighbors import Products, product_errors
from linkselect._samples.samples import (
    FAINT,
    NO_FEATURES,
    Columns,
    Samples,
    is_rounded,
    may_be_rounded,
)
from linkselect._samples.scaled_columns import SparseColumns
from linkselect._samples.scaling import Scaling

if TYPE_CHECKING:
    from linkselect.graphs._graph_types import Edges

# Blocks are cut by width alone, because their number of entries is not known in advance.
BLOCK_WIDTH = 1 << 14
EDGE_CHUNK = 1 << 14


class Sparse(Samples):
    """Samples in a SciPy sparse matrix or array.

    Duplicate entries are merged, because they would count twice in a sum of squares. Explicit zeros
    are removed, because they would change the order of summation.
    """

    kind = "sparse"

    def __init__(self, values: Any) -> None:
        if values.format not in ("csr", "csc"):
            values = values.tocsr()
        if not (values.has_canonical_format and values.data.all()):
            values = values.copy()
            values.sum_duplicates()
            values.eliminate_zeros()
        super().__init__(values)

    @cached_property
    def csr(self) -> Any:
        """The samples in CSR format."""
        return self.values.tocsr()

    @property
    def rows_first(self) -> Any:
        """The samples in CSR format."""
        return self.csr

    @cached_property
    def csc(self) -> Any:
        """The samples in CSC format."""
        return self.values.tocsc()

    def constant_columns(self) -> BoolArray:
        """Return a mask of the constant features."""
        low, high = (side(axis=0).toarray().ravel() for side in (self.csc.min, self.csc.max))
        constant: BoolArray = low == high
        return constant

    def faint_columns(self) -> IntArray:
        """List the non-constant features whose squared differences underflow."""
        if self.dtype.kind != "f" or self.dtype.itemsize < 8:
            return NO_FEATURES  # other types have no such small values
        stored = np.abs(self.values.data)
        if not ((stored > 0) & (stored < 1.0)).any():
            return NO_FEATURES
        extent = (self.csc.max(axis=0) - self.csc.min(axis=0)).toarray().ravel()
        return np.flatnonzero((extent > 0) & (extent < FAINT))

    def rounded_columns(self) -> IntArray:
        """List the features with integers that float64 cannot represent exactly."""
        values = self.values.data
        if not may_be_rounded(values):
            return NO_FEATURES
        return np.unique(self.values.tocoo().col[is_rounded(values)])

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and maximum of each feature."""
        low, high = (side(axis=0).toarray().ravel() for side in (self.csc.min, self.csc.max))
        return low.astype(np.float64), high.astype(np.float64)

    def count_nonzero(self) -> int:
        """Count the nonzero values."""
        return int(self.values.nnz)

    def count_missing(self) -> int:
        """Count the NaN values."""
        return int(np.isnan(self.values.data).sum()) if self.dtype.kind == "f" else 0

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return a key for each feature, which consists of the bytes of its stored entries."""
        columns = self.csc

        def content(feature: int) -> bytes:
            stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
            found: bytes = columns.indices[stored].tobytes() + columns.data[stored].tobytes()
            return found

        return [content(feature) for feature in features]

    def column_slices(self, n_rows: int) -> list[slice]:
        """Split the columns into slices of equal width."""
        return slices(self.shape[1], BLOCK_WIDTH)

    def float_block(self, columns: Columns, rows: Any, dense: bool, scratch: Scratch | None) -> Any:
        """Copy the given rows and columns, and convert them to float64."""
        block = self.csc[:, columns].astype(np.float64)
        block = block if isinstance(rows, slice) else block[rows]
        return block.toarray() if dense else block

    def own_values(self, columns: Columns) -> NDArray[Any]:
        """Return the given columns as a dense array in their own dtype."""
        values: NDArray[Any] = self.csc[:, columns].toarray()
        return values

    def dense(self) -> NDArray[Any]:
        """Return the values as a dense array."""
        values: NDArray[Any] = self.values.toarray()
        return values

    def cells(self, rows: IntArray, features: IntArray | None = None) -> FloatArray:
        """Copy the given rows and features to a dense float64 array."""
        chosen = self.csr[rows]
        chosen = chosen if features is None else chosen[:, features]
        found: FloatArray = chosen.toarray().astype(np.float64)
        return found

    def take(self, rows: IntArray) -> Sparse:
        """Return the given rows."""
        return Sparse(self.csr[rows])

    def choose(self, columns: Columns) -> Sparse:
        """Return the given columns."""
        return Sparse(self.csc[:, columns])

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to all rows at once, because products of sparse rows are small."""
        return function(self.csr, *per_row)

    def scaled_columns(self, scaling: Scaling, n_jobs: int) -> SparseColumns:
        """Return all features, scaled but not centred."""
        return SparseColumns(scaling.rows(self.csr).T.tocsr(), n_jobs)

    def edge_form(self, graph: Edges, n_jobs: int | None) -> FloatArray:
        """For each feature f, compute the sum of `w_ij (f_i - f_j)^2` over all edges."""
        X, totals = self.csr, graph.totals

        def work(chunk: slice) -> FloatArray:
            left, right = X[graph.left[chunk]], X[graph.right[chunk]]
            difference = (left.astype(np.float64) - right.astype(np.float64)).tocsr()
            weights = np.repeat(totals[chunk], np.diff(difference.indptr))
            return sum_by(difference.indices, weights * difference.data**2, X.shape[1])

        parts = map_threads(work, slices(len(graph.left), EDGE_CHUNK), n_jobs)
        return np.sum(parts, axis=0) if parts else np.zeros(X.shape[1])

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` for the given pairs of rows by subtracting their values."""
        X = self.csr
        per_row = max(int(X.nnz // max(X.shape[0], 1)), 1)

        def work(chunk: slice) -> FloatArray:
            difference = X[left[chunk]].astype(np.float64) - X[right[chunk]].astype(np.float64)
            return np.asarray(difference.power(2).sum(axis=1)).ravel()

        chunks = slices(len(left), max(CHUNK_SIZE // per_row, 1))
        return np.concatenate([np.empty(0), *map_threads(work, chunks, n_jobs)])

    def products(self, dtype: Any, n_jobs: int | None) -> Products:
        """Prepare the rows in float64 without centring, because centring would make them dense."""
        rows = self.csr.astype(np.float64)
        norms = np.asarray(rows.power(2).sum(axis=1)).ravel()
        longest = int(np.diff(rows.indptr).max(initial=1))
        return SparseProducts(rows, norms, 1.0, product_errors(norms, longest, np.float64))


@dataclass(frozen=True)
class SparseProducts(Products):
    """Sparse rows prepared for fast distance computations."""

    def distances(self, queries: Any, pool: Products) -> NDArray[Any]:
        """Compute squared distances from queries to the pool, up to a constant per query."""
        tile: NDArray[Any] = (self.rows[queries] @ pool.rows.T).toarray()
        tile *= -2
        tile += pool.norms
        return tile
