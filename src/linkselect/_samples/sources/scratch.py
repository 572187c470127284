"""A temporary file that turns columns into rows, for tables whose rows cannot be read in pieces."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._blocks import slices
from linkselect._messages import GuidedError


class ColumnsOnDisk:
    """Groups of columns on the disk, one after the other, to be read by rows.

    The file has no name: it goes with the process, however that ends.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    widths : sequence of int
        The number of columns in every group.
    dtype : dtype
        The type of all values.
    """

    def __init__(self, n_rows: int, widths: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.n_rows = n_rows
        self.widths = widths
        self.dtype = dtype
        self.places = np.concatenate(([0], np.cumsum(widths))) * (n_rows * dtype.itemsize)
        self.written = [0] * len(widths)
        size, folder = int(self.places[-1]), tempfile.gettempdir()
        if shutil.disk_usage(folder).free < size:
            raise GuidedError(
                f"A row group of {n_rows:,} rows and {sum(widths):,} columns needs "
                f"{size / 2**30:.1f} GiB on the disk to be read by rows, and {folder} has less.",
                "Write the file with smaller row groups (row_group_size= of pyarrow), or set "
                "TMPDIR to a folder with more space.",
                "X",
            )
        self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115

    def __enter__(self) -> ColumnsOnDisk:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.file.close()

    def append(self, group: int, values: NDArray[Any]) -> None:
        """Write the next rows of a group; the values have one column in each line."""
        rows = np.ascontiguousarray(values.T)
        self.file.seek(int(self.places[group]) + self.written[group])
        data = memoryview(rows.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        while len(data):
            data = data[self.file.write(data) :]
        self.written[group] += rows.nbytes

    def read(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all columns of some rows."""
        for rows in slices(self.n_rows, height):
            count = rows.stop - rows.start
            values = np.empty((count, sum(self.widths)), self.dtype)
            first = 0
            for place, width in zip(self.places, self.widths, strict=False):
                piece = np.empty((count, width), self.dtype)
                self.file.seek(int(place) + rows.start * width * self.dtype.itemsize)
                self._fill(piece)
                values[:, first : first + width] = piece
                first += width
            yield values

    def _fill(self, values: NDArray[Any]) -> None:
        target = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        while len(target):
            count = self.file.readinto(target)
            if not count:
                raise OSError("the temporary file ends too early")
            target = target[count:]
