"""Assemble a table from its columns: numbers, text, labels and ids."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import FloatArray
from linkselect._messages import first_few, many
from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.column_kinds import TextColumn, as_floats, encode, kind_of, note_on
from linkselect.cli._tables.label_column import describe_rows
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import INDEX_NAMES, Table, assign_roles, value_text, without_marks

# A table with this many times more rows than columns may need --transpose.
_LIKE_TRANSPOSED = 4


@dataclass
class Parts:
    """The columns of a table as they were read.

    Parameters
    ----------
    numbers : array of shape (n_rows, n_numbers)
        The numeric features, with NaN for missing values.
    places : sequence of int
        The position of each numeric feature in the table.
    texts : dict of int to list
        The other features by position: their text with None for missing values, or an empty list if
        they are not text.
    others : dict of str to list
        The values of the "label", "ids", "group" and "batch" columns that exist.
    where : callable
        A function that returns the name of a row for messages.
    separator : str
        The separator between values.
    """

    numbers: NDArray[Any]
    places: Sequence[int]
    texts: dict[int, list[str | None]] = field(default_factory=dict)
    others: dict[str, list[Any]] = field(default_factory=dict)
    where: Callable[[int], str] = lambda row: f"row {row + 1}"
    separator: str = ";"


def unique_names(
    names: Sequence[str], what: str = "feature name"
) -> tuple[tuple[str, ...], list[str]]:
    """Return unique column names (the first may be empty), and notes on changes.

    Examples
    --------
    >>> names, notes = unique_names(["a", "b", "a", ""])
    >>> names
    ('a', 'b', 'a.2', 'column 4')
    >>> notes
    ["Duplicate feature name 'a'; the second is renamed 'a.2'."]
    """
    taken, found = set(names), dict[str, None]()
    renamed: list[tuple[str, str]] = []
    # The search for a free number continues here, so that none is tried twice.
    numbers = defaultdict[str, Iterator[int]](lambda: count(2))
    for place, name in enumerate(names):
        new = name or (f"column {place + 1}" if place else "")
        if new in found:
            old, new = new, next(one for i in numbers[new] if (one := f"{new}.{i}") not in taken)
            taken.add(new)
            renamed.append((old, new))
        found[new] = None
    if not renamed:
        return tuple(found), []
    old, new = renamed[0]
    is_one = len(renamed) == 2
    more = f" {many(len(renamed) - 1, 'other duplicate')} {'is' if is_one else 'are'} renamed too."
    return tuple(found), [
        f"Duplicate {what} {shown(old)}; the second is renamed {shown(new)}."
        f"{more if len(renamed) > 1 else ''}"
    ]


def header_names(names: Sequence[str], file: TableFile) -> tuple[tuple[str, ...], list[str]]:
    """Make the names in the header unique; reject a repeated sample id if metadata are joined."""
    if file.how.transpose and file.how.metadata is not None:
        sample, times = Counter(filter(None, names)).most_common(1)[0]
        if times > 1:
            raise InputError(
                f"{file.name}: sample {shown(sample)} appears {times} times in the header, so "
                f"{file.how.metadata.name} cannot be joined to it. Rename one of them."
            )
    return unique_names(names, file.in_header)


def from_columns(
    names: Sequence[str],
    columns: Sequence[Sequence[Any]],
    file: TableFile,
    notes: Sequence[str] = (),
    first_row: int = 1,
) -> Table:
    """Assemble a table from columns, whose cells are text, numbers or None (missing).

    In messages, the number of the first row is `first_row`, which is not 1 in a spreadsheet. In a
    transposed table, the first column is the header.
    """
    is_header = file.how.transpose
    names, renamed = unique_names(names)
    roles = assign_roles(names, file, ids_first=is_header)
    if is_header and columns:
        ids, about_ids = header_names(list(map(value_text, columns[0])), file)
        columns, renamed = [ids, *columns[1:]], [*about_ids, *renamed]
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
        {role: list(columns[place]) for role, place in roles.others.items()},
        (lambda row: f"column {shown(ids[row])}")
        if is_header
        else (lambda row: f"row {first_row + row}"),
    )
    return assemble(parts, names, file, (*notes, *renamed))


def from_transposed(
    names: Sequence[str],
    ids: Sequence[str],
    numbers: FloatArray,
    texts: Mapping[int, list[str | None]],
    asked: Mapping[int, list[str]],
    file: TableFile,
    notes: Sequence[str] = (),
) -> Table:
    """Assemble a table whose rows are features.

    Parameters
    ----------
    names : sequence of str
        The first name in the header, and the name of each row.
    ids : sequence of str
        The other names in the header.
    numbers : array of shape (n_samples, n_features)
        The values of each row of the file, as a column of the array.
    texts : mapping of int to list
        The rows that are not numeric, numbered from 0.
    asked : mapping of int to list
        The rows that are needed as text.
    file, notes
        The file, and notes about it.
    """
    names, renamed = unique_names(names)
    roles = assign_roles(names, file, ids_first=True)
    others = {
        role: list(ids) if place == 0 else asked.get(place - 1) or numbers[:, place - 1].tolist()
        for role, place in roles.others.items()
    }
    places = [place for place in roles.features if place - 1 not in texts]
    if len(places) < len(names) - 1:
        numbers = numbers[:, np.array(places, np.intp) - 1]
    parts = Parts(
        without_marks(numbers, file.how.missing),
        places,
        {place: texts[place - 1] for place in roles.features if place - 1 in texts},
        others,
        lambda row: f"column {shown(ids[row])}",
    )
    return assemble(parts, names, file, (*notes, *renamed))


def from_matrix(
    X: Any,
    file: TableFile,
    names: Sequence[str] | None,
    beside: Mapping[str, Any],
    known: Sequence[str],
) -> Table:
    """Split a matrix, which may be in memory or on disk, into features, labels and ids.

    Parameters
    ----------
    X : array, CSR matrix or Stored
        One row for each sample.
    file : TableFile
        The file that contains the matrix.
    names : sequence of str, optional
        Names of the columns. Default: x0, x1, ...
    beside : mapping of str to array
        Other arrays in the file, which may contain the labels or the ids.
    known : sequence of str
        Names of all arrays in the file, for messages.
    """
    n_rows, n_columns = X.shape
    called = [f"x{i}" for i in range(n_columns)] if names is None else names
    roles = assign_roles(called, file, names is None, known, beside)
    whole = Table(X, tuple(called), None, None, file.name)

    def values(role: str, name: str | None) -> NDArray[Any] | None:
        if name is not None and name in beside:
            array = beside[name]
            if prod(array.shape) != n_rows:
                raise InputError(
                    f"{file.name}: {name} has the shape {array.shape}, but there are "
                    f"{many(n_rows, 'row')}."
                )
        elif role in roles.others:
            array = whole.with_features([roles.others[role]]).X
        else:
            return None
        return np.ravel(array.toarray() if issparse(array) else array)

    found = {role: values(role, name) for role, (name, _) in file.named.items()}
    rows, notes = describe_rows(found, file)
    if file.wanted != "all":
        whole = Table(np.empty((n_rows, 0)), (), None, None, file.name, left_out=(*known, *called))
    elif len(roles.features) < n_columns:
        whole = whole.with_features(roles.features)
    return replace(whole, **rows, notes=tuple(notes))


def assemble(
    parts: Parts, names: Sequence[str], file: TableFile, notes: Sequence[str] = ()
) -> Table:
    """Assemble a table; encode or leave out non-numeric columns, and add notes on them."""
    how = file.how
    parts, blank = _without_blank_rows(parts, file)
    parts, index = _without_index(parts, names, file)
    texts = [TextColumn(names[place], values) for place, values in parts.texts.items()]
    kinds: dict[str, str] = {}
    added: dict[str, FloatArray] = {}
    encoded: dict[str, list[str]] = {}
    for column in texts:
        kind = kind_of(column, file, parts.separator, parts.where)
        new = encode(column, kind, how.decimal) if how.encode or kind == "numbers" else {}
        added |= new
        if kind != "numbers":
            kinds[column.name] = kind
            if new:
                encoded[column.name] = list(new)
    # A few rows may share a name, such as two probes of one gene.
    named = [2 * len(set(one.known)) > len(one.values) for one in texts if one.name in kinds]
    hints = _transposed_hint(parts, how) if named == [True] or (index and not named) else []
    rows, about_rows = describe_rows(parts.others, file)
    features = (*(names[place] for place in parts.places), *added)
    left_out = tuple(name for name in kinds if name not in encoded)
    if file.wanted != "all":
        left_out = tuple(names)
    elif left_out and not features:
        raise InputError(
            f"{file.name} has no numeric columns to rank (found "
            f"{first_few([shown(name) for name in left_out])}). Check --separator, or pass "
            "--encode to use dates, yes/no values, and text with few values."
        )
    return Table(
        np.column_stack([parts.numbers, *added.values()]) if added else parts.numbers,
        features,
        source=file.name,
        notes=(*notes, *blank, *index, *note_on(texts, kinds, encoded, how), *hints, *about_rows),
        left_out=left_out,
        encoded=tuple(map(tuple, encoded.values())),
        **rows,
    )


def _without_blank_rows(parts: Parts, file: TableFile) -> tuple[Parts, list[str]]:
    """Leave out empty rows at the end of the table, which spreadsheets often contain.

    Empty rows elsewhere are kept, because pairs may refer to rows by number.
    """
    if not (len(parts.places) or parts.texts):
        return parts, []
    blank = np.isnan(parts.numbers).all(axis=1) if parts.numbers.dtype.kind == "f" else None
    if blank is None or not blank.any():
        return parts, []
    marks, is_header = frozenset(file.missing), file.how.transpose
    others = [some for role, some in parts.others.items() if not (is_header and role == "ids")]
    for values in (*parts.texts.values(), *others):
        # An empty list is a column that is not text.
        blank &= [value_text(value) in marks for value in values] or [False]
    n_kept = 1 + int(np.flatnonzero(~blank).max(initial=-1))
    if n_kept in (0, len(blank)):
        return parts, []
    n_empty = many(len(blank) - n_kept, "empty column" if is_header else "empty row")
    return replace(
        parts,
        numbers=parts.numbers[:n_kept],
        texts={place: values[:n_kept] for place, values in parts.texts.items()},
        others={role: values[:n_kept] for role, values in parts.others.items()},
    ), [f"Left out {n_empty} at the end."]


def _without_index(parts: Parts, names: Sequence[str], file: TableFile) -> tuple[Parts, list[str]]:
    """Leave out an unnamed column that contains row names or row numbers."""
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
        problem = (
            f"{file.name}: column {place + 1} has no name and contains neither row names nor row "
            "numbers. Name the column, or leave it out with --drop ''."
        )
        hints = _transposed_hint(parts, file.how) if place in parts.texts else []
        raise InputError(" ".join([problem, *hints]))
    kept = [i for i, one in enumerate(parts.places) if one != place]
    rest = replace(
        parts,
        numbers=parts.numbers[:, kept] if len(kept) < len(parts.places) else parts.numbers,
        places=tuple(parts.places[i] for i in kept),
        texts={one: text for one, text in parts.texts.items() if one != place},
    )
    return rest, [about_index(name)]


def about_index(name: str) -> str:
    """Return a note on a column that was left out because it contains row names or numbers."""
    called = f"column {shown(name)}" if name else "the column without a name"
    return (
        f"Left out {called}, which contains row names or numbers; --id-column {shown(name)} uses "
        "it as ids."
    )


def about_named_index(names: Iterable[str]) -> list[str]:
    """Return notes on columns that pandas wrote as a named index."""
    return [
        f"Column {shown(name)} is the index that pandas wrote; --id-column {shown(name)} uses it "
        "as ids. Without this option, pairs refer to rows by number."
        for name in names
        if name not in INDEX_NAMES
    ]


def _transposed_hint(parts: Parts, how: Reading) -> list[str]:
    """Suggest --transpose for a table that has named rows, and far more rows than columns."""
    n_rows, n_numbers = parts.numbers.shape
    is_clear = how.label is not None or how.id_column is not None or how.transpose
    if is_clear or n_rows < max(100, _LIKE_TRANSPOSED * n_numbers):
        return []
    return [
        f"The table has {n_rows:,} named rows, but only {many(n_numbers, 'numeric column')}. If "
        "rows are features, such as genes, and columns are samples, pass --transpose."
    ]
