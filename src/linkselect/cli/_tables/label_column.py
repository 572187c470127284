"""Convert the columns that are not features to labels, ids, groups and batches."""

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

# Numbers with more distinct values than this, and few rows for each, are not classes.
MOST_CLASSES = 20
FEWEST_ROWS = 5


def describe_rows(
    columns: Mapping[str, Iterable[Any] | None], file: TableFile
) -> tuple[dict[str, Any], list[str]]:
    """Return the labels, ids, groups and batches of the rows as a dict, and notes.

    Parameters
    ----------
    columns : mapping of str to iterable
        The values of the "label", "ids", "group" and "batch" columns that exist.
    file : TableFile
        The file, with the options for reading it.
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
    """Return the group or batch of each row as text, or None if it is missing."""
    if values is None:
        return None
    marks = {"", *file.missing}
    texts = (sys.intern(value_text(value)) for value in values)
    found = np.array([None if text in marks else text for text in texts], dtype=object)
    if not file.as_text and all(one is None for one in found):
        name, option = file.named[role]
        raise InputError(f"{file.name}: column {shown(name)} ({option}) has no values.")
    return found


def _note_on_marks(
    groups: NDArray[Any] | None, batches: NDArray[Any] | None, how: Reading
) -> list[str]:
    """Return notes on rows without a group or batch, and on columns without repeated values."""
    notes = []
    for marks, name, what, instead in (
        (groups, how.group, "group", "each is treated as its own group"),
        (batches, how.batch, "batch", "treated as one separate batch"),
    ):
        if marks is None:
            continue
        n_without = sum(one is None for one in marks)
        if n_without:
            notes.append(f"{many(n_without, 'row')} without a {what} ({shown(name)}): {instead}.")
        if len(set(marks) - {None}) == len(marks) - n_without:
            notes.append(f"No two rows have the same {shown(name)}, so --{what} has no effect.")
    return notes


def make_labels(
    values: Iterable[Any] | None, file: TableFile
) -> tuple[NDArray[Any] | None, list[str]]:
    """Return the class of each row as text, or None if unlabelled, and notes on the labels.

    Parameters
    ----------
    values : iterable, optional
        The values of the label column; None if there are no labels.
    file : TableFile
        The file, with the options for missing labels and --bins.
    """
    if values is None:
        return None, []
    how, source = file.how, file.name
    # Interned, so that each class is stored once, however many rows there are.
    texts = [sys.intern(value_text(value)) for value in values]
    if file.as_text:
        return np.array(texts, dtype=object), []
    marks = {"", *file.missing, how.unlabelled}
    labels = np.array([None if text in marks else text for text in texts], dtype=object)
    known = [label for label in labels if label is not None]
    if not known:
        raise InputError(
            f"{source}: the label column {shown(how.label)} is empty. Choose another column with "
            "--label, or omit --label to rank without labels."
        )
    notes = _about_missing(texts, marks, how)
    if how.bins is not None and how.bins != "all":
        return _cut(labels, how.bins, how.label, source), notes
    if how.bins is None:
        _check_classes(known, how.label, source)
    return labels, notes


def _about_missing(texts: Sequence[str], marks: set[str | None], how: Reading) -> list[str]:
    """Return a note on labels that are treated as missing if one of them might be a class."""
    found = Counter(text for text in texts if text in marks)
    if not set(found) - {"", how.unlabelled}:
        return []
    listed = [f"{count:,} {'empty' if not text else shown(text)}" for text, count in found.items()]
    return [
        f"{found.total():,} of {len(texts):,} labels are missing ({', '.join(listed)}); these rows "
        "are treated as unlabelled."
    ]


def _check_classes(known: Sequence[str], name: str | None, source: str) -> None:
    """Reject labels that are ids or measurements instead of classes."""
    n_classes = len(set(known))
    hint = (
        "Specify the column that contains the class labels, bin the numbers into classes of equal "
        "size (for example, --bins 2), or pass --bins all if every value is a class."
    )
    if n_classes == len(known) > 2:
        if not all(map(_is_number, known)):
            hint = "Specify the column that contains the class labels."
        raise InputError(
            f"{source}: the label column {shown(name)} has a different value in each of "
            f"{len(known)} rows ({', '.join(map(shown, known[:3]))}, ...), like an id or a "
            f"measurement. {hint}"
        )
    numbers = [float(one) for one in known] if all(map(_is_number, set(known))) else []
    fractions = any(not one.is_integer() for one in numbers)
    too_many = n_classes > MOST_CLASSES and len(known) < FEWEST_ROWS * n_classes
    if numbers and (too_many or (fractions and n_classes > MOST_CLASSES / 2)):
        raise InputError(
            f"{source}: the label column {shown(name)} has {n_classes} different numbers in "
            f"{len(known)} rows, from {min(numbers):g} to {max(numbers):g}, like a measurement. "
            f"{hint}"
        )


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _cut(labels: NDArray[Any], bins: str, name: str | None, source: str) -> NDArray[Any]:
    """Bin numbers at their quantiles into classes of about equal size."""
    n_bins = int(bins) if bins.isdecimal() else 0
    if n_bins < 2:
        raise UsageError(f"--bins {bins} must be a number of classes, 2 or more, or all.")
    odd = next((one for one in labels if one is not None and not _is_number(one)), None)
    if odd is not None:
        raise InputError(
            f"{source}: --bins needs numbers, but the label column {shown(name)} has the value "
            f"{shown(odd)}. If this means a missing label, pass --unlabelled {shown(odd)}."
        )
    numbers = np.array([np.nan if one is None else float(one) for one in labels])
    inner = np.nanquantile(numbers, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    edges = np.unique(inner[inner < np.nanmax(numbers)])
    if not len(edges):
        raise InputError(
            f"{source}: --bins needs different numbers, but most rows have the same label."
        )
    # With six digits, or more if the numbers need more to differ.
    ways = ([f"{one:.{digits}g}" for one in edges] for digits in range(6, 18))
    written = next(way for way in ways if len(set(way)) == len(edges))
    texts = [f"<= {written[0]}"]
    texts += [f"> {low} to {high}" for low, high in pairwise(written)]
    texts.append(f"> {written[-1]}")
    classes = np.array(texts, dtype=object)[np.searchsorted(edges, numbers)]
    classes[np.isnan(numbers)] = None
    return classes
