"""Prototypes, sampled pairs, and the kernel width that matches the target."""

import importlib
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context

from linkselect._search.similarity import select_by_similarity
from linkselect._search.targets import (
    by_group,
    draw_from_groups,
    draw_from_pairs,
    match_sigma,
    median_differences,
    nearest_prototypes,
    pair_target,
)
from tests.helpers import literal
from tests.helpers.problems import pairs_of, prototypes


def strict(X):
    return importlib.import_module("array_api_strict").asarray(X)


def draw_all(groups, max_pairs, seed=0):
    return draw_from_groups(groups, max_pairs, np.random.default_rng(seed))


# -- prototypes and sampled pairs --------------------------------------------------------------


def test_nearest_prototypes():
    X = np.array([[0.0], [1.0], [0.4], [0.5], [1.0]])
    # Sample 4 equals sample 1 but is in another group; 3 is as near to 0 as to 1.
    assert_array_equal(nearest_prototypes(X, np.array([7, 3, -1, -1, 5])), [7, 3, 7, 7, 5])
    generator = np.random.default_rng(0)
    X = generator.random((300, 6)) + 1e8
    groups = np.where(generator.random(300) < 0.1, generator.integers(0, 4, 300), -1)
    chosen = np.flatnonzero(groups >= 0)
    literal = groups[chosen[((X[:, None] - X[chosen]) ** 2).sum(axis=2).argmin(axis=1)]]
    literal[chosen] = groups[chosen]
    assert_array_equal(nearest_prototypes(X, groups), literal)


def test_drawing_all_pairs_is_exact(load_scaled):
    X, y = load_scaled("wine")
    every = pair_target(*pairs_of(y))
    expected = select_by_similarity(X, every, 1.0, 5)
    drawn_from_pairs = draw_from_pairs(*pairs_of(y), 10**6, np.random.default_rng(0))
    for target in (draw_all(y, 10**6), drawn_from_pairs):
        assert len(target.first) == len(every.first)
        found = select_by_similarity(X, target, 1.0, 5)
        assert_allclose(found.path, expected.path)
        assert (found.standard_error == 0).all()


def test_drawn_pairs_are_distinct_and_correct():
    groups = np.random.default_rng(0).integers(-1, 4, 90)
    target = draw_all(groups, 1000, seed=1)
    assert len(target.first) == 1000
    assert (groups[target.first] >= 0).all()
    assert (groups[target.second] >= 0).all()
    alike = groups[target.first] == groups[target.second]
    assert_array_equal(alike, np.arange(1000) < target.n_must)
    pairs = {frozenset(pair) for pair in zip(target.first, target.second, strict=True)}
    assert len(pairs) == 1000
    assert all(len(pair) == 2 for pair in pairs)
    must, cannot = pairs_of(groups)
    assert target.n_available == (len(must), len(cannot))


def test_the_criterion_of_drawn_pairs_is_unbiased_with_correct_errors(load_scaled):
    X, y = load_scaled("wine")
    exact = select_by_similarity(X, y, 1.0, 1)
    best = X[:, exact.order[:1]]
    found = [select_by_similarity(best, draw_all(y, 500, seed), n_jobs=1) for seed in range(300)]
    estimates = np.array([one.path[0] for one in found])
    deviation = estimates.std()
    assert abs(estimates.mean() - exact.path[0]) < 4 * deviation / np.sqrt(300)
    assert np.mean([one.standard_error[0] for one in found]) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("n_drawn", [1, 2, 3, 10])
def test_the_standard_error_is_that_of_a_sample_without_replacement(n_drawn):
    X = np.random.default_rng(0).random((12, 2))
    must, cannot = pairs_of(np.arange(12) % 2)
    generator = np.random.default_rng(1)
    target = draw_from_pairs(must, cannot[:0], n_drawn, generator)
    found = select_by_similarity(X, target, 1.0, 1)
    ends = X[target.first][:, found.order[0]] - X[target.second][:, found.order[0]]
    errors = (1 - np.exp(-(ends**2) / 2)) ** 2
    share_left_out = 1 - n_drawn / len(must)
    variance = np.var(errors, ddof=1) / n_drawn * share_left_out if n_drawn > 1 else 0.0
    assert_allclose(found.standard_error[0], 2 * len(must) * np.sqrt(variance), rtol=1e-10)


@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
def test_selection_with_drawn_pairs_is_nearly_as_good(name, load_scaled):
    X, y = load_scaled(name)
    groups = nearest_prototypes(X, prototypes(y, 3, 0))
    target = literal.target_of_groups(groups)
    exact = select_by_similarity(X, groups, 1.0, 8)
    for seed in range(3):
        drawn = select_by_similarity(X, draw_all(groups, 4000, seed), 1.0, 8)
        reached = literal.similarity_criterion(X, drawn.order[:8], 1.0, *target)
        assert reached <= 1.02 * exact.path[-1]


# -- the kernel width that matches the target --------------------------------------------------


def test_matched_sigma(load_scaled):
    X, y = load_scaled("wine")
    target = pair_target(*pairs_of(y))
    sigma = match_sigma(X, target)
    assert sigma == match_sigma(X, target)
    assert match_sigma(10 * X + 3, target) == pytest.approx(10 * sigma, rel=1e-4)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    other = y[:, None] != y

    def mismatch(width):
        kernel = np.exp(-squared / (2 * width**2))
        return ((1 - kernel[same]) ** 2).mean() + (kernel[other] ** 2).mean()

    widths = np.geomspace(sigma / 30, sigma * 30, 400)
    assert mismatch(sigma) <= min(map(mismatch, widths)) * (1 + 1e-9)
    assert match_sigma(X, draw_all(y, 10**6)) == pytest.approx(sigma)


