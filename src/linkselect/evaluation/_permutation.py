"""Tests of a ranking against permuted samples, and against random features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import t

from linkselect._arrays import FloatArray, IntArray
from linkselect._batches import about_batches, row_codes
from linkselect._blocks import map_threads, slices
from linkselect.evaluation._pair_auc import REFITTING

if TYPE_CHECKING:
    from linkselect.evaluation._fold_rankings import FoldRankings
    from linkselect.evaluation._inputs import Track

# How often a ranking that knows nothing is called better than chance, at most; one-sided.
LEVEL = 0.025
# Equal values may differ in the last digits.
ROUNDING = 1e-9
# Without fitting again, permutations cost next to nothing.
MANY_PERMUTATIONS = 999
# Progress is reported after this many permutations; the number must not depend on the threads.
PERMUTATIONS_PER_STEP = 4
# The fewest random choices with which the p-value can reach the level, 1 / 40.
RANDOM_CHOICES = 39

INSIDE_GROUPS = (
    "Cannot test against chance: all pairs lie inside groups, and these are exchanged as a whole."
)
TOO_FEW_WAYS = (
    "Cannot test against chance: there are fewer than 40 ways to exchange samples (within batches, "
    "among groups of equal size)."
)


def too_few_ways(batches: Any, codes: IntArray | None) -> str:
    """Say why nothing can be tested: there is no exchange inside batches of one class.

    Parameters
    ----------
    batches : array-like of shape (n_samples,) or None
        The batch of each row.
    codes : array of int of shape (n_samples,) or None
        The class of each row; -1 for unlabelled rows.
    """
    if batches is None or codes is None:
        return TOO_FEW_WAYS
    classes = [None if code < 0 else code for code in codes.tolist()]
    about = about_batches(np.asarray(batches, dtype=object).ravel(), classes)
    return TOO_FEW_WAYS if about is None else f"Cannot test against chance. {about}"


def p_value(observed: float, null: FloatArray) -> float:
    """Return how likely a value as large as the observed one is, which counts as one of them.

    Examples
    --------
    >>> p_value(0.9, np.array([0.5, 0.6, 0.95]))
    0.5
    """
    return float((1 + np.count_nonzero(null >= observed - ROUNDING)) / (1 + len(null)))


def twice_the_mean(p_values: Sequence[float]) -> float:
    """Combine p-values that may depend on each other in any way (Vovk & Wang, 2020).

    Examples
    --------
    >>> twice_the_mean([0.01, 0.03]), twice_the_mean([0.01])
    (0.04, 0.01)
    """
    return p_values[0] if len(p_values) == 1 else min(1.0, 2 * float(np.mean(p_values)))


def log_ways(counts: IntArray) -> float:
    """Return the logarithm of the number of ways to arrange things of several kinds."""
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())


@dataclass(frozen=True)
class Arrangements:
    """Permutations of rows under which nothing would change if X knew nothing.

    Rows move inside their batch. The rows of a group move together, to the place of a group of
    the same size.

    Attributes
    ----------
    n_samples : int
        How many rows there are.
    blocks : tuple of ndarray of int of shape (n_groups, size)
        The rows of groups that may change places.
    """

    n_samples: int
    blocks: tuple[IntArray, ...]

    @classmethod
    def of(
        cls,
        n_samples: int,
        groups: Any = None,
        batches: Any = None,
        rows: IntArray | None = None,
        labelled: IntArray | None = None,
    ) -> Arrangements:
        """Say which rows may change places; all that are named in `rows`, or all.

        Parameters
        ----------
        n_samples : int
            How many rows there are.
        groups, batches : array-like of shape (n_samples,), optional
            The group and the batch of each row.
        rows : array of int, optional
            The rows that move. Default: all.
        labelled : array of int, optional
            Rows that take each other's places only.
        """
        moving = np.arange(n_samples) if rows is None else np.asarray(rows)
        group = moving if groups is None else row_codes(groups, n_samples, "groups")[moving]
        batch = row_codes(np.zeros(n_samples) if batches is None else batches, n_samples, "batches")
        if labelled is not None:
            batch = 2 * batch + np.isin(np.arange(n_samples), labelled).astype(np.intp)
        # By group, and inside it by batch, so that rows of one batch take each other's places.
        order = moving[np.lexsort((moving, batch[moving], group))]
        alike: dict[Hashable, list[IntArray]] = {}
        for members in np.split(order, np.flatnonzero(np.diff(np.sort(group))) + 1):
            alike.setdefault(tuple(batch[members].tolist()), []).append(members)
        return cls(n_samples, tuple(np.stack(some) for some in alike.values()))

    def among(self, rows: IntArray) -> Arrangements:
        """Move only groups that have one of these rows."""
        kept = (block[np.isin(block, rows).any(axis=1)] for block in self.blocks)
        return Arrangements(self.n_samples, tuple(block for block in kept if len(block)))

    @property
    def rows(self) -> IntArray:
        """All rows that move, in order."""
        return np.sort(np.concatenate([block.ravel() for block in self.blocks]))

    @property
    def group(self) -> IntArray:
        """The group of each row, from 0; rows that do not move are in groups of their own."""
        found = np.arange(self.n_samples)
        for block in self.blocks:
            found[block] = block[:, :1]
        return found

    def count(self, rows: IntArray) -> float:
        """Return how many ways there are to place the groups of some rows."""
        found = 0.0
        for block in self.blocks:
            n_all, n_named = len(block), int(np.isin(block, rows).any(axis=1).sum())
            found += gammaln(n_all + 1) - gammaln(n_all - n_named + 1)
        return float(np.exp(min(found, 700.0)))

    def draw(self, rng: np.random.RandomState) -> IntArray:
        """Return the row that takes the place of each row."""
        to = np.arange(self.n_samples)
        for block in self.blocks:
            to[block] = block[rng.permutation(len(block))]
        return to


class ChanceTest(NamedTuple):
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
    track: Track,
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
    track : callable
        Wraps the steps, to show progress.
    """
    held_out = rankings.held_out
    if held_out.is_inside(ways):
        return ChanceTest(reason=INSIDE_GROUPS)
    if held_out.count_ways(ways) < 1 / LEVEL:
        return ChanceTest(reason=TOO_FEW_WAYS)
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


