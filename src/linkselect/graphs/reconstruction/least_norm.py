"""Rebuild samples from each other with the least l1 norm and a bounded Euclidean error.

For one sample `x_i` the problem is::

    minimise    sum_j |s_j|
    subject to  |x_i - sum_j s_j x_j| <= tolerance,  sum_j s_j = 1,  s_i = 0

No weights have a smaller norm than 1, and those with norm 1 are not negative. So a target first
goes towards the nearest point of the convex hull of the others (Wolfe 1976), and is finished if
its error becomes small enough on the way: few samples carry the weight. The others are solved by
an interior point method, and a last step solves exactly for the samples and signs that it shows.

A tile of targets runs together; the first axis of every array runs over the tile.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import FloatArray, IntArray
from linkselect.graphs.reconstruction.interior import (
    OUT_OF_REACH,
    add_to_diagonal,
    regular_inverse,
    scaled_inverse,
    times,
    weighted_products,
)
from linkselect.graphs.reconstruction.simplex import Program, finish_least_absolute

__all__ = ["norm_gaps", "solve_least_norm"]

BoolArray = NDArray[np.bool_]

GAP = 1e-9
EXACT_GAP = 1e-8
INFEASIBILITY = 1e-6
MAX_INTERIOR_STEPS = 40
REFINEMENTS = 2
# Less than usual: the room depends on the residual by a square, which long steps get wrong.
FRACTION_TO_BOUNDARY = 0.9
STEPS_BETWEEN_REFRESHES = 50
# Where samples lie close to each other, rounding can send the way to the hull round in circles.
MOST_STALLED_STEPS = 2 * STEPS_BETWEEN_REFRESHES


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def solve_least_norm(
    X: FloatArray, targets: IntArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the problem of every target.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred, of size about 1, without equal rows.
    targets : ndarray of int
        The samples to rebuild.
    tolerance : float
        The largest Euclidean error, in units of X. It must be feasible for every target.
    max_steps : int
        The largest number of steps of a method that goes from sample to sample.

    Returns
    -------
    weights : ndarray of shape (n_targets, n_samples)
    prices : ndarray of shape (n_targets, n_features + 1)
        The dual solution, the price of the sum last; `norm_gaps` certifies with it.
    steps : ndarray of int
    """
    weights, steps = _approach_hull(X, targets, tolerance, max_steps)
    prices = np.zeros((len(targets), X.shape[1] + 1))
    prices[:, -1] = 1.0
    outside = ~(_euclidean_errors(X, targets, weights) <= tolerance)
    if outside.any():
        inner_weights, inner_prices, inner_steps = _approach_least_norm(
            X, targets[outside], tolerance
        )
        weights[outside], prices[outside] = _exact_solutions(
            X, targets[outside], inner_weights, inner_prices, tolerance, max_steps
        )
        steps[outside] += inner_steps
    return weights, prices, steps


def _euclidean_errors(X: FloatArray, targets: IntArray, weights: FloatArray) -> FloatArray:
    """Return the distance of each target from what its weights rebuild."""
    return _length(X[targets] - weights @ X)


def norm_gaps(
    X: FloatArray, targets: IntArray, weights: FloatArray, prices: FloatArray, tolerance: float
) -> FloatArray:
    """Bound how far each norm is above the least one, relative to it; infinite if infeasible.

    Prices at which no sample is worth more than 1 bound the norm from below. So does 1, as the
    weights sum to 1.
    """
    worth = np.abs(prices[:, :-1] @ X.T + prices[:, -1:])
    worth[np.arange(len(targets)), targets] = 0.0
    value = (prices[:, :-1] * X[targets]).sum(axis=1) + prices[:, -1]
    value -= tolerance * _length(prices[:, :-1])
    bound = np.maximum(1.0, value / np.maximum(1.0, worth.max(axis=1)))
    feasible = _euclidean_errors(X, targets, weights) <= tolerance * (1.0 + 1e-7) + 1e-13
    return np.where(feasible, np.abs(weights).sum(axis=1) / bound - 1.0, np.inf)


