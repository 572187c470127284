"""Reconstruction of a point with weights of minimal l1 norm and a bounded Euclidean error.

Let the rows of D be the differences between the other points and the point. The problem is::

    minimise    sum_j |s_j|
    subject to  |s D| <= tolerance,  sum_j s_j = 1

The norm is at least 1, and it equals 1 only for non-negative weights. The nearest of the other
points is therefore optimal if its distance is within the tolerance. The same holds for the nearest
point in their convex hull.

Otherwise, negative weights are required. Write `s = p - q` with non-negative p and q. For any
`penalty`, SciPy's `nnls` [3]_ solves the least-squares problem::

    minimise    |s D|^2 + penalty (sum_j p_j + q_j)^2 + (1 - sum_j s_j)^2

After division by its sum, the solution minimises `error^2 + penalty norm^2` among weights with sum
1, because the minimum over all multiples of such weights increases with this quantity. The error
increases with the penalty. The problem is solved by the penalty for which the error equals the
tolerance.

.. [3] See the list of references of `linkselect._solvers`.
"""

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq, nnls

from linkselect._arrays import FloatArray

# The logarithm of the penalty decreases in steps of at least this size until the error is small
# enough. The number of steps is limited because rounding may hide that a tolerance is feasible.
STEP = 1.5
MOST_STEPS = 20
# In rare cases `nnls` returns weights that are not optimal: a gradient exceeds this limit. The
# logarithm of the penalty is then changed by NUDGE, which leaves the optimum nearly the same.
LARGEST_GRADIENT = 1e-9
NUDGE, MOST_NUDGES = 1e-9, 5


def least_norm_weights(
    difference: FloatArray, tolerance: float, max_iter: int
) -> tuple[FloatArray, float, int]:
    """Compute weights of minimal l1 norm that reconstruct a point within the tolerance.

    Parameters
    ----------
    difference : ndarray of shape (n_others, n_coordinates)
        The differences between the other points and the point, which are of order 1 and nonzero.
    tolerance : float
        Maximum Euclidean error, which is at least the distance of the point from the affine hull of
        the other points.
    max_iter : int
        Maximum number of steps of `nnls`.

    Returns
    -------
    weights : ndarray of shape (n_others,)
        The weights, which sum to 1. If `nnls` requires more steps, the nearest point has the weight
        1.
    bound : float
        A lower bound on the norm of all feasible weights.
    n_problems : int
        The number of least-squares problems that were solved.
    """
    nearest = np.zeros(len(difference))
    nearest[(difference**2).sum(axis=1).argmin()] = 1.0
    if np.linalg.norm(nearest @ difference) <= tolerance:
        return nearest, 1.0, 0
    try:
        return _by_least_squares(difference, tolerance, max_iter)
    except RuntimeError:
        return nearest, 1.0, 0


def _by_least_squares(
    difference: FloatArray, tolerance: float, max_iter: int
) -> tuple[FloatArray, float, int]:
    with_sum = np.hstack([difference, np.ones((len(difference), 1))]).T
    matrix = np.vstack([np.zeros(2 * len(difference)), np.hstack([with_sum, -with_sum])])
    goal = np.append(np.zeros(len(with_sum)), 1.0)

    in_hull, _ = nnls(with_sum, goal[1:], maxiter=max_iter)
    in_hull /= in_hull.sum()
    error = in_hull @ difference
    # At or above this penalty no weight is negative; it is 0 if negative weights do not help.
    highest = ((difference @ error).max() - error @ error) / 2.0
    if highest <= 0.0 or np.linalg.norm(error) <= tolerance:
        return in_hull, 1.0, 1

    @cache
    def solution(log_penalty: float) -> FloatArray:
        for number in range(MOST_NUDGES):
            matrix[0] = math.exp((log_penalty + number * NUDGE) / 2.0)
            both = nnls(matrix, goal, maxiter=max_iter)[0]
            if (matrix.T @ (goal - matrix @ both)).max() <= LARGEST_GRADIENT:
                break
        positive, negative = np.split(both, 2)
        return (positive - negative) / (positive - negative).sum()

    def excess(log_penalty: float) -> float:
        error = float(np.linalg.norm(solution(log_penalty) @ difference))
        return math.log(max(error, 1e-300) / tolerance)

    # The logarithm of the error grows at most as fast as that of the penalty. So the error at
    # `high` is at least the tolerance, up to rounding.
    high = math.log(highest * tolerance / np.linalg.norm(error))
    for _ in range(MOST_STEPS):
        found = high - STEP
        if excess(found) <= 0.0:
            found = high if excess(high) <= 0.0 else brentq(excess, found, high, xtol=1e-10)
            break
        high = found - excess(found)
    weights = solution(found)
    bound = _lower_bound(difference, weights, tolerance)
    return weights, bound, 1 + solution.cache_info().misses


def _lower_bound(difference: FloatArray, weights: FloatArray, tolerance: float) -> float:
    """Return a lower bound on the norm, obtained from the dual problem.

    The dual problem is to maximise `level - tolerance |prices|` subject to
    `|D prices + level| <= 1`. At the optimum, the prices point in the direction of the error, and
    `D prices + level` equals the sign of each nonzero weight. For a tiny tolerance, the direction
    of the error is lost to rounding, so the prices are corrected using the second condition. Any
    prices yield a bound if the level and the scale are chosen optimally.
    """
    prices = -(weights @ difference)
    worth = difference @ prices
    scale = 2.0 / np.ptp(worth)
    prices, level = scale * prices, 1.0 - scale * worth.max()
    used = weights != 0.0
    equations = np.hstack([difference[used], np.ones((used.sum(), 1))])
    missing = np.sign(weights[used]) - difference[used] @ prices - level
    prices += np.linalg.lstsq(equations, missing)[0][:-1]
    worth = difference @ prices
    scale = 2.0 / np.ptp(worth)
    return max(1.0, 1.0 - scale * float(worth.max() + tolerance * np.linalg.norm(prices)))
