"""Zarr arrays, read by lines of chunks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError, warn_user
from linkselect._samples.sources.states import changed, missing, needs, two_dimensional
from linkselect._samples.sources.stored import Columns, Source, numeric_type

# Chunks are decoded whole. Up to this size a line of them is held, and handed on piece by piece.
LINE_BYTES = 128 * 2**20
# Beyond so many files, looking at each of them costs too much.
MANY_FILES = 100_000


class ZarrSource(Source):
    """A Zarr array of two dimensions."""

    def __init__(self, array: Any, label: str) -> None:
        self.label = label
        self.array = with_absolute_root(array)
        self.shape = two_dimensional(array.shape, label)
        self.dtype = numeric_type(np.dtype(array.dtype), label)
        self.chunks: tuple[int, int] = array.chunks
        everything = (slice(0, length) for length in self.shape)
        self.states = {name: state_of(path) for name, path in self._files(*everything)}
        self._warn_of_tall_chunks()

    @property
    def folder(self) -> Path | None:
        """Where the chunks are; None if they are in no folder of this machine."""
        root = getattr(self.array.store, "root", None)
        return root / self.array.path if isinstance(root, Path) else None

    def row_edges(self) -> IntArray:
        """Return where chunks begin, and the end."""
        return edges(self.shape[0], self.chunks[0])

    def column_edges(self) -> IntArray:
        """Return where chunks begin, and the end."""
        return edges(self.shape[1], self.chunks[1])

    def line_bytes(self) -> int:
        """Return the size of a line of chunks, or of one chunk if lines are decoded in pieces."""
        height, width = self.chunks
        line = height * self.shape[1] * self.dtype.itemsize
        return line if line <= LINE_BYTES else height * width * self.dtype.itemsize

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Raise an error if a chunk with some of these values is not what it was."""
        # Of an array that is not there, chunks would read as if all had the fill value.
        if self.folder is not None and not is_zarr_folder(self.folder):
            raise missing(self.label, str(self.folder))
        if not self.states:
            return
        for name, path in self._files(rows, columns):
            state = state_of(path)
            if state != self.states[name]:
                if state is None:
                    raise missing(self.label, path)
                raise changed(f"{self.label}, file {name},")

    def read(
        self, rows: slice, columns: Columns, height: int
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the values of some columns; whole chunks are decoded once if they are not large."""
        for line in slices(rows.stop - rows.start, self._height_decoded(columns, height)):
            start, stop = rows.start + line.start, rows.start + line.stop
            values = self._decoded(slice(start, stop), columns)
            for piece in slices(stop - start, height):
                yield slice(start + piece.start, start + piece.stop), values[piece]

    def pick(self, wanted: IntArray, rows: slice, columns: Columns, height: int) -> NDArray[Any]:
        """Return some rows, which are sorted."""
        # One line of chunks at a time: all that are touched would be decoded at once.
        lines = np.split(wanted, np.searchsorted(wanted, self.row_edges()[1:-1]))
        found = [self._decoded(line, columns) for line in lines if len(line)]
        self.check_unchanged(rows, columns)
        return np.concatenate(found)

    def _decoded(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        try:
            values = self.array.get_orthogonal_selection((rows, columns))
        except Exception as error:
            if not isinstance(rows, slice):
                rows = slice(int(rows[0]), int(rows[-1]) + 1)
            self.check_unchanged(rows, columns)
            raise GuidedValueError(
                f"{self.label} cannot be read in rows {rows.start:,} to {rows.stop:,}: {error}",
                "A chunk is damaged. Write it again.",
                "X",
            ) from error
        return np.ascontiguousarray(values, dtype=self.dtype)

    def _height_decoded(self, columns: Columns, height: int) -> int:
        """Return how many rows are decoded at once: whole chunks if they are not too large."""
        width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
        chunk = self.chunks[0]
        line_bytes = chunk * width * self.dtype.itemsize
        if line_bytes > LINE_BYTES:
            return height
        return chunk * max(height // chunk, 1)

    def _files(self, rows: slice, columns: Columns) -> Iterator[tuple[str, str]]:
        """Yield the files that hold some values, if there are not too many in all."""
        height, width = self.array.shards or self.chunks
        n_files = -(-self.shape[0] // height) * -(-self.shape[1] // width)
        if self.folder is None or n_files > MANY_FILES:
            return
        for place in itertools.product(_chunks_with(rows, height), _chunks_with(columns, width)):
            name = self.array.metadata.encode_chunk_key(place)
            yield name, f"{self.folder}{os.sep}{name}"

    def _warn_of_tall_chunks(self) -> None:
        line_bytes = self.chunks[0] * self.shape[1] * self.dtype.itemsize
        is_wide = self.shape[0] < self.shape[1]
        if line_bytes > 4 * LINE_BYTES and not is_wide:
            warn_user(
                f"The chunks of {self.label} are tall: {self.chunks[0]:,} rows of all columns "
                f"take {line_bytes / 2**30:.1f} GiB, so that each chunk is decoded many times.",
                way_out="Store it with chunks of fewer rows and more columns.",
            )


def _chunks_with(chosen: Columns, size: int) -> Iterable[int]:
    """Return the numbers of the chunks with some rows or columns."""
    if isinstance(chosen, slice):
        return range(chosen.start // size, -(-chosen.stop // size))
    return np.unique(chosen // size).tolist()


def with_absolute_root(array: Any) -> Any:
    """Return an array whose files are found whatever the current folder is, here or in a worker."""
    root = getattr(array.store, "root", None)
    if not isinstance(root, Path) or root.is_absolute():
        return array
    import zarr

    store = zarr.storage.LocalStore(root.absolute(), read_only=True)
    return zarr.open_array(store, path=array.path, mode="r")


def edges(total: int, size: int) -> IntArray:
    """Return where pieces of `size` begin, and the end."""
    return np.append(np.arange(0, total, size), total)


def state_of(path: str) -> tuple[int, int] | None:
    """Return the size of a file and the time of its last change; None if there is no file.

    Zarr leaves out chunks whose values all are the fill value.
    """
    try:
        state = os.stat(path)  # noqa: PTH116 - called for every chunk
    except FileNotFoundError:
        return None
    return state.st_size, state.st_mtime_ns


def is_zarr_folder(path: Path) -> bool:
    """Whether a folder holds a Zarr array or group."""
    return any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def open_zarr(path: Path) -> Source:
    """Open a Zarr array by its path."""
    if not path.exists():
        raise missing(path.name, str(path))
    try:
        import zarr
    except ImportError:
        raise needs("zarr", path.name) from None
    try:
        node = zarr.open(str(path), mode="r")
    except Exception as error:
        raise GuidedValueError(
            f"{path.name} cannot be opened as a Zarr array: {error}", parameter="X"
        ) from error
    if isinstance(node, zarr.Group):
        raise refuse_group(node, path.name, f"open_stored('{path.name}/{{}}')")
    return ZarrSource(node, path.name)


def refuse_group(group: Any, label: str, one: str) -> GuidedTypeError:
    """Return the error for several arrays; `one` says how to get that of a name."""
    names = sorted(
        name for name, member in group.members(max_depth=None) if hasattr(member, "chunks")
    )
    return GuidedTypeError(
        f"{label} is a group of Zarr arrays ({', '.join(names) or 'none'}).",
        f"Pass one of them, such as {one.format(names[0] if names else 'NAME')}.",
        "X",
    )
