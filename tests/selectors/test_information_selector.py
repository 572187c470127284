"""Shared behaviour of MRMR and FCBF: discretised features and progress."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import KBinsDiscretizer

import linkselect as ls
from linkselect._search.discretize import states_of
from tests.helpers import literal
from tests.helpers.fitting import fitted, needs_callbacks
from tests.helpers.problems import discrete_problem, labels, samples


@given(st.data())
def test_mrmr_and_fcbf_on_numeric_features(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    columns = states_of(X, "deviation").T.tolist()
    expected = literal.mrmr(columns, y.tolist(), X.shape[1], "difference")
    assert_array_equal(fitted(ls.MRMR(1.0), X, y).order_, expected[1])
    expected = literal.fcbf(columns, y.tolist(), 0.0)
    assert_array_equal(fitted(ls.FCBF(), X, y).order_, expected[1])


def test_as_many_values_as_samples():
    X = np.column_stack([np.arange(300) % 2, np.arange(300.0)])
    y = np.arange(300) % 3
    found = ls.MRMR(1, discretize=None).fit(X, y)
    assert_allclose(found.scores_, [0, np.log(3)], atol=1e-12)
    assert_array_equal(ls.FCBF(discretize=None).fit(X, y).order_, [1, 0])


@pytest.mark.parametrize("method", [ls.MRMR, ls.FCBF])
def test_a_transformer_can_discretize(method):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
    found = method(discretize=bins).fit(X, y)
    assert_array_equal(found.scores_, method(discretize="uniform").fit(X, y).scores_)
    assert not hasattr(bins, "bin_edges_")
    framed = method(discretize=bins.set_output(transform="pandas")).fit(X, y)
    assert_array_equal(framed.scores_, found.scores_)


@needs_callbacks
@pytest.mark.parametrize("selector", [ls.MRMR(3), ls.FCBF()], ids=repr)
def test_progress_is_reported(selector):
    X, y = discrete_problem(2, 80)
    expected = selector.fit(X, y).order_
    from sklearn.callback import ProgressBar

    selector.set_callbacks(ProgressBar())
    assert_array_equal(selector.fit(X, y).order_, expected)
