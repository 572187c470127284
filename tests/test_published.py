"""Published numbers, reproduced from the data and protocols of the papers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
from linkselect.evaluation import nearest_neighbor_curve
from tests.helpers.problems import prototypes

# -- Salmi et al. (2020): the similarity score, 3 prototypes per class, features in [0, 1] ------


def first_part(y, share):
    """Return the rows in the first part of each class, in file order."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.sort(np.concatenate([m[: int(share * len(m) + 0.5)] for m in members]))


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "n_runs"), [("supervised", 100), ("semi-supervised", 10)])
def test_wdbc_in_salmi_2020(mode, n_runs):
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    train = first_part(y, 0.66)
    assert len(train) == 376
    test = np.setdiff1d(np.arange(len(y)), train)
    accuracies, chosen = [], []
    for seed in range(n_runs):
        partial = prototypes(y[train], 3, seed)
        # With the number 30, the search computes the whole path, and not only up to its minimum.
        fitted = ls.SimilarityConstraintScore(30, mode=mode).fit(X[train], partial)
        known = train[partial >= 0]
        curve = nearest_neighbor_curve(X[known], y[known], X[test], y[test], fitted.order_)
        accuracies.append(100 * curve.mean())
        chosen.append(fitted.path_.argmin() + 1)
    assert np.mean(chosen) == pytest.approx(25, abs=2)
    if mode == "supervised":
        assert np.mean(accuracies) == pytest.approx(87.60, abs=1.5)


@pytest.mark.slow
def test_multiple_features_in_salmi_2020(load_data):
    X, y = load_data("multiple_features")
    X = MinMaxScaler().fit_transform(X.astype(float))
    train = first_part(y, 0.5)
    selector = ls.SimilarityConstraintScore(mode="semi-supervised")
    chosen = [
        selector.fit(X[train], prototypes(y[train], 3, seed)).n_features_ for seed in range(2)
    ]
    assert np.mean(chosen) == pytest.approx(23, abs=3)
