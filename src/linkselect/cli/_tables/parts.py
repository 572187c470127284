"""Tables that are read by parts: Parquet files and folders of them, NPY files and Zarr arrays."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._messages import GuidedError, first_few, many
from linkselect.cli._errors import InputError, UsageError, notes_of, problem_of, shown
from linkselect.cli._tables.column_kinds import NUMBER
from linkselect.cli._tables.columnar import check_columns, check_footer
from linkselect.cli._tables.features import INDEX_NAMES, about_index, about_named_index
from linkselect.cli._tables.label_column import make_labels
from linkselect.cli._tables.limits import bytes_needed, readable_size
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Table, assign_roles, make_ids

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Stored

INTO_MEMORY = "read it into memory: without --by-parts or --scheduler, with enough --max-memory"


@dataclass(frozen=True)
class StoredTable(Table):
    """A table whose features stay in their file and are read part by part; X is a `Stored`."""

    def labelled(self) -> Table:
        """Return the rows that have a label, in memory."""
        assert self.labels is not None
        rows = np.flatnonzero(self.codes() >= 0)
        ids = None if self.ids is None else tuple(self.ids[row] for row in rows)
        values, labels = self.X.take(rows), self.labels[rows]
        return Table(values, self.names, labels, ids, self.source, self.notes, self.left_out)

    def with_features(self, kept: IntArray) -> StoredTable:
        """Return the table with these features only."""
        names = tuple(self.names[place] for place in kept)
        return replace(self, X=self.X.choose(kept), names=names)


def size_of(file: TableFile) -> int:
    """Return the bytes that the command would take with all of the table in memory.

    Nothing but the header or footer of a file is read.
    """
    with library_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opening the table says it
        if _is_parquet(file.path):
            columns = _look_into(file)
            needed = bytes_needed(columns.n_rows, max(1, len(columns.features)))
            return max(needed, columns.largest_group)
        X = _open_array(file)
        return bytes_needed(*X.shape, max(X.dtype.itemsize, 4))


def read_whole(file: TableFile) -> Table:
    """Read a folder of Parquet files or a Zarr array into memory."""
    needed = size_of(file)
    if needed > file.limit:
        file.refuse(f"it needs {readable_size(needed)}")
    found = open_table(file)
    if not isinstance(found, StoredTable):
        return found
    with library_errors():
        X = np.asarray(found.X)
    return Table(X, found.names, found.labels, found.ids, found.source, found.notes, found.left_out)


def open_table(file: TableFile) -> Table:
    """Open a table to be read by parts; labels and ids are read whole.

    Parameters
    ----------
    file : TableFile
        A Parquet file, a folder of Parquet files, an NPY file or a Zarr array.

    Returns
    -------
    StoredTable, or a Table without features if only labels and ids are wanted
    """
    _refuse_options(file)
    with library_errors(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = _open_parquet(file) if _is_parquet(file.path) else _open_numbers(file)
    return replace(table, notes=(*table.notes, *notes_of(caught)))


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn what the library says about stored samples into an error of the command line."""
    try:
        yield
    except GuidedError as error:
        raise InputError(problem_of(error)) from error


def _refuse_options(file: TableFile) -> None:
    how = file.how
    if how.encode:
        raise UsageError(
            f"--encode: {file.name} is read by parts, which takes columns of numbers only. Store "
            f"dates and text as numbers, or {INTO_MEMORY}."
        )
    if how.transpose:
        raise UsageError(
            f"--transpose: {file.name} is read by parts, with one sample in each row. Store it so, "
            f"or {INTO_MEMORY}."
        )
    numbers = [mark for mark in how.missing if NUMBER.fullmatch(mark)]
    if numbers:
        raise UsageError(
            f"--missing {numbers[0]}: {file.name} is read by parts, and numbers are taken as they "
            f"are there. Store missing values as null or NaN, or {INTO_MEMORY}."
        )


# -- Parquet ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ParquetColumns:
    """What the ends of Parquet files tell.

    Attributes
    ----------
    features : list of str
        The columns of numbers that are neither label nor ids.
    no_numbers : dict of str to str
        Other columns, and what they hold.
    label, ids : str or None
        The columns that are so called.
    n_rows, largest_group : int
        How many rows, and the bytes of the largest row group.
    """

    features: list[str]
    no_numbers: dict[str, str]
    label: str | None
    ids: str | None
    n_rows: int
    largest_group: int


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    return path.is_dir() and path.suffix.lower() != ".zarr" and not _is_zarr(path)


def _is_zarr(path: Path) -> bool:
    from linkselect._samples.sources.zarr_arrays import is_zarr_folder

    return is_zarr_folder(path)


def _look_into(file: TableFile) -> _ParquetColumns:
    import pyarrow as pa
    import pyarrow.parquet

    from linkselect._samples.sources.parquet_folders import folder_columns, parquet_files

    path = file.path
    files = parquet_files(path) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} is a folder without Parquet files. Name a table.")
    try:
        for one in files:
            check_footer(one, "Parquet", file)
        found = [pyarrow.parquet.read_metadata(one) for one in files]
        # A file without rows may have other types.
        schema = next((one for one in found if one.num_rows), found[0]).schema.to_arrow_schema()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"{path.name} is not a readable Parquet file: {why}") from error
    check_columns(schema.names, "Parquet", file)
    said = folder_columns(files, path) if path.is_dir() else {}
    names = [*schema.names, *(name for name in said if name not in schema.names)]
    roles = assign_roles(names, file)
    types = [*(_kind_of(field.type) for field in schema), *("names of folders" for _ in said)]
    kinds = {names[place]: types[place] for place in roles.features}
    n_rows = sum(one.num_rows for one in found)
    if n_rows == 0:
        raise InputError(f"{path.name} has {len(names)} columns, but no rows.")
    groups = (one.row_group(i).total_byte_size for one in found for i in range(one.num_row_groups))
    return _ParquetColumns(
        [name for name, kind in kinds.items() if not kind],
        {name: kind for name, kind in kinds.items() if kind},
        None if roles.label is None else names[roles.label],
        None if roles.ids is None else names[roles.ids],
        n_rows,
        max(groups, default=0),
    )


