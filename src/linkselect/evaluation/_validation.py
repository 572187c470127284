"""How far one ranking can be trusted: held-out supervision, resamples, correlated features."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _get_feature_names

from linkselect._arrays import BoolArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._checks import Given
from linkselect._messages import GuidedValueError
from linkselect._resampling import seeded
from linkselect._samples import as_samples
from linkselect.evaluation._by_chance import against_chance
from linkselect.evaluation._effort import FOLDS_INSIDE, Effort, plan_fits
from linkselect.evaluation._fold_rankings import (
    FoldRankings,
    deal_out,
    held_out_kind,
    rank_by,
    with_number,
)
from linkselect.evaluation._held_out import Estimate, Track
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.evaluation._held_out_pairs import PairFolds
from linkselect.evaluation._inputs import (
    check_matrix,
    check_selector,
    order_of,
    read_given,
    reproducible,
)
from linkselect.evaluation._permutation import LEVEL, Arrangements, row_codes
from linkselect.evaluation._twins import Twin, correlated_twins
from linkselect.pairs import Pairs
from linkselect.selectors import StableSelector
from linkselect.selectors._method import classes_seen, describe
from linkselect.selectors._wrapper import arguments_of

# Twins are looked for of the best selected features only.
MOST_WITH_TWINS = 200
# Progress is reported after this many resamples; the number must not depend on the threads.
RESAMPLES_PER_STEP = 4


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
    selected_again : tuple of float
        For each of them the share of resamples in which it is selected again; empty if there is
        so little supervision that every resample would hold the same.
    n_resamples : int
        How many resamples.
    twins : tuple of tuple of Twin
        For each of the first 200 selected features up to three others that are highly correlated
        with it, by at least 0.9 or at most -0.9; the most correlated first.
    """

    estimate: Estimate | None
    p_value: float | None
    p_random: float | None
    reason: str | None
    selected: tuple[int, ...]
    selected_again: tuple[float, ...]
    n_resamples: int
    twins: tuple[tuple[Twin, ...], ...]

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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that can be written as JSON."""
        estimate = None if self.estimate is None else asdict(self.estimate)
        return {
            "better_than_chance": self.better_than_chance,
            "better_than_random": self.better_than_random,
            "p_value": self.p_value,
            "p_random": self.p_random,
            "estimate": estimate,
            "reason": self.reason,
            "n_resamples": self.n_resamples,
            "selected": list(self.selected),
            "selected_again": list(self.selected_again),
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

    How many folds, permutations and resamples (5 to 30) there are follows from the size of X and
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
        looks at labels only.
    pairs : Pairs, optional
        Must-links and cannot-links.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. A group is held out as a whole, and exchanged
        with others of its size as a whole.
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
    values = check_matrix(X)
    is_fitted = hasattr(selector, "order_")
    with warnings.catch_warnings():
        if is_fitted:
            warnings.simplefilter("ignore")  # the fit has warned already
        given = read_given(selector, X, y, pairs, sample_ids)
    own = reproducible(selector, random_state)
    whole = selector if is_fitted else own.fit(values, **arguments_of(given, own))
    selected = _selected(whole, X, values.shape[1])
    again = with_number(own, len(selected))
    effort = _effort(again, values.shape, given, rankings)
    reason = None
    codes = None if groups is None else row_codes(groups, values.shape[0], "groups")
    if rankings is not None:
        _check_groups(codes, rankings.held_out.groups)
    else:
        held_out, reason = deal_out(again, values, given, effort, random_state, codes)
        if held_out is not None:
            rankings, reason = _rank_folds(held_out, own, again, values.shape[1], track)
    measured = _Measured(reason=reason)
    if rankings is not None:
        rows = rankings.held_out.named() if isinstance(rankings.held_out, LabelFolds) else None
        ways = Arrangements.of(values.shape[0], groups, batches, rows)
        measured = _measure(rankings, len(selected), ways, effort, random_state, track)
    n_resamples = effort.n_resamples if _can_resample(again, given) else 0
    chosen = _selected_again(again, values, given, n_resamples, random_state, track)
    shares = chosen[:, selected].mean(axis=0).tolist() if len(chosen) else []
    twins = correlated_twins(values, selected[:MOST_WITH_TWINS])
    found = tuple(selected.tolist())
    return Validation(*measured, found, tuple(shares), len(chosen), tuple(twins))


def _effort(
    selector: Any, shape: tuple[int, int], given: Given, rankings: FoldRankings | None
) -> Effort:
    pairs = given.pairs
    n_pairs = 0 if pairs is None else pairs.n_must + pairs.n_cannot
    by_pairs = held_out_kind(selector, given) == "pairs"
    chooses = rankings is not None and rankings.numbers is not None
    n_fits = 1 + FOLDS_INSIDE if chooses else 1
    return plan_fits(selector, *shape, n_pairs, by_pairs=by_pairs, fits_per_fold=n_fits)


def _check_groups(given: IntArray | None, dealt: IntArray | None) -> None:
    """Refuse rankings of folds that may have rows of a group on both sides."""
    if given is None or (dealt is not None and np.array_equal(given, dealt)):
        return
    raise GuidedValueError(
        "The rankings come from folds that were dealt by other groups, or by none.",
        "Pass the same groups= to choose_number.",
        "rankings",
    )


def _rank_folds(
    held_out: PairFolds | LabelFolds, own: Any, again: Any, n_features: int, track: Track
) -> tuple[FoldRankings | None, str | None]:
    """Rank by what each fold leaves; keep as many features as the method's own rule says there."""
    if not getattr(own, "own_number", "") or own.n_features_to_select != "auto":
        return rank_by(held_out, again, n_features, track)

    def read(fitted: Any) -> IntArray:
        return order_of(fitted)[: fitted.n_features_]

    return rank_by(held_out, own, n_features, track, read, own_number=True)


