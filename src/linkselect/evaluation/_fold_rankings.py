"""Feature rankings from the training part of each fold, evaluated on the held-out part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from linkselect._arrays import FloatArray, IntArray
from linkselect._batches import row_codes
from linkselect._blocks import map_threads, slices
from linkselect._messages import GuidedError
from linkselect.evaluation._curves import Curve
from linkselect.evaluation._effort import Effort, plan_fits
from linkselect.evaluation._held_out import Fold
from linkselect.evaluation._held_out_labels import FEWEST_LABELLED, LabelFolds
from linkselect.evaluation._held_out_pairs import PairFolds
from linkselect.evaluation._inputs import Track, check_matrix, order_of, read_given, reproducible
from linkselect.pairs import Pairs
from linkselect.selectors._method import classes_seen, describe

# Progress is reported after this many folds; it must not depend on the number of threads.
FOLDS_PER_STEP = 2

Folds = PairFolds | LabelFolds
# Returns the order of the features of a fitted selector, or only of the best ones.
Read = Callable[[Any], IntArray]
# Chooses a number of features from the training part of a fold.
Choose = Callable[[Any, LabelFolds, Fold], int]


@dataclass(frozen=True)
class FoldRankings:
    """Feature rankings from the training part of each fold, together with the folds.

    Parameters
    ----------
    held_out : PairFolds or LabelFolds
        The folds.
    orders : tuple of arrays of int
        The ranking of the features in each fold, best first.
    n_features : int
        The number of all features.
    numbers : tuple of int or None
        The number of features kept in each fold, if this number was chosen within the folds.
    rank : callable
        A function that ranks the features in other folds in the same way.
    """

    held_out: Folds
    orders: tuple[IntArray, ...]
    n_features: int
    numbers: tuple[int, ...] | None
    rank: Callable[[Folds], FoldRankings]

    def curve(self, counts: IntArray) -> Curve:
        """Return the held-out performance in every fold for several numbers of features.

        If a fold ranks fewer features than a given number, all its ranked features are used.
        """

        def work(place: int) -> FloatArray:
            order, fold = self.orders[place], self.held_out.folds[place]
            some, places = np.unique(np.minimum(counts, len(order)), return_inverse=True)
            return self.held_out.curve(order, fold, some)[places]

        return Curve(counts, np.array(map_threads(work, range(len(self.orders)))))

    def kept(self, n_selected: int) -> tuple[int, ...]:
        """Return the number of features kept in each fold: `n_selected`, or the fold's choice."""
        return self.numbers or (n_selected,) * len(self.orders)

    def best(self, n_selected: int) -> list[tuple[IntArray, Fold]]:
        """Return the features kept in each fold, together with the fold."""
        kept = zip(self.orders, self.kept(n_selected), strict=True)
        features = [order[:number] for order, number in kept]
        return list(zip(features, self.held_out.folds, strict=True))

    def mean(self, n_selected: int) -> float:
        """Return the mean held-out performance of the features kept in each fold."""
        return float(np.mean([self.held_out.value(*one) for one in self.best(n_selected)]))

    def first(self, n_repeats: int) -> FoldRankings:
        """Return a copy with only the first `n_repeats` repeats of the folds."""
        count = n_repeats * self.held_out.n_folds
        folds = self.held_out.with_folds(self.held_out.folds[:count])
        numbers = None if self.numbers is None else self.numbers[:count]
        return replace(self, held_out=folds, orders=self.orders[:count], numbers=numbers)


