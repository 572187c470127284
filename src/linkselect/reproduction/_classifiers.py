"""Accuracy of the papers' support vector machines for each number of features."""

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
    """Compute the accuracy of an SVM with a Gaussian kernel for each number of features.

    Liu, Sun & Zhang (2012) use this classifier but report neither its cost nor its kernel width.

    Parameters
    ----------
    train, y_train : arrays of shape (n_train, d), (n_train,)
        The training samples and their classes.
    test, y_test : arrays of shape (n_test, d), (n_test,)
        The test samples and their classes.
    order : array of int
        The column numbers of the features, best first.
    n_features : ascending ints, optional
        The numbers of features to evaluate. Default: 1, 2, ..., len(order).
    C, gamma : float
        The cost and the kernel parameter, as in scikit-learn's `SVC`.

    Returns
    -------
    array of float, one for each number of features
        The share of correctly classified test samples.
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
    """Compute the accuracy of a linear SVM with tuned cost for each number of features.

    The cost with the highest cross-validated accuracy on the training samples is used. If several
    costs are equally accurate, the smallest of them is used. Pan et al. (2013) use this classifier.

    Parameters
    ----------
    train, y_train, test, y_test, order, n_features
        As in `rbf_svm_curve`.
    costs : ascending floats
        The candidate costs.
    n_folds : int
        The number of cross-validation folds, reduced to the size of the smallest class if
        necessary.

    Returns
    -------
    array of float, one for each number of features
        The share of correctly classified test samples.
    """
    counts = check_counts(n_features, len(order))
    smallest = int(np.unique(y_train, return_counts=True)[1].min())
    folds = _stratified_folds(y_train, min(n_folds, smallest)) if smallest > 1 else []
    rows = np.concatenate([train, test])[:, np.asarray(order)[: counts[-1]]].astype(np.float64)
    # Only the products of the added features are computed for each number of features.
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

    # Normalise, so that a cost has the same effect for any number and scale of features.
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
    """Compute the accuracy for each number of features in one stratified cross-validation.

    Features are ranked and the classifier is fitted separately in each fold.

    Parameters
    ----------
    X, y : arrays of shape (n, d), (n,)
        The samples and their classes.
    rank : function of X and y
        Function that ranks the features on the training samples of a fold, best first.
    curve : function
        Function of this module that computes an accuracy curve.
    n_features : ascending ints
        The numbers of features to evaluate.
    n_folds : int
        The number of folds: 10 in Liu, Sun & Zhang (2012), 5 in Pan et al. (2013).
    random : numpy Generator
        The random number generator that assigns samples to folds.
    prepare : function of X and the training rows
        Function that returns all samples, scaled or imputed with statistics from the training rows.

    Returns
    -------
    array of float, one for each number of features
        The share of samples classified correctly in their test fold.
    """
    hits: FloatArray | float = 0.0
    for train, test in _stratified_folds(y, n_folds, random):
        Z = prepare(X, train)
        order = rank(Z[train], y[train])
        hits = hits + len(test) * curve(Z[train], y[train], Z[test], y[test], order, n_features)
    return np.asarray(hits) / len(y)
