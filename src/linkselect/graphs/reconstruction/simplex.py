"""Rebuild samples from each other with the least sum of absolute values, exactly.

For one sample `x_i` the problem is a linear program::

    minimise    sum_j |s_j| + sum_r cost_r |t_r|
    subject to  sum_j s_j x_jr + t_r = x_ir   for every feature r
                sum_j s_j = 1,  s_i = 0

All samples share the matrix and differ in the right-hand side, so a tile of them runs together:
each has its own basis, and what is large in a step is one matrix product for the whole tile. An
interior point method shows the first basis, the simplex method goes on from there to the optimum.

Three facts keep the simplex method short. Every basis is feasible, because a variable of either
sign is allowed at its absolute cost. A step may run through the zeros of several variables as
long as the sum still falls (Barrodale and Roberts 1973). And only the part of a basis that is not
trivial needs storage: `k` samples in use and `k` equations that hold with `t_r = 0` (the sum of
weights among them), as the inverse of a `k x k` matrix with `k <= min(n - 1, d + 1)`. So many
samples with few features and the reverse are the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from linkselect.arrays import FloatArray, IntArray
from linkselect.graphs.reconstruction.interior import (
    approach_least_absolute,
    regular_inverse,
    times,
)

__all__ = ["Program", "absolute_gaps", "finish_least_absolute", "solve_least_absolute"]

BoolArray = NDArray[np.bool_]

# Ties (equal values, binary features) stall the simplex method. A shift of the right-hand sides
# by this much, in units of a feature's mean deviation, breaks them; it is taken back before a
# target is declared optimal.
TIE_BREAK = 1e-9
PRICE_TOLERANCE = 1e-9
ROUNDING = 1e-13
SMALLEST_PIVOT = 1e-9
STEPS_BETWEEN_REFRESHES = 100
ZEROS_SORTED_FIRST = 32


@dataclass(frozen=True)
class Program:
    """Hold what the linear programs of all samples share.

    Variables are numbered: samples `0..n-1`, an empty sample `n`, then the equations: features,
    the sum of weights, an empty one. The empty ones have only zeros in `table`; unused places of
    a basis point to them, which makes masks unnecessary.

    Attributes
    ----------
    table : ndarray of shape (n_samples + 1, n_features + 2)
        Samples by equations.
    cost : ndarray of shape (n_features,)
        The cost of one unit of compensation.
    """

    table: FloatArray
    cost: FloatArray

    @classmethod
    def from_samples(cls, X: FloatArray, cost: FloatArray) -> Program:
        """Build the table of samples, centred and with features of size about 1."""
        table = np.zeros((X.shape[0] + 1, X.shape[1] + 2))
        table[:-1, :-2] = X
        table[:-1, -2] = 1.0
        return cls(table, cost)

    @property
    def n_samples(self) -> int:
        """The number of samples, which is also the number of the empty sample."""
        return len(self.table) - 1

    @property
    def n_features(self) -> int:
        """The number of features, which is also the number of the equation of the sum."""
        return len(self.cost)

    @property
    def empty_equation(self) -> int:
        """The number of the empty equation among the equations."""
        return self.n_features + 1

    @property
    def first_equation(self) -> int:
        """The number of the first equation among the variables."""
        return len(self.table)

    def costs(self, barred: float) -> FloatArray:
        """Return the cost of every variable; `barred` is that of those that must stay zero."""
        ones = np.ones(self.n_samples)
        return np.concatenate([ones, [barred], self.cost, [barred, barred]])


@dataclass
class _Bases:
    """Hold one basis for each target of a tile, which the first axis of all arrays runs over.

    Attributes
    ----------
    target : ndarray of int
        The sample that is rebuilt.
    goal : ndarray
        The right-hand sides of its equations.
    samples, equations : ndarray of int
        The samples in use and the equations that hold without compensation, by place.
    inverse : ndarray
        The inverse of the table at (equations, samples).
    sign, size : ndarray
        Of the value of each variable; outside the basis both are 0.
    steps : ndarray of int
        The number of steps taken.
    shifted : ndarray of bool
        Whether `goal` still holds the shift that breaks ties.
    """

    target: IntArray
    goal: FloatArray
    samples: IntArray
    equations: IntArray
    inverse: FloatArray
    sign: FloatArray
    size: FloatArray
    steps: IntArray
    shifted: BoolArray

    def take(self, index: BoolArray) -> _Bases:
        """Return the bases of some targets."""
        return _Bases(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: BoolArray, part: _Bases) -> None:
        """Replace the bases of some targets, in place."""
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(part, field.name)


def solve_least_absolute(
    program: Program, targets: IntArray, max_steps: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the linear program of every target.

    Parameters
    ----------
    program : Program
        The table and the costs.
    targets : ndarray of int
        The samples to rebuild.
    max_steps : int
        The largest number of simplex steps for one target.

    Returns
    -------
    weights : ndarray of shape (n_targets, n_samples)
    prices : ndarray of shape (n_targets, n_features + 1)
        The dual solution, the price of the sum last; `absolute_gaps` certifies with it.
    steps : ndarray of int
        Of both methods together.
    """
    values, prices, inner_steps = approach_least_absolute(
        program.table[:-1, :-2], program.cost, targets
    )
    goal = program.table[targets]
    weights, prices, steps = finish_least_absolute(
        program, targets, goal, values, prices, max_steps
    )
    return weights, prices, inner_steps + steps


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def finish_least_absolute(
    program: Program,
    targets: IntArray,
    goal: FloatArray,
    values: FloatArray,
    prices: FloatArray,
    max_steps: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Go on from approximate solutions to the optimum, by the simplex method.

    Parameters
    ----------
    program, targets, max_steps
        See `solve_least_absolute`.
    goal : ndarray of shape (n_targets, n_features + 2)
        The right-hand sides of the equations.
    values : ndarray of shape (n_targets, n_samples + n_features)
        About the solution: weights, then compensations.
    prices : ndarray of shape (n_targets, n_features + 1)
        About the dual solution.

    Returns
    -------
    weights, prices, steps : ndarray
        See `solve_least_absolute`.
    """
    bases = _bases_near(program, targets, goal, values, prices)
    weights, prices = np.zeros((len(targets), program.n_samples)), prices.copy()
    steps = np.zeros(len(targets), dtype=np.intp)
    places, since_refresh = np.arange(len(targets)), 0
    while len(places):
        worths = _worths_at_cost(program, bases)
        entering, excess = _most_worthwhile(program, bases, worths)
        optimal = excess <= PRICE_TOLERANCE + ROUNDING * np.abs(worths).max(axis=1)
        final = (optimal & ~bases.shifted) | (bases.steps >= max_steps)
        if final.any():
            done = places[final]
            weights[done] = (bases.size * bases.sign)[final, : program.n_samples]
            prices[done] = worths[final, program.first_equation : -1]
            steps[done] = bases.steps[final]
        if optimal.any() or final.any():
            bases, places, optimal = bases.take(~final), places[~final], optimal[~final]
            _take_shift_back(program, bases, optimal)
            continue
        _advance(program, bases, entering, excess, worths)
        since_refresh += 1
        if since_refresh == STEPS_BETWEEN_REFRESHES:
            _refresh(program, bases)
            since_refresh = 0
    return weights, prices, steps


def _bases_near(
    program: Program,
    targets: IntArray,
    goal: FloatArray,
    values: FloatArray,
    prices: FloatArray,
) -> _Bases:
    """Build the basis that an approximate solution of each target shows.

    A variable of an optimum is zero, or worth exactly its cost. Of its size and the distance of
    its worth from its cost the larger one tells which.
    """
    n_targets = len(targets)
    n_places = min(program.n_samples - 1, program.n_features + 1)
    bases = _Bases(
        target=targets,
        goal=goal + _tie_breaking_shift(program),
        samples=np.full((n_targets, n_places), program.n_samples),
        equations=np.full((n_targets, n_places), program.empty_equation),
        inverse=np.zeros((n_targets, n_places, n_places)),
        sign=np.zeros((n_targets, sum(program.table.shape))),
        size=np.zeros((n_targets, sum(program.table.shape))),
        steps=np.zeros(n_targets, dtype=np.intp),
        shifted=np.ones(n_targets, dtype=bool),
    )
    bases.sign[:, program.first_equation : -2] = 1.0
    worths = np.concatenate(
        [prices @ program.table[:-1, :-1].T, prices[:, :-1] / program.cost], axis=1
    )
    in_basis = np.abs(values) > 1.0 - np.abs(worths)
    in_basis[np.arange(n_targets), targets] = False
    for place, (target, chosen) in enumerate(zip(targets, in_basis, strict=True)):
        samples = np.flatnonzero(chosen[: program.n_samples])
        if not len(samples):
            samples = np.array([(target + 1) % program.n_samples])
        equations = np.append(np.flatnonzero(~chosen[program.n_samples :]), program.n_features)
        samples, equations = _independent_part(program.table, samples, equations)
        bases.samples[place, : len(samples)] = samples
        bases.equations[place, : len(equations)] = equations
        bases.sign[place, samples] = 1.0
        bases.sign[place, program.first_equation + equations] = 0.0
    _refresh(program, bases)
    return bases


def _independent_part(
    table: FloatArray, samples: IntArray, equations: IntArray
) -> tuple[IntArray, IntArray]:
    """Choose samples and equations, the last of these for certain, whose matrix is regular."""
    matrix = table[np.ix_(samples, equations)]
    largest = np.abs(matrix).max()
    matrix[:, -1] *= 1e3 * largest
    triangle, order = qr(matrix, mode="r", pivoting=True, check_finite=False)
    rank = np.count_nonzero(np.abs(np.diag(triangle)) > 1e-7 * largest)
    equations = equations[order[:rank]]
    _, order = qr(table[np.ix_(samples, equations)].T, mode="r", pivoting=True, check_finite=False)
    return samples[order[:rank]], equations


def _tie_breaking_shift(program: Program) -> FloatArray:
    """Return small changes of the features, always the same: results depend on X alone."""
    shift = np.zeros(program.n_features + 2)
    shift[:-2] = TIE_BREAK * np.random.default_rng(0).uniform(-1.0, 1.0, program.n_features)
    return shift


def _take_shift_back(program: Program, bases: _Bases, which: BoolArray) -> None:
    """Restore the true right-hand sides of some targets, in place."""
    if which.any():
        part = bases.take(which)
        part.goal -= _tie_breaking_shift(program)
        part.shifted[:] = False
        _refresh(program, part)
        bases.put(which, part)


def _refresh(program: Program, bases: _Bases) -> None:
    """Compute inverses and values anew from the bases, so that rounding does not build up."""
    # Used places first, in both alike: the empty ones have the largest numbers.
    bases.samples.sort(axis=1)
    bases.equations.sort(axis=1)
    used = bases.samples != program.n_samples
    both_used = used[:, :, None] & used[:, None, :]
    matrix = program.table[bases.samples[:, None, :], bases.equations[:, :, None]]
    bases.inverse[:] = regular_inverse(np.where(both_used, matrix, np.eye(used.shape[1])))
    bases.inverse *= both_used

    goal = np.take_along_axis(bases.goal, bases.equations, axis=1)
    solution = times(bases.inverse, goal)
    solution += times(bases.inverse, goal - times(matrix, solution))
    weights = np.zeros((len(goal), program.n_samples + 1))
    np.put_along_axis(weights, bases.samples, solution, axis=1)
    value = np.concatenate([weights, bases.goal - weights @ program.table], axis=1)
    # A zero in the basis keeps the sign that it had, because prices depend on it.
    clear = np.abs(value) > 1e-12
    bases.sign[:] = np.where(clear, np.sign(value) * np.abs(bases.sign), bases.sign)
    bases.size[:] = np.abs(value * bases.sign)


def _worths_at_cost(program: Program, bases: _Bases) -> FloatArray:
    """Return what one unit of each variable is worth when those in the basis are at cost.

    The worth of an equation's variable is the price of that equation.
    """
    first = program.first_equation
    prices = bases.sign[:, first:] * np.append(program.cost, [0.0, 0.0])
    lacking = bases.sign[:, :first] - prices @ program.table.T
    lacking = np.take_along_axis(lacking, bases.samples, axis=1)
    np.put_along_axis(
        prices, bases.equations, times(bases.inverse.transpose(0, 2, 1), lacking), axis=1
    )
    return np.concatenate([prices @ program.table.T, prices], axis=1)


def _most_worthwhile(
    program: Program, bases: _Bases, worths: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the variable whose worth exceeds its cost most, and by how much."""
    everyone = np.arange(len(worths))
    excess = np.abs(worths) - program.costs(barred=np.inf)
    excess[everyone, bases.target] = -np.inf
    np.put_along_axis(excess, bases.samples, -np.inf, axis=1)
    entering = excess.argmax(axis=1)
    return entering, excess[everyone, entering]


def _advance(
    program: Program, bases: _Bases, entering: IntArray, excess: FloatArray, worths: FloatArray
) -> None:
    """Let the entering variable grow until the sum is least, and exchange it, in place."""
    everyone = np.arange(len(entering))
    direction = np.sign(worths[everyone, entering])
    change, column = _change_of_basis(program, bases, entering, direction)
    toward_zero = -bases.sign * change
    leaving, step, passed = _lowest_point(
        bases.size, toward_zero, program.costs(barred=0.0), excess
    )
    pivot = direction * change[everyone, leaving]
    pivot[leaving < program.first_equation] *= -1.0
    _exchange(program, bases, entering, leaving, pivot, column)

    bases.size -= step[:, None] * toward_zero
    np.abs(bases.size, out=bases.size)
    bases.sign[passed] *= -1.0
    bases.size[everyone, leaving] = 0.0
    bases.sign[everyone, leaving] = 0.0
    bases.size[everyone, entering] = step
    bases.sign[everyone, entering] = direction
    bases.steps += 1


def _change_of_basis(
    program: Program, bases: _Bases, entering: IntArray, direction: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how all variables change as the entering one grows, and its tableau column."""
    first = program.first_equation
    sample = np.where(entering < first, entering, program.n_samples)
    coefficients = program.table[sample[:, None], bases.equations]
    coefficients += bases.equations + first == entering[:, None]
    column = times(bases.inverse, coefficients)

    weights = np.zeros((len(entering), first))
    np.put_along_axis(weights, bases.samples, -direction[:, None] * column, axis=1)
    weights[np.arange(len(entering)), sample] += direction * (entering < first)
    return np.concatenate([weights, -(weights @ program.table)], axis=1), column


def _lowest_point(
    size: FloatArray, toward_zero: FloatArray, cost: FloatArray, slope: FloatArray
) -> tuple[IntArray, FloatArray, tuple[IntArray, IntArray]]:
    """Find where a sum of absolute values that falls by `slope` stops falling.

    At each zero of a variable that is passed the slope loses twice its cost times its speed.

    Returns
    -------
    leaving : ndarray of int
        The variable that is zero at the lowest point.
    step : ndarray
        How far that is.
    passed : tuple of ndarray of int
        The index of the variables whose zero is passed on the way.
    """
    everyone, n_variables = np.arange(len(size)), size.shape[1]
    slowest = SMALLEST_PIVOT * toward_zero.max(axis=1, keepdims=True)
    time = np.full(size.shape, np.inf)
    np.divide(size, toward_zero, out=time, where=toward_zero > slowest)

    # The lowest point is nearly always among the first few zeros.
    for count in (min(ZEROS_SORTED_FIRST, n_variables), n_variables):
        order = np.argpartition(time, count - 1, axis=1)[:, :count]
        times_in_order = np.take_along_axis(time, order, axis=1)
        order = np.take_along_axis(order, np.argsort(times_in_order, axis=1), axis=1)
        exists = np.isfinite(np.take_along_axis(time, order, axis=1))
        lost = 2.0 * cost[order] * np.take_along_axis(toward_zero, order, axis=1)
        total_lost = np.cumsum(np.where(exists, lost, 0.0), axis=1)
        if (total_lost[:, -1] >= slope).all():
            break
    rank = (total_lost < slope[:, None]).sum(axis=1)
    rank = np.minimum(rank, exists.sum(axis=1) - 1)
    leaving = order[everyone, rank]
    before = np.arange(order.shape[1]) < rank[:, None]
    return leaving, time[everyone, leaving], (np.nonzero(before)[0], order[before])


def _exchange(
    program: Program,
    bases: _Bases,
    entering: IntArray,
    leaving: IntArray,
    pivot: FloatArray,
    column: FloatArray,
) -> None:
    """Update the inverses, in place, for a variable that enters each basis and one that leaves.

    Either may be a weight or a compensation. All four cases are one update of rank 1: a weight
    that enters needs a place in `samples`, which is that of the weight that leaves or an empty
    one; a compensation that leaves needs a place in `equations`, likewise.
    """
    first, everyone = program.first_equation, np.arange(len(entering))
    weight_enters, weight_leaves = entering < first, leaving < first
    old_sample = np.where(weight_leaves, leaving, program.n_samples)
    new_sample = np.where(weight_enters, entering, program.n_samples)
    old_equation = np.where(weight_enters, program.empty_equation, entering - first)
    new_equation = np.where(weight_leaves, program.empty_equation, leaving - first)
    sample_place = (bases.samples == old_sample[:, None]).argmax(axis=1)
    equation_place = (bases.equations == old_equation[:, None]).argmax(axis=1)

    coefficients = program.table[bases.samples, new_equation[:, None]]
    row = times(bases.inverse.transpose(0, 2, 1), coefficients)
    row[weight_leaves] = bases.inverse[everyone, sample_place][weight_leaves]
    row[everyone, equation_place] -= ~weight_leaves
    column[everyone, sample_place] -= weight_enters
    bases.inverse -= (column / pivot[:, None])[:, :, None] * row[:, None, :]

    of_samples = weight_enters | weight_leaves
    bases.samples[of_samples, sample_place[of_samples]] = new_sample[of_samples]
    of_equations = ~(weight_enters & weight_leaves)
    bases.equations[of_equations, equation_place[of_equations]] = new_equation[of_equations]


def absolute_gaps(
    program: Program, targets: IntArray, weights: FloatArray, prices: FloatArray
) -> FloatArray:
    """Bound how far each sum is above the least one, relative to it.

    Prices at which nothing is worth more than its cost bound the sum from below. So does 1, as
    the weights sum to 1.
    """
    samples = program.table[:-1, :-1]
    compensation = samples[targets, :-1] - weights @ samples[:, :-1]
    total = np.abs(weights).sum(axis=1) + np.abs(compensation) @ program.cost
    limit = np.append(program.cost, np.inf)
    prices = np.clip(prices, -limit, limit)
    worth = np.abs(prices @ samples.T)
    worth[np.arange(len(targets)), targets] = 0.0
    bound = (prices * samples[targets]).sum(axis=1) / np.maximum(1.0, worth.max(axis=1))
    gaps: FloatArray = total / np.maximum(1.0, bound) - 1.0
    return gaps
