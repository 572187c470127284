"""Compare both methods for the linear programs with HiGHS, and check the certified gaps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from linkselect._solvers.interior_point import approach_least_absolute
from linkselect._solvers.simplex import absolute_gaps, solve_least_absolute
from linkselect._solvers.simplex_bases import Program

SHAPES = [(12, 4), (6, 15), (9, 9), (2, 3), (3, 1)]


def centred_points(shape, seed=0):
    points = np.random.default_rng(seed).normal(size=shape)
    return points - points.mean(axis=0)


def highs(points, cost, target):
    """Solve the program of one target with HiGHS; weights and residuals are each split by sign."""
    n_points, n_coordinates = points.shape
    of_weights = np.vstack([points.T, np.ones(n_points)])
    of_weights = np.delete(of_weights, target, axis=1)
    of_residuals = np.vstack([np.eye(n_coordinates), np.zeros(n_coordinates)])
    equations = np.hstack([of_weights, -of_weights, of_residuals, -of_residuals])
    costs = np.concatenate([np.ones(2 * (n_points - 1)), cost, cost])
    return linprog(costs, A_eq=equations, b_eq=np.append(points[target], 1.0)).fun


def objective(points, cost, weights, targets):
    return np.abs(weights).sum(axis=1) + np.abs(points[targets] - weights @ points) @ cost


@pytest.mark.parametrize("shape", SHAPES)
def test_simplex_method_finds_the_optimum(shape):
    points, targets = centred_points(shape), np.arange(shape[0])
    cost = np.linspace(0.2, 3.0, shape[1])
    program = Program.from_points(points, cost)
    weights, prices, steps = solve_least_absolute(program, targets, 10_000)
    expected = [highs(points, cost, target) for target in targets]
    assert_allclose(objective(points, cost, weights, targets), expected, rtol=1e-8)
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_array_equal(np.diag(weights), 0.0)
    assert_allclose(absolute_gaps(program, targets, weights, prices), 0.0, atol=1e-8)
    assert (steps > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_interior_point_method_comes_near_the_optimum(shape):
    points, targets = centred_points(shape, seed=1), np.arange(shape[0])
    cost = np.linspace(0.2, 3.0, shape[1])
    values, prices, steps = approach_least_absolute(points, cost, targets)
    expected = [highs(points, cost, target) for target in targets]
    goal = np.hstack([points, np.ones((shape[0], 1))])
    assert_allclose((goal * prices).sum(axis=1), expected, rtol=1e-4)
    assert steps.max() <= 30
    # From its basis, the simplex method needs hardly any further steps.
    program = Program.from_points(points, cost)
    total = solve_least_absolute(program, targets, 1000).steps
    assert (total - steps).mean() <= 1
    if shape[0] > shape[1]:
        weights = values[:, : shape[0]]
        assert_allclose(objective(points, cost, weights, targets), expected, rtol=1e-5)


def test_a_target_does_not_depend_on_the_others():
    points = centred_points((20, 6))
    program = Program.from_points(points, np.ones(6))
    together = solve_least_absolute(program, np.arange(20), 1000).values
    for target in (0, 7, 19):
        alone = solve_least_absolute(program, np.array([target]), 1000).values
        assert_allclose(alone[0], together[target], atol=1e-12)


def test_the_gap_is_a_bound_for_any_prices():
    points, cost, targets = centred_points((10, 4)), np.ones(4), np.arange(10)
    program = Program.from_points(points, cost)
    best = np.array([highs(points, cost, target) for target in targets])
    rng = np.random.default_rng(2)
    for _ in range(20):
        weights = rng.normal(size=(10, 10))
        weights[targets, targets] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        gaps = absolute_gaps(program, targets, weights, 3.0 * rng.normal(size=(10, 5)))
        assert (objective(points, cost, weights, targets) <= best * (1.0 + gaps) * (1 + 1e-9)).all()


def test_the_step_limit_is_respected():
    points = np.random.default_rng(0).integers(0, 2, size=(40, 12)).astype(float)
    points = np.unique(points, axis=0)
    program = Program.from_points(points - points.mean(axis=0), np.ones(12))
    targets = np.arange(len(points))
    free = solve_least_absolute(program, targets, 1000)
    limited = solve_least_absolute(program, targets, 1)
    assert (limited.steps <= free.steps).all()
    assert absolute_gaps(program, targets, *free[:2]).max() < 1e-8
    assert absolute_gaps(program, targets, *limited[:2]).max() > 1e-8
