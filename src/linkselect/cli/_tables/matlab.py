"""Read MATLAB files of version 4 to 7.

SciPy's reader crashes on a type of numbers that it does not know, and leaves indices of sparse
matrices unchecked. Here every type, length and index is checked before it is used.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from struct import unpack
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from linkselect.cli._errors import InputError
from linkselect.cli._tables.limits import Budget

# The types of elements and the classes of arrays, as "MAT-File Format" of MathWorks numbers them.
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
# Characters by their numbers, or encoded; UTF-16 and UTF-32 have the order of the file.
_CHARACTERS = {1: "u1", 2: "u1", 3: "u2", 4: "u2", 5: "u4", 6: "u4"}
_ENCODED = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
_KINDS = {
    1: "cell",
    2: "struct",
    3: "object",
    4: "char",
    5: "sparse",
    6: "double",
    7: "single",
    8: "int8",
    9: "uint8",
    10: "int16",
    11: "uint16",
    12: "int32",
    13: "uint32",
    14: "int64",
    15: "uint64",
    16: "function",
    17: "opaque",
    18: "object",
}
_COMPLEX, _LOGICAL = 0x800, 0x200
_NUMBERS_OF_4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_KINDS_OF_4 = {0: "double", 1: "char", 2: "sparse"}
# Name and dimensions stand at the start of a variable, and take less than this.
_HEAD = 4096
_MOST_VARIABLES = 100_000


class _DamagedError(ValueError):
    """What a file says of itself is not so."""


@dataclass(frozen=True)
class Variable:
    """A variable of a MATLAB file.

    Parameters
    ----------
    name : str
        What it is called.
    shape : tuple of int
        Its dimensions; those of text without the last, which is its length.
    kind : str
        What it holds: "double", "sparse", "cell", "complex" and so on.
    read : callable
        Read its values from the open file.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    read: Callable[[IO[bytes], Budget], Any]


def list_variables(path: Path) -> dict[str, Variable]:
    """Find the variables of a file by name; of each only the first bytes are read."""
    with path.open("rb") as file, _blamed(path):
        start = file.read(128)
        if b"MATLAB 7.3" in start or start[124:] in (b"\x00\x02IM", b"\x02\x00MI"):
            raise InputError(
                f"{path.name} is a MATLAB 7.3 file (HDF5), which is not read. In MATLAB: "
                "save(file, 'X', 'y', '-v7')."
            )
        size = path.stat().st_size
        # The first four bytes are text, or in version 4 a small number.
        found = _list_4(file, size) if 0 in start[:4] else _list_5(file, size, start)
        # A variable without a name is what MATLAB keeps for functions and objects.
        return {one.name: one for one in _not_too_many(found) if one.name}


