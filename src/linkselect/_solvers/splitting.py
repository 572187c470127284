"""Approximate solution of many least-absolute-value reconstruction problems by ADMM.

The problem is the same as in `simplex`, but all residuals have the same cost::

    minimise    sum_j |s_j| + cost sum_r |t_r|
    subject to  s X + t = x_i,  sum_j s_j = 1,  s_i = 0

The alternating direction method of multipliers [8]_ (ADMM) uses two copies of the weights and
residuals of each point. One copy satisfies the equations, and the other has small absolute values.
The first copy is updated by solving a least-squares problem, whose matrix is the same for all
points and steps, so a single inverse suffices. The second copy is updated by soft thresholding. A
step requires three matrix products for a whole stack of points.

The method does not reach a vertex of the feasible set. However, its prices yield a lower bound on
the optimum, so the iteration for a point stops as soon as its gap is certified to be sufficiently
small. Steps are computed in single precision, and certificates in double precision.

.. [8] See the list of references of `linkselect._solvers`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._solvers.simplex import absolute_gaps
from linkselect._solvers.simplex_bases import Program
from linkselect._solvers.stacks import Solutions, Stack

Single = NDArray[np.float32]

STEPS_BETWEEN_CHECKS = 25
# Over-relaxation (values above 1) speeds up convergence; 1.5 to 1.8 is usual.
RELAXATION = np.float32(1.6)
# The first step sets residuals and weights up to these sizes to 0. With many more coordinates than
# points, errors outweigh the weights, which then need smaller steps.
SMALL_RESIDUAL = 0.5
SMALL_WEIGHT = 0.02
SMALL_WEIGHT_PER_SHAPE = 0.1
# The penalty is adapted to the ratio of primal to dual residual, by at most this factor at a time.
LARGEST_CHANGE = 5.0
WORTH_A_CHANGE = 1.3
# After this step the penalty stays constant, which guarantees convergence.
LAST_CHANGE = 500


@dataclass
class _Copies(Stack):
    """The state of ADMM for a stack of targets.

    Attributes
    ----------
    target : ndarray of int
        The point that is reconstructed.
    goal : ndarray
        The coordinates of this point.
    weights, residual : ndarray
        The copy with small absolute values.
    weight_prices, residual_prices : ndarray
        The scaled multipliers of the constraint that both copies are equal.
    penalty : ndarray of shape (n_targets, 1)
        The penalty on squared differences between both copies, one value per target.
    """

    target: IntArray
    goal: Single
    weights: Single
    weight_prices: Single
    residual: Single
    residual_prices: Single
    penalty: Single


class Splitting:
    """ADMM solver for the problems of all points, which computes shared matrices only once.

    Parameters
    ----------
    program : Program
        The linear program. Coordinates of points are of order 1, and all have the same cost.
    """

    def __init__(self, program: Program) -> None:
        points = program.table[:-1, :-2]
        self.program = program
        self.cost = np.float32(program.cost[0])
        # The weight of coordinate errors relative to weights in the least-squares problem.
        shape = program.n_points / program.n_coordinates
        self.small_weight = min(SMALL_WEIGHT, SMALL_WEIGHT_PER_SHAPE * shape)
        self.share = np.float32(self.small_weight / SMALL_RESIDUAL * program.cost[0])
        inverse = np.linalg.inv(np.eye(len(points)) + float(self.share) * (points @ points.T))
        response = inverse.sum(axis=1)
        self.points: Single = points.astype(np.float32)
        self.inverse: Single = inverse.astype(np.float32)
        self.response_to_sum: Single = (response / response.sum()).astype(np.float32)

    def solve(self, targets: IntArray, gap: float, max_steps: int) -> Solutions:
        """Reconstruct each target until its relative gap is certified to be at most `gap`.

        Parameters
        ----------
        targets : ndarray of int
            The points that are reconstructed.
        gap : float
            Maximum relative gap between the objective and its optimum.
        max_steps : int
            Maximum number of steps.

        Returns
        -------
        solutions : Solutions
            The field `values` contains the weights. The field `prices` contains the dual variables
            of the coordinates, followed by that of the sum of weights, as required by
            `absolute_gaps`.
        """
        copies = self._start(targets)
        found = Solutions(
            np.zeros((len(targets), self.program.n_points)),
            np.zeros((len(targets), self.program.n_coordinates + 1)),
            np.zeros(len(targets), dtype=np.intp),
        )
        least = np.full(len(targets), np.inf)
        places = np.arange(len(targets))
        memory = _Memory(copies)
        for step in range(1, max_steps + 1):
            is_check = step % STEPS_BETWEEN_CHECKS == 0 or step == max_steps
            before = deepcopy(copies) if is_check else None
            self._step(copies, memory)
            if before is None:
                continue
            weights, prices = self._certificates(copies)
            gaps = absolute_gaps(self.program, copies.target, weights, prices)
            found.steps[places] = step
            better = gaps < least[places]
            found.values[places[better]] = weights[better]
            found.prices[places[better]] = prices[better]
            least[places[better]] = gaps[better]
            open_ = least[places] > gap
            if not open_.any():
                break
            if step <= LAST_CHANGE:
                _balance(before, copies, self.share)
            if not open_.all():
                places, copies = places[open_], copies.take(open_)
                memory = _Memory(copies)
        return found

    def _start(self, targets: IntArray) -> _Copies:
        n_targets, goal = len(targets), self.points[targets]
        no_weights = np.zeros((n_targets, len(self.points)), np.float32)
        penalty = np.full((n_targets, 1), 1.0 / self.small_weight, np.float32)
        return _Copies(
            targets, goal, no_weights, no_weights.copy(), goal.copy(), np.zeros_like(goal), penalty
        )

    def _step(self, copies: _Copies, memory: _Memory) -> None:
        """Take one ADMM step in place: a least-squares update followed by soft thresholding."""
        weights, spare, residual = memory.weights, memory.spare, memory.residual
        np.subtract(copies.goal, copies.residual, out=residual)
        residual += copies.residual_prices
        np.matmul(residual, self.points.T, out=weights)
        weights *= self.share
        weights += copies.weights
        weights -= copies.weight_prices
        np.matmul(weights, self.inverse, out=spare)
        # The sum of weights is one more equation; a multiple of the response to it satisfies it.
        np.multiply((1.0 - spare.sum(axis=1))[:, None], self.response_to_sum, out=weights)
        weights += spare
        np.matmul(weights, self.points, out=residual)
        np.subtract(copies.goal, residual, out=residual)

        own = np.arange(len(copies.target)), copies.target
        small = 1.0 / copies.penalty
        _overshoot(weights, copies.weights, copies.weight_prices)
        barred = weights[own]
        _threshold(weights, small, copies.weights, copies.weight_prices)
        copies.weights[own], copies.weight_prices[own] = 0.0, barred
        _overshoot(residual, copies.residual, copies.residual_prices)
        small *= self.cost / self.share
        _threshold(residual, small, copies.residual, copies.residual_prices)

    def _certificates(self, copies: _Copies) -> tuple[FloatArray, FloatArray]:
        """Return weights that sum to 1, and dual feasible prices, in double precision."""
        weights = copies.weights.astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        # Until the copies agree, the sum is arbitrary.
        weights = np.where(total > 0.5, weights / np.where(total > 0.5, total, 1.0), np.nan)
        prices = copies.residual_prices * (self.share * copies.penalty)
        prices = np.clip(prices.astype(np.float64), -self.program.cost, self.program.cost)
        worth = prices @ self.program.table[:-1, :-2].T
        own = np.arange(len(worth)), copies.target
        worth[own] = -np.inf
        highest = worth.max(axis=1)
        worth[own] = np.inf
        # With the price of the sum, all worths must lie in [-1, 1], so their range is at most 2.
        scale = np.minimum(1.0, 2.0 / np.maximum(highest - worth.min(axis=1), 1e-300))
        prices *= scale[:, None]
        return weights, np.column_stack([prices, 1.0 - scale * highest])


class _Memory:
    """Work arrays of a step, which are reused because repeated allocation would be slow."""

    def __init__(self, copies: _Copies) -> None:
        self.weights = np.empty_like(copies.weights)
        self.spare = np.empty_like(copies.weights)
        self.residual = np.empty_like(copies.residual)


def _overshoot(exact: Single, small: Single, prices: Single) -> None:
    """Apply over-relaxation and add the prices, modifying `exact` and `small` in place."""
    exact *= RELAXATION
    small *= 1.0 - RELAXATION
    exact += small
    exact += prices


def _threshold(values: Single, limit: Single, small: Single, prices: Single) -> None:
    """Apply soft thresholding: store shrunk values in `small` and remainders in `prices`."""
    np.clip(values, -limit, limit, out=prices)
    np.subtract(values, prices, out=small)


def _balance(before: _Copies, now: _Copies, share: np.float32) -> None:
    """Adapt the penalties in place to balance primal and dual residuals."""

    def size(weights: Any, residual: Any) -> FloatArray:
        squares = (weights**2).sum(axis=1) + share * (residual**2).sum(axis=1)
        return np.sqrt(squares.astype(np.float64)) + 1e-30

    apart = size(
        now.weight_prices - before.weight_prices, now.residual_prices - before.residual_prices
    ) / size(now.weights, now.residual)
    moved = size(now.weights - before.weights, now.residual - before.residual) / size(
        now.weight_prices, now.residual_prices
    )
    change = np.clip(np.sqrt(apart / moved), 1.0 / LARGEST_CHANGE, LARGEST_CHANGE)
    change[(change < WORTH_A_CHANGE) & (change > 1.0 / WORTH_A_CHANGE)] = 1.0
    factor = change[:, None].astype(np.float32)
    now.penalty *= factor
    now.weight_prices /= factor
    now.residual_prices /= factor
