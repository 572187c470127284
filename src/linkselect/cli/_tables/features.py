"""Put a table together from its columns: numbers, text, labels and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import many
from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.column_kinds import ONE_EACH, TextColumn, encode, kind_of, note_on
from linkselect.cli._tables.label_column import make_labels
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import Roles, Table, assign_roles, make_ids, value_text

# What pandas calls its index in a Parquet file.
INDEX_NAMES = ("", "__index_level_0__", "Unnamed: 0")
# A table with this many more rows than columns may have been meant the other way round.
_LIKE_TRANSPOSED = 4


@dataclass
class Parts:
    """The columns of a table as they were read.

    Parameters
    ----------
    numbers : array of shape (n_rows, n_numbers)
        The features that are numbers, NaN for missing values.
    places : sequence of int
        The number of each of these in the table.
    texts : dict of int to list
        The other features, by number: text, None if missing; an empty list if it is none.
    labels, ids : list, optional
        The values of these columns.
    where : callable
        What a message calls a row.
    separator : str
        What stands between values.
    """

    numbers: NDArray[Any]
    places: Sequence[int]
    texts: dict[int, list[str | None]] = field(default_factory=dict)
    labels: list[Any] | None = None
    ids: list[Any] | None = None
    where: Callable[[int], str] = lambda row: f"row {row + 1}"
    separator: str = ";"


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Give every column a name of its own; the first may have none. Return them and notes.

    Examples
    --------
    >>> unique_names(["a", "b", "a", ""])[0]
    ('a', 'b', 'a.2', 'column 4')
    """
    taken, seen, found, repeated = set(names), Counter[str](), [], []
    # Where to go on looking for a free number, so that none is tried twice.
    numbers: dict[str, Iterator[int]] = {}
    for place, name in enumerate(names):
        seen[name] += 1
        new = name
        if name == "" and place > 0:
            new = f"column {place + 1}"
        elif seen[name] > 1:
            repeated.append(name)
            untried = numbers.setdefault(name, count(2))
            new = next(one for i in untried if (one := f"{name}.{i}") not in taken)
        taken.add(new)
        found.append(new)
    if not repeated:
        return tuple(found), []
    return tuple(found), [
        f"the name {shown(repeated[0])} stands in the header {seen[repeated[0]]} times"
        + (f", and so do {many(len(set(repeated)) - 1, 'other name')}" * (len(set(repeated)) > 1))
        + f"; later ones are called {shown(repeated[0] + '.2')} and so on."
    ]


def from_columns(
    names: Sequence[str],
    columns: Sequence[Sequence[Any]],
    file: TableFile,
    notes: Sequence[str] = (),
    first_row: int = 1,
) -> Table:
    """Put a table together from the cells of each column: text, numbers, None if missing.

    `first_row` is what a message calls the first row: in a spreadsheet not row 1.
    """
    names, renamed = unique_names(names)
    roles = assign_roles(names, file)
    n_rows = len(columns[0]) if columns else 0
    file.check(n_rows, max(1, len(roles.features)))
    marks = frozenset(file.missing)
    numbers: dict[int, FloatArray] = {}
    texts: dict[int, list[str | None]] = {}
    for place in roles.features:
        values = as_floats(columns[place], file.how.decimal, marks)
        if values is None:
            some = map(value_text, columns[place])
            texts[place] = [None if text in marks else text for text in some]
        else:
            numbers[place] = values
    parts = Parts(
        np.column_stack(list(numbers.values())) if numbers else np.empty((n_rows, 0)),
        tuple(numbers),
        texts,
        None if roles.label is None else list(columns[roles.label]),
        None if roles.ids is None else list(columns[roles.ids]),
        lambda row: f"row {first_row + row}",
    )
    return assemble(parts, names, roles, file, (*notes, *renamed))


def as_floats(cells: Sequence[Any], decimal: str, marks: Collection[str]) -> FloatArray | None:
    """Read cells as numbers; None if a cell is none."""
    plain = ["nan" if one is None or one in marks else one for one in cells]
    if not set(map(type, plain)) <= {str, float, int}:
        return None
    text = [one for one in plain if isinstance(one, str)]
    joined = "".join(text)
    if "_" in joined or (decimal != "." and "." in joined):
        return None
    if decimal != ".":
        plain = [one.replace(decimal, ".") if isinstance(one, str) else one for one in plain]
    try:
        return np.array(list(map(float, plain)), dtype=np.float64)
    except (ValueError, OverflowError):
        return None


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


