"""Reader of HDF5 datasets that reopens the file by name, so that other processes can use it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.arrays import ArraySource, StoredArray, refuse_group
from linkselect._samples.sources.choosing import Columns, as_numbers, equal_stretches
from linkselect._samples.sources.states import package_for

HDF5_ENDINGS = (".h5", ".hdf5")
# The size of the blocks in which a dataset without chunks is read to take some rows or columns.
STRETCH_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Hdf5Dataset(StoredArray):
    """A dataset in an HDF5 file; the file is opened for each read.

    Attributes
    ----------
    name : str
        The name of the dataset in its file.
    shape : tuple of int
        The shape of the dataset.
    dtype : dtype
        The dtype in the file.
    path : str
        The path of the file.
    chunks : tuple of int or None
        The numbers of rows and columns in a chunk; None if there are no chunks. A chunk can only be
        decoded as a whole.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    path: str
    chunks: tuple[int, ...] | None = None

    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Read some rows and columns."""
        import h5py

        with h5py.File(self.path, "r") as file:
            dataset = file[self.name]
            if isinstance(rows, slice) and isinstance(columns, slice):
                return np.asarray(dataset[rows, columns])
            return self._chosen(dataset, as_numbers(rows), as_numbers(columns))

    def _chosen(self, dataset: Any, rows: IntArray, columns: IntArray) -> NDArray[Any]:
        """Select rows and columns from rectangular blocks; h5py is slow for lists of numbers."""
        line_bytes = self.shape[1] * self.dtype.itemsize
        height, width = self.chunks or (max(STRETCH_BYTES // line_bytes, 1), self.shape[1])
        used, order = np.unique(columns, return_inverse=True)
        values = np.empty((len(rows), len(used)), self.dtype)
        for down in equal_stretches(rows // height):
            for across in equal_stretches(used // width):
                high, wide = rows[down], used[across]
                found = dataset[high[0] : high[-1] + 1, wide[0] : wide[-1] + 1]
                values[down, across] = found[np.ix_(high - high[0], wide - wide[0])]
        return values[:, order]


def file_of(node: Any) -> str:
    """Flush the file that contains a dataset or group, and return its path."""
    file = node.file
    if not node.name or not isinstance(file.filename, str) or not Path(file.filename).is_file():
        raise GuidedTypeError(
            "The file of this HDF5 dataset cannot be reopened by its path.",
            "Pass X[:] if it fits in memory, or dask.array.from_array(X).",
            "X",
        )
    if file.mode != "r":
        file.flush()
    return str(Path(file.filename).absolute())


def array_of(dataset: Any) -> Hdf5Dataset:
    """Return a reader that opens the file of a dataset for each read."""
    path = file_of(dataset)
    return Hdf5Dataset(dataset.name, dataset.shape, dataset.dtype, path, dataset.chunks)


def source_of_dataset(dataset: Any, label: str = "") -> ArraySource:
    """Return a source that reads a dataset from its file."""
    array = array_of(dataset)
    return ArraySource(array, label or f"{Path(array.path).name}::{dataset.name}")


def opened(path: Path, extra: str = "dask") -> Any:
    """Open an HDF5 file for reading."""
    h5py = package_for(path, "h5py", extra)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise GuidedValueError(
            f"{path.name} cannot be opened as an HDF5 file: {error}.",
            "If another program is writing to it, wait until that program closes it.",
            "X",
        ) from error


def open_hdf5(path: Path, name: str = "") -> ArraySource:
    """Open the dataset with the given name in an HDF5 file, by default its only matrix."""
    with opened(path) as file:
        names = _matrices(file)
        one = name.strip("/") or (names[0] if len(names) == 1 else "")
        if not hasattr(file.get(one or "/"), "ndim"):
            raise refuse_group(
                path.name, "HDF5 datasets", names, f"open_stored('{path.name}::{{}}')"
            )
        return source_of_dataset(file[one], f"{path.name}::{name}" if name else path.name)


def refuse_hdf5_group(group: Any) -> GuidedTypeError:
    """Return the error for an open HDF5 file or group that was passed instead of a dataset."""
    return refuse_group("X", "HDF5 datasets", _matrices(group), "X['{}']")


def _matrices(group: Any) -> list[str]:
    """Return the names of all two-dimensional datasets, including those in subgroups."""
    found: list[str] = []

    def note(name: str, node: Any) -> None:
        if getattr(node, "ndim", None) == 2:
            found.append(name)

    group.visititems(note)
    return sorted(found)