def _within_folds(
    rankings: FoldRankings, n_selected: int, ways: Arrangements, seed: int
) -> ChanceTest:
    """Permute the held-out samples of each fold among themselves, without ranking again."""
    held_out, best = rankings.held_out, rankings.best(n_selected)
    inside = [ways.among(held_out.named(fold)) for _, fold in best]
    smallest = [
        max(
            1 / (1 + MANY_PERMUTATIONS),
            np.exp(-held_out.log_outcomes(fold)),
            1 / some.count(held_out.named(fold)),
        )
        for (_, fold), some in zip(best, inside, strict=True)
    ]
    if twice_the_mean(smallest) > LEVEL:
        return ChanceTest(reason=held_out.too_few)

    def work(place: int) -> tuple[float, float]:
        given = (*best[place], inside[place], MANY_PERMUTATIONS, seed + place)
        observed, null = held_out.shuffled(*given)
        return p_value(observed, null), float(null.mean())

    p_values, means = zip(*map_threads(work, range(len(best))), strict=True)
    return ChanceTest(twice_the_mean(p_values), float(np.mean(means)))


def against_random(rankings: FoldRankings, n_selected: int, seed: int) -> tuple[float, float]:
    """Measure as many random features; return their mean, and a p-value of being better.

    The larger of two p-values: of a one-sided t-test of the difference, over held-out rows or
    links that share no sample; and of being the best of random choices, which differ from each
    other where features do.

    Parameters
    ----------
    rankings : FoldRankings
        The ranking of each fold.
    n_selected : int
        How many features are measured, unless the folds choose the number.
    seed : int
        Determines the random choices.
    """
    rng = np.random.RandomState(seed)
    shuffles = [rng.permutation(rankings.n_features) for _ in range(RANDOM_CHOICES)]
    held_out, numbers = rankings.held_out, rankings.kept(n_selected)

    def work(place: int) -> tuple[float, ...]:
        fold, number = held_out.folds[place], numbers[place]
        ours = held_out.parts(rankings.orders[place][:number], fold)
        some = [held_out.parts(features[:number], fold) for features in shuffles]
        others = [np.mean(kind, axis=0) for kind in zip(*some, strict=True)]
        variance = 0.0
        for one, other, count in zip(ours, others, fold.independent, strict=True):
            variance += (float((one - other).var(ddof=1)) if len(one) > 1 else 0.25) / count
        values = [float(one[0].mean()) for one in (ours, *some)]
        return variance, *values

    found = np.mean(map_threads(work, range(len(numbers))), axis=0)
    variance, value, random = found[0], found[1], found[2:]
    gap = value - random.mean()
    least = min(min(fold.independent) for fold in held_out.folds)
    error = np.sqrt(REFITTING * variance / held_out.n_folds)
    freedom = max(1, held_out.n_folds * (least - 1))
    p = float(t.sf(gap / error, freedom)) if error > 0 else 1.0
    return float(random.mean()), max(p, p_value(value, random))
