"""Tests of proximal descent: solutions by hand, optimality, and the proximal operator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from linkselect._solvers.proximal import proximal_descent, row_norms, row_violations, shrink_rows


def random_problem(seed, n_rows=8, n_columns=3):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n_rows, n_rows))
    return root.T @ root, rng.normal(size=(n_rows, n_columns))


def test_rows_are_shrunk_by_the_threshold():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert_allclose(shrink_rows(rows, 1.0), [[2.4, 3.2], [0.0, 0.0], [0.0, 0.0]])
    assert_array_equal(row_norms(rows), [5.0, 0.5, 0.0])


def test_shrinking_is_the_proximal_operator():
    rows, threshold = np.random.default_rng(0).normal(size=(4, 3)), 0.8

    def objective(w):
        w = w.reshape(4, 3)
        return 0.5 * ((w - rows) ** 2).sum() + threshold * row_norms(w).sum()

    best = minimize(objective, rows.ravel() + 0.1, method="Powell", options={"ftol": 1e-14})
    assert objective(shrink_rows(rows, threshold).ravel()) <= best.fun + 1e-8


def test_a_multiple_of_the_identity_takes_one_step():
    linear = np.array([[3.0, 4.0], [0.3, 0.4]])
    found, n_steps = proximal_descent(2.0 * np.eye(2), linear, 1.0, np.zeros((2, 2)), 1e-12, 100)
    assert_allclose(found, [[1.2, 1.6], [0.0, 0.0]])
    assert n_steps == 1


@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_descent_meets_the_optimality_conditions(seed, penalty):
    quadratic, linear = random_problem(seed)
    found, _ = proximal_descent(quadratic, linear, penalty, np.zeros((8, 3)), 1e-10, 10_000)
    gradient = quadratic @ found - linear
    assert row_violations(found, gradient, penalty).max() <= 1e-10
    if penalty == 0.0:
        assert_allclose(found, np.linalg.solve(quadratic, linear), atol=1e-8)


def test_a_penalty_above_every_gradient_gives_zero():
    quadratic, linear = random_problem(5)
    penalty = row_norms(linear).max()
    found, _ = proximal_descent(quadratic, linear, penalty, np.ones((8, 3)), 1e-10, 10_000)
    assert_allclose(found, 0.0, atol=1e-9)


def test_violations_by_hand():
    weights = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    gradient = np.array([[0.6, 0.8], [3.0, 4.0], [-1.2, -1.6]])
    # The gradient is within the penalty; exceeds it by 3; balances the penalty of a nonzero row.
    assert_allclose(row_violations(weights, gradient, 2.0), [0.0, 3.0, 0.0], atol=1e-15)


def test_the_step_limit_is_respected():
    quadratic, linear = random_problem(7)
    _, n_steps = proximal_descent(quadratic, linear, 0.1, np.zeros((8, 3)), 1e-15, 7)
    assert n_steps == 7
