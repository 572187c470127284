"""Scaled and centred features for methods that compute matrix products with all features.

The entries of a feature are usually its values for the samples. Any other representation that
preserves the inner products of features can be used, such as a factor of their Gram matrix or
random sums of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray
from linkselect._blocks import column_slices, map_threads, slices
from linkselect._samples.devices import device_of, namespace_of
from linkselect._samples.scaling import Scaling
from linkselect._samples.sources.merging import MergeTree
from linkselect._samples.sources.running import map_parts, reduce_parts
from linkselect._samples.sources.stored import Part, Stored

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# The number of entries that one thread multiplies at a time. It must not depend on the number of
# threads.
BLOCK_SIZE = 1 << 20
# Rows are divided into lanes; one thread sums the products of a lane before these sums are merged.
# LANES_SIZE is the number of entries in the sums of all lanes.
LANES_SIZE = 1 << 23
MOST_LANES = 8
# In blocks with fewer rows, or with fewer rows than a quarter of the features, adding the products
# takes longer than computing them.
LEAST_ROWS = 512
# With more values than this, float32 data stay float32, which halves memory and time. Fewer values
# are converted to float64 and give the same results as float64 data.
MANY_VALUES = 1 << 26
# Bounds on the relative difference between sums in different orders: float64 and float32.
FINE, COARSE = 1e-9, 1e-5


class HeldColumns:
    """Features stored in memory or on a device as an array of shape (n_features, n_rows).

    Parameters
    ----------
    values : array of shape (n_features, n_rows)
        The centred features.
    n_jobs : int
        The number of threads.
    """

    def __init__(self, values: Any, n_jobs: int = 1) -> None:
        self.values, self.n_jobs = values, n_jobs
        self.rounding = FINE if device_of(values) or values.dtype != np.float32 else COARSE

    def column(self, feature: int) -> Any:
        """Return one feature as float64."""
        return np.asarray(self.values[feature], dtype=np.float64)

    def times(self, vectors: Any) -> Any:
        """Return the inner product of every feature with each column of `vectors`."""
        vectors = vectors.astype(self.values.dtype)
        return self._joined(lambda block: (block @ vectors).astype(np.float64))

    def kernel(self) -> Any:
        """Return the Gram matrix of the rows: their inner products over all features."""
        n_features, n_rows = self.values.shape
        lanes = slices(n_features, -(-n_features // count_lanes(n_rows)))
        tree = MergeTree(len(lanes), partial(np.sum, axis=0))

        def work(place: int) -> None:
            total = np.zeros((n_rows, n_rows))
            for block in self._blocks(self.values[lanes[place]]):
                total += block.T @ block
            tree.add(place, total)

        map_threads(work, range(len(lanes)), self.n_jobs)
        found: FloatArray = tree.top
        return found

    def quadratic(self, matrix: Any) -> Any:
        """Compute `f' matrix f` for every feature f."""
        matrix = matrix.astype(self.values.dtype)
        return self._joined(
            lambda block: np.einsum("ij,ij->i", block @ matrix, block, dtype=np.float64)
        )

    def norms(self) -> Any:
        """Compute the squared norm of every feature."""
        return self._joined(lambda block: np.einsum("ij,ij->i", block, block, dtype=np.float64))

    def _blocks(self, values: Any) -> list[Any]:
        height = max(BLOCK_SIZE // values.shape[1], 1)
        return [values[part] for part in slices(values.shape[0], height)]

    def _joined(self, function: Any) -> FloatArray:
        return np.concatenate(map_threads(function, self._blocks(self.values), self.n_jobs))


class SparseColumns(HeldColumns):
    """Sparse features, which are not centred; vectors that multiply them must be centred."""

    def __init__(self, values: csr_array, n_jobs: int) -> None:
        super().__init__(values, n_jobs)
        self.means = np.asarray(values.sum(axis=1)).ravel() / values.shape[1]

    def column(self, feature: int) -> FloatArray:
        """Return one feature as a dense, centred array."""
        found: FloatArray = self.values[[feature]].toarray()[0] - self.means[feature]
        return found

    def kernel(self) -> FloatArray:
        """Return the Gram matrix of the rows: their inner products over centred features."""
        product = (self.values.T @ self.values).toarray()
        product -= product.mean(axis=0)
        product -= product.mean(axis=1)[:, None]
        return product

    def quadratic(self, matrix: FloatArray) -> FloatArray:
        """Compute `f' matrix f` for every feature f; the rows of the matrix must sum to 0."""
        return self._joined(lambda block: block.multiply(block @ matrix).sum(axis=1))

    def norms(self) -> FloatArray:
        """Compute the squared norm of every centred feature."""
        squares = np.asarray(self.values.multiply(self.values).sum(axis=1)).ravel()
        return np.maximum(squares - self.values.shape[1] * self.means**2, 0.0)


class DeviceColumns(HeldColumns):
    """Features on a device, where every product is computed in a single call."""

    def column(self, feature: int) -> Any:
        """Return one feature."""
        return self.values[feature, :]

    def times(self, vectors: Any) -> Any:
        """Return the inner product of every feature with each column of `vectors`."""
        return self.values @ vectors

    def kernel(self) -> Any:
        """Return the Gram matrix of the rows: their inner products over all features."""
        return self.values.T @ self.values

    def quadratic(self, matrix: Any) -> Any:
        """Compute `f' matrix f` for every feature f."""
        return namespace_of(matrix).sum((self.values @ matrix) * self.values, axis=1)

    def norms(self) -> Any:
        """Compute the squared norm of every feature."""
        return namespace_of(self.values).sum(self.values * self.values, axis=1)


class StoredColumns(HeldColumns):
    """Features of samples that are read by columns; every matrix product reads them once."""

    def __init__(self, stored: Stored, scaling: Scaling, n_jobs: int) -> None:
        self.stored, self.scaling, self.n_jobs = stored, scaling, n_jobs
        self.rounding = COARSE if kept_type(stored) == np.float32 else FINE

    def column(self, feature: int) -> FloatArray:
        """Read one feature and scale it."""
        values = self.stored.choose(np.array([feature])).take(np.arange(self.stored.shape[0]))
        place = slice(feature, feature + 1)
        found: FloatArray = scaled_by_feature(values, self.scaling, place)[0]
        return found

    def times(self, vectors: Any) -> FloatArray:
        """Return the inner product of every feature with each column of `vectors`."""
        return self._mapped("times", vectors)

    def quadratic(self, matrix: Any) -> FloatArray:
        """Compute `f' matrix f` for every feature f."""
        return self._mapped("quadratic", matrix)

    def norms(self) -> FloatArray:
        """Compute the squared norm of every feature."""
        return self._mapped("norms")

    def kernel(self) -> FloatArray:
        """Return the Gram matrix of the samples: their inner products over all features."""
        work = partial(_of_part, scaling=self.scaling, what="kernel", arguments=())
        add_up = partial(np.sum, axis=0)
        found: FloatArray = reduce_parts(
            self.stored, work, add_up, n_jobs=self.n_jobs, what="multiply samples"
        )
        return found

    def _mapped(self, what: str, *arguments: Any) -> FloatArray:
        work = partial(_of_part, scaling=self.scaling, what=what, arguments=arguments)
        found = map_parts(self.stored, work, n_jobs=self.n_jobs, what="compare features")
        return np.concatenate(found)


def _of_part(part: Part, *, scaling: Scaling, what: str, arguments: Sequence[Any]) -> Any:
    ((_, values),) = part.slabs()
    by_feature = scaled_by_feature(values, scaling, part.columns)
    columns = HeldColumns(by_feature.astype(kept_type(part.samples), copy=False))
    return getattr(columns, what)(*arguments)


def dense_columns(X: NDArray[Any], scaling: Scaling, n_jobs: int) -> HeldColumns:
    """Scale and centre all features of an array."""
    if scaling.roots:
        squares = np.zeros(X.shape[0])
        for columns in column_slices(X):
            squares += X[:, columns].astype(np.float64) @ scaling.weights[columns]
        scaling = replace(scaling, squares=squares)
    found = np.empty(X.shape[::-1], dtype=kept_type(X))

    def work(columns: slice) -> None:
        found[columns] = scaled_by_feature(X[:, columns], scaling, columns)

    map_threads(work, column_slices(X), n_jobs)
    return HeldColumns(found, n_jobs)


def scaled_by_feature(
    values: NDArray[Any], scaling: Scaling, columns: slice = slice(None)
) -> FloatArray:
    """Scale and centre the given columns, and transpose the result."""
    block = scaling.apply(values.astype(np.float64), columns)
    block -= block.mean(axis=0)
    return np.ascontiguousarray(block.T)


def kept_type(X: Any) -> np.dtype[Any]:
    """Return the dtype in which scaled values are stored."""
    is_large = X.shape[0] * X.shape[1] > MANY_VALUES
    return np.dtype(np.float32 if is_large and X.dtype == np.float32 else np.float64)


def as_columns(values: Any, n_jobs: int) -> HeldColumns:
    """Wrap a matrix, whose rows must be centred features, in the class for its device."""
    return HeldColumns(values, n_jobs) if device_of(values) is None else DeviceColumns(values)


def count_lanes(width: int) -> int:
    """Return the number of lanes for sums that are square matrices with `width` columns."""
    return min(max(LANES_SIZE // max(width * width, 1), 1), MOST_LANES)


# -- blocks of rows ----------------------------------------------------------------------------


def reduce_blocks(
    values: Any,
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    per_row: tuple[Any, ...],
    n_jobs: int | None,
) -> Any:
    """Apply a function to blocks of rows and merge the results; see `Samples.reduce_rows`."""
    n_rows, n_features = values.shape
    # The tree merges lanes, not blocks, because a result may be as large as many blocks.
    lanes = slices(n_rows, -(-n_rows // count_lanes(n_features)))
    tree = MergeTree(len(lanes), merge)

    def work(place: int) -> None:
        lane = lanes[place]
        rows = tuple(one[lane] for one in per_row)
        tree.add(place, reduce_in_turn(values[lane], function, merge, rows))

    map_threads(work, range(len(lanes)), n_jobs)
    return tree.top


def reduce_in_turn(
    values: Any,
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    per_row: tuple[Any, ...],
) -> Any:
    """Apply a function to blocks of rows in turn, and merge each result immediately."""
    n_rows, n_features = values.shape
    blocks = slices(n_rows, max(BLOCK_SIZE // n_features, LEAST_ROWS, n_features // 4))
    found = (function(values[some], *(one[some] for one in per_row)) for some in blocks)
    return reduce(lambda total, more: merge([total, more]), found)
