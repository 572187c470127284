"""Exact solution of least-absolute-value reconstruction problems by the simplex method.

For a point `x_i`, the problem is the following linear program::

    minimise    sum_j |s_j| + sum_r cost_r |t_r|
    subject to  sum_j s_j x_jr + t_r = x_ir   for every coordinate r
                sum_j s_j = 1,  s_i = 0

where s contains the weights and t the residuals. All points share the same matrix and differ only
in the right-hand side. A stack of points is therefore solved together. Each point has its own
basis, but the expensive part of a step is a single matrix product for the whole stack. The first
basis is provided by an interior-point method.

Three properties make this simplex method simple and fast. First, every basis is feasible, because
variables may have either sign. Second, a step may pass through the zeros of several variables as
long as the objective decreases (Barrodale & Roberts 1973). Third, only a small part of each basis
is stored (see `simplex_bases`).
"""

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._solvers import simplex_bases as bases_of
from linkselect._solvers.interior_point import approach_least_absolute
from linkselect._solvers.stacks import Solutions, times

# Reduced costs up to PRICE_TOLERANCE plus ROUNDING times the largest dual value count as zero.
PRICE_TOLERANCE = 1e-9
ROUNDING = 1e-13
# Relative to the largest entry of the column: a smaller pivot would make the inverse inaccurate.
SMALLEST_PIVOT = 1e-9
STEPS_BETWEEN_FACTORIZATIONS = 100
ZEROS_SORTED_FIRST = 32


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def solve_least_absolute(program: bases_of.Program, targets: IntArray, max_steps: int) -> Solutions:
    """Solve the linear program of each target.

    Parameters
    ----------
    program : Program
        The constraint matrix and the costs.
    targets : ndarray of int
        The points that are reconstructed.
    max_steps : int
        Maximum number of simplex steps per target.

    Returns
    -------
    solutions : Solutions
        The field `values` contains the weights. The field `prices` contains the dual variables of
        the coordinates, followed by that of the sum of weights, as required by `absolute_gaps`. The
        field `steps` is the total number of interior-point and simplex steps.
    """
    near = approach_least_absolute(program.table[:-1, :-2], program.cost, targets)
    bases = bases_of.bases_near(program, targets, near.values, near.prices)
    weights, prices = np.zeros((len(targets), program.n_points)), near.prices.copy()
    steps = np.zeros(len(targets), dtype=np.intp)
    places, since_factorization = np.arange(len(targets)), 0
    while len(places):
        worths = _worths_at_cost(program, bases)
        entering, excess = _entering_variables(program, bases, worths)
        optimal = excess <= PRICE_TOLERANCE + ROUNDING * np.abs(worths).max(axis=1)
        final = (optimal & ~bases.perturbed) | (bases.steps >= max_steps)
        if final.any():
            done = places[final]
            weights[done] = (bases.size * bases.sign)[final, : program.n_points]
            prices[done] = worths[final, program.first_equation : -1]
            steps[done] = bases.steps[final]
        if optimal.any() or final.any():
            bases, places, optimal = bases.take(~final), places[~final], optimal[~final]
            bases_of.remove_perturbation(program, bases, optimal)
            continue
        _advance(program, bases, entering, excess, worths)
        since_factorization += 1
        if since_factorization == STEPS_BETWEEN_FACTORIZATIONS:
            bases_of.refactorize(program, bases)
            since_factorization = 0
    return Solutions(weights, prices, near.steps + steps)


def _worths_at_cost(program: bases_of.Program, bases: bases_of.Bases) -> FloatArray:
    """Return the dual value `A'y` of each variable, where y are the prices of the current basis.

    The reduced cost of basic variables is zero. The dual value of a residual is the price of its
    equation.
    """
    first = program.first_equation
    # A basic residual determines the price of its equation; the basic weights determine the rest.
    prices = bases.sign[:, first:] * np.append(program.cost, [0.0, 0.0])
    lacking = bases.sign[:, :first] - prices @ program.table.T
    lacking = np.take_along_axis(lacking, bases.points, axis=1)
    np.put_along_axis(
        prices, bases.equations, times(bases.inverse.transpose(0, 2, 1), lacking), axis=1
    )
    return np.concatenate([prices @ program.table.T, prices], axis=1)


