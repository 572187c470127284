"""What each pair did to a ranking: what would change if it were left out."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import map_threads
from linkselect._checks import Given, check_samples, refuse_stored
from linkselect._messages import GuidedValueError
from linkselect._supervision import from_pairs, present_pairs
from linkselect.evaluation._inputs import check_selector, reproducible
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe
from linkselect.selectors._ranking import best_first, with_equal_ties

Link = Literal["must", "cannot"]
Linked = tuple[Hashable, Hashable, Link]


class PairWorth(NamedTuple):
    """What would change if one pair were left out."""

    a: Hashable
    """One sample of the pair."""
    b: Hashable
    """The other one."""
    link: Link
    """Whether the two must or cannot be together."""
    rank_shift: float
    """By how many places a feature would move on average; NaN if it cannot be told."""
    n_replaced: float
    """How many selected features others would replace; NaN if it cannot be told."""
    moved: tuple[Any, ...]
    """The features that would move most, by name if X has names; none that would stay."""
    score_change: FloatArray
    """The score of each feature without the pair minus that with it."""
    rank_change: IntArray
    """The rank of each feature without the pair minus that with it; empty if it cannot be told."""


def pair_worth(
    selector: Any,
    X: Any,
    pairs: Pairs,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    n_moved: int = 5,
    n_jobs: int | None = None,
) -> list[PairWorth]:
    """Tell for every pair how scores and ranking would change if it were left out.

    The changes are exact. `ConstraintScore` has them in closed form, in time proportional to pairs
    times features; any other selector is fitted anew without each pair. A `random_state` that is
    None gets a fixed seed, or the draws would move features, too.

    A large change says that the ranking rests on this pair: worth a second look, not wrong. If a
    selector cannot be fitted without a pair, such as the only must-link for `ConstraintScore`, the
    pair is needed, and without the only pair there are no pairs to rank by. In both cases nothing
    can be compared: `rank_shift`, `n_replaced` and `score_change` are NaN, `moved` and
    `rank_change` are empty.

    Parameters
    ----------
    selector : selector
        One that works from pairs; it is cloned.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    pairs : Pairs
        Pairs with an end that is not among the samples are left out. Pairs that contradict each
        other are treated as the selector's `on_conflict` says.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    n_moved : int, default=5
        How many features to name for each pair at most.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    list of PairWorth
        One for each pair, must-links first. It takes 16 bytes for each pair and feature.

    See Also
    --------
    suspect_pairs : Find pairs that are probably wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstraintScore, Pairs
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> for one in pair_worth(ConstraintScore(2), X, pairs, n_moved=1):
    ...     print(one.a, one.b, one.link, one.rank_shift, one.moved)
    0 3 must 0.0 ()
    51 60 must 0.5 ('petal length (cm)',)
    0 60 cannot 1.0 ('petal length (cm)',)
    51 120 cannot 0.0 ()
    """
    check_selector(selector)
    _check_count("n_moved", n_moved)
    if describe(selector).sees != "pairs":
        raise GuidedValueError(
            f"{type(selector).__name__} does not look at pairs, so none changes its ranking.",
            "Pass a selector that does, such as ConstraintScore().",
        )
    held, ids, _ = pairs_among(X, pairs, sample_ids)
    selector = reproducible(selector)
    fitted = clone(selector).fit(X, pairs=held, sample_ids=ids)
    found = _scores_at_once(fitted, X, held, ids)
    names = getattr(fitted, "feature_names_in_", np.arange(len(fitted.scores_)))
    links = linked_pairs(held)
    compared = partial(_compared, fitted, names=names, n_moved=n_moved)
    if len(links) == 1:
        return [compared(links[0], None)]
    if found is not None:
        ranked = partial(_ranked, fitted)
        return map_threads(
            lambda place: compared(links[place], ranked(found[place])), range(len(links)), n_jobs
        )
    one_job = {name: 1 for name in selector.get_params() if name.split("__")[-1] == "n_jobs"}
    again = clone(selector).set_params(**one_job)
    with warnings.catch_warnings():
        # What there is to say about the samples has been said once.
        warnings.simplefilter("ignore")
        return map_threads(
            lambda place: compared(links[place], _refitted(again, X, _without(held, place), ids)),
            range(len(links)),
            n_jobs,
        )


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 0:
        raise GuidedValueError(
            f"{name}={value!r}, but it counts features.", "Choose a whole number, 0 or more.", name
        )


def pairs_among(
    X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None
) -> tuple[Pairs, tuple[Hashable, ...], Mapping[Hashable, int]]:
    """Return the pairs among the samples, the id of each row, and the row of each id."""
    refuse_stored("This measure", X)
    given = Given.read(X, sample_ids=sample_ids)
    held, row_of = present_pairs(
        pairs, _num_samples(X), given.sample_ids, ids_are_index=given.ids_are_index
    )
    if not held.n_must + held.n_cannot:
        raise GuidedValueError("There are no pairs.", "Pass Pairs(must=[...], cannot=[...]).")
    return held, tuple(row_of), row_of


def linked_pairs(pairs: Pairs) -> list[Linked]:
    """List the pairs with their kind, must-links first."""
    must: list[Linked] = [(a, b, "must") for a, b in pairs.must]
    return must + [(a, b, "cannot") for a, b in pairs.cannot]


class _Found(NamedTuple):
    """A ranking without a pair."""

    scores: FloatArray
    ranking: IntArray
    support: BoolArray


def _scores_at_once(
    fitted: Any, X: Any, held: Pairs, ids: tuple[Hashable, ...]
) -> FloatArray | None:
    """Return the scores without each pair if the selector has a way to compute them at once."""
    compute = getattr(fitted, "_scores_without_each_pair", None)
    # Without one of the must-links that contradict it, a cannot-link that was dropped returns.
    if compute is None or held.n_conflicts:
        return None
    found: FloatArray | None = compute(check_samples(fitted, X), from_pairs(held, len(ids), ids))
    return found


def _ranked(fitted: Any, scores: FloatArray) -> _Found:
    """Rank as `ConstraintScore` does: smaller is better, and what differs by rounding ties."""
    order = best_first(scores, greater_is_better=False)
    tied = with_equal_ties(scores, order)
    if tied is not scores:
        scores, order = tied, best_first(tied, greater_is_better=False)
    ranking = np.empty(len(scores), dtype=np.intp)
    ranking[order] = np.arange(1, len(scores) + 1)
    return _Found(scores, ranking, ranking <= fitted.n_features_)


def _refitted(selector: Any, X: Any, pairs: Pairs, ids: tuple[Hashable, ...]) -> _Found | None:
    try:
        again = clone(selector).fit(X, pairs=pairs, sample_ids=ids)
    except ValueError:
        # With all pairs it could be fitted: it needs this one.
        return None
    return _Found(again.scores_, again.ranking_, again.support_)


def _without(pairs: Pairs, place: int) -> Pairs:
    kept = [link for i, link in enumerate(linked_pairs(pairs)) if i != place]
    return Pairs(
        must=[(a, b) for a, b, link in kept if link == "must"],
        cannot=[(a, b) for a, b, link in kept if link == "cannot"],
    )


def _compared(
    fitted: Any, linked: Linked, found: _Found | None, *, names: Any, n_moved: int
) -> PairWorth:
    """Compare the ranking without a pair with the one from all pairs."""
    # No score at all, though there are some with the pair: the selector needs it, too.
    if found is None or np.isnan(found.scores).all() > np.isnan(fitted.scores_).all():
        unknown = np.full(len(fitted.scores_), np.nan)
        return PairWorth(*linked, np.nan, np.nan, (), unknown, np.empty(0, dtype=np.intp))
    rank_change = found.ranking - fitted.ranking_
    with np.errstate(invalid="ignore"):
        score_change = found.scores - fitted.scores_
    # Infinite as before is no change.
    score_change[found.scores == fitted.scores_] = 0.0
    distance = np.abs(rank_change)
    n_replaced = int(np.count_nonzero(fitted.support_ & ~found.support))
    moved = tuple(names[_farthest(distance, fitted.ranking_, n_moved)].tolist())
    return PairWorth(*linked, float(distance.mean()), n_replaced, moved, score_change, rank_change)


def _farthest(distance: IntArray, ranking: IntArray, n_moved: int) -> IntArray:
    """Return the features that moved farthest, of equals the better ones."""
    n_moved = min(n_moved, len(distance))
    if not n_moved:
        return np.empty(0, dtype=np.intp)
    least = max(np.partition(distance, -n_moved)[-n_moved], 1)
    moved = np.flatnonzero(distance >= least)
    best = np.lexsort((ranking[moved], -distance[moved]))[:n_moved]
    return moved[best]
