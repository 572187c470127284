"""Columns that hold no numbers: what kind they are, how to turn them into numbers, what to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import eq
from typing import Literal

import numpy as np

from linkselect._arrays import FloatArray
from linkselect._messages import many
from linkselect.cli._errors import InputError, shown

# No two repetitions that could share the same signs stand side by side: a long value that does not
# match would be tried in every way to split it.
NUMBER = re.compile(
    r"\s*([-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan))\s*", re.IGNORECASE
)
_GROUPED = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")

# 5%, 12 mg or $5; but not p1, which is an id.
_WITH_UNIT = re.compile(
    r"[-+]?(\d+([.,]\d*)?\s*%|\d+([.,]\d*)?\s+[^\W\d][\w/%]*|[$€£]\s*\d+([.,]\d*)?)"
)

Kind = Literal[
    "numbers",
    "numbers with a unit",
    "yes and no",
    "dates",
    "text",
    "a different text in each row",
    "other",
]

_YES = {"true", "yes", "y", "t", "ja", "oui", "wahr", "vrai"}
_NO = {"false", "no", "n", "f", "nein", "non", "falsch", "faux"}
# Day and month first are told apart by a value that only one of them can read.
_DATES = (
    ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d-%b-%Y", "%d %b %Y"),
    ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
)
# One column for each value: of more, each would be rare.
MOST_VALUES = 10
_MOST_NAMED = 5
_ONE_EACH: Kind = "a different text in each row"


class MixedColumnError(InputError):
    """A column of numbers in which some value is none.

    Parameters
    ----------
    message : str
        What to say.
    place : int
        The number of the column.
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class TextColumn:
    """A column as text.

    Parameters
    ----------
    name : str
        What it is called.
    place : int
        Its number in the table.
    values : sequence of str or None
        None if a value is missing. Empty if the values cannot be written as text.
    """

    name: str
    place: int
    values: Sequence[str | None]

    @property
    def known(self) -> list[str]:
        """The values that are not missing."""
        return [value for value in self.values if value is not None]


def kind_of(column: TextColumn, source: str, decimal: str = ".", first_row: int = 1) -> Kind:
    """Tell what a column holds; refuse one of numbers with a value that is none.

    `first_row` is what a message calls the first value: in a spreadsheet not row 1.
    """
    known = column.known
    distinct = set(known)
    if not column.values:
        return "other"
    odd = {value for value in distinct if not _is_number(value, decimal)}
    if not odd:
        return "numbers"
    n_odd = sum(value in odd for value in known)
    like_numbers = {value for value in odd if _GROUPED.fullmatch(value) or _COMMA.fullmatch(value)}
    if 2 * (n_odd - sum(value in like_numbers for value in known)) <= len(known):
        raise _mixed(column, odd, source, decimal, first_row)
    if len({value.strip().casefold() for value in distinct} - _YES - _NO) == 0:
        return "yes and no"
    if _date_formats(distinct):
        return "dates"
    if all(map(_WITH_UNIT.fullmatch, distinct)):
        return "numbers with a unit"
    return _ONE_EACH if len(distinct) == len(column.values) > 2 else "text"


def _is_number(value: str, decimal: str) -> bool:
    plain = value if decimal == "." else value.replace(".", "?").replace(decimal, ".")
    return NUMBER.fullmatch(plain) is not None


def _mixed(
    column: TextColumn, odd: Collection[str], source: str, decimal: str, first_row: int
) -> MixedColumnError:
    row, value = next((i, value) for i, value in enumerate(column.values) if value in odd)
    return MixedColumnError(
        f"{source}, row {first_row + row}: {what_is_odd(column.name, value or '', decimal)}",
        column.place,
    )


def what_is_odd(name: str, value: str, decimal: str = ".", separator: str = ";") -> str:
    """Say what is wrong with one value among numbers, and what to do."""
    found = f"column {shown(name)} has the value {shown(value)}, not a number."
    hint = about_comma(value, decimal, separator)
    if hint is None:
        hint = (
            f"Correct it; or if it means a missing value, pass --missing {shown(value)}; or leave "
            f"the column out with --drop {shown(name)}."
        )
    return f"{found} {hint}"


def about_comma(value: str, decimal: str, separator: str) -> str | None:
    """Say what a comma in a number may mean."""
    grouped = _GROUPED.fullmatch(value)
    fraction = _COMMA.fullmatch(value) and "," not in (decimal, separator)
    hints = [
        "Write numbers without a sign between thousands." if grouped else "",
        "Is the comma a decimal sign? Pass --decimal , then." if fraction else "",
    ]
    return " ".join(filter(None, hints)) or None


def is_decimal_comma(values: Iterable[str]) -> bool:
    """Tell whether commas can only be decimal signs: 1,5 is no group of thousands.

    Examples
    --------
    >>> is_decimal_comma(["1,5", "2"]), is_decimal_comma(["1,500"]), is_decimal_comma(["1,5", "x"])
    (True, False, False)
    """
    with_comma = [value for value in values if not NUMBER.fullmatch(value)]
    return all(map(_COMMA.fullmatch, with_comma)) and any(
        not _GROUPED.fullmatch(value) for value in with_comma
    )


