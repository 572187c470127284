"""Compare least squares weights with the linear systems that define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._solvers.closed_form import barycentric_weights, ridge_weights


@pytest.mark.parametrize("shape", [(12, 4), (8, 30), (2, 3)])
def test_ridge_weights_solve_their_problem(shape):
    points = np.random.default_rng(0).normal(size=shape)
    weights = ridge_weights(points, 0.1)
    ridge = 0.1 * ((points - points.mean(axis=0)) ** 2).sum() / len(points)
    assert_array_equal(np.diag(weights), 0.0)
    for i in range(len(points)):
        others = np.delete(points - points[i], i, axis=0)
        expected = barycentric_weights(others[None], ridge / np.trace(others @ others.T))
        assert_allclose(np.delete(weights[i], i), expected[0], atol=1e-9)


def test_ridge_weights_of_duplicate_points_are_equal():
    assert_allclose(ridge_weights(np.ones((4, 2)), 0.1), (np.ones((4, 4)) - np.eye(4)) / 3)


def test_barycentric_weights_solve_their_system():
    difference = np.random.default_rng(1).normal(size=(3, 4, 2))
    weights = barycentric_weights(difference, 1e-3)
    assert_allclose(weights.sum(axis=1), 1.0)
    for rows, found in zip(difference, weights, strict=True):
        products = rows @ rows.T
        gradient = (products + 1e-3 * np.trace(products) * np.eye(4)) @ found
        assert_allclose(gradient, gradient.mean(), rtol=1e-9)


def test_barycentric_weights_of_duplicate_neighbours_are_equal():
    assert_allclose(barycentric_weights(np.zeros((2, 5, 3)), 1e-3), 0.2)
