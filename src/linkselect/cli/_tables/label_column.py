"""Turn the values of the label column into classes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.reading import MISSING, Reading, TableFile
from linkselect.cli._tables.table import value_text

# Numbers with more values than this, and few rows for each, are a measurement and no classes.
MOST_CLASSES = 20
FEWEST_ROWS = 5


def make_labels(
    values: Iterable[Any] | None, file: TableFile, missing: Sequence[str] = MISSING
) -> tuple[NDArray[Any] | None, list[str]]:
    """Return the class of each row as text, None if it is not labelled, and what to say.

    Parameters
    ----------
    values : iterable, optional
        The label column; without it there are no labels.
    file : TableFile
        What else means not labelled, and whether numbers are cut into classes.
    missing : sequence of str
        What stands for a missing label.
    """
    if values is None:
        return None, []
    how, source = file.how, file.name
    # One text for each class, however many rows there are.
    texts = [sys.intern(value_text(value)) for value in values]
    if file.wanted == "text":
        return np.array(texts, dtype=object), []
    marks = {"", *missing, how.unlabelled}
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
    way_out = (
        "Name the column of classes; or cut the numbers into classes of equal size, such as "
        "--bins 2; or pass --bins all if every value is a class."
    )
    if n_classes == len(known) > 2:
        if not all(map(_is_number, known)):
            way_out = "Name the column of classes."
        raise InputError(
            f"{source}: the label column {shown(name)} has a different value in each of "
            f"{len(known)} rows ({', '.join(map(shown, known[:3]))}, ...): an id or a measurement, "
            f"not a class. {way_out}"
        )
    numbers = [float(one) for one in known] if all(map(_is_number, set(known))) else []
    fractions = any(not one.is_integer() for one in numbers)
    too_many = n_classes > MOST_CLASSES and len(known) < FEWEST_ROWS * n_classes
    if numbers and (too_many or (fractions and n_classes > MOST_CLASSES / 2)):
        raise InputError(
            f"{source}: the label column {shown(name)} has {n_classes} different numbers in "
            f"{len(known)} rows, from {min(numbers):g} to {max(numbers):g}: a measurement, not "
            f"{n_classes} classes. {way_out}"
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
