"""Reader of memory maps and .npy files that uses ordinary file operations.

Pages of a memory map count as resident memory until the system evicts them, unlike values that are
read into an array. If a file is truncated, reading it raises an error, whereas accessing its memory
map terminates the process.
"""

import mmap
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.arrays import ArraySource, StoredArray
from linkselect._samples.sources.choosing import Columns, as_numbers
from linkselect._samples.sources.states import missing, two_dimensional

STRETCH_BYTES = 8 * 2**20
# Errors that NumPy raises for a damaged header, which is text in Python syntax.
DAMAGED_NPY = (ValueError, EOFError, SyntaxError, TypeError, TokenError, OverflowError)


@dataclass(frozen=True)
class FileLines(StoredArray):
    """An array whose lines (rows or columns) are contiguous, at regular positions in a file.

    Attributes
    ----------
    shape : tuple of int
        The numbers of samples and columns.
    dtype : dtype
        The dtype in the file.
    start : int
        The offset of the first value, in bytes.
    stride : int
        The distance from one line to the next, in bytes.
    lines_are_rows : bool
        Whether a line is a sample (C order) or a column (Fortran order).
    path : str
        The path of the file.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    start: int
    stride: int
    lines_are_rows: bool
    path: str

    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Read some rows and columns.

        Each line is read from the first to the last selected value, a few lines at a time. A
        separate call for each value would be slower.
        """
        lines, within = (rows, columns) if self.lines_are_rows else (columns, rows)
        numbers = as_numbers(lines)
        with Path(self.path).open("rb") as file:
            if isinstance(within, slice):
                values = self._read(file, numbers, within)
            else:
                stretch = slice(int(within.min()), int(within.max()) + 1)
                line_bytes = (stretch.stop - stretch.start) * self.dtype.itemsize
                values = np.empty((len(numbers), len(within)), self.dtype)
                for piece in slices(len(numbers), max(STRETCH_BYTES // line_bytes, 1)):
                    found = self._read(file, numbers[piece], stretch)
                    values[piece] = found[:, within - stretch.start]
        return values if self.lines_are_rows else values.T

    def _read(self, file: BinaryIO, lines: IntArray, within: slice) -> NDArray[Any]:
        """Read a range of several lines, in a single call if it is contiguous in the file."""
        values = np.empty((len(lines), within.stop - within.start), self.dtype)
        first = self.start + within.start * self.dtype.itemsize
        targets = zip(values, lines.tolist(), strict=True)
        in_one_piece = self.stride == values.strides[0] and (np.diff(lines) == 1).all()
        for target, line in [(values, int(lines[0]))] if in_one_piece else targets:
            file.seek(first + line * self.stride)
            if file.readinto(target) < target.nbytes:  # type: ignore[attr-defined]
                raise EOFError("the file ends before its last value")
        return values


class MapView(StoredArray):
    """A memory map whose values are not at regular positions in a file."""

    def __init__(self, values: np.memmap[Any, Any], label: str) -> None:
        self.values = values
        self.label = label
        self.shape = values.shape
        self.dtype = values.dtype

    def __reduce__(self) -> Any:
        # Pickling would copy all values.
        raise GuidedTypeError(
            f"{self.label} is a view that cannot be opened by other processes.",
            "Pass the memory map itself, or the path of its file.",
            "X",
        )

    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Copy some rows and columns."""
        return np.array(self.values[rows][:, columns])


def open_npy(path: Path) -> ArraySource:
    """Open a .npy file for reading part by part."""
    if not path.exists():
        raise missing(path.name, str(path))
    try:
        values = np.load(path, mmap_mode="r")
    except (*DAMAGED_NPY, OSError) as error:
        raise GuidedValueError(
            f"{path.name} cannot be opened as a .npy file of numbers: {why_damaged(error)}.",
            "Save an array of numbers with np.save.",
            "X",
        ) from error
    return source_of_map(values, path.name)


def why_damaged(error: Exception) -> str:
    """Return a one-line explanation of why NumPy cannot read the header of a file."""
    reason = error.args[0] if isinstance(error, TokenError) else error
    return (str(reason) or "the file is truncated").splitlines()[0].rstrip(".")


def source_of_map(values: np.memmap[Any, Any], label: str | None = None) -> ArraySource:
    """Return a reader of a memory map's file, or of the map itself if the file differs."""
    path = values.filename
    if label is None:
        label = f"the memory map {Path(path).name}" if path is not None else "the memory map"
    lines = _lines_of(values, two_dimensional(values.shape, label))
    if lines is not None:
        source = ArraySource(lines, label)
        if _holds(source, values):
            return source
    return ArraySource(MapView(values, label), label)


def _lines_of(values: np.memmap[Any, Any], shape: tuple[int, int]) -> FileLines | None:
    """Return the positions of a memory map's values in its file; None if they are not regular.

    The `offset` attribute of a view is that of the whole map, so the offset of the view is computed
    from its address.
    """
    path, memory = values.filename, getattr(values, "_mmap", None)
    # Changes to a copy-on-write map are not in the file.
    if path is None or memory is None or values.mode == "c" or not Path(path).exists():
        return None
    rows, columns = values.strides
    if values.dtype.itemsize not in (rows, columns):
        return None
    lines_are_rows = columns == values.dtype.itemsize
    map_start = values.offset - values.offset % mmap.ALLOCATIONGRANULARITY
    inside = values.ctypes.data - np.frombuffer(memory, np.uint8).ctypes.data
    stride = rows if lines_are_rows else columns
    where = str(Path(path).absolute())
    return FileLines(shape, values.dtype, map_start + inside, stride, lines_are_rows, where)


def _holds(source: ArraySource, values: np.memmap[Any, Any]) -> bool:
    """Return whether the first and last sample in the file are equal to those in the memory map."""
    if not values.size:
        return True
    n_samples, n_features = source.shape
    ends = np.unique([0, n_samples - 1])
    try:
        read = source.pick(ends, slice(0, n_samples), slice(0, n_features), 1)
    except GuidedValueError:
        return False
    return read.tobytes() == np.asarray(values[ends], source.dtype).tobytes()