# --- towards the convex hull -----------------------------------------------------------------


@dataclass
class _Faces:
    """The samples that carry weight, by place; unused places hold the number `n_samples`.

    `inverse` is that of the matrix `[[0, 1'], [1, D D']]` with D the samples in use minus the
    target. A sample that joins or leaves changes it by rank 1. `square` is the least squared
    distance so far, `stalled` the number of steps that did not change it.
    """

    place: IntArray
    target: IntArray
    samples: IntArray
    weights: FloatArray
    inverse: FloatArray
    steps: IntArray
    square: FloatArray
    stalled: IntArray

    def take(self, index: BoolArray) -> _Faces:
        """Return some targets of the tile."""
        return _Faces(*(getattr(self, field.name)[index] for field in fields(self)))


def _approach_hull(
    X: FloatArray, targets: IntArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, IntArray]:
    """Go to within the tolerance of each target, or to the nearest point of the hull."""
    weights = np.zeros((len(targets), len(X)))
    steps = np.zeros(len(targets), dtype=np.intp)
    faces = _nearest_samples(X, targets)
    while len(faces.place):
        faces = _with_free_place(X, faces)
        done = _step_toward_target(X, faces, tolerance) | (faces.steps >= max_steps)
        faces.steps += 1
        if done.any():
            arrived = faces.take(done)
            weights[arrived.place] = _spread(X, arrived.samples, arrived.weights)
            steps[arrived.place] = arrived.steps
            faces = faces.take(~done)
    return weights, steps


def _nearest_samples(X: FloatArray, targets: IntArray) -> _Faces:
    """Start each target from its nearest other sample, with weight 1."""
    n_targets, n_places = len(targets), 16
    distances = (X**2).sum(axis=1) - 2.0 * X[targets] @ X.T
    distances[np.arange(n_targets), targets] = np.inf
    faces = _Faces(
        place=np.arange(n_targets),
        target=targets,
        samples=np.full((n_targets, n_places), len(X)),
        weights=np.zeros((n_targets, n_places)),
        inverse=np.zeros((n_targets, n_places + 1, n_places + 1)),
        steps=np.zeros(n_targets, dtype=np.intp),
        square=np.full(n_targets, np.inf),
        stalled=np.zeros(n_targets, dtype=np.intp),
    )
    faces.samples[:, 0] = distances.argmin(axis=1)
    faces.weights[:, 0] = 1.0
    _refresh(X, faces)
    return faces


def _with_free_place(X: FloatArray, faces: _Faces) -> _Faces:
    """Double the places where some target uses all: most targets need few."""
    n_places = faces.samples.shape[1]
    if not (faces.samples != len(X)).all(axis=1).any():
        return faces
    more = ((0, 0), (0, n_places))
    return replace(
        faces,
        samples=np.pad(faces.samples, more, constant_values=len(X)),
        weights=np.pad(faces.weights, more),
        inverse=np.pad(faces.inverse, ((0, 0), (0, n_places), (0, n_places))),
    )


