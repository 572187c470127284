"""How many features to keep, with a reason."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from linkselect._arrays import IntArray
from linkselect._messages import many
from linkselect.evaluation._curves import STEPS, Curve, numbers_of_features
from linkselect.evaluation._effort import FOLDS_INSIDE, MOST_FOLDS, MOST_RESAMPLES
from linkselect.evaluation._fold_rankings import FoldRanker, FoldRankings, Folds, Read, rank_each
from linkselect.evaluation._held_out import Fold
from linkselect.evaluation._held_out_labels import FEWEST_LABELLED, LabelFolds
from linkselect.evaluation._inputs import Track, order_of
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe

Rule = Literal["given", "own optimum", "held-out accuracy", "half, at most 300"]

# All numbers below were chosen on 12 data sets and looked at on 6 others afterwards; see
# benchmarks/number_of_features.py and docs/number_of_features.md.
FEWEST, MOST = 5, STEPS[-1]
TOLERANCE = 0.01
# Added to it: in floating point 0.95 - 0.94 is a little more than 0.01.
ROUNDING = 1e-9
REPEATS = 3
# From pairs, or from nothing, no choice among numbers was better than a fixed one.
MOST_WITHOUT_LABELS = 300


@dataclass(frozen=True)
class NumberOfFeatures:
    """How many features to keep, and why.

    Attributes
    ----------
    n_features : int
        How many.
    rule : {"given", "own optimum", "held-out accuracy", "half, at most 300"}
        How the number was found.
    reason : str
        The same in a sentence.
    measure : {"1-NN accuracy", "pair AUC"} or None
        What the curve measures.
    curve : Curve or None
        How well the best features do on held-out labels or pairs, over their number; one row
        for each fold. None if nothing was held out.
    rankings : FoldRankings or None
        The rankings of the folds, for `validate`.
    """

    n_features: int
    rule: Rule
    reason: str
    measure: Literal["1-NN accuracy", "pair AUC"] | None = None
    curve: Curve | None = None
    rankings: FoldRankings | None = None


def largest_number(n_features: int) -> int:
    """Return the largest number of features that `choose_number` may choose.

    A method that searches needs to take no more steps than that.

    Examples
    --------
    >>> largest_number(13), largest_number(5000)
    (6, 500)
    """
    return min(max(1, n_features // 2), MOST)


def number_without_labels(n_features: int) -> int:
    """Return the number that is kept without labels: half of the features, at most 300."""
    return min(max(1, n_features // 2), MOST_WITHOUT_LABELS)


def choose_number(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    track: Track = iter,
) -> NumberOfFeatures:
    """Choose how many features to keep.

    The first of three rules that applies:

    1. The method has an optimum of its own, and it is sane: at least 2 features, not all of them,
       and at most 500. Of a path of accuracies it is the smallest number within a point, or within
       one sample, of the best. The number of `LinkSelector` counts in any case.
    2. There are labels of at least 30 samples. The features are ranked on folds, and 1-NN is
       measured on what each fold holds out, with 5, 7, 10, 15, 20, 30, ... features up to half of
       them, at most 500. The smallest number within one point of the best accuracy is chosen. The
       folds are dealt three times if the method is fast.
    3. From pairs, from few labels or from nothing no such choice was better than a fixed number.
       It is half of the features, at most 300.

    Rules 2 and 3 keep no feature that shares the worst score with others, as most features do in
    sparse methods. In a fold with fewer other features, accuracies end at these: with more it is
    that of all of them.

    Parameters
    ----------
    selector : fitted selector
        Fitted on all of X.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels of all or some samples. They do not count if there are pairs, unless the selector
        looks at labels only, or these are `pairs | Pairs.from_labels(y)`.
    pairs : Pairs, optional
        Must-links and cannot-links.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient, which is held out as a whole.
    random_state : int, default=0
        Determines the folds.
    track : callable, default=iter
        Wraps the list of steps, to show progress.

    Returns
    -------
    NumberOfFeatures

    See Also
    --------
    validate : How far to trust the ranking.

    Notes
    -----
    The accuracy at the chosen number is too good: it was chosen for that. So each fold chooses the
    number anew from the rows that it does not hold out, and `rankings.mean` is the accuracy with
    these numbers, which the reason and `validate` report.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from linkselect import FisherScore
    >>> from linkselect.evaluation import choose_number
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    >>> found = choose_number(FisherScore().fit(X, y), X, y)
    >>> found.n_features, found.rule
    (7, 'held-out accuracy')
    """
    check_is_fitted(selector)
    ranker = FoldRanker(selector, X, y, pairs, sample_ids, groups, random_state)
    if (stated := stated_number(selector)) is not None:
        return stated
    n_features = ranker.X.shape[1]
    n_labelled = int(np.count_nonzero(ranker.codes() >= 0))
    number, what = _own_number(selector, n_labelled)
    if number is not None and 2 <= number <= min(n_features - 1, MOST):
        return NumberOfFeatures(number, "own optimum", f"{what[0].upper()}{what[1:]}.")
    found = _without_worthless(selector, _without_own(ranker, selector, n_labelled, track))
    if number is None:
        return found
    doubt = f" The method's own optimum, {number:,} of {n_features:,}, tells too little."
    return replace(found, reason=found.reason + doubt)


def stated_number(selector: Any) -> NumberOfFeatures | None:
    """Return the number that a method's own rule keeps, however small; None without such a rule."""
    is_stated = getattr(selector, "_keeps_own_number", False)
    if not is_stated or selector.n_features_to_select != "auto":
        return None
    if np.isnan(selector.scores_).all():  # no feature varies, so that none explains anything
        return None
    reason = f"{selector.own_number[0].upper()}{selector.own_number[1:]}."
    return NumberOfFeatures(int(selector.n_features_), "own optimum", reason)


