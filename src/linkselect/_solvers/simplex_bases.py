"""The linear programs of `simplex`, and a basis of each.

Only the part of a basis that is not trivial needs storage: `k` points in use and `k` equations
that hold with `t_r = 0` (the sum of weights among them), as the inverse of a `k x k` matrix with
`k <= min(n - 1, d + 1)`. So many points with few coordinates and the reverse are the same code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._solvers.stacks import Stack, regular_inverse, times

# Ties (equal values, binary coordinates) stall the simplex method. A perturbation of the
# right-hand sides by this much, in units of a coordinate's mean deviation, breaks them; it is
# removed before a target is declared optimal.
PERTURBATION = 1e-9


@dataclass(frozen=True)
class Program:
    """Hold what the linear programs of all points share.

    Variables are numbered: the weights of points `0..n-1`, that of an empty point `n`, then the
    residuals of the equations: coordinates, the sum of weights, an empty one. The empty ones have
    only zeros in `table`; unused places of a basis point to them, which makes masks unnecessary.

    Attributes
    ----------
    table : ndarray of shape (n_points + 1, n_coordinates + 2)
        Points by equations.
    cost : ndarray of shape (n_coordinates,)
        The cost of one unit of residual.
    """

    table: FloatArray
    cost: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray, cost: FloatArray) -> Program:
        """Build the table of points, which are centred and have coordinates of size about 1."""
        table = np.zeros((points.shape[0] + 1, points.shape[1] + 2))
        table[:-1, :-2] = points
        table[:-1, -2] = 1.0
        return cls(table, cost)

    @property
    def n_points(self) -> int:
        """The number of points, which is also the number of the empty point."""
        return len(self.table) - 1

    @property
    def n_coordinates(self) -> int:
        """The number of coordinates, which is also the number of the equation of the sum."""
        return len(self.cost)

    @property
    def empty_equation(self) -> int:
        """The number of the empty equation among the equations."""
        return self.n_coordinates + 1

    @property
    def first_equation(self) -> int:
        """The number of the first equation among the variables."""
        return len(self.table)

    def costs(self, barred: float) -> FloatArray:
        """Return the cost of every variable; `barred` is that of those that must stay zero."""
        ones = np.ones(self.n_points)
        return np.concatenate([ones, [barred], self.cost, [barred, barred]])

    def perturbation(self) -> FloatArray:
        """Return small changes of the goal, always the same: results depend on the points alone."""
        change = np.zeros(self.n_coordinates + 2)
        change[:-2] = PERTURBATION * np.random.default_rng(0).uniform(-1.0, 1.0, self.n_coordinates)
        return change


@dataclass
class Bases(Stack):
    """Hold one basis for each target.

    Attributes
    ----------
    target : ndarray of int
        The point that is reconstructed.
    goal : ndarray
        The right-hand sides of its equations.
    points, equations : ndarray of int
        The points in use and the equations that hold without a residual, by place.
    inverse : ndarray
        The inverse of the table at (equations, points).
    sign, size : ndarray
        Of the value of each variable; outside the basis both are 0.
    steps : ndarray of int
        The number of steps taken.
    perturbed : ndarray of bool
        Whether `goal` still holds the perturbation that breaks ties.
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
    """Build the basis that an approximate solution of each target shows.

    At an optimum a variable is zero or its worth is exactly its cost. Whichever is larger, its
    size or the distance of its worth from its cost, decides.
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
    """Use no point yet: every residual is in the basis."""
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
    """Choose points and equations, the last of these for certain, whose matrix is regular."""
    matrix = table[np.ix_(points, equations)]
    largest = np.abs(matrix).max()
    # A large column comes first in the pivoting, so the sum of weights is always kept.
    matrix[:, -1] *= 1e3 * largest
    triangle, order = qr(matrix, mode="r", pivoting=True, check_finite=False)
    # A smaller pivot is what rounding leaves of a point that depends on the others.
    rank = np.count_nonzero(np.abs(np.diag(triangle)) > 1e-7 * largest)
    equations = equations[order[:rank]]
    _, order = qr(table[np.ix_(points, equations)].T, mode="r", pivoting=True, check_finite=False)
    return points[order[:rank]], equations


def remove_perturbation(program: Program, bases: Bases, which: BoolArray) -> None:
    """Restore the true right-hand sides of some targets, in place."""
    if which.any():
        part = bases.take(which)
        part.goal -= program.perturbation()
        part.perturbed[:] = False
        refactorize(program, part)
        bases.put(which, part)


def refactorize(program: Program, bases: Bases) -> None:
    """Compute inverses and values anew from the bases, so that rounding does not build up."""
    # Used places first, in both alike: the empty ones have the largest numbers.
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
    # A zero in the basis keeps the sign that it had, because prices depend on it.
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
    """Update the inverses, in place, for a variable that enters each basis and one that leaves.

    Either may be a weight or a residual. All four cases are one update of rank 1: a weight that
    enters needs a place in `points`, which is that of the weight that leaves or an empty one; a
    residual that leaves needs a place in `equations`, likewise.
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
