"""Reader of Parquet files and folders of Parquet files by row groups."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedError, GuidedValueError
from linkselect._samples.sources.choosing import Columns, equal_stretches
from linkselect._samples.sources.parquet_columns import (
    FileColumns,
    columns_of,
    joined,
    joint_type,
    to_numbers,
)
from linkselect._samples.sources.parquet_folders import (
    folder_columns,
    parquet_files,
    warn_of_folder_columns,
    warn_of_order,
)
from linkselect._samples.sources.states import FileState, package_for
from linkselect._samples.sources.stored import Slabs, Source

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# A reader keeps a decoded page of every column and its dictionary. As measured, these take about
# twice the size of the column in the row group, and at most this much.
COLUMN_BYTES = 4 * 2**20
# A row group up to this size is read into a matrix. A larger one is read by rows if its reader
# needs at most READER_BYTES; otherwise, groups of columns are first written to a temporary file.
MATRIX_BYTES = 128 * 2**20
READER_BYTES = 128 * 2**20
GROUP_BYTES = 64 * 2**20
# The size of a batch from a reader. It is in memory twice: by columns and by rows.
BATCH_BYTES = 16 * 2**20
# The total size of the buffers of a reader, which has one for each column.
BUFFER_BYTES = 16 * 2**20
ERRORS_OF_READING = (OSError, ValueError, ArithmeticError)


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file.

    Attributes
    ----------
    file : int
        The index of the file.
    number : int
        The index of the row group within its file.
    start : int
        The number of the first row of the group, counted over all files.
    n_rows : int
        The number of rows in the group.
    """

    file: int
    number: int
    start: int
    n_rows: int