def _without_own(
    ranker: FoldRanker, selector: Any, n_labelled: int, track: Track
) -> NumberOfFeatures:
    """Choose by held-out accuracy, or else take half of the features, at most 300."""
    n_features = ranker.X.shape[1]
    if ranker.kind is None:
        return _plain(n_features, "without labels no number can be shown to be better")
    if ranker.kind == "labels" and n_labelled < FEWEST_LABELLED:
        return _plain(n_features, f"{many(n_labelled, 'label')} are too few to choose by accuracy")
    rankings, reason = _rank(ranker, track)
    if ranker.kind == "labels":
        if rankings is None:
            return _plain(n_features, f"there is no held-out accuracy, since {reason}")
        return _by_accuracy(rankings, len(scored_order(selector)))
    plain = _plain(n_features, "held-out pairs do not tell how many features to keep")
    if rankings is None:
        return plain
    curve = rankings.curve(_counts(n_features))
    return replace(plain, measure="pair AUC", curve=curve, rankings=rankings)


def scored_order(fitted: Any) -> IntArray:
    """Return the features, best first, without those that share the worst score with others.

    Sparse methods give most features the score 0, and a curve over such features in whatever order
    would say nothing about the score. If that leaves less than two, all are returned.
    """
    order = order_of(fitted)
    if describe(fitted).searches or not hasattr(fitted, "scores_"):
        return order
    scores = np.asarray(fitted.scores_, dtype=float)[order]
    scores = scores[~np.isnan(scores)]
    n_better = int(np.count_nonzero(scores != scores[-1])) if scores.size else 0
    return order if n_better < 2 or n_better == len(scores) - 1 else order[:n_better]


def _without_worthless(selector: Any, found: NumberOfFeatures) -> NumberOfFeatures:
    """Say where the features end that a score tells apart, and keep no more than these."""
    scored = scored_order(selector)
    if len(scored) == len(selector.order_) or len(scored) > found.n_features:
        return found
    how = "More do not count" if len(scored) == found.n_features else f"Cut to {len(scored):,}"
    worst = float(selector.scores_[selector.order_[len(scored)]])
    why = f" {how}: all others have the score {worst:g}."
    return replace(found, n_features=len(scored), reason=found.reason + why)


def _best_point(selector: Any, n_labelled: int) -> int:
    """Return the minimum of a criterion, or where an accuracy first comes near its maximum.

    Near is within a point or within one sample: a path of accuracies is flat, and its largest
    value may come late by one more hit.
    """
    path = np.asarray(selector.path_, dtype=float)
    if not describe(selector).greater_is_better:
        return int(np.nanargmin(path)) + 1
    tolerance = max(TOLERANCE, 1 / max(1, n_labelled)) + ROUNDING
    return int(np.flatnonzero(path >= np.nanmax(path) - tolerance)[0]) + 1


