"""Forward selection by the similarity-based constraint score (eps^S and eps^SS).

Groups define a target similarity for every pair of samples: 1 within groups and 0 between groups.
This criterion is evaluated by matrix products, whereas listed pairs are evaluated individually.
Error bounds only save time; the results equal those of a direct float64 evaluation of all
candidates.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._samples import as_samples
from linkselect._search.all_pairs import AllPairs
from linkselect._search.device_similarity import AllPairsOnDevice, ListedPairsOnDevice
from linkselect._search.listed_pairs import ListedPairs
from linkselect._search.targets import PairTarget, by_group

Criterion = AllPairs | AllPairsOnDevice | ListedPairs | ListedPairsOnDevice


class SimilarityPath(NamedTuple):
    """The result of a forward selection by the similarity criterion."""

    order: IntArray
    """Features in the order of selection.

    The remaining features are sorted by their value at the last step.
    """
    path: FloatArray
    """The value of the criterion after adding each selected feature."""
    scores: FloatArray
    """The value of the criterion for each feature alone."""
    standard_error: FloatArray
    """The standard error of each value in `path`, which is zero unless pairs were sampled."""


@cites("salmi2020")
def select_by_similarity(
    X: Any,
    target: IntArray | PairTarget,
    sigma: float = 1.0,
    n_features: int | None = None,
    *,
    first: Sequence[int] = (),
    until_minimum: bool = False,
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    n_jobs: int | None = None,
) -> SimilarityPath:
    """Select features whose Gaussian kernel best matches the target similarity of samples.

    The target similarity is 1 for pairs within groups and must-links, and 0 for pairs between
    groups and cannot-links. If all samples are grouped by their nearest prototype, the criterion is
    eps^SS. For pairs, or if only prototypes have a group, it is eps^S. For groups, the sum runs
    over all ordered pairs of grouped samples; the diagonal contributes nothing.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_all_features)
        The samples, dense or sparse. Rows with a group or in a pair are copied to a dense array.
    target : ndarray of int of shape (n_samples,) or PairTarget
        The group of each sample, which is negative if the sample is excluded. Alternatively, the
        pairs returned by `pair_target`, `draw_from_pairs` or `draw_from_groups`.
    sigma : float
        The width of the kernel.
    n_features : int, optional
        Number of features to select. Default: all.
    first : sequence of int, optional
        Features that are selected before all others, in this order.
    until_minimum : bool
        Whether to stop when no further feature can decrease the criterion below its minimum so far.
    track : callable
        Function that wraps the iterable of step numbers and yields each number when its step
        begins. If it stops early, the search ends.
    n_jobs : int, optional
        Number of threads, which does not affect the result.

    Returns
    -------
    path : SimilarityPath
        If pairs were sampled, `path` contains estimates of the criterion over all pairs. The
        standard errors apply to fixed subsets of features. Because the search minimises the
        estimate, the final value is slightly too small.

    Notes
    -----
    For groups, the time per step is proportional to `n_samples^2 * n_all_features`. The matrices
    require memory proportional to `n_samples^2`. The kernel terms require about 20 times the size
    of X (for features in [0, 1] and sigma=1), but at most 256 MB or four times the size of X. For
    more than about 5,000 samples, sample pairs instead.
    """
    criterion: Criterion
    if isinstance(target, PairTarget):
        ends = np.concatenate([target.first, target.second])
        rows, ends = np.unique(ends, return_inverse=True)
        pairs = target._replace(first=ends[: len(ends) // 2], second=ends[len(ends) // 2 :])
        some = as_samples(X).take(rows)
        if some.here is None:
            criterion = ListedPairs(some.dense(), pairs, sigma, n_jobs)
        else:
            criterion = ListedPairsOnDevice(some.here, some.values, pairs, sigma)
    else:
        rows = by_group(target)
        some = as_samples(X).take(rows)
        if some.here is None:
            criterion = AllPairs(some.dense(), target[rows], sigma, n_jobs)
        else:
            criterion = AllPairsOnDevice(some.here, some.values, target[rows], sigma)
    return _select_forward(criterion, n_features, until_minimum, track, first)


def _select_forward(
    criterion: Criterion,
    n_features: int | None,
    until_minimum: bool,
    track: Callable[[Iterable[int]], Iterator[int]],
    first: Sequence[int],
) -> SimilarityPath:
    remaining = np.arange(criterion.n_features)
    n_steps = criterion.n_features if n_features is None else n_features
    scores = criterion.values(remaining)
    order: list[int] = []
    path: list[float] = []
    standard_error: list[float] = []
    rest: IntArray | None = None

    def steps() -> Iterator[int]:
        # The generator stops by itself: a `break` in the loop would skip the callback at the end
        # of the last step.
        yield from takewhile(lambda _: rest is None, range(n_steps))

    for step in track(steps()):
        # One more step than the minimum needs, so that a full evaluation orders the rest.
        is_last = step == n_steps - 1 or (
            until_minimum
            and step > len(first)
            and criterion.must_part() >= min(path[max(0, len(first) - 1) :])
        )
        values = scores if step == 0 else criterion.values(remaining) if is_last else None
        forced = step < len(first)
        feature = int(first[step]) if forced else criterion.best(remaining, values)
        if is_last and values is not None:
            rest = _sorted_with_ties(remaining, values, criterion.rounding())
        remaining = remaining[remaining != feature]
        criterion.add(feature)
        order.append(feature)
        path.append(criterion.criterion())
        standard_error.append(criterion.standard_error())
    if rest is None:
        # A callback stopped the search early: order the remaining features by their value at the
        # next step.
        rest = _sorted_with_ties(remaining, criterion.values(remaining), criterion.rounding())
    chosen = np.array(order, dtype=np.intp)
    complete = np.concatenate([chosen, rest[~np.isin(rest, chosen)]])
    return SimilarityPath(complete, np.array(path), scores, np.array(standard_error))


def _sorted_with_ties(features: IntArray, values: FloatArray, rounding: float) -> IntArray:
    """Sort features by value; features whose values agree up to rounding are sorted by index."""
    by_value = np.argsort(values, kind="stable")
    group = np.concatenate([[0], np.cumsum(np.diff(values[by_value]) > rounding)])
    return features[by_value][np.lexsort((features[by_value], group))]
