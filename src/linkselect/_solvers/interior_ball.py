"""Approach the least l1 norm with a bounded Euclidean error from the inside.

The problem of `least_norm`, for targets outside the convex hull of the other points, solved to
about nine digits. The bound on the error is the constraint `|residual|^2 <= tolerance^2`; its
slack and multiplier join the variables of a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._solvers.interior_point import (
    Iterate,
    Newton,
    approach,
    largest_decrease,
    unit_costs,
)
from linkselect._solvers.stacks import (
    Solutions,
    add_to_diagonal,
    lengths,
    regular_inverse,
    scaled_inverse,
    times,
    weighted_products,
    with_ones,
)

GAP = 1e-9
INFEASIBILITY = 1e-6
REFINEMENTS = 2


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def approach_least_norm(points: FloatArray, targets: IntArray, tolerance: float) -> Solutions:
    """Solve the problem of targets outside the hull to a relative gap of about 1e-9.

    Parameters
    ----------
    points, targets, tolerance
        See `least_norm.solve_least_norm`.

    Returns
    -------
    Solutions
    """
    problem = _LeastNorm(points, tolerance)
    return approach(problem, problem.first_iterate(targets))


@dataclass
class _BallIterate(Iterate):
    """An iterate with the constraint on the residual.

    `slack` is `(tolerance^2 - |residual|^2) / 2` at a feasible point and `multiplier` its
    multiplier; `missing` is what the equations lack.
    """

    PRIMAL: ClassVar[tuple[str, ...]] = (*Iterate.PRIMAL, "slack", "residual")
    DUAL: ClassVar[tuple[str, ...]] = (*Iterate.DUAL, "multiplier")
    INEQUALITIES: ClassVar[tuple[str, ...]] = (
        *("positive", "negative", "below", "above"),
        *("multiplier", "slack"),
    )

    multiplier: FloatArray
    slack: FloatArray
    residual: FloatArray
    missing: FloatArray

    def products(self) -> list[FloatArray]:
        """Return the products that vanish at the optimum."""
        return [*super().products(), self.multiplier * self.slack]

    def gap(self) -> FloatArray:
        """Return the sum of the products that vanish at the optimum."""
        gap: FloatArray = super().gap() + (self.multiplier * self.slack)[:, 0]
        return gap


class _LeastNorm:
    """The problem, as `interior_point.Problem` asks for it."""

    max_steps = 40
    # Shorter than usual: the slack depends on the square of the residual, which long steps miss.
    fraction = 0.9
    # The merit may grow for some steps while feasibility is gained.
    patience = 10.0

    def __init__(self, points: FloatArray, tolerance: float) -> None:
        self.points, self.tolerance = points, tolerance
        self.rows = with_ones(points)

    def first_iterate(self, targets: IntArray) -> _BallIterate:
        """Start from the weights with the least sum of squares, moved off the boundary."""
        columns, goal = self.rows.T, with_ones(self.points[targets])
        costs = unit_costs(len(self.points), targets)
        matrix = weighted_products(columns, 1.0 / costs)
        # With more coordinates than points the matrix is singular; a start need not be exact.
        add_to_diagonal(matrix[:, :-1, :-1], 1e-8 * np.trace(matrix, axis1=1, axis2=2)[:, None])
        weights = times(regular_inverse(matrix), goal) @ columns
        weights[np.arange(len(targets)), targets] = 0.0
        margin = np.abs(weights).mean(axis=1, keepdims=True) / costs
        residual = self.points[targets] - weights @ self.points
        half = 0.5 * self.tolerance
        # Shortened to half of the tolerance, so that the slack is positive.
        residual *= (half / np.maximum(half, lengths(residual)))[:, None]
        slack = (self.tolerance**2 - (residual**2).sum(axis=1, keepdims=True)) / 2.0
        return self._with_missing(
            _BallIterate(
                goal=goal,
                positive=np.maximum(weights, 0.0) + margin,
                negative=np.maximum(-weights, 0.0) + margin,
                below=costs.copy(),
                above=costs.copy(),
                multiplier=np.abs(weights).mean(axis=1, keepdims=True) / slack,
                slack=slack,
                residual=residual,
                price=np.zeros_like(goal),
                missing=goal,
            )
        )

    def _with_missing(self, now: _BallIterate) -> _BallIterate:
        missing = now.goal - now.value @ self.rows
        missing[:, :-1] -= now.residual
        return replace(now, missing=missing)

    def assess(self, now: _BallIterate) -> tuple[FloatArray, BoolArray]:
        """Measure by the gap relative to the norm, and by how far the equations are off."""
        norm = np.abs(now.value).sum(axis=1)
        infeasibility = lengths(now.missing[:, :-1]) / self.tolerance
        pull = now.multiplier * now.residual
        infeasibility += lengths(pull - now.price[:, :-1]) / lengths(pull)
        merit = now.gap() / norm + 1e-2 * infeasibility
        return merit, (now.gap() <= GAP * norm) & (infeasibility <= INFEASIBILITY)

    def newton(self, now: _BallIterate) -> Newton[_BallIterate]:
        """Eliminate residual, slack and multiplier: a positive definite system in the prices."""
        return _BallSystem(self.rows.T, self.tolerance, now).solve

    def moved(self, now: _BallIterate, change: _BallIterate, fraction: float) -> _BallIterate:
        """Take one step in all variables: the constraint ties the residual to the prices."""
        step = fraction / largest_decrease(now, change, now.INEQUALITIES)
        return self._with_missing(now.moved(change, step, step))

    def centring(self, share: FloatArray) -> FloatArray:
        """Apply Mehrotra's rule; the predictor can enlarge the gap, as it ignores the curvature."""
        cubed: FloatArray = np.clip(share, 0.0, 1.0) ** 3
        return cubed


