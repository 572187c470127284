"""Approximate solution of many least-absolute-value problems by an interior-point method.

Mehrotra's predictor-corrector method [2]_ solves the linear programs of `simplex` to a few digits
in about twelve steps, regardless of the problem size. The simplex method requires hundreds of steps
on its own, but only a few steps if it starts from the basis found here. The simplex method then
makes the result exact, so the optimum does not depend on the accuracy of the interior-point method.

The variables (weights, then residuals) are split into `positive - negative`. The dual slacks
`below` and `above` are the distances between the dual value of a variable and plus or minus its
cost. By complementarity, `positive * below` and `negative * above` vanish at the optimum. All names
are listed in the table in `linkselect._solvers`.

.. [2] See the list of references of `linkselect._solvers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._solvers import stacks

# Accurate enough to identify the basis; the simplex method adds the remaining digits.
GAP = 1e-6
MAX_STEPS = 30
# Fraction of the step to the boundary.
FRACTION = 0.9995
# A prohibitive cost prevents a point from reconstructing itself, without a special case.
OUT_OF_REACH = 1e30


@dataclass
class _Iterate(stacks.Stack):
    """Primal and dual variables of a stack of problems, or a change of these variables."""

    goal: FloatArray
    positive: FloatArray
    negative: FloatArray
    below: FloatArray
    above: FloatArray
    price: FloatArray

    @property
    def value(self) -> FloatArray:
        """The free variables, which are `positive - negative`."""
        return self.positive - self.negative

    def products(self) -> tuple[FloatArray, FloatArray]:
        """Return the complementarity products, which vanish at the optimum."""
        return self.positive * self.below, self.negative * self.above

    def gap(self) -> FloatArray:
        """Return the duality gap of each problem (the sum of complementarity products)."""
        of_positive, of_negative = self.products()
        return (of_positive + of_negative).sum(axis=1)

    def moved(self, change: _Iterate, fraction: float) -> _Iterate:
        """Take a step of a given fraction of the distance to the boundary, at most a full step.

        The primal and dual step lengths are chosen independently, which is possible for linear
        programs.
        """

        def length(*names: str) -> FloatArray:
            fastest = [np.max(-getattr(change, n) / getattr(self, n), axis=1) for n in names]
            return fraction * (1.0 / np.maximum(1.0, np.max(fastest, axis=0))[:, None])

        primal, dual = length("positive", "negative"), length("below", "above")
        return _Iterate(
            self.goal,
            self.positive + primal * change.positive,
            self.negative + primal * change.negative,
            self.below + dual * change.below,
            self.above + dual * change.above,
            self.price + dual * change.price,
        )


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def approach_least_absolute(
    points: FloatArray, cost: FloatArray, targets: IntArray
) -> stacks.Solutions:
    """Solve the linear program of each target to a complementarity gap of about 1e-6.

    If there are more coordinates than points, the solutions may violate the equations by several
    per cent. Only the basis indicated by them is used, which is hardly ever incorrect.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        The centred points, with coordinates of order 1.
    cost : ndarray of shape (n_coordinates,)
        The cost per unit of residual.
    targets : ndarray of int
        The points that are reconstructed.

    Returns
    -------
    solutions : Solutions
        The field `values` contains the weights, followed by the residuals. The field `prices`
        contains the dual variables of the coordinates, followed by that of the sum of weights.
    """
    now = _first_iterate(points, cost, targets)
    values, prices = now.value, now.price.copy()
    best, steps = np.full(len(values), np.inf), np.zeros(len(values), dtype=np.intp)
    places = np.arange(len(values))
    for step in range(MAX_STEPS):
        gap = now.gap()
        bound = (now.goal * now.price).sum(axis=1)
        # Near convergence, rounding can increase the gap: keep the best iterate and stop then.
        better = gap < best[places]
        values[places[better]] = now.value[better]
        prices[places[better]] = now.price[better]
        best[places[better]] = gap[better]
        steps[places] = step
        going = better & (gap > GAP * (1.0 + np.abs(bound)))
        now, places = now.take(going), places[going]
        if not len(places):
            break
        now = _predict_and_correct(points, now)
    return stacks.Solutions(values, prices, steps)


def _first_iterate(points: FloatArray, cost: FloatArray, targets: IntArray) -> _Iterate:
    """Return a weighted least-squares solution, shifted off the boundary, with zero prices."""
    n_targets, n_points = len(targets), len(points)
    costs = np.tile(np.append(np.ones(n_points), cost), (n_targets, 1))
    costs[np.arange(n_targets), targets] = OUT_OF_REACH
    goal = np.concatenate([points[targets], np.ones((n_targets, 1))], axis=1)
    value, price = _newton_system(points, 1.0 / costs).step(np.zeros_like(costs), goal)
    # The margin is small for variables with a high cost, above all for the target's own weight.
    margin = np.abs(value).mean(axis=1, keepdims=True) * np.minimum(1.0, 1.0 / costs)
    return _Iterate(
        goal=goal,
        positive=np.maximum(value, 0.0) + margin,
        negative=np.maximum(-value, 0.0) + margin,
        below=costs,
        above=costs.copy(),
        price=np.zeros_like(price),
    )


def _predict_and_correct(points: FloatArray, now: _Iterate) -> _Iterate:
    """Take one step of Mehrotra's predictor-corrector method."""
    system = _newton_system(points, now.positive / now.below + now.negative / now.above)
    missing = now.goal - _equations(points, now.value)

    def change(of_positive: FloatArray, of_negative: FloatArray) -> _Iterate:
        """Return the Newton step for given changes of the linearised complementarity products."""
        _, price = system.step(of_positive / now.below - of_negative / now.above, missing)
        worth = _worths(points, price)
        return replace(
            now,
            positive=(of_positive + now.positive * worth) / now.below,
            negative=(of_negative - now.negative * worth) / now.above,
            below=-worth,
            above=worth,
            price=price,
        )

    products = now.products()
    n_products = 2 * now.positive.shape[1]
    predicted = change(*(-product for product in products))
    mean = now.gap() / n_products
    after = now.moved(predicted, 1.0).gap() / n_products
    centre = ((after / mean) ** 3 * mean)[:, None]
    second_order = predicted.products()
    wanted = (centre - p - s for p, s in zip(products, second_order, strict=True))
    return now.moved(change(*wanted), FRACTION)


