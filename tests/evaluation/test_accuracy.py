import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from linkselect.evaluation import _curves as accuracy
from linkselect.evaluation._curves import nearest_classes, nearest_neighbor_curve


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 12))
    X[:, :4] += 1.5 * y[:, None] * rng.uniform(size=4)
    train = np.sort(rng.permutation(60)[:30])
    test = np.setdiff1d(np.arange(60), train)
    return X[train], y[train], X[test], y[test], rng.permutation(12)


@pytest.mark.parametrize("n_features", [None, [1, 2, 3, 12], [3, 7], np.array([12])])
def test_1nn_is_that_of_scikit_learn(problem, n_features):
    train, y_train, test, y_test, order = problem
    found = nearest_neighbor_curve(*problem, n_features)
    counts = range(1, 13) if n_features is None else n_features
    expected = [
        KNeighborsClassifier(1, algorithm="brute")
        .fit(train[:, order[:m]], y_train)
        .score(test[:, order[:m]], y_test)
        for m in counts
    ]
    np.testing.assert_allclose(found, expected)


def test_1nn_does_not_depend_on_how_rows_are_cut(problem, monkeypatch):
    whole = nearest_neighbor_curve(*problem)
    monkeypatch.setattr(accuracy, "_CHUNK", 64)  # two test rows at a time
    np.testing.assert_array_equal(nearest_neighbor_curve(*problem), whole)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
@pytest.mark.parametrize("store", [np.asarray, csr_array])
def test_values_whose_squares_overflow_or_vanish_are_refused(problem, scale, store):
    """MRMR can rank them, but all distances would be equal, and the first row would always win."""
    train, y_train, test, y_test, order = problem
    with pytest.raises(ValueError, match="[Ss]quares"):
        nearest_neighbor_curve(scale * train, y_train, scale * test, y_test, order, [2, 12])
    with pytest.raises(ValueError, match="[Ss]quares"):
        nearest_classes(store(scale * train), y_train, store(scale * test))


def test_of_equally_near_rows_the_first_decides():
    train, test = np.array([[1], [3], [1]], dtype=np.uint8), np.array([[2]], dtype=np.uint8)
    for y_train in ([0, 1, 1], [1, 0, 0]):
        found = nearest_neighbor_curve(train, np.array(y_train), test, np.array([0]), [0])
        assert found[0] == (y_train[0] == 0)


@pytest.mark.parametrize("n_features", [[], [0, 1], [2, 2], [3, 2], [1, 13], [1.5], 3])
def test_impossible_numbers_of_features_are_refused(problem, n_features):
    with pytest.raises(ValueError, match="ascending list of whole numbers from 1 to 12"):
        nearest_neighbor_curve(*problem, n_features)
