"""Choose the number of features to keep, and state the reason."""

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

# All values below were chosen on 12 data sets and checked on 6 others; see
# benchmarks/number_of_features.py and docs/number_of_features.md.
FEWEST, MOST = 5, STEPS[-1]
TOLERANCE = 0.01
# Added to the tolerance, because in floating point 0.95 - 0.94 is slightly more than 0.01.
ROUNDING = 1e-9
REPEATS = 3
# With pairs or without supervision, no rule was better than a fixed number.
MOST_WITHOUT_LABELS = 300


@dataclass(frozen=True)
class NumberOfFeatures:
    """The number of features to keep, and the reason for this number.

    Attributes
    ----------
    n_features : int
        The number of features.
    rule : {"given", "own optimum", "held-out accuracy", "half, at most 300"}
        The rule that determined the number.
    reason : str
        An explanation in one or two sentences.
    measure : {"1-NN accuracy", "pair AUC"} or None
        The measure in `curve`.
    curve : Curve or None
        The performance on held-out labels or pairs for several numbers of features, with one row
        for each fold. None if nothing was held out.
    rankings : FoldRankings or None
        The rankings obtained in the folds. Pass them to `validate` to avoid refitting.
    """

    n_features: int
    rule: Rule
    reason: str
    measure: Literal["1-NN accuracy", "pair AUC"] | None = None
    curve: Curve | None = None
    rankings: FoldRankings | None = None


