"""A ranking of features as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import FloatArray, IntArray
from linkselect.messages import many
from linkselect.notebook import panel, table

__all__ = ["Ranking", "best_first", "count_features", "ranking_view"]

# How many features a notebook lists.
FEATURES_SHOWN = 10


def best_first(scores: FloatArray, greater_is_better: bool) -> IntArray:
    """Order features from best to worst: ties by index, NaN last."""
    keys = -scores if greater_is_better else scores
    order = np.argsort(keys)
    # A stable sort is several times slower, and is only needed if there are ties.
    ordered = keys[order]
    if (ordered[1:] == ordered[:-1]).any() or np.isnan(ordered[-2:]).all():
        return np.argsort(keys, kind="stable")
    return order


def count_features(wanted: Any, n_features: int) -> int:
    """Resolve `n_features_to_select`: a number, a fraction, or half of all for "auto"."""
    if isinstance(wanted, str):
        return max(1, n_features // 2)
    if isinstance(wanted, Integral):
        return int(wanted)
    return max(1, int(wanted * n_features + 1e-9))


@dataclass(frozen=True)
class Ranking:
    """What a method found out about the features.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        The value of each feature.
    order : ndarray of shape (n_features,)
        Feature indices, best first.
    n_selected : int
        How many of them are kept.
    fitted : dict
        Further attributes of the fitted selector, by name.
    """

    scores: FloatArray
    order: IntArray
    n_selected: int
    fitted: dict[str, Any] = field(default_factory=dict)


def ranking_view(found: Ranking, names: NDArray[Any], method: str, greater_is_better: bool) -> str:
    """Write the best features as HTML for a notebook.

    Parameters
    ----------
    found : Ranking
        What a method found.
    names : ndarray of shape (n_features,)
        The names of the features.
    method : str
        The name of the method.
    greater_is_better : bool
        Whether a larger score is better.
    """
    best = found.order[:FEATURES_SHOWN]
    rows = [
        (rank, names[feature], f"{found.scores[feature]:#.4g}", "✓" if kept else "")
        for rank, feature in enumerate(best, start=1)
        for kept in [rank <= found.n_selected]
    ]
    rest = len(found.order) - len(best)
    side = "Larger" if greater_is_better else "Smaller"
    note = f"{side} scores are better." + (f" {many(rest, 'feature')} more." if rest else "")
    title = f"{method} selects {found.n_selected:,} of {many(len(found.order), 'feature')}"
    return panel(title, table(["rank", "feature", "score", "selected"], rows, {1}, note))
