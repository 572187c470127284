"""A table as the methods need it: numbers, names, labels and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli.errors import InputError, nearest, shown

__all__ = ["MISSING", "Reading", "Roles", "Table", "assign_roles", "make_ids", "make_labels"]

# What stands for a missing value in a text file.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "?")


@dataclass(frozen=True)
class Reading:
    """How to read a table.

    Parameters
    ----------
    label
        The column of class labels. An empty cell means: not labelled. Where columns have no
        names, their number from 0; in NPZ, MAT and SVMlight files the name of the array, such
        as y.
    id_column
        The column by which pairs name rows. Without it they name row numbers from 0.
    drop
        Columns to leave out. Give it once for each.
    unlabelled
        A label that means: not labelled, such as -1.
    separator
        What stands between the values of a text table, if it is not found by itself.
    decimal
        The decimal sign of a text table.
    encoding
        The encoding of a text table.
    no_header
        The first line of a text table holds values, not names.
    array
        Which array of an NPZ or MAT file holds the features, if it is not X.
    max_memory
        How much memory the table may take, such as 500MB or 4GB. Otherwise three quarters of
        what is free.
    """

    label: str | None = None
    id_column: str | None = None
    drop: tuple[str, ...] = ()
    unlabelled: str | None = None
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    no_header: bool = False
    array: str | None = None
    max_memory: str | None = None


@dataclass(frozen=True)
class Table:
    """Numbers with the names of their columns, and labels and ids of the rows where given.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        The features, NaN where a value is missing.
    names : tuple of str
        One for each feature.
    labels : array of object, optional
        The class of each row as text, None where it is not labelled.
    ids : tuple of str, optional
        What names each row.
    source : str
        The file.
    """

    X: Any
    names: tuple[str, ...]
    labels: NDArray[Any] | None
    ids: tuple[str, ...] | None
    source: str

    @property
    def classes(self) -> list[str]:
        """The labels that occur, sorted; numbers by their size."""
        labels = () if self.labels is None else self.labels
        return sorted({label for label in labels if label is not None}, key=_by_size)

    @property
    def has_labels(self) -> bool:
        """Whether a label column was named."""
        return self.labels is not None

    def codes(self) -> NDArray[np.intp]:
        """Number the class of each row, -1 where it is not labelled."""
        assert self.labels is not None
        number = {label: code for code, label in enumerate(self.classes)}
        return np.array([number.get(label, -1) for label in self.labels], dtype=np.intp)


def _by_size(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return float("inf"), label


@dataclass(frozen=True)
class Roles:
    """Which columns, by their place, are features, label and ids."""

    features: tuple[int, ...]
    label: int | None
    ids: int | None


def assign_roles(names: Sequence[str], how: Reading, source: str, numbered: bool = False) -> Roles:
    """Find the label and id columns; what is left and not dropped is a feature.

    `numbered` tells that the columns have no names of their own, so their numbers name them.
    """
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        places = [i + 1 for i, name in enumerate(names) if name == repeated[0]]
        raise InputError(
            f"{source}: the column name {shown(repeated[0])} stands in the header "
            f"{len(places)} times (columns {', '.join(map(str, places[:5]))}). Rename them."
        )
    place = {name: i for i, name in enumerate(names)}
    if numbered:
        place |= {str(i): i for i in range(len(names))}
        place |= {str(i - len(names)): i for i in range(len(names))}
    named = {"--label": how.label, "--id-column": how.id_column}
    found = {
        option: _find(name, place, names, option, source)
        for option, name in named.items()
        if name is not None
    }
    dropped = {_find(name, place, names, "--drop", source) for name in how.drop}
    taken = dropped | set(found.values())
    features = tuple(i for i in range(len(names)) if i not in taken)
    _check_features(names, features, source)
    return Roles(features, found.get("--label"), found.get("--id-column"))


def _find(name: str, place: dict[str, int], names: Sequence[str], option: str, source: str) -> int:
    if name in place:
        return place[name]
    raise InputError(f"{source} has no column {shown(name)} ({option}). {nearest(name, names)}")


def _check_features(names: Sequence[str], features: tuple[int, ...], source: str) -> None:
    if not features:
        raise InputError(
            f"{source}: no column is left to rank. It has {len(names)}: "
            f"{', '.join(map(shown, names[:5]))}. Is the separator right (--separator)?"
        )
    if "" in (names[i] for i in features):
        raise InputError(
            f"{source}: column {names.index('') + 1} has no name; pandas writes its index so. "
            "Use it as ids with --id-column '', leave it out with --drop '', or give it a name."
        )


def make_labels(values: Iterable[Any], how: Reading, source: str) -> NDArray[Any]:
    """Turn the values of the label column into text, None where a row is not labelled."""
    texts = [_label_text(value) for value in values]
    labels = np.array([None if text == how.unlabelled else text for text in texts], dtype=object)
    known = [label for label in labels if label is not None]
    n_classes = len(set(known))
    if not known:
        raise InputError(f"{source}: the label column {shown(how.label)} is empty.")
    if n_classes == len(known) > 2:
        raise InputError(
            f"{source}: the label column {shown(how.label)} has a different value in each of "
            f"{len(known)} rows ({', '.join(map(shown, known[:3]))}, ...): an id or a measurement, "
            "not a class. Name the column of classes, or cut the measurement into classes first."
        )
    return labels


def _label_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float | np.floating):
        # 1.0 and 1 are the same class, whatever type a file stores.
        return None if value != value else f"{value:.17g}"
    text = "" if value is None else str(value).strip()
    return None if text in MISSING else text


def make_ids(values: Iterable[Any], column: str, source: str) -> tuple[str, ...]:
    """Turn the values of the id column into text; each names one row."""
    ids = tuple("" if value is None else str(value).strip() for value in values)
    if "" in ids:
        raise InputError(
            f"{source}, row {ids.index('') + 1}: the id column {shown(column)} is empty there. "
            "Every row needs an id."
        )
    repeated, times = Counter(ids).most_common(1)[0] if ids else ("", 1)
    if times > 1:
        raise InputError(
            f"{source}: the id {shown(repeated)} names {times} rows (column {shown(column)}), so a "
            "pair cannot tell which it means. Make ids unique."
        )
    return ids
