"""Reader of Zarr arrays, and errors for Zarr groups."""

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError
from linkselect._samples.sources.arrays import ArraySource, StoredArray, refuse_group
from linkselect._samples.sources.choosing import Columns
from linkselect._samples.sources.states import package_for

# With more files than this, checking each of them takes too long.
MANY_FILES = 100_000


class ZarrChunks(StoredArray):
    """A Zarr array, together with the path of its chunks if it is stored in a folder."""

    def __init__(self, array: Any) -> None:
        root = getattr(array.store, "root", None)
        self.folder = root.absolute() / array.path if isinstance(root, Path) else None
        if isinstance(root, Path) and not root.is_absolute():
            # The files must be found from any current folder, here or in a worker.
            import zarr

            store = zarr.storage.LocalStore(root.absolute(), read_only=True)
            array = zarr.open_array(store, path=array.path, mode="r")
        self.array = array
        self.shape = array.shape
        self.dtype = np.dtype(array.dtype)
        self.chunks = array.chunks

    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Read some rows and columns."""
        return np.asarray(self.array.get_orthogonal_selection((rows, columns)))

    def files(self, rows: slice, columns: Columns) -> Iterator[tuple[str, str]]:
        """Yield the metadata file of the array and, unless there are too many, its chunk files.

        Zarr does not write chunks in which all values equal the fill value, so only the metadata
        file indicates whether an array still exists.
        """
        if self.folder is None:
            return
        names = ["zarr.json" if self.array.metadata.zarr_format == 3 else ".zarray"]
        height, width = self.array.shards or self.array.chunks
        n_files = -(-self.shape[0] // height) * -(-self.shape[1] // width)
        if n_files <= MANY_FILES:
            places = itertools.product(_chunks_with(rows, height), _chunks_with(columns, width))
            names += map(self.array.metadata.encode_chunk_key, places)
        for name in names:
            yield name, f"{self.folder}{os.sep}{name}"


def _chunks_with(chosen: Columns, size: int) -> Iterable[int]:
    """Return the numbers of the chunks that contain the given rows or columns."""
    if isinstance(chosen, slice):
        return range(chosen.start // size, -(-chosen.stop // size))
    return np.unique(chosen // size).tolist()


def is_zarr_folder(path: Path) -> bool:
    """Return whether a folder contains a Zarr array or group."""
    return any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def source_of_zarr(node: Any, label: str = "") -> ArraySource:
    """Return a source that reads an open Zarr array; raise an error for a group of arrays."""
    if hasattr(node, "members"):
        names = [name for name, one in node.members(max_depth=None) if hasattr(one, "chunks")]
        way = f"open_stored('{label}/{{}}')" if label else "X['{}']"
        raise refuse_group(label or "X", "Zarr arrays", sorted(names), way)
    label = label or f"the Zarr array {node.path or getattr(node.store, 'root', '')}".rstrip()
    return ArraySource(ZarrChunks(node), label)


def open_zarr(path: Path) -> ArraySource:
    """Open a Zarr array, given its path."""
    zarr = package_for(path, "zarr")
    try:
        node = zarr.open(str(path), mode="r")
    except Exception as error:
        raise GuidedValueError(
            f"{path.name} cannot be opened as a Zarr array: {error}", parameter="X"
        ) from error
    return source_of_zarr(node, path.name)
