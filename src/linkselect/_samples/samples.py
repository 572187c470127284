"""What the rest of the library asks of samples, and the answers of a dense array."""

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
# The group of each sample, -1 for none, and its weight; None: all weigh 1.
Grouping = tuple[IntArray, FloatArray | None]

# Squares of smaller differences, and their products with small weights, come near the smallest
# numbers there are and lose their digits.
FAINT = 1e-90
# Of larger whole numbers float64 holds only every second, fourth, and so on.
LARGEST_EXACT = 2**53
# A few rows suffice to show that most features vary, or that two are different.
FIRST_ROWS = 8
NO_FEATURES: IntArray = np.empty(0, dtype=np.intp)


class Samples:
    """Samples: what the library asks of them, and the answers of an array in memory.

    Sparse samples, those on a device and those stored in parts answer in a class of their own.
    Only that class knows how they are stored. Sums have one entry per feature on their last axis,
    and are on the device of the samples.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        Any numeric type; never written to.

    Attributes
    ----------
    kind : {"memory", "sparse", "device", "parts"}
        How they are stored; `works_on` of a method lists those that it can work with.
    values : object
        What any estimator can be fitted on: an array, a sparse matrix, or parts themselves.
    shape : tuple of int
        The number of samples and of features.
    dtype : dtype
        The type of the values.
    here : Device or None
        The device that holds them, if NumPy does not.
    by_columns : bool
        Whether they are stored in parts of all rows and some columns.
    must_stay_outside : bool
        Whether they are read by rows, and too large to be held in memory.
    default_queries, most_listed : int or None
        Of how many samples neighbours are searched by default, and how many neighbours may be
        listed; None: all of them.
    scores : ndarray of shape (n_features,) or None
        Those that were computed while the samples were read for the first time.
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
        """Tell which features have one value only, by comparing the values themselves."""
        X = self.values
        # Most features that vary show it in a few rows, so only the others are read to the end.
        constant: BoolArray = (X[:FIRST_ROWS] == X[0]).all(axis=0)
        left = np.flatnonzero(constant)
        for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
            constant[left[part]] = (X[:, left[part]] == X[0, left[part]]).all(axis=0)
        return constant

    def faint_columns(self) -> IntArray:
        """List the features that vary, but by so little that squared differences underflow."""
        X = self.values
        if X.dtype.kind != "f" or X.dtype.itemsize < 8:
            return NO_FEATURES  # narrow types hold no such numbers
        left = np.flatnonzero(_extent(X[:FIRST_ROWS]) < FAINT)
        found = [NO_FEATURES]
        for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
            extent = _extent(X[:, left[part]])
            found.append(left[part][(extent > 0) & (extent < FAINT)])
        return np.concatenate(found)

    def rounded_columns(self) -> IntArray:
        """List the features of whole numbers so large that float64 rounds them."""
        X = self.values
        if not may_be_rounded(X):
            return NO_FEATURES
        parts = slices(X.shape[1], block_width(BLOCK_SIZE, X.shape[0]))
        return np.flatnonzero(np.concatenate([is_rounded(X[:, p]).any(axis=0) for p in parts]))

    def count_missing(self) -> int:
        """Count the values that are NaN, of samples in memory."""
        return int(np.isnan(self.values).sum()) if self.dtype.kind == "f" else 0

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each feature as float64."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        return low.astype(np.float64), high.astype(np.float64)

    def count_nonzero(self) -> int:
        """Count the values that are not 0."""
        return int(np.count_nonzero(self.values))

    def overflows(self) -> bool:
        """Tell whether squares of values overflow without notice."""
        return False

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return a key for each feature; two of one run have the same if all values are equal."""
        return [digest(self.values[:, feature]) for feature in features]

    # -- rows and columns --------------------------------------------------------------------

    def take(self, rows: IntArray) -> Samples:
        """Return some rows; of stored samples in memory."""
        return Samples(self.values[rows])

    def choose(self, columns: Columns) -> Samples:
        """Return some columns."""
        return Samples(self.values[:, columns])

    def dense(self) -> Any:
        """Return the values as a dense array, on their device, without a copy if it is one."""
        return self.values

    def own_values(self, columns: Columns) -> NDArray[Any]:
        """Return some columns dense, in their own type: as floats, large whole numbers may meet."""
        return self.values[:, columns]

    def cells(self, rows: IntArray, features: IntArray | None = None) -> FloatArray:
        """Copy some rows, all features of them or some, as a dense array of float64 in C order."""
        chosen = rows if features is None else np.ix_(rows, features)
        return np.array(self.values[chosen], dtype=np.float64, order="C")

    def float_block(self, columns: Columns, rows: Any, dense: bool, scratch: Scratch | None) -> Any:
        """Copy some columns as float64; dense ones into the scratch memory, if there is some."""
        return column_block(self.values, columns, rows, scratch)

    def column_slices(self, n_rows: int) -> list[slice]:
        """Cut the columns into blocks of so many rows."""
        return column_slices(self.values, n_rows)

    def block(self, columns: Columns, rows: Any = slice(None)) -> FloatArray:
        """Copy some columns as a dense array of float64."""
        found: FloatArray = self.float_block(columns, rows, True, None)
        return found

    def dense_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield all columns block by block as dense float64 copies."""
        for columns in column_slices(self.values):
            yield columns, self.block(columns)

    @property
    def rows_first(self) -> Any:
        """The values in a form of which rows are taken quickly."""
        return self.values

    def held(self) -> Samples:
        """Return the samples in memory, if they are stored by rows and small enough."""
        return self

    def allowed(self, size: int) -> int:
        """Return how much memory may be taken where usually `size` is."""
        return size

    def holding(self, rows: IntArray, n_jobs: int | None) -> Samples:
        """Return the samples with some rows in memory; these are sorted."""
        return self

    @property
    def xp(self) -> Any:
        """The module whose functions work on the values."""
        return np if self.here is None else self.here.xp

    def placed(self, values: Any) -> Any:
        """Copy a NumPy array to the device of the samples, if they are on one."""
        return values if self.here is None else self.here.put(values)

    def fetched(self, values: Any) -> Any:
        """Return what was computed from the samples as a NumPy array."""
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
            Takes a float64 block of all (or the given) rows and some columns (CSC if the samples
            are sparse, unless `dense`) and returns an array whose last axis runs over these
            columns. It may write to the block, which is lost after that.
        rows : ndarray of int, optional
            The rows that the function needs. Default: all.
        n_jobs : int, optional
            See `map_threads`.
        dense : bool, default=False
            Whether blocks of sparse samples become arrays.
        """
        needed, n_rows = (slice(None), self.shape[0]) if rows is None else (rows, len(rows))
        # One of its own, since a function may go through blocks, too.
        scratch = Scratch()

        def work(columns: slice) -> Any:
            return function(self.float_block(columns, needed, dense, scratch))

        return self.joined(self.map(work, self.column_slices(n_rows), n_jobs))

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None
    ) -> list[Any]:
        """Apply a function to every item; a device works on one after the other."""
        return map_threads(function, items, n_jobs)

    def joined(self, parts: list[Any]) -> Any:
        """Join what was computed for blocks of the columns."""
        return np.concatenate(parts, axis=-1)

    def map_column_parts(self, function: Callable[..., Any], n_jobs: int | None) -> Any:
        """Apply a function of samples and `n_jobs`, which looks at each feature on its own.

        If the samples are stored by columns, every part is read once and given to it.
        """
        return function(self, n_jobs=n_jobs)

    def map_rows(self, function: Callable[[Samples], Any], rows: IntArray) -> Any:
        """Apply a function, which looks at each feature on its own, to some of the samples."""
        return function(self.take(rows))

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to blocks of some rows and all columns, and merge the results.

        Parameters
        ----------
        function : callable
            Takes values of some rows as they are stored, and what `per_row` has for these. Other
            processes must be able to load it by its name.
        merge : callable
            Takes a list of results in the order of the rows and returns one.
        per_row : tuple of arrays or CSR matrices
            One row for each sample.
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
        """Compute what a function makes of the moments of each grouping."""

        def work(block: Any) -> Any:
            return function(*(self._moments(block, *grouping) for grouping in groupings))

        return self.map_columns(work, n_jobs=n_jobs)

    def kurtosis(self, n_jobs: int | None) -> FloatArray:
        """Average `((f_i - mean) / deviation)^4`; NaN if a feature is constant.

        It is 3 for a normal distribution. If a share p of the samples has another value than all
        others, it is about 1 / p.
        """
        work = partial(kurtosis, moments=self._moments)
        found: FloatArray = self.fetched(self.map_columns(work, n_jobs=n_jobs))
        return found

    def edge_form(self, graph: Edges, n_jobs: int | None) -> Any:
        """Compute the sum over edges of `w_ij (f_i - f_j)^2`."""
        rows, work, once = distances.edge_sums(graph)
        is_all = once and len(rows) == self.shape[0]
        found: FloatArray = self.map_columns(work, None if is_all else rows, n_jobs)
        return found

    def kernel_form(self, graph: Kernel, n_jobs: int | None) -> Any:
        """Compute `f'Lf` tile by tile as `f'Df - f'Wf`, on centred columns."""
        return self.placed(distances.kernel_form(self, graph, n_jobs))

    def kernel_degrees(self, graph: Kernel, n_jobs: int | None) -> FloatArray:
        """Add up the weights at each node of a kernel over these samples, but for the diagonal."""
        return distances.kernel_degrees(self, graph, n_jobs)

    def kernel_tiles(self, codes: IntArray) -> Iterator[distances.Tile]:
        """Yield the rows and columns of each tile of the weight matrix of a kernel."""
        return distances.kernel_tiles(codes)

    def kernel_weights(self, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
        """Compute the weights of a kernel between some rows and sorted columns."""
        return distances.kernel_weights(graph, rows, columns)

    def centred_block(self, columns: slice, rows: IntArray) -> Any:
        """Copy some rows and columns as float64, and subtract the mean of each column."""
        return centre(self.block(columns, rows))

    # -- distances ---------------------------------------------------------------------------

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` for listed pairs of rows, by direct differences in float64."""
        return distances.pair_distances(self.values, left, right, n_jobs)

    def kernel_distances(
        self, left: IntArray, right: IntArray, sigma: float, n_jobs: int | None
    ) -> FloatArray:
        """Compute squared distances as exactly as a Gaussian of this width needs them."""
        return self.pair_distances(left, right, n_jobs)

    def products(self, dtype: Any, n_jobs: int | None) -> Products:
        """Prepare the rows for fast distances in the given precision."""
        mean, largest = distances.centre_of(self.values, n_jobs)
        return distances.prepared(self.values, mean, largest or 1.0, dtype, n_jobs)

    def nearest(self, n_neighbors: int, n_jobs: int | None, among: Search = EVERYTHING) -> Found:
        """Find the nearest rows of a pool for each query; see `graphs.nearest`."""
        if self.is_wide and all(part is None for part in among):
            queries = np.arange(self.shape[0])
            return wide.nearest(self, self._rough(n_jobs), n_neighbors, queries, n_jobs)
        return neighbors.nearest(self, n_neighbors, n_jobs, among)

    def pairs_within(self, radius: float, n_jobs: int | None) -> Found:
        """List all pairs of samples at most `radius` apart, each once, with squared distances."""
        return neighbors.pairs_within(self, radius, n_jobs)

    def median_distance(self, among: IntArray, n_jobs: int | None) -> float:
        """Find the median squared distance between some samples, to the last digit."""
        return distances.median_distance(self, *self._rough_pairs(among, n_jobs), among, n_jobs)

    def _rough_pairs(self, among: IntArray, n_jobs: int | None) -> tuple[NDArray[Any], FloatArray]:
        """Return the distances of all pairs i < j, up to errors of the samples, and these."""
        if self.is_wide:
            return wide.rough_pairs(self._rough(n_jobs), among)
        return distances.rough_pairs(self.products(np.float32, n_jobs), n_jobs)

    @property
    def is_wide(self) -> bool:
        """Whether distances are summed over parts of the columns, without a copy of the samples."""
        n_samples, n_features = self.shape
        is_large = n_samples * n_features * np.dtype(np.float32).itemsize > wide.COPY_BYTES
        is_wide = n_samples < n_features and n_samples <= WIDE_SAMPLES
        return self.kind == "memory" and is_large and is_wide

    def _rough(self, n_jobs: int | None) -> wide.Rough:
        return partial(wide.rough_distances, self.values, n_jobs)


def may_be_rounded(values: NDArray[Any]) -> bool:
    """Whether there are whole numbers so large that float64 may round them."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return max(int(values.max()), -int(values.min())) > LARGEST_EXACT


def is_rounded(values: NDArray[Any]) -> BoolArray:
    """Tell which whole numbers float64 does not hold: those between its steps."""
    steps = np.spacing(np.abs(values.astype(np.float64)))
    return values % np.maximum(steps, 1.0).astype(values.dtype) != 0


def digest(column: NDArray[Any]) -> bytes:
    """Boil a column down to a few bytes, which are equal for equal columns."""
    # Adding 0 turns -0.0 into 0.0, which it equals.
    return blake2b(np.ascontiguousarray(column + 0).data, digest_size=16).digest()


def shared(keys: NDArray[Any]) -> BoolArray:
    """Tell which rows occur more than once."""
    _, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return count[place.ravel()] > 1


def _extent(block: FloatArray) -> FloatArray:
    # The range of huge values may overflow, and is anything but faint.
    with np.errstate(over="ignore"):
        return block.max(axis=0) - block.min(axis=0)
