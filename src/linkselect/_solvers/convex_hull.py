"""Go towards the nearest point of a convex hull, for a stack of targets at once (Wolfe 1976)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._solvers.stacks import Stack, add_to_diagonal, regular_inverse, times

# Most targets need few points; the places double if one needs more.
FIRST_PLACES = 16
STEPS_BETWEEN_INVERSIONS = 50
# If points lie close to each other, rounding can make the method cycle.
MOST_STALLED_STEPS = 2 * STEPS_BETWEEN_INVERSIONS
# What a step gains, as a share of the squared distance, is rounding below this.
SMALLEST_GAIN = 1e-9


@dataclass
class _Faces(Stack):
    """The points that carry weight, by place; unused places hold the number `n_points`.

    `inverse` is that of the matrix `[[0, 1'], [1, D D']]` with D the points in use minus the
    target. A point that joins or leaves changes it by rank 1. `square` is the least squared
    distance so far, `stalled` the number of steps that did not change it.
    """

    place: IntArray
    target: IntArray
    points: IntArray
    weights: FloatArray
    inverse: FloatArray
    steps: IntArray
    square: FloatArray
    stalled: IntArray


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def approach_hull(
    points: FloatArray, targets: IntArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, IntArray]:
    """Go to within the tolerance of each target, or to the nearest point of the hull.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Without equal rows.
    targets : ndarray of int
        The points to approach, each from the convex hull of the others.
    tolerance : float
        The distance that is close enough; positive, as rounding prevents 0.
    max_steps : int
        The largest number of steps for one target.

    Returns
    -------
    weights : ndarray of shape (n_targets, n_points)
        Not negative, with sum 1.
    steps : ndarray of int
    """
    weights = np.zeros((len(targets), len(points)))
    steps = np.zeros(len(targets), dtype=np.intp)
    faces = _nearest_points(points, targets)
    while len(faces.place):
        faces = _with_free_place(points, faces)
        done = _step_toward_target(points, faces, tolerance) | (faces.steps >= max_steps)
        faces.steps += 1
        if done.any():
            arrived = faces.take(done)
            weights[arrived.place] = _spread(points, arrived.points, arrived.weights)
            steps[arrived.place] = arrived.steps
            faces = faces.take(~done)
    return weights, steps


def _nearest_points(points: FloatArray, targets: IntArray) -> _Faces:
    """Start each target from its nearest other point, with weight 1."""
    n_targets, n_places = len(targets), FIRST_PLACES
    distances = (points**2).sum(axis=1) - 2.0 * points[targets] @ points.T
    distances[np.arange(n_targets), targets] = np.inf
    faces = _Faces(
        place=np.arange(n_targets),
        target=targets,
        points=np.full((n_targets, n_places), len(points)),
        weights=np.zeros((n_targets, n_places)),
        inverse=np.zeros((n_targets, n_places + 1, n_places + 1)),
        steps=np.zeros(n_targets, dtype=np.intp),
        square=np.full(n_targets, np.inf),
        stalled=np.zeros(n_targets, dtype=np.intp),
    )
    faces.points[:, 0] = distances.argmin(axis=1)
    faces.weights[:, 0] = 1.0
    _recompute_inverse(points, faces)
    return faces


def _with_free_place(points: FloatArray, faces: _Faces) -> _Faces:
    """Double the places if some target uses all: most targets need few."""
    n_places = faces.points.shape[1]
    if not (faces.points != len(points)).all(axis=1).any():
        return faces
    more = ((0, 0), (0, n_places))
    return replace(
        faces,
        points=np.pad(faces.points, more, constant_values=len(points)),
        weights=np.pad(faces.weights, more),
        inverse=np.pad(faces.inverse, ((0, 0), (0, n_places), (0, n_places))),
    )


def _step_toward_target(points: FloatArray, faces: _Faces, tolerance: float) -> BoolArray:
    """Go to the nearest point in the affine hull of the points in use, or drop a blocking one.

    Returns which targets are within the tolerance, at the nearest point of the hull, or stuck.
    """
    everyone = np.arange(len(faces.place))
    if faces.steps[0] % STEPS_BETWEEN_INVERSIONS == STEPS_BETWEEN_INVERSIONS - 1:
        _recompute_inverse(points, faces)
    # The first column of the inverse solves for the nearest point of the affine hull.
    goal = faces.inverse[:, 1:, 0]
    distance = np.full(goal.shape, np.inf)
    np.divide(faces.weights, faces.weights - goal, out=distance, where=goal < 0.0)
    first = distance.argmin(axis=1)
    part = np.minimum(1.0, distance[everyone, first])
    faces.weights += part[:, None] * (goal - faces.weights)

    residual = points[faces.target] - _spread(points, faces.points, faces.weights) @ points
    square = (residual**2).sum(axis=1)
    # How far a point lies beyond the plane through the current one, perpendicular to the residual.
    # If none does, the current point is the nearest of the hull.
    gain = residual @ points.T + (square - (residual * points[faces.target]).sum(axis=1))[:, None]
    gain[everyone, faces.target] = -np.inf
    joining = gain.argmax(axis=1)
    blocked = part < 1.0
    at_end = ~blocked & (gain[everyone, joining] <= SMALLEST_GAIN * square)
    faces.stalled = np.where(square < (1.0 - SMALLEST_GAIN) * faces.square, 0, faces.stalled + 1)
    # fmin, since rounding can make a distance NaN; that counts as a stalled step.
    faces.square = np.fmin(faces.square, square)
    done = at_end | (square <= tolerance**2) | (faces.stalled > MOST_STALLED_STEPS)
    _leave(points, faces, ~done & blocked, first)
    _join(points, faces, ~done & ~blocked, joining)
    return done


def _join(points: FloatArray, faces: _Faces, which: BoolArray, joining: IntArray) -> None:
    """Put a point into use for some targets, in place: the inverse of a bordered matrix."""
    rows = np.flatnonzero(which)
    joining, target = joining[rows], points[faces.target[rows]]
    used = faces.points[rows] != len(points)
    free = used.argmin(axis=1)
    difference = points[joining] - target
    others = points[np.where(used, faces.points[rows], 0)] - target[:, None, :]
    border = np.ones((len(rows), used.shape[1] + 1))
    border[:, 1:] = times(others, difference) * used
    column = times(faces.inverse[rows], border)
    height = (difference**2).sum(axis=1) - (border * column).sum(axis=1)
    column[np.arange(len(rows)), free + 1] = -1.0
    faces.inverse[rows] += column[:, :, None] * (column / height[:, None])[:, None, :]
    faces.points[rows, free] = joining


def _leave(points: FloatArray, faces: _Faces, which: BoolArray, places: IntArray) -> None:
    """Put the point at a place out of use for some targets, in place."""
    rows = np.flatnonzero(which)
    places = places[rows]
    column = faces.inverse[rows, :, places + 1]
    pivot = column[np.arange(len(rows)), places + 1]
    faces.inverse[rows] -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
    faces.inverse[rows, :, places + 1] = 0.0
    faces.inverse[rows, places + 1, :] = 0.0
    faces.points[rows, places] = len(points)
    faces.weights[rows, places] = 0.0


def _recompute_inverse(points: FloatArray, faces: _Faces) -> None:
    """Compute the inverses anew, so that rounding does not build up."""
    used = faces.points != len(points)
    differences = points[np.where(used, faces.points, 0)] - points[faces.target][:, None, :]
    differences *= used[:, :, None]
    matrix = np.zeros_like(faces.inverse)
    matrix[:, 1:, 1:] = np.matmul(differences, differences.transpose(0, 2, 1))
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = used
    # A one on the diagonal of an unused place keeps the matrix regular; it is removed below.
    add_to_diagonal(matrix[:, 1:, 1:], ~used)
    faces.inverse = regular_inverse(matrix)
    add_to_diagonal(faces.inverse[:, 1:, 1:], -1.0 * ~used)


def _spread(points: FloatArray, places: IntArray, weights: FloatArray) -> FloatArray:
    """Spread weights by place over all points."""
    everywhere = np.zeros((len(weights), len(points) + 1))
    np.put_along_axis(everywhere, places, weights, axis=1)
    return everywhere[:, :-1]
