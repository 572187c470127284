"""TraceRatio against a search over all subsets."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine

import linkselect as ls
from linkselect._search.trace_ratio import between_and_within
from tests.helpers import literal


def test_the_selector_finds_the_best_subset():
    X, y = load_wine(return_X_y=True)
    between, within = between_and_within(X, y)
    for size in (1, 4, 12):
        fitted = ls.TraceRatio(size).fit(X, y)
        expected = literal.best_trace_ratio(between, within, size)
        chosen = fitted.support_
        assert between[chosen].sum() / within[chosen].sum() == pytest.approx(expected)
        assert fitted.ratio_ == pytest.approx(expected)
        assert fitted.path_[size - 1] == pytest.approx(expected)
        difference = between - fitted.ratio_ * within
        assert (np.diff(difference[fitted.order_]) <= 0).all()


def test_a_constant_feature_is_never_preferred():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="1 of 14 features is constant and ranks last"):
        fitted = ls.TraceRatio(13).fit(np.column_stack([np.ones(len(y)), X]), y)
    alone = ls.TraceRatio(13).fit(X, y)
    assert_array_equal(fitted.order_, [*alone.order_ + 1, 0])
    assert_array_equal(fitted.path_, alone.path_)
    with pytest.warns(UserWarning, match="constant"):
        everything = ls.TraceRatio(14).fit(np.column_stack([np.ones(len(y)), X]), y)
    assert_array_equal(everything.path_, [*alone.path_, alone.path_[-1]])


def test_features_of_very_different_scale():
    # Rounding in the difference of the large feature exceeds that of the small one.
    y = np.array([0, 0, 0, 1, 1, 1])
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = np.column_stack([1e-10 * rng.normal(size=6), rng.normal(size=6) + 3 * y])
        found = ls.TraceRatio(1).fit(X, y)
        assert found.ratio_ == pytest.approx(found.scores_.max())
        assert found.order_[0] == found.scores_.argmax()


def test_parameters_out_of_range(wine):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        ls.TraceRatio(1.5).fit(*wine)
