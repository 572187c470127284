"""Compare ReliefF with its definition, with and without numba."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import linkselect as ls
from linkselect.scores import _relief as relief
from tests.helpers import literal
from tests.helpers.fitting import fitted
from tests.helpers.problems import labels, samples


@pytest.fixture(params=["scipy", "numba"])
def path(request, compile_from):
    """Compute distances with SciPy or with numba, whatever their number."""
    if request.param == "numba":
        pytest.importorskip("numba")
    compile_from(request.param == "numba")
    return request.param


def test_by_hand(path):
    X = np.array([[0.0, 5.0], [0.1, 1.0], [0.9, 5.0], [1.0, 1.0]])
    found = ls.ReliefF(n_neighbors=1).fit(X, [0, 0, 1, 1])
    assert_allclose(found.scores_, [0.8, -1.0])
    assert_array_equal(found.order_, [0, 1])


def test_by_default_all_features_are_numeric():
    X, classes = np.random.default_rng(0).random((12, 3)), np.arange(12) % 2
    found = relief.relieff(X, classes, 2)
    assert_array_equal(found, relief.relieff(X, classes, 2, np.zeros(3, dtype=bool)))
    assert_allclose(found, literal.relieff(X, classes, 2, np.zeros(3, dtype=bool)), rtol=1e-12)


@given(st.data(), st.integers(1, 4))
def test_equals_the_definition(data, n_neighbors):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    discrete = np.array(data.draw(st.lists(st.booleans(), min_size=4, max_size=4)))[: X.shape[1]]
    expected = literal.relieff(X, y, n_neighbors, discrete)
    selector = ls.ReliefF(n_neighbors=n_neighbors, discrete=discrete)
    for store in (np.asarray, sparse.csr_array):
        assert_allclose(fitted(selector, store(X), y).scores_, expected, atol=1e-12)


@given(st.integers(0, 2**20), st.integers(1, 4))
def test_units_and_offsets_do_not_change_ties(seed, n_neighbors):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(4, 13), rng.integers(1, 6)
    X = rng.integers(0, 4, (n, d)).astype(float)
    X[0], X[1] = 0, rng.choice([3, 7, 9], d)
    y = rng.integers(0, 3, n)
    y[:2] = 0, 1
    expected = literal.relieff(X, y, n_neighbors, [False] * d)
    selector = ls.ReliefF(n_neighbors=n_neighbors)
    for moved in (X, X * 1000, X * 0.1 + 0.3):  # 0.1 is not exact in binary
        assert_allclose(fitted(selector, moved, y).scores_, expected, atol=1e-12)


def test_unchanged_when_a_feature_is_multiplied_by_1000(path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (60, 8)) / 10
    y = rng.integers(0, 3, 60)
    expected = ls.ReliefF().fit(X, y)
    X[:, 3] *= 1000
    X[:, 5] += 12
    found = ls.ReliefF().fit(X, y)
    assert_allclose(found.scores_, expected.scores_, atol=1e-12)
    assert_array_equal(found.order_, expected.order_)


def test_two_classes_and_one_neighbour_give_relief(path):
    """Relief adds the difference to the nearest miss and subtracts that to the nearest hit."""
    rng = np.random.default_rng(4)
    X, y = rng.random((30, 5)), np.arange(30) % 2
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    expected = np.zeros(5)
    for i, x in enumerate(scaled):
        distances = np.abs(scaled - x).sum(axis=1)
        distances[i] = np.inf
        hit = scaled[np.where(y == y[i], distances, np.inf).argmin()]
        miss = scaled[np.where(y != y[i], distances, np.inf).argmin()]
        expected += (np.abs(x - miss) - np.abs(x - hit)) / 30
    assert_allclose(ls.ReliefF(n_neighbors=1).fit(X, y).scores_, expected, atol=1e-14)


def mixed_problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 40))
    X[:, ::3] = rng.integers(0, 3, X[:, ::3].shape)
    return X, rng.integers(0, 3, 300), np.arange(0, 40, 3)


def test_same_with_and_without_numba_and_for_any_number_of_threads(compile_from):
    pytest.importorskip("numba")
    X, y, discrete = mixed_problem()
    expected = ls.ReliefF(discrete=discrete, n_jobs=1).fit(X, y).scores_
    assert_array_equal(ls.ReliefF(discrete=discrete, n_jobs=3).fit(X, y).scores_, expected)
    compile_from(True)
    assert_array_equal(ls.ReliefF(discrete=discrete, n_jobs=2).fit(X, y).scores_, expected)


@pytest.mark.parametrize("side", [30, 128, 299])
@pytest.mark.parametrize("n_neighbors", [1, 4, 10])
def test_each_distance_is_computed_once_for_both_samples(side, n_neighbors, compile_from, shrink):
    pytest.importorskip("numba")
    X, y, discrete = mixed_problem()
    y[y == 2] = 2 * (np.arange(np.count_nonzero(y == 2)) < 3)  # a class of three samples
    X[:, 1] = np.round(X[:, 1])

    def scores(n_jobs):
        selector = ls.ReliefF(n_neighbors=n_neighbors, discrete=discrete, n_jobs=n_jobs)
        return selector.fit(X, y).scores_

    shrink(side - 1)
    expected = scores(1)
    compile_from(True)
    for n_jobs in (1, 3):
        assert_array_equal(scores(n_jobs), expected)


def test_many_ties_are_processed_row_by_row(compile_from):
    pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (400, 2)).astype(float), rng.integers(0, 2, 400)
    expected = ls.ReliefF().fit(X, y).scores_
    compile_from(True)
    assert_array_equal(ls.ReliefF().fit(X, y).scores_, expected)


def test_without_numba_scipy_gives_the_same(request):
    X, y, discrete = mixed_problem()
    expected = ls.ReliefF(discrete=discrete).fit(X, y).scores_
    request.getfixturevalue("without_numba")
    assert_array_equal(ls.ReliefF(discrete=discrete).fit(X, y).scores_, expected)


def test_more_features_than_one_single_precision_sum(path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 5000)), rng.integers(0, 2, 20)
    expected = ls.ReliefF(n_neighbors=3).fit(X, y).scores_
    assert_allclose(ls.ReliefF(n_neighbors=3).fit(X + 1e8, y).scores_, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_number_types(dtype):
    X = np.random.default_rng(4).integers(0, 200, (25, 4))
    y = np.arange(25) % 2
    found = ls.ReliefF(n_neighbors=3).fit(X.astype(dtype), y).scores_
    assert_allclose(found, literal.relieff(X, y, 3, [False] * 4), atol=1e-13)


def test_values_whose_range_overflows():
    X = np.array([[-1e308, 0.0], [1e308, 1.0], [-1e308, 0.5], [1e308, 0.0]])
    found = ls.ReliefF(n_neighbors=1).fit(X, [0, 1, 0, 1]).scores_
    assert_allclose(found[0], 1.0)


def test_small_classes_contribute_all_their_samples(path):
    X = np.random.default_rng(6).normal(size=(12, 3))
    y = np.array([0] * 8 + [1] * 3 + [2])
    expected = literal.relieff(X, y, 5, [False] * 3)
    assert_allclose(ls.ReliefF(n_neighbors=5).fit(X, y).scores_, expected, atol=1e-13)


@pytest.mark.parametrize("discrete", [True, [0, 2], [True, False, True], np.array([0, 2])])
def test_ways_to_specify_discrete_features(discrete):
    X = np.random.default_rng(7).integers(0, 3, (20, 3)).astype(float)
    y = np.arange(20) % 2
    mask = [True] * 3 if discrete is True else [True, False, True]
    found = ls.ReliefF(discrete=discrete).fit(X, y).scores_
    assert_allclose(found, literal.relieff(X, y, 5, mask), atol=1e-13)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_large_category_numbers_stay_distinct(store):
    """As floats, 2^60 and 2^60 + 1 would be equal."""
    X = np.random.default_rng(7).integers(0, 3, (20, 3))
    y = np.arange(20) % 2
    small, large = (ls.ReliefF(discrete=True).fit(Z, y).scores_ for Z in (X, store(X + 2**60)))
    assert_array_equal(large, small)


def test_the_nearest_of_many_with_ties_broken_by_index():
    rng = np.random.default_rng(0)
    for n, n_neighbors in [(300, 40), (300, 1), (41, 40), (40, 40)]:
        distances = rng.permutation(n).astype(float)
        found = relief._nearest(distances, n_neighbors, 5)
        assert_array_equal(np.sort(distances[found]), np.arange(n_neighbors))
    tie = relief.TIE_PER_FEATURE
    # Distances within 2 units of the last neighbour tie with it; ties are broken by index.
    distances = 2 * tie * np.array([10.0, 12.0, 9.0, 7.0, 10.0, 7.0, 12.5, 8.0])
    for n_neighbors, expected in [
        (1, [2]),
        (2, [2, 3]),
        (3, [0, 2, 3]),
        (4, [0, 2, 3, 4]),
        (5, [0, 1, 2, 3, 5]),
        (7, [0, 1, 2, 3, 4, 5, 7]),
    ]:
        assert_array_equal(np.flatnonzero(relief._nearest(distances, n_neighbors, 4)), expected)


def test_the_first_distance_bound_of_many_neighbours():
    rng = np.random.default_rng(1)
    classes = rng.permutation(np.repeat([0, 1, 2], [250, 41, 40]))
    tile = rng.random((3, len(classes)))
    found = relief._first_reach(tile, classes, (3, 40))
    for label in (0, 1):
        expected = np.sort(tile[:, classes == label], axis=1)[:, 39]
        assert_array_equal(found[:, label], expected)
    assert_array_equal(found[:, 2], [np.inf] * 3)


def test_one_class_has_hits_only():
    X = np.array([[0.0, 0.0], [1.0, 4.0], [2.0, 1.0]])
    found = relief.relieff(X, np.zeros(3, dtype=int), 1)
    expected = literal.relieff(X, np.zeros(3, dtype=int), 1, np.zeros(2, dtype=bool))
    assert_allclose(found, expected)
