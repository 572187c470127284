"""mRMR: features that tell most about the class and least about each other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._search.information import Discrete, mutual_information
from linkselect._search.ties import UNIT, Rounded, tied_ranks


class Relevant(NamedTuple):
    """Features in the order in which mRMR chose them.

    Attributes
    ----------
    relevance : ndarray of shape (n_features,)
        The mutual information of each feature with the class.
    order : ndarray of shape (n_features,)
        The chosen features in order, then the rest by their value at the last step.
    path : ndarray of shape (n_chosen,)
        The value of each chosen feature when it was chosen.
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
    """Choose features one by one by relevance and mean redundancy with those already chosen.

    The first is the most relevant one. Then the value of a feature f is `relevance - redundancy` or
    `relevance / redundancy`, where relevance is `I(f; class)` and redundancy the mean of `I(f; g)`
    over the chosen g. A quotient over 0 is infinite if there is relevance (and the more relevant
    of two such features is better), else NaN, which ranks last; so does a feature with one state
    from the first step on. Ties go to the earlier feature; values that are equal up to rounding
    tie.

    Parameters
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        States from 0 of the discretised features.
    classes : ndarray of int of shape (n_samples,)
        Classes from 0.
    n_chosen : int
        How many steps to take, at least 1.
    scheme : {"difference", "quotient"}, default="difference"
        How redundancy counts.
    track : callable, optional
        Wraps the steps to report progress; may end them early.
    first : sequence of int, optional
        Features that are chosen before all others, in this order.

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
    # In a quotient a feature with one state is 0 / 0 against every other, so it comes last.
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
        # The remaining ones stay in the order of their indices, which breaks ties.
        remaining, rest = np.delete(remaining, best), remaining[ranked[ranked != best]]
    order = np.append(np.array(chosen, dtype=np.intp), rest)
    return Relevant(relevance.value, order, np.array(path))


def _quotient(relevance: Rounded, redundancy: Rounded) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the quotients, and the ends between which they lie."""
    without = np.where(relevance.value > 0, np.inf, np.nan)

    def over(numerator: FloatArray, denominator: FloatArray, otherwise: FloatArray) -> FloatArray:
        return np.divide(numerator, denominator, out=otherwise.copy(), where=denominator > 0)

    values = over(relevance.value, redundancy.value, without)
    # As little over as much as it may be, and the reverse. No redundancy is exactly 0.
    lower = over(relevance.lower, redundancy.upper, without)
    upper = over(relevance.upper, redundancy.lower, np.where(redundancy.value > 0, np.inf, without))
    return values, lower * (1 - 4 * UNIT), upper * (1 + 4 * UNIT)