def _kind_of(kind: Any) -> str:
    """Say what a column holds; nothing if it holds numbers."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return ""
    names = {
        "yes and no": types.is_boolean,
        "dates": types.is_temporal,
        "no value": types.is_null,
        "text": lambda one: types.is_string(one) or types.is_large_string(one),
    }
    return next((name for name, is_so in names.items() if is_so(kind)), "lists or bytes")


def _open_parquet(file: TableFile) -> Table:
    from linkselect._samples.sources.parquet_tables import open_parquet
    from linkselect._samples.sources.stored import Stored

    columns, source = _look_into(file), file.name
    # A worker of a cluster may have another current folder.
    stored = open_parquet(file.path.resolve(), columns.features)
    labels, about_labels = make_labels(_column(stored, columns.label), file, file.missing)
    ids = make_ids(_column(stored, columns.ids), columns.ids, source)
    if file.wanted != "all":
        return Table(np.empty((columns.n_rows, 0)), (), labels, ids, source, tuple(about_labels))
    index = {name for name in columns.features if name in INDEX_NAMES and _is_id(stored, name)}
    names = tuple(name for name in columns.features if name not in index)
    if not names:
        held = ", ".join(map(shown, list(columns.no_numbers)[:5])) or "there is none"
        raise InputError(f"{source}: no column of numbers is left to rank ({held}).")
    X = Stored(stored)
    if index:
        X = X.choose([place for place, name in enumerate(columns.features) if name not in index])
    left_out = [f"{shown(name)} ({kind})" for name, kind in columns.no_numbers.items()]
    some = "1 column that holds" if len(left_out) == 1 else f"{len(left_out):,} columns that hold"
    notes = [f"left out {some} no numbers: {first_few(left_out)}."] if left_out else []
    written = {one for some in stored.indexes for one in some}
    notes += [
        *map(about_index, sorted(index)),
        *about_named_index(n for n in names if n in written),
    ]
    notes += about_labels
    return StoredTable(X, names, labels, ids, source, tuple(notes), tuple(columns.no_numbers))


def _column(stored: Any, name: str | None) -> NDArray[Any] | None:
    """Read one column whole, if it has a name."""
    import pyarrow as pa

    if name is None:
        return None
    try:
        values: NDArray[Any] = stored.column(name)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{stored.label}: the column {shown(name)} cannot be read: {reason}. Write the file "
            "again."
        ) from error
    return values


def _is_id(stored: Any, name: str) -> bool:
    """Tell whether a column has a different value in each row."""
    values = _column(stored, name)
    return values is not None and len(np.unique(values)) == len(values)


# -- arrays ----------------------------------------------------------------------------------


def _open_numbers(file: TableFile) -> Table:
    """Open an NPY file or a Zarr array; columns are named by their numbers."""
    X, how, source = _open_array(file), file.how, file.name
    arrays = _arrays_beside(file)
    names = [f"x{place}" for place in range(X.shape[1])]
    roles = assign_roles(names, file.without(arrays), numbered=True, arrays=sorted(arrays))

    def values(place: int | None, name: str | None) -> NDArray[Any] | None:
        if name is not None and name in arrays:
            return _checked(arrays[name], name, X.shape[0], source)
        return None if place is None else np.asarray(X.choose([place]))[:, 0]

    labels, notes = make_labels(values(roles.label, how.label), file)
    ids = make_ids(values(roles.ids, how.id_column), how.id_column, source)
    if file.wanted != "all":
        return Table(np.empty((X.shape[0], 0)), (), labels, ids, source, tuple(notes))
    kept = list(roles.features)
    chosen = X if len(kept) == X.shape[1] else X.choose(kept)
    return StoredTable(chosen, tuple(names[i] for i in kept), labels, ids, source, tuple(notes))


def _open_array(file: TableFile) -> Stored:
    from linkselect._samples.sources.opening import open_stored

    place = file.path.resolve()
    if place.suffix.lower() == ".npy" or not _is_group(place):
        return open_stored(place)
    name = file.how.array or "X"
    if not _is_zarr(place / name):
        raise InputError(
            f"{file.name}: which array holds the features? It is a group of Zarr arrays "
            f"({', '.join(_members(place)) or 'none'}). Pass --array NAME."
        )
    return open_stored(place / name)


def _is_group(place: Path) -> bool:
    if (place / ".zgroup").is_file():
        return True
    try:
        described = json.loads((place / "zarr.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and described.get("node_type") == "group"


def _members(place: Path) -> list[str]:
    return sorted(one.name for one in place.iterdir() if one.is_dir() and _is_zarr(one))


def _arrays_beside(file: TableFile) -> dict[str, Any]:
    """Return the arrays of a Zarr group that hold the labels or ids."""
    place = file.path.resolve()
    if place.suffix.lower() == ".npy" or not _is_group(place):
        return {}
    import zarr

    wanted = [name for name in _members(place) if name in (file.how.label, file.how.id_column)]
    return {name: zarr.open(str(place / name), mode="r") for name in wanted}


def _checked(array: Any, name: str, n_rows: int, source: str) -> NDArray[Any]:
    if array.shape != (n_rows,):
        raise InputError(
            f"{source}: {name} has the shape {array.shape}, but there are {many(n_rows, 'row')}."
        )
    return np.asarray(array[:])
