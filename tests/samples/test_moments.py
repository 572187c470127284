"""Weight, mean and scatter of groups, compared with their definitions."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from linkselect._samples import as_samples
from linkselect._samples.devices import to_numpy
from linkselect._samples.moments import Moments, joined, merged

STORES = {
    "dense": np.asarray,
    "sparse": sparse.csc_array,
    "device": lambda X: importlib.import_module("array_api_strict").asarray(X),
}


def moments(block, *grouping):
    """Compute the moments of a block with the method for its storage."""
    return as_samples(block)._moments(block, *grouping)


def by_definition(X, codes, weights, n_groups):
    """Return mass, mean and scatter of each group; 0 for a group without weight."""
    mass, mean, scatter = np.zeros(n_groups), *np.zeros((2, n_groups, X.shape[1]))
    for group in range(n_groups):
        own, w = X[codes == group].astype(np.longdouble), weights[codes == group]
        mass[group] = w.sum()
        if mass[group] > 0:
            mean[group] = w @ own / mass[group]
            scatter[group] = w @ (own - w @ own / mass[group]) ** 2
    return mass, mean, scatter


def assert_moments(found, expected, unit=1.0):
    mass, mean, scatter = expected
    assert_allclose(to_numpy(found.mass), mass, rtol=1e-13)
    assert_allclose(to_numpy(found.scatter), scatter, rtol=1e-10, atol=1e-14 * unit**2)
    there = mass > 0
    means = to_numpy(found.means_minus(0.0))
    assert_allclose(means[there], mean[there], rtol=1e-13, atol=1e-14 * unit)


def problem(seed, n_samples=14, n_features=6, n_groups=3):
    """Draw columns with, without and of only zeros, and columns far from 0; some weights are 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] *= rng.random(n_samples) < 0.4
    X[:, 1] = 0.0
    X[:, 2] = np.arange(n_samples) == 3
    X[:, 3] += 1e6
    X[:, 4] = 7.0
    codes = rng.integers(-1, n_groups, n_samples)
    codes[:n_groups] = np.arange(n_groups)
    weights = np.where(rng.random(n_samples) < 0.2, 0.0, rng.integers(1, 9, n_samples) / 4.0)
    weights[:n_groups] = rng.integers(1, 3, n_groups)
    return X, codes, weights


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", range(6))
def test_groups_equal_the_definition(seed, store):
    n_groups = 1 + seed % 3
    X, codes, weights = problem(seed, n_groups=n_groups)
    for given in (weights, None, 1e-3 * weights):
        used = np.ones(len(X)) if given is None else given
        found = moments(STORES[store](X), codes, given)
        assert_moments(found, by_definition(X, codes, used, n_groups))
    far = moments(STORES[store](X * 1e-3 + 1e5), codes, weights)
    # The data themselves are rounded here.
    assert_moments(far, by_definition(X * 1e-3 + 1e5, codes, weights, n_groups))


@pytest.mark.parametrize("store", ["dense", "sparse"])
def test_groups_that_have_no_samples_here(store):
    X, codes, weights = problem(0)
    codes = np.where(codes == 1, -1, codes)
    for n_groups in (3, 5):
        found = moments(STORES[store](X), codes, weights, n_groups)
        assert_moments(found, by_definition(X, codes, weights, n_groups))
        assert found.scatter.shape == (n_groups, 6)


@pytest.mark.parametrize("store", STORES)
def test_no_samples_in_any_group(store):
    X = np.ones((4, 2))
    for codes, weights in [(np.full(4, -1), None), (np.zeros(4, dtype=int), np.zeros(4))]:
        found = moments(STORES[store](X), codes, weights)
        for part in (found.mass, found.scatter, found.means_minus(0.0), found.between()):
            assert not np.any(to_numpy(part))
        assert to_numpy(found.scatter).shape == (1, 2)
        assert to_numpy(found.mass).shape == (1,)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", range(3))
def test_all_groups_as_one(seed, store):
    X, codes, weights = problem(seed)
    found = moments(STORES[store](X), codes, weights)
    mass, mean, scatter = by_definition(X, codes, weights, 3)
    inside = np.where(codes < 0, 0.0, weights)
    ((total,), (overall,), (together,)) = by_definition(X, 0 * codes, inside, 1)
    whole = found.together()
    assert_moments(whole, (np.array([total]), overall[None, :], together[None, :]))
    assert_allclose(to_numpy(found.within()), scatter.sum(axis=0), rtol=1e-10, atol=1e-14)
    between = mass @ (mean - overall) ** 2
    assert_allclose(to_numpy(found.between()), between, rtol=1e-8, atol=1e-13)
    gaps = to_numpy(found.means_minus_group(whole, 0))
    assert_allclose(gaps, mean - overall, rtol=1e-8, atol=1e-9)
    value = np.arange(6.0)
    assert_allclose(to_numpy(found.means_minus(whole._origin[0, :] * 0.0 + 1.0)), mean - 1.0)
    if store != "device":
        assert_allclose(found.means_minus(value), mean - value, rtol=1e-12, atol=1e-12)


