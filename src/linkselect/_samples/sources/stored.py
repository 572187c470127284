"""Samples outside memory, which are divided into parts and support lazy selections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, many
from linkselect._samples.sources.choosing import Columns, chosen_numbers, cut, divide
from linkselect._samples.sources.running import take_stored_rows

# The size of a slab: a piece of a part that is in memory at once, often together with the next one.
# Several threads, each with a float64 copy of its slab, need much less than 1 GB.
SLAB_BYTES = 32 * 2**20
PART_BYTES = 64 * 2**20
# Every part is a task. With more tasks than this, scheduling takes most of the time.
MANY_PARTS = 4096
# Up to this number of samples, the products between all of them fit into memory, even for several
# parts at once.
WIDE_SAMPLES = 2048

Slabs = Iterator[tuple[slice, NDArray[Any]]]


def numeric_type(dtype: np.dtype[Any], label: str) -> np.dtype[Any]:
    """Return the dtype in which values of `dtype` are read.

    Raise an error if `dtype` is not real.
    """
    if dtype.kind in "biu":
        return dtype.newbyteorder("=")
    if dtype.kind == "f":
        # No arithmetic is done in half precision, or in more than double precision.
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    raise GuidedTypeError(
        f"{label} has dtype {dtype}, but features must be real numbers.",
        "Store the values as numbers, or exclude these columns.",
        "X",
    )


class Source(ABC):
    """Base class of readers for samples in a file, in a folder or in an array of blocks.

    A source can be pickled, so that another process, or another machine with the same files, can
    read the samples.

    Attributes
    ----------
    label : str
        The name used for the samples in messages.
    shape : tuple of int
        The numbers of samples and columns.
    dtype : dtype
        The dtype of the values that are read.
    names : list of str or None
        The names of the columns.
    ids : sequence of hashable or None
        The ID of each row, if it is known without reading the data.
    share : float
        The fraction of the default memory that may be used for reading; see `Stored.within`.
    """

    label: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    ids: Sequence[Hashable] | None = None
    share: float = 1.0

    @abstractmethod
    def read(self, rows: slice, columns: Columns, height: int) -> Slabs:
        """Yield slices of at most `height` rows, with their values in the given columns."""

    @abstractmethod
    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Raise an error if a file containing the given values has changed since it was opened."""

    def edges(self, axis: int) -> IntArray | None:
        """Return the positions at which an axis may be split, including 0 and its length.

        The result None means that the axis may be split at any position.
        """
        return None

    def pick(self, wanted: IntArray, rows: slice, columns: Columns, height: int) -> NDArray[Any]:
        """Return the rows with the numbers `wanted`, which must be sorted and lie within `rows`."""
        found = []
        for piece, values in self.read(rows, columns, height):
            self.check_unchanged(piece, columns)
            first, last = np.searchsorted(wanted, (piece.start, piece.stop))
            if first < last:
                found.append(values[wanted[first:last] - piece.start])
        return np.concatenate(found)

    def blocks(self, rows: slice, columns: Columns) -> Any:
        """Return the delayed blocks from which a cluster computes a part; None for files."""
        return None

    def without_blocks(self) -> Source:
        """Return a copy for workers, which receive the blocks of their parts separately."""
        return self

    def given(self, blocks: Any) -> Source:
        """Return a source that reads one part from its computed blocks."""
        raise NotImplementedError

    def held_bytes(self, part: Part) -> int:
        """Return the memory in bytes that a part requires at any time."""
        return SLAB_BYTES

    def line_bytes(self) -> int:
        """Return the minimum number of bytes that must be decoded at once."""
        return 0

    def where_failed(self, rows: slice) -> str:
        """Describe the rows for which user code failed.

        For files, the description is empty, because their error messages state the rows.
        """
        return ""

    def whole_numbers(self) -> BoolArray:
        """Return a mask of the columns that are stored as 64-bit integers."""
        return np.full(self.shape[1], self.dtype.kind in "iu" and self.dtype.itemsize == 8)

    def index(self) -> Sequence[Hashable] | None:
        """Return the ID of each row, if the file contains an index that pandas would use."""
        return self.ids

    def column(self, name: str) -> NDArray[Any]:
        """Read one column, which may have any dtype, by its name."""
        raise GuidedTypeError(f"{self.label} has no column names.", parameter="X")


# A function that modifies values in place, and its arguments with one number per column.
Step = tuple[Callable[..., None], tuple[FloatArray, ...]]


def _scale(values: FloatArray, shift: FloatArray, scale: FloatArray) -> None:
    values -= shift
    values /= scale


