"""Representation of the linear programs of `simplex` and of their bases.

Only the non-trivial part of a basis is stored. It consists of `k` points with basic weights, `k`
equations with `t_r = 0`, including the sum of weights, and the inverse of the corresponding `k x k`
matrix. Because `k <= min(n - 1, d + 1)`, the same code is efficient for many points and for many
coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._solvers.stacks import Stack, regular_inverse, times

# Degeneracy (equal values, binary coordinates) stalls the simplex method. Perturbing the right-hand
# sides by this much, in units of a coordinate's mean deviation, avoids it. The perturbation is
# removed before a target is declared optimal.
PERTURBATION = 1e-9


@dataclass(frozen=True)
class Program:
    """Constraint matrix and costs, which are shared by the linear programs of all points.

    The variables are the weights of the points `0..n-1`, the weight of an empty point `n`, and the
    residuals of the equations. The equations are the coordinates, the sum of weights and an empty
    equation. In `table`, the empty point and the empty equation contain only zeros. Unused entries
    of a basis refer to them, which makes masks unnecessary.

    Attributes
    ----------
    table : ndarray of shape (n_points + 1, n_coordinates + 2)
        The transposed constraint matrix, with one row per point and one column per equation.
    cost : ndarray of shape (n_coordinates,)
        The cost per unit of residual.
    """

    table: FloatArray
    cost: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray, cost: FloatArray) -> Program:
        """Build the linear program for centred points with coordinates of order 1."""
        table = np.zeros((points.shape[0] + 1, points.shape[1] + 2))
        table[:-1, :-2] = points
        table[:-1, -2] = 1.0
        return cls(table, cost)

    @property
    def n_points(self) -> int:
        """Number of points, which is also the index of the empty point."""
        return len(self.table) - 1

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates, which is also the index of the equation for the sum of weights."""
        return len(self.cost)

    @property
    def empty_equation(self) -> int:
        """Index of the empty equation among the equations."""
        return self.n_coordinates + 1

    @property
    def first_equation(self) -> int:
        """Index of the first residual among the variables."""
        return len(self.table)

    def costs(self, barred: float) -> FloatArray:
        """Return the cost of each variable, which is `barred` if the variable must remain zero."""
        ones = np.ones(self.n_points)
        return np.concatenate([ones, [barred], self.cost, [barred, barred]])

    def perturbation(self) -> FloatArray:
        """Return small random changes of the right-hand side, which are drawn with a fixed seed."""
        change = np.zeros(self.n_coordinates + 2)
        change[:-2] = PERTURBATION * np.random.default_rng(0).uniform(-1.0, 1.0, self.n_coordinates)
        return change


@dataclass
class Bases(Stack):
    """A stack of bases, one for each target.

    Attributes
    ----------
    target : ndarray of int
        The point that is reconstructed.
    goal : ndarray
        The right-hand side of the equations of this point.
    points, equations : ndarray of int
        The points with basic weights, and the equations without a residual.
    inverse : ndarray
        The inverse of the submatrix of the constraint matrix given by `equations` and `points`.
    sign, size : ndarray
        The sign and the absolute value of each variable. Both are 0 for nonbasic variables.
    steps : ndarray of int
        The number of simplex steps taken.
    perturbed : ndarray of bool
        Whether `goal` still includes the perturbation against degeneracy.
    """

    target: IntArray
    goal: FloatArray
    points: IntArray
    equations: IntArray
    inverse: FloatArray
    sign: FloatArray
    size: FloatArray
    steps: IntArray
    perturbed: BoolArray


def bases_near(
    program: Program, targets: IntArray, values: FloatArray, prices: FloatArray
) -> Bases:
    """Build a basis for each target from an approximate solution.

    At the optimum, each variable is zero or has a reduced cost of zero. A variable is considered
    basic if its absolute value exceeds its reduced cost.
    """
    bases = _empty_bases(program, targets)
    worths = np.concatenate(
        [prices @ program.table[:-1, :-1].T, prices[:, :-1] / program.cost], axis=1
    )
    in_basis = np.abs(values) > 1.0 - np.abs(worths)
    in_basis[np.arange(len(targets)), targets] = False
    for place, (target, chosen) in enumerate(zip(targets, in_basis, strict=True)):
        points = np.flatnonzero(chosen[: program.n_points])
        if not len(points):
            points = np.array([(target + 1) % program.n_points])
        equations = np.append(np.flatnonzero(~chosen[program.n_points :]), program.n_coordinates)
        points, equations = _independent_part(program.table, points, equations)
        bases.points[place, : len(points)] = points
        bases.equations[place, : len(equations)] = equations
        bases.sign[place, points] = 1.0
        bases.sign[place, program.first_equation + equations] = 0.0
    refactorize(program, bases)
    return bases


