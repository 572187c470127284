"""Approach the least sum of absolute values from the inside: many linear programs at once.

The linear program of `simplex`, solved to a few digits. This takes about twelve steps whatever
the size, whereas the simplex method takes hundreds. From the basis that shows here the simplex
method needs only a few, and makes the result exact: the optimum does not depend on how well this
part did.
"""

from __future__ import annotations

from typing import Protocol

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
    scaled_inverse,
    times,
    weighted_products,
)

# Enough digits to show which variables are in the basis; the simplex method adds the others.
GAP = 1e-6


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def approach_least_absolute(points: FloatArray, cost: FloatArray, targets: IntArray) -> Solutions:
    """Solve the program of every target to a complementarity gap of about 1e-6.

    With more coordinates than points, the values can miss the equations by several percent. Only
    the basis that they show is used, and it is hardly ever wrong.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Centred, with coordinates of size about 1.
    cost : ndarray of shape (n_coordinates,)
        The cost of one unit of residual.
    targets : ndarray of int
        The points to reconstruct.

    Returns
    -------
    Solutions
        Its values are weights, then residuals; its prices those of the coordinates, then that of
        the sum of weights.
    """
    return approach(_LeastAbsolute(points), _first_iterate(points, cost, targets))


def _first_iterate(points: FloatArray, cost: FloatArray, targets: IntArray) -> Iterate:
    """Start from weighted least squares, moved off the boundary, and from prices of zero."""
    n_targets, n_variables = len(targets), sum(points.shape)
    of_residuals = np.tile(cost, (n_targets, 1))
    costs = np.concatenate([unit_costs(len(points), targets), of_residuals], axis=1)
    goal = np.concatenate([points[targets], np.ones((n_targets, 1))], axis=1)
    system = _newton_system(points, 1.0 / costs)
    value, price = system.step(np.zeros((n_targets, n_variables)), goal)
    # The margin is small for a variable that costs much, above all for the target's own weight.
    margin = np.abs(value).mean(axis=1, keepdims=True) * np.minimum(1.0, 1.0 / costs)
    return Iterate(
        goal=goal,
        positive=np.maximum(value, 0.0) + margin,
        negative=np.maximum(-value, 0.0) + margin,
        below=costs.copy(),
        above=costs.copy(),
        price=np.zeros_like(price),
    )


class _LeastAbsolute:
    """The linear program, as `interior_point.Problem` asks for it."""

    max_steps = 30
    fraction = 0.9995
    # A gap that grows does not shrink again: only problems that became better go on.
    patience = 0.0

    def __init__(self, points: FloatArray) -> None:
        self.points = points

    def assess(self, now: Iterate) -> tuple[FloatArray, BoolArray]:
        """Measure by the gap, relative to the dual objective."""
        gap = now.gap()
        bound = (now.goal * now.price).sum(axis=1)
        return gap, ~(gap > GAP * (1.0 + np.abs(bound)))

    def newton(self, now: Iterate) -> Newton[Iterate]:
        """Reduce the Newton equations to the prices, or to the weights if these are fewer."""
        system = _newton_system(self.points, now.scaling)
        missing = now.goal - _equations(self.points, now.value)

        def solve(wanted: list[FloatArray], _predicted: Iterate | None) -> Iterate:
            _, price = system.step(now.rest(wanted), missing)
            return now.change(wanted, price, _worths(self.points, price))

        return solve

    def moved(self, now: Iterate, change: Iterate, fraction: float) -> Iterate:
        """Take primal and dual steps of their own: in a linear program neither limits the other."""
        primal = fraction * (1.0 / largest_decrease(now, change, ("positive", "negative")))
        dual = fraction * (1.0 / largest_decrease(now, change, ("below", "above")))
        return now.moved(change, primal, dual)

    def centring(self, share: FloatArray) -> FloatArray:
        """Apply Mehrotra's rule."""
        return share**3


def _equations(points: FloatArray, value: FloatArray) -> FloatArray:
    """Return what weights and residuals add up to: the coordinates, then the sum of weights."""
    weights, residual = value[:, : len(points)], value[:, len(points) :]
    return np.concatenate([weights @ points + residual, weights.sum(axis=1)[:, None]], axis=1)


def _worths(points: FloatArray, price: FloatArray) -> FloatArray:
    """Return the worth of each weight and residual at the given prices of the equations."""
    return np.concatenate([price[:, :-1] @ points.T + price[:, -1:], price[:, :-1]], axis=1)


class _NewtonSystem(Protocol):
    """Solve for the step of values and prices that supplies `missing` and the products."""

    def step(self, rest: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        ...


def _newton_system(points: FloatArray, scaling: FloatArray) -> _NewtonSystem:
    """Reduce the Newton equations to the smaller of points and equations."""
    if len(points) <= points.shape[1]:
        return _ByPoints(points, scaling)
    return _ByEquations(points, scaling)


class _ByPoints:
    """Newton equations reduced to one unknown for each point."""

    def __init__(self, points: FloatArray, scaling: FloatArray) -> None:
        self.points = points
        self.of_weights, self.of_residuals = scaling[:, : len(points)], scaling[:, len(points) :]
        matrix = weighted_products(points, 1.0 / self.of_residuals)
        add_to_diagonal(matrix, 1.0 / self.of_weights)
        self.inverse = scaled_inverse(matrix)
        self.response_to_sum = self.inverse.sum(axis=2)

    def step(self, rest: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        n_points = len(self.points)
        needed = (missing[:, :-1] - rest[:, n_points:]) / self.of_residuals
        right = rest[:, :n_points] / self.of_weights + needed @ self.points.T
        weights = times(self.inverse, right)
        # The sum of weights is one more equation, met by a multiple of the response to it.
        price_of_sum = (missing[:, -1] - weights.sum(axis=1)) / self.response_to_sum.sum(axis=1)
        weights += price_of_sum[:, None] * self.response_to_sum
        residual = missing[:, :-1] - weights @ self.points
        price = (residual - rest[:, n_points:]) / self.of_residuals
        return (
            np.concatenate([weights, residual], axis=1),
            np.concatenate([price, price_of_sum[:, None]], axis=1),
        )


class _ByEquations:
    """Newton equations reduced to one unknown for each coordinate and the sum of weights."""

    def __init__(self, points: FloatArray, scaling: FloatArray) -> None:
        self.points, self.scaling = points, scaling
        with_sum = np.vstack([points.T, np.ones(len(points))])
        matrix = weighted_products(with_sum, scaling[:, : len(points)])
        add_to_diagonal(matrix[:, :-1, :-1], scaling[:, len(points) :])
        self.inverse = scaled_inverse(matrix)

    def step(self, rest: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        right = missing - _equations(self.points, rest)
        price = times(self.inverse, right)
        return rest + self.scaling * _worths(self.points, price), price
