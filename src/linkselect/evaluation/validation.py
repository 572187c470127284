"""How far to trust one ranking: held-out supervision, resamples, and features that say the same."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _get_feature_names

from linkselect.arrays import BoolArray, IntArray
from linkselect.blocks import map_threads, slices
from linkselect.evaluation.effort import count_fits
from linkselect.evaluation.fold_rankings import FoldRankings, deal_out, rank_by, with_number
from linkselect.evaluation.held_out import Estimate, Track
from linkselect.evaluation.inputs import (
    check_matrix,
    check_selector,
    order_of,
    read_given,
    reproducible,
)
from linkselect.evaluation.twins import Twin, correlated_twins
from linkselect.given import Given
from linkselect.messages import GuidedValueError
from linkselect.pairs import Pairs
from linkselect.resampling import seeded
from linkselect.selectors import StableSelector
from linkselect.selectors.method import describe
from linkselect.selectors.wrapper import arguments_of

__all__ = ["Validation", "validate"]

# Twins are looked for of the best selected features only.
MOST_WITH_TWINS = 200
# Progress is reported after this many resamples; the number must not depend on the threads.
RESAMPLES_PER_STEP = 4


@dataclass(frozen=True)
class Validation:
    """How far to trust a ranking.

    Attributes
    ----------
    estimate : Estimate or None
        What the selected number of features is worth on held-out pairs or labels, beside chance;
        None if there is no supervision, or too little.
    reason : str or None
        Why there is no estimate, in a sentence, and with pairs or labels that cannot be held out
        no `selected_again` either.
    selected : tuple of int
        The selected features, best first.
    selected_again : tuple of float
        For each of them the share of resamples in which it is selected again; empty if there is
        so little supervision that every resample would hold the same. `reason` says so.
    n_resamples : int
        How many resamples.
    twins : tuple of tuple of Twin
        For each of the first 200 selected features up to three others that say the same, by a
        correlation of at least 0.9 or at most -0.9; the most correlated first.
    """

    estimate: Estimate | None
    reason: str | None
    selected: tuple[int, ...]
    selected_again: tuple[float, ...]
    n_resamples: int
    twins: tuple[tuple[Twin, ...], ...]

    @property
    def better_than_chance(self) -> bool | None:
        """Whether the estimate exceeds chance by two standard errors; None without an estimate."""
        return None if self.estimate is None else self.estimate.better_than_chance

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that can be written as JSON."""
        estimate = None if self.estimate is None else asdict(self.estimate)
        return {
            "better_than_chance": self.better_than_chance,
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
    random_state: int = 0,
    track: Track = iter,
    rankings: FoldRankings | None = None,
) -> Validation:
    """Say how far to trust a ranking.

    Three things: what the selected number of features is worth on pairs or labels that the
    selector has not seen, beside chance; how often each selected feature is selected again on
    resamples; and which features say the same as a selected one.

    How many folds (3 to 5) and resamples (5 to 30) there are follows from the size of X and the
    method, so that the same call gives the same result.

    The estimate says whether a ranking is any good. It does not find the best number of features,
    and a ranking can be worse than chance on data where another method is fine.

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
    random_state : int, default=0
        Determines folds, resamples, the random choice of features, and what the selector draws if
        its own `random_state` is None.
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
    n_pairs = 0 if given.pairs is None else given.pairs.n_must + given.pairs.n_cannot
    n_folds, n_resamples = count_fits(again, values.shape[0], values.shape[1], n_pairs)
    reason = None
    if rankings is None:
        held_out, reason = deal_out(again, values, given, n_folds, random_state)
        if held_out is not None:
            rankings, reason = rank_by(held_out, again, values.shape[1], track)
        elif reason is not None and describe(again).sees != "nothing":
            n_resamples = 0  # every resample would hold all there is to be told
    estimate = None if rankings is None else rankings.estimate(len(selected), random_state)
    chosen = _selected_again(again, values, given, n_resamples, random_state, track)
    shares = chosen[:, selected].mean(axis=0).tolist() if len(chosen) else []
    twins = correlated_twins(values, selected[:MOST_WITH_TWINS])
    return Validation(
        estimate,
        reason,
        tuple(selected.tolist()),
        tuple(shares),
        len(chosen),
        tuple(twins),
    )


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
    rows_first = X.tocsr() if issparse(X) else X
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
