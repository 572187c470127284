"""Forward selection by the similarity-based constraint score (eps^S and eps^SS).

Groups give a target for every pair of samples ("alike inside a group"), evaluated by matrix
products; listed pairs are evaluated one by one. Both return what a literal float64 evaluation of
all candidates returns; bounds only spare work.
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
    """What a forward selection by similarity found."""

    order: IntArray
    """Features in the order of their choice, then the rest by their value at the last step."""
    path: FloatArray
    """The criterion after each chosen feature."""
    scores: FloatArray
    """The criterion of each feature alone."""
    standard_error: FloatArray
    """The standard error of each value of `path`; zero unless pairs were drawn."""


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
    """Select features whose kernel is 1 inside groups or must-links and 0 across them.

    With the nearest-prototype groups of all samples this is eps^SS, with the labels of the
    prototypes and -1 for the others, or with pairs, eps^S. Over groups the sum runs over all
    ordered pairs of samples with a group; the diagonal contributes nothing.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_all_features)
        Dense or sparse; the rows that have a group or are in a pair are copied as dense columns.
    target : ndarray of int of shape (n_samples,) or PairTarget
        The group of each sample, negative if it takes no part; or pairs from `pair_target`,
        `draw_from_pairs` or `draw_from_groups`.
    sigma : float
        The width of the kernel.
    n_features : int, optional
        How many features to choose. Default: all.
    first : sequence of int, optional
        Features that are chosen before all others, in this order.
    until_minimum : bool
        Stop as soon as no further feature can lead below the least criterion so far.
    track : callable
        Gets the numbers of the steps and hands them back one by one, each when its step
        begins; if it ends early, so does the search.
    n_jobs : int, optional
        The number of threads. The result does not depend on it.

    Returns
    -------
    SimilarityPath
        If pairs were drawn, `path` estimates the criterion over all pairs. The standard error is
        that of a fixed subset; the search looks for small values, so the estimate at its end
        is a little too small.

    Notes
    -----
    Over groups, time grows with `n_samples^2 * n_all_features` for each step, memory with
    `n_samples^2` and, for the kernel terms, with 20 times the size of X (features in [0, 1],
    sigma=1; at most 256 MB or four times X). Draw pairs above some 5,000 samples.
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
        # The generator stops itself: a `break` in the loop would skip the callback for the end of
        # the last step.
        yield from takewhile(lambda _: rest is None, range(n_steps))

    for step in track(steps()):
        # One step more than needed for the minimum, so that the rest is ordered by a full step.
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
        # A callback stopped the search early: order the remaining features by what each would have
        # added next.
        rest = _sorted_with_ties(remaining, criterion.values(remaining), criterion.rounding())
    chosen = np.array(order, dtype=np.intp)
    complete = np.concatenate([chosen, rest[~np.isin(rest, chosen)]])
    return SimilarityPath(complete, np.array(path), scores, np.array(standard_error))


def _sorted_with_ties(features: IntArray, values: FloatArray, rounding: float) -> IntArray:
    """Sort by value; what is closer than rounding keeps the order of the features."""
    by_value = np.argsort(values, kind="stable")
    group = np.concatenate([[0], np.cumsum(np.diff(values[by_value]) > rounding)])
    return features[by_value][np.lexsort((features[by_value], group))]