def _step_toward_target(X: FloatArray, faces: _Faces, tolerance: float) -> BoolArray:
    """Go to the nearest point in the plane of the samples in use, or drop the one in the way.

    Returns which targets are within the tolerance, at the nearest point of the hull, or stuck.
    """
    everyone = np.arange(len(faces.place))
    if faces.steps[0] % STEPS_BETWEEN_REFRESHES == STEPS_BETWEEN_REFRESHES - 1:
        _refresh(X, faces)
    goal = faces.inverse[:, 1:, 0]
    distance = np.full(goal.shape, np.inf)
    np.divide(faces.weights, faces.weights - goal, out=distance, where=goal < 0.0)
    first = distance.argmin(axis=1)
    part = np.minimum(1.0, distance[everyone, first])
    faces.weights += part[:, None] * (goal - faces.weights)

    residual = X[faces.target] - _spread(X, faces.samples, faces.weights) @ X
    square = (residual**2).sum(axis=1)
    gain = residual @ X.T + (square - (residual * X[faces.target]).sum(axis=1))[:, None]
    gain[everyone, faces.target] = -np.inf
    joining = gain.argmax(axis=1)
    blocked = part < 1.0
    at_end = ~blocked & (gain[everyone, joining] <= 1e-9 * square)
    faces.stalled = np.where(square < (1.0 - 1e-9) * faces.square, 0, faces.stalled + 1)
    faces.square = np.fmin(faces.square, square)
    done = at_end | (square <= tolerance**2) | (faces.stalled > MOST_STALLED_STEPS)
    _leave(X, faces, ~done & blocked, first)
    _join(X, faces, ~done & ~blocked, joining)
    return done


def _join(X: FloatArray, faces: _Faces, which: BoolArray, samples: IntArray) -> None:
    """Put a sample into use for some targets, in place."""
    rows = np.flatnonzero(which)
    samples, target = samples[rows], X[faces.target[rows]]
    used = faces.samples[rows] != len(X)
    free = used.argmin(axis=1)
    difference = X[samples] - target
    others = X[np.where(used, faces.samples[rows], 0)] - target[:, None, :]
    border = np.ones((len(rows), used.shape[1] + 1))
    border[:, 1:] = times(others, difference) * used
    column = times(faces.inverse[rows], border)
    height = (difference**2).sum(axis=1) - (border * column).sum(axis=1)
    column[np.arange(len(rows)), free + 1] = -1.0
    faces.inverse[rows] += column[:, :, None] * (column / height[:, None])[:, None, :]
    faces.samples[rows, free] = samples


def _leave(X: FloatArray, faces: _Faces, which: BoolArray, places: IntArray) -> None:
    """Put the sample at a place out of use for some targets, in place."""
    rows = np.flatnonzero(which)
    places = places[rows]
    column = faces.inverse[rows, :, places + 1]
    pivot = column[np.arange(len(rows)), places + 1]
    faces.inverse[rows] -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
    faces.inverse[rows, :, places + 1] = 0.0
    faces.inverse[rows, places + 1, :] = 0.0
    faces.samples[rows, places] = len(X)
    faces.weights[rows, places] = 0.0


def _refresh(X: FloatArray, faces: _Faces) -> None:
    """Compute the inverses anew, so that rounding does not build up."""
    used = faces.samples != len(X)
    points = X[np.where(used, faces.samples, 0)] - X[faces.target][:, None, :]
    points *= used[:, :, None]
    matrix = np.zeros_like(faces.inverse)
    matrix[:, 1:, 1:] = np.matmul(points, points.transpose(0, 2, 1))
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = used
    add_to_diagonal(matrix[:, 1:, 1:], ~used)
    faces.inverse = regular_inverse(matrix)
    add_to_diagonal(faces.inverse[:, 1:, 1:], -1.0 * ~used)


def _spread(X: FloatArray, samples: IntArray, weights: FloatArray) -> FloatArray:
    """Spread weights by place over all samples."""
    everywhere = np.zeros((len(weights), len(X) + 1))
    np.put_along_axis(everywhere, samples, weights, axis=1)
    return everywhere[:, :-1]


# --- the interior point method ---------------------------------------------------------------


