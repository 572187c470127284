"""The least l1 norm in a ball: truth by hand, the certificate, and both of its parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from linkselect._solvers import norm_gaps, solve_least_norm
from linkselect._solvers.convex_hull import approach_hull
from linkselect._solvers.interior_ball import approach_least_norm


def normal_points(shape, seed=0):
    points = np.random.default_rng(seed).normal(size=shape)
    return points - points.mean(axis=0)


def errors(points, targets, weights):
    return np.linalg.norm(points[targets] - weights @ points, axis=1)


def test_on_a_line_the_norm_is_known():
    # 3 from 0 and 1: the sum is 1, so s = 1 - 2.9 and 2.9 with error 0.1, and the norm is 4.8.
    points = np.array([[0.0], [1.0], [3.0]])
    weights, prices, _ = solve_least_norm(points, np.array([2]), 0.1, 100)
    assert_allclose(weights, [[-1.9, 2.9, 0.0]], atol=1e-9)
    assert_allclose(norm_gaps(points, np.array([2]), weights, prices, 0.1), 0.0, atol=1e-9)


@pytest.mark.parametrize(("shape", "tolerance"), [((15, 4), 0.3), ((25, 3), 0.01), ((10, 30), 6.0)])
def test_solutions_are_feasible_and_certified(shape, tolerance):
    points, targets = normal_points(shape), np.arange(shape[0])
    weights, prices, _ = solve_least_norm(points, targets, tolerance, 1000)
    assert errors(points, targets, weights).max() <= tolerance * (1.0 + 1e-7)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-7)
    assert_allclose(np.diag(weights), 0.0, atol=1e-12)
    assert norm_gaps(points, targets, weights, prices, tolerance).max() <= 1e-7


def test_weights_out_of_the_ball_have_an_infinite_gap():
    points, targets = normal_points((8, 3)), np.arange(8)
    weights = (np.ones((8, 8)) - np.eye(8)) / 7
    prices = np.zeros((8, 4))
    assert np.isinf(norm_gaps(points, targets, weights, prices, 1e-3)).all()
    assert_allclose(norm_gaps(points, targets, weights, prices, 1e3), 0.0, atol=1e-12)


def test_interior_point_method_comes_near_the_optimum():
    points = normal_points((15, 4))
    exact, _, _ = solve_least_norm(points, np.arange(15), 0.1, 1000)
    outside = np.flatnonzero(np.abs(exact).sum(axis=1) > 1.01)
    assert len(outside) > 3
    near, prices, steps = approach_least_norm(points, outside, 0.1)
    assert_allclose(np.abs(near).sum(axis=1), np.abs(exact[outside]).sum(axis=1), rtol=1e-6)
    assert norm_gaps(points, outside, exact[outside], prices, 0.1).max() <= 1e-6
    assert (steps < 40).all()


@pytest.mark.parametrize("shape", [(20, 3), (12, 12), (8, 30)])
def test_nearest_point_of_the_hull(shape):
    points, targets = normal_points(shape, seed=1), np.arange(shape[0])
    weights, steps = approach_hull(points, targets, 1e-7, 1000)
    assert weights.min() >= -1e-12
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_array_equal(weights[targets, targets], 0.0)
    assert (steps > 0).all()
    # A heavy equation for the sum turns the problem into one of non-negative least squares.
    heavy = 1e5
    for target, error in zip(targets, errors(points, targets, weights), strict=True):
        others = np.delete(points - points[target], target, axis=0)
        matrix = np.vstack([others.T, np.full(len(others), heavy)])
        expected, _ = nnls(matrix, np.append(np.zeros(shape[1]), heavy))
        nearest = expected / expected.sum() @ others
        assert_allclose(error, np.linalg.norm(nearest), atol=1e-5)


def test_a_target_within_the_tolerance_ends_early():
    points, targets = normal_points((30, 3)), np.arange(30)
    _, far = approach_hull(points, targets, 1e-7, 1000)
    weights, near = approach_hull(points, targets, 0.5, 1000)
    assert (near <= far).all()
    assert near.sum() < far.sum()
    _, first = approach_hull(points, targets, 1e-7, 0)
    assert_array_equal(first, 1)
    assert (errors(points, targets, weights) <= 0.5).sum() > 10
