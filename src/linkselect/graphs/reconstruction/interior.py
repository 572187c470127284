"""Approach the least absolute reconstruction of many samples at once from the inside.

The linear program of `simplex`, solved to a few digits by Mehrotra's predictor-
corrector method. It takes about twelve steps whatever the size, where the simplex method takes
hundreds; the simplex method then needs only a few from the basis that shows here, and makes the
result exact. The optimum does not depend on how well this part did.

With `v = (s, t) = positive - negative`, the pairs of the complementarity are (`positive`, `below`)
and (`negative`, `above`), where `below` and `above` are the distances from the worth of a variable
to plus and minus its cost.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "OUT_OF_REACH",
    "add_to_diagonal",
    "approach_least_absolute",
    "regular_inverse",
    "scaled_inverse",
    "times",
    "weighted_products",
]


GAP = 1e-6
MAX_STEPS = 30
# A sample must not rebuild itself. A price out of reach does that without a special case.
OUT_OF_REACH = 1e30
FRACTION_TO_BOUNDARY = 0.9995


@dataclass
class _Iterate:
    """Primal and dual variables; the first axis of every array runs over the targets."""

    goal: FloatArray
    positive: FloatArray
    negative: FloatArray
    below: FloatArray
    above: FloatArray
    price: FloatArray

    def take(self, index: BoolArray) -> _Iterate:
        """Return some targets of the tile."""
        return _Iterate(*(getattr(self, field.name)[index] for field in fields(self)))

    @property
    def value(self) -> FloatArray:
        """The weights and compensations."""
        return self.positive - self.negative

    def gap(self) -> FloatArray:
        """Return the sum of the products that vanish at the optimum."""
        pairs = self.positive * self.below + self.negative * self.above
        return pairs.sum(axis=1)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def approach_least_absolute(
    X: FloatArray, cost: FloatArray, targets: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the program of every target to a relative gap of about 1e-6.

    Returns
    -------
    values : ndarray of shape (n_targets, n_samples + n_features)
        Weights, then compensations.
    prices : ndarray of shape (n_targets, n_features + 1)
        The dual solution, the price of the sum last.
    steps : ndarray of int
    """
    current = _first_iterate(X, cost, targets)
    values, prices = current.value, current.price.copy()
    best = np.full(len(targets), np.inf)
    steps, places = np.zeros(len(targets), dtype=np.intp), np.arange(len(targets))
    for step in range(MAX_STEPS):
        gap = current.gap()
        # Near the end rounding can undo progress: keep the best, and stop where the gap grows.
        better = gap < best[places]
        values[places[better]] = current.value[better]
        prices[places[better]] = current.price[better]
        best[places[better]] = gap[better]
        steps[places] = step
        bound = (current.goal * current.price).sum(axis=1)
        unfinished = better & (gap > GAP * (1.0 + np.abs(bound)))
        current, places = current.take(unfinished), places[unfinished]
        if not len(places):
            break
        current = _predict_and_correct(X, current)
    return values, prices, steps


def _first_iterate(X: FloatArray, cost: FloatArray, targets: IntArray) -> _Iterate:
    """Start from weighted least squares, moved off the boundary, and from prices of zero."""
    n_targets, n_variables = len(targets), sum(X.shape)
    costs = np.tile(np.concatenate([np.ones(len(X)), cost]), (n_targets, 1))
    costs[np.arange(n_targets), targets] = OUT_OF_REACH
    goal = np.concatenate([X[targets], np.ones((n_targets, 1))], axis=1)
    value, price = _newton_system(X, 1.0 / costs).step(np.zeros((n_targets, n_variables)), goal)
    margin = np.abs(value).mean(axis=1, keepdims=True) * np.minimum(1.0, 1.0 / costs)
    return _Iterate(
        goal=goal,
        positive=np.maximum(value, 0.0) + margin,
        negative=np.maximum(-value, 0.0) + margin,
        below=costs.copy(),
        above=costs.copy(),
        price=np.zeros_like(price),
    )


def _predict_and_correct(X: FloatArray, now: _Iterate) -> _Iterate:
    """Take one step of Mehrotra's method."""
    system = _newton_system(X, now.positive / now.below + now.negative / now.above)
    error = now.goal - _equations(X, now.value)

    def newton(positive_rest: FloatArray, negative_rest: FloatArray) -> _Iterate:
        rest = positive_rest / now.below - negative_rest / now.above
        _, price = system.step(rest, error)
        worth = _worths(X, price)
        return _Iterate(
            goal=now.goal,
            positive=(positive_rest + now.positive * worth) / now.below,
            negative=(negative_rest - now.negative * worth) / now.above,
            below=-worth,
            above=worth,
            price=price,
        )

    positive_product, negative_product = now.positive * now.below, now.negative * now.above
    predicted = newton(-positive_product, -negative_product)
    mean = now.gap() / (2 * now.positive.shape[1])
    after = _moved(now, predicted, fraction=1.0).gap() / (2 * now.positive.shape[1])
    centre = ((after / mean) ** 3 * mean)[:, None]
    corrected = newton(
        centre - positive_product - predicted.positive * predicted.below,
        centre - negative_product - predicted.negative * predicted.above,
    )
    return _moved(now, corrected, FRACTION_TO_BOUNDARY)


