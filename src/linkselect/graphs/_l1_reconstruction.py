"""Prepare the three l1 problems of `reconstruction` for the solvers: units, twins, feasibility."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import centre
from linkselect._messages import GuidedValueError
from linkselect._solvers.least_norm import least_norm_weights
from linkselect._solvers.simplex import absolute_gaps, solve_least_absolute
from linkselect._solvers.simplex_bases import Program
from linkselect._solvers.splitting import Splitting

Form = Literal["equality", "compensated", "tolerance"]
Solver = Literal["auto", "exact", "first_order"]

# A solution is accepted if it is certain to be this close to the optimum, relative to it.
CERTAIN_GAP = 1e-6
# And this close by the first-order method, whose rankings do not need more (docs/sparsity.md).
NEAR_GAP = 1e-2
# The first-order method pays above this many samples and features. Below, exact solutions take
# seconds, and features that are reconstructed exactly score 0 only with them.
MANY = 150
# Samples that it leaves open after this many steps converge too slowly for it.
NEAR_STEPS = 3000
# A sample counts as reconstructed exactly if its errors are this small, in units of the deviations.
EXACT = 1e-7
# Weights below this share of the largest are rounding.
SMALLEST_WEIGHT = 1e-13
# Costs of an error that are tried in turn until none is left.
EQUALITY_COSTS = (1e2, 1e4, 1e6, 1e8)


class Tile(NamedTuple):
    """The solutions of some samples: weights, relative gaps to the optimum, steps taken."""

    weights: Any  # dense as it is solved, sparse as it is kept
    gaps: FloatArray
    steps: IntArray


Solve = Callable[[IntArray], Tile]


# -- equal samples ---------------------------------------------------------------------------


def distinct_rows(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of each set of equal rows, in order, and the set that each row is in."""
    # Rows are compared as bytes, which is much faster than by value; adding 0 turns -0 into 0.
    row = np.dtype((np.void, X.itemsize * X.shape[1]))
    keys = np.ascontiguousarray(X + 0.0).view(row).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[group.reshape(-1)]


def twin_weights(group: IntArray, first: IntArray) -> csr_array:
    """Give each sample that equals others weight 1 on the first of these."""
    n_samples = len(group)
    order = np.argsort(group, kind="stable")
    size = np.bincount(group)
    second = order[np.minimum(np.cumsum(size) - size + 1, n_samples - 1)]
    everyone = np.arange(n_samples)
    twin = np.where(everyone == first[group], second[group], first[group])
    rows = everyone[size[group] > 1]
    return csr_array((np.ones(len(rows)), (rows, twin[rows])), shape=(n_samples, n_samples))


# -- the three problems ----------------------------------------------------------------------


def solver_for(solver: Solver, form: Form, n_samples: int, n_features: int) -> Solver:
    """Return "exact" instead of "auto" for small data and for forms that have no other way."""
    few = min(n_samples, n_features) <= MANY
    return "exact" if solver == "auto" and (form != "compensated" or few) else solver


def l1_solver(
    X: FloatArray,
    numbers: IntArray,
    targets: IntArray,
    form: Form,
    tolerance: float,
    max_iter: int,
    solver: Solver,
) -> Solve:
    """Prepare what all samples share; return the function that solves a tile of them.

    Parameters
    ----------
    X : ndarray of shape (n_distinct, n_features)
        Without equal rows.
    numbers : ndarray of int of shape (n_distinct,)
        The rows of the user's data that the rows of X stand for.
    targets : ndarray of int
        The rows of X that will be reconstructed.
    form, tolerance
        See `reconstruction.reconstruction_weights`.
    max_iter : int
        The largest number of simplex steps for one sample, or of steps of `nnls`.
    solver : {"exact", "first_order", "auto"}
        For `form="compensated"`: "auto" solves exactly what the first-order method leaves open.
    """
    if form == "tolerance":
        return _tolerance_solver(X, numbers, targets, tolerance, max_iter)
    if form == "equality":
        return _equality_solver(X, numbers, targets, max_iter)
    return _compensated_solver(X, max_iter, solver)


def _compensated_solver(X: FloatArray, max_iter: int, solver: Solver) -> Solve:
    """Solve for the least norm of weights and errors together."""
    X = _varying(X)
    centred = _centred(X)
    # An error costs 1 for each unit of the data, so `scale` for each unit of the scaled data.
    scale = np.abs(centred).mean(axis=0)
    program = Program.from_points(centred / scale, scale)

    def exactly(targets: IntArray) -> Tile:
        return _certified(program, targets, max_iter)

    if solver == "exact":
        return exactly
    # Its steps are the same for all features, so these keep their proportions.
    even = Program.from_points(centred / scale.mean(), np.full(len(scale), scale.mean()))
    splitting = Splitting(even)

    def solve(targets: IntArray) -> Tile:
        weights, prices, steps = splitting.solve(targets, NEAR_GAP, min(max_iter, NEAR_STEPS))
        tile = Tile(weights, absolute_gaps(even, targets, weights, prices), steps)
        left = ~(tile.gaps <= NEAR_GAP)
        if solver == "auto" and left.any():
            tile.weights[left], tile.gaps[left], more = exactly(targets[left])
            tile.steps[left] += more
        return tile

    return solve


def _certified(program: Program, targets: IntArray, max_iter: int) -> Tile:
    """Solve linear programs, and bound how far the cleaned weights are from the optimum."""
    weights, prices, steps = solve_least_absolute(program, targets, max_iter)
    weights = _cleaned(weights)
    return Tile(weights, absolute_gaps(program, targets, weights, prices), steps)


