"""Selection of features by a trade-off between merit and redundancy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import centre
from linkselect._samples import Samples, as_samples
from linkselect._search.ties import UNIT, tied_ranks


class Distinct(NamedTuple):
    """The result of a selection by merit and redundancy.

    Attributes
    ----------
    order : ndarray of shape (n_features,)
        The selected features in order, followed by the remaining features, sorted by their value at
        the last step.
    path : ndarray of shape (n_chosen,)
        The value of each selected feature at the step of its selection.
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
    """Select features greedily by merit and by correlation with the selected features.

    The value of a feature is `(1 - weight) * merit - weight * r`, where r is its largest absolute
    correlation with a selected feature. The maximum is used instead of the mean, because a copy of
    a selected feature remains a copy when more features are selected. Constant features have
    correlation 0. The first feature is selected by merit alone.

    Each step reads X once, in blocks, and stores one number per feature. Values that agree up to
    rounding are tied. Ties are broken by merit, then by index.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, dense or sparse.
    merit : ndarray of shape (n_features,)
        The merits of the features, from 0 (worst) to 1 (best); see `rank_merit`.
    weight : float
        Weight of the correlation, from 0 (merit only) to 1 (correlation only, after the first
        feature).
    n_chosen : int
        Number of features to select, at least 1.
    track : callable, optional
        Function that wraps the iterable of steps to report progress and may end it early.
    first : sequence of int, optional
        Features that are selected before all others, in this order.

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
            # Error bound of the correlations and of the line above, derived in docs/bounds.md.
            error = UNIT * (weight * (3 * X.shape[0] + 64) + 4)
        ranked = np.lexsort((-merit, tied_ranks(values - error, values + error), ~free))
        chosen.append(int(first[step] if step < len(first) else ranked[0]))
        path.append(float(values[chosen[-1]]))
        free[chosen[-1]] = False
    rest = ranked[free[ranked]]
    return Distinct(np.append(np.array(chosen, dtype=np.intp), rest), np.array(path))


def rank_merit(order: IntArray) -> FloatArray:
    """Convert a ranking of features to merits that decrease linearly from 1 (best) to 0.

    Merits based on ranks are suitable for scores on any scale, including infinite and missing
    scores.
    """
    merit = np.empty(len(order))
    merit[order] = np.linspace(1.0, 0.0, len(order)) if len(order) > 1 else 1.0
    return merit


def _correlations(X: Samples, feature: int) -> FloatArray:
    """Return the absolute correlations of one feature with all features.

    A constant feature has correlation 0.
    """
    direction = _unit_columns(X.block(slice(feature, feature + 1)))[:, 0]
    found = np.empty(X.shape[1])
    for columns, block in X.dense_blocks():
        found[columns] = np.abs(direction @ _unit_columns(block))
    return np.minimum(found, 1.0)


def _unit_columns(block: FloatArray) -> FloatArray:
    """Centre columns and scale them to unit norm in place; constant columns become 0."""
    constant = block.min(axis=0) == block.max(axis=0)
    centre(block)
    # After scaling by powers of 2, squares neither overflow nor underflow.
    block[:] = np.ldexp(block, -np.frexp(np.abs(block).max(axis=0))[1])
    lengths = np.linalg.norm(block, axis=0)
    block /= np.where(lengths > 0, lengths, 1.0)
    block[:, constant] = 0.0
    return block
