"""Linear algebra for stacks of independent problems, arranged along the first axis of arrays."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray


class Solutions(NamedTuple):
    """The solutions of a stack of problems, with certificates of optimality.

    Attributes
    ----------
    values : ndarray of shape (n_problems, n_variables)
        The primal solutions.
    prices : ndarray of shape (n_problems, n_equations)
        The dual solutions, which yield lower bounds on the optimum and thus certify the primal
        solutions.
    steps : ndarray of int of shape (n_problems,)
        The number of steps taken.
    """

    values: FloatArray
    prices: FloatArray
    steps: IntArray


@dataclass
class Stack:
    """Base class for dataclasses of arrays with one entry per problem along the first axis."""

    def take(self, index: BoolArray) -> Self:
        """Return the stack of the selected problems."""
        return type(self)(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: BoolArray, part: Self) -> None:
        """Replace the selected problems in place."""
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(part, field.name)


def weighted_products(matrix: FloatArray, weights: FloatArray) -> FloatArray:
    """Return `matrix @ diag(w) @ matrix.T` for each row w of `weights`."""
    products = np.empty((len(weights), len(matrix), len(matrix)))
    for product, root in zip(products, np.sqrt(weights), strict=True):
        scaled = matrix * root
        np.matmul(scaled, scaled.T, out=product)  # NumPy computes only half of `a @ a.T`
    return products


def add_to_diagonal(matrices: FloatArray, values: NDArray[Any]) -> None:
    """Add values to the diagonal of each matrix in place."""
    diagonal = np.arange(matrices.shape[1])
    matrices[:, diagonal, diagonal] += values


def scaled_inverse(matrices: FloatArray) -> FloatArray:
    """Invert positive definite matrices whose diagonals span many orders of magnitude."""
    scale = 1.0 / np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    scales = scale[:, :, None] * scale[:, None, :]
    # The small diagonal term keeps nearly singular matrices invertible; later steps correct for it.
    return regular_inverse(matrices * scales + 1e-14 * np.eye(matrices.shape[1])) * scales


def regular_inverse(matrices: FloatArray) -> FloatArray:
    """Invert a stack of matrices, even if some are singular or contain overflows."""
    finite = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    matrices = np.where(finite, matrices, np.eye(matrices.shape[1]))
    try:
        inverse = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrices)
    return inverse.astype(np.float64, copy=False)


def times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the product of each matrix and its vector."""
    product: FloatArray = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return product
