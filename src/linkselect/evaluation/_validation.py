"""Validate a ranking by held-out supervision, selection frequencies and correlated features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError
from linkselect._samples.sources.annotated import names_of
from linkselect.evaluation._effort import FOLDS_INSIDE, Effort
from linkselect.evaluation._fold_rankings import FoldRanker, FoldRankings, Folds, rank_each
from linkselect.evaluation._frequencies import Twin, correlated_twins, measure_stability
from linkselect.evaluation._held_out import Estimate
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.evaluation._inputs import Track, check_selector, order_of
from linkselect.evaluation._pair_folds import check_whole
from linkselect.evaluation._permutation import (
    LEVEL,
    TOO_FEW_WAYS,
    against_chance,
    against_random,
    too_few_ways,
)
from linkselect.pairs import Pairs
from linkselect.selectors._stability import frequency_errors
from linkselect.selectors._wrapper import arguments_of

# Correlated features are searched for this many of the best selected features.
MOST_WITH_TWINS = 300


@dataclass(frozen=True)
class Validation:
    """Reliability of a ranking: performance, significance, stability and correlated features.

    Attributes
    ----------
    estimate : Estimate or None
        The performance of the selected number of features on held-out pairs or labels. None if
        there is no supervision or too little.
    p_value : float or None
        The p-value of a permutation test. Under the null hypothesis, X is unrelated to the pairs or
        labels. None if no valid test is possible.
    p_random : float or None
        The p-value of a test against the same number of random features. Under the null hypothesis,
        the selected features are no better than random ones. `p_random` is at least `p_value`.
    reason : str or None
        The reason why there is no estimate or no p-value, as a sentence.
    selected : tuple of int
        The selected features, best first.
    frequencies : tuple of float
        The selection frequency of each feature, in column order: the proportion of resamples in
        which it is selected. The tuple is empty if there is too little supervision to be divided
        into halves.
    together : tuple of float
        For each selected feature, the proportion of resamples in which the feature itself or a
        highly correlated one is selected. A method that avoids redundancy selects only one of
        several correlated features, so their individual frequencies are misleading.
    n_resamples : int
        The number of resamples on which the features were ranked.
    n_unranked : int
        The number of resamples with too little supervision to rank features.
    pairs_left : tuple of float or None
        The mean numbers of must-links and cannot-links whose samples are both in a resample. None
        if no pairs were passed to the method.
    twins : tuple of tuple of Twin
        For each of the first 300 selected features, up to three features that are highly correlated
        with it (a correlation of at least 0.9 or at most -0.9), sorted by decreasing absolute
        correlation.
    left_out : tuple of (int, Twin)
        Each feature that is not selected but highly correlated with a selected feature, and the
        selected feature with which it is most correlated.
    """

    estimate: Estimate | None
    p_value: float | None
    p_random: float | None
    reason: str | None
    selected: tuple[int, ...]
    frequencies: tuple[float, ...]
    together: tuple[float, ...]
    n_resamples: int
    n_unranked: int
    pairs_left: tuple[float, float] | None
    twins: tuple[tuple[Twin, ...], ...]
    left_out: tuple[tuple[int, Twin], ...]

    @property
    def better_than_chance(self) -> bool | None:
        """Whether the selected features agree with the supervision: `p_value` is at most 0.025.

        The value is None if there is no p-value.
        """
        return None if self.p_value is None else self.p_value <= LEVEL

    @property
    def better_than_random(self) -> bool | None:
        """Whether the selected features are better than random ones: `p_random` is at most 0.025.

        The value is None if there is no p-value.
        """
        return None if self.p_random is None else self.p_random <= LEVEL

    @property
    def selected_again(self) -> tuple[float, ...]:
        """The selection frequency of each selected feature, best first."""
        return tuple(self.frequencies[feature] for feature in self.selected if self.frequencies)

    @property
    def frequency_errors(self) -> tuple[float, ...]:
        """The Monte Carlo standard error of each selection frequency, in column order.

        Two selections and two non-selections are added to those observed (Agresti & Coull).
        """
        return tuple(frequency_errors(self.frequencies, self.n_resamples).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return the validation as a dict that can be written as JSON."""
        return {
            "better_than_chance": self.better_than_chance,
            "better_than_random": self.better_than_random,
            "p_value": self.p_value,
            "p_random": self.p_random,
            "estimate": None if self.estimate is None else asdict(self.estimate),
            "reason": self.reason,
            "n_resamples": self.n_resamples,
            "selected": list(self.selected),
            "n_unranked": self.n_unranked,
            "pairs_left": None if self.pairs_left is None else list(self.pairs_left),
            "selected_again": list(self.selected_again),
            "together": list(self.together),
            "frequencies": list(self.frequencies),
            "twins": [[twin._asdict() for twin in twins] for twins in self.twins],
        }


