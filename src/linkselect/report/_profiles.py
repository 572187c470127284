"""What each of the best selected features looks like, as plain data.

By class, between must-links and cannot-links, or as it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import pair_rows
from linkselect._samples import as_samples
from linkselect.pairs import Pairs
from linkselect.report._plain import plain_text
from linkselect.report._schema import (
    GroupSummary,
    HistogramSummary,
    ProfilesSummary,
    ProfileSummary,
)

MOST_FEATURES = 9
MOST_GROUPS = 6
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BARS = 20


def describe_profiles(
    features: IntArray,
    names: list[str],
    X: Any,
    classes: tuple[IntArray, NDArray[Any]] | None,
    pairs: Pairs | None,
    ids: tuple[Hashable, ...],
) -> ProfilesSummary:
    """Describe the first of some features by what the method used: pairs, labels or nothing.

    Missing values are left out.

    Parameters
    ----------
    features : array of int
        The selected features, best first.
    names : list of str
        The names of all features.
    X : array or sparse matrix
        The samples, in the units that a reader knows.
    classes, pairs
        What the method used, both None if it used nothing: the class of each row from 0, or -1,
        and the label of each class; or pairs.
    ids : tuple of hashable
        The id of each row.
    """
    first = features[:MOST_FEATURES]
    columns = _columns(X, first)
    found: ProfilesSummary = {
        "kind": "none",
        "n_left_out": len(features) - len(first),
        "n_groups_left_out": 0,
        "features": [],
    }
    if pairs is not None:
        found["kind"] = "pairs"
        groups = _between_pairs(columns, pairs, X, ids)
    elif classes is not None:
        found["kind"] = "classes"
        groups, found["n_groups_left_out"] = _by_class(columns, *classes)
    else:
        groups = {}
    shown: list[ProfileSummary] = []
    for place, feature in enumerate(first.tolist()):
        own = [_group(label, values[:, place]) for label, values in groups.items()]
        shown.append(
            {
                "feature": names[feature],
                "groups": [group for group in own if group is not None],
                "histogram": None if groups else _histogram(columns[:, place]),
            }
        )
    found["features"] = [one for one in shown if one["groups"] or one["histogram"]]
    return found


def _columns(X: Any, features: IntArray) -> FloatArray:
    chosen = X.iloc[:, features] if hasattr(X, "iloc") else as_samples(X).own_values(features)
    return np.asarray(chosen, dtype=np.float64)


def _by_class(
    columns: FloatArray, codes: IntArray, labels: NDArray[Any]
) -> tuple[dict[str, FloatArray], int]:
    """Return the rows of the largest classes, in the order of the labels."""
    sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
    groups = {str(labels[code]): columns[codes == code] for code in largest}
    return groups, len(labels) - len(largest)


def _between_pairs(
    columns: FloatArray, pairs: Pairs, X: Any, ids: tuple[Hashable, ...]
) -> dict[str, FloatArray]:
    """Return how far the ends of each pair are apart in each column."""
    links = zip(("must-links", "cannot-links"), pair_rows(pairs, X, ids), strict=True)
    return {
        kind: np.abs(columns[rows[:, 0]] - columns[rows[:, 1]]) for kind, rows in links if len(rows)
    }


def _group(label: str, values: FloatArray) -> GroupSummary | None:
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    quantiles = np.quantile(known, QUANTILES)
    return {
        "label": plain_text(label),
        "n": int(known.size),
        "quantiles": [_short(q) for q in quantiles],
    }


def _histogram(values: FloatArray) -> HistogramSummary | None:
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    if not high > low or not np.isfinite(high - low):
        return None
    counts, _ = np.histogram(known, bins=BARS, range=(low, high))
    return {"counts": counts.tolist(), "low": _short(low), "high": _short(high)}


def _short(value: float) -> float:
    """Keep as many digits as a picture shows."""
    return float(f"{value:.5g}")
