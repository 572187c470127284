"""Rankings of the features by what each fold leaves: fitted once, measured in several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from linkselect._arrays import IntArray
from linkselect._checks import Given
from linkselect._messages import GuidedError
from linkselect.evaluation._curves import Curve
from linkselect.evaluation._effort import Effort
from linkselect.evaluation._held_out import Fold, Track
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.evaluation._held_out_pairs import PairFolds
from linkselect.evaluation._inputs import order_of
from linkselect.selectors._method import classes_seen, describe

# Chooses a number of features from what a fold leaves.
Choose = Callable[[Any, LabelFolds, Fold], int]


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
    numbers : tuple of int or None
        How many of them each fold keeps, if what it leaves chooses the number.
    rank : callable
        Ranks other folds in the same way.
    """

    held_out: PairFolds | LabelFolds
    orders: tuple[IntArray, ...]
    n_features: int
    numbers: tuple[int, ...] | None
    rank: Callable[[PairFolds | LabelFolds], FoldRankings]

    def curve(self, counts: IntArray) -> Curve:
        """Measure every fold at several numbers of features."""
        return self.held_out.curves(self.orders, counts)

    def kept(self, n_selected: int) -> tuple[int, ...]:
        """Return how many features each fold keeps: as many as selected, or what it chose."""
        return self.numbers or (n_selected,) * len(self.orders)

    def mean(self, n_selected: int) -> float:
        """Measure the features that each fold keeps."""
        return self.held_out.mean(self.orders, self.kept(n_selected))

    def first(self, n_repeats: int) -> FoldRankings:
        """Keep the first repeats of the folds."""
        held_out = self.held_out.first(n_repeats)
        count = len(held_out.folds)
        numbers = None if self.numbers is None else self.numbers[:count]
        return replace(self, held_out=held_out, orders=self.orders[:count], numbers=numbers)


def held_out_kind(selector: Any, given: Given) -> str | None:
    """Tell what can be held out: "pairs", "labels", or None."""
    if given.pairs is not None and describe(selector).sees in ("pairs", "nothing"):
        return "pairs"
    return None if given.y is None else "labels"


def deal_out(
    selector: Any, X: Any, given: Given, effort: Effort, seed: int, groups: IntArray | None = None
) -> tuple[PairFolds | LabelFolds | None, str | None]:
    """Deal out pairs or labels; or say why there are too few. Neither if nothing is known."""
    kind = held_out_kind(selector, given)
    try:
        if kind == "pairs":
            pairs, ids = given.pairs, tuple(given.sample_ids or ())
            assert pairs is not None
            return PairFolds(X, pairs, ids, effort.n_repeats, seed, groups), None
        if kind == "labels":
            codes, _ = classes_seen(selector, given.y)
            return LabelFolds(X, codes, effort.n_folds, seed, effort.n_repeats, groups), None
    except ValueError as error:
        return None, _problem(error)
    return None, None


def rank_by(
    held_out: PairFolds | LabelFolds,
    selector: Any,
    n_features: int,
    track: Track = iter,
    read: Callable[[Any], IntArray] = order_of,
    choose: Choose | None = None,
    *,
    own_number: bool = False,
) -> tuple[FoldRankings | None, str | None]:
    """Rank the features by what each fold leaves; or say what the method lacks in one of them.

    `read` takes the order of the features, or of the best of them, from a fitted selector;
    `choose` chooses how many of them each fold keeps. With `own_number` it keeps all that `read`
    returns.
    """
    known: list[IntArray] = []

    def rank(folds: PairFolds | LabelFolds, track: Track = iter) -> FoldRankings:
        orders = tuple(known or folds.orders(selector, track, read))
        numbers = tuple(map(len, orders)) if own_number else None
        if choose is not None and isinstance(folds, LabelFolds):
            numbers = tuple(choose(selector, folds, fold) for fold in folds.folds)
        return FoldRankings(folds, orders, n_features, numbers, rank)

    try:
        found = rank(held_out, track)
        if isinstance(held_out, PairFolds) and describe(selector).sees == "nothing":
            known += found.orders  # the same for all pairs
    except ValueError as error:
        return None, f"Cannot rank by what a fold leaves. {_problem(error)}"
    return found, None


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
