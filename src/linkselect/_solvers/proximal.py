"""Accelerated proximal gradient descent for quadratic problems with a penalty on row norms.

The problem is::

    minimise over W   1/2 tr(W' Q W) - tr(B' W) + penalty * sum_r |W_r|

where Q is `quadratic` (positive semidefinite), B is `linear`, and W_r is a row of W. This is a
group lasso with one group per row.
"""

import numpy as np

from linkselect._arrays import FloatArray

STEPS_BETWEEN_CHECKS = 10


def proximal_descent(
    quadratic: FloatArray,
    linear: FloatArray,
    penalty: float,
    weights: FloatArray,
    allowed: float,
    max_steps: int,
) -> tuple[FloatArray, int]:
    """Minimise a quadratic function plus a penalty on row norms by FISTA with restarts.

    The momentum is reset whenever it points uphill (O'Donoghue & Candes 2015), so the method
    converges linearly without knowledge of the strong convexity constant.

    Parameters
    ----------
    quadratic : ndarray of shape (n_rows, n_rows)
    linear : ndarray of shape (n_rows, n_columns)
    penalty : float
    weights : ndarray of shape (n_rows, n_columns)
        The starting point.
    allowed : float
        The iteration stops when `row_violations` returns no value above this limit.
    max_steps : int
        Maximum number of steps, at least 1.

    Returns
    -------
    weights : ndarray of shape (n_rows, n_columns)
        The solution, whose optimality is certified by `row_violations`.
    n_steps : int
        The number of steps taken.
    """
    # The largest eigenvalue is the Lipschitz constant of the gradient; 0 allows any step.
    step = 1.0 / max(np.linalg.eigvalsh(quadratic)[-1], np.finfo(float).tiny)
    ahead, momentum = weights, 1.0
    for number in range(1, max_steps + 1):
        following = shrink_rows(ahead - step * (quadratic @ ahead - linear), step * penalty)
        if np.vdot(ahead - following, following - weights) > 0:
            momentum = 1.0
        next_momentum = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = following + (momentum - 1.0) / next_momentum * (following - weights)
        weights, momentum = following, next_momentum
        # A check costs as much as a step.
        if number % STEPS_BETWEEN_CHECKS == 1:
            gradient = quadratic @ weights - linear
            if row_violations(weights, gradient, penalty).max() <= allowed:
                break
    return weights, number


def shrink_rows(weights: FloatArray, threshold: float) -> FloatArray:
    """Apply block soft thresholding, which reduces each row norm by the threshold, at most to 0."""
    norms = row_norms(weights)
    left = np.maximum(1.0 - threshold / np.where(norms > 0, norms, np.inf), 0.0)
    return weights * left[:, None]


def row_violations(weights: FloatArray, gradient: FloatArray, penalty: float) -> FloatArray:
    """Return the violation of the optimality conditions by each row.

    The norm of the gradient of a zero row must not exceed the penalty. The gradient of any other
    row must have exactly this norm and point in the opposite direction of the row. The argument
    `gradient` is the gradient of the smooth part, `Q W - B`.
    """
    norms = row_norms(weights)
    balance = gradient + penalty * weights / np.where(norms > 0, norms, 1.0)[:, None]
    idle = np.maximum(row_norms(gradient) - penalty, 0.0)
    return np.where(norms > 0, row_norms(balance), idle)


def row_norms(weights: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row."""
    return np.sqrt(np.einsum("rc,rc->r", weights, weights))
