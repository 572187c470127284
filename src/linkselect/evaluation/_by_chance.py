"""Is a ranking better than chance? Permute which row is which sample, and see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkselect._arrays import IntArray
from linkselect._blocks import map_threads, slices
from linkselect.evaluation._fold_rankings import FoldRankings
from linkselect.evaluation._held_out import Track
from linkselect.evaluation._permutation import LEVEL, Arrangements, p_value, twice_the_mean

# Without fitting again, permutations cost next to nothing.
MANY_PERMUTATIONS = 999
# Progress is reported after this many permutations; the number must not depend on the threads.
PERMUTATIONS_PER_STEP = 4


@dataclass(frozen=True)
class ChanceTest:
    """Whether features agree with held-out supervision by chance; or why that cannot be told.

    Attributes
    ----------
    p_value : float or None
        How often permuted samples do as well, at most; one-sided.
    chance : float or None
        What permuted samples reach on average.
    reason : str or None
        Why there is no p-value.
    """

    p_value: float | None = None
    chance: float | None = None
    reason: str | None = None


def against_chance(
    rankings: FoldRankings,
    n_selected: int,
    ways: Arrangements,
    n_permutations: int,
    seed: int,
    track: Track = iter,
) -> ChanceTest:
    """Compare the held-out estimate with those of permuted samples.

    If what is known has nothing to do with X, any row could as well be any sample. So the estimate
    is computed again, features ranked anew, with the rows permuted and pairs or labels kept, which
    is valid if these were not chosen by looking at X. Where that takes too long, or some pairs were
    chosen so, the held-out samples of each fold are permuted among themselves: the features, ranked
    by other samples, stay. Each fold then has a p-value, and twice their mean is one again.

    Parameters
    ----------
    rankings : FoldRankings
        The ranking of each fold.
    n_selected : int
        How many features are measured, unless the folds choose the number.
    ways : Arrangements
        Which rows may change places.
    n_permutations : int
        How often to rank again; 0 for never.
    seed : int
        Determines the permutations.
    track : callable, default=iter
        Wraps the steps, to show progress.
    """
    held_out = rankings.held_out
    if held_out.is_inside(ways):
        return ChanceTest(reason=_INSIDE)
    if held_out.count_ways(ways) < 1 / LEVEL:
        return ChanceTest(reason=_TOO_FEW_WAYS)
    if not n_permutations or held_out.is_adaptive:
        return _within_folds(rankings, n_selected, ways, seed)
    rng = np.random.RandomState(seed)
    draws = [ways.draw(rng) for _ in range(n_permutations)]

    def work(to: IntArray) -> float:
        try:
            return rankings.rank(held_out.moved(to)).mean(n_selected)
        except ValueError:  # what cannot be ranked counts against the claim
            return np.inf

    null: list[float] = []
    for part in track(slices(len(draws), PERMUTATIONS_PER_STEP)):
        null += map_threads(work, draws[part])
    values = np.array(null)
    finite = values[np.isfinite(values)]
    chance = float(finite.mean()) if len(finite) else None
    return ChanceTest(p_value(rankings.mean(n_selected), values), chance)


_INSIDE = (
    "Cannot test against chance: all pairs lie inside groups, and these are exchanged as a whole."
)
_TOO_FEW_WAYS = (
    "Cannot test against chance: there are fewer than 40 ways to exchange samples (within batches, "
    "among groups of equal size)."
)


def _within_folds(
    rankings: FoldRankings, n_selected: int, ways: Arrangements, seed: int
) -> ChanceTest:
    """Permute the held-out samples of each fold among themselves, without ranking again."""
    held_out = rankings.held_out
    numbers = rankings.kept(n_selected)
    inside = [ways.among(held_out.named(fold)) for fold in held_out.folds]
    smallest = [
        max(
            1 / (1 + MANY_PERMUTATIONS),
            np.exp(-held_out.log_outcomes(fold)),
            1 / some.count(held_out.named(fold)),
        )
        for fold, some in zip(held_out.folds, inside, strict=True)
    ]
    if twice_the_mean(smallest) > LEVEL:
        return ChanceTest(reason=held_out.too_few)

    def work(place: int) -> tuple[float, float]:
        features = rankings.orders[place][: numbers[place]]
        fold, some = held_out.folds[place], inside[place]
        observed, null = held_out.shuffled(features, fold, some, MANY_PERMUTATIONS, seed + place)
        return p_value(observed, null), float(null.mean())

    found = map_threads(work, range(len(held_out.folds)))
    p_values, means = zip(*found, strict=True)
    return ChanceTest(twice_the_mean(p_values), float(np.mean(means)))