def largest_number(n_features: int) -> int:
    """Return the largest number of features that `choose_number` considers.

    A method that adds features one by one can stop at this number.

    Examples
    --------
    >>> largest_number(13), largest_number(5000)
    (6, 500)
    """
    return min(max(1, n_features // 2), MOST)


def number_without_labels(n_features: int) -> int:
    """Return the number of features to keep if there are no labels: half of all, at most 300."""
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

    The number is determined by the first of three rules that applies:

    1. The optimum of the method's own criterion is used if it is at least 2, at most 500 and less
       than the number of all features. If the criterion is an accuracy, the rule chooses the
       smallest number of features whose accuracy is within one percentage point, or within one
       sample, of the best. The number chosen by `LinkSelector` is always used.
    2. Cross-validation is used if at least 30 samples are labelled. The features are ranked on the
       training part of each fold, and the accuracy of 1-NN is measured on the held-out part with
       5, 7, 10, 15, 20, 30, ... features, up to half of all features and at most 500. The rule
       chooses the smallest number whose accuracy is within one percentage point of the best. For
       fast methods, the folds are repeated three times.
    3. In all other cases, half of the features are kept, but at most 300. With pairs, with few
       labels or without supervision, no rule performed better than this number.

    Rules 2 and 3 exclude features that are tied at the worst score, as most features are in sparse
    methods. If fewer features than the given number remain in a fold, all of them are used.

    Parameters
    ----------
    selector : fitted selector
        A selector that was fitted to all of X.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels of all or some samples. If pairs are given, labels are ignored, unless the selector
        uses labels only or the pairs are `pairs | Pairs.from_labels(y)`.
    pairs : Pairs, optional
        Must-links and cannot-links.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient. Groups are held out as a whole.
    random_state : int, default=0
        Seed for the folds.
    track : callable, default=iter
        A function that wraps the list of steps, for example in a progress bar.

    Returns
    -------
    NumberOfFeatures
        The number of features, the rule and the reason.

    See Also
    --------
    validate : Estimate how reliable the ranking is.

    Notes
    -----
    The accuracy at the chosen number is optimistic, because the number was chosen to
    maximise it. Nested cross-validation corrects for this bias by choosing a number in each fold
    from the training part only. `rankings.mean` returns the resulting accuracy, which is also
    reported in `reason` and by `validate`.

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
    doubt = (
        f" The method's own optimum, {number:,} of {n_features:,} features, is not used, because "
        f"the number must be at least 2, at most {MOST} and less than the total."
    )
    return replace(found, reason=found.reason + doubt)


def stated_number(selector: Any) -> NumberOfFeatures | None:
    """Return the number of features chosen by a method's own rule, or None if it has no rule."""
    is_stated = getattr(selector, "_keeps_own_number", False)
    if not is_stated or selector.n_features_to_select != "auto":
        return None
    if np.isnan(selector.scores_).all():  # all features are constant and explain nothing
        return None
    reason = f"{selector.own_number[0].upper()}{selector.own_number[1:]}."
    return NumberOfFeatures(int(selector.n_features_), "own optimum", reason)


def _without_own(
    ranker: FoldRanker, selector: Any, n_labelled: int, track: Track
) -> NumberOfFeatures:
    """Choose the number by held-out accuracy if possible; otherwise, keep half of the features."""
    n_features = ranker.X.shape[1]
    if ranker.kind is None:
        return _plain(n_features, "without labels, there is no evidence for a better number")
    if ranker.kind == "labels" and n_labelled < FEWEST_LABELLED:
        found = many(n_labelled, "label")
        return _plain(
            n_features, f"a choice by accuracy needs {FEWEST_LABELLED} labels, but y has {found}"
        )
    rankings, reason = _rank(ranker, track)
    if ranker.kind == "labels":
        if rankings is None:
            return _plain(n_features, f"held-out accuracy is not available. {reason}")
        return _by_accuracy(rankings, len(scored_order(selector)))
    plain = _plain(n_features, "held-out pairs cannot determine the number of features")
    if rankings is None:
        return plain
    curve = rankings.curve(_counts(n_features))
    return replace(plain, measure="pair AUC", curve=curve, rankings=rankings)


def scored_order(fitted: Any) -> IntArray:
    """Return the features, best first, except those that are tied at the worst score.

    Sparse methods assign the score 0 to most features, so the order of these features is arbitrary.
    If fewer than two features would remain, all features are returned.
    """
    order = order_of(fitted)
    if describe(fitted).searches or not hasattr(fitted, "scores_"):
        return order
    scores = np.asarray(fitted.scores_, dtype=float)[order]
    scores = scores[~np.isnan(scores)]
    n_better = int(np.count_nonzero(scores != scores[-1])) if scores.size else 0
    return order if n_better < 2 or n_better == len(scores) - 1 else order[:n_better]


def _without_worthless(selector: Any, found: NumberOfFeatures) -> NumberOfFeatures:
    """Exclude features that are tied at the worst score, and mention this in the reason."""
    scored = scored_order(selector)
    if len(scored) == len(selector.order_) or len(scored) > found.n_features:
        return found
    is_cut = len(scored) < found.n_features
    how = f"Limited to {len(scored):,}: all others" if is_cut else "All other features"
    worst = float(selector.scores_[selector.order_[len(scored)]])
    why = f" {how} share the worst score, {worst:g}."
    return replace(found, n_features=len(scored), reason=found.reason + why)


def _best_point(selector: Any, n_labelled: int) -> int:
    """Return the smallest number of features with nearly the best accuracy.

    "Nearly" means within one percentage point or one sample. Accuracies hardly change with the
    number of features, so a single sample may shift the maximum considerably. If the criterion is
    not an accuracy, its minimum is returned.
    """
    path = np.asarray(selector.path_, dtype=float)
    if not describe(selector).greater_is_better:
        return int(np.nanargmin(path)) + 1
    tolerance = max(TOLERANCE, 1 / max(1, n_labelled)) + ROUNDING
    return int(np.flatnonzero(path >= np.nanmax(path) - tolerance)[0]) + 1


def _own_number(selector: Any, n_labelled: int) -> tuple[int | None, str]:
    """Return the number of features that the method itself considers best, and the rule it used."""
    if describe(selector).path_has_optimum:
        return _best_point(selector, n_labelled), "the optimum of the method's own criterion"
    if getattr(selector, "own_number", "") and selector.n_features_to_select == "auto":
        return int(selector.n_features_), selector.own_number
    return None, ""


def _rank(
    ranker: FoldRanker, track: Track, read: Read | None = None
) -> tuple[FoldRankings | None, str | None]:
    """Rank the features in each fold, and choose how many to keep unless `read` is given."""
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
    """Rank features in each fold, and keep the number that is optimal by the method's criterion.

    The result is passed to `validate` if `choose_number`, called with the same arguments, has
    chosen the optimum of the method's criterion on all of X. The function returns None if nothing
    can be held out.
    """
    ranker = FoldRanker(selector, X, y, pairs, sample_ids, groups, random_state)

    def read(fitted: Any) -> IntArray:
        return order_of(fitted)[: _best_point(fitted, ranker.X.shape[0])]

    return _rank(ranker, track, read)[0]


def _choose_inside(selector: Any, held_out: LabelFolds, fold: Fold) -> int:
    """Choose a number of features by cross-validation within the training part of a fold."""
    n_features = held_out.n_features
    try:
        inside = held_out.inside(fold, FOLDS_INSIDE)
    except ValueError:  # all classes are too small to be held out
        return largest_number(n_features)
    rankings = rank_each(inside, selector, read=scored_order)
    most = max(map(len, rankings.orders))
    return _smallest_near_best(rankings.curve(_counts(n_features, most)))


def _counts(n_features: int, most: int = MOST) -> IntArray:
    return np.array(numbers_of_features(largest_number(n_features), most))


def _by_accuracy(rankings: FoldRankings, n_scored: int) -> NumberOfFeatures:
    """Choose the number of features by held-out accuracy, among features with a useful score."""
    curve = rankings.curve(_counts(rankings.n_features, n_scored))
    number = _smallest_near_best(curve)
    text = (
        f"This is the smallest number, from {many(_fewest(curve), 'feature')} upwards, whose "
        "held-out 1-NN accuracy is within 1 percentage point of the best. In nested "
        "cross-validation, which chooses the number anew in each fold, this rule reached an "
        f"accuracy of {rankings.mean(number):.1%}."
    )
    return NumberOfFeatures(number, "held-out accuracy", text, "1-NN accuracy", curve, rankings)


def _fewest(curve: Curve) -> int:
    return min(FEWEST, int(curve.n_features[-1]))


def _smallest_near_best(curve: Curve) -> int:
    """Return the smallest number, at least five, whose mean is within one point of the best."""
    counts, mean = curve.n_features, np.round(curve.mean, 9)  # hides differences in rounding
    allowed = counts >= _fewest(curve)
    near = allowed & (mean >= mean[allowed].max() - TOLERANCE - ROUNDING)
    return int(counts[near][0])


def _plain(n_features: int, why: str) -> NumberOfFeatures:
    text = f"Half of the features, at most {MOST_WITHOUT_LABELS}: {why.rstrip('.')}."
    return NumberOfFeatures(number_without_labels(n_features), "half, at most 300", text)
