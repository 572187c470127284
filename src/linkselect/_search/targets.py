"""Target similarities of samples, given as groups or pairs, and the choice of the kernel width."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from linkselect._arrays import FloatArray, IntArray
from linkselect._samples import as_samples
from linkselect._samples.devices import namespace_of
from linkselect._samples.neighbors import Search
from linkselect.pairs._draws import draw_numbers, numbered_pairs

# Number of widths tried, from a quarter of the smallest distance to four times the largest.
N_WIDTHS = 64


class PairTarget(NamedTuple):
    """Pairs of samples, in which must-links precede cannot-links."""

    first: IntArray
    second: IntArray
    n_must: int
    weights: tuple[float, float]
    """The weight of a must-link and the weight of a cannot-link in the criterion."""
    n_available: tuple[int, int]
    """The numbers of must-links and cannot-links before sampling."""
    own: FloatArray | None = None
    """The weight of each pair; None if all weights are 1."""


def nearest_prototypes(X: Any, groups: IntArray, n_jobs: int | None = None) -> IntArray:
    """Assign each sample to the group of its nearest prototype, by distance in all features.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, dense or sparse.
    groups : ndarray of int of shape (n_samples,)
        The group of each prototype, and -1 for all other samples.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        The group of each sample. Ties are broken in favour of the prototype with the lowest index.
        A prototype keeps its own group, even if an identical prototype is in another group.
    """
    prototypes, others = np.flatnonzero(groups >= 0), np.flatnonzero(groups < 0)
    own, prototype, _ = as_samples(X).nearest(1, n_jobs, Search(others, prototypes))
    found = groups.copy()
    found[own] = groups[prototype]
    return found


def pair_target(
    must: IntArray,
    cannot: IntArray,
    n_available: tuple[int, int] | None = None,
    own: Sequence[FloatArray] | None = None,
) -> PairTarget:
    """Return the target for given pairs, each of which is counted in both directions.

    Parameters
    ----------
    must, cannot : ndarray of shape (n_pairs, 2)
        Pairs of rows.
    n_available : tuple of int, optional
        The numbers of must-links and cannot-links before sampling, if the pairs are a sample.
    own : sequence of ndarray, optional
        The weights of the must-links and of the cannot-links. Default: all weights are 1.
    """
    n_must, n_cannot = n_available or (len(must), len(cannot))
    pairs = np.concatenate([np.reshape(must, (-1, 2)), np.reshape(cannot, (-1, 2))])
    first, second = np.ascontiguousarray(pairs.T, dtype=np.intp)
    # The factor of 2 is needed because the published sums run over ordered pairs.
    weights = 2.0 * n_must / max(1, len(must)), 2.0 * n_cannot / max(1, len(cannot))
    joined = None if own is None else np.concatenate(own)
    return PairTarget(first, second, len(must), weights, (n_must, n_cannot), joined)


def draw_from_pairs(
    must: IntArray,
    cannot: IntArray,
    max_pairs: int,
    generator: np.random.Generator,
    own: Sequence[FloatArray] | None = None,
) -> PairTarget:
    """Sample at most `max_pairs` of the given pairs, stratified by must-links and cannot-links.

    Must-links and cannot-links are each sampled uniformly without replacement, regardless of their
    weights. The weights are then multiplied by `available / drawn`, so that the criterion of each
    fixed subset of features is an unbiased estimate of the criterion over all pairs.

    Parameters
    ----------
    must, cannot : ndarray of shape (n_pairs, 2)
        Pairs of rows.
    max_pairs : int
        Maximum number of pairs. Half of them are must-links. If there are too few pairs of one
        kind, all of them are used, and the number of pairs of the other kind is increased
        accordingly.
    generator : numpy.random.Generator
        The random generator.
    own : sequence of ndarray, optional
        The weights of the must-links and of the cannot-links. Default: all weights are 1.
    """
    sizes = _stratum_sizes(len(must), len(cannot), max_pairs)
    n_available = len(must), len(cannot)
    drawn = [draw_numbers(*one, generator) for one in zip(n_available, sizes, strict=True)]
    if own is not None:
        own = [weights[some] for weights, some in zip(own, drawn, strict=True)]
    return pair_target(must[drawn[0]], cannot[drawn[1]], n_available, own)


def draw_from_groups(
    groups: IntArray, max_pairs: int, generator: np.random.Generator
) -> PairTarget:
    """Sample at most `max_pairs` pairs of grouped samples, within and between groups.

    Parameters
    ----------
    groups : ndarray of int of shape (n_samples,)
        The group of each sample; samples with a negative group are excluded.
    max_pairs : int
        Maximum number of pairs. Half of them are within groups. If there are too few pairs of one
        kind, all of them are used, and the number of pairs of the other kind is increased
        accordingly.
    generator : numpy.random.Generator
        The random generator.

    Returns
    -------
    target : PairTarget
        The pairs, weighted as in `draw_from_pairs`. The diagonal of the kernel is omitted, because
        it does not contribute to the criterion.
    """
    samples = by_group(groups)
    position = np.arange(len(samples))
    group_end = np.searchsorted(groups[samples], groups[samples], side="right")
    # Sorted by group, the later partners of a sample are its own group up to `group_end`, then all
    # others. So each kind of pair is one range per sample, and a pair is identified by one number.
    n_must, n_cannot = group_end - position - 1, len(samples) - group_end
    n_available = int(n_must.sum()), int(n_cannot.sum())
    sizes = _stratum_sizes(*n_available, max_pairs)
    drawn = [draw_numbers(*one, generator) for one in zip(n_available, sizes, strict=True)]
    must = samples[numbered_pairs(drawn[0], position + 1, n_must)]
    cannot = samples[numbered_pairs(drawn[1], group_end, n_cannot)]
    return pair_target(must, cannot, n_available)


def match_sigma(X: Any, target: PairTarget, n_jobs: int | None = None) -> float:
    """Choose sigma so that the kernel of all features best matches the target similarity.

    The chosen sigma minimises the weighted mean of `(1 - w)^2` over must-links plus the weighted
    mean of `w^2` over cannot-links, where `w = exp(-d^2 / (2 sigma^2))` and d is the distance
    computed from all features. Means are used instead of sums because, with many more cannot-links
    than must-links, the sum would be minimal if every `w` vanished.

    The initial grid has 64 widths, equidistant in log(sigma), from a quarter of the smallest
    positive distance to four times the largest distance. The best interval is refined by a bounded
    search. Among equally good widths, the smallest is chosen. If the samples of every pair are
    identical, sigma is 1.
    """
    squared = as_samples(X).pair_distances(target.first, target.second, n_jobs)
    must, cannot = squared[: target.n_must], squared[target.n_must :]
    own = np.ones(len(squared)) if target.own is None else target.own
    of_must, of_cannot = own[: target.n_must], own[target.n_must :]
    positive = squared[squared > 0]
    if not positive.size:
        return 1.0
    low, high = np.log(positive.min()) / 2 - np.log(4), np.log(positive.max()) / 2 + np.log(4)

    def mismatch(log_sigma: float) -> float:
        scale = -0.5 * np.exp(-2 * log_sigma)
        apart = np.average(np.expm1(scale * must) ** 2, weights=of_must) if len(must) else 0.0
        together = np.average(np.exp(2 * scale * cannot), weights=of_cannot) if len(cannot) else 0.0
        return float(apart + together)

    grid = np.linspace(low, high, N_WIDTHS)
    best = int(np.argmin([mismatch(log_sigma) for log_sigma in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, N_WIDTHS - 1)]
    refined = minimize_scalar(mismatch, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(refined.x))


def median_differences(X: Any, first: IntArray, second: IntArray) -> FloatArray:
    """Return the median absolute difference of each feature over the listed pairs."""
    rows, ends = np.unique(np.concatenate([first, second]), return_inverse=True)
    X = as_samples(X)
    left, right = (X.placed(some) for some in np.split(ends, 2))

    def work(block: Any) -> Any:
        xp = namespace_of(block)
        apart = xp.abs(xp.take(block, left, axis=0) - xp.take(block, right, axis=0))
        apart = xp.sort(apart, axis=0)
        return (apart[(len(first) - 1) // 2, :] + apart[len(first) // 2, :]) / 2

    found: FloatArray = X.fetched(X.map_columns(work, rows, dense=True))
    return found


def by_group(groups: IntArray) -> IntArray:
    """Return the samples that have a group, sorted by group."""
    samples = np.argsort(groups, kind="stable")
    return samples[np.searchsorted(groups[samples], 0) :]


def _stratum_sizes(n_must: int, n_cannot: int, max_pairs: int) -> tuple[int, int]:
    """Return the numbers of must-links and cannot-links to draw.

    Each is half of `max_pairs`, unless there are too few pairs of one kind.
    """
    size_must = min(n_must, max(max_pairs // 2, max_pairs - n_cannot))
    return size_must, min(n_cannot, max_pairs - size_must)
