"""Read Parquet and Feather tables batch by batch; what their metadata declare is not trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli.errors import InputError
from linkselect.cli.tables.batches import gather
from linkselect.cli.tables.limits import Budget
from linkselect.cli.tables.table import Reading, Roles, Table, assign_roles

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_feather", "read_parquet"]

# Numbers in a batch of a Parquet file: 32 MB of float64.
_BATCH = 4 << 20


def read_parquet(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a Parquet file of flat columns."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, memory_map=False) as file:
            names = file.schema_arrow.names
            roles = assign_roles(names, how, budget.source)
            _check_declared(file.metadata, roles, budget)
            wanted, roles = _only(names, roles)
            rows = max(1, min(_BATCH // max(1, len(wanted)), 1 << 16))
            # One column after the other: threads would unpack many at once.
            batches = file.iter_batches(rows, columns=wanted, use_threads=False)
            return gather(_in_order(batches, wanted), wanted, roles, how, budget)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        raise _unreadable(budget.source, "Parquet", error) from error


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
    try:
        with pa.OSFile(str(path)) as stream, pa.ipc.open_file(stream) as reader:
            names = reader.schema.names
            roles = assign_roles(names, how, budget.source)
            batches = (_checked(reader.get_batch(i)) for i in range(reader.num_record_batches))
            return gather(batches, names, roles, how, budget)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        raise _unreadable(budget.source, "Feather", error) from error


def _unreadable(source: str, kind: str, error: Exception) -> InputError:
    return InputError(f"{source} is not a readable {kind} file: {str(error).splitlines()[0]}")
