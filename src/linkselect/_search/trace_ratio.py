"""The subset-level Fisher score, which finds the subset with the largest trace ratio.

The trace ratio of a subset (Nie et al. 2008) is the sum of its between-class scatter divided by the
sum of its within-class scatter. Let `lam` be the ratio of a subset of the given size. For the
features with the largest values of `between - lam * within`, the sum of these values is at least 0,
so the ratio of these features is at least `lam`. Repeating this step (Dinkelbach's method) yields
the global optimum after a few iterations.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._forms import from_moments
from linkselect._samples.devices import namespace_of, to_numpy
from linkselect._samples.moments import Moments

# Bound of the rounding error of a difference of two products, relative to their sum.
ROUNDING = 4 * np.finfo(np.float64).eps
# Number of subset sizes processed together. Their optima differ in few features, and only these
# are examined for each size.
SIZES_AT_ONCE = 256


class TraceRatioOptimum(NamedTuple):
    """The best subset of a given size."""

    ratio: float
    """The trace ratio of the subset.

    It is infinite if only the within-class scatter is 0, and NaN if both scatters are 0.
    """
    order: IntArray
    """All features, sorted by `between - ratio * within` and then by index.

    The subset comes first.
    """


def between_and_within(
    X: Any, classes: IntArray, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the between-class scatter and the within-class scatter of each feature."""

    def both(parts: Moments) -> FloatArray:
        return namespace_of(parts.mass).stack([parts.between(), parts.within()])

    between, within = to_numpy(from_moments(both, X, (classes, None), n_jobs=n_jobs))
    return between, within


@cites("nie2008")
def best_trace_ratio(
    between: FloatArray,
    within: FloatArray,
    n_features: int,
    first: Sequence[int] = (),
    start: float = 0.0,
) -> TraceRatioOptimum:
    """Find the subset of `n_features` features with the largest trace ratio.

    Parameters
    ----------
    between, within : ndarray of shape (n_all_features,)
        The between-class and within-class scatter of each feature, which are at least 0. A feature
        for which both are 0 does not change the ratio of a subset, so the optimum may contain it.
    n_features : int
        The size of the subset.
    first : sequence of int, optional
        Features that the subset must contain. They come first in the order.
    start : float, default=0.0
        The initial ratio. Passing the optimum for a similar size saves iterations.

    Returns
    -------
    optimum : TraceRatioOptimum

    Examples
    --------
    >>> import numpy as np
    >>> best_trace_ratio(np.array([4.0, 1.0, 3.0]), np.array([2.0, 1.0, 1.0]), 2).order
    array([2, 0, 1])
    """
    if len(first):
        return _best_with(between, within, n_features, np.asarray(first, dtype=np.intp), start)
    if n_features <= _n_infinite(between, within):
        ratio = np.inf
    else:
        ratio = _best_ratio(_Pool(between, within), n_features, start)
    return _optimum(between, within, ratio, n_features)


def trace_ratio_path(
    between: FloatArray,
    within: FloatArray,
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    n_sizes: int | None = None,
    first: Sequence[int] = (),
) -> FloatArray:
    """Return the largest trace ratio for each subset size from 1 to `n_sizes`.

    By default, all sizes are considered. The function `track` wraps the iterable of sizes to report
    progress; if it stops early, the path ends at this size. Subsets contain the features in
    `first`; smaller subsets consist of the initial features of `first`.
    """
    everything = _Pool(between, within)
    n_infinite = _n_infinite(between, within)
    path: list[float] = []
    last_of_pool = n_infinite
    for size in track(range(1, (n_sizes or len(between)) + 1)):
        if len(first):
            start = path[-1] if size > len(first) and np.isfinite(path[-1]) else 0.0
            path.append(best_trace_ratio(between, within, size, first[:size], start).ratio)
            continue
        if size <= n_infinite:
            path.append(np.inf)
            continue
        # One more feature lowers the optimum, but not by much: a good start.
        high = path[-1] if size > n_infinite + 1 else _best_ratio(everything, size, 0.0)
        if size > last_of_pool:
            last_of_pool = min(size + SIZES_AT_ONCE - 1, len(between))
            low = _best_ratio(everything, last_of_pool, high)
            pool = _undecided(between, within, size, last_of_pool, low, high)
        path.append(_best_ratio(pool, size, high, low))
    return np.array(path)


