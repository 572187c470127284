"""Numbers that the papers print, from their own data and protocol."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
from conftest import DATA

PUBLISHED = DATA.parent / "papers" / "published_results.csv"

# Tables 2 and 3 of Zhang, Chen & Zhou 2008: the mean over all numbers of features of the accuracy
# of 1-NN, trained on the first half of each class and tested on the second, raw features.
DETERMINISTIC = {
    "Variance": ls.VarianceScore(),
    "Laplacian Score": ls.LaplacianScore(),
    "Fisher Score": ls.FisherScore(),
}
FROM_PAIRS = {
    "Constraint Score-1": ls.ConstraintScore(),
    "Constraint Score-2": ls.ConstraintScore(criterion="difference"),
}
N_DRAWS = 100
TOLERANCE = 2.5


def published(dataset, method, setting):
    path = Path(PUBLISHED)
    if not path.exists():
        pytest.skip(f"needs the published numbers in {path}")
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found = (row["paper"], row["table"], row["dataset"], row["method"], row["setting"])
            if found[0] == "constraint-score-2008" and found[2:] == (dataset, method, setting):
                return float(row["value"])
    raise LookupError(f"{dataset}, {method}, {setting!r}")


def first_half(y):
    """Return which samples stand in the first half of their class, in file order."""
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        train[members[: (len(members) + 1) // 2]] = True
    return train


def mean_accuracy(X, y, train, order):
    """Average the accuracy of 1-NN over the 1, 2, ... best features, in percent."""
    distances = np.zeros((np.count_nonzero(~train), np.count_nonzero(train)))
    hits = []
    for feature in order:
        distances += (X[~train, feature, None] - X[train, feature]) ** 2
        hits.append(np.mean(y[train][distances.argmin(axis=1)] == y[~train]))
    return 100 * np.mean(hits)


@pytest.fixture(params=["ionosphere", "soybean_small", "wine"])
def problem(request, load_data):
    name = {"ionosphere": "Ionosphere", "soybean_small": "Soybean", "wine": "Wine"}[request.param]
    X, y = load_wine(return_X_y=True) if name == "Wine" else load_data(request.param)
    return name, X.astype(float), y


def fit_quietly(selector, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Soybean and Ionosphere have constants
        return selector.fit(*args, **kwargs)


@pytest.mark.parametrize("method", DETERMINISTIC)
def test_table_2_of_2008(problem, method):
    name, X, y = problem
    train = first_half(y)
    fitted = fit_quietly(DETERMINISTIC[method], X[train], y[train])
    order, expected = fitted.order_, published(name, method, "")
    if (name, method) == ("Soybean", "Laplacian Score"):
        # Not reproduced: 14 features are constant and rank last here, while 0 / 0 came out as
        # rounding noise there. The printed mean is where a few of them come first.
        constant = np.flatnonzero(np.isnan(fitted.scores_))
        means = [
            mean_accuracy(X, y, train, [*constant[:n], *order[~np.isin(order, constant[:n])]])
            for n in range(15)
        ]
        assert len(constant) == 14
        assert means[0] > expected + TOLERANCE
        assert means[14] < expected - TOLERANCE
        assert 3 <= np.argmin(np.abs(np.array(means) - expected)) <= 5
        return
    assert mean_accuracy(X, y, train, order) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("n_pairs", [4, 10, 40])
@pytest.mark.parametrize("method", FROM_PAIRS)
def test_tables_2_and_3_of_2008(problem, method, n_pairs):
    name, X, y = problem
    train = first_half(y)
    found = []
    for draw in range(N_DRAWS):
        half = n_pairs // 2
        pairs = ls.Pairs.from_labels(y[train], n_must=half, n_cannot=half, random_state=draw)
        order = fit_quietly(FROM_PAIRS[method], X[train], pairs=pairs).order_
        found.append(mean_accuracy(X, y, train, order))
    expected = published(name, method, f"{n_pairs} constraints")
    assert np.mean(found) == pytest.approx(expected, abs=TOLERANCE)


# -- 2020: the similarity score, 3 prototypes per class, features in [0, 1] ------------------------


def first_part(y, share):
    """Return the rows that stand in the first part of their class, in file order."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.sort(np.concatenate([m[: int(share * len(m) + 0.5)] for m in members]))


def draw_prototypes(y, seed):
    rng = np.random.default_rng(seed)
    partial = np.full(len(y), -1)
    for label in np.unique(y):
        partial[rng.choice(np.flatnonzero(y == label), 3, replace=False)] = label
    return partial


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "n_runs"), [("supervised", 100), ("semi-supervised", 30)])
def test_wdbc_of_2020(mode, n_runs):
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    train = first_part(y, 0.66)
    assert len(train) == 376
    test = np.setdiff1d(np.arange(len(y)), train)
    accuracies, chosen = [], []
    for seed in range(n_runs):
        partial = draw_prototypes(y[train], seed)
        # With the number 30 the whole path is searched, and not only up to its minimum.
        fitted = ls.SimilarityConstraintScore(30, mode=mode).fit(X[train], partial)
        rows = np.concatenate([train[partial >= 0], test])
        is_prototype = np.arange(len(rows)) < 6
        accuracies.append(mean_accuracy(X[rows], y[rows], is_prototype, fitted.order_))
        chosen.append(fitted.path_.argmin() + 1)
    assert np.mean(chosen) == pytest.approx(25, abs=2)
    if mode == "supervised":
        assert np.mean(accuracies) == pytest.approx(87.60, abs=1.5)


@pytest.mark.slow
def test_multiple_features_of_2020(load_data):
    X, y = load_data("multiple_features")
    X = MinMaxScaler().fit_transform(X.astype(float))
    train = first_part(y, 0.5)
    selector = ls.SimilarityConstraintScore(mode="semi-supervised")
    chosen = [
        selector.fit(X[train], draw_prototypes(y[train], seed)).n_features_ for seed in range(2)
    ]
    assert np.mean(chosen) == pytest.approx(23, abs=3)
