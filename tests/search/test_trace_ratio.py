"""The trace ratio compared with a search over all subsets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from linkselect._search import trace_ratio
from linkselect._search.trace_ratio import best_trace_ratio, between_and_within, trace_ratio_path
from tests.helpers import literal

amounts = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@given(st.data())
def test_optimum_equals_trying_all_subsets(data):
    size = data.draw(st.integers(1, 7))
    between = data.draw(arrays(float, size, elements=amounts))
    within = data.draw(arrays(float, size, elements=amounts))
    path = trace_ratio_path(between, within)
    for n_features in range(1, size + 1):
        expected = literal.best_trace_ratio(between, within, n_features)
        found = best_trace_ratio(between, within, n_features)
        assert_allclose(found.ratio, expected, rtol=1e-9)
        assert_allclose(path[n_features - 1], expected, rtol=1e-9)
        assert sorted(found.order) == list(range(size))
        subset = found.order[:n_features]
        if np.isfinite(expected):
            total = within[subset].sum()
            assert between[subset].sum() == pytest.approx(expected * total, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    generator = np.random.default_rng(seed)
    between, within = generator.random(10), generator.random(10) ** 3
    for n_features in range(1, 11):
        expected = literal.best_trace_ratio(between, within, n_features)
        assert best_trace_ratio(between, within, n_features).ratio == pytest.approx(expected)


@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_pools_keep_every_feature_that_can_be_chosen(at_once, shrink):
    shrink(at_once - 1)
    for seed in range(60):
        generator = np.random.default_rng(seed)
        # Few distinct values make many equal differences.
        between, within = generator.integers(0, 4, (2, generator.integers(1, 30))).astype(float)
        sizes = range(1, len(between) + 1)
        expected = [best_trace_ratio(between, within, size).ratio for size in sizes]
        assert_allclose(trace_ratio_path(between, within), expected, rtol=1e-12)


def test_by_hand():
    between, within = np.array([4.0, 1.0, 3.0]), np.array([2.0, 1.0, 1.0])
    found = best_trace_ratio(between, within, 2)
    assert found.ratio == 7 / 3
    assert_array_equal(found.order, [2, 0, 1])
    assert_allclose(trace_ratio_path(between, within), [3, 7 / 3, 2])


def test_no_scatter_within():
    between, within = np.array([1.0, 5.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0, 1.0])
    found = best_trace_ratio(between, within, 2)
    assert found.ratio == np.inf
    assert_array_equal(found.order, [1, 0, 2, 3])
    assert_array_equal(trace_ratio_path(between, within), [np.inf, np.inf, np.inf, 8])


def test_only_constant_features():
    found = best_trace_ratio(np.zeros(3), np.zeros(3), 2)
    assert np.isnan(found.ratio)
    assert_array_equal(found.order, [0, 1, 2])
    assert np.isnan(trace_ratio_path(np.zeros(3), np.zeros(3))).all()


def test_ties_are_broken_by_index():
    found = best_trace_ratio(np.array([1.0, 2.0, 2.0, 1.0]), np.ones(4), 2)
    assert_array_equal(found.order, [1, 2, 0, 3])


def test_scatter_of_wine():
    X, y = load_wine(return_X_y=True)
    between, within = between_and_within(X + 1e6, y)
    assert_allclose(between / within, literal.fisher(X, y), rtol=1e-6)
    assert_allclose(between + within, len(y) * X.var(axis=0), rtol=1e-6)


def test_the_optimum_over_many_orders_of_magnitude():
    between = np.array([1.0e-22, 2.39e-18, 2.229e14, 5.66e19])
    within = np.array([9.5e-22, 1.034e-17, 2.0306e15, 1.08e21])
    path = trace_ratio_path(between, within)
    for size in (1, 2, 3, 4):
        subsets = [list(subset) for subset in combinations(range(4), size)]
        best = max(between[subset].sum() / within[subset].sum() for subset in subsets)
        found = best_trace_ratio(between, within, size)
        assert found.ratio == pytest.approx(best)
        chosen = found.order[:size]
        assert between[chosen].sum() / within[chosen].sum() == pytest.approx(best)
        assert path[size - 1] == pytest.approx(best)


@pytest.mark.parametrize("at_once", [3, 256])
def test_many_features(at_once, shrink):
    """There are enough features to detect a partition at a wrong position."""
    shrink(at_once - 1)
    generator = np.random.default_rng(at_once)
    between, within = generator.random(300), generator.random(300) ** 3 + 1e-3
    path = trace_ratio_path(between, within)
    assert len(trace_ratio_path(between, within, n_sizes=7)) == 7
    for size in range(1, 301, 23):
        # At the optimum, the sum of the largest differences is 0.
        differences = np.sort(between - path[size - 1] * within)[::-1]
        assert abs(differences[:size].sum()) < 1e-9
        assert best_trace_ratio(between, within, size).ratio == pytest.approx(path[size - 1])


def test_features_that_are_certain_are_not_evaluated_again():
    """Between two similar ratios, few features change their rank."""
    generator = np.random.default_rng(0)
    between, within = generator.random(300), generator.random(300) ** 3 + 1e-3
    for first, last in [(1, 4), (100, 110), (290, 300), (300, 300)]:
        low, high = (best_trace_ratio(between, within, size).ratio for size in (last, first))
        pool = trace_ratio._undecided(between, within, first, last, low, high)
        least, most = between - high * within, between - low * within
        always = least > np.sort(most)[::-1][first] if first < 300 else np.ones(300, dtype=bool)
        never = most < np.sort(least)[::-1][last - 1]
        if always.sum() >= first:
            always[:] = False
        assert pool.n_chosen == always.sum()
        assert_array_equal(np.sort(pool.between), np.sort(between[~(always | never)]))
        assert pool.chosen_between == pytest.approx(between[always].sum())
        assert pool.chosen_within == pytest.approx(within[always].sum())
