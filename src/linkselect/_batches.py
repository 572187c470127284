"""Integer codes of groups and batches, and a warning if batches coincide with classes."""

from collections.abc import Hashable
from itertools import count, repeat
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association, crosstab

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError, many
from linkselect.pairs._labels import is_missing

# Batches and classes are reported as nearly coinciding if Cramér's V (0 to 1) is at least STRONG
# and its p-value at most UNLIKELY, because V may be large by chance in small tables. Batches and
# classes of fewer than RARE samples are ignored for the same reason.
STRONG, UNLIKELY, RARE = 0.7, 0.01, 4


def row_codes(values: Any, n_samples: int, name: str) -> IntArray:
    """Return the group or batch of each row as an integer code from 0."""
    are_tuples = isinstance(values, list | tuple) and isinstance(next(iter(values), None), tuple)
    found = values if are_tuples else np.asarray(values, dtype=object).ravel()
    if len(found) != n_samples:
        raise GuidedValueError(
            f"{name} has {many(len(found), 'value')}, but X has {many(n_samples, 'sample')}.",
            "Pass one value for each row.",
            name,
        )
    n_missing = sum(is_missing(value, minus_one=False) for value in found)
    if n_missing:
        raise GuidedValueError(
            f"{name} has {many(n_missing, 'missing value')}, but every row needs a value.",
            "Assign a separate new value to each row without a value.",
            name,
        )
    place: dict[Hashable, int] = {}
    return np.array([place.setdefault(value, len(place)) for value in found], dtype=np.intp)


def complete_codes(values: Any, name: str, *, alone: bool) -> IntArray | None:
    """Return integer codes of groups or batches, treating None as missing.

    If `alone` is true, each row with None forms a separate group. Otherwise, all these rows share
    one group.
    """
    if values is None:
        return None
    instead = count() if alone else repeat(-1)
    known = [("", new) if one is None else one for one, new in zip(values, instead, strict=False)]
    return row_codes(known, len(known), name)


def about_batches(batches: Any, classes: Any) -> str | None:
    """Return a warning if batches and classes coincide or nearly coincide, otherwise None.

    If batches and classes are independent, a warning is returned for at most one table in 50. This
    also holds for tables with only six rows, and for tables in which most rows are in one batch
    and one class.

    Parameters
    ----------
    batches, classes : array-like of shape (n_samples,)
        Batch and class of each row. Missing values are None or NaN.

    Examples
    --------
    >>> print(about_batches(list("aabb"), ["ill", "ill", "well", "well"]))
    Every batch contains only one class, so a feature that differs between batches cannot be \
distinguished from one that differs between classes.
    >>> about_batches(list("abab"), ["ill", "ill", "well", "well"])
    """
    pairs = zip(batches, classes, strict=True)
    known = [
        (one, other)
        for one, other in pairs
        if not (is_missing(one, minus_one=False) or is_missing(other, minus_one=False))
    ]
    if not known:
        return None
    codes = (row_codes(some, len(known), "batches") for some in zip(*known, strict=True))
    counts = crosstab(*codes).count
    if min(counts.shape) < 2:
        return None
    batch_feature = "a feature that differs between batches"
    # A batch of one row always contains only one class.
    if (np.count_nonzero(counts, axis=1) == 1).all() and counts.max() > 1:
        return (
            f"Every batch contains only one class, so {batch_feature} cannot be distinguished from "
            "one that differs between classes."
        )
    common = np.ix_(counts.sum(axis=1) >= RARE, counts.sum(axis=0) >= RARE)
    counts = counts[common]
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2 or chi2_contingency(counts, correction=False).pvalue > UNLIKELY:
        return None
    strength = association(counts, method="cramer")
    if strength < STRONG:
        return None
    return (
        f"Batches and classes nearly coincide (Cramér's V {strength:.2f}), so {batch_feature} can "
        "hardly be distinguished from one that differs between classes."
    )