def _moved(now: _Iterate, change: _Iterate, fraction: float) -> _Iterate:
    """Move as far as all variables stay positive, primal and dual by steps of their own."""
    primal = fraction * _longest_step(
        (now.positive, change.positive), (now.negative, change.negative)
    )
    dual = fraction * _longest_step((now.below, change.below), (now.above, change.above))
    return _Iterate(
        goal=now.goal,
        positive=now.positive + primal * change.positive,
        negative=now.negative + primal * change.negative,
        below=now.below + dual * change.below,
        above=now.above + dual * change.above,
        price=now.price + dual * change.price,
    )


def _longest_step(*pairs: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the largest step of at most 1 that keeps every variable of each row positive."""
    fastest = [np.max(-change / variable, axis=1) for variable, change in pairs]
    return 1.0 / np.maximum(1.0, np.maximum(*fastest))[:, None]


def _equations(X: FloatArray, value: FloatArray) -> FloatArray:
    """Return what weights and compensations add up to: the features, then the sum of weights."""
    weights, compensation = value[:, : len(X)], value[:, len(X) :]
    return np.concatenate([weights @ X + compensation, weights.sum(axis=1)[:, None]], axis=1)


def _worths(X: FloatArray, price: FloatArray) -> FloatArray:
    """Return the worth of each weight and compensation at the given prices of the equations."""
    return np.concatenate([price[:, :-1] @ X.T + price[:, -1:], price[:, :-1]], axis=1)


class _NewtonSystem(Protocol):
    """Solve for the step of values and prices that meets `error` and the complementarity."""

    def step(self, rest: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        ...


def _newton_system(X: FloatArray, ratio: FloatArray) -> _NewtonSystem:
    """Reduce the Newton equations to the smaller of samples and equations."""
    return _BySamples(X, ratio) if len(X) <= X.shape[1] else _ByEquations(X, ratio)


class _BySamples:
    """Newton equations reduced to one unknown for each sample."""

    def __init__(self, X: FloatArray, ratio: FloatArray) -> None:
        self.X = X
        self.samples, self.features = ratio[:, : len(X)], ratio[:, len(X) :]
        matrix = weighted_products(X, 1.0 / self.features)
        add_to_diagonal(matrix, 1.0 / self.samples)
        self.inverse = scaled_inverse(matrix)
        self.response_to_sum = self.inverse.sum(axis=2)

    def step(self, rest: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        n_samples = len(self.X)
        missing = (error[:, :-1] - rest[:, n_samples:]) / self.features
        right = rest[:, :n_samples] / self.samples + missing @ self.X.T
        weights = times(self.inverse, right)
        price_of_sum = (error[:, -1] - weights.sum(axis=1)) / self.response_to_sum.sum(axis=1)
        weights += price_of_sum[:, None] * self.response_to_sum
        compensation = error[:, :-1] - weights @ self.X
        price = (compensation - rest[:, n_samples:]) / self.features
        return (
            np.concatenate([weights, compensation], axis=1),
            np.concatenate([price, price_of_sum[:, None]], axis=1),
        )


class _ByEquations:
    """Newton equations reduced to one unknown for each feature and the sum of weights."""

    def __init__(self, X: FloatArray, ratio: FloatArray) -> None:
        self.X, self.ratio = X, ratio
        with_sum = np.vstack([X.T, np.ones(len(X))])
        matrix = weighted_products(with_sum, ratio[:, : len(X)])
        add_to_diagonal(matrix[:, :-1, :-1], ratio[:, len(X) :])
        self.inverse = scaled_inverse(matrix)

    def step(self, rest: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the steps of values and prices."""
        right = error - _equations(self.X, rest)
        price = times(self.inverse, right)
        return rest + self.ratio * _worths(self.X, price), price


def weighted_products(matrix: FloatArray, weights: FloatArray) -> FloatArray:
    """Return `matrix @ diag(w) @ matrix.T` for each row w of `weights`."""
    products = np.empty((len(weights), len(matrix), len(matrix)))
    for product, root in zip(products, np.sqrt(weights), strict=True):
        scaled = matrix * root
        np.matmul(scaled, scaled.T, out=product)  # NumPy computes one half of `a @ a.T` only
    return products


def add_to_diagonal(matrices: FloatArray, values: NDArray[Any]) -> None:
    """Add to the diagonal of each matrix, in place."""
    diagonal = np.arange(matrices.shape[1])
    matrices[:, diagonal, diagonal] += values


def scaled_inverse(matrices: FloatArray) -> FloatArray:
    """Invert positive definite matrices whose diagonals span many orders of magnitude."""
    scale = 1.0 / np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    scales = scale[:, :, None] * scale[:, None, :]
    # The small addition keeps a nearly singular matrix regular; later steps correct for it.
    return regular_inverse(matrices * scales + 1e-14 * np.eye(matrices.shape[1])) * scales


def regular_inverse(matrices: FloatArray) -> FloatArray:
    """Invert matrices; one that overflowed or is singular must not stop the others of its tile."""
    finite = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    matrices = np.where(finite, matrices, np.eye(matrices.shape[1]))
    try:
        inverse = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrices)
    return inverse.astype(np.float64, copy=False)


def times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Multiply each matrix by its vector."""
    product: FloatArray = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return product
