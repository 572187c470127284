"""Open tables for reading in parts: Parquet files and folders, NPY, Zarr and .h5ad files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import GuidedError, first_few, many
from linkselect.cli._errors import InputError, UsageError, notes_of, problem_of, shown
from linkselect.cli._tables.column_kinds import NUMBER
from linkselect.cli._tables.columnar import arrow_errors, check_columns, check_footer
from linkselect.cli._tables.features import about_index, about_named_index, from_matrix
from linkselect.cli._tables.label_column import describe_rows
from linkselect.cli._tables.limits import bytes_needed, readable_size
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import INDEX_NAMES, StoredTable, Table, assign_roles

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Stored

INTO_MEMORY = "read it into memory: omit --by-parts and --scheduler, and raise --max-memory"


def size_of(file: TableFile) -> int:
    """Return the number of bytes that the command would need with the table in memory.

    Only the header or footer of each file is read.
    """
    with library_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opening the table repeats the warnings
        if _is_h5ad(file.path):
            from linkselect.cli._tables import h5ad

            return h5ad.size_of(file)
        if _is_parquet(file.path):
            return _look_into(file)[3]
        X, _ = _open_arrays(file)
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
    return Table(**vars(found) | {"X": X})


def open_table(file: TableFile) -> Table:
    """Open a table for reading in parts; labels and ids are read immediately.

    Parameters
    ----------
    file : TableFile
        A Parquet file, a folder of Parquet files, an NPY file, a Zarr array or an .h5ad file.

    Returns
    -------
    StoredTable, or a Table without features if only labels and ids are needed
    """
    _refuse_options(file)
    with library_errors(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if _is_h5ad(file.path):
            from linkselect.cli._tables import h5ad

            table = h5ad.open_parts(file)
        else:
            table = _open_parquet(file) if _is_parquet(file.path) else _open_numbers(file)
    return replace(table, notes=(*table.notes, *notes_of(caught)))


@contextmanager
def library_errors() -> Iterator[None]:
    """Convert errors of the library about stored samples to errors of the command line."""
    try:
        yield
    except GuidedError as error:
        raise InputError(problem_of(error)) from error


def _refuse_options(file: TableFile) -> None:
    how = file.how
    numbers = [mark for mark in how.missing if NUMBER.fullmatch(mark)]
    refused = {
        "--encode": how.encode and "Store dates and text as numbers",
        "--transpose": how.transpose and "Store one sample in each row",
        f"--missing {''.join(numbers[:1])}": numbers and "Store missing values as null or NaN",
    }
    for option, instead in refused.items():
        if instead:
            raise UsageError(
                f"{option} needs the table in memory, but {file.name} is read in parts. "
                f"{instead}, or {INTO_MEMORY}."
            )


def _is_h5ad(path: Path) -> bool:
    return path.suffix.lower() == ".h5ad"


# -- Parquet ---------------------------------------------------------------------------------


def _is_parquet(path: Path) -> bool:
    kind = path.suffix.lower()
    return kind in (".parquet", ".pq") or (path.is_dir() and kind != ".zarr" and not _is_zarr(path))


def _is_zarr(path: Path) -> bool:
    from linkselect._samples.sources.zarr_arrays import is_zarr_folder

    return is_zarr_folder(path)


def _look_into(file: TableFile) -> tuple[dict[str, str], dict[str, str], int, int]:
    """Read the footers of Parquet files.

    The function returns the kind of each feature column ("" if numeric), the columns with another
    role, the number of rows, and the number of bytes that the table needs in memory.
    """
    import pyarrow.parquet

    from linkselect._samples.sources.parquet_folders import folder_columns, parquet_files

    path = file.path
    files = parquet_files(path) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"{path} has no Parquet files; only folders of Parquet files can be read in parts."
        )
    with arrow_errors(file, "Parquet"):
        for one in files:
            check_footer(one, "Parquet", file)
        found = [pyarrow.parquet.read_metadata(one) for one in files]
        # A file without rows may have different types.
        schema = next((one for one in found if one.num_rows), found[0]).schema.to_arrow_schema()
    check_columns(schema.names, "Parquet", file)
    in_names = folder_columns(files, path) if path.is_dir() else {}
    names = [*schema.names, *(name for name in in_names if name not in schema.names)]
    roles = assign_roles(names, file)
    types = [*(_kind_of(field.type) for field in schema), *("folder names" for _ in in_names)]
    kinds = {names[place]: types[place] for place in roles.features}
    n_rows = sum(one.num_rows for one in found)
    if n_rows == 0:
        raise InputError(f"{path.name} has {many(len(names), 'column')}, but no rows.")
    groups = (one.row_group(i).total_byte_size for one in found for i in range(one.num_row_groups))
    n_features = sum(not kind for kind in kinds.values())
    others = {role: names[place] for role, place in roles.others.items()}
    return kinds, others, n_rows, max([bytes_needed(n_rows, max(1, n_features)), *groups])


def _kind_of(kind: Any) -> str:
    """Return the kind of a column, or "" if it is numeric."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return ""
    names = {
        "yes/no": types.is_boolean,
        "dates": types.is_temporal,
        "no values": types.is_null,
        "text": lambda one: types.is_string(one) or types.is_large_string(one),
    }
    return next((name for name, is_so in names.items() if is_so(kind)), "lists or bytes")


