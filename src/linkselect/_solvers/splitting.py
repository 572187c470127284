"""Reconstruct points from each other with nearly the least sum of absolute values, many at once.

The problem is that of `simplex`, with one cost for all residuals::

    minimise    sum_j |s_j| + cost sum_r |t_r|
    subject to  s X + t = x_i,  sum_j s_j = 1,  s_i = 0

The alternating direction method of multipliers [8]_ keeps two copies of the weights and residuals
of each point: one that meets the equations, and one whose absolute values are small. The first is
a least squares problem with the same matrix for all points and steps, so one inverse serves all;
the second is soft thresholding. A step is three matrix products for a whole stack of points.

It never arrives at a vertex. But its prices bound the optimum from below, so each point stops as
soon as its weights are certain to be within a given gap of the optimum. Steps are in single
precision, certificates in double.

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
# Above 1 the steps overshoot, which shortens the way; 1.5 to 1.8 is usual.
RELAXATION = np.float32(1.6)
# What a first step sets to 0: a residual of this size, and a weight of this size. If there are many
# more coordinates than points, errors outweigh the weights, which then need smaller steps.
SMALL_RESIDUAL = 0.5
SMALL_WEIGHT = 0.02
SMALL_WEIGHT_PER_SHAPE = 0.1
# The penalty follows the ratio of the residuals of the two copies, by at most this factor at once.
LARGEST_CHANGE = 5.0
WORTH_A_CHANGE = 1.3
# Later changes would do more harm than good: the method converges for any constant penalty.
LAST_CHANGE = 500


@dataclass
class _Copies(Stack):
    """Hold both copies of some targets.

    Attributes
    ----------
    target : ndarray of int
        The point that is reconstructed.
    goal : ndarray
        Its coordinates.
    weights, residual : ndarray
        The copy with small absolute values.
    weight_prices, residual_prices : ndarray
        The multipliers that tie it to the other copy, divided by the penalty.
    penalty : ndarray of shape (n_targets, 1)
        What a squared difference between the copies costs; each target has its own.
    """

    target: IntArray
    goal: Single
    weights: Single
    weight_prices: Single
    residual: Single
    residual_prices: Single
    penalty: Single


class Splitting:
    """What the problems of all points share, prepared once.

    Parameters
    ----------
    program : Program
        The points, of size about 1, and the costs of their coordinates, all of them equal.
    """

    def __init__(self, program: Program) -> None:
        points = program.table[:-1, :-2]
        self.program = program
        self.cost = np.float32(program.cost[0])
        # Errors of coordinates count this much, compared with weights, in the least squares.
        shape = program.n_points / program.n_coordinates
        self.small_weight = min(SMALL_WEIGHT, SMALL_WEIGHT_PER_SHAPE * shape)
        self.share = np.float32(self.small_weight / SMALL_RESIDUAL * program.cost[0])
        inverse = np.linalg.inv(np.eye(len(points)) + float(self.share) * (points @ points.T))
        response = inverse.sum(axis=1)
        self.points: Single = points.astype(np.float32)
        self.inverse: Single = inverse.astype(np.float32)
        self.response_to_sum: Single = (response / response.sum()).astype(np.float32)

    def solve(self, targets: IntArray, gap: float, max_steps: int) -> Solutions:
        """Reconstruct some targets until each is certain to be within `gap` of its optimum.

        Parameters
        ----------
        targets : ndarray of int
            The points to reconstruct.
        gap : float
            How far a sum may be above the least one, relative to it.
        max_steps : int
            The largest number of steps.

        Returns
        -------
        Solutions
            Its values are the weights, its prices those of the coordinates and then that of the
            sum; `absolute_gaps` certifies with them.
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
        """Meet the equations, then make the absolute values small, in place."""
        weights, spare, residual = memory.weights, memory.spare, memory.residual
        np.subtract(copies.goal, copies.residual, out=residual)
        residual += copies.residual_prices
        np.matmul(residual, self.points.T, out=weights)
        weights *= self.share
        weights += copies.weights
        weights -= copies.weight_prices
        np.matmul(weights, self.inverse, out=spare)
        # The sum of weights is one more equation, met by a multiple of the response to it.
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
        """Return weights whose sum is 1, and dual feasible prices, in double precision."""
        weights = copies.weights.astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        # Before the copies agree, the sum may be anything.
        weights = np.where(total > 0.5, weights / np.where(total > 0.5, total, 1.0), np.nan)
        prices = copies.residual_prices * (self.share * copies.penalty)
        prices = np.clip(prices.astype(np.float64), -self.program.cost, self.program.cost)
        worth = prices @ self.program.table[:-1, :-2].T
        own = np.arange(len(worth)), copies.target
        worth[own] = -np.inf
        highest = worth.max(axis=1)
        worth[own] = np.inf
        # All worths must lie between -1 and 1 with the price of the sum, so within 2 of each other.
        scale = np.minimum(1.0, 2.0 / np.maximum(highest - worth.min(axis=1), 1e-300))
        prices *= scale[:, None]
        return weights, np.column_stack([prices, 1.0 - scale * highest])


class _Memory:
    """Arrays for the intermediate results of a step: fresh ones would cost more than their use."""

    def __init__(self, copies: _Copies) -> None:
        self.weights = np.empty_like(copies.weights)
        self.spare = np.empty_like(copies.weights)
        self.residual = np.empty_like(copies.residual)


def _overshoot(exact: Single, small: Single, prices: Single) -> None:
    """Go beyond the values that meet the equations and add the prices; writes to the first two."""
    exact *= RELAXATION
    small *= 1.0 - RELAXATION
    exact += small
    exact += prices


def _threshold(values: Single, limit: Single, small: Single, prices: Single) -> None:
    """Move values towards 0 by at most `limit`; what was taken away is the new price."""
    np.clip(values, -limit, limit, out=prices)
    np.subtract(values, prices, out=small)


def _balance(before: _Copies, now: _Copies, share: np.float32) -> None:
    """Choose penalties so that the copies approach each other as fast as they settle."""

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