def validate(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    random_state: int = 0,
    track: Track = iter,
    rankings: FoldRankings | None = None,
    n_resamples: int | None = None,
) -> Validation:
    """Measure how reliable a ranking is.

    The validation answers three questions. How well does the selected number of features perform on
    held-out pairs or labels? How often is each selected feature selected on resamples? Which
    features are highly correlated with a selected one?

    The estimate is the pair AUC, or the accuracy of the nearest neighbour, on samples whose pairs
    or labels are not used for training. Pairs are held out in two halves that share no sample, and
    labelled samples in 3 to 5 folds. In each fold, the features are selected from fewer pairs or
    labels than are available, so the estimate tends to be low.

    "Better than chance" means that the selected features agree with the pairs or labels. This is
    tested by permutation (see `p_value`) at a one-sided level of 2.5 %. The test is valid if the
    pairs were chosen without looking at X, so pairs in `Pairs.adaptive` are never held out. "Better
    than random" means that the selected features perform better than the same number of random
    features.

    Resamples are complementary halves of the samples. Samples that are connected by must-links or
    belong to the same group stay together. Each half contains the pairs whose samples are both in
    this half.

    The numbers of folds, permutations and resamples (10 to 50) depend only on the size of X and the
    method, so that repeated calls give the same result. With a slow method, features are not ranked
    again on permuted samples, so the test needs more pairs to reach the same power.

    The estimate cannot determine the best number of features. A method may also fail on data on
    which another method performs well.

    Parameters
    ----------
    selector : selector
        A selector that has the attribute `order_` after fitting. If the selector is already fitted
        to X, it is not refitted to all of X.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels of all or some samples. If pairs are given, labels are ignored, unless the selector
        uses labels only or the pairs are `pairs | Pairs.from_labels(y)`. In the last case, labels
        are held out if at least 30 samples are labelled, and the training pairs of a fold contain
        no held-out sample.
    pairs : Pairs, optional
        Must-links and cannot-links.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient. Groups are held out as a whole, including
        unlabelled samples, and permuted as a whole among groups of the same size.
    batches : array-like of shape (n_samples,), optional
        The batch of each sample, such as the plate. Samples are permuted within batches only.
    random_state : int, default=0
        Seed for folds, permutations, resamples and random features, and for the selector if its own
        `random_state` is None.
    track : callable, default=iter
        A function that wraps the list of steps, for example in a progress bar.
    rankings : FoldRankings, optional
        The `rankings` in the result of `choose_number`. Passing them avoids refitting. If
        `choose_number` repeated its folds, the estimate is the mean over all repeats.
    n_resamples : int, optional
        The number of resamples for selection frequencies. Default: 10 to 50, as described above.

    Returns
    -------
    Validation
        The estimate, the tests, the selection frequencies and correlated features.

    See Also
    --------
    pair_auc_curve : Measure the AUC of held-out pairs for several numbers of features.
    compare : Compare several methods.
    StableSelector : Rank features by their selection frequency.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs
    >>> from linkselect.evaluation import validate
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    >>> found = validate(LSDF(2), X, pairs=pairs)
    >>> found.selected, found.better_than_chance
    ((2, 3), True)
    """
    check_selector(selector)
    if n_resamples is not None:
        check_whole("n_resamples", n_resamples, 0)
    ranker = FoldRanker(selector, X, y, pairs, sample_ids, groups, random_state)
    own, n_features = ranker.selector, ranker.X.shape[1]
    is_fitted = hasattr(selector, "order_")
    whole = selector if is_fitted else own.fit(ranker.X, **arguments_of(ranker.given, own))
    selected = _selected(whole, X, n_features)
    again = ranker.with_number(len(selected))
    effort = ranker.effort(_fits_per_fold(rankings))
    reason = None
    if rankings is None:
        rankings, reason = _rank_folds(ranker, again, effort, track)
    else:
        _check_same_groups(rankings, ranker.groups)
    measured: Measured = (None, None, None, reason)
    if rankings is not None:
        measured = _measure(rankings, len(selected), ranker, batches, effort, track)
    n_resamples = effort.n_resamples if n_resamples is None else n_resamples
    stability = measure_stability(ranker, again, selected, n_resamples, track)
    twins, left_out = correlated_twins(ranker.X, selected[:MOST_WITH_TWINS], selected)
    return Validation(
        *measured,
        selected=tuple(selected.tolist()),
        **stability._asdict(),
        twins=twins,
        left_out=left_out,
    )