def _open_parquet(file: TableFile) -> Table:
    from linkselect._samples.sources.parquet_tables import open_parquet
    from linkselect._samples.sources.stored import Stored

    (kinds, others, n_rows, _), source = _look_into(file), file.name
    features = [name for name, kind in kinds.items() if not kind]
    no_numbers = {name: kind for name, kind in kinds.items() if kind}
    # A worker of a cluster may have a different working directory.
    stored = open_parquet(file.path.resolve(), features)
    columns = {role: _column(stored, name) for role, name in others.items()}
    rows, about_rows = describe_rows(columns, file)
    if file.wanted != "all":
        known = (*kinds, *others.values())
        nothing = np.empty((n_rows, 0))
        return Table(nothing, (), source=source, notes=(*about_rows,), left_out=known, **rows)
    unnamed = [name for name in features if name in INDEX_NAMES]
    index = {name for name in unnamed if np.unique(stored.column(name)).size == n_rows}
    names = tuple(name for name in features if name not in index)
    if not names:
        found = f" (found {first_few([shown(one) for one in no_numbers])})" if no_numbers else ""
        raise InputError(f"{source} has no numeric columns to rank{found}.")
    X = Stored(stored)
    if index:
        X = X.choose([place for place, name in enumerate(features) if name not in index])
    left_out = [f"{shown(name)} ({kind})" for name, kind in no_numbers.items()]
    notes = []
    if left_out:
        counted = many(len(left_out), "non-numeric column")
        notes.append(f"Left out {counted}: {first_few(left_out)}.")
    written = {one for some in stored.indexes for one in some}
    notes += map(about_index, sorted(index))
    notes += about_named_index(name for name in names if name in written)
    notes += about_rows
    return StoredTable(
        X, names, source=source, notes=tuple(notes), left_out=tuple(no_numbers), **rows
    )


def _column(stored: Any, name: str) -> NDArray[Any]:
    """Read one column into memory."""
    import pyarrow as pa

    try:
        values: NDArray[Any] = stored.column(name)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{stored.label}: column {shown(name)} cannot be read: {reason}. Write the file again."
        ) from error
    return values


# -- arrays ----------------------------------------------------------------------------------


def _open_numbers(file: TableFile) -> Table:
    """Open an NPY file or a Zarr array, whose columns are named x0, x1, ..."""
    X, beside = _open_arrays(file)
    table = from_matrix(X, file, None, beside, list(beside))
    return StoredTable(**vars(table)) if file.wanted == "all" else table


def _open_arrays(file: TableFile) -> tuple[Stored, dict[str, Any]]:
    """Open the features, and the labels, ids, groups and batches stored in a Zarr group."""
    from linkselect._samples.sources.opening import open_stored

    place = file.path.resolve()
    if place.suffix.lower() == ".npy" or not _is_group(place):
        return open_stored(place), {}
    import zarr

    name = file.how.array or "X"
    members = sorted(one.name for one in place.iterdir() if one.is_dir() and _is_zarr(one))
    if name not in members:
        raise InputError(
            f"{file.name} is a group of Zarr arrays ({', '.join(members) or 'none'}). Choose the "
            "features with --array NAME."
        )
    asked = {name for name, _ in file.named.values()}
    wanted = [one for one in members if one in asked]
    beside = {one: zarr.open(str(place / one), mode="r") for one in wanted}
    return open_stored(place / name), beside


def _is_group(place: Path) -> bool:
    if (place / ".zgroup").is_file():
        return True
    try:
        described = json.loads((place / "zarr.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and described.get("node_type") == "group"