def read_variable(path: Path, variable: Variable, budget: Budget) -> Any:
    """Read a variable: an array, a sparse array, or an array of objects if it is a cell."""
    with path.open("rb") as file, _blamed(path):
        return variable.read(file, budget)


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Say which file is damaged, and how."""
    try:
        yield
    except (_DamagedError, zlib.error) as error:
        raise InputError(f"{path.name} is not a readable MATLAB file: {error}") from error


def _not_too_many(found: Iterator[Variable]) -> Iterator[Variable]:
    for count, one in enumerate(found):
        if count == _MOST_VARIABLES:
            raise _DamagedError(f"it holds more than {count:,} variables.")
        yield one


def _read_all(file: IO[bytes], place: int, size: int) -> bytes:
    file.seek(place)
    data = file.read(size)
    if len(data) < size:
        raise _DamagedError("it is cut off.")
    return data


# -- version 5 to 7: elements, each with its type and length ----------------------------------


class _Elements:
    """The elements in some bytes, one after the other; none may reach past the end."""

    def __init__(self, data: bytes | memoryview, order: str) -> None:
        self._data, self.order, self._place = memoryview(data), order, 0

    def next(self) -> tuple[int, memoryview]:
        """Return the type of the next element, and its bytes."""
        start = self._place + 8
        if start > len(self._data):
            raise _DamagedError("an array ends too early.")
        kind, size = unpack(f"{self.order}II", self._data[start - 8 : start])
        if kind >> 16:  # a short one: its values stand where otherwise its length does
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = start - 4, start
        else:
            end = len(self._data)
        if start + size > end:
            raise _DamagedError(f"{size:,} bytes should be there, but {end - start:,} are.")
        self._place = start + size + -(start + size) % 8
        return kind, self._data[start : start + size]

    def numbers(self, kinds: str = "iuf") -> NDArray[Any]:
        """Read the next element as numbers: whole ones (iu) or others (f)."""
        return self.as_numbers(*self.next(), kinds)

    def as_numbers(self, kind: int, data: memoryview, kinds: str = "iuf") -> NDArray[Any]:
        """Read the bytes of an element as numbers of a type."""
        dtype = np.dtype(f"{self.order}{_NUMBERS.get(kind, 'V1')}")
        if dtype.kind not in kinds or len(data) % dtype.itemsize:
            raise _DamagedError("there are no numbers where they should be.")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)

    def text(self) -> str:
        """Read the next element as text."""
        kind, data = self.next()
        if kind in _ENCODED:
            ends = "" if kind == 16 else {"<": "-le", ">": "-be"}[self.order]
            return bytes(data).decode(_ENCODED[kind] + ends, "replace")
        dtype = np.dtype(f"{self.order}{_CHARACTERS.get(kind, 'V1')}")
        if dtype.kind != "u" or len(data) % dtype.itemsize:
            raise _DamagedError("there is no text where it should be.")
        return _from_codes(np.frombuffer(data, dtype))


def _from_codes(codes: NDArray[Any]) -> str:
    """Turn the numbers of characters into text."""
    codes = np.where(codes > 0x10FFFF, 0xFFFD, codes)
    text = codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    # MATLAB counts by 16 bits: a rare character is two, which belong together.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _list_5(file: IO[bytes], size: int, start: bytes) -> Iterator[Variable]:
    order = {b"IM": "<", b"MI": ">"}.get(start[126:])
    if order is None:
        raise _DamagedError("it does not begin like one.")
    place = len(start)
    while place < size:
        kind, length = unpack(f"{order}II", _read_all(file, place, 8))
        place += 8
        if kind not in (_MATRIX, _COMPRESSED) or place + length > size:
            raise _DamagedError(f"what stands at byte {place:,} is not a whole variable.")
        head = file.read(min(length, _HEAD))
        if kind == _COMPRESSED:
            head = zlib.decompressobj().decompress(head, _HEAD)[8:]
        name, shape, what, _ = _head(_Elements(head, order))
        packed = kind == _COMPRESSED
        read = partial(_read_5, place=place, size=length, packed=packed, order=order)
        yield Variable(name, shape[:-1] if what == "char" else shape, what, read)
        place += length


class _Head(NamedTuple):
    """How a variable begins."""

    name: str
    shape: tuple[int, ...]
    kind: str
    is_logical: bool


def _head(elements: _Elements) -> _Head:
    """Read name, dimensions and kind of a variable."""
    flags = elements.numbers("iu")
    if len(flags) != 2:
        raise _DamagedError("an array does not say what it holds.")
    kind = _KINDS.get(int(flags[0]) & 0xFF, "unknown")
    if kind == "opaque":
        return _Head(elements.text(), (), kind, False)
    shape = tuple(elements.numbers("iu").tolist())
    if not 2 <= len(shape) <= 32 or min(shape) < 0:
        raise _DamagedError(f"an array has the dimensions {shape[:4]}.")
    name = elements.text()
    kind = "complex" if int(flags[0]) & _COMPLEX else kind
    return _Head(name, shape, kind, bool(int(flags[0]) & _LOGICAL))


def _read_5(
    file: IO[bytes], budget: Budget, *, place: int, size: int, packed: bool, order: str
) -> Any:
    budget.check_bytes(size, "an array")
    data = _read_all(file, place, size)
    return _array(_Elements(_unpacked(data, order, budget) if packed else data, order), budget)


def _unpacked(data: bytes, order: str, budget: Budget) -> bytes:
    """Unpack a variable, as many bytes as it says that it has."""
    unpacker = zlib.decompressobj()
    tag = unpacker.decompress(data, 8)
    kind, size = unpack(f"{order}II", tag) if len(tag) == 8 else (0, 0)
    if kind != _MATRIX or size == 0:
        raise _DamagedError("a compressed variable is not an array.")
    budget.check_bytes(size, "an array")
    values = unpacker.decompress(unpacker.unconsumed_tail, size)
    unpacker.decompress(unpacker.unconsumed_tail, 1)  # as far as the checksum
    if len(values) < size or not unpacker.eof:
        raise _DamagedError("a compressed variable is cut off, or longer than it says.")
    return values


def _array(elements: _Elements, budget: Budget, in_cell: bool = False) -> Any:
    """Read an array: numbers, text, a sparse matrix, or a cell of these."""
    _, shape, kind, is_logical = _head(elements)
    if kind == "char":
        return _text(elements.text(), shape)
    if kind == "sparse":
        return _sparse(elements, shape, budget, is_logical)
    if kind == "cell" and not in_cell:
        return _cell(elements, shape, budget)
    if kind in ("cell", "struct", "object", "function", "opaque", "unknown", "complex"):
        raise _DamagedError(f"{kind} within a cell is not read.")
    return _shaped(elements.numbers(), shape)


def _shaped(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if len(values) != prod(shape):
        raise _DamagedError(f"dimensions are {shape[:4]}, but there are {len(values):,} values.")
    return values.reshape(shape, order="F")


def _text(text: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the text in each row of a matrix of characters."""
    if len(shape) == 2 and shape[0] <= 1:
        return np.array([text], dtype=object)
    if len(text) != prod(shape):
        raise _DamagedError(f"dimensions are {shape[:4]}, but there are {len(text):,} characters.")
    return np.array([text[i :: shape[0]] for i in range(shape[0])], dtype=object)