def _date_formats(distinct: Collection[str]) -> list[str]:
    """Return the ways in which all values can be read as dates."""
    return [how for some in _DATES for how in some if _reads_all(distinct, how)]


def _reads_all(distinct: Collection[str], how: str) -> bool:
    try:
        for value in distinct:
            _day(value, how)
    except ValueError:
        return False
    return True


def _day(text: str, how: str) -> float:
    """Read a date, perhaps with a time, as days since 1970."""
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


def encode(column: TextColumn, kind: Kind) -> dict[str, FloatArray]:
    """Turn a column into columns of numbers, NaN for a missing value; none if that cannot be.

    Dates become days since 1970, yes and no 1 and 0. Text of two values becomes one column, and
    of up to ten values one column for each.

    Examples
    --------
    >>> encode(TextColumn("sex", 0, ["f", "m", None]), "text")
    {'sex=m': array([ 0.,  1., nan])}
    """
    distinct = sorted(set(column.known))
    if kind == "yes and no":
        return {column.name: _by_value(column, lambda text: text.strip().casefold() in _YES)}
    if kind == "dates":
        formats = _date_formats(distinct)
        values = [_by_value(column, partial(_day, how=how)) for how in formats]
        return {column.name: values[0]} if _all_same(values) else {}
    if kind == "text" and 1 < len(distinct) <= MOST_VALUES:
        chosen = distinct[1:] if len(distinct) == 2 else distinct
        return {f"{column.name}={one}": _by_value(column, partial(eq, one)) for one in chosen}
    return {}


def why_not_encoded(column: TextColumn, kind: Kind) -> str:
    """Say why `encode` cannot turn a column into numbers; empty if its kind says it.

    Examples
    --------
    >>> why_not_encoded(TextColumn("when", 0, ["07/05/2020", "01/02/2020"]), "dates")
    'dates, of which it is unclear whether day or month comes first'
    """
    if kind == "dates":
        return "dates, of which it is unclear whether day or month comes first"
    if kind == "text":
        return f"text of {many(len(set(column.known)), 'value')}; 2 to {MOST_VALUES} can be encoded"
    return ""


def _by_value(column: TextColumn, number: Callable[[str], float]) -> FloatArray:
    known = {value: float(number(value)) for value in set(column.known)}
    return np.array([np.nan if value is None else known[value] for value in column.values])


def _all_same(values: list[FloatArray]) -> bool:
    return all(np.array_equal(values[0], other, equal_nan=True) for other in values)


# -- what to say -----------------------------------------------------------------------------


def note_on(
    kinds: dict[str, Kind],
    encoded: dict[str, list[str]],
    has_ids: bool = False,
    why_not: dict[str, str] | None = None,
) -> list[str]:
    """Say in one note what was left out, and in one what was encoded.

    Parameters
    ----------
    kinds : dict of str to str
        The columns that are no numbers, and what they are.
    encoded : dict of str to list of str
        The columns that each of these became; empty without --encode.
    has_ids : bool
        Whether another column holds the ids.
    why_not : dict of str to str, optional
        With --encode, why columns could not be encoded.
    """
    left = {name: kind for name, kind in kinds.items() if name not in encoded}
    notes = []
    if encoded:
        became = [_became(name, kinds[name], new) for name, new in encoded.items()]
        notes.append(f"turned into numbers: {_listed(became)}.")
    if left:
        way = _way_to_use(left, why_not is not None, has_ids)
        some = "1 column that holds" if len(left) == 1 else f"{len(left)} columns that hold"
        notes.append(f"left out {some} no numbers: {_by_kind(left, why_not or {})}. {way}".rstrip())
    return notes


def _way_to_use(left: dict[str, Kind], tried: bool, has_ids: bool) -> str:
    kinds = set(left.values())
    ways = []
    if not tried and kinds & {"text", "dates", "yes and no"}:
        ways.append(
            "--encode uses dates and yes or no as numbers, and text of up to "
            f"{MOST_VALUES} values as one column for each value."
        )
    elif "dates" in kinds:
        ways.append("Dates are used if they are written as 2024-12-31.")
    if "numbers with a unit" in kinds:
        ways.append("Numbers are used if they stand without their unit.")
    if _ONE_EACH in kinds and not has_ids:
        name = next(name for name, kind in left.items() if kind == _ONE_EACH)
        ways.append(f"--id-column {shown(name)} uses it as ids.")
    return " ".join(ways)


def _by_kind(left: dict[str, Kind], why_not: dict[str, str]) -> str:
    groups: dict[str, list[str]] = {}
    words: dict[str, str] = {"other": "lists or bytes"}
    for name, kind in left.items():
        about = why_not.get(name) or words.get(kind, kind)
        groups.setdefault(about, []).append(shown(name))
    return "; ".join(f"{_listed(names)} ({about})" for about, names in groups.items())


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(islice(names, _MOST_NAMED)) + (f" and {more:,} more" if more > 0 else "")


def _became(name: str, kind: Kind, new: list[str]) -> str:
    if kind == "dates":
        return f"{shown(name)} as days since 1970"
    if kind == "yes and no":
        return f"{shown(name)} as 1 and 0"
    return f"{shown(name)} as {' '.join(map(shown, new[:3]))}{' ...' if len(new) > 3 else ''}"
