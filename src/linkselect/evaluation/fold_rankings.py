"""Rankings of the features by what each fold leaves: fitted once, measured in several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from linkselect.arrays import IntArray
from linkselect.evaluation.curves import Curve
from linkselect.evaluation.held_out import Estimate, LabelFolds, PairFolds, Track
from linkselect.evaluation.inputs import order_of
from linkselect.given import Given
from linkselect.messages import GuidedError
from linkselect.selectors.method import classes_seen, describe

__all__ = ["FoldRankings", "deal_out", "held_out_kind", "rank_by", "with_number"]


@dataclass(frozen=True)
class FoldRankings:
    """What each fold leaves ranks the features; what it holds out measures them.

    Parameters
    ----------
    held_out : PairFolds or LabelFolds
        The folds.
    orders : tuple of arrays of int
        The features by each fold, best first.
    n_features : int
        How many features there are.
    """

    held_out: PairFolds | LabelFolds
    orders: tuple[IntArray, ...]
    n_features: int

    def curve(self, counts: IntArray) -> Curve:
        """Measure every fold at several numbers of features."""
        return self.held_out.curves(self.orders, counts)

    def estimate(self, n_selected: int, seed: int) -> Estimate:
        """Measure a number of features on all folds, as `curve` does."""
        rng = np.random.RandomState(seed)
        measured = self.held_out.estimate(self.orders, n_selected, self.n_features, rng)
        return self.held_out.summary(**measured)


def held_out_kind(selector: Any, given: Given) -> str | None:
    """Tell what can be held out: "pairs", "labels", or None."""
    if given.pairs is not None and describe(selector).sees in ("pairs", "nothing"):
        return "pairs"
    return None if given.y is None else "labels"


def deal_out(
    selector: Any, X: Any, given: Given, n_folds: int, seed: int, n_repeats: int = 1
) -> tuple[PairFolds | LabelFolds | None, str | None]:
    """Deal out pairs or labels; or say why there are too few. Neither if nothing is known.

    Labelled rows can be dealt into folds several times.
    """
    kind = held_out_kind(selector, given)
    try:
        if kind == "pairs":
            pairs, ids = given.pairs, tuple(given.sample_ids or ())
            return PairFolds(X, pairs, ids, n_folds, seed), None  # type: ignore[arg-type]
        if kind == "labels":
            codes, _ = classes_seen(selector, given.y)
            return LabelFolds(X, codes, n_folds, seed, n_repeats), None
    except ValueError as error:
        return None, _problem(error)
    return None, None


def rank_by(
    held_out: PairFolds | LabelFolds,
    selector: Any,
    n_features: int,
    track: Track = iter,
    read: Callable[[Any], IntArray] = order_of,
) -> tuple[FoldRankings | None, str | None]:
    """Rank the features by what each fold leaves; or say what the method lacks in one of them.

    `read` takes the order of the features, or of the best of them, from a fitted selector.
    """
    try:
        orders = held_out.orders(selector, track, read)
    except ValueError as error:
        return None, _problem(error)
    return FoldRankings(held_out, tuple(orders), n_features), None


def _problem(error: ValueError) -> str:
    return error.problem if isinstance(error, GuidedError) else str(error)


def with_number(selector: Any, n_selected: int) -> Any:
    """Copy a selector, to select that many features without showing progress of its own."""
    copy = clone(selector)
    if hasattr(copy, "set_callbacks"):
        copy.set_callbacks()
    if "n_features_to_select" in copy.get_params(deep=False):
        copy.set_params(n_features_to_select=n_selected)
    return copy