class ParquetSource(Source):
    """Samples in the columns of one or several Parquet files.

    Parameters
    ----------
    files : list of path
        The Parquet files, in the order of their rows.
    label : str
        The name used for the table in messages.
    columns : sequence of str or int, optional
        The columns to use. Default: all columns except the index of a pandas data frame.
    without : collection of str or int
        The columns to exclude.
    from_folders : dict of str to ndarray
        Columns that come from folder names, with one value for each file. They are not used as
        features.
    """

    def __init__(
        self,
        files: Sequence[Path],
        label: str,
        columns: Sequence[str | int] | None = None,
        without: Sequence[str | int] = (),
        from_folders: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.label = label
        self.files = [FileState.of(path, path.name) for path in files]
        with ThreadPoolExecutor(min(8, len(files))) as threads:
            found = list(threads.map(_columns, self.files))
        # The types in a file without rows are ignored, since no value determined them.
        filled = [file for file in found if any(file.group_rows)] or found
        known = set(filled[0].names)
        columns_of_folders = (from_folders or {}).items()
        self.from_folders = {name: one for name, one in columns_of_folders if name not in known}
        if refused := [name for name in columns or () if name in self.from_folders]:
            raise GuidedValueError(
                f"Column {refused[0]!r} of {label} comes from folder names and is not a feature.",
                f"Exclude it; read its values with open_stored(path).column({refused[0]!r}).",
                "columns",
            )
        self.n_rows = [sum(file.group_rows) for file in found]
        without = [one for one in without if one not in self.from_folders]
        self.names = filled[0].chosen(columns, without)
        self.dtype = joint_type(self.names, filled, label)
        self.indexes = [file.index for file in filled]
        types = {field.name: str(field.type) for field in filled[0].schema}
        self.whole = np.array([types[name] in ("int64", "uint64") for name in self.names], bool)
        groups = [(k, i, n) for k, file in enumerate(found) for i, n in enumerate(file.group_rows)]
        starts = np.cumsum([0, *(n for _, _, n in groups)]).tolist()
        self.groups = [
            RowGroup(file, number, start, n_rows)
            for (file, number, n_rows), start in zip(groups, starts, strict=False)
            if n_rows
        ]
        self.starts = np.array([group.start for group in self.groups], np.intp)
        self.shape = (starts[-1], len(self.names))

    def edges(self, axis: int) -> IntArray | None:
        """Return the first row of every row group, followed by the number of rows."""
        return None if axis else np.append(self.starts, self.shape[0])

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Raise an error if a file containing some of the rows has changed since it was opened."""
        for number in sorted({group.file for group in self._groups(rows)}):
            self.files[number].check_unchanged()

    def read(self, rows: slice, columns: Columns, height: int) -> Slabs:
        """Yield the given columns of row groups in blocks of at most `height` rows."""
        places = np.arange(len(self.names or ()))[columns]
        used, inverse = np.unique(places, return_inverse=True)
        is_in_order = np.array_equal(used, places)
        for group in self._groups(rows):
            start = group.start
            for values in self._values(group, used, height):
                found = slice(start, start + len(values))
                yield found, values if is_in_order else values[:, inverse]
                start = found.stop
        _free_memory()

    def column(self, name: str) -> NDArray[Any]:
        """Read one column, which may have any dtype and may come from folder names."""
        if name in self.from_folders:
            return np.repeat(self.from_folders[name], self.n_rows)
        pieces, filled = [], [file for file, n in zip(self.files, self.n_rows, strict=True) if n]
        for state in filled:
            state.check_unchanged()
            if name not in _columns(state).names:
                raise GuidedValueError(f"{state.label} has no column {name!r}.", "", "columns")
            with _opened(state) as file:
                pieces.append(file.read(columns=[name], use_threads=False).column(0))
            state.check_unchanged()
        return joined(pieces, name, [state.label for state in filled])

    def whole_numbers(self) -> BoolArray:
        """Return a mask of the columns that are stored as 64-bit integers in the files."""
        return self.whole

    def index(self) -> Sequence[Hashable] | None:
        """Return the index stored by pandas; None if there is no index or it only numbers rows."""
        first = self.indexes[0]
        if first and isinstance(first[0], str) and all(one == first for one in self.indexes):
            columns = [_ids(self.column(str(name))) for name in first]
            return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        filled = [n for n in self.n_rows if n]
        ends = np.cumsum(filled).tolist()
        other = [
            index[0]
            for index, n_rows, end in zip(self.indexes, filled, ends, strict=False)
            if index and not _numbers_rows(index[0], n_rows, end)
        ]
        if not other:
            return None
        if len(self.files) == 1 and isinstance(other[0], range):
            return other[0]
        raise GuidedValueError(
            f"Pairs refer to the index of {self.label}, but each file has its own index, and "
            "pandas does not join them.",
            f"Pass sample_ids, such as range({self.shape[0]}) if pairs contain row numbers.",
            "sample_ids",
        )

    def _groups(self, rows: slice) -> list[RowGroup]:
        first = max(int(np.searchsorted(self.starts, rows.start, side="right")) - 1, 0)
        last = int(np.searchsorted(self.starts, rows.stop, side="left"))
        return self.groups[first:last]

    def _values(self, group: RowGroup, used: IntArray, height: int) -> Iterator[NDArray[Any]]:
        """Yield the columns of a row group in blocks of at most `height` rows."""
        try:
            with _opened(self.files[group.file]) as file:
                if group.n_rows * len(used) * self.dtype.itemsize <= MATRIX_BYTES * self.share:
                    matrix = self._matrix(file, group, used)
                    yield from (matrix[rows] for rows in slices(group.n_rows, height))
                    return
                cuts = column_groups(file, group.number, self._names(used), self.share)
                if len(cuts) == 1:
                    yield from self._by_rows(file, group, used, height)
                else:
                    yield from self._through_disk(file, group, used, cuts, height)
        except GuidedError:
            raise
        except ERRORS_OF_READING as error:
            raise self._damaged(group, used, str(error)) from error

    def _matrix(self, file: pq.ParquetFile, group: RowGroup, used: IntArray) -> NDArray[Any]:
        """Read a row group as a matrix, a few columns at a time so that little memory is needed."""
        matrix = np.empty((group.n_rows, len(used)), self.dtype)
        for cut in slices(len(used), self._fitting(group.n_rows)):
            start = 0
            for batch in self._batches(file, group, used[cut]):
                matrix[start : start + len(batch), cut] = batch
                start += len(batch)
        return matrix

    def _by_rows(
        self, file: pq.ParquetFile, group: RowGroup, used: IntArray, height: int
    ) -> Iterator[NDArray[Any]]:
        """Yield blocks of `height` rows and all columns, assembled from smaller batches."""
        matrix, filled = np.empty((height, len(used)), self.dtype), 0
        for batch in self._batches(file, group, used):
            while len(batch):
                count = min(height - filled, len(batch))
                matrix[filled : filled + count] = batch[:count]
                batch, filled = batch[count:], filled + count
                if filled == height:
                    yield matrix
                    matrix, filled = np.empty_like(matrix), 0
        if filled:
            yield matrix[:filled]

    def _through_disk(
        self, file: pq.ParquetFile, group: RowGroup, used: IntArray, cuts: list[slice], height: int
    ) -> Iterator[NDArray[Any]]:
        """Write groups of columns to a temporary file, and yield blocks of rows from this file."""
        n_rows, itemsize = group.n_rows, self.dtype.itemsize
        check_room_on_disk(n_rows, len(used), itemsize)
        # The file has no name, so it disappears with the process, however that ends.
        with tempfile.TemporaryFile() as scratch:
            for cut in cuts:
                for batch in self._batches(file, group, used[cut]):
                    np.ascontiguousarray(batch).tofile(scratch)
            _free_memory()
            for rows in slices(n_rows, height):
                count = rows.stop - rows.start
                values = np.empty((count, len(used)), self.dtype)
                for cut in cuts:
                    width = cut.stop - cut.start
                    scratch.seek((cut.start * n_rows + rows.start * width) * itemsize)
                    found = np.fromfile(scratch, self.dtype, count * width)
                    values[:, cut] = found.reshape(count, width)
                yield values

    def _batches(
        self, file: pq.ParquetFile, group: RowGroup, used: IntArray
    ) -> Iterator[NDArray[Any]]:
        """Yield all rows of a row group in batches, as arrays in Fortran order."""
        names, n_read = self._names(used), 0
        # Columns are decoded one after another; with threads, many would be in memory at once.
        options = {"row_groups": [group.number], "columns": names, "use_threads": False}
        for batch in file.iter_batches(self._fitting(len(names)), **options):
            places = {name: place for place, name in enumerate(batch.schema.names)}
            values = np.empty((len(names), batch.num_rows), self.dtype)
            for target, name in zip(values, names, strict=True):
                to_numbers(batch.column(places[name]), target, name)
            n_read += batch.num_rows
            yield values.T
        if n_read != group.n_rows:
            raise ValueError("rows are missing")

    def _fitting(self, length: int) -> int:
        """Return how many rows or columns of `length` values fit into a batch."""
        return max(int(BATCH_BYTES * self.share) // (length * self.dtype.itemsize), 1)

    def _names(self, used: Iterable[int]) -> list[str]:
        names = self.names or []
        return [names[place] for place in used]

    def _damaged(self, group: RowGroup, used: IntArray, why: str) -> GuidedValueError:
        """Return the error for a row group that cannot be read; the error names the column."""
        state = self.files[group.file]
        state.check_unchanged()
        reason = (why.splitlines() or ["it ends too early"])[0].rstrip(".")
        damaged = [name for name in self._names(used) if not _is_readable(state, group, name)]
        where = f", column '{damaged[0]}'," if damaged else ""
        return GuidedValueError(
            f"{state.label}{where} cannot be read in row group {group.number}: {reason}.",
            "Write the file again.",
            "X",
        )


def _is_readable(state: FileState, group: RowGroup, name: str) -> bool:
    try:
        with _opened(state) as file:
            for batch in file.iter_batches(row_groups=[group.number], columns=[name]):
                batch.validate(full=True)
    except ERRORS_OF_READING:
        return False
    return True


def check_room_on_disk(n_rows: int, n_columns: int, itemsize: int) -> None:
    """Raise an error if there is not enough temporary disk space for a row group."""
    size, folder = n_rows * n_columns * itemsize, tempfile.gettempdir()
    if shutil.disk_usage(folder).free < size:
        raise GuidedError(
            f"Reading a row group of {n_rows:,} rows and {n_columns:,} columns requires "
            f"{size / 2**30:.1f} GiB of temporary disk space, but {folder} has less.",
            "Write the file with smaller row groups (parameter row_group_size of pyarrow), or set "
            "TMPDIR to a folder with more space.",
            "X",
        )


def _ids(values: NDArray[Any]) -> list[Hashable]:
    """Convert IDs to Python values.

    Times become `datetime` objects, which compare equal to pandas times.
    """
    found: list[Hashable] = (
        values.astype("M8[us]") if values.dtype.kind == "M" else values
    ).tolist()
    return found


def _numbers_rows(index: str | range, n_rows: int, end: int) -> bool:
    """Return whether an index only numbers the rows of a file or of all files.

    The result is also true for a range whose length is not the number of rows, because pandas
    ignores such a range.
    """
    if isinstance(index, str):
        return False
    return len(index) != n_rows or index in (range(n_rows), range(end - n_rows, end))


def column_groups(file: pq.ParquetFile, number: int, names: list[str], share: float) -> list[slice]:
    """Divide the columns of a row group into slices that can be read with little memory.

    If little memory is required for all columns together, there is only one slice.
    """
    group = file.metadata.row_group(number)
    leaves = {group.column(j).path_in_schema: j for j in range(group.num_columns)}
    sizes = [2 * group.column(leaves[name]).total_uncompressed_size for name in names]
    totals = np.cumsum(np.minimum(sizes, COLUMN_BYTES))
    if totals[-1] <= READER_BYTES * share:
        return [slice(0, len(names))]
    return equal_stretches(totals // int(GROUP_BYTES * share))


@lru_cache(maxsize=64)
def _columns(state: FileState) -> FileColumns:
    """Return the columns described in the footer of a file, cached because decoding is slow."""
    import pyarrow.parquet as pq

    try:
        return columns_of(state.label, pq.read_metadata(state.path))
    except (OSError, ValueError) as error:
        state.check_unchanged()
        reason = str(error).splitlines()[0].rstrip(".")
        raise GuidedValueError(
            f"{state.label} cannot be opened as a Parquet file: {reason}.",
            "The file may be damaged or incomplete. Write it again.",
            "X",
        ) from error


def _opened(state: FileState) -> pq.ParquetFile:
    """Open a file with small buffers, so that little memory is required for reading."""
    import pyarrow.parquet as pq

    metadata = _columns(state).metadata
    buffer_size = int(np.clip(BUFFER_BYTES // max(metadata.num_columns, 1), 4096, 1 << 16))
    return pq.ParquetFile(state.path, metadata=metadata, buffer_size=buffer_size, pre_buffer=False)


def _free_memory() -> None:
    """Release memory that Arrow keeps for later use."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def open_parquet(
    path: Path, columns: Sequence[str | int] | None = None, without: Sequence[str | int] = ()
) -> ParquetSource:
    """Open a Parquet file, or all Parquet files in a folder."""
    package_for(path, "pyarrow")
    if path.is_file():
        return ParquetSource([path], path.name, columns, without)
    files = parquet_files(path)
    if not files:
        raise GuidedValueError(f"The folder {path.name} contains no Parquet files.", parameter="X")
    warn_of_order(files, path)
    source = ParquetSource(files, path.name, columns, without, folder_columns(files, path))
    if columns is None:
        unused = [name for name in source.from_folders if name not in without]
        warn_of_folder_columns(path.name, unused)
    return source
