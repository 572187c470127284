"""Tests of the least l1 norm in a ball: solutions by hand, and certificates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._solvers.least_norm import least_norm_weights


def test_on_a_line_the_norm_is_known():
    # Reconstruct 3 from 0 and 1: weights that sum to 1 with an error of 0.1 are -1.9 and 2.9.
    weights, bound, _ = least_norm_weights(np.array([[-3.0], [-2.0]]), 0.1, 100)
    assert_allclose(weights, [-1.9, 2.9], atol=1e-9)
    assert_allclose(bound, 4.8, rtol=1e-9)


def test_a_point_within_the_tolerance_has_all_the_weight():
    weights, bound, n_problems = least_norm_weights(np.array([[2.0], [-1.0], [1.5]]), 1.0, 100)
    assert_array_equal(weights, [0.0, 1.0, 0.0])
    assert (bound, n_problems) == (1.0, 0)


def test_the_nearest_point_of_the_hull_is_used_if_within_the_tolerance():
    # The point of the segment from (1, 1) to (1, -3) nearest to 0 is (1, 0); (5, 0) lies behind it.
    difference = np.array([[1.0, 1.0], [1.0, -3.0], [5.0, 0.0]])
    weights, bound, n_problems = least_norm_weights(difference, 1.0001, 100)
    assert_allclose(weights, [0.75, 0.25, 0.0], atol=1e-12)
    assert (bound, n_problems) == (1.0, 1)
    # To get closer, the point behind needs a negative weight q: 4 |q| = 0.5 for half the distance.
    weights, bound, _ = least_norm_weights(difference, 0.5, 100)
    assert_allclose(weights[2], -0.125, atol=1e-9)
    assert_allclose([np.abs(weights).sum(), bound], 1.25, rtol=1e-9)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("shape", [(15, 4), (40, 3), (12, 11), (60, 30)])
@pytest.mark.parametrize("scales", [1.0, 1e-4])
def test_solutions_are_feasible_and_certified(shape, share, scales):
    difference = np.random.default_rng(0).normal(size=shape)
    difference[:, ::2] *= scales
    difference += 0.5
    tolerance = share * np.linalg.norm(difference, axis=1).min()
    weights, bound, n_problems = least_norm_weights(difference, tolerance, 1000)
    assert_allclose(weights.sum(), 1.0, rtol=1e-9)
    norm = np.abs(weights).sum()  # up to thousands, which magnifies rounding
    assert np.linalg.norm(weights @ difference) <= tolerance * (1.0 + 1e-7) + 1e-14 * norm
    assert bound * (1.0 - 1e-9) <= norm <= bound * (1.0 + 1e-7)
    assert n_problems <= 25


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_for_all_feasible_weights(seed):
    rng = np.random.default_rng(seed)
    difference = rng.normal(size=(8, 3)) + 1.5
    _, bound, _ = least_norm_weights(difference, 0.2, 1000)
    assert bound > 1.0
    # Random affine combinations of the points that lie in the ball.
    matrix = np.hstack([difference, np.ones((8, 1))]).T
    for _ in range(100):
        in_ball = rng.normal(size=3)
        in_ball *= 0.2 / np.linalg.norm(in_ball)
        weights = np.linalg.lstsq(matrix, np.append(in_ball, 1.0))[0]
        weights += (np.eye(8) - np.linalg.pinv(matrix) @ matrix) @ rng.normal(size=8)
        assert np.abs(weights).sum() >= bound * (1.0 - 1e-9)


def test_too_few_steps_return_the_nearest_point():
    difference = np.random.default_rng(1).normal(size=(20, 6)) + 1.0
    weights, bound, _ = least_norm_weights(difference, 1e-3, 2)
    assert_array_equal(weights, np.arange(20) == np.linalg.norm(difference, axis=1).argmin())
    assert bound == 1.0


def test_a_tolerance_that_is_too_small_gives_the_smallest_error():
    # The plane through the points has distance 1 from 0, which projects outside their convex hull.
    difference = np.array([[1.0, 1.0, 0.5], [1.0, 2.0, 0.0], [1.0, 1.0, 1.5]])
    weights, _, _ = least_norm_weights(difference, 0.999, 100)
    assert_allclose(np.linalg.norm(weights @ difference), 1.0, rtol=1e-6)
    assert_allclose(weights.sum(), 1.0)
    # With one other point, its weight is 1.
    weights, _, _ = least_norm_weights(np.array([[1.0, 1.0]]), 0.5, 100)
    assert_array_equal(weights, [1.0])
