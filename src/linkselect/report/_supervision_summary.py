"""What a method used of labels and pairs, as plain data."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect.pairs import Pairs
from linkselect.report._plain import MOST_LISTED, plain_text
from linkselect.report._schema import SupervisionSummary
from linkselect.selectors._method import classes_seen


def describe_supervision(
    selector: Any, y: Any, pairs: Pairs | None, ids: tuple[Hashable, ...]
) -> SupervisionSummary:
    """Describe what the method used of labels and pairs; None is what it did not use."""
    if pairs is not None:
        return _of_pairs(pairs, ids)
    if y is not None:
        return _of_labels(*classes_seen(selector, y))
    return {"kind": "none", "n_samples": 0, "coverage": 0.0}


def _of_pairs(pairs: Pairs, ids: tuple[Hashable, ...]) -> SupervisionSummary:
    counted = pairs.summary(ids)
    groups = [len(group) for group in pairs.restrict(ids).components() if len(group) > 1]
    found = pairs.restrict(ids).conflicts(limit=MOST_LISTED)
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
        "conflicts": [plain_text(conflict) for conflict in found],
    }


def _of_labels(codes: IntArray, labels: NDArray[Any]) -> SupervisionSummary:
    sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
    n_labelled = int(sizes.sum())
    largest = np.argsort(-sizes, kind="stable")[:MOST_LISTED]
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
