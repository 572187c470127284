"""Read Parquet and Feather tables batch by batch, without trusting their declared sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import many
from linkselect.cli._errors import InputError
from linkselect.cli._tables.features import (
    Parts,
    about_named_index,
    assemble,
    from_columns,
    from_transposed,
)
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Roles, Table, assign_roles, value_text, without_marks

if TYPE_CHECKING:
    import pyarrow as pa

# Number of values in a batch of a Parquet file: 32 MB of float64.
_BATCH = 4 << 20
# Bytes of memory that Arrow takes for each byte of the file's footer, and for each column while it
# reads. If Arrow runs out of memory there, it may end the process.
_PER_FOOTER_BYTE = {"Parquet": 18, "Feather": 8}
_PER_COLUMN = {"Parquet": 10_000, "Feather": 1_500}
_MANY_COLUMNS = 10_000
# Errors for values that Python cannot represent, such as dates far in the future.
_ODD_VALUES = (OSError, ValueError, OverflowError)
_NO_MEMORY = ("bad_alloc", "worker thread", "out of memory", "realloc", "malloc")


def read_parquet(file: TableFile) -> Table:
    """Read a Parquet file with flat columns."""
    import pyarrow.parquet

    with arrow_errors(file, "Parquet"):
        check_footer(file.path, "Parquet", file)
        with pyarrow.parquet.ParquetFile(file.path, memory_map=False) as stored:
            names = stored.schema_arrow.names
            check_columns(names, "Parquet", file)
            if file.how.transpose:
                file.check(stored.metadata.num_rows, len(names))
                return _transposed(stored.read(use_threads=False), file)
            roles = assign_roles(names, file)
            check_declared(stored.metadata, roles, file)
            # Only these columns are read, and Parquet keeps the order of the file.
            used = {*roles.features, *roles.others.values()}
            wanted = [name for place, name in enumerate(names) if place in used]
            rows = max(1, min(_BATCH // max(1, len(wanted)), 1 << 16))
            # Without threads, which would unpack many columns at once.
            batches = stored.iter_batches(rows, columns=wanted, use_threads=False)
            index = _index_columns(stored.schema_arrow)
            notes = about_named_index(n for n in index if n in {names[i] for i in roles.features})
            return _gather(batches, names, roles, file, notes)


@contextmanager
def arrow_errors(file: TableFile, kind: str) -> Iterator[None]:
    """Convert an error of Arrow to an InputError that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, *_ODD_VALUES) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, MemoryError) or any(words in why for words in _NO_MEMORY):
            raise MemoryError(why) from error  # the caller that limits the memory reports it
        raise InputError(f"{file.name} is not a readable {kind} file: {why}") from error


def _index_columns(schema: Any) -> list[str]:
    """Return the index columns written by pandas, or none if the pandas metadata are unreadable."""
    try:
        stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return [name for name in stored["index_columns"] if isinstance(name, str)]
    except (ValueError, TypeError, LookupError, RecursionError):
        return []


