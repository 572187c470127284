"""Accuracy of support vector machines against the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from linkselect.experiments.evaluation import check_counts

__all__ = ["linear_svm_accuracies", "rbf_svm_curve"]

Rows = NDArray[np.intp]


def rbf_svm_curve(
    X: NDArray[Any],
    y: NDArray[Any],
    train: Rows,
    test: Rows,
    order: NDArray[Any],
    n_features: Sequence[int] | NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Measure an RBF-SVM with the first m features of an order, for each wanted m.

    The machine is LIBSVM's as it comes: C = 1 and `exp(-|a - b|^2 / m)`. Squared distances are
    summed feature by feature, so all m cost little more than their machines.

    Parameters
    ----------
    X, y : arrays of shape (n_samples, d), (n_samples,)
        All rows.
    train, test : arrays of row numbers
        What trains and what is classified.
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
    >>> from linkselect.experiments.svm import rbf_svm_curve
    >>> X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), np.array([0, 0, 1, 1])
    >>> rbf_svm_curve(X, y, np.array([0, 3]), np.array([1, 2]), [0])
    array([1.])
    """
    counts = check_counts(n_features, len(order))
    rows = X[:, np.asarray(order)[: counts[-1]]]
    among_train = np.zeros((len(train), len(train)))
    to_test = np.zeros((len(test), len(train)))
    accuracies = np.empty(len(counts))
    done = 0
    for place, count in enumerate(counts.tolist()):
        part = rows[:, done:count]
        among_train += cdist(part[train], part[train], "sqeuclidean")
        to_test += cdist(part[test], part[train], "sqeuclidean")
        machine = SVC(kernel="precomputed").fit(np.exp(-among_train / count), y[train])
        accuracies[place] = np.mean(machine.predict(np.exp(-to_test / count)) == y[test])
        done = count
    return accuracies


def linear_svm_accuracies(
    train: NDArray[Any],
    y_train: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    costs: Sequence[float],
) -> NDArray[np.float64]:
    """Measure a linear SVM with each of several costs C.

    Returns
    -------
    array of float, one for each cost
        The share of test rows with the right class.

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect.experiments.svm import linear_svm_accuracies
    >>> train, test = np.array([[0.0], [1.0]]), np.array([[0.1], [0.9]])
    >>> linear_svm_accuracies(train, np.array([0, 1]), test, np.array([0, 1]), [1.0, 100.0])
    array([1., 1.])
    """
    among_train, to_test = train @ train.T, test @ train.T
    return np.array(
        [
            np.mean(
                SVC(C=cost, kernel="precomputed").fit(among_train, y_train).predict(to_test)
                == y_test
            )
            for cost in costs
        ]
    )
