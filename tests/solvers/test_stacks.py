"""Compare operations on stacks of matrices with operations on single matrices."""

from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._solvers.stacks import (
    Stack,
    add_to_diagonal,
    regular_inverse,
    scaled_inverse,
    times,
    weighted_products,
)


@dataclass
class Two(Stack):
    numbers: np.ndarray
    rows: np.ndarray


def test_take_and_put_parts_of_a_stack():
    stack = Two(np.arange(4), np.arange(8.0).reshape(4, 2))
    which = np.array([False, True, False, True])
    part = stack.take(which)
    assert isinstance(part, Two)
    assert_array_equal(part.rows, [[2.0, 3.0], [6.0, 7.0]])
    part.rows[:] = -1.0
    assert_array_equal(stack.rows[1], [2.0, 3.0])
    stack.put(which, part)
    assert_array_equal(stack.rows[which], -1.0)


def test_products_are_those_of_each_matrix():
    rng = np.random.default_rng(0)
    matrix, weights, vectors = rng.normal(size=(3, 5)), rng.uniform(size=(4, 5)), np.ones((4, 3))
    products = weighted_products(matrix, weights)
    for product, row in zip(products, weights, strict=True):
        assert_allclose(product, matrix @ np.diag(row) @ matrix.T)
    assert_allclose(times(products, vectors), products.sum(axis=2))
    before = products.copy()
    add_to_diagonal(products, vectors)
    assert_allclose(products - before, np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-12)


def test_a_singular_or_infinite_matrix_does_not_affect_the_others():
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    stack = np.array([good, [[np.inf, 0.0], [0.0, 1.0]], good])
    assert_allclose(regular_inverse(stack)[[0, 2]], [np.linalg.inv(good)] * 2)
    stack = np.array([good, [[1.0, 1.0], [1.0, 1.0]], good])
    assert_allclose(regular_inverse(stack)[[0, 2]], [np.linalg.inv(good)] * 2)


def test_diagonals_of_many_orders_of_magnitude():
    matrix = np.array([[1e30, 1e4], [1e4, 1e-18]])
    product = scaled_inverse(matrix[None])[0] @ matrix
    assert_allclose(np.diag(product), 1.0, rtol=1e-9)
