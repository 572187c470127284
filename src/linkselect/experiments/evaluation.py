"""Accuracy against the number of features that a ranking keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkselect.experiments.scaling import fill_missing

__all__ = ["cross_validated_curve", "linear_svm_curve", "nearest_neighbor_curve", "rbf_svm_curve"]

Counts = Sequence[int] | NDArray[Any] | None
CurveFunction = Callable[..., NDArray[np.float64]]

# Distances of so many test rows at a time that they stay in a processor's cache.
_CHUNK = 1 << 16


def nearest_neighbor_curve(
    train: NDArray[Any],
    y_train: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    order: NDArray[Any],
    n_features: Counts = None,
) -> NDArray[np.float64]:
    """Measure 1-NN with the first m features of an order, for each wanted m.

    Squared distances are summed feature by feature, so all m cost no more than the largest. Of
    training rows that are equally near, the first one decides.

    Parameters
    ----------
    train, y_train : arrays of shape (n_train, d), (n_train,)
        What neighbours are sought among: the training rows, or prototypes.
    test, y_test : arrays of shape (n_test, d), (n_test,)
        What is classified.
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
    >>> from linkselect.experiments import nearest_neighbor_curve
    >>> train, test = np.array([[0.0, 9.0], [1.0, 0.0]]), np.array([[0.1, 0.0], [0.9, 0.0]])
    >>> nearest_neighbor_curve(train, np.array([0, 1]), test, np.array([0, 1]), [0, 1])
    array([1. , 0.5])
    """
    counts = check_counts(n_features, len(order))
    kept = np.asarray(order)[: counts[-1]]
    # Columns next to each other, and float64 so that differences of small integers are exact.
    columns = np.asfortranarray(train[:, kept], dtype=np.float64)
    rows = max(1, _CHUNK // len(train))
    hits = np.zeros(len(counts))
    for start in range(0, len(test), rows):
        part = np.asfortranarray(test[start : start + rows, kept], dtype=np.float64)
        hits += _hits(columns, y_train, part, y_test[start : start + rows], counts)
    return hits / len(test)


def _hits(
    train: NDArray[np.float64],
    y_train: NDArray[Any],
    test: NDArray[np.float64],
    y_test: NDArray[Any],
    counts: NDArray[np.intp],
) -> NDArray[np.intp]:
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
    return hits


def check_counts(n_features: Counts, n_available: int) -> NDArray[np.intp]:
    """Return the numbers of features as an array, or say why they cannot be met."""
    if n_features is None:
        return np.arange(1, n_available + 1)
    counts = np.asarray(n_features, dtype=np.intp)
    if not len(counts) or counts[0] < 1 or counts[-1] > n_available or (np.diff(counts) < 1).any():
        raise ValueError(
            f"Numbers of features must ascend from 1 to at most {n_available}, "
            f"the number of ranked features; got {n_features!r}."
        )
    return counts


def rbf_svm_curve(
    train: NDArray[Any],
    y_train: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    order: NDArray[Any],
    n_features: Counts = None,
    *,
    C: float = 1.0,
    gamma: float | Literal["scale", "auto"] = "scale",
) -> NDArray[np.float64]:
    """Measure an SVM with Gaussian kernel with the first m features, for each wanted m (2012).

    Parameters and result are those of `nearest_neighbor_curve`; `C` is the cost, and `gamma` the
    kernel's, as in scikit-learn's `SVC`. The paper states neither.
    """
    from sklearn.svm import SVC

    accuracies = []
    for count in check_counts(n_features, len(order)).tolist():
        kept = np.asarray(order)[:count]
        machine = SVC(C=C, gamma=gamma).fit(train[:, kept], y_train)
        accuracies.append(machine.score(test[:, kept], y_test))
    return np.array(accuracies)


def linear_svm_curve(
    train: NDArray[Any],
    y_train: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    order: NDArray[Any],
    n_features: Counts = None,
    *,
    costs: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
    n_folds: int = 5,
) -> NDArray[np.float64]:
    """Measure a linear SVM with the first m features; its cost is tuned on training rows (2013).

    The cost is the one with the best accuracy in cross-validation over the training rows alone;
    of equally good ones the smallest. Other parameters and the result are those of
    `nearest_neighbor_curve`.

    Parameters
    ----------
    costs : ascending floats
        The costs to choose from.
    n_folds : int
        Folds of the cross-validation; fewer where a class has fewer rows.
    """
    counts = check_counts(n_features, len(order))
    smallest = int(np.unique(y_train, return_counts=True)[1].min())
    folds = _stratified_folds(y_train, min(n_folds, smallest)) if smallest > 1 else []
    rows = np.concatenate([train, test])[:, np.asarray(order)[: counts[-1]]].astype(np.float64)
    # Inner products grow feature by feature: an SVM then costs nothing per feature.
    products = np.zeros((len(rows), len(train)))
    accuracies = np.empty(len(counts))
    done = 0
    for place, count in enumerate(counts.tolist()):
        products += rows[:, done:count] @ rows[: len(train), done:count].T
        done = count
        inside, outside = products[: len(train)], products[len(train) :]
        cost = _best_cost(inside, y_train, costs, folds)
        accuracies[place] = _svm_accuracy(inside, y_train, outside, y_test, cost)
    return accuracies


def _best_cost(
    products: NDArray[np.float64],
    y: NDArray[Any],
    costs: Sequence[float],
    folds: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
) -> float:
    if not folds:
        return costs[len(costs) // 2]
    means = [
        np.mean(
            [
                _svm_accuracy(products[np.ix_(a, a)], y[a], products[np.ix_(b, a)], y[b], cost)
                for a, b in folds
            ]
        )
        for cost in costs
    ]
    return costs[int(np.argmax(means))]


def _svm_accuracy(
    inside: NDArray[np.float64],
    y_train: NDArray[Any],
    outside: NDArray[np.float64],
    y_test: NDArray[Any],
    cost: float,
) -> float:
    from sklearn.svm import SVC

    # Costs then mean the same whatever the features' scale and number.
    scale = np.trace(inside) / len(inside) or 1.0
    fitted = SVC(C=cost, kernel="precomputed").fit(inside / scale, y_train)
    return float(np.mean(fitted.predict(outside / scale) == y_test))


def _stratified_folds(
    y: NDArray[Any], n_folds: int, random: np.random.Generator | None = None
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import StratifiedKFold

    seed = None if random is None else int(random.integers(2**32))
    folds = StratifiedKFold(n_folds, shuffle=random is not None, random_state=seed)
    return list(folds.split(y, y))


def cross_validated_curve(
    X: NDArray[Any],
    y: NDArray[Any],
    rank: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
    curve: CurveFunction,
    n_features: Counts,
    n_folds: int,
    random: np.random.Generator,
    *,
    prepare: Callable[[NDArray[Any], NDArray[np.intp]], NDArray[Any]] = fill_missing,
) -> NDArray[np.float64]:
    """Measure one repetition of stratified cross-validation: ranked and fitted fold by fold.

    Parameters
    ----------
    X, y : arrays of shape (n, d), (n,)
        The data.
    rank : function of X and y
        Returns features, best first. It sees the training rows of a fold only.
    curve : function
        One of this module's curves.
    n_features : ascending ints
        The numbers of features.
    n_folds : int
        10 in 2012, 5 in 2013.
    random : numpy Generator
        Deals the rows to folds.
    prepare : function of X and the training rows
        Returns all rows, scaled or filled by what the training rows tell.

    Returns
    -------
    array of float, one for each number of features
        The share of all rows that were classified rightly when they were left out.
    """
    hits: NDArray[np.float64] | float = 0.0
    for train, test in _stratified_folds(y, n_folds, random):
        Z = prepare(X, train)
        order = rank(Z[train], y[train])
        hits = hits + len(test) * curve(Z[train], y[train], Z[test], y[test], order, n_features)
    return np.asarray(hits) / len(y)
