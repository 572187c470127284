"""Compare the Fisher, Fisher-Markov and FRLL scores with the double sums of their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import linkselect as ls
from tests.helpers import literal
from tests.helpers.fitting import agrees
from tests.helpers.problems import labels, samples


def test_fisher_score_by_hand():
    X = np.array([[0.0], [2.0], [4.0], [6.0]])
    # class means 1 and 5, overall mean 3: between 2 * 4 + 2 * 4, within 1 + 1 + 1 + 1
    assert ls.FisherScore().fit(X, [0, 0, 1, 1]).scores_.tolist() == [4.0]


@given(st.data())
def test_fisher(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    agrees(ls.FisherScore(), X, literal.fisher(X, y), y)


@given(st.data(), st.sampled_from([-0.5, 0.0, 0.25, -4.0]))
def test_fisher_markov(data, gamma):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    agrees(ls.FisherMarkov(gamma=gamma), X, literal.fisher_markov(X, y, gamma), y)


def test_fisher_markov_with_a_large_mean():
    rng = np.random.default_rng(1)
    X, y = 1e8 + 1e-3 * rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    found = ls.FisherMarkov().fit(X, y).scores_
    assert_allclose(found, literal.fisher_markov(X, y, -0.5), rtol=1e-10)


@given(st.data(), st.sampled_from(["quotient", "difference"]))
def test_frll(data, criterion):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    near, same = literal.near(X, 3), y[:, None] == y[None, :]
    constant = np.nan if criterion == "quotient" else None
    expected = literal.frll(X, near & same, near & ~same, criterion, constant=constant)
    agrees(ls.FRLL(criterion=criterion, n_neighbors=3), X, expected, y)
    A, B = literal.class_neighbors(X, y, 3)
    expected = literal.frll(X, A, B, criterion, constant=constant)
    agrees(ls.FRLL(criterion=criterion, neighbors="per_class", n_neighbors=3), X, expected, y)


@pytest.mark.parametrize("selector", [ls.FisherScore(), ls.FRLL(), ls.TraceRatio()], ids=repr)
def test_one_sample_per_class_is_reported(selector):
    X = np.random.default_rng(0).random((8, 3))
    with pytest.warns(UserWarning, match="all 3 .*infinite.*: no (class|two)") as caught:
        selector.fit(X, np.arange(8))
    assert len(caught) == 1
