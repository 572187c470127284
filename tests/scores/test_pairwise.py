"""Compare scores from pairs or labels with the double sums of their definitions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import linkselect as ls
from tests.helpers import literal
from tests.helpers.fitting import STORAGE, agrees, fitted, tiny
from tests.helpers.problems import labels, samples, weak_supervision


def test_constraint_score_by_hand():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 7.0], [7.0, 6.0]])
    pairs = ls.Pairs(must=[(0, 1)], cannot=[(1, 2), (2, 3)])
    # must: 1 and 0; cannot: 4 + 16 and 4 + 1
    assert ls.ConstraintScore().fit(X, pairs=pairs).scores_.tolist() == [1 / 20, 0.0]
    by_difference = ls.ConstraintScore(criterion="difference", weight=0.5).fit(X, pairs=pairs)
    assert by_difference.scores_.tolist() == [-9.0, -2.5]


@given(weak_supervision())
def test_constraint_ratio(problem):
    X, known, M, C, _, _ = problem
    agrees(ls.ConstraintScore(), X, literal.constraint_ratio(X, M, C), **known)


@given(weak_supervision(), st.sampled_from([0.1, 1.0]))
def test_constraint_difference(problem, weight):
    X, known, M, C, _, _ = problem
    expected = literal.constraint_difference(X, M, C, weight, constant=None)
    agrees(ls.ConstraintScore(criterion="difference", weight=weight), X, expected, **known)


@given(st.data())
def test_all_pairs_from_labels_give_the_scores_of_labels(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X)))
    pairs = ls.Pairs.from_labels(y)
    for selector in (ls.ConstraintScore(), ls.ConstraintScore(criterion="difference")):
        by_pairs = fitted(selector, X, pairs=pairs).scores_
        assert_allclose(fitted(selector, X, y).scores_, by_pairs, rtol=1e-10, atol=1e-10 * tiny(X))


@given(weak_supervision())
def test_lsdf(problem):
    X, known, M, C, U, _ = problem
    expected = literal.lsdf(X, M, C, U, gamma=100.0, k=3)
    agrees(ls.LSDF(n_neighbors=3), X, expected, **known)


@given(weak_supervision())
def test_laplacian_constraint(problem):
    X, known, M, C, _, _ = problem
    expected = literal.laplacian_constraint(X, M, C, sigma=1.0)
    agrees(ls.LaplacianConstraintScore(), X, expected, **known)


@given(weak_supervision(), st.sampled_from(["2011", "2014"]))
def test_constrained_laplacian(problem, variant):
    X, known, M, C, U, _ = problem
    assume(np.where(literal.near(X, 3), literal.gauss(X, 1.0), 0).any())
    expected = literal.constrained_laplacian(X, M, C, U, sigma=1.0, k=3, variant=variant)
    agrees(ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=3), X, expected, **known)


@given(samples(), st.sampled_from(["2011", "2014"]))
def test_constrained_laplacian_without_supervision_is_twice_the_laplacian_score(X, variant):
    plain = fitted(ls.LaplacianScore(n_neighbors=3, sigma=1.0), X).scores_
    selector = ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=3)
    assert_allclose(fitted(selector, X).scores_, 2 * plain, rtol=1e-12)
    unlabelled = np.full(len(X), -1)
    assert_allclose(fitted(selector, X, unlabelled).scores_, 2 * plain, rtol=1e-12)


@given(weak_supervision())
def test_compensated_laplacian(problem):
    X, known, M, C, _, groups = problem
    expected = literal.compensated_laplacian(
        X, M, C, groups, sigma=1.0, k=3, gamma=0.9, compensation=0.5
    )
    agrees(ls.CompensatedLaplacianScore(n_neighbors=3), X, expected, **known)


# -- underflowing weights, small integer types, denominators of 0 ------------------------------


@pytest.mark.parametrize("variant", ["2011", "2014"])
@pytest.mark.parametrize("store", STORAGE)
def test_a_labelled_sample_far_from_all_others(variant, store):
    # The weights of the first labelled sample underflow, so its degree is 0.
    X = np.array([[60.0, 50], [1, 2], [0, 1], [1, 1], [0, 0], [2, 1]])
    y = np.array([0, 0, 1, 1, -1, -1])
    M, C = literal.links(y)
    expected = literal.constrained_laplacian(X, M, C, y < 0, sigma=1.0, k=2, variant=variant)
    selector = ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=2)
    assert_allclose(selector.fit(store(X), y).scores_, expected, rtol=1e-12)
    by_pairs = selector.fit(store(X), pairs=ls.Pairs.from_labels(y)).scores_
    assert_allclose(by_pairs, expected, rtol=1e-12)
    if variant == "2011":
        assert_allclose(expected, [3.48e-4, 5.12e-4], rtol=1e-3)


def test_few_labels_of_breast_cancer_give_the_scores_of_their_pairs():
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        some = np.where(rng.random(len(y)) < 0.1, y, -1)
        for variant in ("2011", "2014"):
            selector = ls.ConstrainedLaplacianScore(variant=variant)
            by_pairs = selector.fit(X, pairs=ls.Pairs.from_labels(some))
            scores, order = by_pairs.scores_, by_pairs.order_
            assert_allclose(selector.fit(X, some).scores_, scores, rtol=1e-9)
            assert_array_equal(selector.order_, order)


@pytest.mark.parametrize("number", [np.int8, np.uint8, np.int32, np.int64, np.float32, bool])
@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_array])
def test_complete_kernel_on_sparse_data_of_any_type(number, store):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if number is bool else 17, (40, 6)) * (rng.random((40, 6)) < 0.4)
    y = rng.integers(-1, 3, 40)
    # With a small sigma, the form is summed from differences.
    for selector in (
        ls.LaplacianConstraintScore(sigma=5.0),
        ls.LaplacianConstraintScore(sigma=0.1),
        ls.ConstrainedLaplacianScore(sigma=5.0),
    ):
        expected = selector.fit(X.astype(float), y).scores_
        assert_allclose(selector.fit(store(X.astype(number)), y).scores_, expected, rtol=1e-10)


def test_compensated_laplacian_over_a_denominator_of_0():
    # With two samples and a must-link between them, total and within scatter are equal.
    X = np.array([[0.0, 1.0], [3.0, 1.5]])
    selector = ls.CompensatedLaplacianScore(n_neighbors=1)
    with pytest.warns(UserWarning, match="2 of 2 features vary.*is not positive"):
        selector.fit(X, pairs=ls.Pairs(must=[(0, 1)]))
    assert np.isnan(selector.scores_).all()