def _fill(values: FloatArray, numbers: FloatArray) -> None:
    rows, columns = np.nonzero(np.isnan(values))
    values[rows, columns] = numbers[columns]


@dataclass(frozen=True, eq=False)
class Part:
    """Part of stored samples: some rows with all columns, or all rows with some columns.

    Attributes
    ----------
    samples : Stored
        The samples to which the part belongs.
    number : int
        The index of the part in `samples.parts`.
    rows, columns : slice
        The rows and columns of the part.
    """

    samples: Stored
    number: int
    rows: slice
    columns: slice

    def slabs(self) -> Slabs:
        """Yield the slabs of this part in order, each with its slice of rows and its values.

        The values are in C order and take at most SLAB_BYTES. A part with all rows has a single
        slab.
        """
        X = self.samples
        columns, height = X.columns_of(self), X.slab_height(self)
        X.source.check_unchanged(self.rows, columns)
        pieces = X.source.read(self.rows, columns, height)
        if X.by_columns:
            found = [values for _, values in pieces]
            pieces = iter([(self.rows, found[0] if len(found) == 1 else np.concatenate(found))])
        for rows, values in pieces:
            # A changed file must be reported before any problem with its values.
            X.source.check_unchanged(rows, columns)
            yield rows, X.prepared(values, self.columns)

    def pick(self, wanted: IntArray) -> NDArray[Any]:
        """Return the rows of this part with the numbers `wanted`, which must be sorted."""
        X = self.samples
        columns = X.columns_of(self)
        X.source.check_unchanged(self.rows, columns)
        values = X.source.pick(wanted, self.rows, columns, X.slab_height(self))
        return X.prepared(values, self.columns)


