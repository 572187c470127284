"""Trade the merit of a feature against what it repeats of those already chosen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import centre
from linkselect._samples import Samples, as_samples
from linkselect._search.ties import UNIT, tied_ranks


class Distinct(NamedTuple):
    """Features in the order in which they were chosen.

    Attributes
    ----------
    order : ndarray of shape (n_features,)
        The chosen features in order, then the rest by their value at the last step.
    path : ndarray of shape (n_chosen,)
        The value of each chosen feature when it was chosen.
    """

    order: IntArray
    path: FloatArray


def least_redundant(
    X: Any,
    merit: FloatArray,
    weight: float,
    n_chosen: int,
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
    first: Sequence[int] = (),
) -> Distinct:
    """Choose features by `(1 - weight) * merit - weight * largest |correlation| with the chosen`.

    The first one is chosen by merit alone. The largest and not the mean correlation counts, since
    the copy of a chosen feature is no less of a copy when many others are chosen. A constant
    feature correlates with nothing. Every step reads X once, in blocks, and keeps one number per
    feature. Ties go by merit, then by index; values that are equal up to rounding tie.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Dense or sparse.
    merit : ndarray of shape (n_features,)
        Larger is better, from 0 to 1; see `rank_merit`.
    weight : float
        From 0 (merit alone) to 1 (correlation alone, after the first).
    n_chosen : int
        How many steps to take, at least 1.
    track : callable, optional
        Wraps the steps to report progress; may end them early.
    first : sequence of int, optional
        Features that are chosen before all others, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [3.0, 3.0, 1.0]])
    >>> least_redundant(X, np.array([1.0, 0.9, 0.5]), 0.5, 3).order
    array([0, 2, 1])
    """
    X = as_samples(X)
    largest = np.zeros(len(merit))
    free = np.ones(len(merit), dtype=bool)
    values = merit
    error = 0.0  # ranks are exact
    ranked = np.arange(len(merit))
    chosen: list[int] = []
    path: list[float] = []
    for step in track(range(n_chosen)):
        if chosen:
            np.maximum(largest, _correlations(X, chosen[-1]), out=largest)
            values = (1.0 - weight) * merit - weight * largest
            # docs/bounds.md derives it: of a correlation over all samples, and of the sum above.
            error = UNIT * (weight * (3 * X.shape[0] + 64) + 4)
        ranked = np.lexsort((-merit, tied_ranks(values - error, values + error), ~free))
        chosen.append(int(first[step] if step < len(first) else ranked[0]))
        path.append(float(values[chosen[-1]]))
        free[chosen[-1]] = False
    rest = ranked[free[ranked]]
    return Distinct(np.append(np.array(chosen, dtype=np.intp), rest), np.array(path))


def rank_merit(order: IntArray) -> FloatArray:
    """Turn an order, best first, into merits evenly spread from 1 down to 0.

    Ranks fit every score: they need no scale, and neither infinite nor missing values disturb.
    """
    merit = np.empty(len(order))
    merit[order] = np.linspace(1.0, 0.0, len(order)) if len(order) > 1 else 1.0
    return merit


def _correlations(X: Samples, feature: int) -> FloatArray:
    """Correlate one feature with all, without signs; 0 if one of the two is constant."""
    direction = _unit_columns(X.block(slice(feature, feature + 1)))[:, 0]
    found = np.empty(X.shape[1])
    for columns, block in X.dense_blocks():
        found[columns] = np.abs(direction @ _unit_columns(block))
    return np.minimum(found, 1.0)


def _unit_columns(block: FloatArray) -> FloatArray:
    """Centre and scale columns to length 1, in place; constant ones become 0."""
    constant = block.min(axis=0) == block.max(axis=0)
    centre(block)
    # Scaled by powers of 2, no square overflows or underflows.
    block[:] = np.ldexp(block, -np.frexp(np.abs(block).max(axis=0))[1])
    lengths = np.linalg.norm(block, axis=0)
    block /= np.where(lengths > 0, lengths, 1.0)
    block[:, constant] = 0.0
    return block
