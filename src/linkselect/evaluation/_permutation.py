"""Tests that compare a ranking with rankings of permuted samples and with random features."""

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

# One-sided significance level: at most this fraction of uninformative rankings is significant.
LEVEL = 0.025
# Equal values may differ by rounding.
ROUNDING = 1e-9
# Without refitting the selector, permutations take very little time.
MANY_PERMUTATIONS = 999
# Progress is reported after this many permutations; it must not depend on the number of threads.
PERMUTATIONS_PER_STEP = 4
# The fewest random selections with which the p-value can reach the level, 1 / 40.
RANDOM_CHOICES = 39

INSIDE_GROUPS = (
    "Cannot test against chance: every pair lies within a single group, but groups are permuted as "
    "a whole."
)
TOO_FEW_WAYS = (
    "Cannot test against chance: there are fewer than 40 distinct permutations of the samples "
    "(within batches, among groups of the same size)."
)


def too_few_ways(batches: Any, codes: IntArray | None) -> str:
    """Explain why there are too few permutations, for example if each batch has only one class.

    Parameters
    ----------
    batches : array-like of shape (n_samples,) or None
        The batch of each sample.
    codes : array of int of shape (n_samples,) or None
        The class code of each sample; -1 if unlabelled.
    """
    if batches is None or codes is None:
        return TOO_FEW_WAYS
    classes = [None if code < 0 else code for code in codes.tolist()]
    about = about_batches(np.asarray(batches, dtype=object).ravel(), classes)
    return TOO_FEW_WAYS if about is None else f"Cannot test against chance. {about}"


def p_value(observed: float, null: FloatArray) -> float:
    """Return the permutation p-value; the observed value counts as one of the permutations.

    Examples
    --------
    >>> p_value(0.9, np.array([0.5, 0.6, 0.95]))
    0.5
    """
    return float((1 + np.count_nonzero(null >= observed - ROUNDING)) / (1 + len(null)))


def twice_the_mean(p_values: Sequence[float]) -> float:
    """Combine arbitrarily dependent p-values by doubling their mean (Vovk & Wang, 2020).

    Examples
    --------
    >>> twice_the_mean([0.01, 0.03]), twice_the_mean([0.01])
    (0.04, 0.01)
    """
    return p_values[0] if len(p_values) == 1 else min(1.0, 2 * float(np.mean(p_values)))


def log_ways(counts: IntArray) -> float:
    """Return the logarithm of the number of distinct arrangements of items of several kinds."""
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())


@dataclass(frozen=True)
class Arrangements:
    """The permutations of the samples that are equally likely under the null hypothesis.

    Samples are permuted within batches. The samples of a group are exchanged as a whole with those
    of a group of the same size.

    Attributes
    ----------
    n_samples : int
        The number of samples.
    blocks : tuple of ndarray of int of shape (n_groups, size)
        Sets of groups that are exchangeable; each row lists the samples of a group.
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
        """Construct the permutations of some or all samples that respect groups and batches.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        groups, batches : array-like of shape (n_samples,), optional
            The group and the batch of each sample.
        rows : array of int, optional
            The samples to permute. Default: all.
        labelled : array of int, optional
            Labelled samples, which are exchanged only with each other.
        """
        moving = np.arange(n_samples) if rows is None else np.asarray(rows)
        group = moving if groups is None else row_codes(groups, n_samples, "groups")[moving]
        batch = row_codes(np.zeros(n_samples) if batches is None else batches, n_samples, "batches")
        if labelled is not None:
            batch = 2 * batch + np.isin(np.arange(n_samples), labelled).astype(np.intp)
        # Sort by group, then by batch, so that samples are exchanged within their batch.
        order = moving[np.lexsort((moving, batch[moving], group))]
        alike: dict[Hashable, list[IntArray]] = {}
        for members in np.split(order, np.flatnonzero(np.diff(np.sort(group))) + 1):
            alike.setdefault(tuple(batch[members].tolist()), []).append(members)
        return cls(n_samples, tuple(np.stack(some) for some in alike.values()))

    def among(self, rows: IntArray) -> Arrangements:
        """Restrict the permutations to groups that contain at least one of the given samples."""
        kept = (block[np.isin(block, rows).any(axis=1)] for block in self.blocks)
        return Arrangements(self.n_samples, tuple(block for block in kept if len(block)))

    @property
    def rows(self) -> IntArray:
        """All samples that are permuted, in ascending order."""
        return np.sort(np.concatenate([block.ravel() for block in self.blocks]))

    @property
    def group(self) -> IntArray:
        """The group of each sample, where each sample that is not permuted forms its own group."""
        found = np.arange(self.n_samples)
        for block in self.blocks:
            found[block] = block[:, :1]
        return found

    def count(self, rows: IntArray) -> float:
        """Return the number of distinct ways to permute the groups that contain these samples."""
        found = 0.0
        for block in self.blocks:
            n_all, n_named = len(block), int(np.isin(block, rows).any(axis=1).sum())
            found += gammaln(n_all + 1) - gammaln(n_all - n_named + 1)
        return float(np.exp(min(found, 700.0)))

    def draw(self, rng: np.random.RandomState) -> IntArray:
        """Draw a permutation, in which entry i is the sample that replaces sample i."""
        to = np.arange(self.n_samples)
        for block in self.blocks:
            to[block] = block[rng.permutation(len(block))]
        return to


class ChanceTest(NamedTuple):
    """Result of a permutation test, or the reason why the test is not possible.

    Attributes
    ----------
    p_value : float or None
        The one-sided p-value.
    chance : float or None
        The mean estimate over permutations.
    reason : str or None
        The reason why there is no p-value.
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
    """Test the held-out estimate against chance by permuting the samples.

    Under the null hypothesis that X is unrelated to the supervision, all valid permutations of the
    samples are equally likely. The features are ranked again and the estimate is recomputed on
    permuted samples, while pairs and labels remain unchanged. The test is valid if pairs and labels
    were chosen without looking at X.

    If ranking the features again takes too long, or if some pairs were chosen by looking at X, only
    the held-out samples of each fold are permuted among themselves. The ranking of the features,
    which was obtained from other samples, is kept. This gives a p-value for each fold, and twice
    the mean of these p-values is a valid p-value.

    Parameters
    ----------
    rankings : FoldRankings
        The ranking of each fold.
    n_selected : int
        The number of features to evaluate, unless each fold chooses its own number.
    ways : Arrangements
        The valid permutations.
    n_permutations : int
        The number of permutations for which features are ranked again; 0 to permute only within
        folds.
    seed : int
        Seed for the permutations.
    track : callable
        A function that wraps the list of steps, for example in a progress bar.
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
        except ValueError:  # a failed fit counts as evidence against the ranking
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
    """Permute the held-out samples of each fold among themselves, and keep the rankings."""
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
    """Test whether the selected features are better than the same number of random features.

    The p-value is the larger of two p-values. The first is obtained by a one-sided t-test of the
    difference over independent held-out samples or pairs. The second is obtained from the rank of
    the observed value among 39 random selections of features, which accounts for differences
    between features.

    Parameters
    ----------
    rankings : FoldRankings
        The ranking of each fold.
    n_selected : int
        The number of features to evaluate, unless each fold chooses its own number.
    seed : int
        Seed for the random selections.

    Returns
    -------
    tuple of two floats
        The mean over random selections, and the p-value.
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
