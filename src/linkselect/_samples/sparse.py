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

# By the width alone: how many entries a block holds is known only once it is cut.
BLOCK_WIDTH = 1 << 14
EDGE_CHUNK = 1 << 14


class Sparse(Samples):
    """A SciPy sparse matrix or array.

    Entries that are stored twice are added up, and stored zeros left out: the former would count
    twice in a sum of squares, and the latter change the order of a sum.
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
        """The samples by rows."""
        return self.values.tocsr()

    @property
    def rows_first(self) -> Any:
        """The samples by rows."""
        return self.csr

    @cached_property
    def csc(self) -> Any:
        """The samples by columns."""
        return self.values.tocsc()

    def constant_columns(self) -> BoolArray:
        """Tell which features have one value only."""
        low, high = (side(axis=0).toarray().ravel() for side in (self.csc.min, self.csc.max))
        constant: BoolArray = low == high
        return constant

    def faint_columns(self) -> IntArray:
        """List the features that vary too little."""
        if self.dtype.kind != "f" or self.dtype.itemsize < 8:
            return NO_FEATURES  # narrow types hold no such numbers
        stored = np.abs(self.values.data)
        if not ((stored > 0) & (stored < 1.0)).any():
            return NO_FEATURES
        extent = (self.csc.max(axis=0) - self.csc.min(axis=0)).toarray().ravel()
        return np.flatnonzero((extent > 0) & (extent < FAINT))

    def rounded_columns(self) -> IntArray:
        """List the features of large whole numbers."""
        values = self.values.data
        if not may_be_rounded(values):
            return NO_FEATURES
        return np.unique(self.values.tocoo().col[is_rounded(values)])

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each feature."""
        low, high = (side(axis=0).toarray().ravel() for side in (self.csc.min, self.csc.max))
        return low.astype(np.float64), high.astype(np.float64)

    def count_nonzero(self) -> int:
        """Count the values that are not 0."""
        return int(self.values.nnz)

    def count_missing(self) -> int:
        """Count the values that are NaN."""
        return int(np.isnan(self.values.data).sum()) if self.dtype.kind == "f" else 0

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return the entries of each feature."""
        columns = self.csc

        def content(feature: int) -> bytes:
            stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
            found: bytes = columns.indices[stored].tobytes() + columns.data[stored].tobytes()
            return found

        return [content(feature) for feature in features]

    def column_slices(self, n_rows: int) -> list[slice]:
        """Cut the columns into blocks."""
        return slices(self.shape[1], BLOCK_WIDTH)

    def float_block(self, columns: Columns, rows: Any, dense: bool, scratch: Scratch | None) -> Any:
        """Copy some columns as float64."""
        block = self.csc[:, columns].astype(np.float64)
        block = block if isinstance(rows, slice) else block[rows]
        return block.toarray() if dense else block

    def own_values(self, columns: Columns) -> NDArray[Any]:
        """Return some columns dense, in their own type."""
        values: NDArray[Any] = self.csc[:, columns].toarray()
        return values

    def dense(self) -> NDArray[Any]:
        """Return all values in an array."""
        values: NDArray[Any] = self.values.toarray()
        return values

    def cells(self, rows: IntArray, features: IntArray | None = None) -> FloatArray:
        """Copy some rows and features as dense float64."""
        chosen = self.csr[rows]
        chosen = chosen if features is None else chosen[:, features]
        found: FloatArray = chosen.toarray().astype(np.float64)
        return found

    def take(self, rows: IntArray) -> Sparse:
        """Return some rows."""
        return Sparse(self.csr[rows])

    def choose(self, columns: Columns) -> Sparse:
        """Return some columns."""
        return Sparse(self.csc[:, columns])

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to all rows at once: products of sparse rows are small."""
        return function(self.csr, *per_row)

    def scaled_columns(self, scaling: Scaling, n_jobs: int) -> SparseColumns:
        """Return all features, scaled."""
        return SparseColumns(scaling.rows(self.csr).T.tocsr(), n_jobs)

    def edge_form(self, graph: Edges, n_jobs: int | None) -> FloatArray:
        """Compute the sum over edges of squared differences."""
        X, totals = self.csr, graph.totals

        def work(chunk: slice) -> FloatArray:
            left, right = X[graph.left[chunk]], X[graph.right[chunk]]
            difference = (left.astype(np.float64) - right.astype(np.float64)).tocsr()
            weights = np.repeat(totals[chunk], np.diff(difference.indptr))
            return sum_by(difference.indices, weights * difference.data**2, X.shape[1])

        parts = map_threads(work, slices(len(graph.left), EDGE_CHUNK), n_jobs)
        return np.sum(parts, axis=0) if parts else np.zeros(X.shape[1])

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` by direct differences."""
        X = self.csr
        per_row = max(int(X.nnz // max(X.shape[0], 1)), 1)

        def work(chunk: slice) -> FloatArray:
            difference = X[left[chunk]].astype(np.float64) - X[right[chunk]].astype(np.float64)
            return np.asarray(difference.power(2).sum(axis=1)).ravel()

        chunks = slices(len(left), max(CHUNK_SIZE // per_row, 1))
        return np.concatenate([np.empty(0), *map_threads(work, chunks, n_jobs)])

    def products(self, dtype: Any, n_jobs: int | None) -> Products:
        """Prepare the rows; centring would fill them, so they keep full precision instead."""
        rows = self.csr.astype(np.float64)
        norms = np.asarray(rows.power(2).sum(axis=1)).ravel()
        longest = int(np.diff(rows.indptr).max(initial=1))
        return SparseProducts(rows, norms, 1.0, product_errors(norms, longest, np.float64))


@dataclass(frozen=True)
class SparseProducts(Products):
    """Sparse rows prepared for distances."""

    def distances(self, queries: Any, pool: Products) -> NDArray[Any]:
        """Compute squared distances to the rows of `pool`, without the queries' own norms."""
        tile: NDArray[Any] = (self.rows[queries] @ pool.rows.T).toarray()
        tile *= -2
        tile += pool.norms
        return tile
