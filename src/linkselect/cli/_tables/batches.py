"""From Arrow record batches to a table, one batch at a time, so that memory is watched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli._errors import InputError
from linkselect.cli._tables.features import Parts, assemble, missing_marks
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.table import MISSING, Reading, Roles, Table

if TYPE_CHECKING:
    import pyarrow as pa


def gather(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    roles: Roles,
    how: Reading,
    budget: Budget,
    missing: tuple[str, ...] = MISSING,
    notes: Sequence[str] = (),
) -> Table:
    """Join batches into one table, and stop as soon as it takes more than the budget.

    Parameters
    ----------
    batches, names, roles, how, budget
        The columns, what they are called and are for, and how much memory they may take.
    missing : tuple of str
        What stands for a missing value in text.
    notes : sequence of str
        What was found before, to be said with the rest.
    """
    marks = missing_marks(how, missing)
    blocks: list[NDArray[Any]] = []
    texts: dict[int, list[Any]] = {}
    labels: list[Any] = []
    ids: list[Any] = []
    places: list[int] = []
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        budget.check(n_rows, max(1, len(roles.features)))
        places = [place for place in roles.features if _is_numeric(batch.column(place).type)]
        blocks.append(_numbers(batch, places, how.missing))
        for place in roles.features:
            if not _is_numeric(batch.column(place).type):
                texts.setdefault(place, []).extend(_texts(batch.column(place), marks))
        if roles.label is not None:
            labels += batch.column(roles.label).to_pylist()
        if roles.ids is not None:
            ids += batch.column(roles.ids).to_pylist()
    if n_rows == 0:
        raise InputError(f"{budget.source} has {len(names)} columns, but no rows.")
    parts = Parts(
        np.concatenate(blocks),
        places,
        texts,
        None if roles.label is None else labels,
        None if roles.ids is None else ids,
        marks,
    )
    return assemble(parts, names, roles, how, budget.source, notes)


def _is_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _texts(column: pa.Array, marks: Sequence[str]) -> list[str | None]:
    """Write a column as text, None for missing values; an empty list if it cannot be."""
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


def _numbers(
    batch: pa.RecordBatch, features: Sequence[int], missing: Sequence[str]
) -> NDArray[Any]:
    """Copy columns into a matrix, NaN for missing values."""
    kinds = {str(batch.column(place).type) for place in features}
    # Half precision is widened: nothing that follows computes in it.
    dtype = np.float32 if kinds <= {"float", "halffloat"} else np.float64
    block = np.empty((batch.num_rows, len(features)), dtype=dtype)
    for j, place in enumerate(features):
        block[:, j] = _floats(batch.column(place))
    return without_marks(block, missing)


def _floats(column: pa.Array) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def without_marks(block: NDArray[Any], missing: Sequence[str]) -> NDArray[Any]:
    """Put NaN for numbers that mean a missing value, such as -999."""
    for mark in missing:
        try:
            number = float(mark)
        except ValueError:
            continue
        if (block == number).any():
            block = np.where(block == number, np.nan, block)
    return block
