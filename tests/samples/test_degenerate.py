"""Constant columns, and columns whose squared differences underflow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from linkselect._samples import as_samples
from linkselect.selectors import _ranking as ranking
from tests.helpers.fitting import STORAGE
from tests.helpers.problems import samples


@pytest.mark.parametrize("store", STORAGE)
@given(X=samples())
def test_constant_columns(store, X):
    assert_array_equal(as_samples(store(X)).constant_columns(), X.max(axis=0) == X.min(axis=0))


def test_constant_columns_that_vary_late():
    X = np.zeros((5000, 40))
    X[-1, ::3] = 1e-300
    assert_array_equal(as_samples(X).constant_columns(), np.arange(40) % 3 != 0)


def test_features_that_vary_too_little_to_be_squared():
    X = np.array([[1.0, 1e-100, 0.0, 1e-300], [2.0, 3e-100, 0.0, 1e-300]])
    X = np.repeat(X, 20, axis=0)
    for store in STORAGE:
        assert_array_equal(as_samples(store(X)).faint_columns(), [1])
    # They may differ only after the first rows.
    X[:, 0] = 1.0
    X[-1, 0] += 1e-16 * 4
    assert_array_equal(as_samples(X).faint_columns(), [1])
    assert as_samples(X.astype(np.float32)).faint_columns().size == 0
    assert as_samples(np.eye(3, dtype=np.int8)).faint_columns().size == 0


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_copies_of_a_column_take_the_score_of_the_first(store):
    f, g = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [2.0], [5.0]])
    X = store(np.hstack([f, g, f, f, g]))
    # These scores differ by rounding, as at different positions in a matrix product.
    scores = np.array([0.5, 0.5, 0.5 + 1e-16, 0.5 - 1e-16, 0.7])
    for order in (None, np.argsort(scores)):
        assert ranking.with_equal_twins(X, scores, order).tolist() == [0.5, 0.5, 0.5, 0.5, 0.7]
    # Nearly equal scores of features that are not copies are returned unchanged.
    near = np.array([0.5, 0.5 + 1e-16])
    assert ranking.with_equal_twins(X[:, :2], near) is near


def test_columns_that_differ_in_the_sign_of_zero_are_equal():
    X = np.array([[0.0, -0.0], [1.0, 1.0]])
    scores = np.array([0.3, 0.3 + 1e-16])
    assert ranking.with_equal_twins(X, scores).tolist() == [0.3, 0.3]


def with_equal_ties(scores):
    """Go through the scores in ascending order; each one ties with a nearly equal predecessor."""
    settled, run = scores.copy(), []
    for feature in np.argsort(scores, kind="stable"):
        score = scores[feature]
        is_near = run and np.isfinite(score) and score - scores[run[-1]] <= 1e-12 * abs(score)
        run = [*run, feature] if is_near else [feature]
        settled[run] = scores[min(run)]
    return settled


STEP = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, np.inf, np.nan])


@given(st.lists(st.tuples(STEP, st.integers(-3, 3)), max_size=12))
def test_scores_that_differ_by_rounding_are_those_of_the_first(parts):
    # Scores four steps of 4e-13 apart do not tie, unless scores in between connect them.
    scores = np.array([value * (1 + 4e-13 * steps) for value, steps in parts])
    assert_array_equal(ranking.with_equal_ties(scores), with_equal_ties(scores))
