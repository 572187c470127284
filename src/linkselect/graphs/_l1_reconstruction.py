"""Preparation of l1 reconstruction problems: scaling, duplicate samples and feasibility."""

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

# An exact solution is accepted if its certified relative gap is at most this large.
CERTAIN_GAP = 1e-6
# For the first-order method a larger gap suffices: rankings hardly change (docs/sparsity.md).
NEAR_GAP = 1e-2
# The first-order method is used above this number of samples and of features. Below it, exact
# solutions take seconds, and only they give exactly reconstructed features the score 0.
MANY = 150
# Samples that have not converged after this many steps are solved by the simplex method.
NEAR_STEPS = 3000
# A sample counts as reconstructed exactly if its errors are this small, in standard deviations.
EXACT = 1e-7
# Weights below this fraction of the largest weight are rounding errors.
SMALLEST_WEIGHT = 1e-13
# Costs of a reconstruction error, tried in turn until no error remains.
EQUALITY_COSTS = (1e2, 1e4, 1e6, 1e8)


class Tile(NamedTuple):
    """Solutions for a set of samples: weights, relative optimality gaps and numbers of steps."""

    weights: Any  # dense when solved, then stored as a sparse matrix
    gaps: FloatArray
    steps: IntArray


Solve = Callable[[IntArray], Tile]


# -- equal samples ---------------------------------------------------------------------------


def distinct_rows(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each set of equal rows and, for each row, the index of its set."""
    # Comparing rows as bytes is much faster than comparing values; adding 0 turns -0 into 0.
    row = np.dtype((np.void, X.itemsize * X.shape[1]))
    keys = np.ascontiguousarray(X + 0.0).view(row).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[group.reshape(-1)]


def twin_weights(group: IntArray, first: IntArray) -> csr_array:
    """Return weights that reconstruct each duplicate sample from the first other duplicate."""
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
    """Resolve "auto" to "exact" for small data and for forms without a first-order method."""
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
    """Return a function that solves the problems of a tile, which is a set of samples.

    Parameters
    ----------
    X : ndarray of shape (n_distinct, n_features)
        The distinct samples.
    numbers : ndarray of int of shape (n_distinct,)
        The row number of each distinct sample in the original data.
    targets : ndarray of int
        The rows of X that are reconstructed.
    form, tolerance
        See `reconstruction_weights`.
    max_iter : int
        Maximum number of simplex steps or `nnls` steps per sample.
    solver : {"exact", "first_order", "auto"}
        Solver for `form="compensated"`. With "auto", a sample is solved exactly if the first-order
        method does not converge for it.
    """
    if form == "tolerance":
        return _tolerance_solver(X, numbers, targets, tolerance, max_iter)
    if form == "equality":
        return _equality_solver(X, numbers, targets, max_iter)
    return _compensated_solver(X, max_iter, solver)


def _compensated_solver(X: FloatArray, max_iter: int, solver: Solver) -> Solve:
    """Return a solver that minimises the l1 norm of weights plus the l1 norm of errors."""
    X = _varying(X)
    centred = _centred(X)
    # An error costs 1 per unit of the original data, hence `scale` per unit of the scaled data.
    scale = np.abs(centred).mean(axis=0)
    program = Program.from_points(centred / scale, scale)

    def exactly(targets: IntArray) -> Tile:
        return _certified(program, targets, max_iter)

    if solver == "exact":
        return exactly
    # The first-order method uses one step size for all features, so they share one scale.
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
    """Solve linear programs, set tiny weights to 0, and compute bounds on the optimality gaps."""
    weights, prices, steps = solve_least_absolute(program, targets, max_iter)
    weights = _cleaned(weights)
    return Tile(weights, absolute_gaps(program, targets, weights, prices), steps)


def _equality_solver(X: FloatArray, numbers: IntArray, targets: IntArray, max_iter: int) -> Solve:
    """Return a solver that finds exact reconstruction weights of minimal l1 norm.

    This is an exact penalty method: if the cost of errors is high enough, the optimum contains no
    error. The required cost is unknown, so it is increased until no error remains.
    """
    axes, _ = _principal_axes(_scaled(X))
    outside = targets[smallest_errors(X)[targets] > 0.0]
    if len(outside):
        raise GuidedValueError(
            f"No exact reconstruction exists for {len(outside)} of {len(X)} distinct samples "
            f"(first: sample {numbers[outside[0]]}), because each lies outside the affine hull of "
            "the others. This is usual if there are more features than samples.",
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
    """Return a solver that minimises the l1 norm of weights, given a bound on the error."""
    smallest = smallest_errors(X)
    outside = targets[smallest[targets] > tolerance]
    if len(outside):
        raise GuidedValueError(
            f"tolerance={tolerance:g} is too small for {len(outside)} of {len(X)} distinct "
            f"samples: the smallest possible error is {smallest[outside[0]]:.4g} for sample "
            f"{numbers[outside[0]]} and at most {smallest[targets].max():.4g} for any sample.",
            "Pass a larger tolerance, or form='compensated', which always has a solution.",
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
            # At the optimum the error equals the tolerance up to rounding.
            if np.linalg.norm(weights @ difference) <= largest * (1.0 + 1e-7) + 1e-14 * norm:
                tile.gaps[place] = norm / bound - 1.0
        return tile

    return solve


def _unsolved(n_targets: int, n_points: int) -> Tile:
    """Return an initial tile with zero weights and infinite optimality gaps."""
    return Tile(
        np.zeros((n_targets, n_points)),
        np.full(n_targets, np.inf),
        np.zeros(n_targets, dtype=np.intp),
    )


def _cleaned(weights: FloatArray) -> FloatArray:
    """Set weights that are due to rounding errors to 0, and normalise the sum of weights to 1."""
    largest = np.abs(weights).max(axis=-1, keepdims=True)
    weights = np.where(np.abs(weights) > SMALLEST_WEIGHT * largest, weights, 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)


# -- feasibility and scaling -----------------------------------------------------------------


def smallest_errors(X: FloatArray) -> FloatArray:
    """Return the Euclidean distance of each sample from the affine hull of all other samples.

    A sample lies outside this hull if its leverage is 1. In this case, it cannot be reconstructed
    exactly.
    """
    scaled_axes, _ = _principal_axes(_scaled(X))
    outside = (scaled_axes**2).sum(axis=1) + 1.0 / len(X) >= 1.0 - 1e-9
    axes, lengths = _principal_axes(X)
    errors = np.zeros(len(X))
    errors[outside] = 1.0 / np.sqrt(((axes[outside] / lengths) ** 2).sum(axis=1))
    return errors


def _principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the left singular vectors and singular values of the centred samples.

    Singular values that are due to rounding errors are dropped. These errors increase with the
    offset of X.
    """
    axes, lengths, _ = np.linalg.svd(_centred(X), full_matrices=False)
    rounding = np.finfo(float).eps * max(lengths[0], np.abs(X).max())
    kept = lengths > max(X.shape) * rounding
    return axes[:, kept], lengths[kept]


def _scaled(X: FloatArray) -> FloatArray:
    """Divide each feature by its mean absolute deviation, without centring the feature."""
    X = _varying(X)
    return X / np.abs(_centred(X)).mean(axis=0)


def _varying(X: FloatArray) -> FloatArray:
    """Return X without constant features."""
    return X[:, X.max(axis=0) > X.min(axis=0)]


def _centred(X: FloatArray) -> FloatArray:
    """Subtract the first sample and then the mean, so that a large offset costs no precision."""
    return centre(X.copy(order="K"))