@dataclass
class _Iterate:
    """Primal and dual variables, or a change of them.

    Weights are `positive - negative`; `below` and `above` are the distances from the worth of a
    sample to 1 and -1; `room` is `(tolerance^2 - |residual|^2) / 2` and `pull` its multiplier.
    """

    positive: FloatArray
    negative: FloatArray
    below: FloatArray
    above: FloatArray
    pull: FloatArray
    room: FloatArray
    residual: FloatArray
    price: FloatArray

    def take(self, index: BoolArray) -> _Iterate:
        """Return some targets of the tile."""
        return _Iterate(*(getattr(self, field.name)[index] for field in fields(self)))

    def moved(self, change: _Iterate, fraction: float) -> _Iterate:
        """Move as far as everything that must be positive stays so."""
        fastest = np.max(
            [
                np.max(-getattr(change, name) / getattr(self, name), axis=1)
                for name in ("positive", "negative", "below", "above", "pull", "room")
            ],
            axis=0,
        )
        step = (fraction / np.maximum(1.0, fastest))[:, None]
        names = [field.name for field in fields(self)]
        return _Iterate(*(getattr(self, name) + step * getattr(change, name) for name in names))

    @property
    def weights(self) -> FloatArray:
        """The weights of all samples."""
        return self.positive - self.negative

    def gap(self) -> FloatArray:
        """Return the sum of the products that vanish at the optimum."""
        pairs = self.positive * self.below + self.negative * self.above
        return pairs.sum(axis=1) + (self.pull * self.room)[:, 0]


