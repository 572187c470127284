"""Values against the number of features, and the accuracy of the nearest neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from scipy.spatial.distance import cdist

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import GuidedValueError
from linkselect._samples import as_samples
from linkselect._samples.checks import check_spread, explained_overflow, too_large
from linkselect.graphs import nearest

Counts = Sequence[int] | NDArray[Any] | None

# The name of the curve of features in random order, which every method should beat.
RANDOM = "random choice"
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)
# How many distances are computed at a time, so that they stay in a processor's cache.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Curve:
    """Values over numbers of features, one row for each run.

    Parameters
    ----------
    n_features : array of int, shape (n_points,)
        The numbers of features, ascending.
    values : array of float, shape (n_runs, n_points)
        What was measured in each run with each number of features.
    """

    n_features: NDArray[Any]
    values: NDArray[Any]

    @property
    def mean(self) -> NDArray[Any]:
        """The mean over runs, at each number of features."""
        return self.values.mean(axis=0)

    @property
    def spread(self) -> NDArray[Any]:
        """The standard deviation over runs, at each number of features."""
        return self.values.std(axis=0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return everything as plain data that JSON can hold."""
        return {
            "n_features": self.n_features.tolist(),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "values": self.values.tolist(),
        }


def numbers_of_features(n_all: int, most: int = 100) -> tuple[int, ...]:
    """Return numbers of features to measure at: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100.

    Above 100, if `most` allows it, 150, 200, 300 and 500.

    Examples
    --------
    >>> numbers_of_features(12)
    (1, 2, 3, 5, 7, 10, 12)
    """
    last = min(n_all, most)
    return (*(step for step in STEPS if step < last), last)


def check_counts(n_features: Counts, n_available: int) -> IntArray:
    """Return the numbers of features as an array, or raise if they cannot be used."""
    if n_features is None:
        return np.arange(1, n_available + 1)
    counts = np.asarray(n_features)
    whole = counts.ndim == 1 and counts.size > 0 and counts.dtype.kind in "iu"
    if not whole or counts[0] < 1 or counts[-1] > n_available or (np.diff(counts) < 1).any():
        raise GuidedValueError(
            f"n_features={n_features!r}, but numbers of features are whole and ascend from 1 to at "
            f"most {n_available}, the number of ranked features.",
            "Write [1, 2, 5], or [5] for one number.",
            "n_features",
        )
    return counts.astype(np.intp)


def nearest_neighbor_curve(
    train: NDArray[Any],
    y_train: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    order: NDArray[Any],
    n_features: Counts = None,
) -> FloatArray:
    """Measure 1-NN with the first m features of an order, for each wanted m.

    Squared distances are summed feature by feature, so all m cost no more than the largest. Of
    training rows that are equally near, the first one decides.

    Parameters
    ----------
    train, y_train : arrays of shape (n_train, d), (n_train,)
        The rows among which neighbours are found: training rows, or prototypes.
    test, y_test : arrays of shape (n_test, d), (n_test,)
        The rows to classify.
    order : array of int
        Features, best first.
    n_features : ascending ints, optional
        The numbers of features. Default: 1, 2, ... len(order).

    Returns
    -------
    array of float, one for each number of features
        The share of test rows with the right class.

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect.evaluation import nearest_neighbor_curve
    >>> train, test = np.array([[0.0, 9.0], [1.0, 0.0]]), np.array([[0.1, 0.0], [0.9, 0.0]])
    >>> nearest_neighbor_curve(train, np.array([0, 1]), test, np.array([0, 1]), [0, 1])
    array([1. , 0.5])
    """
    counts = check_counts(n_features, len(order))
    kept = np.asarray(order)[: counts[-1]]
    # Columns next to each other, and float64 so that differences of small integers are exact.
    columns = np.asfortranarray(train[:, kept], dtype=np.float64)
    check_spread(columns)
    rows = max(1, _CHUNK // len(train))
    hits = np.zeros(len(counts))
    for start in range(0, len(test), rows):
        part = np.asfortranarray(test[start : start + rows, kept], dtype=np.float64)
        with np.errstate(over="ignore"):  # what is infinite is refused
            hits += _hits(columns, y_train, part, y_test[start : start + rows], counts)
    return hits / len(test)


def nearest_classes(train: Matrix, y_train: NDArray[Any], test: Matrix) -> NDArray[Any]:
    """Return the class of the training row that is nearest to each test row, dense or sparse.

    As in `nearest_neighbor_curve`, the first of training rows that are equally near decides.
    """
    check_spread(train)
    rows = (
        vstack([train, test], "csr")
        if as_samples(train).kind == "sparse"
        else np.concatenate([train, test])
    )
    pool, queries = np.split(np.arange(rows.shape[0]), [train.shape[0]])
    with explained_overflow():
        own, near, _ = nearest(rows, 1, queries=queries, pool=pool, n_jobs=1)
    found = np.empty(len(queries), dtype=y_train.dtype)
    found[own - len(pool)] = y_train[near]
    return found


def _hits(
    train: FloatArray,
    y_train: NDArray[Any],
    test: FloatArray,
    y_test: NDArray[Any],
    counts: IntArray,
) -> IntArray:
    """Count the rightly classified rows with the first m columns, for each m."""
    distances = np.zeros((len(test), len(train)))
    work = np.empty_like(distances)
    hits = np.empty(len(counts), dtype=np.intp)
    done = 0
    for place, count in enumerate(counts.tolist()):
        if count == done + 1:  # twice as fast as cdist, which is faster for more columns
            np.subtract(test[:, done, None], train[:, done], out=work)
            distances += np.square(work, out=work)
        else:
            distances += cdist(test[:, done:count], train[:, done:count], "sqeuclidean")
        hits[place] = np.count_nonzero(y_train[distances.argmin(axis=1)] == y_test)
        done = count
    if np.isinf(distances.max()):
        raise too_large(FloatingPointError("overflow encountered in square"))
    return hits