class _Measured(NamedTuple):
    estimate: Estimate | None = None
    p_value: float | None = None
    p_random: float | None = None
    reason: str | None = None


def _measure(
    rankings: FoldRankings,
    n_selected: int,
    ways: Arrangements,
    effort: Effort,
    seed: int,
    track: Track,
) -> _Measured:
    """Measure what the folds hold out: beside permuted samples, random and all features."""
    held_out, numbers = rankings.held_out, rankings.kept(n_selected)
    tested = rankings.first(effort.n_repeats)
    found = against_chance(tested, n_selected, ways, effort.n_permutations, seed, track)
    rng = np.random.RandomState(seed)
    random, p_random = held_out.beside_random(rankings.orders, numbers, rankings.n_features, rng)
    everything = np.arange(rankings.n_features)
    estimate = held_out.summary(
        found.chance,
        value=rankings.mean(n_selected),
        all_features=float(np.mean([held_out.value(everything, one) for one in held_out.folds])),
        random_features=random,
    )
    # Features that are not shown to agree with what is known may do better than random ones all the
    # same, by calling every sample a member of the largest class.
    both = None if found.p_value is None else max(p_random, found.p_value)
    return _Measured(estimate, found.p_value, both, found.reason)


def _can_resample(selector: Any, given: Given) -> bool:
    """Tell whether half of what is known can differ from another half."""
    if describe(selector).sees == "nothing":
        return True
    if held_out_kind(selector, given) == "pairs":
        return given.pairs is not None and max(given.pairs.n_must, given.pairs.n_cannot) > 1
    codes = classes_seen(selector, given.y)[0] if given.y is not None else np.empty(0, dtype=int)
    # Two labels of a class are always drawn.
    return bool((np.bincount(codes[codes >= 0]) > 2).any())


def _selected(fitted: Any, X: Any, n_features: int) -> IntArray:
    """Return the selected features of a fitted selector, best first, if it was fitted on such X."""
    order = order_of(fitted)
    ours, theirs = getattr(fitted, "feature_names_in_", None), _get_feature_names(X)
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


def _selected_again(
    selector: Any, X: Any, given: Given, n_resamples: int, seed: int, track: Track
) -> BoolArray:
    """Return which features are selected in every resample that could be ranked."""
    rng = np.random.RandomState(seed)
    stable = StableSelector(selector)
    rows_first = as_samples(X).rows_first
    draws = [
        (seeded(selector, rng), *stable._draw(given, X.shape[0], rng)) for _ in range(n_resamples)
    ]

    def work(draw: tuple[Any, IntArray, dict[str, Any]]) -> Any:
        copy, rows, arguments = draw
        try:
            return copy.fit(rows_first[rows], **arguments).get_support()
        except ValueError:  # too little supervision was drawn
            return None

    chosen: list[Any] = []
    for part in track(slices(n_resamples, RESAMPLES_PER_STEP)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on everything has warned already
            chosen += map_threads(work, draws[part])
    return np.array([support for support in chosen if support is not None])