def _cell(elements: _Elements, shape: tuple[int, ...], budget: Budget) -> NDArray[Any]:
    budget.check_bytes(prod(shape) * 64, "a cell array")
    values = np.empty(prod(shape), dtype=object)
    for i in range(len(values)):
        kind, data = elements.next()
        if kind != _MATRIX:
            raise _DamagedError("a cell does not hold an array.")
        values[i] = ""
        if data:
            values[i] = _array(_Elements(data, elements.order), budget, in_cell=True)
    return values.reshape(shape, order="F")


def _sparse(
    elements: _Elements, shape: tuple[int, ...], budget: Budget, is_logical: bool
) -> csc_array:
    """Read the row of each value, where each column begins, and the values."""
    rows, starts = elements.numbers("iu"), elements.numbers("iu")
    if len(shape) != 2 or len(starts) != shape[1] + 1:
        raise _DamagedError("a sparse matrix has other columns than it says.")
    begins: NDArray[np.int64] = starts.astype(np.int64)
    counts = begins[1:] - begins[:-1]
    n_stored = int(starts[-1])
    if starts[0] != 0 or (counts < 0).any():
        raise _DamagedError("the columns of a sparse matrix do not follow each other.")
    kind, data = elements.next()
    # MATLAB stores logical values as single bytes, but calls them double.
    are_bytes = is_logical and len(data) == len(rows)
    values = elements.as_numbers(2 if are_bytes else kind, data)
    if n_stored > min(len(rows), len(values)):
        raise _DamagedError(f"a sparse matrix lacks some of its {n_stored:,} values.")
    columns = np.repeat(np.arange(shape[1]), counts)
    return _from_places(rows[:n_stored], columns, values[:n_stored], shape, budget)


def _from_places(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    shape: tuple[int, ...],
    budget: Budget,
) -> csc_array:
    """Make a sparse matrix of values and their places, all of which must lie inside."""
    for places, size in zip((rows, columns), shape, strict=True):
        if len(places) and not 0 <= places.min() <= places.max() < size:
            raise _DamagedError("an index of a sparse matrix points outside.")
    # Where rows and columns begin takes memory, however few values there are.
    budget.check_bytes(16 * sum(shape) + 48 * len(values), "a sparse matrix")
    return csc_array(coo_array((values, (rows, columns)), shape=shape))


