"""Compare nearest neighbours and balls with all pairwise distances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from linkselect import graphs
from linkselect._messages import GuidedValueError
from linkselect._samples import as_samples, distances, neighbors
from linkselect.graphs._distance_graphs import check_n_neighbors
from tests.helpers import literal
from tests.helpers.dense_graphs import dense
from tests.helpers.problems import samples


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
@given(X=samples(), k=st.integers(1, 7))
def test_nearest_neighbours_are_exact(store, X, k):
    expected = literal.near(X, k)
    found = graphs.nearest_edges(store(X), k)
    assert_array_equal(found.to_csr().toarray() != 0, expected & (literal.squared_distances(X) > 0))
    assert_array_equal(dense(found.reweigh(1.0), len(X)), expected)


HARD = {
    "offset": lambda rng: rng.normal(size=(400, 6)) + 1e8,
    "two far clusters": lambda rng: (
        rng.normal(size=(400, 6)) * 1e-4 + 1e4 * (np.arange(400) % 2)[:, None]
    ),
    "an outlier": lambda rng: np.vstack([rng.normal(size=(399, 6)), np.full((1, 6), 1e9)]),
    "one column with an offset": lambda rng: (
        rng.normal(size=(400, 6)) * [1, 1e-3, 1, 1, 1, 1] + [0, 1e8, 0, 0, 0, 0]
    ),
    "two sentinels": lambda rng: np.vstack(
        [rng.normal(size=(198, 2)), np.full((1, 2), 1e22), np.full((1, 2), -1e22)]
    ),
    "twins": lambda rng: rng.integers(0, 2, (400, 6)).astype(float),
    "tiny": lambda rng: rng.normal(size=(400, 6)) * 1e-120,
    "huge": lambda rng: rng.normal(size=(400, 6)) * 1e120,
    "wide": lambda rng: rng.normal(size=(60, 5000)),
}


@pytest.mark.parametrize("kind", HARD)
def test_neighbours_that_matrix_products_alone_get_wrong(kind):
    X = HARD[kind](np.random.default_rng(0))
    left, right, found = graphs.nearest(X, 5)
    for query in range(len(X)):
        away = ((X - X[query]) ** 2).sum(axis=1)
        away[query] = np.inf
        nearest = np.lexsort((np.arange(len(X)), away))[:5]
        assert_array_equal(right[left == query], nearest)
        assert_allclose(found[left == query], away[nearest], rtol=1e-12)


@pytest.mark.parametrize("width", [1, 3, 1024, 1025, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_error_bound_of_a_product_counts_all_roundings(width, dtype):
    X = np.random.default_rng(0).normal(size=(5, width))
    rows = as_samples(X).products(dtype, 1)
    # Each term of a partial sum, and each partial sum, is rounded by at most eps / 2 of |x| |y|;
    # the rows themselves and their norms add 16 eps. In float64, the norms and the exact
    # differences are rounded likewise (docs/bounds.md).
    n_roundings = min(width, 1024) + np.ceil(width / 1024)
    n_roundings *= 6 if dtype == np.float64 else 1
    least = (n_roundings / 2 + 16) * np.finfo(dtype).eps * rows.norms
    assert_allclose(rows.errors, least, rtol=1e-12)


def test_neighbours_in_small_tiles_and_any_number_of_threads(shrink):
    X = np.random.default_rng(0).normal(size=(300, 4))
    expected = graphs.nearest(X, 3)
    shrink(500)
    for n_jobs in (1, 2, 5):
        for found, whole in zip(graphs.nearest(X, 3, n_jobs=n_jobs), expected, strict=True):
            assert_array_equal(found, whole)


@pytest.mark.parametrize("pool", [None, np.arange(0, 300, 2)])
@pytest.mark.parametrize("k", [1, 12])
def test_neighbours_in_tiles_of_queries_and_samples(k, pool, sizes):
    # With ties within and across tiles.
    X = np.random.default_rng(0).integers(0, 4, size=(300, 5)).astype(float)
    queries = np.arange(5, 295, 3)
    expected = graphs.nearest(X, k, queries=queries, pool=pool)
    sizes(MANY_SAMPLES=100, LEAST_QUERIES=2, ENOUGH_QUERIES=20, TILE_SIZE=500)
    for X_now in (X, sparse.csr_array(X)):
        found = graphs.nearest(X_now, k, queries=queries, pool=pool, n_jobs=1)
        for one, other in zip(found, expected, strict=True):
            assert_array_equal(one, other)


@pytest.mark.parametrize("side", [2, 7, 16, 40])
@pytest.mark.parametrize("k", [1, 3, 20, 59])
def test_mutual_neighbours_from_many_tiles(side, k, shrink):
    # The rows are sorted, so distance bounds shrink from tile to tile. There are ties.
    X = np.sort(np.random.default_rng(0).integers(0, 30, size=(60, 2)), axis=0).astype(float)
    shrink(side * side - 1)
    for order in (slice(None), slice(None, None, -1)):
        rows = X[order]
        away = literal.squared_distances(rows)
        np.fill_diagonal(away, np.inf)
        nearest = np.argsort(away, axis=1, kind="stable")[:, :k]
        for n_jobs in (1, 3):
            left, right, found = graphs.nearest(rows, k, n_jobs=n_jobs)
            assert_array_equal(left, np.repeat(np.arange(60), k))
            assert_array_equal(right.reshape(60, k), nearest)
            assert_array_equal(found.reshape(60, k), np.take_along_axis(away, nearest, axis=1))


def test_a_small_last_tile_adds_few_candidates():
    n_samples = 2 * math.isqrt(neighbors.MUTUAL_TILE_SIZE) + 1
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    left, _ = neighbors._mutual_candidates(as_samples(X).products(np.float32, 1), 5, 1)
    assert len(left) < n_samples * 6


def test_neighbours_among_samples_in_descending_distance(shrink):
    """Every block of samples is closer to the queries than the previous one."""
    shrink(1000)
    X = np.arange(20_000.0)[:, None]
    left, right, _ = graphs.nearest(X, 2, queries=np.arange(19_990, 20_000))
    assert left.tolist() == np.repeat(np.arange(19_990, 20_000), 2).tolist()
    assert right[-4:].tolist() == [19_997, 19_999, 19_998, 19_997]


def test_neighbours_among_others_only():
    X = np.random.default_rng(0).normal(size=(50, 3))
    queries, pool = np.arange(10), np.arange(30, 50)
    left, right, _ = graphs.nearest(X, 4, queries=queries, pool=pool)
    assert_array_equal(left, np.repeat(queries, 4))
    for query in queries:
        away = ((X[pool] - X[query]) ** 2).sum(axis=1)
        assert_array_equal(right[left == query], pool[np.argsort(away)[:4]])


@pytest.mark.parametrize("n_neighbors", [4, 5])
def test_a_sample_is_not_its_own_neighbour(n_neighbors):
    X = np.arange(4.0)[:, None]
    assert len(graphs.nearest_edges(X, 3).left) == 6
    with pytest.raises(ValueError, match=r"3 possible neighbours\. Choose n_neighbors from 1 to 3"):
        graphs.nearest_edges(X, n_neighbors)


def test_a_single_sample_has_no_neighbours():
    for n_neighbors in (1, 3):
        found = graphs.nearest(np.ones((1, 2)), n_neighbors)
        assert [len(part) for part in found] == [0, 0, 0]


def test_fewer_samples_than_requested_neighbours():
    X = np.arange(6.0)[:, None]
    left, _, _ = graphs.nearest(X[:4], 9)
    assert_array_equal(left, np.repeat(np.arange(4), 3))
    left, right, _ = graphs.nearest(X, 4, queries=np.array([0, 1]), pool=np.array([0, 1, 2]))
    assert_array_equal(left, [0, 0, 1, 1])
    assert_array_equal(right, [1, 2, 0, 2])
    alone = graphs.nearest(X, 4, queries=np.array([0]), pool=np.array([0]))
    assert [len(part) for part in alone] == [0, 0, 0]


@given(samples(), st.sampled_from([0.5, 1.0, 2.5]))
def test_balls_are_exact(X, radius):
    expected = literal.near(X, None, radius)
    found = graphs.ball_edges(X, radius)
    assert_array_equal(dense(found.reweigh(1.0), len(X)), expected)


def test_memory_of_neighbours_is_not_quadratic():
    import tracemalloc

    X = np.random.default_rng(0).random((12_000, 3), dtype=np.float32)
    tracemalloc.start()
    graphs.nearest_edges(X, 5, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000 * 12_000 * 4 / 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_values_on_one_side_of_the_first_sample(sign, unit):
    """In float32, the squares of the largest values would overflow, so values are scaled first."""
    X = np.random.default_rng(0).random((30, 4))
    X[0] = 0.0
    found, expected = graphs.nearest(sign * unit * X, 3), graphs.nearest(X, 3)
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])
    assert_allclose(found[2], unit**2 * expected[2], rtol=1e-12)
    rows = as_samples(sign * unit * X).products(np.float32, 1)
    assert 0.1 < np.abs(rows.rows).max() <= 1.0


def test_neighbours_are_fewer_than_samples():
    for n_neighbors in (1, 4):
        check_n_neighbors(n_neighbors, 5)
    for n_neighbors in (0, 5, 6):
        with pytest.raises(GuidedValueError) as caught:
            check_n_neighbors(n_neighbors, 5)
        assert str(caught.value) == (
            f"n_neighbors={n_neighbors}, but X has 5 samples, so each sample has 4 possible "
            "neighbours. Choose n_neighbors from 1 to 4."
        )
        assert caught.value.parameter == "n_neighbors"


@pytest.mark.parametrize("store", [np.asfortranarray, lambda X: np.asfortranarray(X)[::-1][::-1]])
def test_rows_that_are_not_contiguous_are_copied_in_parts(store, shrink):
    shrink(39)
    X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    left, right = np.triu_indices(12, k=1)
    expected = distances.pair_distances(X, left, right, None)
    assert_array_equal(distances.pair_distances(store(X), left, right, None), expected)
    assert_allclose(expected, np.square(X[left] - X[right]).sum(axis=1), rtol=1e-5)
