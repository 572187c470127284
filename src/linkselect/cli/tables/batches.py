"""From Arrow record batches to a table, one batch at a time, so that memory is watched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli.errors import InputError, shown
from linkselect.cli.tables.limits import Budget
from linkselect.cli.tables.table import Reading, Roles, Table, make_ids, make_labels

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["gather"]


def gather(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    roles: Roles,
    how: Reading,
    budget: Budget,
) -> Table:
    """Join batches into one table, and stop as soon as it takes more than the budget."""
    blocks: list[NDArray[Any]] = []
    labels: list[Any] = []
    ids: list[Any] = []
    n_rows = 0
    for batch in batches:
        _check_types(batch, names, roles, n_rows, budget.source)
        n_rows += batch.num_rows
        budget.check(n_rows, max(1, len(roles.features)))
        blocks.append(_numbers(batch, roles.features))
        if roles.label is not None:
            labels += batch.column(roles.label).to_pylist()
        if roles.ids is not None:
            ids += batch.column(roles.ids).to_pylist()
    if n_rows == 0:
        raise InputError(f"{budget.source} has {len(names)} columns, but no rows.")
    return Table(
        np.concatenate(blocks),
        tuple(names[i] for i in roles.features),
        None if roles.label is None else make_labels(labels, how, budget.source),
        None if roles.ids is None else make_ids(ids, names[roles.ids], budget.source),
        budget.source,
    )


def _check_types(
    batch: pa.RecordBatch, names: Sequence[str], roles: Roles, n_before: int, source: str
) -> None:
    for place in roles.features:
        column = batch.column(place)
        if not _is_numeric(column.type):
            row, value = next(
                ((i, value) for i, value in enumerate(column.to_pylist()) if value is not None),
                (0, None),
            )
            raise InputError(
                f"{source}, row {n_before + row + 1}: column {shown(names[place])} has the value "
                f"{shown(value)} ({column.type}), which is not a number. {way_out(names[place])}"
            )


def way_out(name: str) -> str:
    """Say what to do about a column that holds no numbers."""
    return (
        f"Name the column by --label or --id-column if it is one, leave it out with "
        f"--drop {shown(name)}, or turn its values into numbers."
    )


def _is_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _numbers(batch: pa.RecordBatch, features: Sequence[int]) -> NDArray[Any]:
    """Copy columns into a matrix, NaN for missing values."""
    kinds = {str(batch.column(place).type) for place in features}
    # Half precision is widened: nothing that follows computes in it.
    dtype = np.float32 if kinds <= {"float", "halffloat"} else np.float64
    block = np.empty((batch.num_rows, len(features)), dtype=dtype)
    for j, place in enumerate(features):
        block[:, j] = _floats(batch.column(place))
    return block


def _floats(column: pa.Array) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)
