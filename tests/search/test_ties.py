"""Tests that values tie if they are equal in exact arithmetic, whatever the rounding."""

from decimal import Decimal
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from linkselect._search.fcbf import fcbf
from linkselect._search.information import Discrete, mutual_information, symmetric_uncertainty
from linkselect._search.mrmr import mrmr
from linkselect._search.redundancy import least_redundant, rank_merit
from linkselect._search.ties import tied_ranks
from tests.helpers import literal


def test_overlapping_intervals_tie_directly_or_through_others():
    lower = np.array([0.0, 0.9, 2.0, 0.4, np.inf, np.nan, np.inf, np.nan])
    upper = np.array([0.5, 1.5, 2.0, 0.9, np.inf, np.nan, np.inf, np.nan])
    assert_array_equal(tied_ranks(lower, upper), [2, 2, 1, 2, 0, 3, 0, 3])
    assert_array_equal(tied_ranks(np.empty(0), np.empty(0)), [])


def from_table(table):
    """Return two variables with the given contingency table."""
    states, values = np.indices(np.shape(table)).reshape(2, -1)
    counts = np.ravel(table)
    return np.repeat(states, counts), np.repeat(values, counts)


def names_of(variable):
    """Return a variable under all permutations of its states."""
    n_states = variable.max() + 1
    return [np.array(names)[variable] for names in permutations(range(n_states))]


# Rounding to decimals would break ties of the first two under another numbering of states.
TABLES = [
    [[3, 4, 2], [9, 3, 5], [7, 5, 2]],
    [[2, 18, 11], [12, 7, 9], [11, 14, 16]],
    [[4, 1], [1, 2]],
    [[1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1]],
]


@pytest.mark.parametrize("table", TABLES)
def test_the_numbering_of_states_does_not_matter(table):
    f, y = from_table(table)
    states = np.column_stack(names_of(f))
    in_order = np.arange(states.shape[1])
    for classes in names_of(y) if len(set(y)) < 4 else [y, y.max() - y]:
        assert_array_equal(mrmr(states, classes, 1).order, in_order)
        assert_array_equal(fcbf(states, classes).order, in_order)
        # A feature is redundant if it has the same uncertainty with a copy of the class.
        for copy in names_of(y)[-2:]:
            assert fcbf(np.column_stack([copy, states]), classes).n_predominant == 1


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_after_a_copy_of_the_class_all_features_tie(scheme):
    """Relevance equals redundancy, however small, so all values are 0 or all are 1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    states = np.column_stack([(y + 1) % 3, rng.integers(0, 3, (20_000, 20))])
    assert_array_equal(mrmr(states, y, 2, scheme).order, np.arange(21))


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_recoding_and_row_order_change_no_ranking(scheme):
    """Small redundancies have few correct digits, and so have quotients with them."""
    rng = np.random.default_rng(1)
    states, y = rng.integers(0, 3, (3000, 8)), rng.integers(0, 4, 3000)
    columns = np.column_stack([states, 2 - states, (states + 1) % 3])
    expected = mrmr(columns, y, 16, scheme)
    _, order, _ = literal.mrmr(columns.T.tolist(), y.tolist(), 16, scheme)
    assert_array_equal(expected.order, order)
    rows = rng.permutation(3000)
    others = np.column_stack([(states + 1) % 3, states, 2 - states])
    assert_array_equal(mrmr(others[rows], (3 - y)[rows], 16, scheme).order, order)


def test_errors_of_information_are_within_their_bound():
    """This includes many cells, cells with one sample, and features that hardly vary."""
    rng = np.random.default_rng(2)
    for n_samples, n_states, n_values in [(50, 3, 3), (999, 16, 16), (3000, 3000, 700)]:
        states = rng.integers(0, n_states, (n_samples, 4))
        states[:, 0] = np.arange(n_samples) == 7
        variable = rng.integers(0, n_values, n_samples)
        for compute, exact in [
            (mutual_information, literal.exact_information),
            (symmetric_uncertainty, literal.exact_uncertainty),
        ]:
            found = compute(Discrete.of(states), variable)
            for value, error, f in zip(*found, states.T.tolist(), strict=True):
                off = abs(Decimal(float(value)) - exact(f, variable.tolist()))
                assert off <= Decimal(float(error))
                assert error < 1e-11


@pytest.mark.parametrize("places", [[0, 1, 2, 3, 4, 5], [0, 5, 4, 3, 2, 1]])
def test_equal_correlations_are_ordered_by_merit(places):
    """Correlations of f, of its multiples and of 100 - f differ only in the last digit."""
    chosen = [7, 6, 8, 7, 5, 3, 2, 8, 0, 8, 6, 6, 1, 2, 9, 2, 0, 1, 2, 0]
    f = np.array([2, 9, 5, 9, 7, 3, 5, 2, 5, 6, 6, 4, 9, 0, 7, 8, 2, 0, 8, 0])
    X = np.column_stack([chosen, f, 3 * f + 7, 7 * f, 100 - f, 5 * f + 10**8]).astype(float)
    assert_array_equal(least_redundant(X, rank_merit(np.array(places)), 1.0, 2).order, places)


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_redundancy_equals_its_definition_in_any_coding(weight):
    """Negated, scaled and shifted copies have equal correlations, which tie with some merits."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (12, 4))
    columns = np.column_stack([X, 100 - X, 3 * X + 10**8, X[:, 0]])
    merit_of = rng.permutation(13)
    expected = literal.redundancy(columns.T.tolist(), merit_of.tolist(), weight)
    for rows in (np.arange(12), rng.permutation(12)):
        found = least_redundant(columns[rows].astype(float), merit_of / 12, weight, 13)
        assert_array_equal(found.order, expected)
