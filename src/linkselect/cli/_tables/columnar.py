"""Read Parquet and Feather tables batch by batch; what their metadata declare is not trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli._errors import InputError
from linkselect.cli._tables.batches import gather
from linkselect.cli._tables.features import about_named_index, from_columns
from linkselect.cli._tables.limits import Budget, readable_size
from linkselect.cli._tables.table import Reading, Roles, Table, assign_roles

if TYPE_CHECKING:
    import pyarrow as pa

# Numbers in a batch of a Parquet file: 32 MB of float64.
_BATCH = 4 << 20
# What Arrow holds for a byte of a file's list of columns, and for each column while it reads. If it
# runs out of memory there, it may end the process.
_PER_FOOTER_BYTE = {"Parquet": 18, "Feather": 8}
_PER_COLUMN = {"Parquet": 10_000, "Feather": 1_500}
_MANY_COLUMNS = 10_000
# What values raise that Python cannot hold, such as dates far away.
_ODD_VALUES = (OSError, ValueError, OverflowError)
_NO_MEMORY = ("bad_alloc", "worker thread", "out of memory", "realloc", "malloc")


def read_parquet(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a Parquet file of flat columns."""
    import pyarrow as pa
    import pyarrow.parquet

    check_footer(path, "Parquet", budget)
    try:
        with pyarrow.parquet.ParquetFile(path, memory_map=False) as file:
            names = file.schema_arrow.names
            check_columns(names, "Parquet", budget)
            if how.transpose:
                budget.check(file.metadata.num_rows, len(names))
                return _transposed(file.read(use_threads=False), how, budget)
            roles = assign_roles(names, how, budget.source)
            _check_declared(file.metadata, roles, budget)
            wanted, roles = _only(names, roles)
            rows = max(1, min(_BATCH // max(1, len(wanted)), 1 << 16))
            # One column after the other: threads would unpack many at once.
            batches = file.iter_batches(rows, columns=wanted, use_threads=False)
            index = set(_index_columns(file.schema_arrow))
            notes = about_named_index(wanted[i] for i in roles.features if wanted[i] in index)
            return gather(_in_order(batches, wanted), wanted, roles, how, budget, notes=notes)
    except (pa.ArrowException, *_ODD_VALUES) as error:
        raise _unreadable(budget, "Parquet", error) from error


def _index_columns(schema: Any) -> list[str]:
    """Name the columns that pandas wrote as its index; none if what it wrote cannot be read."""
    try:
        told = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return [name for name in told["index_columns"] if isinstance(name, str)]
    except (ValueError, TypeError, LookupError, RecursionError):
        return []


def check_footer(path: Path, kind: str, budget: Budget) -> None:
    """Refuse a list of columns that does not fit; its length stands at the end of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 10))
        end = file.read()
    length = int.from_bytes(end[2:6] if kind == "Parquet" else end[:4], "little")
    if _MANY_COLUMNS * 10 < length < size:  # Arrow says what is wrong with any other
        _check_list(_PER_FOOTER_BYTE[kind] * length, "the list of its columns unpacks to", budget)


def check_columns(names: Sequence[str], kind: str, budget: Budget) -> None:
    """Refuse a table whose columns alone take too much, however few rows are read at a time."""
    if len(names) > _MANY_COLUMNS:
        _check_list(
            _PER_COLUMN[kind] * len(names), f"reading its {len(names):,} columns takes", budget
        )


def _check_list(needed: int, what: str, budget: Budget) -> None:
    if needed > budget.limit:
        budget.refuse(
            f"{what} {readable_size(needed)}", by_parts=False, fewer="fewer columns or row groups"
        )


def _check_declared(metadata: Any, roles: Roles, budget: Budget) -> None:
    budget.check(metadata.num_rows, len(roles.features))
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).total_byte_size
        budget.check_bytes(size, f"row group {group + 1} of {metadata.num_row_groups}")


def _only(names: list[str], roles: Roles) -> tuple[list[str], Roles]:
    """Return the columns to read, and the roles among these."""
    places = [*roles.features]
    places += [place for place in (roles.label, roles.ids) if place is not None]
    new = {place: i for i, place in enumerate(places)}
    label = None if roles.label is None else new[roles.label]
    ids = None if roles.ids is None else new[roles.ids]
    return [names[i] for i in places], Roles(tuple(range(len(roles.features))), label, ids)


def _in_order(batches: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Give the columns of each batch the wanted order: Parquet keeps that of the file."""
    for batch in batches:
        yield _checked(batch.select(names))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Refuse offsets and codes that point outside: what uses them would read there."""
    batch.validate(full=True)
    return batch


def read_feather(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a Feather file (version 2, the Arrow file format)."""
    import pyarrow as pa

    with path.open("rb") as file:
        if file.read(4) == b"FEA1":
            raise InputError(f"{path.name} is Feather version 1. Write it again as version 2.")
    budget.check_bytes(path.stat().st_size, "the file alone")
    check_footer(path, "Feather", budget)
    try:
        with pa.OSFile(str(path)) as stream, pa.ipc.open_file(stream) as reader:
            names = reader.schema.names
            check_columns(names, "Feather", budget)
            if how.transpose:
                return _transposed(reader.read_all(), how, budget)
            roles = assign_roles(names, how, budget.source)
            batches = (_checked(reader.get_batch(i)) for i in range(reader.num_record_batches))
            return gather(batches, names, roles, how, budget)
    except (pa.ArrowException, *_ODD_VALUES) as error:
        raise _unreadable(budget, "Feather", error) from error


def _transposed(table: pa.Table, how: Reading, budget: Budget) -> Table:
    """Read a table whose rows are features: one column, the first that is text, names them."""
    table.validate(full=True)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    named = next((name for name, values in columns.items() if isinstance(values[0], str)), None)
    if named is None:
        raise InputError(
            f"{budget.source}: --transpose needs a column of text that names the features, but all "
            "columns are numbers."
        )
    samples = [name for name in columns if name != named]
    names = [named, *map(str, columns[named])]
    cells = zip(*(columns[name] for name in samples), strict=True)
    return from_columns(names, [samples, *cells], how, budget)


def _unreadable(budget: Budget, kind: str, error: Exception) -> Exception:
    """Return what to raise for an error of Arrow."""
    why = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, MemoryError) or any(words in why for words in _NO_MEMORY):
        return MemoryError(why)  # who holds the budget says so
    return InputError(f"{budget.source} is not a readable {kind} file: {why}")