def assemble(
    parts: Parts, names: Sequence[str], roles: Roles, file: TableFile, notes: Sequence[str] = ()
) -> Table:
    """Put a table together; columns without numbers are left out or encoded, and that is said."""
    how = file.how
    parts, blank = _without_blank_rows(parts, file.missing)
    parts, index = _without_index(parts, names, file.name)
    texts = [TextColumn(names[place], values) for place, values in parts.texts.items()]
    kinds: dict[str, str] = {}
    added: dict[str, FloatArray] = {}
    encoded: dict[str, list[str]] = {}
    for column in texts:
        kind = kind_of(column, file, parts.separator, parts.where)
        if kind == "numbers":
            values = as_floats(column.values, how.decimal, ())
            added[column.name] = np.full(len(column.values), np.nan) if values is None else values
            continue
        kinds[column.name] = kind
        if how.encode and (new := encode(column, kind)):
            encoded[column.name] = list(new)
            added |= new
    names_rows = bool(index) or list(kinds.values()) == [ONE_EACH]
    hints = _transposed_hint(parts, how) if names_rows and len(kinds) < 2 else []
    labels, about_labels = make_labels(parts.labels, file, file.missing)
    features = (*(names[place] for place in parts.places), *added)
    left_out = tuple(name for name in kinds if name not in encoded)
    if left_out and not features:
        raise InputError(
            f"{file.name}: no column of numbers is left to rank; "
            f"{', '.join(map(shown, left_out[:5]))} hold none. Pass --encode to use dates, yes or "
            "no, and text of few values. Is the separator right (--separator)?"
        )
    return Table(
        np.column_stack([parts.numbers, *added.values()]) if added else parts.numbers,
        features,
        labels,
        make_ids(parts.ids, None if roles.ids is None else names[roles.ids], file.name),
        file.name,
        (*notes, *blank, *index, *note_on(texts, kinds, encoded, how), *hints, *about_labels),
        left_out,
    )


def _without_blank_rows(parts: Parts, marks: Collection[str]) -> tuple[Parts, list[str]]:
    """Leave out rows at the end in which every cell is empty, as a spreadsheet saves them.

    Only at the end: pairs may name rows by their number.
    """
    if not (len(parts.places) or parts.texts):
        return parts, []
    blank = np.isnan(parts.numbers).all(axis=1) if parts.numbers.dtype.kind == "f" else None
    if blank is None or not blank.any():
        return parts, []
    for values in parts.texts.values():
        blank &= _is_missing(values, ()) if values else False
    for some in (parts.labels, parts.ids):
        if some is not None:
            blank &= _is_missing(some, marks)
    n_kept = 1 + int(np.flatnonzero(~blank).max(initial=-1))
    if n_kept in (0, len(blank)):
        return parts, []
    return replace(
        parts,
        numbers=parts.numbers[:n_kept],
        texts={place: values[:n_kept] for place, values in parts.texts.items()},
        labels=None if parts.labels is None else parts.labels[:n_kept],
        ids=None if parts.ids is None else parts.ids[:n_kept],
    ), [f"left out {many(len(blank) - n_kept, 'row')} without any value at the end."]


def _is_missing(values: Iterable[Any], marks: Collection[str]) -> BoolArray:
    return np.array([value_text(value) in ("", *marks) for value in values], dtype=bool)


def _without_index(parts: Parts, names: Sequence[str], source: str) -> tuple[Parts, list[str]]:
    """Leave out a column of row names or numbers that has no name of its own."""
    places = [*parts.places, *parts.texts]
    place = next((place for place in places if names[place] in INDEX_NAMES), None)
    if place is None:
        return parts, []
    name = names[place]
    if place in parts.texts:
        values: list[Any] = list(parts.texts[place])
    else:
        values = parts.numbers[:, list(parts.places).index(place)].tolist()
    known = [value for value in values if value is not None and value == value]
    if len(set(known)) < len(values) and known:
        if name:
            return parts, []
        raise InputError(
            f"{source}: column {place + 1} has no name, and does not number or name the rows. Give "
            "it a name, or leave it out with --drop ''."
        )
    kept = [i for i, one in enumerate(parts.places) if one != place]
    rest = replace(
        parts,
        numbers=parts.numbers[:, kept] if len(kept) < len(parts.places) else parts.numbers,
        places=tuple(parts.places[i] for i in kept),
        texts={one: text for one, text in parts.texts.items() if one != place},
    )
    return rest, [about_index(name)]


def about_index(name: str) -> str:
    """Say that a column was left out since it names or numbers the rows."""
    called = f"the column {shown(name)}" if name else "the column that has no name,"
    return (
        f"left out {called} since it names or numbers the rows; --id-column {shown(name)} uses it "
        "as ids."
    )


def about_named_index(names: Iterable[str]) -> list[str]:
    """Point to columns that pandas wrote as the index, and that have a name like any other."""
    return [
        f"pandas wrote the column {shown(name)} as the index; --id-column {shown(name)} uses it as "
        "ids, and pairs name rows by number without that."
        for name in names
        if name not in INDEX_NAMES
    ]


def _transposed_hint(parts: Parts, how: Reading) -> list[str]:
    """Wonder about a table with far more rows than columns, whose rows have names."""
    n_rows, n_numbers = parts.numbers.shape
    told = how.label is not None or how.id_column is not None or how.transpose
    if told or n_rows < max(100, _LIKE_TRANSPOSED * n_numbers):
        return []
    return [
        f"each of {n_rows:,} rows has a name, and only {n_numbers} columns are numbers. If rows "
        "are features, such as genes, and columns are samples, pass --transpose."
    ]