def _own_number(selector: Any, n_labelled: int) -> tuple[int | None, str]:
    """Return the best point of the method's own path, or what its "auto" means; and its name."""
    if describe(selector).path_has_optimum:
        return _best_point(selector, n_labelled), "the best point of the method's own path"
    if getattr(selector, "own_number", "") and selector.n_features_to_select == "auto":
        return int(selector.n_features_), selector.own_number
    return None, ""


def _rank(
    ranker: FoldRanker, track: Track, read: Read | None = None
) -> tuple[FoldRankings | None, str | None]:
    """Rank on folds, each of which chooses a number of features, or keeps what `read` returns."""
    copy = ranker.with_number(largest_number(ranker.X.shape[1]))
    effort = ranker.effort()
    if ranker.kind == "labels":
        cheap = effort.n_folds == MOST_FOLDS and effort.n_resamples == MOST_RESAMPLES
        n_repeats = REPEATS if cheap and not describe(copy).searches else 1
        effort = effort._replace(n_repeats=n_repeats)

    def how(folds: Folds) -> FoldRankings:
        if read is not None:
            return rank_each(folds, copy, track, read, own_number=True)
        return rank_each(folds, copy, track, scored_order, _choose_inside)

    return ranker.rank(effort, how)


def rank_by_own_path(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    track: Track = iter,
) -> FoldRankings | None:
    """Rank on folds, each of which keeps the best point of the method's path there.

    For `validate`, after `choose_number` has chosen the best point of the path on all of X, with
    the same arguments. None if nothing can be held out.
    """
    ranker = FoldRanker(selector, X, y, pairs, sample_ids, groups, random_state)

    def read(fitted: Any) -> IntArray:
        return order_of(fitted)[: _best_point(fitted, ranker.X.shape[0])]

    return _rank(ranker, track, read)[0]


def _choose_inside(selector: Any, held_out: LabelFolds, fold: Fold) -> int:
    """Choose a number of features by what a fold leaves, as all labels would."""
    n_features = held_out.n_features
    try:
        inside = held_out.inside(fold, FOLDS_INSIDE)
    except ValueError:  # classes so small that none of them can be held out
        return largest_number(n_features)
    rankings = rank_each(inside, selector, read=scored_order)
    most = max(map(len, rankings.orders))
    return _smallest_near_best(rankings.curve(_counts(n_features, most)))


def _counts(n_features: int, most: int = MOST) -> IntArray:
    return np.array(numbers_of_features(largest_number(n_features), most))


def _by_accuracy(rankings: FoldRankings, n_scored: int) -> NumberOfFeatures:
    """Choose among numbers up to that of the features that a score tells apart."""
    curve = rankings.curve(_counts(rankings.n_features, n_scored))
    number = _smallest_near_best(curve)
    text = (
        f"The smallest number, from {many(_fewest(curve), 'feature')} on, within 1 point of the "
        f"best held-out 1-NN accuracy. Chosen anew inside each fold, such a number reached "
        f"{rankings.mean(number):.1%}."
    )
    return NumberOfFeatures(number, "held-out accuracy", text, "1-NN accuracy", curve, rankings)


def _fewest(curve: Curve) -> int:
    return min(FEWEST, int(curve.n_features[-1]))


def _smallest_near_best(curve: Curve) -> int:
    """Return the smallest number of at least five whose mean is within a point of the best."""
    counts, mean = curve.n_features, np.round(curve.mean, 9)  # the order of sums must not decide
    allowed = counts >= _fewest(curve)
    near = allowed & (mean >= mean[allowed].max() - TOLERANCE - ROUNDING)
    return int(counts[near][0])


def _plain(n_features: int, why: str) -> NumberOfFeatures:
    text = f"Half of the features, at most {MOST_WITHOUT_LABELS}: {why.rstrip('.')}."
    return NumberOfFeatures(number_without_labels(n_features), "half, at most 300", text)
