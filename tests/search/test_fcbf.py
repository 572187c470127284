"""FCBF compared with its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import linkselect as ls
from linkselect._search.fcbf import fcbf
from tests.helpers import literal
from tests.helpers.fitting import ended_after, fitted
from tests.helpers.problems import discrete_problem


@given(st.integers(2, 80), st.sampled_from([0.0, 0.05, 0.3]), st.integers(0, 2**20))
def test_fcbf_equals_the_definition(n_samples, threshold, seed):
    X, y = discrete_problem(seed, n_samples, n_features=12)
    uncertainty, order, n_predominant = literal.fcbf(X.T.tolist(), y.tolist(), threshold)
    found = fitted(ls.FCBF(threshold=threshold, discretize=None), X, y)
    assert_allclose(found.scores_, uncertainty, atol=1e-10)
    assert_array_equal(found.order_, order)
    assert found.n_features_ == max(1, n_predominant)
    assert_allclose(found.path_, np.array(uncertainty)[order[:n_predominant]], atol=1e-10)


def test_predominant_by_its_definition():
    """Predominant features have no Markov blanket before them; other relevant features have one."""
    X, y = discrete_problem(0, 300, n_features=40)
    found = fitted(ls.FCBF(discretize=None), X, y)
    predominant, rest = np.split(found.order_, [found.n_features_])
    score = found.scores_

    def covered(q, candidates):
        return any(
            literal.uncertainty(X[:, p].tolist(), X[:, q].tolist()) >= score[q]
            for p in candidates
            if score[p] >= score[q]
        )

    assert not any(covered(q, predominant[:place]) for place, q in enumerate(predominant))
    assert all(covered(q, predominant) for q in rest if score[q] > 0)


def test_a_feature_at_the_threshold_is_not_relevant():
    high, middle, low = np.unravel_index(np.arange(8), (2, 2, 2))
    states = np.column_stack([middle, low])
    # Both are independent of the class: an uncertainty of 0 does not exceed 0.
    assert fcbf(states, high).n_predominant == 0
    # A feature has an uncertainty of 1 with itself, and 2/3 with a class of twice as many bits.
    both = fcbf(np.column_stack([high]), 2 * high + low, threshold=0.6)
    assert both.n_predominant == 1
    limit = np.round(both.uncertainty[0], 11)
    assert fcbf(np.column_stack([high]), 2 * high + low, threshold=limit).n_predominant == 0


def test_an_interrupted_search_keeps_its_result():
    X, y = discrete_problem(1, 80)
    assert fcbf(X, y, track=ended_after(2)).n_predominant <= 2
