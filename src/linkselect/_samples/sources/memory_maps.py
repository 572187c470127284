"""Memory maps and .npy files, read by file reads.

Pages of a map count as resident as long as the system likes; what is read into an array does not.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.states import FileState, two_dimensional
from linkselect._samples.sources.stored import Columns, Source, numeric_type

STRETCH_BYTES = 8 * 2**20
# What NumPy raises for a header that is damaged: it is text in the syntax of Python.
DAMAGED_NPY = (ValueError, EOFError, SyntaxError, TypeError, TokenError, OverflowError)


@dataclass(frozen=True)
class Layout:
    """Where the values lie in a file: lines, each of them in one piece.

    Attributes
    ----------
    start : int
        The place of the first value, in bytes.
    stride : int
        From one line to the next, in bytes.
    dtype : dtype
        As in the file.
    lines_are_rows : bool
        Whether a line is a sample (C order) or a column (Fortran order).
    """

    start: int
    stride: int
    dtype: np.dtype[Any]
    lines_are_rows: bool


class NpySource(Source):
    """Values at regular places of one file."""

    def __init__(self, path: str, shape: tuple[int, int], layout: Layout, label: str) -> None:
        self.label = label
        self.shape = shape
        self.dtype = numeric_type(layout.dtype, label)
        self.layout = layout
        self.state = FileState.of(path, label)

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Raise an error if the file is not what it was."""
        self.state.check_unchanged()

    def read(
        self, rows: slice, columns: Columns, height: int
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the values of some columns."""
        with self.state.opened() as file:
            for piece in slices(rows.stop - rows.start, height):
                found = slice(rows.start + piece.start, rows.start + piece.stop)
                yield found, self._matrix(file, found, columns)

    def pick(self, wanted: IntArray, rows: slice, columns: Columns, height: int) -> NDArray[Any]:
        """Return some rows, which are sorted, by reading nothing else."""
        if not self.layout.lines_are_rows:
            return super().pick(wanted, rows, columns, height)
        with self.state.opened() as file:
            values = self._stretches(file, wanted, columns)
        self.state.check_unchanged()
        return values

    def _matrix(self, file: BinaryIO, rows: slice, columns: Columns) -> NDArray[Any]:
        """Read some rows and columns."""
        if self.layout.lines_are_rows:
            return self._stretches(file, np.arange(rows.start, rows.stop), columns)
        lines = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
        return self._finished(self._lines(file, lines, rows).T)

    def _stretches(self, file: BinaryIO, rows: IntArray, columns: Columns) -> NDArray[Any]:
        """Read some columns of some rows, which are lines of the file.

        Chosen columns are taken from the stretch that holds them, of few lines at a time: a call
        for every value would cost more.
        """
        if isinstance(columns, slice):
            return self._finished(self._lines(file, rows, columns))
        within = slice(int(columns.min()), int(columns.max()) + 1)
        values = np.empty((len(rows), len(columns)), self.dtype)
        line_bytes = (within.stop - within.start) * self.layout.dtype.itemsize
        for piece in slices(len(rows), max(STRETCH_BYTES // line_bytes, 1)):
            values[piece] = self._lines(file, rows[piece], within)[:, columns - within.start]
        return values

    def _lines(self, file: BinaryIO, lines: IntArray, within: slice) -> NDArray[Any]:
        """Read a stretch of some lines: at once if there is nothing in between."""
        layout = self.layout
        length = within.stop - within.start
        values = np.empty((len(lines), length), layout.dtype)
        # Types such as bool have no buffer of their own that a file could write to.
        target = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        width = length * layout.dtype.itemsize
        first = layout.start + within.start * layout.dtype.itemsize
        if layout.stride == width and len(lines) and lines[-1] - lines[0] == len(lines) - 1:
            self._fill(file, target, first + int(lines[0]) * layout.stride)
            return values
        for place, line in zip(range(0, len(target), width), lines.tolist(), strict=True):
            self._fill(file, target[place : place + width], first + line * layout.stride)
        return values

    def _fill(self, file: BinaryIO, target: memoryview, place: int) -> None:
        """Read from a place of the file until the memory is full."""
        file.seek(place)
        while len(target):
            count = file.readinto(target)  # type: ignore[attr-defined]
            if not count:
                self.state.check_unchanged()
                raise too_short(self.label)
            target = target[count:]

    def _finished(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values, dtype=self.dtype)


class MapSource(Source):
    """A memory map whose values do not lie at regular places of a file that can be found."""

    def __init__(self, values: np.memmap[Any, Any], label: str) -> None:
        self.label = label
        self.shape = two_dimensional(values.shape, label)
        self.dtype = numeric_type(values.dtype, label)
        self.values = values

    def __reduce__(self) -> Any:
        # Pickled, it would take all of its values along.
        raise GuidedTypeError(
            f"{self.label} is a view that no other process can open.",
            "Pass the map itself, or the path of its file.",
            "X",
        )

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Find nothing: there is no file to look at."""

    def read(
        self, rows: slice, columns: Columns, height: int
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the values of some columns."""
        for piece in slices(rows.stop - rows.start, height):
            found = slice(rows.start + piece.start, rows.start + piece.stop)
            yield found, np.array(self.values[found, columns], dtype=self.dtype, order="C")


def too_short(label: str) -> GuidedValueError:
    """Return the error for a file that ends before its last value."""
    return GuidedValueError(
        f"{label} is damaged: it ends before its last value.", "Write it again.", "X"
    )


def open_npy(path: Path) -> Source:
    """Open a .npy file."""
    label = path.name
    FileState.of(str(path), label)
    try:
        values = np.load(path, mmap_mode="r")
    except (*DAMAGED_NPY, OSError) as error:
        raise GuidedValueError(
            f"{label} cannot be opened as a .npy file of numbers: {why_damaged(error)}.",
            "Save an array of numbers by np.save.",
            "X",
        ) from error
    return source_of_map(values, label)


def why_damaged(error: Exception) -> str:
    """Say in one line why NumPy cannot read a header."""
    reason = error.args[0] if isinstance(error, TokenError) else error
    return (str(reason) or "it is cut off").splitlines()[0].rstrip(".")


def source_of_map(values: np.memmap[Any, Any], label: str | None = None) -> Source:
    """Find out where the values of a memory map lie in its file."""
    path = values.filename
    if label is None:
        label = f"the memory map {Path(path).name}" if path is not None else "the memory map"
    shape = two_dimensional(values.shape, label)
    layout = layout_of(values)
    # Changes to a copy-on-write map are in no file.
    if path is not None and layout is not None and values.mode != "c" and Path(path).exists():
        source = NpySource(os.fspath(path), shape, layout, label)
        if holds(source, values):
            return source
    return MapSource(values, label)


def layout_of(values: np.memmap[Any, Any]) -> Layout | None:
    """Return the places of a map's values in its file, or None if they have no such order.

    A view of a map says where the whole map starts: its own place is found by its address.
    """
    memory = getattr(values, "_mmap", None)
    rows, columns = values.strides
    if memory is None or values.dtype.itemsize not in (rows, columns):
        return None
    lines_are_rows = columns == values.dtype.itemsize
    map_start = values.offset - values.offset % mmap.ALLOCATIONGRANULARITY
    inside = values.ctypes.data - np.frombuffer(memory, np.uint8).ctypes.data
    stride = rows if lines_are_rows else columns
    return Layout(map_start + inside, stride, values.dtype, lines_are_rows)


def holds(source: NpySource, values: np.memmap[Any, Any]) -> bool:
    """Whether the file still is the one that was mapped: compare the first and the last sample."""
    n_samples, n_features = source.shape
    if not n_samples or not n_features:
        return True
    for row in {0, n_samples - 1}:
        try:
            ((_, read),) = source.read(slice(row, row + 1), slice(0, n_features), 1)
        except GuidedValueError:
            return False
        if read.tobytes() != np.asarray(values[row], source.dtype).tobytes():
            return False
    return True