class Stored:
    """Samples outside memory, read part by part.

    Parameters
    ----------
    source : Source
        The reader of the samples.
    columns : array of int, optional
        The numbers of the columns of the source to use, in this order. Default: all.
    steps : tuple of Step
        The transformations that are applied to columns after reading, in order.

    Attributes
    ----------
    shape : tuple of int
        The numbers of samples and features.
    dtype : dtype
        The dtype of the values that are read.
    names : list of str or None
        The names of the features.
    label : str
        The name used for the samples in messages.
    by_columns : bool
        Whether every part has all rows and some columns, rather than some rows and all columns.
    parts : tuple of Part
        The parts, in order. Each value belongs to exactly one part, and the parts are the same in
        every process.
    """

    ndim = 2

    def __init__(
        self,
        source: Source,
        columns: IntArray | None = None,
        steps: tuple[Step, ...] = (),
    ) -> None:
        self.source = source
        self.columns = columns
        self.steps = steps
        n_columns = source.shape[1] if columns is None else len(columns)
        self.shape = (source.shape[0], n_columns)
        self.dtype = np.dtype(np.float64) if steps else source.dtype
        self.label = source.label
        # Stored, so that every process makes the same parts.
        self.slab_bytes, self.part_bytes = self.allowed(SLAB_BYTES), self.allowed(PART_BYTES)
        if 0 in self.shape:
            raise GuidedValueError(
                f"{self.label} has {many(self.shape[0], 'row')} and {many(n_columns, 'column')}.",
                "Samples must have at least one row and one column.",
                "X",
            )

    def __getstate__(self) -> dict[str, Any]:
        # The parts refer to this object, and can be made again.
        return {key: value for key, value in vars(self).items() if key != "parts"}

    def __repr__(self) -> str:
        return f"<{self.label}: {self.shape[0]:,} x {self.shape[1]:,}, {self.dtype}>"

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = np.empty(self.shape, self.dtype if dtype is None else dtype)
        for part in self.parts:
            for rows, slab in part.slabs():
                values[rows, part.columns] = slab
        return values

    @property
    def names(self) -> list[str] | None:
        """The names of the features, or None."""
        names = self.source.names
        if names is None or self.columns is None:
            return names
        return [names[column] for column in self.columns]

    @property
    def whole(self) -> BoolArray:
        """A mask of the columns that are stored as 64-bit integers and are not transformed."""
        whole = self.source.whole_numbers() & (not self.steps)
        return whole if self.columns is None else whole[self.columns]

    @property
    def by_columns(self) -> bool:
        """Whether every part has all rows and some columns."""
        return self.shape[0] < self.shape[1] and self.shape[0] <= WIDE_SAMPLES

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts, in order."""
        n_samples, n_features = self.shape
        itemsize = self.dtype.itemsize
        if self.by_columns:
            edges = self.source.edges(1) if self.columns is None else None
            # Half a slab: this much memory is reused for the next part, while larger blocks are
            # newly allocated by the system every time.
            size = max(self.slab_bytes // 2 // (n_samples * itemsize), 1)
            cuts = divide(cut(n_features, size, edges), 2 * size)
            return tuple(Part(self, k, slice(0, n_samples), cols) for k, cols in enumerate(cuts))
        row_bytes = self.source.shape[1] * itemsize
        part_bytes = max(self.part_bytes, n_samples * row_bytes // MANY_PARTS)
        cuts = cut(n_samples, max(part_bytes // row_bytes, 1), self.source.edges(0))
        return tuple(Part(self, k, rows, slice(0, n_features)) for k, rows in enumerate(cuts))

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Read some rows into memory, such as those of a cross-validation fold."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        chosen = np.arange(self.shape[0])[rows] if isinstance(rows, slice) else rows
        return self.take(chosen)

    def take(self, rows: ArrayLike, n_jobs: int | None = None) -> NDArray[Any]:
        """Read some rows into memory, in the given order; rows may be repeated.

        Only parts with at least one of these rows are read.
        """
        numbers = chosen_numbers(rows, self.shape[0], f"rows of {self.label}")
        return take_stored_rows(self, numbers, n_jobs)

    def choose(self, columns: ArrayLike) -> Stored:
        """Return the columns with the given numbers, without reading any values."""
        chosen = chosen_numbers(columns, self.shape[1], f"columns of {self.label}")
        steps = tuple((do, tuple(each[chosen] for each in numbers)) for do, numbers in self.steps)
        kept = chosen if self.columns is None else self.columns[chosen]
        return Stored(self.source, kept, steps)

    def scaled(self, shift: ArrayLike, scale: ArrayLike) -> Stored:
        """Return samples with the values (x - shift) / scale in float64, without reading data."""
        return self._with_step(_scale, shift, scale)

    def filled(self, values: ArrayLike) -> Stored:
        """Return samples with one value per column for missing values, without reading data."""
        return self._with_step(_fill, values)

    def _with_step(self, function: Callable[..., None], *numbers: ArrayLike) -> Stored:
        width = self.shape[1]
        wide = tuple(np.broadcast_to(np.asarray(one, np.float64), width) for one in numbers)
        return Stored(self.source, self.columns, (*self.steps, (function, wide)))

    def within(self, share: float) -> Stored:
        """Return the same samples, limited to a fraction of the default memory."""
        source = copy(self.source)
        source.share = share
        return Stored(source, self.columns, self.steps)

    def allowed(self, n_bytes: int) -> int:
        """Scale the default memory size `n_bytes` to the memory limit of the samples."""
        return max(int(n_bytes * self.source.share), 1)

    def without_blocks(self) -> Stored:
        """Return a copy for workers, which receive the blocks of their parts separately."""
        return Stored(self.source.without_blocks(), self.columns, self.steps)

    def part_given(self, number: int, blocks: Any) -> Part:
        """Return a part that reads its computed blocks, or files if `blocks` is None."""
        if blocks is None:
            return self.parts[number]
        samples = copy(self)
        samples.source = self.source.given(blocks)
        return replace(self.parts[number], samples=samples)

    def check_unchanged(self) -> None:
        """Raise an error if a file has changed since it was opened."""
        self.source.check_unchanged(*(slice(0, length) for length in self.source.shape))

    def name_column(self, column: int) -> str:
        """Describe a feature by its name or by its column number in the source."""
        names = self.names
        if names is not None:
            return f"column '{names[column]}'"
        return f"column {column if self.columns is None else self.columns[column]}"

    def column(self, name: str) -> NDArray[Any]:
        """Read one column of the file, which may have any dtype, such as labels or IDs."""
        return self.source.column(name)

    def index(self) -> Sequence[Hashable] | None:
        """Read the ID of each row as pandas would; None if rows are only numbered."""
        return self.source.index()

    def columns_of(self, part: Part) -> Columns:
        """Return the numbers of the source columns that belong to a part."""
        return part.columns if self.columns is None else self.columns[part.columns]

    def slab_height(self, part: Part) -> int:
        """Return the number of rows of a part that may be in memory at once."""
        if self.by_columns:
            return self.shape[0]
        width = part.columns.stop - part.columns.start
        return max(self.slab_bytes // (width * self.dtype.itemsize), 1)

    def prepared(self, values: NDArray[Any], columns: slice) -> NDArray[Any]:
        """Apply the transformations set by `scaled` and `filled` to values that were read."""
        if not self.steps:
            return values
        values = values.astype(np.float64)
        for function, numbers in self.steps:
            function(values, *(one[columns] for one in numbers))
        return values
