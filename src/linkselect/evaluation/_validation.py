"""How far one ranking can be trusted: held-out supervision, resamples, correlated features."""

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

# Twins are looked for of the best selected features only.
MOST_WITH_TWINS = 300


@dataclass(frozen=True)
class Validation:
    """How far a ranking can be trusted.

    Attributes
    ----------
    estimate : Estimate or None
        How well the selected number of features does on held-out pairs or labels; None if there is
        no supervision, or too little.
    p_value : float or None
        How likely as good an estimate is if pairs or labels have nothing to do with X, by
        permuting which row is which sample. None if no claim can be made.
    p_random : float or None
        How likely as large a lead over as many random features is, if there is none; at least
        `p_value`.
    reason : str or None
        Why there is no estimate or no p-value, in a sentence.
    selected : tuple of int
        The selected features, best first.
    frequencies : tuple of float
        The selection frequency of every feature, in the order of the columns: the share of
        resamples in which it is selected. Empty if there is too little supervision to divide.
    together : tuple of float
        For each selected feature the share of resamples in which it, or one that is highly
        correlated with it, is selected. A method that avoids redundancy may select either, so its
        own frequency alone misleads.
    n_resamples : int
        How many resamples could be ranked.
    n_unranked : int
        How many held too little supervision to be ranked.
    pairs_left : tuple of float or None
        How many must-links and cannot-links have both ends in a resample, on average; None if the
        method was not given pairs.
    twins : tuple of tuple of Twin
        For each of the first 300 selected features up to three others that are highly correlated
        with it, by at least 0.9 or at most -0.9; the most correlated first.
    left_out : tuple of (int, Twin)
        Features that are not selected but highly correlated with one of these, and the one that
        is most correlated with it.
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
        """Whether the selected features agree with the supervision; None if it cannot be told.

        The p-value is at most 0.025.
        """
        return None if self.p_value is None else self.p_value <= LEVEL

    @property
    def better_than_random(self) -> bool | None:
        """Whether as many random features do worse; None if it cannot be told."""
        return None if self.p_random is None else self.p_random <= LEVEL

    @property
    def selected_again(self) -> tuple[float, ...]:
        """The selection frequency of each selected feature, best first."""
        return tuple(self.frequencies[feature] for feature in self.selected if self.frequencies)

    @property
    def frequency_errors(self) -> tuple[float, ...]:
        """The Monte Carlo standard error of each selection frequency, in the order of the columns.

        Two selections and two rejections are added to those that were seen (Agresti & Coull).
        """
        return tuple(frequency_errors(self.frequencies, self.n_resamples).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that can be written as JSON."""
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
    """Measure how far a ranking can be trusted.

    Three things: how well the selected number of features does on pairs or labels that the
    selector has not seen; how often each selected feature is selected again on resamples; and
    which features are highly correlated with a selected one.

    The estimate is the pair AUC, or the accuracy of the nearest neighbour, on samples that no pair
    or label names. Pairs are held out in halves that share no sample; labelled rows in 3 to 5
    folds. The features are selected from fewer pairs or labels than there are, so the estimate
    tends to be low.

    "Better than chance" means that the selected features agree with the pairs or labels. It is a
    permutation test (see `p_value`), wrong for at most one in forty rankings that know nothing,
    and valid if pairs were chosen without looking at X. Of pairs that are `Pairs.adaptive`, only
    the others are held out. "Better than random" compares with as many features chosen at random.

    Resamples are complementary halves of the samples. Samples that must-links or a group join stay
    together, and a pair counts in a half that holds both of its ends.

    How many folds, permutations and resamples (10 to 50) there are follows from the size of X and
    the method, so that the same call gives the same result. A slow method is not ranked again on
    permuted samples; then it takes more pairs to show the same.

    The estimate does not find the best number of features, and a method can fail on data where
    another one does well.

    Parameters
    ----------
    selector : selector
        With `order_` after fitting. One that is fitted already, on this X, is not fitted again on
        all of it.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels of all or some samples. They do not count if there are pairs, unless the selector
        looks at labels only, or these are `pairs | Pairs.from_labels(y)`: then labels are held out
        if there are 30 or more, and the pairs of a fold name no held-out sample.
    pairs : Pairs, optional
        Must-links and cannot-links.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. A group is held out as a whole, its unlabelled
        rows, too, and exchanged as a whole with others of its size.
    batches : array-like of shape (n_samples,), optional
        The batch of each row, such as a plate. Rows are exchanged inside their batch only.
    random_state : int, default=0
        Determines folds, permutations, resamples, the random choice of features, and what the
        selector draws if its own `random_state` is None.
    track : callable, default=iter
        Wraps the list of steps, to show progress.
    rankings : FoldRankings, optional
        What `choose_number` ranked on its folds, which are then not fitted again. If it dealt out
        the folds several times, the estimate is the mean over all of them.
    n_resamples : int, optional
        On how many resamples selection frequencies are measured. Default: by the rule above.

    Returns
    -------
    Validation

    See Also
    --------
    pair_auc_curve : The same estimate over several numbers of features.
    compare : Several methods side by side.
    StableSelector : A ranking by how often features are selected.

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
    """Refuse folds that were dealt by other groups: one may have rows on both sides."""
    dealt = rankings.held_out.groups
    if groups is not None and (dealt is None or not np.array_equal(groups, dealt)):
        raise GuidedValueError(
            "The rankings come from folds that were dealt by other groups, or by none.",
            "Pass the same groups= to choose_number.",
            "rankings",
        )


def _fits_per_fold(rankings: FoldRankings | None) -> int:
    """Return how often a fold is fitted: more than once if it chooses a number of features."""
    chooses = rankings is not None and rankings.numbers is not None
    return 1 + FOLDS_INSIDE if chooses else 1


def best_of(fitted: Any) -> IntArray:
    """Return the selected features of a fitted selector, best first."""
    return order_of(fitted)[: fitted.n_features_]


def _rank_folds(
    ranker: FoldRanker, again: Any, effort: Effort, track: Track
) -> tuple[FoldRankings | None, str | None]:
    """Rank by what each fold leaves; keep as many features as the method's own rule says there."""
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
    """Measure what the folds hold out: beside permuted samples, random and all features."""
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
    # Features that are not shown to agree with what is known may do better than random ones all the
    # same, by calling every sample a member of the largest class.
    both = None if found.p_value is None else max(p_random, found.p_value)
    return estimate, found.p_value, both, found.reason


def _selected(fitted: Any, X: Any, n_features: int) -> IntArray:
    """Return the selected features of a fitted selector, best first, if it was fitted on such X."""
    order = order_of(fitted)
    ours, theirs = getattr(fitted, "feature_names_in_", None), names_of(X)
    renamed = ours is not None and theirs is not None and list(ours) != list(theirs)
    if len(order) != n_features or renamed:
        name = type(fitted).__name__
        what = "has other features" if renamed else f"has {n_features} features"
        raise GuidedValueError(
            f"{name} is fitted already, on {len(order)} features, but X {what}.",
            f"Pass the X that it was fitted on, or an unfitted {name}.",
            "selector",
        )
    return order[np.asarray(fitted.get_support())[order]]
