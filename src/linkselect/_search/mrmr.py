"""mRMR: selection of features with maximum relevance to the class and minimum redundancy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._search.information import Discrete, mutual_information
from linkselect._search.ties import UNIT, Rounded, tied_ranks


class Relevant(NamedTuple):
    """The result of mRMR.

    Attributes
    ----------
    relevance : ndarray of shape (n_features,)
        The mutual information of each feature with the class.
    order : ndarray of shape (n_features,)
        The selected features in order, followed by the remaining features, sorted by their value at
        the last step.
    path : ndarray of shape (n_chosen,)
        The value of each selected feature at the step of its selection.
    """

    relevance: FloatArray
    order: IntArray
    path: FloatArray


@cites("peng2005")
def mrmr(
    states: NDArray[np.integer[Any]],
    classes: IntArray,
    n_chosen: int,
    scheme: Literal["difference", "quotient"] = "difference",
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    first: Sequence[int] = (),
) -> Relevant:
    """Select features greedily by their relevance and their mean redundancy.

    The first feature is the most relevant one. In later steps, the value of a feature f is
    `relevance - redundancy` or `relevance / redundancy`, where relevance is `I(f; class)` and
    redundancy is the mean of `I(f; g)` over the selected features g.

    A quotient with redundancy 0 is infinite if the relevance is positive; features with infinite
    quotients are compared by relevance. If the relevance is 0 as well, the quotient is NaN, which
    ranks last. In the quotient scheme, constant features rank last from the first step onwards.
    Values that agree up to rounding are tied, and ties are broken by index.

    Parameters
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        The states of the discretised features, numbered from 0.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_chosen : int
        Number of features to select, at least 1.
    scheme : {"difference", "quotient"}, default="difference"
        Whether redundancy is subtracted from relevance or used as its divisor.
    track : callable, optional
        Function that wraps the iterable of steps to report progress and may end it early.
    first : sequence of int, optional
        Features that are selected before all others, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> states = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> found = mrmr(states, np.array([0, 1, 2, 3]), 2)
    >>> found.order, found.path.round(4)
    (array([0, 2, 1]), array([0.6931, 0.6931]))
    """
    features = Discrete.of(states)
    relevance = mutual_information(features, classes)
    by_relevance = tied_ranks(relevance.lower, relevance.upper)
    redundancy = Rounded(*np.zeros((2, len(by_relevance))))
    remaining = rest = np.arange(len(by_relevance))
    values, ranks = relevance.value, by_relevance
    # With quotients, a constant feature is 0 / 0 against every other feature, so it ranks last.
    last = (features.entropy == 0) & (scheme == "quotient")
    chosen: list[int] = []
    path: list[float] = []
    for step in track(range(n_chosen)):
        if chosen:
            redundancy = redundancy.plus(mutual_information(features, states[:, chosen[-1]]))
            mean = redundancy.over(len(chosen))
            if scheme == "difference":
                difference = relevance.minus(mean)
                values, lower, upper = difference.value, difference.lower, difference.upper
            else:
                values, lower, upper = _quotient(relevance, mean)
            ranks = tied_ranks(lower[remaining], upper[remaining])
        among_infinite = np.where(np.isinf(values), by_relevance, 0)[remaining]
        ranked = np.lexsort((among_infinite, ranks, last[remaining]))
        if step < len(first):
            best = int(np.flatnonzero(remaining == first[step])[0])
        else:
            best = int(ranked[0])
        chosen.append(int(remaining[best]))
        path.append(np.nan if last[chosen[-1]] else float(values[chosen[-1]]))
        # The remaining features stay sorted by index, which resolves ties.
        remaining, rest = np.delete(remaining, best), remaining[ranked[ranked != best]]
    order = np.append(np.array(chosen, dtype=np.intp), rest)
    return Relevant(relevance.value, order, np.array(path))


def _quotient(relevance: Rounded, redundancy: Rounded) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the quotients of relevance and redundancy, with their lower and upper bounds."""
    without = np.where(relevance.value > 0, np.inf, np.nan)

    def over(numerator: FloatArray, denominator: FloatArray, otherwise: FloatArray) -> FloatArray:
        return np.divide(numerator, denominator, out=otherwise.copy(), where=denominator > 0)

    values = over(relevance.value, redundancy.value, without)
    # The lower bound divides the smallest numerator by the largest denominator, the upper bound the
    # reverse. A redundancy of 0 is exact.
    lower = over(relevance.lower, redundancy.upper, without)
    upper = over(relevance.upper, redundancy.lower, np.where(redundancy.value > 0, np.inf, without))
    return values, lower * (1 - 4 * UNIT), upper * (1 + 4 * UNIT)
