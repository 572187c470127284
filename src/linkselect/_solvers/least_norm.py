"""Reconstruct points from each other with the least l1 norm and a bounded Euclidean error.

For one point `x_i` the problem is::

    minimise    sum_j |s_j|
    subject to  |x_i - sum_j s_j x_j| <= tolerance,  sum_j s_j = 1,  s_i = 0

No weights have a smaller norm than 1, and those with norm 1 are not negative. So a target first
goes towards the nearest point of the convex hull of the others, and is finished if its error
becomes small enough on the way: few points carry the weight. The others are solved by an interior
point method, and a last step solves exactly for the points and signs that it shows.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._solvers.convex_hull import approach_hull
from linkselect._solvers.interior_ball import approach_least_norm
from linkselect._solvers.simplex import finish_least_absolute
from linkselect._solvers.simplex_bases import Program
from linkselect._solvers.stacks import Solutions, lengths, with_ones

# A certified gap of this size, relative to the norm, leaves nothing to be made exact.
EXACT_GAP = 1e-8


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def solve_least_norm(
    points: FloatArray, targets: IntArray, tolerance: float, max_steps: int
) -> Solutions:
    """Solve the problem of every target.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Centred, of size about 1, without equal rows.
    targets : ndarray of int
        The points to reconstruct.
    tolerance : float
        The largest Euclidean error. It must be feasible for every target.
    max_steps : int
        The largest number of steps of a method that goes from vertex to vertex.

    Returns
    -------
    Solutions
        Its values are the weights, its prices those of the coordinates and then that of the sum;
        `norm_gaps` certifies with them.
    """
    weights, steps = approach_hull(points, targets, tolerance, max_steps)
    prices = np.zeros((len(targets), points.shape[1] + 1))
    prices[:, -1] = 1.0
    outside = ~(_euclidean_errors(points, targets, weights) <= tolerance)
    if outside.any():
        near = approach_least_norm(points, targets[outside], tolerance)
        weights[outside], prices[outside] = _exact_solutions(
            points, targets[outside], near, tolerance, max_steps
        )
        steps[outside] += near.steps
    return Solutions(weights, prices, steps)


def _euclidean_errors(points: FloatArray, targets: IntArray, weights: FloatArray) -> FloatArray:
    """Return the distance of each target from what its weights reconstruct."""
    return lengths(points[targets] - weights @ points)


def norm_gaps(
    points: FloatArray,
    targets: IntArray,
    weights: FloatArray,
    prices: FloatArray,
    tolerance: float,
) -> FloatArray:
    """Bound how far each norm is above the least one, relative to it; infinite if infeasible.

    Prices at which no point is worth more than 1 are dual feasible and bound the norm from below.
    So does 1, as the weights sum to 1.
    """
    worth = np.abs(prices[:, :-1] @ points.T + prices[:, -1:])
    worth[np.arange(len(targets)), targets] = 0.0
    value = (prices[:, :-1] * points[targets]).sum(axis=1) + prices[:, -1]
    value -= tolerance * lengths(prices[:, :-1])
    bound = np.maximum(1.0, value / np.maximum(1.0, worth.max(axis=1)))
    # A residual that was solved for has just the length of the tolerance, up to rounding.
    feasible = _euclidean_errors(points, targets, weights) <= tolerance * (1.0 + 1e-7) + 1e-13
    return np.where(feasible, np.abs(weights).sum(axis=1) / bound - 1.0, np.inf)


def _exact_solutions(
    points: FloatArray, targets: IntArray, near: Solutions, tolerance: float, max_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Make approximate solutions exact; one that does not become better stays.

    First solve for the points and signs that a solution shows. If ties hide these, more points
    show than are needed; then the residual is kept as it is, and what is left is a linear program.
    """

    def certified_gaps(weights: FloatArray, prices: FloatArray) -> FloatArray:
        return norm_gaps(points, targets, weights, prices, tolerance)

    gaps = certified_gaps(near.values, near.prices)
    weights, prices = _with_shown_signs(points, targets, near, tolerance)
    exact_gaps = certified_gaps(weights, prices)
    hidden = np.flatnonzero(~(exact_gaps <= EXACT_GAP))
    if len(hidden):
        prices[hidden] = near.prices[hidden]
        part = Solutions(near.values[hidden], near.prices[hidden], near.steps[hidden])
        weights[hidden] = _with_known_residual(points, targets[hidden], part, tolerance, max_steps)
        exact_gaps = certified_gaps(weights, prices)
    better = np.isfinite(exact_gaps) & (exact_gaps <= np.maximum(gaps, EXACT_GAP))
    better = better[:, None]
    return np.where(better, weights, near.values), np.where(better, prices, near.prices)


