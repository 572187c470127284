"""Turn the values of columns that are not features into labels, ids, groups and batches."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import many
from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import make_ids, value_text

# Numbers with more values than this, and few rows for each, are a measurement and no classes.
MOST_CLASSES = 20
FEWEST_ROWS = 5


def describe_rows(
    columns: Mapping[str, Iterable[Any] | None], file: TableFile
) -> tuple[dict[str, Any], list[str]]:
    """Return the labels, ids, groups and batches of the rows, by these names, and what to say.

    Parameters
    ----------
    columns : mapping of str to iterable
        The values of the "label", the "ids", the "group" and the "batch", as far as there are any.
    file : TableFile
        How they are read.
    """
    labels, notes = make_labels(columns.get("label"), file)
    groups, batches = (_marks(columns.get(role), role, file) for role in ("group", "batch"))
    ids: Any = columns.get("ids")
    if file.wanted == "metadata" and ids is not None:
        ids = tuple(map(value_text, ids))
    else:
        ids = make_ids(ids, file.how.id_column, file.name)
    if not file.as_text:
        notes += _note_on_marks(groups, batches, file.how)
    return {"labels": labels, "ids": ids, "groups": groups, "batches": batches}, notes


def _marks(values: Iterable[Any] | None, role: str, file: TableFile) -> NDArray[Any] | None:
    """Return the group or batch of each row as text, None if it has none."""
    if values is None:
        return None
    marks = {"", *file.missing}
    texts = (sys.intern(value_text(value)) for value in values)
    found = np.array([None if text in marks else text for text in texts], dtype=object)
    if not file.as_text and all(one is None for one in found):
        name, option = file.named[role]
        raise InputError(
            f"{file.name}: the column {shown(name)} ({option}) has no value in any row."
        )
    return found


def _note_on_marks(
    groups: NDArray[Any] | None, batches: NDArray[Any] | None, how: Reading
) -> list[str]:
    """Say which rows have no group or no batch, and if no two rows share one."""
    notes = []
    for marks, name, what, instead, vain in (
        (groups, how.group, "group", "each counts as a group of its own", "keeps nothing together"),
        (batches, how.batch, "batch", "they count as one batch of their own", "changes nothing"),
    ):
        if marks is None:
            continue
        n_without = sum(one is None for one in marks)
        if n_without:
            notes.append(f"{many(n_without, 'row')} without a {what} ({shown(name)}); {instead}.")
        if len(set(marks) - {None}) == len(marks) - n_without:
            notes.append(f"no two rows have the same {shown(name)}, so --{what} {vain}.")
    return notes


def make_labels(
    values: Iterable[Any] | None, file: TableFile
) -> tuple[NDArray[Any] | None, list[str]]:
    """Return the class of each row as text, None if it is not labelled, and what to say.

    Parameters
    ----------
    values : iterable, optional
        The label column; without it there are no labels.
    file : TableFile
        What else means not labelled, and whether numbers are cut into classes.
    """
    if values is None:
        return None, []
    how, source = file.how, file.name
    # One text for each class, however many rows there are.
    texts = [sys.intern(value_text(value)) for value in values]
    if file.as_text:
        return np.array(texts, dtype=object), []
    marks = {"", *file.missing, how.unlabelled}
    labels = np.array([None if text in marks else text for text in texts], dtype=object)
    known = [label for label in labels if label is not None]
    if not known:
        raise InputError(
            f"{source}: the label column {shown(how.label)} is empty. Name another by --label, or "
            "leave --label out to rank without labels."
        )
    notes = _about_missing(texts, marks, how)
    if how.bins is not None and how.bins != "all":
        return _cut(labels, how.bins, how.label, source), notes
    if how.bins is None:
        _check_classes(known, how.label, source)
    return labels, notes


def _about_missing(texts: Sequence[str], marks: set[str | None], how: Reading) -> list[str]:
    """Say which labels were taken for missing, if someone could have meant them as a class."""
    found = Counter(text for text in texts if text in marks)
    if not set(found) - {"", how.unlabelled}:
        return []
    listed = [f"{count:,} {'empty' if not text else shown(text)}" for text, count in found.items()]
    return [
        f"{found.total():,} of {len(texts):,} labels are missing ({', '.join(listed)}); these rows "
        "count as unlabelled."
    ]


def _check_classes(known: Sequence[str], name: str | None, source: str) -> None:
    """Refuse an id or a measurement in the place of classes."""
    n_classes = len(set(known))
    hint = (
        "Name the column of classes; or cut the numbers into classes of equal size, such as "
        "--bins 2; or pass --bins all if every value is a class."
    )
    if n_classes == len(known) > 2:
        if not all(map(_is_number, known)):
            hint = "Name the column of classes."
        raise InputError(
            f"{source}: the label column {shown(name)} has a different value in each of "
            f"{len(known)} rows ({', '.join(map(shown, known[:3]))}, ...): an id or a measurement, "
            f"not a class. {hint}"
        )
    numbers = [float(one) for one in known] if all(map(_is_number, set(known))) else []
    fractions = any(not one.is_integer() for one in numbers)
    too_many = n_classes > MOST_CLASSES and len(known) < FEWEST_ROWS * n_classes
    if numbers and (too_many or (fractions and n_classes > MOST_CLASSES / 2)):
        raise InputError(
            f"{source}: the label column {shown(name)} has {n_classes} different numbers in "
            f"{len(known)} rows, from {min(numbers):g} to {max(numbers):g}: a measurement, not "
            f"{n_classes} classes. {hint}"
        )


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _cut(labels: NDArray[Any], bins: str, name: str | None, source: str) -> NDArray[Any]:
    """Cut numbers at their quantiles, so that classes are of about equal size."""
    n_bins = int(bins) if bins.isdecimal() else 0
    if n_bins < 2:
        raise UsageError(f"--bins {bins}: write a number of classes, 2 or more, or all.")
    odd = next((one for one in labels if one is not None and not _is_number(one)), None)
    if odd is not None:
        raise InputError(
            f"{source}: --bins cuts numbers, but the label column {shown(name)} has the value "
            f"{shown(odd)}. If it means a missing label, pass --unlabelled {shown(odd)}."
        )
    numbers = np.array([np.nan if one is None else float(one) for one in labels])
    inner = np.nanquantile(numbers, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    edges = np.unique(inner[inner < np.nanmax(numbers)])
    if not len(edges):
        raise InputError(f"{source}: the label column {shown(name)} has one value in most rows.")
    # With six digits, or with as many as the numbers differ in.
    ways = ([f"{one:.{digits}g}" for one in edges] for digits in range(6, 18))
    written = next(way for way in ways if len(set(way)) == len(edges))
    texts = [f"<= {written[0]}"]
    texts += [f"> {low} to {high}" for low, high in pairwise(written)]
    texts.append(f"> {written[-1]}")
    classes = np.array(texts, dtype=object)[np.searchsorted(edges, numbers)]
    classes[np.isnan(numbers)] = None
    return classes
