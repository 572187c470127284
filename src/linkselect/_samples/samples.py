"""Storage-independent interface to samples, and its implementation for dense arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import (
    BLOCK_SIZE,
    Scratch,
    block_width,
    centre,
    column_block,
    column_slices,
    map_threads,
    slices,
)
from linkselect._samples import distances, neighbors, wide
from linkselect._samples.devices import Device
from linkselect._samples.moments import kurtosis, moments
from linkselect._samples.neighbors import EVERYTHING, Found, Products, Search
from linkselect._samples.scaled_columns import HeldColumns, dense_columns, reduce_blocks
from linkselect._samples.scaling import Scaling
from linkselect._samples.sources.stored import WIDE_SAMPLES

if TYPE_CHECKING:
    from linkselect.graphs._graph_types import Edges, Kernel

Kind = Literal["memory", "sparse", "device", "parts"]
Columns = slice | IntArray
# The group of each sample (-1 for none) and the weights; None: every sample has weight 1.
Grouping = tuple[IntArray, FloatArray | None]

# Squares of smaller differences, multiplied by small weights, approach the subnormal numbers and
# lose precision.
FAINT = 1e-90
# float64 cannot represent every larger integer.
LARGEST_EXACT = 2**53
# A few rows suffice to show that most features vary, or that two features differ.
FIRST_ROWS = 8
NO_FEATURES: IntArray = np.empty(0, dtype=np.intp)


class Samples:
    """Samples in a dense array in memory; base class for samples in any other storage.

    Subclasses implement the same methods for sparse matrices, arrays on a device and samples
    outside memory, so the rest of the library does not depend on the storage. The last axis of a
    sum over samples has one entry per feature, and the sum stays on the device of the samples.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        The values of the samples, which may have any numeric dtype and are never modified.

    Attributes
    ----------
    kind : {"memory", "sparse", "device", "parts"}
        Kind of storage. The attribute `works_on` of an estimator lists the kinds of storage that it
        supports.
    values : object
        Object that can be passed to any estimator: an array, a sparse matrix or a `Parts` object.
    shape : tuple of int
        The numbers of samples and features.
    dtype : dtype
        The dtype of the values.
    here : Device or None
        The device of the array; None for NumPy arrays.
    by_columns : bool
        Whether the samples are read in parts that contain all rows and some of the columns.
    must_stay_outside : bool
        Whether the samples are read by rows and are too large for memory.
    default_queries, most_listed : int or None
        The default number of samples whose nearest neighbours are computed, and the maximum total
        number of neighbours; None means no limit.
    scores : ndarray of shape (n_features,) or None
        The feature scores, if they were computed in the first pass over the samples.
    """

    kind: ClassVar[Kind] = "memory"
    here: Device | None = None
    by_columns = False
    must_stay_outside = False
    default_queries: int | None = None
    most_listed: int | None = None
    scores: FloatArray | None = None
    _moments = staticmethod(moments)

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape: tuple[int, int] = values.shape
        self.dtype: Any = values.dtype

    # -- single features ---------------------------------------------------------------------

    def constant_columns(self) -> BoolArray:
        """Return a mask of the constant features, determined by comparing values for equality."""
        X = self.values
        # Most features vary within the first rows already; only the others are read completely.
        constant: BoolArray = (X[:FIRST_ROWS] == X[0]).all(axis=0)
        left = np.flatnonzero(constant)
        for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
            constant[left[part]] = (X[:, left[part]] == X[0, left[part]]).all(axis=0)
        return constant

    def faint_columns(self) -> IntArray:
        """List the non-constant features whose squared differences underflow."""
        X = self.values
        if X.dtype.kind != "f" or X.dtype.itemsize < 8:
            return NO_FEATURES  # other types have no such small values
        left = np.flatnonzero(_extent(X[:FIRST_ROWS]) < FAINT)
        found = [NO_FEATURES]
        for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
            extent = _extent(X[:, left[part]])
            found.append(left[part][(extent > 0) & (extent < FAINT)])
        return np.concatenate(found)

    def rounded_columns(self) -> IntArray:
        """List the features with integers that float64 cannot represent exactly."""
        X = self.values
        if not may_be_rounded(X):
            return NO_FEATURES
        parts = slices(X.shape[1], block_width(BLOCK_SIZE, X.shape[0]))
        return np.flatnonzero(np.concatenate([is_rounded(X[:, p]).any(axis=0) for p in parts]))

    def count_missing(self) -> int:
        """Count the NaN values of samples in memory."""
        return int(np.isnan(self.values).sum()) if self.dtype.kind == "f" else 0

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and maximum of each feature as float64."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        return low.astype(np.float64), high.astype(np.float64)

    def count_nonzero(self) -> int:
        """Count the nonzero values."""
        return int(np.count_nonzero(self.values))

    def overflows(self) -> bool:
        """Return whether squares of values overflow without a floating-point error."""
        return False

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return a key for each feature that is equal for features with equal values.

        Keys are comparable only between features with the same number in `runs`.
        """
        return [digest(self.values[:, feature]) for feature in features]

    # -- rows and columns --------------------------------------------------------------------

    def take(self, rows: IntArray) -> Samples:
        """Return the given rows; rows that are stored outside memory are read into memory."""
        return Samples(self.values[rows])

    def choose(self, columns: Columns) -> Samples:
        """Return the given columns."""
        return Samples(self.values[:, columns])

    def dense(self) -> Any:
        """Return the values as a dense array on their device, without copying a dense array."""
        return self.values

    def own_values(self, columns: Columns) -> NDArray[Any]:
        """Return the given columns as a dense array in their own dtype.

        The dtype is kept because different large integers could become equal if converted to
        float64.
        """
        return self.values[:, columns]

    def cells(self, rows: IntArray, features: IntArray | None = None) -> FloatArray:
        """Copy the given rows and features (default: all) to a dense float64 array in C order."""
        chosen = rows if features is None else np.ix_(rows, features)
        return np.array(self.values[chosen], dtype=np.float64, order="C")

    def float_block(self, columns: Columns, rows: Any, dense: bool, scratch: Scratch | None) -> Any:
        """Copy the given rows and columns to a float64 array, possibly in scratch memory."""
        return column_block(self.values, columns, rows, scratch)

    def column_slices(self, n_rows: int) -> list[slice]:
        """Split the columns into slices whose blocks of `n_rows` rows fit into the cache."""
        return column_slices(self.values, n_rows)

    def block(self, columns: Columns, rows: Any = slice(None)) -> FloatArray:
        """Copy the given rows and columns to a dense float64 array."""
        found: FloatArray = self.float_block(columns, rows, True, None)
        return found

    def dense_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of columns, each with a dense float64 copy of its values."""
        for columns in column_slices(self.values):
            yield columns, self.block(columns)

    @property
    def rows_first(self) -> Any:
        """The values in a format that supports fast row indexing."""
        return self.values

    def held(self) -> Samples:
        """Load the samples into memory, if they are read by rows and small enough."""
        return self

    def allowed(self, size: int) -> int:
        """Scale the default memory size `size` to the memory limit of the samples."""
        return size

    def holding(self, rows: IntArray, n_jobs: int | None) -> Samples:
        """Cache the rows with the given sorted numbers in memory, and return the samples."""
        return self

    @property
    def xp(self) -> Any:
        """The array namespace of the values."""
        return np if self.here is None else self.here.xp

    def placed(self, values: Any) -> Any:
        """Copy a NumPy array to the device of the samples, if they are on a device."""
        return values if self.here is None else self.here.put(values)

    def fetched(self, values: Any) -> Any:
        """Convert a result computed from the samples to a NumPy array."""
        return values

    # -- sums over samples, for every feature ------------------------------------------------

    def map_columns(
        self,
        function: Callable[[Any], Any],
        rows: IntArray | None = None,
        n_jobs: int | None = None,
        *,
        dense: bool = False,
    ) -> Any:
        """Apply a function to column blocks and join the results along the last axis.

        Parameters
        ----------
        function : callable
            Function that takes a float64 block of rows and columns, and returns an array whose last
            axis corresponds to these columns. Blocks of sparse samples are in CSC format unless
            `dense` is true. The function may modify the block.
        rows : ndarray of int, optional
            The rows that are passed to the function. Default: all.
        n_jobs : int, optional
            See `map_threads`.
        dense : bool, default=False
            Whether blocks of sparse samples are converted to arrays.
        """
        needed, n_rows = (slice(None), self.shape[0]) if rows is None else (rows, len(rows))
        # The function may loop over blocks itself, so this loop has its own scratch memory.
        scratch = Scratch()

        def work(columns: slice) -> Any:
            return function(self.float_block(columns, needed, dense, scratch))

        return self.joined(self.map(work, self.column_slices(n_rows), n_jobs))

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None
    ) -> list[Any]:
        """Apply a function to every item, in several threads unless the samples are on a device."""
        return map_threads(function, items, n_jobs)

    def joined(self, parts: list[Any]) -> Any:
        """Concatenate the results for blocks of columns along the last axis."""
        return np.concatenate(parts, axis=-1)

    def map_column_parts(self, function: Callable[..., Any], n_jobs: int | None) -> Any:
        """Return `function(samples, n_jobs=...)` for a function that treats features independently.

        If the samples are read by columns, the function is called once for each part.
        """
        return function(self, n_jobs=n_jobs)

    def map_rows(self, function: Callable[[Samples], Any], rows: IntArray) -> Any:
        """Apply to the given rows a function that treats each feature independently."""
        return function(self.take(rows))

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to blocks of rows with all columns, and merge the results.

        Parameters
        ----------
        function : callable
            Function that takes the values of some rows in their stored dtype, and the same rows of
            each array in `per_row`. It must be picklable; for example, a module-level function.
        merge : callable
            Function that merges a list of results, in the order of the rows, into one result.
        per_row : tuple of arrays or CSR matrices
            Arrays with one row for each sample.
        n_jobs : int or None
            See `map_threads`.
        """
        return reduce_blocks(self.values, function, merge, per_row, n_jobs)

    def scaled_columns(self, scaling: Scaling, n_jobs: int) -> HeldColumns:
        """Return all features, scaled and centred."""
        return dense_columns(self.values, scaling, n_jobs)

    def from_moments(
        self, function: Callable[..., Any], groupings: tuple[Grouping, ...], n_jobs: int | None
    ) -> Any:
        """Compute `function(*moments)`, with one `Moments` object for each grouping."""

        def work(block: Any) -> Any:
            return function(*(self._moments(block, *grouping) for grouping in groupings))

        return self.map_columns(work, n_jobs=n_jobs)

    def kurtosis(self, n_jobs: int | None) -> FloatArray:
        """Compute the mean of `((f_i - mean) / std)^4` for each feature; NaN if it is constant.

        The kurtosis of a normal distribution is 3. If a small fraction p of the samples has one
        value and all other samples have another value, the kurtosis is about 1 / p.
        """
        work = partial(kurtosis, moments=self._moments)
        found: FloatArray = self.fetched(self.map_columns(work, n_jobs=n_jobs))
        return found

    def edge_form(self, graph: Edges, n_jobs: int | None) -> Any:
        """For each feature f, compute the sum of `w_ij (f_i - f_j)^2` over all edges."""
        rows, work, once = distances.edge_sums(graph)
        is_all = once and len(rows) == self.shape[0]
        found: FloatArray = self.map_columns(work, None if is_all else rows, n_jobs)
        return found

    def kernel_form(self, graph: Kernel, n_jobs: int | None) -> Any:
        """Compute `f'Lf` for each feature f as `f'Df - f'Wf` from centred columns, tile by tile."""
        return self.placed(distances.kernel_form(self, graph, n_jobs))

    def kernel_degrees(self, graph: Kernel, n_jobs: int | None) -> FloatArray:
        """Compute the degree of each sample in a kernel graph, excluding the diagonal."""
        return distances.kernel_degrees(self, graph, n_jobs)

    def kernel_tiles(self, codes: IntArray) -> Iterator[distances.Tile]:
        """Yield the row and column numbers of each tile of a kernel's weight matrix."""
        return distances.kernel_tiles(codes)

    def kernel_weights(self, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
        """Compute the kernel weights between the given rows and columns, which must be sorted."""
        return distances.kernel_weights(graph, rows, columns)

    def centred_block(self, columns: slice, rows: IntArray) -> Any:
        """Copy the given rows and columns to float64, and subtract the mean of each column."""
        return centre(self.block(columns, rows))

    # -- distances ---------------------------------------------------------------------------

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` for the given pairs of rows by subtraction in float64."""
        return distances.pair_distances(self.values, left, right, n_jobs)

    def kernel_distances(
        self, left: IntArray, right: IntArray, sigma: float, n_jobs: int | None
    ) -> FloatArray:
        """Compute squared distances that are accurate enough for a Gaussian of width `sigma`."""
        return self.pair_distances(left, right, n_jobs)

    def products(self, dtype: Any, n_jobs: int | None) -> Products:
        """Prepare the rows for fast distance computations in the given precision."""
        mean, largest = distances.centre_of(self.values, n_jobs)
        return distances.prepared(self.values, mean, largest or 1.0, dtype, n_jobs)

    def nearest(self, n_neighbors: int, n_jobs: int | None, among: Search = EVERYTHING) -> Found:
        """Find the nearest neighbours of each query in the pool; see `graphs.nearest`."""
        if self.is_wide and all(part is None for part in among):
            queries = np.arange(self.shape[0])
            return wide.nearest(self, self._rough(n_jobs), n_neighbors, queries, n_jobs)
        return neighbors.nearest(self, n_neighbors, n_jobs, among)

    def pairs_within(self, radius: float, n_jobs: int | None) -> Found:
        """List each pair of samples at most `radius` apart, with its squared distance."""
        return neighbors.pairs_within(self, radius, n_jobs)

    def median_distance(self, among: IntArray, n_jobs: int | None) -> float:
        """Compute the exact median of the squared distances between the given samples."""
        return distances.median_distance(self, *self._rough_pairs(among, n_jobs), among, n_jobs)

    def _rough_pairs(self, among: IntArray, n_jobs: int | None) -> tuple[NDArray[Any], FloatArray]:
        """Return approximate squared distances of all pairs i < j, and their error bounds."""
        if self.is_wide:
            return wide.rough_pairs(self._rough(n_jobs), among)
        return distances.rough_pairs(self.products(np.float32, n_jobs), n_jobs)

    @property
    def is_wide(self) -> bool:
        """Whether distances are summed over blocks of columns, without copying the samples."""
        n_samples, n_features = self.shape
        is_large = n_samples * n_features * np.dtype(np.float32).itemsize > wide.COPY_BYTES
        is_wide = n_samples < n_features and n_samples <= WIDE_SAMPLES
        return self.kind == "memory" and is_large and is_wide

    def _rough(self, n_jobs: int | None) -> wide.Rough:
        return partial(wide.rough_distances, self.values, n_jobs)


def may_be_rounded(values: NDArray[Any]) -> bool:
    """Return whether an array contains integers so large that float64 may round them."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return max(int(values.max()), -int(values.min())) > LARGEST_EXACT


def is_rounded(values: NDArray[Any]) -> BoolArray:
    """Return a mask of the integers that float64 cannot represent exactly."""
    steps = np.spacing(np.abs(values.astype(np.float64)))
    return values % np.maximum(steps, 1.0).astype(values.dtype) != 0


def digest(column: NDArray[Any]) -> bytes:
    """Return a hash of the values of a column, equal for columns with equal values."""
    # Adding 0 turns -0.0 into 0.0, which is equal but has different bytes.
    return blake2b(np.ascontiguousarray(column + 0).data, digest_size=16).digest()


def shared(keys: NDArray[Any]) -> BoolArray:
    """Return a mask of the rows of `keys` that occur more than once."""
    _, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return count[place.ravel()] > 1


def _extent(block: FloatArray) -> FloatArray:
    # The range of huge values may overflow to infinity, which is far above FAINT.
    with np.errstate(over="ignore"):
        return block.max(axis=0) - block.min(axis=0)