def _entering_variables(
    program: bases_of.Program, bases: bases_of.Bases, worths: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the variable with the most negative reduced cost (Dantzig's rule) and its excess."""
    everyone = np.arange(len(worths))
    excess = np.abs(worths) - program.costs(barred=np.inf)
    excess[everyone, bases.target] = -np.inf
    np.put_along_axis(excess, bases.points, -np.inf, axis=1)
    entering = excess.argmax(axis=1)
    return entering, excess[everyone, entering]


def _advance(
    program: bases_of.Program,
    bases: bases_of.Bases,
    entering: IntArray,
    excess: FloatArray,
    worths: FloatArray,
) -> None:
    """Increase the entering variable until the objective is minimal, and pivot in place."""
    everyone = np.arange(len(entering))
    direction = np.sign(worths[everyone, entering])
    change, column = _change_of_basis(program, bases, entering, direction)
    toward_zero = -bases.sign * change
    leaving, step, passed = _long_step_ratio_test(
        bases.size, toward_zero, program.costs(barred=0.0), excess
    )
    pivot = direction * change[everyone, leaving]
    pivot[leaving < program.first_equation] *= -1.0
    bases_of.exchange(program, bases, entering, leaving, pivot, column)

    # A variable that passes through zero continues with the opposite sign.
    bases.size -= step[:, None] * toward_zero
    np.abs(bases.size, out=bases.size)
    bases.sign[passed] *= -1.0
    bases.size[everyone, leaving] = 0.0
    bases.sign[everyone, leaving] = 0.0
    bases.size[everyone, entering] = step
    bases.sign[everyone, entering] = direction
    bases.steps += 1


def _change_of_basis(
    program: bases_of.Program, bases: bases_of.Bases, entering: IntArray, direction: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rates of change of all variables, and the tableau column of the entering one."""
    first = program.first_equation
    point = np.where(entering < first, entering, program.n_points)
    coefficients = program.table[point[:, None], bases.equations]
    coefficients += bases.equations + first == entering[:, None]
    column = times(bases.inverse, coefficients)

    weights = np.zeros((len(entering), first))
    np.put_along_axis(weights, bases.points, -direction[:, None] * column, axis=1)
    weights[np.arange(len(entering)), point] += direction * (entering < first)
    return np.concatenate([weights, -(weights @ program.table)], axis=1), column


def _long_step_ratio_test(
    size: FloatArray, toward_zero: FloatArray, cost: FloatArray, slope: FloatArray
) -> tuple[IntArray, FloatArray, tuple[IntArray, IntArray]]:
    """Find the minimum of a sum of absolute values along a direction with initial slope `-slope`.

    Whenever a variable passes through zero, the slope increases by twice the product of its cost
    and its rate of change.

    Returns
    -------
    leaving : ndarray of int
        The variable that is zero at the minimum.
    step : ndarray
        The step length to the minimum.
    passed : tuple of ndarray of int
        The indices of the variables that pass through zero before the minimum.
    """
    everyone, n_variables = np.arange(len(size)), size.shape[1]
    slowest = SMALLEST_PIVOT * toward_zero.max(axis=1, keepdims=True)
    time = np.full(size.shape, np.inf)
    np.divide(size, toward_zero, out=time, where=toward_zero > slowest)

    # The minimum is nearly always at one of the first few zeros.
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


def absolute_gaps(
    program: bases_of.Program, targets: IntArray, weights: FloatArray, prices: FloatArray
) -> FloatArray:
    """Return an upper bound on the relative gap between each objective and its optimum.

    Prices are dual feasible if the dual value of no variable exceeds its cost. Such prices yield a
    lower bound on the optimum. Another lower bound is 1, because the weights sum to 1.
    """
    points = program.table[:-1, :-1]
    residual = points[targets, :-1] - weights @ points[:, :-1]
    total = np.abs(weights).sum(axis=1) + np.abs(residual) @ program.cost
    # Clipping and scaling make any prices dual feasible, so the bound holds for all of them.
    limit = np.append(program.cost, np.inf)
    prices = np.clip(prices, -limit, limit)
    worth = np.abs(prices @ points.T)
    worth[np.arange(len(targets)), targets] = 0.0
    bound = (prices * points[targets]).sum(axis=1) / np.maximum(1.0, worth.max(axis=1))
    gaps: FloatArray = total / np.maximum(1.0, bound) - 1.0
    return gaps
