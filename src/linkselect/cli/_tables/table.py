"""Represent a table as numbers, feature names, labels and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import IntArray
from linkselect._messages import first_few, many
from linkselect.cli._errors import InputError, nearest, shown
from linkselect.cli._tables.reading import TableFile

# Names that pandas gives its index in a file.
INDEX_NAMES = ("", "__index_level_0__", "Unnamed: 0")
WITHOUT_NAME = " If the column without a name contains the ids, pass --id-column ''."


@dataclass(frozen=True)
class Table:
    """Features with their names, and the labels and ids of the rows if given.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        The features, with NaN for missing values.
    names : tuple of str
        The name of each feature.
    labels : array of object, optional
        The class of each row as text, or None if unlabelled.
    ids : tuple of str, optional
        The id of each row.
    source : str
        The name of the file.
    notes : tuple of str
        Notes on how the table was read.
    left_out : tuple of str
        Columns that are not features because they are not numeric.
    encoded : tuple of tuple of str
        The features that replace each encoded column.
    groups, batches : array of object, optional
        The group and the batch of each row as text, or None if missing.
    """

    X: Any
    names: tuple[str, ...]
    labels: NDArray[Any] | None
    ids: tuple[str, ...] | None
    source: str
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    encoded: tuple[tuple[str, ...], ...] = ()
    groups: NDArray[Any] | None = None
    batches: NDArray[Any] | None = None

    @property
    def classes(self) -> list[str]:
        """The distinct labels in sorted order; numbers are in numeric order."""
        labels = () if self.labels is None else self.labels
        return sorted({label for label in labels if label is not None}, key=_by_size)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return bool(issparse(self.X))

    def codes(self) -> IntArray:
        """Return the class of each row as an integer code, or -1 if unlabelled."""
        assert self.labels is not None
        number = {label: code for code, label in enumerate(self.classes)}
        return np.array([number.get(label, -1) for label in self.labels], dtype=np.intp)

    def group_codes(self) -> IntArray | None:
        """Return the group of each row as an integer code; a row without a group forms its own."""
        from linkselect._batches import complete_codes

        return complete_codes(self.groups, "groups", alone=True)

    def batch_codes(self) -> IntArray | None:
        """Return the batch of each row as an integer code; rows without a batch share one code."""
        from linkselect._batches import complete_codes

        return complete_codes(self.batches, "batches", alone=False)

    def labelled(self) -> Table:
        """Return a table in memory with only the labelled rows."""
        assert self.labels is not None
        rows = np.flatnonzero(self.codes() >= 0)
        of_rows = {role: getattr(self, role) for role in ("labels", "groups", "batches")}
        kept = {role: None if of is None else of[rows] for role, of in of_rows.items()}
        ids = None if self.ids is None else tuple(self.ids[row] for row in rows)
        X = self.X.take(rows) if isinstance(self, StoredTable) else self.X[rows]
        return Table(**vars(self) | kept | {"X": X, "ids": ids})

    def with_features(self, kept: Sequence[int] | IntArray) -> Self:
        """Return the table with only these features."""
        names = tuple(self.names[place] for place in kept)
        # While a stored table is being opened, it is still a plain Table.
        X = self.X.choose(kept) if hasattr(self.X, "by_columns") else self.X[:, list(kept)]
        return replace(self, X=X, names=names)


@dataclass(frozen=True)
class StoredTable(Table):
    """A table whose features stay in their file and are read in parts; X is a `Stored`."""


def _by_size(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return float("inf"), label


class NoColumnError(InputError):
    """Raised if an option names a column that the table does not contain."""


@dataclass(frozen=True)
class Roles:
    """Positions of the feature columns, and of the columns with another role."""

    features: tuple[int, ...]
    others: dict[str, int]


def assign_roles(
    names: Sequence[str],
    file: TableFile,
    numbered: bool = False,
    arrays: Sequence[str] = (),
    beside: Collection[str] = (),
    ids_first: bool = False,
) -> Roles:
    """Assign columns to roles; all other columns that are not dropped are features.

    If `numbered`, the columns have no names, so options refer to them by number. `arrays` are
    further names to suggest for a misspelt name, and `beside` are the names of separate arrays. If
    `ids_first`, the first column is the header of a transposed table, which contains the ids unless
    an option names another column.
    """
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        places = [i + 1 for i, name in enumerate(names) if name == repeated[0]]
        raise InputError(
            f"{file.name}: the column name {shown(repeated[0])} appears {len(places)} times "
            f"in the header (columns {', '.join(map(str, places[:5]))}). Rename one of them."
        )
    place = {name: i for i, name in enumerate(names)}
    if numbered:
        place |= {str(i): i for i in range(len(names))}
        place |= {str(i - len(names)): i for i in range(len(names))}

    def find(name: str, option: str, known: Sequence[str] = (*arrays, *names)) -> int:
        if name in place:
            return place[name]
        if file.metadata is not None and option != "--drop":
            raise NoColumnError(file.metadata.why_no_column(name, option, file, names))
        hint = nearest(name, filter(None, known))
        hint += WITHOUT_NAME * (option == "--id-column" and "" in place)
        if name.removeprefix("-").isdecimal() and not numbered:
            hint += " Column numbers work only with --no-header."
        raise NoColumnError(f"{file.name} has no column {shown(name)} ({option}). {hint}")

    others = {"ids": 0} if ids_first else dict[str, int]()
    for role, (name, option) in file.named.items():
        if name in beside or (name not in place and _may_lack(role, name, file, ids_first)):
            continue
        unnamed = _unnamed(names, file) if role == "ids" and name not in place else None
        others[role] = find(name, option) if unnamed is None else unnamed
    dropped = {0} if ids_first else set[int]()
    for text in file.how.drop:
        # Names separated by commas, unless the whole text is a name.
        some = [text] if text in place else filter(None, map(str.strip, text.split(",")))
        dropped |= {find(name, "--drop", names) for name in some}
    if file.wanted != "all":
        return Roles((), others)
    taken = {*dropped, *others.values()}
    features = tuple(i for i in range(len(names)) if i not in taken)
    if not features:
        raise InputError(
            f"{file.name}: no column is left to rank. The table has "
            f"{many(len(names), 'column')}: {first_few([shown(name) for name in names])}. If this "
            "is a text file, check --separator."
        )
    return Roles(features, others)


def _may_lack(role: str, name: str, file: TableFile, ids_first: bool) -> bool:
    """Return whether a named column may be absent because the metadata may contain it."""
    if file.wanted == "metadata":
        return role != "ids"
    if file.how.metadata is None:
        return False
    if file.metadata is None:  # it is not read yet
        return True
    return ids_first if role == "ids" else name in file.metadata.columns


def _unnamed(names: Sequence[str], file: TableFile) -> int | None:
    """Return the position of an unnamed column whose ids are used to join metadata."""
    if file.metadata is None or file.metadata.row_of.keys() & set(names):
        return None
    return next((place for place, name in enumerate(names) if name in INDEX_NAMES), None)


def value_text(value: Any) -> str:
    """Convert a label or an id to text; a missing one becomes "".

    Examples
    --------
    >>> [value_text(value) for value in (1, 1.0, 0.1, b"a", " b ", None, float("nan"))]
    ['1', '1', '0.1', 'a', 'b', '', '']
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float | np.floating):
        # 1.0 and 1 are equal, whatever type a file stores; so are 0.0 and -0.0.
        return "" if value != value else repr(float(value) + 0.0).removesuffix(".0")
    return "" if value is None else str(value).strip()


def make_ids(
    values: Iterable[Any] | None, column: str | None, source: str
) -> tuple[str, ...] | None:
    """Return the values of the id column as text; reject missing or duplicate ids."""
    if values is None:
        return None
    ids = tuple(map(value_text, values))
    if "" in ids:
        raise InputError(
            f"{source}, row {ids.index('') + 1}: the id column {shown(column)} is empty. Every row "
            "needs an id."
        )
    repeated, times = Counter(ids).most_common(1)[0] if ids else ("", 1)
    if times > 1:
        raise InputError(
            f"{source}: duplicate id {shown(repeated)} in {times} rows (column {shown(column)}). "
            "Make ids unique, or choose another column with --id-column."
        )
    return ids


def without_marks(block: NDArray[Any], missing: Sequence[str]) -> NDArray[Any]:
    """Replace numbers that mark missing values, such as -999, with NaN."""
    for mark in missing:
        try:
            number = float(mark)
        except ValueError:
            continue
        if (block == number).any():
            block = np.where(block == number, np.nan, block)
    return block