class _BallSystem:
    """The Newton system at one iterate.

    The prices of the coordinates are `multiplier * residual` at the optimum.
    """

    def __init__(self, columns: FloatArray, tolerance: float, now: _BallIterate) -> None:
        self.columns, self.now = columns, now
        square = (now.residual**2).sum(axis=1, keepdims=True)
        self.slack_and_square = now.slack + square
        self.slack_error = (tolerance**2 - square) / 2.0 - now.slack
        self.price_error = now.multiplier * now.residual - now.price[:, :-1]
        # The constraint adds the inverse of `multiplier * (I + residual residual' / slack)`, which
        # differs from a multiple of the identity by rank 1 (Sherman-Morrison).
        self.matrix = weighted_products(columns, now.scaling)
        direction = now.residual / np.sqrt(now.multiplier * self.slack_and_square)
        add_to_diagonal(self.matrix[:, :-1, :-1], 1.0 / now.multiplier)
        self.matrix[:, :-1, :-1] -= direction[:, :, None] * direction[:, None, :]
        self.inverse = scaled_inverse(self.matrix)

    def solve(self, wanted: list[FloatArray], predicted: _BallIterate | None) -> _BallIterate:
        """Return the change; a predicted one corrects for the curvature of the constraint."""
        now, slack, error = self.now, self.slack_error, self.price_error
        if predicted is not None:
            slack = slack - (predicted.residual**2).sum(axis=1, keepdims=True) / 2.0
            error = error + predicted.multiplier * predicted.residual
        shift = error + now.residual * (wanted[2] - now.multiplier * slack) / now.slack
        right = now.missing - now.rest(wanted) @ self.columns.T
        right[:, :-1] += self._to_residual(shift)
        price = times(self.inverse, right)
        # The inverse is that of a slightly different matrix.
        for _ in range(REFINEMENTS):
            price += times(self.inverse, right - times(self.matrix, price))
        residual = self._to_residual(price[:, :-1] - shift)
        slack = slack - self._along_residual(residual)
        return replace(
            now.change(wanted, price, worth=price @ self.columns),
            multiplier=(wanted[2] - now.multiplier * slack) / now.slack,
            slack=slack,
            residual=residual,
        )

    def _along_residual(self, vectors: FloatArray) -> FloatArray:
        product: FloatArray = (self.now.residual * vectors).sum(axis=1, keepdims=True)
        return product

    def _to_residual(self, price: FloatArray) -> FloatArray:
        """Return the change of the residual that a change of the prices goes with."""
        along = self._along_residual(price)
        return (price - self.now.residual * along / self.slack_and_square) / self.now.multiplier
