import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import linkselect as ls
from linkselect.evaluation import nearest_neighbor_curve
from linkselect.reproduction._classifiers import (
    cross_validated_curve,
    linear_svm_curve,
    rbf_svm_curve,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 12))
    X[:, :4] += 1.5 * y[:, None] * rng.uniform(size=4)
    train = np.sort(rng.permutation(60)[:30])
    test = np.setdiff1d(np.arange(60), train)
    return X[train], y[train], X[test], y[test], rng.permutation(12)


def test_rbf_svm_is_that_of_scikit_learn(problem):
    train, y_train, test, y_test, order = problem
    expected = [
        SVC().fit(train[:, order[:m]], y_train).score(test[:, order[:m]], y_test) for m in (2, 9)
    ]
    assert rbf_svm_curve(*problem, [2, 9]).tolist() == expected


def test_linear_svm_with_one_cost_is_that_of_scikit_learn(problem):
    train, y_train, test, y_test, order = problem
    for m in (3, 12):
        a, b = train[:, order[:m]], test[:, order[:m]]
        scale = np.mean(np.sum(a**2, axis=1))
        expected = SVC(kernel="linear", C=2.0 / scale).fit(a, y_train).score(b, y_test)
        assert linear_svm_curve(*problem, [m], costs=[2.0])[0] == expected


def test_cost_is_chosen_without_test_labels(problem):
    train, y_train, test, y_test, order = problem
    right = linear_svm_curve(*problem, [12])
    wrong = linear_svm_curve(train, y_train, test, (y_test + 1) % 3, order, [12])
    assert right + wrong <= 1
    tiny = linear_svm_curve(*problem, [12], costs=[1e-9])
    assert linear_svm_curve(*problem, [12], costs=[1e-9, 1.0]) > tiny


def test_each_row_is_tested_once_and_rankings_use_training_rows_only(problem):
    train, y_train, *_ = problem
    X, y = train, y_train
    seen = []

    def rank(rows, labels):
        seen.append(rows)
        assert len(labels) == len(rows)
        return ls.FisherScore().fit(rows, labels).order_

    random = np.random.default_rng(3)
    found = cross_validated_curve(X, y, rank, nearest_neighbor_curve, [1, 12], 3, random)
    assert all(len(rows) == 20 for rows in seen)
    seed = int(np.random.default_rng(3).integers(2**32))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
    assert all((X[a] == rows).all() for (a, _), rows in zip(folds, seen, strict=True))
    hits = sum(
        np.sum(KNeighborsClassifier(1).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in folds
    )
    assert found[1] == hits / len(y)


def test_missing_values_are_filled_from_the_training_rows_of_the_fold(problem):
    X, y, *_ = problem
    X = X.copy()
    X[::3, 0] = np.nan

    def rank(rows, labels):
        assert not np.isnan(rows).any()
        return np.arange(12)

    random = np.random.default_rng(0)
    found = cross_validated_curve(X, y, rank, nearest_neighbor_curve, [12], 3, random)
    assert 0 < found[0] <= 1
