"""Fast correlation-based filter (FCBF): selection of relevant features that are not redundant."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._search.information import Discrete, symmetric_uncertainty
from linkselect._search.ties import tied_ranks


class Predominant(NamedTuple):
    """The result of FCBF.

    Attributes
    ----------
    uncertainty : ndarray of shape (n_features,)
        The symmetric uncertainty of each feature with the class.
    order : ndarray of shape (n_features,)
        The predominant features, followed by the remaining features. Both parts are sorted by
        uncertainty, and ties are broken by index.
    n_predominant : int
        The number of predominant features; 0 if no feature is relevant.
    """

    uncertainty: FloatArray
    order: IntArray
    n_predominant: int


@cites("yu2004")
def fcbf(
    states: NDArray[np.integer[Any]],
    classes: IntArray,
    threshold: float = 0.0,
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    first: Sequence[int] = (),
) -> Predominant:
    """Find the predominant features by the fast correlation-based filter (FCBF).

    A feature is relevant if its symmetric uncertainty with the class exceeds the threshold.
    Relevant features are processed in descending order. Each feature p that has not been removed is
    predominant. It removes every subsequent feature q for which it is an approximate Markov
    blanket, `uncertainty(p, q) >= uncertainty(q, class)`. Values that agree up to rounding count as
    equal, and ties are broken by index.

    Parameters
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        The states of the discretised features, numbered from 0.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    threshold : float, default=0.0
        A feature is relevant if its uncertainty exceeds this value.
    track : callable, optional
        Function that wraps the iterable of predominant features to report progress.
    first : sequence of int, optional
        Features that are treated as predominant and precede all others.

    Examples
    --------
    >>> import numpy as np
    >>> states = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]])
    >>> found = fcbf(states, np.array([0, 0, 1, 1]))
    >>> found.uncertainty.round(3), found.order, found.n_predominant
    (array([1.   , 0.344, 0.   ]), array([0, 1, 2]), 1)
    """
    features = Discrete.of(states)
    uncertainty = symmetric_uncertainty(features, classes)
    ranked = np.argsort(tied_ranks(uncertainty.lower, uncertainty.upper), kind="stable")
    candidates = ranked[(uncertainty.lower[ranked] > threshold) & ~np.isin(ranked, first)]

    def best_of_the_rest() -> Iterator[int]:
        yield from map(int, first)
        while len(candidates):
            yield int(candidates[0])

    predominant = []
    for best in track(best_of_the_rest()):
        predominant.append(best)
        others = candidates[candidates != best]
        shared = symmetric_uncertainty(features, states[:, best], others)
        candidates = others[shared.upper < uncertainty.lower[others]]
    rest = ranked[~np.isin(ranked, predominant)]
    order = np.append(np.array(predominant, dtype=np.intp), rest)
    return Predominant(uncertainty.value, order, len(predominant))