def _equality_solver(X: FloatArray, numbers: IntArray, targets: IntArray, max_iter: int) -> Solve:
    """Solve for the least norm of weights that reconstruct a sample exactly.

    An error that costs enough is not made at the optimum. Which cost is enough is not known in
    advance, so it is raised as long as some error is left.
    """
    axes, _ = _principal_axes(_scaled(X))
    outside = targets[smallest_errors(X)[targets] > 0.0]
    if len(outside):
        raise GuidedValueError(
            f"{len(outside)} of {len(X)} distinct samples, the first of them sample "
            f"{numbers[outside[0]]}, cannot be reconstructed exactly: they lie outside the affine "
            "hull of the others, as is usual for more features than samples.",
            "Pass form='compensated'.",
        )
    axes *= np.sqrt(len(X))

    def solve(targets: IntArray) -> Tile:
        tile = _unsolved(len(targets), len(X))
        for cost in EQUALITY_COSTS:
            left = np.flatnonzero(~(tile.gaps <= CERTAIN_GAP))
            if not len(left):
                break
            program = Program.from_points(axes, np.full(axes.shape[1], cost))
            weights, gaps, steps = _certified(program, targets[left], max_iter)
            error = np.abs(axes[targets[left]] - weights @ axes).max(axis=1)
            tile.weights[left] = weights
            tile.gaps[left] = np.where(error <= EXACT * np.abs(weights).sum(axis=1), gaps, np.inf)
            tile.steps[left] += steps
        return tile

    return solve


def _tolerance_solver(
    X: FloatArray, numbers: IntArray, targets: IntArray, tolerance: float, max_iter: int
) -> Solve:
    """Solve for the least norm of weights that reconstruct a sample within a tolerance."""
    smallest = smallest_errors(X)
    outside = targets[smallest[targets] > tolerance]
    if len(outside):
        raise GuidedValueError(
            f"tolerance={tolerance:g} is too small for {len(outside)} of {len(X)} distinct "
            f"samples: the smallest possible error of sample {numbers[outside[0]]} is "
            f"{smallest[outside[0]]:.4g}, and {smallest[targets].max():.4g} is that of all.",
            "Pass a larger tolerance, or form='compensated', which is always possible.",
            "tolerance",
        )
    axes, lengths = _principal_axes(X)
    points = axes * lengths
    unit = np.sqrt((points**2).sum(axis=1).mean())
    points /= unit
    largest = tolerance / unit

    def solve(targets: IntArray) -> Tile:
        tile = _unsolved(len(targets), len(X))
        for place, target in enumerate(targets):
            others = np.arange(len(X)) != target
            difference = points[others] - points[target]
            weights, bound, tile.steps[place] = least_norm_weights(difference, largest, max_iter)
            tile.weights[place, others] = weights = _cleaned(weights)
            norm = np.abs(weights).sum()
            # An error that was solved for equals the tolerance, up to rounding.
            if np.linalg.norm(weights @ difference) <= largest * (1.0 + 1e-7) + 1e-14 * norm:
                tile.gaps[place] = norm / bound - 1.0
        return tile

    return solve


def _unsolved(n_targets: int, n_points: int) -> Tile:
    """Return room for solutions, of which nothing is certain yet."""
    return Tile(
        np.zeros((n_targets, n_points)),
        np.full(n_targets, np.inf),
        np.zeros(n_targets, dtype=np.intp),
    )


def _cleaned(weights: FloatArray) -> FloatArray:
    """Set weights that are rounding to 0 and make the sums 1."""
    largest = np.abs(weights).max(axis=-1, keepdims=True)
    weights = np.where(np.abs(weights) > SMALLEST_WEIGHT * largest, weights, 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)


# -- feasibility and units -------------------------------------------------------------------


def smallest_errors(X: FloatArray) -> FloatArray:
    """Return the Euclidean distance of each sample from the affine hull of the others.

    A sample is outside of it if its leverage is 1: then no weights of the others reconstruct it.
    """
    scaled_axes, _ = _principal_axes(_scaled(X))
    outside = (scaled_axes**2).sum(axis=1) + 1.0 / len(X) >= 1.0 - 1e-9
    axes, lengths = _principal_axes(X)
    errors = np.zeros(len(X))
    errors[outside] = 1.0 / np.sqrt(((axes[outside] / lengths) ** 2).sum(axis=1))
    return errors


def _principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return coordinates of unit length along each axis in which samples differ, and lengths.

    Differences that are rounding do not count; far from zero they are larger.
    """
    axes, lengths, _ = np.linalg.svd(_centred(X), full_matrices=False)
    rounding = np.finfo(float).eps * max(lengths[0], np.abs(X).max())
    kept = lengths > max(X.shape) * rounding
    return axes[:, kept], lengths[kept]


def _scaled(X: FloatArray) -> FloatArray:
    """Divide features by their mean deviation, without centring them."""
    X = _varying(X)
    return X / np.abs(_centred(X)).mean(axis=0)


def _varying(X: FloatArray) -> FloatArray:
    """Leave constant features out."""
    return X[:, X.max(axis=0) > X.min(axis=0)]


def _centred(X: FloatArray) -> FloatArray:
    """Subtract the first sample and then the mean, so that a large offset does no harm."""
    return centre(X.copy(order="K"))