def _equations(points: FloatArray, value: FloatArray) -> FloatArray:
    """Return the left-hand sides of the equations: the coordinates and the sum of weights."""
    weights, residual = value[:, : len(points)], value[:, len(points) :]
    return np.concatenate([weights @ points + residual, weights.sum(axis=1)[:, None]], axis=1)


def _worths(points: FloatArray, price: FloatArray) -> FloatArray:
    """Return the dual value `A'y` of each weight and residual at the given prices y."""
    return np.concatenate([price[:, :-1] @ points.T + price[:, -1:], price[:, :-1]], axis=1)


def _newton_system(points: FloatArray, scaling: FloatArray) -> _ByPoints | _ByEquations:
    """Reduce the Newton equations to one unknown per point or equation, whichever is smaller.

    The solution consists of the steps of values and prices that remove the residual `missing` of
    the equations. The argument `rest` is the part of the step of the values that does not depend on
    the prices.
    """
    if len(points) <= points.shape[1]:
        return _ByPoints(points, scaling)
    return _ByEquations(points, scaling)


class _ByPoints:
    """Newton equations reduced to one unknown per point."""

    def __init__(self, points: FloatArray, scaling: FloatArray) -> None:
        self.points = points
        self.of_weights, self.of_residuals = scaling[:, : len(points)], scaling[:, len(points) :]
        matrix = stacks.weighted_products(points, 1.0 / self.of_residuals)
        stacks.add_to_diagonal(matrix, 1.0 / self.of_weights)
        self.inverse = stacks.scaled_inverse(matrix)
        self.response_to_sum = self.inverse.sum(axis=2)

    def step(self, rest: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the Newton steps of values and prices."""
        n_points = len(self.points)
        needed = (missing[:, :-1] - rest[:, n_points:]) / self.of_residuals
        right = rest[:, :n_points] / self.of_weights + needed @ self.points.T
        weights = stacks.times(self.inverse, right)
        # The sum of weights is one more equation; a multiple of the response to it satisfies it.
        price_of_sum = (missing[:, -1] - weights.sum(axis=1)) / self.response_to_sum.sum(axis=1)
        weights += price_of_sum[:, None] * self.response_to_sum
        residual = missing[:, :-1] - weights @ self.points
        price = (residual - rest[:, n_points:]) / self.of_residuals
        return (
            np.concatenate([weights, residual], axis=1),
            np.concatenate([price, price_of_sum[:, None]], axis=1),
        )


class _ByEquations:
    """Newton equations reduced to one unknown per coordinate and one for the sum of weights."""

    def __init__(self, points: FloatArray, scaling: FloatArray) -> None:
        self.points, self.scaling = points, scaling
        with_sum = np.vstack([points.T, np.ones(len(points))])
        matrix = stacks.weighted_products(with_sum, scaling[:, : len(points)])
        stacks.add_to_diagonal(matrix[:, :-1, :-1], scaling[:, len(points) :])
        self.inverse = stacks.scaled_inverse(matrix)

    def step(self, rest: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the Newton steps of values and prices."""
        right = missing - _equations(self.points, rest)
        price = stacks.times(self.inverse, right)
        return rest + self.scaling * _worths(self.points, price), price