def check_footer(path: Path, kind: str, file: TableFile) -> None:
    """Reject a footer that does not fit in memory; its length is stated at the end of the file."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - 10))
        end = stream.read()
    length = int.from_bytes(end[2:6] if kind == "Parquet" else end[:4], "little")
    if _MANY_COLUMNS * 10 < length < size:  # Arrow reports what is wrong with other lengths
        what = "the list of its columns and row groups"
        file.check_bytes(_PER_FOOTER_BYTE[kind] * length, what, by_parts=False)


def check_columns(names: Sequence[str], kind: str, file: TableFile) -> None:
    """Reject a table if even the list of its columns does not fit in memory."""
    if len(names) > _MANY_COLUMNS:
        what = f"the list of its {len(names):,} columns"
        file.check_bytes(_PER_COLUMN[kind] * len(names), what, by_parts=False)


def check_declared(metadata: Any, roles: Roles, file: TableFile) -> None:
    """Reject a file whose declared size does not fit in memory."""
    file.check(metadata.num_rows, len(roles.features))
    for group in range(metadata.num_row_groups):
        size = _bytes_read(metadata.row_group(group), roles, file)
        file.check_bytes(size, f"row group {group + 1} of {metadata.num_row_groups}")


def _bytes_read(group: Any, roles: Roles, file: TableFile) -> int:
    """Return the decompressed size of those columns of a row group that will be read."""
    if file.wanted == "all":
        return int(group.total_byte_size)
    columns = map(group.column, roles.others.values())
    return sum(column.total_uncompressed_size for column in columns)


def read_feather(file: TableFile) -> Table:
    """Read a Feather file (version 2, the Arrow file format)."""
    import pyarrow as pa

    with file.path.open("rb") as start:
        if start.read(4) == b"FEA1":
            raise InputError(f"{file.name} is a Feather file of version 1. Save it as version 2.")
    file.check_bytes(file.path.stat().st_size, "the file")
    with arrow_errors(file, "Feather"):
        check_footer(file.path, "Feather", file)
        with pa.OSFile(str(file.path)) as stream, pa.ipc.open_file(stream) as reader:
            names = reader.schema.names
            check_columns(names, "Feather", file)
            if file.how.transpose:
                return _transposed(reader.read_all(), file)
            roles = assign_roles(names, file)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            return _gather(batches, names, roles, file)


def _gather(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    roles: Roles,
    file: TableFile,
    notes: Sequence[str] = (),
) -> Table:
    """Combine batches into one table, and stop as soon as it exceeds the memory limit."""
    blocks: list[NDArray[Any]] = []
    texts: dict[int, list[Any]] = {}
    others: dict[str, list[Any]] = {role: [] for role in roles.others}
    places: list[int] = []
    n_rows = 0
    for batch in batches:
        # Reject offsets and codes that are out of bounds: using them would read foreign memory.
        batch.validate(full=True)
        n_rows += batch.num_rows
        file.check(n_rows, max(1, len(roles.features)))
        used = (*roles.features, *roles.others.values())
        columns = {place: batch.column(names[place]) for place in used}
        places = [place for place in roles.features if _is_numeric(columns[place].type)]
        block = _numbers([columns[place] for place in places], batch.num_rows)
        blocks.append(without_marks(block, file.how.missing))
        for place in roles.features:
            if place not in places:
                texts.setdefault(place, []).extend(_texts(columns[place], file.missing))
        for role, place in roles.others.items():
            others[role] += columns[place].to_pylist()
    if n_rows == 0:
        raise InputError(f"{file.name} has {many(len(names), 'column')}, but no rows.")
    return assemble(Parts(np.concatenate(blocks), places, texts, others), names, file, notes)


def _is_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _texts(column: pa.Array, marks: Sequence[str]) -> list[str | None]:
    """Return a column as text with None for missing values, or an empty list if it is not text."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return []
    try:
        values = column.cast(pa.large_string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return []
    return [None if value is None or value.strip() in marks else value.strip() for value in values]


def _numbers(columns: Sequence[pa.Array], n_rows: int) -> NDArray[Any]:
    """Copy columns into a matrix, with NaN for missing values."""
    import pyarrow as pa

    # Half precision is widened, since no later step computes in it.
    is_single = {str(column.type) for column in columns} <= {"float", "halffloat"}
    block = np.empty((n_rows, len(columns)), dtype=np.float32 if is_single else np.float64)
    for j, column in enumerate(columns):
        if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            column = column.cast(pa.float64())
        block[:, j] = column.to_numpy(zero_copy_only=False)
    return block


def _transposed(table: pa.Table, file: TableFile) -> Table:
    """Read a table whose rows are features; its index or first text column names them."""
    table.validate(full=True)
    if not table.num_rows:
        raise InputError(f"{file.name} has {many(table.num_columns, 'column')}, but no rows.")
    index = set(_index_columns(table.schema))
    texts = [place for place, field in enumerate(table.schema) if _is_text(field.type)]
    named = next((i for i in texts if table.column_names[i] in index), next(iter(texts), None))
    if named is None:
        raise InputError(
            f"{file.name}: --transpose needs a text column with the names of the features, but all "
            "columns are numeric."
        )
    places = [place for place in range(table.num_columns) if place != named]
    ids, columns = [table.column_names[i] for i in places], [table.column(i) for i in places]
    names = [table.column_names[named], *map(value_text, table.column(named).to_pylist())]
    if all(_is_numeric(column.type) for column in columns):
        chunks = [column.combine_chunks() for column in columns]
        return from_transposed(names, ids, _numbers(chunks, table.num_rows).T, {}, {}, file)
    cells = zip(*(column.to_pylist() for column in columns), strict=True)
    return from_columns(names, [ids, *cells], file)


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
