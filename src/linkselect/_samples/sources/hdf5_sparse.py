"""Reader of sparse matrices in HDF5 files in anndata format, which returns dense arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.choosing import Columns, as_numbers, equal_stretches
from linkselect._samples.sources.hdf5_datasets import Hdf5Dataset, file_of
from linkselect._samples.sources.stored import numeric_type

# The number of values read at once, which take about 12 MB with their column numbers. A gap of up
# to GAP values between two selected rows is read, too, because a separate read would be slower.
STRETCH = 1 << 20
GAP = 1 << 12
TO_ROWS = (
    "Read it into memory if it fits (adata.to_memory()), or rewrite it by rows: "
    "adata.X = adata.X.tocsr(), then adata.write_h5ad(PATH)."
)


class Hdf5Rows(Hdf5Dataset):
    """A CSR matrix stored in a group with the datasets `data`, `indices` and `indptr`."""

    def select(self, rows: slice | IntArray, columns: Columns) -> NDArray[Any]:
        """Read the given rows and columns into a dense array."""
        import h5py

        numbers = as_numbers(rows)
        places = numbers - numbers[0]
        width = len(as_numbers(columns))
        values = np.empty((len(numbers), width), self.dtype)
        with h5py.File(self.path, "r") as file:
            group = file[self.name]
            starts = group["indptr"][int(numbers[0]) : int(numbers[-1]) + 2].astype(np.intp)
            if len(starts) < places[-1] + 2 or (np.diff(starts) < 0).any():
                raise ValueError("its row pointers are not in ascending order")
            left_out = np.append(0, starts[places[1:]] - starts[places[:-1] + 1])
            pieces = np.cumsum(left_out > GAP) + starts[places] // STRETCH
            for piece in equal_stretches(pieces):
                found = self._rows(group, starts, places[piece])
                values[piece] = found[:, columns].toarray()
        return values

    def _rows(self, group: Any, starts: IntArray, places: IntArray) -> csr_array:
        """Return the given rows, after reading all values from the first row to the last."""
        first, last = places[0], places[-1]
        ends = starts[first : last + 2]
        stretch = slice(int(ends[0]), int(ends[-1]))
        data, indices = group["data"][stretch], group["indices"][stretch]
        shape = (last - first + 1, self.shape[1])
        found = csr_array((data.astype(self.dtype), indices, ends - ends[0]), shape=shape)
        # Column numbers outside the matrix would make SciPy write outside its memory.
        found.check_format(full_check=True)
        return found if len(places) == shape[0] else found[places - first]


def sparse_format(group: Any) -> str:
    """Return the format of a sparse matrix, "csr" or "csc"; empty for any other group."""
    attributes = getattr(group, "attrs", {})
    said = attributes.get("encoding-type", attributes.get("h5sparse_format", ""))
    kind = str(said).removesuffix("_matrix")
    return kind if kind in ("csr", "csc") else ""


def open_rows(group: Any, label: str) -> Hdf5Rows:
    """Open a group of an HDF5 file that contains a sparse matrix in CSR format."""
    if sparse_format(group) == "csc":
        raise GuidedTypeError(
            f"{label} is stored by columns (CSC), so reading some of its rows would require "
            "reading the whole matrix.",
            TO_ROWS,
            "X",
        )
    try:
        shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
        shape = tuple(int(length) for length in shape)
        stored = group["data"].dtype
        if len(shape) != 2 or group["indptr"].shape != (shape[0] + 1,):
            raise ValueError("its shape and row pointers do not match")
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise GuidedValueError(
            f"{label} is not a readable sparse matrix: {error}.", "Write the file again.", "X"
        ) from error
    return Hdf5Rows(group.name, shape, numeric_type(stored, label), file_of(group))
