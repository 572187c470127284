"""Selection by merit and redundancy."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._samples import as_samples
from linkselect._search import redundancy
from linkselect._search.redundancy import least_redundant, rank_merit


def test_copies_rank_last_and_constants_are_harmless():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) + 1e8
    X = np.column_stack([X, -X, np.full(30, 0.1), 1e-160 * X[:, 0]])
    merit = np.array([1, 0.9, 0.8, 1, 0.9, 0.8, 0.85, 0.95])
    found = least_redundant(X, merit, 0.5, 8)
    assert set(found.order[:4]) == {0, 1, 2, 6}


def test_constants_have_no_correlations():
    X = np.column_stack([np.full(9, 3.0), np.full(9, 7.0), np.arange(9.0), np.zeros(9)])
    found = least_redundant(X, np.array([1.0, 0.9, 0.8, 0.7]), 0.5, 4)
    assert found.order.tolist() == [0, 1, 2, 3]
    assert_array_equal(found.path, [1.0, 0.45, 0.4, 0.35])


def test_values_are_merit_minus_the_largest_correlation():
    rng = np.random.default_rng(0)
    X, merit = rng.normal(size=(20, 25)), rank_merit(rng.permutation(25))
    found = least_redundant(X, merit, 0.3, 25)
    correlations = np.abs(np.corrcoef(X.T))
    chosen = [int(merit.argmax())]
    path = [1.0]
    while len(chosen) < 25:
        values = 0.7 * merit - 0.3 * correlations[:, chosen].max(axis=1)
        values[chosen] = -np.inf
        chosen.append(int(values.argmax()))
        path.append(values.max())
    assert found.order.tolist() == chosen
    assert_allclose(found.path, path, rtol=1e-12)
    for n_chosen in (1, 2, 7):
        short = least_redundant(X, merit, 0.3, n_chosen)
        assert short.order[:n_chosen].tolist() == chosen[:n_chosen]
        assert sorted(short.order) == list(range(25))
        assert len(short.path) == n_chosen


def test_merits_are_spread_evenly():
    assert rank_merit(np.array([2, 0, 1])).tolist() == [0.5, 0.0, 1.0]
    assert rank_merit(np.array([1, 0])).tolist() == [0.0, 1.0]
    assert rank_merit(np.array([0])).tolist() == [1.0]


def test_no_correlation_is_above_one():
    """The product of a unit vector with itself may exceed 1 by rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(17, 20))
    units = redundancy._unit_columns(X.copy())
    assert (units * units).sum(axis=0).max() > 1.0
    samples = as_samples(X)
    found = np.array([redundancy._correlations(samples, feature) for feature in range(20)])
    assert found.max() <= 1.0
    assert_allclose(found, np.abs(np.corrcoef(X.T)), rtol=1e-12)
