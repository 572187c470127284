"""Summarize the supervision that a method used, and the best features by class or type of pair."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import evenly, pair_rows, two_dimensional_view
from linkselect._samples import as_samples
from linkselect.pairs import Pairs
from linkselect.pairs._consequences import with_fewer_labels
from linkselect.report import _schema as schema
from linkselect.report._schema import MOST_LISTED, plain_text

# More would overlap in the figure and slow down the page.
MOST_DRAWN_PAIRS = 300
MOST_DRAWN_SAMPLES = 1500
# The number of pairs that labels imply grows quadratically with the number of labels.
MOST_LABELS = 1000
MOST_FEATURES = 9
MOST_GROUPS = 6
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BARS = 20

# The class index of each row (-1 if it is unlabelled), and the label of each class.
Classes = tuple[IntArray, NDArray[Any]]


def describe_supervision(
    classes: Classes | None, pairs: Pairs | None, ids: tuple[Hashable, ...]
) -> schema.SupervisionSummary:
    """Describe the labels or pairs that the method used; both are None if it used neither."""
    if pairs is not None:
        return _of_pairs(pairs, ids)
    if classes is not None:
        return _of_labels(*classes)
    return {"kind": "none", "n_samples": 0, "coverage": 0.0}


def _of_pairs(pairs: Pairs, ids: tuple[Hashable, ...]) -> schema.SupervisionSummary:
    counted, present = pairs.summary(ids), pairs.restrict(ids)
    groups = [len(group) for group in present.components() if len(group) > 1]
    return {
        "kind": "pairs",
        "n_samples": counted["samples"],
        "coverage": counted["coverage"],
        "must": counted["must"],
        "cannot": counted["cannot"],
        "lost": counted["lost_must"] + counted["lost_cannot"],
        "n_groups": counted["components"],
        "largest_group": max(groups, default=0),
        "n_conflicts": counted["conflicts"],
        "conflicts": [plain_text(conflict) for conflict in present.conflicts(limit=MOST_LISTED)],
    }


def _of_labels(codes: IntArray, labels: NDArray[Any]) -> schema.SupervisionSummary:
    sizes, largest = _largest(codes, labels, MOST_LISTED)
    n_labelled = int(sizes.sum())
    must = int((sizes * (sizes - 1) // 2).sum())
    return {
        "kind": "labels" if n_labelled == len(codes) else "partial labels",
        "n_samples": n_labelled,
        "coverage": n_labelled / len(codes),
        "must": must,
        "cannot": n_labelled * (n_labelled - 1) // 2 - must,
        "n_classes": len(labels),
        "classes": [
            {"label": plain_text(labels[code]), "count": int(sizes[code])} for code in largest
        ],
    }


def _largest(codes: IntArray, labels: NDArray[Any], most: int) -> tuple[IntArray, IntArray]:
    """Return the sizes of all classes, and the indices of the largest classes."""
    sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
    return sizes, np.argsort(-sizes, kind="stable")[:most]


def describe_view(X: Any, pairs: Pairs, ids: tuple[Hashable, ...]) -> schema.ViewSummary:
    """Compute 2-D coordinates of the samples in the drawn pairs and of some other samples."""
    present = pairs.restrict(ids)
    links = pair_rows(with_fewer_labels(present, MOST_LABELS), X, ids)
    share = min(1.0, MOST_DRAWN_PAIRS / max(1, sum(map(len, links))))
    must, cannot = (evenly(link, int(np.ceil(share * len(link)))) for link in links)
    named = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
    others = np.setdiff1d(np.arange(len(ids)), named)
    rows = np.union1d(named, evenly(others, MOST_DRAWN_SAMPLES - len(named)))
    points, labels = two_dimensional_view(as_samples(X).take(rows).values)
    # The last digits of sums depend on the number of threads; rounding keeps reports identical.
    width = float(np.abs(points).max()) or 1.0
    return {
        "points": np.round(points / width, 4).tolist(),
        "labels": list(labels),
        "must": np.searchsorted(rows, must).tolist(),
        "cannot": np.searchsorted(rows, cannot).tolist(),
        "n_must": present.n_must,
        "n_cannot": present.n_cannot,
    }


def describe_profiles(
    features: IntArray,
    names: list[str],
    X: Any,
    classes: Classes | None,
    pairs: Pairs | None,
    ids: tuple[Hashable, ...],
) -> schema.ProfilesSummary:
    """Describe the best features by type of pair or class, or by histogram if unsupervised.

    Missing values are ignored. At most 1,000 labels are used in addition to the pairs.

    Parameters
    ----------
    features : array of int
        The selected features, best first.
    names : list of str
        The names of all features.
    X : array or sparse matrix
        The samples in their original units.
    classes, pairs
        The supervision that the method used; both are None if it used none.
    ids : tuple of hashable
        The ID of each row.
    """
    first = features[:MOST_FEATURES]
    columns = np.asarray(as_samples(X).own_values(first), dtype=np.float64)
    found: schema.ProfilesSummary = {
        "kind": "none",
        "n_left_out": len(features) - len(first),
        "n_groups_left_out": 0,
        "features": [],
    }
    groups: dict[str, FloatArray] = {}
    if pairs is not None:
        found["kind"] = "pairs"
        links = pair_rows(with_fewer_labels(pairs, MOST_LABELS), X, ids)
        for kind, rows in zip(("must-links", "cannot-links"), links, strict=True):
            if len(rows):
                groups[kind] = np.abs(columns[rows[:, 0]] - columns[rows[:, 1]])
    elif classes is not None:
        codes, labels = classes
        largest = np.sort(_largest(codes, labels, MOST_GROUPS)[1])
        found["kind"], found["n_groups_left_out"] = "classes", len(labels) - len(largest)
        groups = {str(labels[code]): columns[codes == code] for code in largest}
    for place, feature in enumerate(first.tolist()):
        profile: schema.ProfileSummary = {
            "feature": names[feature],
            "groups": _groups({label: values[:, place] for label, values in groups.items()}),
            "histogram": None if groups else _histogram(columns[:, place]),
        }
        if profile["groups"] or profile["histogram"]:
            found["features"].append(profile)
    return found


def _groups(values: dict[str, FloatArray]) -> list[schema.GroupSummary]:
    known = {label: some[np.isfinite(some)] for label, some in values.items()}
    return [
        {
            "label": plain_text(label),
            "n": int(some.size),
            "quantiles": [_short(q) for q in np.quantile(some, QUANTILES)],
        }
        for label, some in known.items()
        if some.size
    ]


def _histogram(values: FloatArray) -> schema.HistogramSummary | None:
    known = values[np.isfinite(values)]
    low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
    if not high > low or not np.isfinite(high - low):
        return None
    counts, _ = np.histogram(known, bins=BARS, range=(low, high))
    return {"counts": counts.tolist(), "low": _short(low), "high": _short(high)}


def _short(value: float) -> float:
    """Round to five significant digits, which are sufficient for a figure."""
    return float(f"{value:.5g}")
