"""Performance as a function of the number of features, and the accuracy of 1-NN classification."""

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

# The name of the curve of features in random order, the baseline for every method.
RANDOM = "random choice"
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)
# Number of distances computed at a time, so that they fit into the processor's cache.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Curve:
    """A performance measure for several numbers of features, with one row for each run.

    Parameters
    ----------
    n_features : ndarray of int of shape (n_points,)
        The numbers of features, in ascending order.
    values : ndarray of float of shape (n_runs, n_points)
        The value of the measure for each run (split or fold) and each number of features.
    """

    n_features: NDArray[Any]
    values: NDArray[Any]

    @property
    def mean(self) -> NDArray[Any]:
        """The mean over runs for each number of features."""
        return self.values.mean(axis=0)

    @property
    def spread(self) -> NDArray[Any]:
        """The standard deviation over runs for each number of features."""
        return self.values.std(axis=0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the curve as a dict that can be written as JSON."""
        return {
            "n_features": self.n_features.tolist(),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "values": self.values.tolist(),
        }


def numbers_of_features(n_all: int, most: int = 100) -> tuple[int, ...]:
    """Return the default numbers of features: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100.

    If X has fewer features, the last value is the number of features of X. If `most` is larger than
    100, the values 150, 200, 300 and 500 follow.

    Parameters
    ----------
    n_all : int
        The number of features of X.
    most : int, default=100
        The largest number to return.

    Examples
    --------
    >>> numbers_of_features(12)
    (1, 2, 3, 5, 7, 10, 12)
    """
    last = min(n_all, most)
    return (*(step for step in STEPS if step < last), last)


def check_counts(n_features: Counts, n_available: int) -> IntArray:
    """Return the numbers of features as an array, or raise an error if they are invalid."""
    if n_features is None:
        return np.arange(1, n_available + 1)
    counts = np.asarray(n_features)
    whole = counts.ndim == 1 and counts.size > 0 and counts.dtype.kind in "iu"
    if not whole or counts[0] < 1 or counts[-1] > n_available or (np.diff(counts) < 1).any():
        raise GuidedValueError(
            f"n_features={n_features!r}, but it must be an ascending list of whole numbers from 1 "
            f"to {n_available}, the number of ranked features.",
            "Pass a list such as [1, 2, 5], or [5] for one number.",
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
    """Return the accuracy of 1-NN classification with the first m features, for several m.

    Squared distances are summed feature by feature, so evaluating all values of m takes no longer
    than evaluating the largest one. If several training samples are equally close, the first one is
    used.

    Parameters
    ----------
    train, y_train : ndarrays of shape (n_train, n_features) and (n_train,)
        The samples that may be neighbours, such as training samples or prototypes, and their
        classes.
    test, y_test : ndarrays of shape (n_test, n_features) and (n_test,)
        The samples to classify, and their classes.
    order : array-like of int
        Features, best first.
    n_features : sequence of int, optional
        The numbers of features, in ascending order. Default: 1, 2, ..., len(order).

    Returns
    -------
    ndarray of shape (len(n_features),)
        The accuracy on the test samples for each number of features.

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
    # Fortran order makes columns contiguous; in float64, differences of small integers are exact.
    columns = np.asfortranarray(train[:, kept], dtype=np.float64)
    check_spread(columns)
    rows = max(1, _CHUNK // len(train))
    hits = np.zeros(len(counts))
    for start in range(0, len(test), rows):
        part = np.asfortranarray(test[start : start + rows, kept], dtype=np.float64)
        with np.errstate(over="ignore"):  # _hits raises an error for infinite distances
            hits += _hits(columns, y_train, part, y_test[start : start + rows], counts)
    return hits / len(test)


def nearest_classes(train: Matrix, y_train: NDArray[Any], test: Matrix) -> NDArray[Any]:
    """Return the class of the nearest training sample for each dense or sparse test sample.

    As in `nearest_neighbor_curve`, the first of several equally close training samples is used.
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
    """Count the test samples classified correctly by 1-NN in the first m columns, for all m."""
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
