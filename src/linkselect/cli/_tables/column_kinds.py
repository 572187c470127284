"""Classify non-numeric columns, encode them as numbers, and report the changes."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import eq
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray
from linkselect._messages import first_few, many
from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.reading import Reading, TableFile

# No two adjacent repetitions match the same characters. Otherwise a long value without a match
# would cause exponential backtracking.
NUMBER = re.compile(
    r"\s*([-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan))\s*", re.IGNORECASE
)
GROUPED = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")

# Matches 5%, 12 mg and $5, but not p1, which is an id.
_WITH_UNIT = re.compile(
    r"[-+]?(\d+([.,]\d*)?\s*%|\d+([.,]\d*)?\s+[^\W\d][\w/%]*|[$€£]\s*\d+([.,]\d*)?)"
)

_YES = {"true", "yes", "y", "t", "ja", "oui", "wahr", "vrai"}
_NO = {"false", "no", "n", "f", "nein", "non", "falsch", "faux"}
# A value that only one format can read decides whether the day or the month comes first.
_DATES: tuple[str, ...] = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d-%b-%Y", "%d %b %Y")
_DATES += ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
# One column for each value. With more values, each would be rare.
MOST_VALUES = 10
_MOST_NAMED = 5
_ONE_EACH = "different text in each row"


@dataclass(frozen=True)
class TextColumn:
    """A column as text.

    Parameters
    ----------
    name : str
        The name of the column.
    values : sequence of str or None
        The values, with None for missing values. The sequence is empty if the values cannot be
        written as text.
    """

    name: str
    values: Sequence[str | None]

    @property
    def known(self) -> list[str]:
        """The values that are not missing."""
        return [value for value in self.values if value is not None]


def kind_of(
    column: TextColumn, file: TableFile, separator: str, where: Callable[[int], str]
) -> str:
    """Return the kind of a column; raise an error if a numeric column has a non-numeric value.

    Parameters
    ----------
    column : TextColumn
        The column.
    file : TableFile
        The file, which provides its name for messages and its decimal separator.
    separator : str
        The separator between values.
    where : callable
        A function that returns the name of a row for messages.
    """
    known, decimal = column.known, file.how.decimal
    distinct = set(known)
    if not column.values:
        return "lists or bytes"
    odd = {value for value in distinct if not _is_number(value, decimal)}
    if not odd:
        return "numbers"
    other = {one for one in odd if not (GROUPED.fullmatch(one) or COMMA.fullmatch(one))}
    if 2 * sum(value in other for value in known) <= len(known):
        row, value = next((i, value) for i, value in enumerate(column.values) if value in odd)
        raise InputError(
            f"{file.name}, {where(row)}: {file.feature} {shown(column.name)} has the value "
            f"{shown(value)}, which is not a number. "
            f"{_hint(column.name, value or '', file, separator)}"
        )
    if {value.strip().casefold() for value in distinct} <= _YES | _NO:
        return "yes/no"
    if _days(distinct):
        return "dates"
    if all(map(_WITH_UNIT.fullmatch, distinct)):
        return "numbers with a unit"
    return _ONE_EACH if len(distinct) == len(column.values) > 2 else "text"


def _is_number(value: str, decimal: str) -> bool:
    plain = value if decimal == "." else value.replace(".", "?").replace(decimal, ".")
    return NUMBER.fullmatch(plain) is not None


def as_floats(cells: Sequence[Any], decimal: str, marks: Collection[str]) -> FloatArray | None:
    """Convert cells to numbers, or return None if a cell is not a number."""
    found = []
    for cell in cells:
        if cell is None or cell in marks:
            found.append(np.nan)
        elif isinstance(cell, str) and _is_number(cell, decimal):
            found.append(float(cell.replace(decimal, ".")))
        elif type(cell) in (float, int):
            found.append(float(cell))
        else:
            return None
    return np.array(found, dtype=np.float64)


def _hint(name: str, value: str, file: TableFile, separator: str) -> str:
    """Suggest how to handle a non-numeric value among numbers; a comma in it is ambiguous."""
    fraction = COMMA.fullmatch(value) and "," not in (file.how.decimal, separator)
    hints = [
        "Write numbers without a thousands separator." if GROUPED.fullmatch(value) else "",
        'If the comma is a decimal separator, pass --decimal ",".' if fraction else "",
    ]
    return " ".join(filter(None, hints)) or (
        f"Correct the value, pass --missing {shown(value)} if it means a missing value, or skip "
        f"the {file.feature} with --drop {shown(name)}."
    )


def _days(distinct: Iterable[str]) -> list[dict[str, float]]:
    """Convert the dates to days, once for each date format that matches all of them."""
    found = []
    for how in _DATES:
        with suppress(ValueError):
            found.append({text: _day(text, how) for text in distinct})
    return found


def _day(text: str, how: str) -> float:
    """Convert a date, with or without a time, to days since 1970."""
    text = text.strip()
    if how == "%Y-%m-%d":
        moment = datetime.fromisoformat(text)
        if "-" not in text[:8]:
            raise ValueError(text)
    else:
        moment = datetime.strptime(text, how)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.timestamp() / 86400


# -- numbers ---------------------------------------------------------------------------------


def encode(column: TextColumn, kind: str, decimal: str = ".") -> dict[str, FloatArray]:
    """Encode a column as numeric columns, with NaN for missing values; return {} if impossible.

    Dates become days since 1970; yes/no values become 1 and 0. Text with two values becomes one
    column, and text with up to ten values becomes one column for each value.

    Examples
    --------
    >>> encode(TextColumn("sex", ["f", "m", None]), "text")
    {'sex=m': array([ 0.,  1., nan])}
    """
    distinct = sorted(set(column.known))
    if kind == "numbers":
        return {column.name: _by_value(column, lambda text: float(text.replace(decimal, ".")))}
    if kind == "yes/no":
        return {column.name: _by_value(column, lambda text: text.strip().casefold() in _YES)}
    if kind == "dates":
        days = _days(distinct)
        same = all(one == days[0] for one in days)
        return {column.name: _by_value(column, days[0].__getitem__)} if same else {}
    if kind == "text" and 1 < len(distinct) <= MOST_VALUES:
        chosen = distinct[1:] if len(distinct) == 2 else distinct
        return {f"{column.name}={one}": _by_value(column, partial(eq, one)) for one in chosen}
    return {}


def _what(column: TextColumn, kind: str, how: Reading) -> str:
    """Describe a column and, with --encode, the reason why it was not encoded.

    Examples
    --------
    >>> column = TextColumn("when", ["07/05/2020", "01/02/2020"])
    >>> _what(column, "dates", Reading(encode=True))
    'dates with an unclear order of day and month'
    """
    if how.encode and kind == "dates":
        return "dates with an unclear order of day and month"
    if how.encode and kind == "text":
        n_values = many(len(set(column.known)), "value")
        return f"text with {n_values}; 2 to {MOST_VALUES} can be encoded"
    return kind


def _by_value(column: TextColumn, number: Callable[[str], float]) -> FloatArray:
    known = {value: float(number(value)) for value in set(column.known)}
    return np.array([np.nan if value is None else known[value] for value in column.values])


# -- notes ------------------------------------------------------------------------------------


def note_on(
    texts: Sequence[TextColumn],
    kinds: dict[str, str],
    encoded: dict[str, list[str]],
    how: Reading,
) -> list[str]:
    """Return a note on the columns that were left out and a note on those that were encoded.

    Parameters
    ----------
    texts : sequence of TextColumn
        The text columns.
    kinds : dict of str to str
        The kind of each column that is not numeric.
    encoded : dict of str to list of str
        The new columns that replace each encoded column; empty without --encode.
    how : Reading
        The options, such as --encode and the id column.
    """
    left = {column.name: column for column in texts if column.name in kinds.keys() - encoded.keys()}
    notes = []
    if encoded:
        became = [_became(name, kinds[name], new) for name, new in encoded.items()]
        notes.append(f"Encoded as numbers: {first_few(became, _MOST_NAMED)}.")
    if left:
        groups: dict[str, list[str]] = {}
        for name, column in left.items():
            groups.setdefault(_what(column, kinds[name], how), []).append(shown(name))
        listed = "; ".join(f"{first_few(n, _MOST_NAMED)} ({what})" for what, n in groups.items())
        way = _way_to_use({name: kinds[name] for name in left}, how)
        notes.append(f"Left out {many(len(left), 'non-numeric column')}: {listed}. {way}".rstrip())
    return notes


def _way_to_use(left: dict[str, str], how: Reading) -> str:
    kinds = set(left.values())
    ways = []
    if not how.encode and kinds & {"text", "dates", "yes/no"}:
        ways.append(
            "--encode converts dates and yes/no to numbers, and text with up to "
            f"{MOST_VALUES} values to one column for each value."
        )
    elif "dates" in kinds:
        ways.append("Write dates as 2024-12-31 to use them.")
    if "numbers with a unit" in kinds:
        ways.append("Remove the units to use these numbers.")
    if _ONE_EACH in kinds and how.id_column is None:
        name = next(name for name, kind in left.items() if kind == _ONE_EACH)
        ways.append(f"--id-column {shown(name)} uses that column as ids.")
    return " ".join(ways)


def _became(name: str, kind: str, new: list[str]) -> str:
    if kind == "dates":
        return f"{shown(name)} as days since 1970"
    if kind == "yes/no":
        return f"{shown(name)} as 1 and 0"
    return f"{shown(name)} as {' '.join(map(shown, new[:3]))}{' ...' if len(new) > 3 else ''}"