def rank_each(
    folds: Folds,
    selector: Any,
    track: Track = iter,
    read: Read = order_of,
    choose: Choose | None = None,
    *,
    own_number: bool = False,
) -> FoldRankings:
    """Rank the features on the training part of each fold.

    Parameters
    ----------
    folds : PairFolds or LabelFolds
        The folds.
    selector : selector
        The method. It is cloned.
    track : callable, default=iter
        A function that wraps the list of steps, for example in a progress bar.
    read : callable
        A function that returns all features of a fitted selector or only the best ones, best first.
    choose : callable, optional
        A function that chooses the number of features to keep in each fold of labels.
    own_number : bool, default=False
        Whether all features that `read` returns are kept in each fold.
    """
    n_features = folds.n_features
    known: tuple[IntArray, ...] = ()

    def rank(folds: Folds, track: Track = iter) -> FoldRankings:
        def work(fold: Fold) -> IntArray:
            return read(folds.fit(clone(selector), fold))

        orders = list(known)
        for part in () if known else track(slices(len(folds.folds), FOLDS_PER_STEP)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all samples has already warned
                orders += map_threads(work, folds.folds[part])
        numbers = tuple(map(len, orders)) if own_number else None
        if choose is not None and isinstance(folds, LabelFolds):
            numbers = tuple(choose(selector, folds, fold) for fold in folds.folds)
        return FoldRankings(folds, tuple(orders), n_features, numbers, rank)

    found = rank(folds, track)
    if isinstance(folds, PairFolds) and describe(selector).sees == "nothing":
        known = found.orders  # an unsupervised ranking is the same for all pairs
    return found


class FoldRanker:
    """A selector with its supervision, checked and prepared for cross-validation.

    This class checks the arguments of `validate` and `choose_number`. If the selector uses both
    labels and pairs, labels are held out if at least 30 samples are labelled. Otherwise, pairs are
    held out, including those implied by labels.

    Attributes
    ----------
    selector : selector
        A clone of the selector with fixed seeds.
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    given : Given
        Labels and pairs. The pairs are sorted by the row numbers of their samples.
    groups : array of int or None
        The group of each sample; groups are held out as a whole.
    seed : int
        Determines the folds.
    has_both : bool
        Whether the selector uses labels and pairs together.
    """

    def __init__(
        self,
        selector: Any,
        X: Any,
        y: Any,
        pairs: Pairs | None,
        sample_ids: Iterable[Hashable] | None,
        groups: ArrayLike | None,
        seed: int,
    ) -> None:
        self.X = check_matrix(X)
        grouped = isinstance(pairs, Pairs) and bool(pairs._groupings)
        self.has_both = y is not None and grouped and describe(selector).sees == "pairs"
        with warnings.catch_warnings():
            if hasattr(selector, "order_"):
                warnings.simplefilter("ignore")  # the fit has already warned
            # Pairs implied by labels are not listed, because their number grows quadratically.
            self.given = read_given(selector, X, y, pairs, sample_ids, listed=not grouped)
        n_samples = self.X.shape[0]
        self.groups = None if groups is None else row_codes(groups, n_samples, "groups")
        self.given = replace(self.given, groups=self.groups)
        self.selector, self.seed = reproducible(selector, seed), seed

    @property
    def kind(self) -> Literal["pairs", "labels"] | None:
        """The kind of supervision that is held out, or None without supervision."""
        if self.has_both and np.count_nonzero(self.codes() >= 0) >= FEWEST_LABELLED:
            return "labels"
        if self.given.pairs is not None and describe(self.selector).sees in ("pairs", "nothing"):
            return "pairs"
        return None if self.given.y is None else "labels"

    def codes(self) -> IntArray:
        """Return the class code of each sample, as used by the selector; -1 if unlabelled."""
        if self.given.y is None:
            return np.full(self.X.shape[0], -1)
        return classes_seen(self.selector, self.given.y)[0]

    def effort(self, fits_per_fold: int = 1) -> Effort:
        """Plan the numbers of folds, resamples and permutations."""
        pairs, by_pairs = self.given.pairs, self.kind == "pairs"
        n_pairs = 0 if pairs is None else pairs.n_must + pairs.n_cannot
        size = (*self.X.shape, n_pairs)
        return plan_fits(
            self.selector,
            *size,
            by_pairs=by_pairs,
            fits_per_fold=fits_per_fold,
            grouped=self.groups is not None,
        )

    def with_number(self, n_selected: int) -> Any:
        """Clone the selector, set its number of features and remove its progress callbacks."""
        copy = clone(self.selector)
        if hasattr(copy, "set_callbacks"):
            copy.set_callbacks()
        if "n_features_to_select" in copy.get_params(deep=False):
            copy.set_params(n_features_to_select=n_selected)
        return copy

    def rank(
        self, effort: Effort, how: Callable[[Folds], FoldRankings]
    ) -> tuple[FoldRankings | None, str | None]:
        """Split the supervision into folds and rank the features; on failure, return the reason.

        Without supervision, both returned values are None.
        """
        doing = ""
        try:
            folds = self._deal(effort)
            doing = "Cannot rank features on the training part of a fold. "
            return None if folds is None else how(folds), None
        except ValueError as error:
            return None, doing + (error.problem if isinstance(error, GuidedError) else str(error))

    def _deal(self, effort: Effort) -> Folds | None:
        n_folds, n_repeats, pairs = effort.n_folds, effort.n_repeats, self.given.pairs
        ids = tuple(self.given.sample_ids or ())
        if self.kind == "pairs" and pairs is not None:
            return PairFolds(self.X, pairs, ids, n_repeats, self.seed, self.groups)
        if self.kind == "labels":
            both = (pairs, ids) if self.has_both else ()
            given = self.X, self.codes(), n_folds, self.seed, n_repeats, self.groups
            return LabelFolds(*given, *both)
        return None