@pytest.mark.parametrize("unit", [0.01, 1.0, 70.0])
def test_sigma_for_pairs_of_one_kind_is_at_a_limit(unit):
    # Must-links alone favour the largest kernel values, cannot-links alone the smallest.
    X = unit * np.array([[0.0], [1.0], [5.0]])
    links, none = np.array([[0, 1], [0, 2], [1, 2]]), np.empty((0, 2), dtype=np.intp)
    assert match_sigma(X, pair_target(links, none)) == pytest.approx(4 * 5 * unit, rel=1e-4)
    assert match_sigma(X, pair_target(none, links)) == pytest.approx(unit / 4, rel=1e-4)


def test_any_sigma_matches_duplicates():
    target = pair_target(np.array([[0, 1]]), np.array([[0, 2]]))
    assert match_sigma(np.ones((3, 2)), target) == 1.0


def test_drawn_pairs_represent_all_pairs_of_their_kind():
    groups = np.repeat([0, 1], [30, 10])
    # There are many more must-links than are sampled, so each represents several.
    found = draw_from_groups(groups, 40, np.random.default_rng(0))
    n_must, n_cannot = 30 * 29 // 2 + 10 * 9 // 2, 300
    assert found.n_available == (n_must, n_cannot)
    n_drawn = found.n_must, len(found.first) - found.n_must
    assert_allclose(found.weights, [2 * n_must / n_drawn[0], 2 * n_cannot / n_drawn[1]])


@pytest.mark.parametrize("n_must", range(5))
@pytest.mark.parametrize("n_cannot", range(5))
def test_half_of_the_drawn_pairs_are_of_each_kind_if_possible(n_must, n_cannot):
    must = np.column_stack([np.arange(n_must), np.arange(n_must) + 10])
    cannot = np.column_stack([np.arange(n_cannot), np.arange(n_cannot) + 20])
    for max_pairs in range(1, 10):
        found = draw_from_pairs(must, cannot, max_pairs, np.random.default_rng(max_pairs))
        sizes = found.n_must, len(found.first) - found.n_must
        assert sum(sizes) == min(max_pairs, n_must + n_cannot)
        halves = max_pairs // 2, max_pairs - max_pairs // 2
        assert sizes[0] >= min(n_must, halves[0])
        assert sizes[1] >= min(n_cannot, halves[1])
        drawn = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
        assert drawn[: sizes[0]] == [(i, i + 10) for i in sorted(found.first[: sizes[0]])]
        assert drawn[sizes[0] :] == [(i, i + 20) for i in sorted(found.first[sizes[0] :])]
        assert len(set(drawn)) == len(drawn)
        assert found.n_available == (n_must, n_cannot)
        weights = [
            2.0 * n / max(size, 1) for n, size in zip((n_must, n_cannot), sizes, strict=True)
        ]
        assert_array_equal(found.weights, weights)


@pytest.mark.parametrize("groups", [[1, 0, -1, 0, 1, 2, 1], [0, 0], [3, -1, 3], [0, 1, 2, 5]])
def test_all_pairs_of_groups_in_the_order_of_groups(groups):
    groups = np.array(groups)
    found = draw_all(groups, 100)
    in_order = by_group(groups)
    assert_array_equal(in_order, [i for g in range(6) for i in np.flatnonzero(groups == g)])
    expected = {frozenset(pair) for pair in combinations(in_order.tolist(), 2)}
    drawn = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert {frozenset(pair) for pair in drawn} == expected
    assert len(drawn) == len(expected)
    alike = [groups[a] == groups[b] for a, b in drawn]
    assert alike == [True] * found.n_must + [False] * (len(drawn) - found.n_must)


@pytest.mark.parametrize("n_pairs", [1, 2, 5, 6])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, strict])
def test_the_median_difference_of_each_feature(n_pairs, store):
    rng = np.random.default_rng(n_pairs)
    X = rng.integers(0, 9, (12, 20)).astype(float)
    first, second = rng.integers(0, 12, (2, n_pairs))
    with config_context(array_api_dispatch=True):
        found = median_differences(store(X), first, second)
    assert_array_equal(found, np.median(np.abs(X[first] - X[second]), axis=0))


@pytest.mark.parametrize("seed", range(8))
def test_no_other_width_matches_better(seed):
    """No width in the searched range is better, for any combination of pairs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3)) + 2 * rng.random() * (np.arange(12) % 2)[:, None]
    must, cannot = pairs_of(np.arange(12) % 2)
    must, cannot = must[:: 1 + seed % 3], cannot[:: 1 + seed % 4]
    found = match_sigma(X, pair_target(must, cannot))
    apart, together = (((X[p[:, 0]] - X[p[:, 1]]) ** 2).sum(axis=1) for p in (must, cannot))
    distances = np.sqrt(np.concatenate([apart, together]))

    def mismatch(width):
        inside = np.mean((1 - np.exp(-apart / (2 * width**2))) ** 2)
        return inside + np.mean(np.exp(-together / (2 * width**2)) ** 2)

    widths = np.geomspace(distances.min() / 4, 4 * distances.max(), 3000)
    assert mismatch(found) <= min(map(mismatch, widths)) + 1e-9
    assert widths[0] <= found <= widths[-1]