class _Pool(NamedTuple):
    """Candidate features, and the total scatter of the features already selected."""

    between: FloatArray
    within: FloatArray
    n_chosen: int = 0
    chosen_between: float = 0.0
    chosen_within: float = 0.0

    def ratio_of_best(self, size: int, ratio: float) -> float:
        """Return the ratio of the subset with the largest sum of `between - ratio * within`."""
        n_wanted = size - self.n_chosen
        subsets = (
            np.argpartition(-differences, n_wanted - 1)[:n_wanted]
            for differences in _possible_differences(self.between, self.within, ratio)
        )
        return max(self.ratio_of(subset) for subset in subsets)

    def ratio_of(self, subset: IntArray) -> float:
        """Return the trace ratio of a subset combined with the features already selected."""
        # The choice among equal differences does not matter at the optimum. A subset without any
        # scatter counts as the worst.
        total = self.within[subset].sum() + self.chosen_within
        return float((self.between[subset].sum() + self.chosen_between) / total) if total else 0.0


def _possible_differences(
    between: FloatArray, within: FloatArray, ratio: float
) -> list[FloatArray]:
    """Return `between - ratio * within`, with error bounds if a sign is uncertain due to rounding.

    The feature that determines the ratio has a difference of 0. If its scatter is much larger than
    that of other features, rounding errors could rank it before or behind all of them.
    """
    differences = between - ratio * within
    rounding = ROUNDING * (between + ratio * within)
    if not ((np.abs(differences) <= rounding) & (rounding > 0)).any():
        return [differences]
    return [differences, differences + rounding, differences - rounding]


def _undecided(
    between: FloatArray, within: FloatArray, first: int, last: int, low: float, high: float
) -> _Pool:
    """Return features that are in some but not all optimal subsets of `first` to `last` features.

    The ratios of these subsets lie between `low` and `high`, which bounds the difference of each
    feature.
    """
    rounding = ROUNDING * (between + high * within)
    most, least = between - low * within + rounding, between - high * within - rounding
    n_all = len(between)
    always = np.ones(n_all, dtype=bool)
    if first < n_all:
        always = least > np.partition(most, n_all - first - 1)[n_all - first - 1]
    never = most < np.partition(least, n_all - last)[n_all - last]
    if np.count_nonzero(always) >= first:
        # The first size needs a feature to choose, because differences may be equal.
        always[:] = False
    kept = ~(always | never)
    return _Pool(
        between[kept],
        within[kept],
        int(np.count_nonzero(always)),
        float(between[always].sum()),
        float(within[always].sum()),
    )


def _n_infinite(between: FloatArray, within: FloatArray) -> int:
    """Return the size of the largest subset with an infinite trace ratio."""
    free = within == 0
    return int(np.count_nonzero(free)) if between[free].any() else 0


def _best_ratio(pool: _Pool, size: int, start: float, low: float = 0.0) -> float:
    """Return the largest ratio, given any starting value and a lower bound `low`."""
    if not pool.within.any() and not pool.chosen_within:
        return np.nan
    # The start may exceed the optimum, because the ratio of its best subset does not.
    ratio = max(low, pool.ratio_of_best(size, start))
    while (better := pool.ratio_of_best(size, ratio)) > ratio:
        ratio = better
    return ratio


def _best_with(
    between: FloatArray, within: FloatArray, n_features: int, first: IntArray, start: float
) -> TraceRatioOptimum:
    """Find the best subset that contains the given features."""
    others = np.setdiff1d(np.arange(len(between)), first)
    sums = float(between[first].sum()), float(within[first].sum())
    n_more = n_features - len(first)
    free = within[others] == 0
    infinite = not sums[1] and (sums[0] > 0 or bool(between[others][free].any()))
    if n_more <= 0 or not len(others):
        ratio = sums[0] / sums[1] if sums[1] else (np.inf if sums[0] else np.nan)
    elif infinite and n_more <= np.count_nonzero(free):
        ratio = np.inf
    else:
        pool = _Pool(between[others], within[others], len(first), *sums)
        ratio = _best_ratio(pool, n_features, start)
    rest = _optimum(between[others], within[others], ratio, max(n_more, 0)).order
    return TraceRatioOptimum(float(ratio), np.concatenate([first, others[rest]]))


def _optimum(
    between: FloatArray, within: FloatArray, ratio: float, n_features: int
) -> TraceRatioOptimum:
    if np.isinf(ratio):
        # For an infinite ratio, features with the least scatter within classes come first.
        order = np.lexsort((-between, within))
    elif np.isnan(ratio):
        order = np.arange(len(between))
    else:
        possible = _possible_differences(between, within, ratio)
        orders = [np.argsort(-differences, kind="stable") for differences in possible]
        everything = _Pool(between, within)
        ratios = [everything.ratio_of(order[:n_features]) for order in orders]
        order = orders[int(np.argmax(ratios))]
    return TraceRatioOptimum(float(ratio), order)
