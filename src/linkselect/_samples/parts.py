"""Samples outside memory that are read in parts, which are blocks of rows or of columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import column_block, column_slices, slices
from linkselect._messages import GuidedTypeError
from linkselect._samples import distances, part_neighbors, wide
from linkselect._samples.moments import Moments, fourth_powers, mean_and_deviation, merged
from linkselect._samples.neighbors import EVERYTHING, Found, Search, none_found
from linkselect._samples.samples import (
    FAINT,
    LARGEST_EXACT,
    NO_FEATURES,
    Columns,
    Grouping,
    Samples,
    digest,
    shared,
)
from linkselect._samples.scaled_columns import StoredColumns, reduce_in_turn
from linkselect._samples.scaling import Scaling
from linkselect._samples.sources.merging import FAN_IN_OF_LARGE
from linkselect._samples.sources.running import map_parts, reduce_parts
from linkselect._samples.sources.stored import Part, Stored
from linkselect._samples.survey import Score, Survey, moments_of_part, survey

if TYPE_CHECKING:
    from linkselect.graphs._graph_types import Edges

# The largest size of rows of stored samples that are kept in memory.
HELD_BYTES = 256 * 2**20
# The default number of samples whose neighbours are searched, and the largest number of neighbours
# that may be listed; each takes about 150 bytes.
QUERIES = 20_000
MOST_LISTED = 1 << 24
TAKE_ROWS = "Pass a subset of the rows, read with linkselect.open_stored(X).take(rows)."


class Parts(Samples):
    """Samples outside memory, together with the results of one pass over them.

    Parameters
    ----------
    stored : Stored
        The samples.
    found : Survey, optional
        The results of one pass over the samples. By default, they are computed when first needed.
    codes : ndarray of shape (n_samples,), optional
        The class of each sample, or -1 for samples without a class. The survey contains the moments
        of these classes. Default: no classes.
    """

    kind = "parts"

    def __init__(
        self, stored: Stored, found: Survey | None = None, codes: IntArray | None = None
    ) -> None:
        super().__init__(stored)
        self.stored, self.values, self.by_columns = stored, self, stored.by_columns
        self.codes = np.full(self.shape[0], -1, dtype=np.intp) if codes is None else codes
        self.must_stay_outside = not (self.by_columns or self._can_hold(self.shape[0]))
        self.default_queries, self.most_listed = QUERIES, stored.allowed(MOST_LISTED)
        self._found = found
        self.scores = None if found is None else found.scores
        # Cached rows (sorted numbers and values), and products between samples for each dtype.
        self._held: tuple[IntArray, NDArray[Any]] | None = None
        self._products: dict[Any, wide.Sums] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # The survey may be large, so it is not sent to other processes.
        return Parts, (self.stored,)

    @property
    def survey(self) -> Survey:
        """The results of one pass over the samples, computed on first access."""
        if self._found is None:
            self._found = survey(self.stored, self.codes)
        return self._found

    def surveyed(
        self,
        codes: IntArray,
        n_jobs: int | None = None,
        score: Score | None = None,
        hold: IntArray | None = None,
    ) -> Parts:
        """Return the samples with the results of one pass, which is repeated only if necessary.

        Parameters
        ----------
        codes, n_jobs, score
            See `survey`.
        hold : ndarray of int, optional
            Sorted row numbers, if only some rows are used. Their values are kept in memory unless
            they are too large.
        """
        # A survey by columns has no classes; moments of classes also give those of all samples.
        is_enough = self.by_columns or (codes < 0).all() or np.array_equal(self.codes, codes)
        if self._found is not None and self.scores is None and is_enough:
            return self
        if hold is not None and not self._can_hold(len(hold)):
            hold = hold[:0]  # these rows are read later, some columns at a time
        found = Parts(self.stored, survey(self.stored, codes, n_jobs, score, hold), codes)
        if hold is not None and found.survey.rows is not None:
            found._held = hold, found.survey.rows
        return found

    # -- single features ---------------------------------------------------------------------

    def constant_columns(self) -> BoolArray:
        """Return a mask of the constant features."""
        constant: BoolArray = self.survey.low == self.survey.high
        return constant

    def faint_columns(self) -> IntArray:
        """List the non-constant features whose squared differences underflow."""
        if self.dtype.kind != "f" or self.dtype.itemsize < 8:
            return NO_FEATURES  # other types have no such small values
        with np.errstate(over="ignore"):
            extent = self.survey.high - self.survey.low
        return np.flatnonzero((extent > 0) & (extent < FAINT))

    def rounded_columns(self) -> IntArray:
        """List the features with integers so large that float64 may round them."""
        largest = np.maximum(-self.survey.low, self.survey.high)
        return np.flatnonzero(self.stored.whole & (largest > LARGEST_EXACT))

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return a key for each feature.

        The key is a hash of all values, unless the minimum and maximum are unique.
        """
        low, high = self.survey.low[features], self.survey.high[features]
        rivals = np.flatnonzero(shared(np.column_stack([runs, low, high])))
        keys: list[Hashable] = features.tolist()
        if not len(rivals):
            return keys
        chosen = self.stored.choose(features[rivals])
        found = map_parts(chosen, _digests, what="compare features")
        columns = (
            chain(*found)
            if chosen.by_columns
            else map(chain.from_iterable, zip(*found, strict=True))
        )
        for place, digests in zip(rivals, columns, strict=True):
            keys[place] = b"".join(digests)
        return keys

    # -- sums over samples, for every feature ------------------------------------------------

    def map_column_parts(self, function: Callable[..., Any], n_jobs: int | None) -> Any:
        """Call a function for each part if the samples are read by columns, otherwise only once."""
        if not self.by_columns:
            return function(self, n_jobs=n_jobs)
        work = partial(_on_values, function)
        return np.concatenate(map_parts(self.stored, work, n_jobs=n_jobs, what="score"), axis=-1)

    def map_rows(self, function: Callable[[Samples], Any], rows: IntArray) -> Any:
        """Apply a function to the given rows, in blocks of columns that fit into memory."""
        if self._can_hold(len(rows)):
            return function(self.take(rows))
        width = max(self.stored.allowed(HELD_BYTES) // (len(rows) * self.dtype.itemsize), 1)
        chosen = (np.arange(some.start, some.stop) for some in slices(self.shape[1], width))
        found = [function(Samples(self.stored.choose(some).take(rows))) for some in chosen]
        return np.concatenate(found, axis=-1)

    def _can_hold(self, n_rows: int) -> bool:
        n_bytes = n_rows * self.shape[1] * self.dtype.itemsize
        return n_bytes <= self.stored.allowed(HELD_BYTES)

    def from_moments(
        self, function: Callable[..., Any], groupings: tuple[Grouping, ...], n_jobs: int | None
    ) -> FloatArray:
        """Compute `function(*moments)`, with one `Moments` object for each grouping."""
        if self.by_columns:
            work = partial(Samples.from_moments, function=function, groupings=groupings)
            found: FloatArray = self.map_column_parts(work, n_jobs)
            return found
        return function(
            *(self._moments_of_rows(codes, weights, n_jobs) for codes, weights in groupings)
        )

    def _moments_of_rows(
        self, codes: IntArray, weights: FloatArray | None, n_jobs: int | None
    ) -> Moments:
        """Return the moments of groups, taken from the survey if it contains them."""
        known = None if self._found is None else self._found.moments
        if known is not None and (weights is None or (weights == 1.0).all()):
            if np.array_equal(codes, self.codes):
                return known.of_groups(slice(1, None))
            if not codes.any():
                return known.together()
        work = partial(moments_of_part, n_groups=int(codes.max(initial=0)) + 1)

        def of_part(part: Part) -> tuple[IntArray, FloatArray | None]:
            return codes[part.rows], None if weights is None else weights[part.rows]

        found: Moments = reduce_parts(
            self.stored, work, merged, per_part=of_part, n_jobs=n_jobs, what="add up"
        )
        return found

    def kurtosis(self, n_jobs: int | None) -> FloatArray:
        """Compute the mean fourth power of the standardised values of each feature."""
        found: FloatArray
        if self.by_columns:
            found = self.map_column_parts(Samples.kurtosis, n_jobs)
            return found
        # There may be a billion rows: a broadcast array of group numbers takes no memory.
        alone = self._moments_of_rows(np.broadcast_to(np.intp(0), self.shape[0]), None, n_jobs)
        mean, deviation = mean_and_deviation(alone)
        work = partial(_fourth_powers_of_part, mean=mean, deviation=deviation)
        found = reduce_parts(self.stored, work, sum, n_jobs=n_jobs, what="add up")
        return found / self.shape[0]

    def edge_form(self, graph: Edges, n_jobs: int | None) -> FloatArray:
        """For each feature f, compute the sum of `w_ij (f_i - f_j)^2` over all edges.

        Only rows with an edge are read.
        """
        rows, work, _ = distances.edge_sums(graph)
        found: FloatArray = self.map_rows(lambda some: some.map_columns(work, n_jobs=n_jobs), rows)
        return found

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and maximum of each feature."""
        return self.survey.low, self.survey.high

    def count_nonzero(self) -> int:
        """Count the nonzero values in an additional pass over the samples."""
        return int(reduce_parts(self.stored, _count_nonzero, sum, what="count"))

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to blocks of rows of each part, and merge the results pairwise."""

        def of_part(part: Part) -> tuple[Any, ...]:
            return tuple(one[part.rows] for one in per_row)

        work = partial(_reduce_slabs, function=function, merge=merge)
        return reduce_parts(
            self.stored,
            work,
            merge,
            per_part=of_part,
            n_jobs=n_jobs,
            what="multiply features",
            fan_in=FAN_IN_OF_LARGE,
        )

    def scaled_columns(self, scaling: Scaling, n_jobs: int) -> StoredColumns:
        """Return the scaled features of samples that are read by columns."""
        if scaling.roots:
            work = partial(_squares_of_part, weights=scaling.weights)
            add_up = partial(np.sum, axis=0)
            squares = reduce_parts(self.stored, work, add_up, n_jobs=n_jobs, what="add up")
            scaling = replace(scaling, squares=squares)
        return StoredColumns(self.stored, scaling, n_jobs)

    # -- rows --------------------------------------------------------------------------------

    def take(self, rows: IntArray) -> Samples:
        """Read the given rows into memory, unless they are cached."""
        if self._held is not None and len(self._held[0]):
            held, values = self._held
            place = np.searchsorted(held, rows)
            if np.array_equal(held[np.minimum(place, len(held) - 1)], rows):
                return Samples(values[place])
        return Samples(self.stored.take(rows))

    def choose(self, columns: Columns) -> Parts:
        """Return the samples with the given columns, without reading any values."""
        return Parts(self.stored.choose(np.arange(self.shape[1])[columns]))

    def held(self) -> Samples:
        """Load the samples into memory, if they are read by rows and small enough."""
        if self.by_columns or self.must_stay_outside:
            return self
        return self.take(np.arange(self.shape[0]))

    def allowed(self, size: int) -> int:
        """Scale the default memory size `size` to the memory limit of the samples."""
        return self.stored.allowed(size)

    def holding(self, rows: IntArray, n_jobs: int | None) -> Parts:
        """Return the samples; if they are read by rows, the given rows are cached in memory."""
        found = copy(self)
        if not self.by_columns:
            found._held = rows, self.stored.take(rows, n_jobs)
        return found

    # -- distances ---------------------------------------------------------------------------

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` for the given pairs of rows by subtracting their values."""
        if self.by_columns:
            work = partial(_pair_distances_of_part, left=left, right=right)
            add_up = partial(np.sum, axis=0)
            found: FloatArray = reduce_parts(
                self.stored, work, add_up, n_jobs=n_jobs, what="compare neighbours"
            )
            return found
        rows, here, there = distances.ends_among(left, right)
        return self.take(rows).pair_distances(here, there, n_jobs)

    def kernel_distances(
        self, left: IntArray, right: IntArray, sigma: float, n_jobs: int | None
    ) -> FloatArray:
        """Compute squared distances that are accurate enough for a Gaussian of width `sigma`."""
        tile, errors, scale = self._rough(n_jobs)(np.float64)
        found = np.maximum(tile[left, right] * np.square(scale), 0.0)
        bound = (errors[left] + errors[right]) * np.square(scale)
        unsure = np.flatnonzero(distances.unresolved(found, bound, sigma))
        found[unsure] = self.pair_distances(left[unsure], right[unsure], n_jobs)
        return found

    def _rough(self, n_jobs: int | None) -> wide.Rough:
        """Return a function that computes approximate distances between all samples."""
        scale = wide.scale_of(self.survey.low, self.survey.high)

        def rough(dtype: Any) -> tuple[NDArray[Any], FloatArray, float]:
            if dtype not in self._products:
                work = partial(_products_of_part, scale=scale, dtype=dtype)
                self._products[dtype] = reduce_parts(
                    self.stored, work, wide.added, n_jobs=n_jobs, what="multiply samples"
                )
            n_parts = len(self.stored.parts)
            return *wide.distances_from(self._products[dtype], self.shape[1], n_parts, dtype), scale

        return rough

    def nearest(self, n_neighbors: int, n_jobs: int | None, among: Search = EVERYTHING) -> Found:
        """Find the nearest neighbours of each query among all samples."""
        queries = np.arange(self.shape[0]) if among.queries is None else among.queries
        if not len(queries):
            return none_found()
        if self.by_columns:
            return wide.nearest(self, self._rough(n_jobs), n_neighbors, queries, n_jobs)
        return part_neighbors.nearest(self.stored, self.survey, n_neighbors, queries, n_jobs)

    def median_distance(self, among: IntArray, n_jobs: int | None) -> float:
        """Compute the exact median of the squared distances between the given samples."""
        if self.by_columns:
            return super().median_distance(among, n_jobs)
        return self.take(among).median_distance(np.arange(len(among)), n_jobs)

    def _rough_pairs(self, among: IntArray, n_jobs: int | None) -> tuple[NDArray[Any], FloatArray]:
        return wide.rough_pairs(self._rough(n_jobs), among)

    # -- computations that need all samples in memory ----------------------------------------

    def _refused(self, *arguments: Any, **options: Any) -> Any:
        raise self.refusal("This computation")

    map_columns = dense = cells = dense_blocks = own_values = products = _refused
    float_block = pairs_within = kernel_form = kernel_degrees = _refused

    def refusal(self, who: str, hint: str = TAKE_ROWS) -> GuidedTypeError:
        """Return the error for a computation that requires all samples in memory."""
        return GuidedTypeError(
            f"{who} requires all samples in memory, but {self.stored.label} is read part by part.",
            hint,
            "X",
        )


# Functions of one part. They are at module level, so that workers of a cluster can import them.


def _digests(part: Part) -> list[list[bytes]]:
    """Return the hash values of each column of a part, one for each slab."""
    found: list[list[bytes]] = [[] for _ in range(part.columns.start, part.columns.stop)]
    for _, slab in part.slabs():
        for place, column in enumerate(np.ascontiguousarray(slab.T)):
            found[place].append(digest(column))
    return found


def _on_values(function: Callable[..., FloatArray], part: Part) -> FloatArray:
    ((_, values),) = part.slabs()
    with np.errstate(over="raise"):
        return function(Samples(values), n_jobs=1)


def _count_nonzero(part: Part) -> int:
    return sum(int(np.count_nonzero(slab)) for _, slab in part.slabs())


def _squares_of_part(part: Part, *, weights: FloatArray) -> FloatArray:
    ((_, values),) = part.slabs()
    found: FloatArray = values.astype(np.float64) @ weights[part.columns]
    return found


def _reduce_slabs(
    part: Part, *per_row: Any, function: Callable[..., Any], merge: Callable[[list[Any]], Any]
) -> Any:
    found: list[Any] = []
    for rows, slab in part.slabs():
        start = rows.start - part.rows.start
        own = (one[start : start + len(slab)] for one in per_row)
        found = [merge([*found, reduce_in_turn(slab, function, merge, tuple(own))])]
    return found[0]


def _fourth_powers_of_part(part: Part, *, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    total = np.zeros(len(mean))
    for _, slab in part.slabs():
        for columns in column_slices(slab):
            block = column_block(slab, columns)
            total[columns] += fourth_powers(block, mean[columns], deviation[columns])
    return total


def _pair_distances_of_part(part: Part, *, left: IntArray, right: IntArray) -> FloatArray:
    ((_, values),) = part.slabs()
    return Samples(values).pair_distances(left, right, n_jobs=1)


def _products_of_part(part: Part, *, scale: float, dtype: Any) -> wide.Sums:
    ((_, values),) = part.slabs()
    return wide.products_of(values, scale, dtype)
