"""The papers' support vector machines, measured over the number of features."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect.evaluation._curves import Counts, check_counts
from linkselect.reproduction._scaling import fill_missing

CurveFunction = Callable[..., FloatArray]


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
) -> FloatArray:
    """Measure an SVM with Gaussian kernel with the first m features, for each wanted m.

    Liu, Sun & Zhang (2012) use this classifier, and state neither its cost nor its width.

    Parameters
    ----------
    train, y_train : arrays of shape (n_train, d), (n_train,)
        The training rows and their classes.
    test, y_test : arrays of shape (n_test, d), (n_test,)
        The rows to classify.
    order : array of int
        Features, best first.
    n_features : ascending ints, optional
        The numbers of features. Default: 1, 2, ... len(order).
    C, gamma : float
        The cost, and the parameter of the kernel, as in scikit-learn's `SVC`.

    Returns
    -------
    array of float, one for each number of features
        The share of test rows with the right class.
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
) -> FloatArray:
    """Measure a linear SVM with the first m features; its cost is tuned on training rows.

    The cost is the one with the best accuracy in cross-validation over the training rows alone;
    of equally good ones the smallest. Pan et al. (2013) use this classifier.

    Parameters
    ----------
    train, y_train, test, y_test, order, n_features
        As in `rbf_svm_curve`.
    costs : ascending floats
        The costs to choose from.
    n_folds : int
        Folds of the cross-validation; fewer if a class has fewer rows.

    Returns
    -------
    array of float, one for each number of features
        The share of test rows with the right class.
    """
    counts = check_counts(n_features, len(order))
    smallest = int(np.unique(y_train, return_counts=True)[1].min())
    folds = _stratified_folds(y_train, min(n_folds, smallest)) if smallest > 1 else []
    rows = np.concatenate([train, test])[:, np.asarray(order)[: counts[-1]]].astype(np.float64)
    # Inner products are updated by the added features only; an SVM then costs the same for any m.
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
    products: FloatArray,
    y: NDArray[Any],
    costs: Sequence[float],
    folds: Sequence[tuple[IntArray, IntArray]],
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
    inside: FloatArray,
    y_train: NDArray[Any],
    outside: FloatArray,
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
) -> list[tuple[IntArray, IntArray]]:
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
    prepare: Callable[[NDArray[Any], IntArray], NDArray[Any]] = fill_missing,
) -> FloatArray:
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
        10 in Liu, Sun & Zhang (2012), 5 in Pan et al. (2013).
    random : numpy Generator
        Deals the rows to folds.
    prepare : function of X and the training rows
        Returns all rows, scaled or filled by the training rows.

    Returns
    -------
    array of float, one for each number of features
        The share of all rows that were classified rightly when they were left out.
    """
    hits: FloatArray | float = 0.0
    for train, test in _stratified_folds(y, n_folds, random):
        Z = prepare(X, train)
        order = rank(Z[train], y[train])
        hits = hits + len(test) * curve(Z[train], y[train], Z[test], y[test], order, n_features)
    return np.asarray(hits) / len(y)