def _check_same_groups(rankings: FoldRankings, groups: IntArray | None) -> None:
    """Raise an error if the folds were made with other groups, so that they may split groups."""
    dealt = rankings.held_out.groups
    if groups is not None and (dealt is None or not np.array_equal(groups, dealt)):
        raise GuidedValueError(
            "The rankings were computed on folds with other groups, or without groups.",
            "Pass the same groups to choose_number.",
            "rankings",
        )


def _fits_per_fold(rankings: FoldRankings | None) -> int:
    """Return the number of fits per fold, which is larger if each fold chooses its own number."""
    chooses = rankings is not None and rankings.numbers is not None
    return 1 + FOLDS_INSIDE if chooses else 1


def best_of(fitted: Any) -> IntArray:
    """Return the selected features of a fitted selector, best first."""
    return order_of(fitted)[: fitted.n_features_]


def _rank_folds(
    ranker: FoldRanker, again: Any, effort: Effort, track: Track
) -> tuple[FoldRankings | None, str | None]:
    """Rank the features in each fold, applying the method's own rule for their number, if any."""
    own = ranker.selector

    def rank(folds: Folds) -> FoldRankings:
        if getattr(own, "own_number", "") and own.n_features_to_select == "auto":
            return rank_each(folds, own, track, best_of, own_number=True)
        return rank_each(folds, again, track)

    return ranker.rank(effort, rank)


# The first four attributes of `Validation`.
Measured = tuple[Estimate | None, float | None, float | None, str | None]


def _measure(
    rankings: FoldRankings,
    n_selected: int,
    ranker: FoldRanker,
    batches: ArrayLike | None,
    effort: Effort,
    track: Track,
) -> Measured:
    """Evaluate the rankings on held-out supervision, and test them against chance."""
    held_out, tested, seed = rankings.held_out, rankings.first(effort.n_repeats), ranker.seed
    ways = held_out.arrangements(batches)
    found = against_chance(tested, n_selected, ways, effort.n_permutations, seed, track)
    if found.reason == TOO_FEW_WAYS and isinstance(held_out, LabelFolds):
        found = found._replace(reason=too_few_ways(batches, ranker.codes()))
    random, p_random = against_random(rankings, n_selected, seed)
    everything = np.arange(rankings.n_features)
    mean = rankings.mean(n_selected)
    estimate = Estimate(
        held_out.measure,
        mean,
        held_out.standard_error(mean),
        held_out.chance if found.chance is None else found.chance,
        float(np.mean([held_out.value(everything, one) for one in held_out.folds])),
        random,
        held_out.n_folds,
        held_out.n_repeats,
        held_out.n_held_out,
        held_out.contrast,
    )
    # Features that do not agree with the supervision may still be better than random ones, for
    # example by assigning all samples to the largest class. So both tests must be significant.
    both = None if found.p_value is None else max(p_random, found.p_value)
    return estimate, found.p_value, both, found.reason


def _selected(fitted: Any, X: Any, n_features: int) -> IntArray:
    """Check that X matches a fitted selector, and return the selected features, best first."""
    order = order_of(fitted)
    ours, theirs = getattr(fitted, "feature_names_in_", None), names_of(X)
    renamed = ours is not None and theirs is not None and list(ours) != list(theirs)
    if len(order) != n_features or renamed:
        name = type(fitted).__name__
        what = "has other features" if renamed else f"has {n_features} features"
        raise GuidedValueError(
            f"{name} is already fitted to {len(order)} features, but X {what}.",
            f"Pass the X to which it was fitted, or an unfitted {name}.",
            "selector",
        )
    return order[np.asarray(fitted.get_support())[order]]