def _approach_least_norm(
    X: FloatArray, targets: IntArray, tolerance: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the problem of targets outside the hull to a relative gap of about 1e-9.

    Returns
    -------
    weights, prices, steps : ndarray
        As in `solve_least_norm`.
    """
    now, goal = _first_iterate(X, targets, tolerance), _with_ones(X[targets])
    weights, prices = now.weights, now.price.copy()
    best, steps = np.full(len(targets), np.inf), np.zeros(len(targets), dtype=np.intp)
    places = np.arange(len(targets))
    for step in range(MAX_INTERIOR_STEPS):
        norm = np.abs(now.weights).sum(axis=1)
        missing = goal - now.weights @ _with_ones(X)
        missing[:, :-1] -= now.residual
        infeasibility = _length(missing[:, :-1]) / tolerance
        pulled = _length(now.pull * now.residual)
        infeasibility += _length(now.pull * now.residual - now.price[:, :-1]) / pulled
        # Near the end rounding undoes progress: keep the best, stop where it is lost.
        merit = now.gap() / norm + 1e-2 * infeasibility
        better = merit < best[places]
        weights[places[better]] = now.weights[better]
        prices[places[better]] = now.price[better]
        best[places[better]] = merit[better]
        steps[places] = step
        done = (now.gap() <= GAP * norm) & (infeasibility <= INFEASIBILITY)
        going = ~done & (merit <= 10.0 * best[places])
        now, goal, places, missing = now.take(going), goal[going], places[going], missing[going]
        if not len(places):
            break
        now = _predict_and_correct(X, now, missing, tolerance)
    return weights, prices, steps


def _first_iterate(X: FloatArray, targets: IntArray, tolerance: float) -> _Iterate:
    """Start from the weights with the least sum of squares, moved off the boundary."""
    n_targets, columns = len(targets), _with_ones(X).T
    costs = np.ones((n_targets, len(X)))
    costs[np.arange(n_targets), targets] = OUT_OF_REACH
    matrix = weighted_products(columns, 1.0 / costs)
    add_to_diagonal(matrix[:, :-1, :-1], 1e-8 * np.trace(matrix, axis1=1, axis2=2)[:, None])
    weights = times(regular_inverse(matrix), _with_ones(X[targets])) @ columns
    weights[np.arange(n_targets), targets] = 0.0
    margin = np.abs(weights).mean(axis=1, keepdims=True) / costs
    residual = X[targets] - weights @ X
    residual *= (0.5 * tolerance / np.maximum(0.5 * tolerance, _length(residual)))[:, None]
    room = (tolerance**2 - (residual**2).sum(axis=1, keepdims=True)) / 2.0
    return _Iterate(
        positive=np.maximum(weights, 0.0) + margin,
        negative=np.maximum(-weights, 0.0) + margin,
        below=costs.copy(),
        above=costs.copy(),
        pull=np.abs(weights).mean(axis=1, keepdims=True) / room,
        room=room,
        residual=residual,
        price=np.zeros((n_targets, X.shape[1] + 1)),
    )


def _predict_and_correct(
    X: FloatArray, now: _Iterate, missing: FloatArray, tolerance: float
) -> _Iterate:
    """Take one step of Mehrotra's predictor-corrector method.

    The price of the features is `pull * residual` at the optimum. Eliminating residual, room and
    pull leaves one positive definite system for the prices.
    """
    columns = _with_ones(X).T
    ratio = now.positive / now.below + now.negative / now.above
    square = (now.residual**2).sum(axis=1, keepdims=True)
    matrix = weighted_products(columns, ratio)
    pulled = now.residual / np.sqrt(now.pull * (now.room + square))
    add_to_diagonal(matrix[:, :-1, :-1], 1.0 / now.pull)
    matrix[:, :-1, :-1] -= pulled[:, :, None] * pulled[:, None, :]
    inverse = scaled_inverse(matrix)

    def along(vectors: FloatArray) -> FloatArray:
        return (now.residual * vectors).sum(axis=1, keepdims=True)

    def to_residual(price: FloatArray) -> FloatArray:
        return (price - now.residual * along(price) / (now.room + square)) / now.pull

    def newton(
        positive: FloatArray,
        negative: FloatArray,
        room_pull: FloatArray,
        room: FloatArray,
        price: FloatArray,
    ) -> _Iterate:
        rest = positive / now.below - negative / now.above
        shift = price + now.residual * (room_pull - now.pull * room) / now.room
        right = missing - rest @ columns.T
        right[:, :-1] += to_residual(shift)
        change = times(inverse, right)
        for _ in range(REFINEMENTS):
            change += times(inverse, right - times(matrix, change))
        worth = change @ columns
        residual = to_residual(change[:, :-1] - shift)
        return _Iterate(
            positive=(positive + now.positive * worth) / now.below,
            negative=(negative - now.negative * worth) / now.above,
            below=-worth,
            above=worth,
            pull=(room_pull - now.pull * (room - along(residual))) / now.room,
            room=room - along(residual),
            residual=residual,
            price=change,
        )

    positive, negative = now.positive * now.below, now.negative * now.above
    room = (tolerance**2 - square) / 2.0 - now.room
    price = now.pull * now.residual - now.price[:, :-1]
    guess = newton(-positive, -negative, -now.pull * now.room, room, price)
    n_pairs = 2 * len(X) + 1
    mean = now.gap() / n_pairs
    after = now.moved(guess, fraction=1.0).gap() / n_pairs
    centre = (np.clip(after / mean, 0.0, 1.0) ** 3 * mean)[:, None]
    change = newton(
        centre - positive - guess.positive * guess.below,
        centre - negative - guess.negative * guess.above,
        centre - now.pull * now.room - guess.pull * guess.room,
        room - (guess.residual**2).sum(axis=1, keepdims=True) / 2.0,
        price + guess.pull * guess.residual,
    )
    return now.moved(change, FRACTION_TO_BOUNDARY)


def _length(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean length of each row."""
    lengths: FloatArray = np.sqrt((vectors**2).sum(axis=1))
    return lengths


def _with_ones(X: FloatArray) -> FloatArray:
    """Append a column of ones, for the sum of weights."""
    return np.concatenate([X, np.ones((len(X), 1))], axis=1)


# --- the exact solution ----------------------------------------------------------------------


def _exact_solutions(
    X: FloatArray,
    targets: IntArray,
    weights: FloatArray,
    prices: FloatArray,
    tolerance: float,
    max_steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Make approximate solutions exact; one that does not become better stays.

    First solve for the samples and signs that a solution shows. If ties hide these, the samples
    are more than are needed; then the residual is kept as it is, and what is left is a linear
    program.
    """
    gaps = norm_gaps(X, targets, weights, prices, tolerance)
    exact_weights, exact_prices = _with_shown_signs(X, targets, weights, prices, tolerance)
    exact_gaps = norm_gaps(X, targets, exact_weights, exact_prices, tolerance)
    hidden = np.flatnonzero(~(exact_gaps <= EXACT_GAP))
    if len(hidden):
        exact_prices[hidden] = prices[hidden]
        exact_weights[hidden] = _with_known_residual(
            X, targets[hidden], weights[hidden], prices[hidden], tolerance, max_steps
        )
        exact_gaps = norm_gaps(X, targets, exact_weights, exact_prices, tolerance)
    better = np.isfinite(exact_gaps) & (exact_gaps <= np.maximum(gaps, EXACT_GAP))
    better = better[:, None]
    return np.where(better, exact_weights, weights), np.where(better, exact_prices, prices)


def _with_shown_signs(
    X: FloatArray, targets: IntArray, weights: FloatArray, prices: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Solve for the samples and signs that approximate solutions show; zeros where impossible."""
    shown = np.sign(weights) * (np.abs(weights) > 1.0 - np.abs(prices @ _with_ones(X).T))
    shown[np.arange(len(targets)), targets] = 0.0
    exact_weights, exact_prices = np.zeros_like(weights), np.zeros_like(prices)
    for place, (target, sign) in enumerate(zip(targets, shown, strict=True)):
        used = np.flatnonzero(sign)
        if 0 < len(used) <= X.shape[1] + 1:
            with suppress(np.linalg.LinAlgError):
                exact_weights[place, used], price, level = _least_norm_for(
                    X[used] - X[target], sign[used], tolerance
                )
                exact_prices[place] = np.append(price, level - price @ X[target])
    return exact_weights, exact_prices


def _with_known_residual(
    X: FloatArray,
    targets: IntArray,
    weights: FloatArray,
    prices: FloatArray,
    tolerance: float,
    max_steps: int,
) -> FloatArray:
    """Find few samples that rebuild each target up to the residual that its prices tell.

    At the optimum the residual has the direction of the prices and the length of the tolerance.
    A small error of the direction changes the norm by its square only.
    """
    scale = np.sqrt((X**2).mean(axis=0))
    residual = prices[:, :-1] * (tolerance / _length(prices[:, :-1]))[:, None]
    scaled_prices = prices * np.append(scale, 1.0)
    # More than any price: then no compensation is used.
    cost = np.full(X.shape[1], 10.0 * np.abs(scaled_prices).max())
    program = Program.from_samples(X / scale, cost)
    goal = program.table[targets]
    goal[:, :-2] -= residual / scale
    values = np.concatenate([weights, np.zeros((len(targets), X.shape[1]))], axis=1)
    vertices, _, _ = finish_least_absolute(program, targets, goal, values, scaled_prices, max_steps)
    return vertices


def _least_norm_for(
    difference: FloatArray, sign: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray, float]:
    """Solve for the weights of samples whose signs are known, with an error of the tolerance.

    Residual, weights and level are solved for together, so that `difference`, the samples minus
    the target, enters once and its condition is not squared.
    """
    n_used, n_features = difference.shape
    matrix = np.zeros((n_features + n_used + 1,) * 2)
    matrix[:n_features, :n_features] = np.eye(n_features)
    matrix[:n_features, n_features:-1] = difference.T
    matrix[n_features:-1, :n_features] = difference
    matrix[n_features:-1, -1] = matrix[-1, n_features:-1] = 1.0
    right = np.zeros((len(matrix), 2))
    right[-1, 0] = 1.0
    right[n_features:-1, 1] = sign
    fixed, slack = np.linalg.solve(matrix, right).T
    room = tolerance**2 - np.sum(fixed[:n_features] ** 2)
    share = np.sqrt(max(room, np.finfo(float).tiny) / np.sum(slack[:n_features] ** 2))
    solution = fixed + share * slack
    return solution[n_features:-1], solution[:n_features] / share, solution[-1] / share
