"""Base classes for arrays outside memory: .npy files, memory maps, Zarr and HDF5."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError, warn_user
from linkselect._samples.sources.choosing import Columns
from linkselect._samples.sources.states import FileState, state_of, two_dimensional
from linkselect._samples.sources.stored import Slabs, Source, numeric_type

# Chunks are decoded as a whole. A row of chunks up to this size is kept and yielded piece by piece.
LINE_BYTES = 128 * 2**20


class StoredArray(ABC):
    """Base class for arrays in one storage format; they can be pickled for other processes.

    Attributes
    ----------
    shape : tuple of int
        The shape of the array.
    dtype : dtype
        The dtype in the file.
    chunks : tuple of int or None
        The numbers of rows and columns in a chunk; None if there are no chunks. A chunk can only be
        decoded as a whole.
    path : str or None
        The path of the file, if all values are in one file.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...] | None = None
    path: str | None = None

    @abstractmethod
    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Return a copy of the given rows and columns. Row numbers must be sorted."""

    def files(self, rows: slice, columns: Columns) -> Iterator[tuple[str, str]]:
        """Yield the name and the path of each file that contains some of the given values."""
        if self.path is not None:
            yield Path(self.path).name, self.path


class ArraySource(Source):
    """Samples in an array outside memory; a chunked array is read by rows of chunks."""

    def __init__(self, array: StoredArray, label: str) -> None:
        self.label = label
        self.array = array
        self.shape = two_dimensional(array.shape, label)
        self.dtype = numeric_type(np.dtype(array.dtype), label)
        everything = (slice(0, length) for length in self.shape)
        self.states = {name: state_of(path) for name, path in array.files(*everything)}
        self._warn_of_tall_chunks()

    def edges(self, axis: int) -> IntArray | None:
        """Return the first row or column of every chunk, followed by the length of the axis."""
        if self.array.chunks is None:
            return None
        total = self.shape[axis]
        return np.append(np.arange(0, total, self.array.chunks[axis]), total)

    def line_bytes(self) -> int:
        """Return the size of a row of chunks, or of one chunk if chunks are decoded in pieces."""
        if self.array.chunks is None:
            return 0
        height, width = self.array.chunks
        line = height * self.shape[1] * self.dtype.itemsize
        return line if line <= LINE_BYTES else height * width * self.dtype.itemsize

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Raise an error if a file containing some of the values has changed since being opened."""
        for name, path in self.array.files(rows, columns):
            label = self.label if name in self.label else f"{self.label}, file {name},"
            FileState(path, label, self.states[name]).check_unchanged()

    def read(self, rows: slice, columns: Columns, height: int) -> Slabs:
        """Yield slices of rows with their values.

        Chunks are decoded only once unless they are large.
        """
        for line in slices(rows.stop - rows.start, self._height_decoded(columns, height)):
            start, stop = rows.start + line.start, rows.start + line.stop
            values = self._decoded(slice(start, stop), columns)
            for piece in slices(stop - start, height):
                yield slice(start + piece.start, start + piece.stop), values[piece]

    def pick(self, wanted: IntArray, rows: slice, columns: Columns, height: int) -> NDArray[Any]:
        """Return the rows `wanted`, which must be sorted, and read few other rows."""
        edges = self.edges(0)
        # One row of chunks at a time; otherwise, all affected chunks would be decoded at once.
        cuts = np.searchsorted(wanted, () if edges is None else edges[1:-1])
        found = [self._decoded(line, columns) for line in np.split(wanted, cuts) if len(line)]
        self.check_unchanged(rows, columns)
        return np.concatenate(found)

    def _decoded(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        try:
            return np.ascontiguousarray(self.array.select(rows, columns), dtype=self.dtype)
        except MemoryError:
            raise
        except Exception as error:
            if not isinstance(rows, slice):
                rows = slice(int(rows[0]), int(rows[-1]) + 1)
            self.check_unchanged(rows, columns)
            raise GuidedValueError(
                f"{self.label} cannot be read in rows {rows.start:,} to {rows.stop:,}: {error}",
                "The file may be damaged. Write it again.",
                "X",
            ) from error

    def _height_decoded(self, columns: Columns, height: int) -> int:
        """Return the number of rows to decode at once: that of a chunk, unless chunks are large."""
        if self.array.chunks is None:
            return height
        width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
        chunk = self.array.chunks[0]
        if chunk * width * self.dtype.itemsize > LINE_BYTES:
            return height
        return chunk * max(height // chunk, 1)

    def _warn_of_tall_chunks(self) -> None:
        if self.array.chunks is None or self.shape[0] < self.shape[1]:
            return
        height = self.array.chunks[0]
        line_bytes = height * self.shape[1] * self.dtype.itemsize
        if line_bytes > 4 * LINE_BYTES:
            warn_user(
                f"The chunks of {self.label} are tall: {height:,} rows of all columns take "
                f"{line_bytes / 2**30:.1f} GiB, so each chunk must be decoded many times.",
                hint="Store the array in chunks with fewer rows and more columns.",
            )


def refuse_group(label: str, kind: str, names: list[str], one: str) -> GuidedTypeError:
    """Return the error for a group of arrays; `one` is a template for accessing a single array."""
    return GuidedTypeError(
        f"{label} is a group of {kind} ({', '.join(names) or 'none'}).",
        f"Pass one of them, such as {one.format(names[0] if names else 'NAME')}.",
        "X",
    )