def _with_shown_signs(
    points: FloatArray, targets: IntArray, near: Solutions, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Solve for the points and signs that approximate solutions show; zeros if impossible."""
    worth = near.prices @ with_ones(points).T
    # As in `bases_near`: a weight is zero, or the worth of its point is 1 or -1.
    shown = np.sign(near.values) * (np.abs(near.values) > 1.0 - np.abs(worth))
    shown[np.arange(len(targets)), targets] = 0.0
    weights, prices = np.zeros_like(near.values), np.zeros_like(near.prices)
    for place, (target, sign) in enumerate(zip(targets, shown, strict=True)):
        used = np.flatnonzero(sign)
        if 0 < len(used) <= points.shape[1] + 1:
            with suppress(np.linalg.LinAlgError):
                weights[place, used], price, level = _least_norm_for(
                    points[used] - points[target], sign[used], tolerance
                )
                prices[place] = np.append(price, level - price @ points[target])
    return weights, prices


def _with_known_residual(
    points: FloatArray, targets: IntArray, near: Solutions, tolerance: float, max_steps: int
) -> FloatArray:
    """Find few points that reconstruct each target up to the residual that its prices imply.

    At the optimum the residual has the direction of the prices and the length of the tolerance.
    A small error of the direction changes the norm by its square only.
    """
    scale = np.sqrt((points**2).mean(axis=0))
    direction = near.prices[:, :-1]
    residual = direction * (tolerance / lengths(direction))[:, None]
    scaled_prices = near.prices * np.append(scale, 1.0)
    # More than any price: then no residual of the linear program is used.
    cost = np.full(points.shape[1], 10.0 * np.abs(scaled_prices).max())
    program = Program.from_points(points / scale, cost)
    goal = program.table[targets]
    goal[:, :-2] -= residual / scale
    values = np.concatenate([near.values, np.zeros((len(targets), points.shape[1]))], axis=1)
    start = Solutions(values, scaled_prices, near.steps)
    return finish_least_absolute(program, targets, goal, start, max_steps).values


def _least_norm_for(
    difference: FloatArray, sign: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray, float]:
    """Solve for the weights of points whose signs are known, with an error of the tolerance.

    Residual, weights and level are solved for together, so that `difference`, the points minus
    the target, enters once and its condition is not squared.
    """
    n_used, n_coordinates = difference.shape
    matrix = np.zeros((n_coordinates + n_used + 1,) * 2)
    matrix[:n_coordinates, :n_coordinates] = np.eye(n_coordinates)
    matrix[:n_coordinates, n_coordinates:-1] = difference.T
    matrix[n_coordinates:-1, :n_coordinates] = difference
    matrix[n_coordinates:-1, -1] = matrix[-1, n_coordinates:-1] = 1.0
    right = np.zeros((len(matrix), 2))
    right[-1, 0] = 1.0
    right[n_coordinates:-1, 1] = sign
    # The solution is `fixed + share * free`; the share follows from the length of the residual.
    fixed, free = np.linalg.solve(matrix, right).T
    slack = tolerance**2 - np.sum(fixed[:n_coordinates] ** 2)
    share = np.sqrt(max(slack, np.finfo(float).tiny) / np.sum(free[:n_coordinates] ** 2))
    solution = fixed + share * free
    return solution[n_coordinates:-1], solution[:n_coordinates] / share, solution[-1] / share
