"""Compare the certified gaps of the first-order method with exact optima."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._solvers.simplex import absolute_gaps, solve_least_absolute
from linkselect._solvers.simplex_bases import Program
from linkselect._solvers.splitting import Splitting

PROBLEMS = {
    "more features": lambda rng: rng.random((20, 60)),
    "more samples": lambda rng: rng.random((60, 12)),
    "low rank": lambda rng: rng.random((30, 4)) @ rng.random((4, 50)) + 0.05 * rng.random((30, 50)),
    "far from zero": lambda rng: rng.normal(size=(25, 30)),
    "an outlier": lambda rng: np.vstack([rng.random((19, 30)), np.full((1, 30), 9.0)]),
}


def program_of(X):
    centred = X - X.mean(axis=0)
    unit = np.abs(centred).mean()
    return Program.from_points(centred / unit, np.full(X.shape[1], unit))


def total(X, weights):
    return np.abs(weights).sum(axis=1) + np.abs(X - weights @ X).sum(axis=1)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_is_within_the_gap_of_the_exact_optimum(kind):
    X = PROBLEMS[kind](np.random.default_rng(0))
    program, targets = program_of(X), np.arange(len(X))
    found = Splitting(program).solve(targets, 0.02, 5000)
    assert_allclose(found.values.sum(axis=1), 1.0)
    assert_array_equal(np.diag(found.values), 0.0)
    exact = total(X, solve_least_absolute(program, targets, 10_000).values)
    near = total(X, found.values)
    gaps = absolute_gaps(program, targets, found.values, found.prices)
    assert (gaps <= 0.02).all()
    # The certified gap must hold for the true optimum.
    assert (near <= exact * (1 + gaps) * (1 + 1e-9)).all()
    assert (near >= exact * (1 - 1e-9)).all()


def test_prices_are_dual_feasible():
    X = np.random.default_rng(1).random((15, 40))
    program, targets = program_of(X), np.arange(15)
    prices = Splitting(program).solve(targets, 0.05, 2000).prices
    worth = prices @ np.column_stack([program.table[:-1, :-2], np.ones(15)]).T
    np.fill_diagonal(worth, 0.0)
    assert np.abs(worth).max() <= 1 + 1e-9
    assert (np.abs(prices[:, :-1]) <= program.cost * (1 + 1e-9)).all()


def test_each_target_stops_separately_and_hardly_depends_on_others():
    X = PROBLEMS["low rank"](np.random.default_rng(2))
    splitting = Splitting(program_of(X))
    together = splitting.solve(np.arange(30), 0.01, 5000)
    assert len(np.unique(together.steps)) > 1
    alone = splitting.solve(np.array([7]), 0.01, 5000)
    assert_allclose(alone.values[0], together.values[7], atol=1e-3)


def test_too_few_steps_give_a_correct_gap():
    X = PROBLEMS["more features"](np.random.default_rng(3))
    program, targets = program_of(X), np.arange(20)
    found = Splitting(program).solve(targets, 1e-4, 30)
    gaps = absolute_gaps(program, targets, found.values, found.prices)
    exact = total(X, solve_least_absolute(program, targets, 10_000).values)
    assert (gaps > 1e-4).any()
    assert (total(X, found.values) <= exact * (1 + gaps) * (1 + 1e-9)).all()