# -- version 4: for each variable five numbers, the name, the values ---------------------------


def _list_4(file: IO[bytes], size: int) -> Iterator[Variable]:
    order = "<" if 0 <= unpack("<i", _read_all(file, 0, 4))[0] <= 5000 else ">"
    place = 0
    while place < size:
        code, *shape, imaginary, n_letters = unpack(f"{order}5i", _read_all(file, place, 20))
        kind, number = _KINDS_OF_4.get(code % 10), _NUMBERS_OF_4.get(code // 10 % 10)
        if not 0 <= code < 2000 or code // 100 % 10 or kind is None or number is None:
            raise _DamagedError(f"what stands at byte {place:,} is not a variable.")
        if min(shape) < 0 or not 0 < n_letters <= _HEAD:
            raise _DamagedError(f"the variable at byte {place:,} has the shape {shape}.")
        dtype = np.dtype(f"{order}{number}")
        name = _read_all(file, place + 20, n_letters).split(b"\0")[0].decode("latin-1")
        place += 20 + n_letters
        one = _Stored(place, (shape[0], shape[1]), dtype, kind)
        place += prod(shape) * dtype.itemsize * (2 if imaginary and kind != "sparse" else 1)
        if place > size:
            raise _DamagedError(f"{name!r} is not all there.")
        yield Variable(name, one.outer(file), "complex" if imaginary else kind, one.read)


@dataclass(frozen=True)
class _Stored:
    """A matrix of version 4 as it is stored: column after column from a place on."""

    place: int
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    kind: str

    def outer(self, file: IO[bytes]) -> tuple[int, ...]:
        """Return the shape of what it stands for; a sparse matrix has it in its last row."""
        if self.kind == "char":
            return self.shape[:1]
        if self.kind != "sparse":
            return self.shape
        n_rows, n_columns = self.shape
        if n_columns not in (3, 4) or n_rows == 0:
            raise _DamagedError("a sparse matrix does not have three columns.")
        size = self.dtype.itemsize
        last = [size * (n_rows * column - 1) for column in (1, 2)]
        both = b"".join(_read_all(file, self.place + place, size) for place in last)
        shape = np.frombuffer(both, self.dtype).astype(np.float64)
        if not ((shape >= 0) & (shape < 2**31) & (shape == np.floor(shape))).all():
            raise _DamagedError(f"a sparse matrix has the dimensions {shape.tolist()}.")
        return int(shape[0]), int(shape[1])

    def read(self, file: IO[bytes], budget: Budget) -> Any:
        size = prod(self.shape) * self.dtype.itemsize
        budget.check_bytes(size, "an array")
        data = np.frombuffer(_read_all(file, self.place, size), self.dtype)
        stored = _shaped(data.astype(self.dtype.newbyteorder("="), copy=False), self.shape)
        if self.kind == "char":
            codes = np.nan_to_num(stored.astype(np.float64).T.ravel(), posinf=0, neginf=0)
            return _text(_from_codes(np.clip(codes, 0, 255).astype(np.uint32)), self.shape)
        return self._sparse(stored, file, budget) if self.kind == "sparse" else stored

    def _sparse(self, stored: NDArray[Any], file: IO[bytes], budget: Budget) -> csc_array:
        if stored.shape[1] == 4:
            raise _DamagedError("a sparse matrix is complex.")
        places = stored[:-1, :2].astype(np.float64)
        if not (np.isfinite(places) & (places == np.floor(places))).all():
            raise _DamagedError("an index of a sparse matrix is not a whole number.")
        if (np.abs(places) > 2**31).any():
            raise _DamagedError("an index of a sparse matrix points outside.")
        rows, columns = places.astype(np.int64).T - 1
        return _from_places(rows, columns, stored[:-1, 2], self.outer(file), budget)