def test_means_that_differ_by_rounding_do_not_differ():
    X = np.array([[0.1, 0.0], [0.2, 0.0], [0.3, 1.0], [0.3, 0.0], [0.2, 0.0], [0.1, 1.0]])
    found = moments(X, np.array([0, 0, 0, 1, 1, 1])).between()
    assert_array_equal(found, [0.0, 0.0])
    X[0, 0] += 4e-16
    assert moments(X, np.array([0, 0, 0, 1, 1, 1])).between()[0] < 1e-30
    X[0, 0] += 4e-15
    assert moments(X, np.array([0, 0, 0, 1, 1, 1])).between()[0] > 1e-31


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_samples_and_of_features(seed):
    X, codes, weights = problem(seed, n_samples=20)
    cuts = [slice(0, 2), slice(2, 9), slice(9, 10), slice(10, 20)]
    parts = [moments(X[part], codes[part], weights[part], 4) for part in cuts]
    assert_moments(merged(parts), by_definition(X, codes, weights, 4))
    assert_moments(merged(parts[::-1]), by_definition(X, codes, weights, 4))
    sides = [
        moments(X[:, part], codes, weights) for part in (slice(0, 1), slice(1, 4), slice(4, 6))
    ]
    assert_moments(joined(sides), by_definition(X, codes, weights, 3))
    some = moments(X, codes, weights).of_groups(slice(1, 3))
    expected = by_definition(X, codes, weights, 3)
    assert_moments(some, tuple(part[1:] for part in expected))


def test_a_part_far_away_costs_no_digits():
    X = np.array([[0.0], [1.0], [2.0], [5.0]]) + 1e9
    one, other = moments(X[:2], np.array([0, 0])), moments(X[2:], np.array([0, 0]))
    both = merged([one, other])
    assert_array_equal(both.scatter, [[14.0]])
    assert both.means_minus(1e9)[0, 0] == 2.0
    # The stored mean of a group without samples does not matter.
    empty = Moments(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), -3e300), np.zeros((1, 1)))
    for parts in ([empty, both], [both, empty]):
        assert_array_equal(merged(parts).scatter, [[14.0]])
        assert merged(parts).means_minus(1e9)[0, 0] == 2.0
    elsewhere = Moments(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), 3e300), np.zeros((1, 1)))
    assert_array_equal(merged([empty, elsewhere, both]).scatter, [[14.0]])


def test_a_distant_sample_of_small_weight_is_not_an_origin():
    """With the heaviest sample as origin, differences between the others keep their digits."""
    X = np.array([[1e12], [0.1], [0.2], [1e12], [0.3], [0.4]])
    weights = np.array([1e-30, 1.0, 2.0, 1e-30, 2.0, 2.0])
    for codes in (np.zeros(6, dtype=int), np.array([0, 0, 0, 1, 1, 1])):
        found = moments(X, codes, weights)
        expected = by_definition(X, codes, weights, codes.max() + 1)
        assert_allclose(found.scatter, expected[2], rtol=1e-9)


def bits(*found: Moments):
    """Return the bits of moments, joined along the features."""
    names = ("scatter", "_origin", "_offset")
    return [np.hstack([getattr(part, name) for part in found]).tobytes() for name in names]


@pytest.mark.parametrize("n_groups", [1, 3])
def test_sums_group_by_group_have_the_same_bits(n_groups):
    """The bits equal those of blocks with few columns, whose groups are summed together."""
    rng = np.random.default_rng(0)
    block = rng.standard_normal((400, 200)) + 1e6 * rng.random(200)
    block[:, 0], block[:, 1] = 0.0, -0.0
    codes = rng.integers(0, n_groups, 400)
    codes[[3, 40]] = -1
    # One additional group has no samples, so its weight is 0.
    by_group = moments(block, codes, None, n_groups + 1)
    halves = [moments(half, codes, None, n_groups + 1) for half in np.hsplit(block, 2)]
    for found in (by_group, *halves):
        assert_array_equal(found.mass, np.bincount(codes[codes >= 0], minlength=n_groups + 1))
    # The origin of a group without samples is the first sample.
    assert bits(by_group) == bits(*halves)
