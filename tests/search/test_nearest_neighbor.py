"""Compare forward selection by 1-NN accuracy with a literal search and with scikit-learn."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import linkselect as ls
from linkselect._search import nearest_neighbor
from linkselect._search.nearest_neighbor import select_by_nearest_neighbor


@pytest.fixture(autouse=True, params=["plain", "compiled"])
def way(request, compile_from):
    """Search with and without compiled loops; the results must agree."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    compile_from(request.param == "compiled")


def test_without_numba_the_result_is_the_same(request):
    X, y = make_classification(60, 8, random_state=0)
    expected = select_by_nearest_neighbor(X, y, 4)
    request.getfixturevalue("without_numba")
    assert_same(select_by_nearest_neighbor(X, y, 4), expected)


def test_a_row_that_does_not_exist_is_an_error():
    X, y = make_classification(60, 8, random_state=0)
    with pytest.raises(IndexError):
        select_by_nearest_neighbor(X, y, 1, [(np.arange(50), np.arange(50, 70))])


def test_a_missing_value_does_not_crash_the_process():
    X, y = make_classification(60, 8, random_state=0)
    X[:, 3] = np.nan
    assert len(select_by_nearest_neighbor(X, y, 4).order) == 8


def literal_accuracy(X, labels, features, splits):
    accuracies = []
    for train, test in splits:
        distances = np.zeros((len(test), len(train)))
        for feature in features:
            distances += (X[test, None, feature] - X[train, feature]) ** 2
        accuracies.append((labels[train[distances.argmin(axis=1)]] == labels[test]).mean())
    return np.mean(accuracies)


def literal_search(X, labels, n_features, splits):
    splits = list(splits)
    chosen, path, remaining = [], [], list(range(X.shape[1]))
    while len(chosen) < n_features:
        values = np.array([literal_accuracy(X, labels, [*chosen, r], splits) for r in remaining])
        if not chosen:
            scores = values
        ranked = np.argsort(-values, kind="stable")
        path.append(values.max())
        rest = [remaining[p] for p in ranked[1:]]
        chosen.append(remaining.pop(ranked[0]))
    return chosen + rest, path, scores


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    generator = np.random.default_rng(seed)
    n_samples = int(generator.integers(20, 120))
    X = generator.random((n_samples, 6))
    if seed % 2:
        # Few distinct values make many equal distances, which the index resolves.
        X = np.round(X * 3)
    labels = generator.integers(0, 3, n_samples)
    n_features = int(generator.integers(1, 7))
    leave_one_out = list(LeaveOneOut().split(X))
    found = select_by_nearest_neighbor(X, labels, n_features, n_jobs=1 + seed % 2)
    assert_same(found, literal_search(X, labels, n_features, leave_one_out))
    folds = list(KFold(3).split(X))
    found = select_by_nearest_neighbor(X, labels, n_features, folds)
    assert_same(found, literal_search(X, labels, n_features, folds))


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_a_reference_set_scored_on_other_rows(load):
    X, y = load(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    reference = np.concatenate([np.flatnonzero(y == label)[:40] for label in np.unique(y)])
    others = np.setdiff1d(np.arange(len(y)), reference)
    expected = literal_search(X, y, 5, [(reference, others)])
    assert_same(select_by_nearest_neighbor(X, y, 5, [(reference, others)]), expected)
    fitted = ls.NearestNeighborSFS(5, cv=[(reference, others)]).fit(X, y)
    assert_same((fitted.order_, fitted.path_, fitted.scores_), expected)
    masks = [(np.isin(np.arange(len(y)), reference), np.isin(np.arange(len(y)), others))]
    assert_array_equal(ls.NearestNeighborSFS(5, cv=masks).fit(X, y).order_, fitted.order_)


@cache
def chosen_by_scikit_learn(seed):
    X, y = make_classification(120, 12, n_informative=5, random_state=seed)
    model = KNeighborsClassifier(1)
    selector = SequentialFeatureSelector(model, n_features_to_select=4, cv=StratifiedKFold(4))
    return X, y, selector.fit(X, y).support_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_same_as_scikit_learn(seed):
    X, y, support = chosen_by_scikit_learn(seed)
    fitted = ls.NearestNeighborSFS(4, cv=StratifiedKFold(4)).fit(X, y)
    assert_array_equal(fitted.support_, support)
    assert_array_equal(ls.NearestNeighborSFS(4, cv=4).fit(X, y).order_, fitted.order_)


@pytest.mark.slow
def test_blocks_and_threads_change_nothing(shrink):
    # There are several blocks, whose distances are cached.
    X, y = load_breast_cancer(return_X_y=True)
    assert nearest_neighbor.DISTANCES_PER_BLOCK < len(X) ** 2 < nearest_neighbor.MAX_KEPT_DISTANCES
    expected = select_by_nearest_neighbor(X, y, 3)
    assert_same(select_by_nearest_neighbor(X, y, 3, n_jobs=2), expected)
    # Now nothing is cached.
    shrink(1)
    for n_jobs in (1, 2):
        assert_same(select_by_nearest_neighbor(X, y, 3, n_jobs=n_jobs), expected)


def test_unlabelled_samples_are_ignored():
    X, y = load_wine(return_X_y=True)
    partial = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    known = partial >= 0
    for cv in ("loo", 3, KFold(4), ShuffleSplit(2, random_state=0)):
        expected = ls.NearestNeighborSFS(cv=cv).fit(X[known], y[known])
        fitted = ls.NearestNeighborSFS(cv=cv).fit(X, partial)
        assert_array_equal(fitted.order_, expected.order_)
        assert_array_equal(fitted.path_, expected.path_)
    rows = np.arange(len(y))
    half = [(rows[::2], rows[1::2])]
    expected = select_by_nearest_neighbor(
        X, y, 6, [(rows[::2][known[::2]], rows[1::2][known[1::2]])]
    )
    assert_array_equal(ls.NearestNeighborSFS(6, cv=half).fit(X, partial).order_, expected.order)
