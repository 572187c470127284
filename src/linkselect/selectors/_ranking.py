"""A ranking of features as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import many
from linkselect._notebook import panel, table
from linkselect._samples.devices import Device, device_of, namespace_of, to_numpy

# How many features a notebook lists.
FEATURES_SHOWN = 10


def best_first(scores: FloatArray, greater_is_better: bool) -> IntArray:
    """Order features from best to worst by their scores as computed: ties by index, NaN last."""
    keys = -scores if greater_is_better else scores
    if (here := device_of(scores)) is not None:
        return here.xp.argsort(keys, stable=True)
    order = np.argsort(keys)
    # A stable sort is several times slower: only those that tie are sorted by index.
    ordered = keys[order]
    equal = ordered[1:] == ordered[:-1]
    ties = np.isnan(ordered)
    ties[1:] |= equal
    ties[:-1] |= equal
    tied = order[ties]
    order[ties] = tied[np.lexsort((tied, ordered[ties]))]
    return order


class Kinds(NamedTuple):
    """How many features there are of each kind."""

    all: int
    constant: int
    finite: int
    infinite: int
    undefined: int
    """Those that vary, and have no score."""


def count_kinds(scores: FloatArray, constant: BoolArray) -> Kinds:
    """Count what is odd about features and their scores, on the device that they are on."""
    xp = namespace_of(scores)
    constant = constant if namespace_of(constant) is xp else to_numpy(constant)
    masks = (
        constant,
        xp.isfinite(scores),
        xp.isinf(scores),
        xp.isnan(scores) & ~constant,
    )
    return Kinds(scores.shape[0], *(int(xp.count_nonzero(mask)) for mask in masks))


def count_features(wanted: Any, n_features: int) -> int:
    """Resolve `n_features_to_select`: a number, a fraction, or half of all for "auto"."""
    if isinstance(wanted, str):
        return max(1, n_features // 2)
    if isinstance(wanted, Integral):
        return int(wanted)
    # In floating point 0.29 * 100 is a little less than 29.
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

    def attributes(self, here: Device | None) -> dict[str, Any]:
        """Return the attributes of the fitted selector, with all arrays on the device of X."""

        def placed(value: Any) -> Any:
            return here.put(value) if here is not None and isinstance(value, np.ndarray) else value

        order = placed(self.order)
        if here is None:
            ranking = np.empty(len(order), dtype=np.intp)
            ranking[order] = np.arange(1, len(order) + 1)
        else:
            ranking = here.xp.argsort(order) + 1
        return {
            "scores_": placed(self.scores),
            "order_": order,
            "ranking_": ranking,
            "n_features_": self.n_selected,
            "support_": ranking <= self.n_selected,
            **{name: placed(value) for name, value in self.fitted.items()},
        }


def ranking_frame(found: Ranking, names: NDArray[Any], library: str) -> Any:
    """Make a data frame of feature, score, rank and selected, best first."""
    if library not in ("pandas", "polars"):
        raise ValueError(f"library={library!r}, but a frame is made by 'pandas' or 'polars'.")
    try:
        frames = import_module(library)
    except ImportError:
        package = "'linkselect[frame]'" if library == "pandas" else library
        raise ImportError(
            f"A frame needs {library}, which is not installed: pip install {package}. Without "
            "it, order_, scores_ and get_feature_names_out() say the same."
        ) from None
    ranks = np.arange(1, len(found.order) + 1)
    return frames.DataFrame(
        {
            "feature": names[found.order],
            "score": found.scores[found.order],
            "rank": ranks,
            "selected": ranks <= found.n_selected,
        }
    )


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


def keep(selector: Any, number: int) -> None:
    """Let a fitted selector keep another number of the features that it has ranked."""
    selector.set_params(n_features_to_select=number)
    selector.n_features_, selector.support_ = number, selector.ranking_ <= number


def name_features(selector: Any, names: Sequence[str]) -> None:
    """Give the features of a fitted selector their names, as if X had been a frame."""
    selector.feature_names_in_ = np.array(names, dtype=object)
