"""Read text tables of very many columns, row by row.

Arrow holds about ten kilobytes for each column while it reads text, and grows slow: 400 lines of
100,000 values took a minute and a half.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray
from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.batches import without_marks
from linkselect.cli._tables.column_kinds import NUMBER, is_decimal_comma
from linkselect.cli._tables.features import Parts, as_floats, assemble, missing_marks
from linkselect.cli._tables.layout import Layout
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.table import Reading, Roles, Table

# From so many columns on, rows are faster one by one.
WIDE = 10_000
# The bytes that a value of the line that is being read takes, as text and as a number.
_PER_VALUE = 200
_COMMA = re.compile(r"-?\d+,\d+")
_MOST_COMMAS = 1_000


def read_wide(
    open_values: Callable[[], Any], layout: Layout, roles: Roles, how: Reading, budget: Budget
) -> Table:
    """Read the values of a text table row by row; a decimal comma is recognized."""
    budget.check_bytes(_PER_VALUE * len(layout.names), "a line")
    found = _read_numbers(open_values, layout, roles, how, budget)
    notes = list(layout.notes)
    commas = found.commas
    if how.decimal == "." and layout.separator != "," and commas and is_decimal_comma(commas):
        with_comma = replace(how, decimal=",")
        other = _read_numbers(open_values, layout, roles, with_comma, budget)
        if other.is_text.sum() < found.is_text.sum():
            found, how = other, with_comma
            notes.append(f"commas are read as decimal signs, such as in {shown(min(commas))}.")
    features = np.array(roles.features, dtype=int)
    texts = _read_texts(open_values, layout, features[found.is_text].tolist(), how, budget)
    parts = Parts(
        without_marks(found.numbers, how.missing),
        features[~found.is_text].tolist(),
        texts,
        None if roles.label is None else found.labels,
        None if roles.ids is None else found.ids,
        missing_marks(how, layout.nulls),
    )
    return assemble(parts, layout.names, roles, how, budget.source, notes)


def _rows(
    open_values: Callable[[], Any], layout: Layout, how: Reading, budget: Budget
) -> Iterator[list[str]]:
    """Split lines into values; the caller explains what is wrong with one."""
    import pyarrow as pa

    n_rows = 0
    with open_values() as stream:
        lines = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
        for row in csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote):
            if not row:
                continue
            if len(row) != len(layout.names):
                raise pa.ArrowInvalid("A line has another number of values than the header.")
            n_rows += 1
            yield row
    if not n_rows:
        raise InputError(f"{budget.source} has {len(layout.names)} columns, but no rows.")


@dataclass
class _Numbers:
    """The features that are numbers in every row, and what was found beside them.

    `is_text` tells which features have a value that is no number; `commas` are such values with a
    comma.
    """

    numbers: FloatArray
    is_text: BoolArray
    commas: set[str]
    labels: list[str]
    ids: list[str]


def _read_numbers(
    open_values: Callable[[], Any], layout: Layout, roles: Roles, how: Reading, budget: Budget
) -> _Numbers:
    marks = frozenset(missing_marks(how, layout.nulls))
    n_features = len(roles.features)
    found = _Numbers(np.empty((0, 0)), np.zeros(n_features, dtype=bool), set(), [], [])
    rows: list[FloatArray] = []
    for row in _rows(open_values, layout, how, budget):
        budget.check(len(rows) + 1, max(1, n_features))
        if roles.label is not None:
            found.labels.append(row[roles.label])
        if roles.ids is not None:
            found.ids.append(row[roles.ids])
        cells = [row[place] for place in roles.features]
        for i in np.flatnonzero(found.is_text):
            cells[i] = ""
        numbers = as_floats(cells, how.decimal, marks)
        rows.append(_one_by_one(cells, how.decimal, marks, found) if numbers is None else numbers)
    is_number = ~found.is_text
    if not is_number.all():
        rows = [row[is_number] for row in rows]
    found.numbers = np.array(rows)
    return found


def _one_by_one(
    cells: list[str], decimal: str, marks: Collection[str], found: _Numbers
) -> FloatArray:
    """Read a row in which some value is no number, and note which features have one."""
    numbers = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        text = cell.strip()
        plain = text if decimal == "." else text.replace(".", "?").replace(decimal, ".")
        if NUMBER.fullmatch(plain):
            numbers[i] = float(plain)
        elif text not in marks:
            found.is_text[i] = True
            if _COMMA.fullmatch(text) and len(found.commas) < _MOST_COMMAS:
                found.commas.add(text)
    return numbers


def _read_texts(
    open_values: Callable[[], Any],
    layout: Layout,
    places: list[int],
    how: Reading,
    budget: Budget,
) -> dict[int, list[str | None]]:
    """Read columns as text, None for missing values."""
    texts: dict[int, list[str | None]] = {place: [] for place in places}
    marks = frozenset(missing_marks(how, layout.nulls))
    for n_rows, row in enumerate(_rows(open_values, layout, how, budget) if places else (), 1):
        budget.check_bytes(_PER_VALUE * n_rows * len(places), "text")
        for place in places:
            text = row[place].strip()
            texts[place].append(None if text in marks else text)
    return texts
