"""mRMR compared with its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import linkselect as ls
from linkselect._search.mrmr import mrmr
from tests.helpers import literal
from tests.helpers.fitting import ended_after, fitted
from tests.helpers.problems import discrete_problem


@given(st.sampled_from(["difference", "quotient"]), st.integers(2, 60), st.integers(0, 2**20))
def test_mrmr_equals_the_definition(scheme, n_samples, seed):
    X, y = discrete_problem(seed, n_samples)
    wanted = seed % 8 + 1
    relevance, order, path = literal.mrmr(X.T.tolist(), y.tolist(), wanted, scheme)
    for store in (np.asarray, sparse.csr_array):
        found = fitted(ls.MRMR(wanted, scheme=scheme, discretize=None), store(X), y)
        assert_allclose(found.scores_, relevance, atol=1e-12)
        assert_array_equal(found.order_, order)
        assert_allclose(found.path_, path, atol=1e-10, rtol=1e-10)
        assert found.n_features_ == wanted


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_renaming_states_changes_no_tie(scheme):
    """A feature and its mirror image tie; the order of summation must not break the tie."""
    rng = np.random.default_rng(0)
    states, y = rng.integers(0, 3, (200, 10)), rng.integers(0, 4, 200)
    selector = ls.MRMR(15, scheme=scheme, discretize=None)
    found = selector.fit(np.column_stack([states, 2 - states]), y).order_
    assert_array_equal(selector.fit(np.column_stack([2 - states, states]), y).order_, found)


def test_quotient_over_no_redundancy_prefers_relevance():
    high, middle, low = np.unravel_index(np.arange(8), (2, 2, 2))
    noisy_low = np.where(np.arange(8) == 7, 0, low)
    X = np.column_stack([np.zeros(8, int), high, middle, low, noisy_low])
    found = fitted(ls.MRMR(5, scheme="quotient", discretize=None), X, 2 * high + low)
    assert_array_equal(found.order_[:2], [1, 3])
    assert np.isinf(found.path_[1])
    # For a constant feature, the quotient is 0 / 0.
    assert_array_equal(found.order_[-2:], [2, 0])
    assert np.isnan(found.path_[-1])
    assert np.isnan(found.scores_[0])


def test_by_quotient_constant_features_are_chosen_last():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([np.zeros(40), rng.integers(0, 3, (40, 4)), y])
    by_quotient = fitted(ls.MRMR(5, scheme="quotient", discretize=None), X, y)
    assert by_quotient.order_[-1] == 0
    assert not by_quotient.support_[0]
    # This also holds if no feature is relevant, so that the first selection is a tie.
    nothing = fitted(
        ls.MRMR(1, scheme="quotient", discretize=None), X[:, [0, 5]], np.arange(40) % 2
    )
    assert_array_equal(nothing.order_, [1, 0])
    # With differences its value is 0, which exceeds that of a redundant feature.
    by_difference = fitted(ls.MRMR(5, discretize=None), X, y)
    assert by_difference.scores_[0] == 0


def test_an_interrupted_search_keeps_its_result():
    X, y = discrete_problem(1, 80)
    short = mrmr(X, y, 8, track=ended_after(2))
    assert_array_equal(short.order[:2], mrmr(X, y, 8).order[:2])
    assert len(short.path) == 2