def _empty_bases(program: Program, targets: IntArray) -> Bases:
    """Build bases in which all residuals and no weights are basic."""
    n_targets = len(targets)
    n_places = min(program.n_points - 1, program.n_coordinates + 1)
    bases = Bases(
        target=targets,
        goal=program.table[targets] + program.perturbation(),
        points=np.full((n_targets, n_places), program.n_points),
        equations=np.full((n_targets, n_places), program.empty_equation),
        inverse=np.zeros((n_targets, n_places, n_places)),
        sign=np.zeros((n_targets, sum(program.table.shape))),
        size=np.zeros((n_targets, sum(program.table.shape))),
        steps=np.zeros(n_targets, dtype=np.intp),
        perturbed=np.ones(n_targets, dtype=bool),
    )
    bases.sign[:, program.first_equation : -2] = 1.0
    return bases


def _independent_part(
    table: FloatArray, points: IntArray, equations: IntArray
) -> tuple[IntArray, IntArray]:
    """Choose points and equations with a nonsingular matrix, always keeping the last equation."""
    matrix = table[np.ix_(points, equations)]
    largest = np.abs(matrix).max()
    # Pivoting takes a large column first, so the sum of weights is always kept.
    matrix[:, -1] *= 1e3 * largest
    triangle, order = qr(matrix, mode="r", pivoting=True, check_finite=False)
    # A smaller pivot is the rounding error of a point that depends linearly on others.
    rank = np.count_nonzero(np.abs(np.diag(triangle)) > 1e-7 * largest)
    equations = equations[order[:rank]]
    _, order = qr(table[np.ix_(points, equations)].T, mode="r", pivoting=True, check_finite=False)
    return points[order[:rank]], equations


def remove_perturbation(program: Program, bases: Bases, which: BoolArray) -> None:
    """Remove the perturbation from the right-hand sides of some targets in place."""
    if which.any():
        part = bases.take(which)
        part.goal -= program.perturbation()
        part.perturbed[:] = False
        refactorize(program, part)
        bases.put(which, part)


def refactorize(program: Program, bases: Bases) -> None:
    """Recompute inverses and values from the bases, to remove accumulated rounding errors."""
    # Sorting moves unused entries to the end of both, because they have the largest indices.
    bases.points.sort(axis=1)
    bases.equations.sort(axis=1)
    used = bases.points != program.n_points
    both_used = used[:, :, None] & used[:, None, :]
    matrix = program.table[bases.points[:, None, :], bases.equations[:, :, None]]
    bases.inverse[:] = regular_inverse(np.where(both_used, matrix, np.eye(used.shape[1])))
    bases.inverse *= both_used

    goal = np.take_along_axis(bases.goal, bases.equations, axis=1)
    solution = times(bases.inverse, goal)
    # One step of iterative refinement.
    solution += times(bases.inverse, goal - times(matrix, solution))
    weights = np.zeros((len(goal), program.n_points + 1))
    np.put_along_axis(weights, bases.points, solution, axis=1)
    value = np.concatenate([weights, bases.goal - weights @ program.table], axis=1)
    # A basic variable that is zero keeps its previous sign, because prices depend on it.
    clear = np.abs(value) > 1e-12
    bases.sign[:] = np.where(clear, np.sign(value) * np.abs(bases.sign), bases.sign)
    bases.size[:] = np.abs(value * bases.sign)


def exchange(
    program: Program,
    bases: Bases,
    entering: IntArray,
    leaving: IntArray,
    pivot: FloatArray,
    column: FloatArray,
) -> None:
    """Update each inverse in place for one entering and one leaving variable (pivot).

    Both variables may be weights or residuals. All four cases are the same rank-1 update. An
    entering weight replaces the leaving weight in `points` or takes an empty place. In the same
    way, a leaving residual takes a place in `equations`.
    """
    first, everyone = program.first_equation, np.arange(len(entering))
    weight_enters, weight_leaves = entering < first, leaving < first
    old_point = np.where(weight_leaves, leaving, program.n_points)
    new_point = np.where(weight_enters, entering, program.n_points)
    old_equation = np.where(weight_enters, program.empty_equation, entering - first)
    new_equation = np.where(weight_leaves, program.empty_equation, leaving - first)
    point_place = (bases.points == old_point[:, None]).argmax(axis=1)
    equation_place = (bases.equations == old_equation[:, None]).argmax(axis=1)

    coefficients = program.table[bases.points, new_equation[:, None]]
    row = times(bases.inverse.transpose(0, 2, 1), coefficients)
    row[weight_leaves] = bases.inverse[everyone, point_place][weight_leaves]
    row[everyone, equation_place] -= ~weight_leaves
    column[everyone, point_place] -= weight_enters
    bases.inverse -= (column / pivot[:, None])[:, :, None] * row[:, None, :]

    of_points = weight_enters | weight_leaves
    bases.points[of_points, point_place[of_points]] = new_point[of_points]
    of_equations = ~(weight_enters & weight_leaves)
    bases.equations[of_equations, equation_place[of_equations]] = new_equation[of_equations]
