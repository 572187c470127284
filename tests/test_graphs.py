import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import literal
from linkselect import graphs
from linkselect.graphs import distances, kernels, neighbors
from linkselect.supervision import from_labels
from problems import labels, samples


def dense(graph, n):
    """Return the weight matrix of any kind of graph."""
    if isinstance(graph, tuple):
        return sum(dense(part, n) for part in graph)
    if isinstance(graph, graphs.Edges):
        return graph.to_csr().toarray()
    if isinstance(graph, graphs.Groups):
        known = (graph.codes >= 0)[:, None] & (graph.codes >= 0)
        same = graph.codes[:, None] == graph.codes
        strength = np.full(n, 0.5) if graph.strength is None else graph.strength
        weights = graph.weight * (strength[:, None] + strength)
        return np.where(
            known & (~same if graph.across else same) & ~np.eye(n, dtype=bool), weights, 0
        )
    W = np.zeros((n, n))
    for rows, columns in kernels.tile_members(graph.codes):
        W[np.ix_(rows, columns)] = kernels.kernel_weights(graph, rows, columns)
    return W


# -- neighbours --------------------------------------------------------------------------------


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
def test_neighbours_that_products_alone_get_wrong(kind):
    X = HARD[kind](np.random.default_rng(0))
    left, right, found = graphs.nearest(X, 5)
    for query in range(len(X)):
        away = ((X - X[query]) ** 2).sum(axis=1)
        away[query] = np.inf
        nearest = np.lexsort((np.arange(len(X)), away))[:5]
        assert_array_equal(right[left == query], nearest)
        assert_allclose(found[left == query], away[nearest], rtol=1e-12)


def test_neighbours_in_small_tiles_and_any_number_of_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 4))
    expected = graphs.nearest(X, 3)
    monkeypatch.setattr(distances, "TILE_SIZE", 1000)
    for n_jobs in (1, 2, 5):
        for found, whole in zip(graphs.nearest(X, 3, n_jobs=n_jobs), expected, strict=True):
            assert_array_equal(found, whole)


def test_products_are_redone_in_double_precision_where_they_leave_too_much_open(monkeypatch):
    X = HARD["two far clusters"](np.random.default_rng(0))
    precisions = []
    original = distances.products
    monkeypatch.setattr(
        neighbors,
        "products",
        lambda X, dtype=np.float32, **options: (
            precisions.append(dtype) or original(X, dtype, **options)
        ),
    )
    graphs.nearest(X, 1)
    assert precisions == [np.float32, np.float64]


def test_neighbours_among_others_only():
    X = np.random.default_rng(0).normal(size=(50, 3))
    queries, pool = np.arange(10), np.arange(30, 50)
    left, right, _ = graphs.nearest(X, 4, queries=queries, pool=pool)
    assert_array_equal(left, np.repeat(queries, 4))
    for query in queries:
        away = ((X[pool] - X[query]) ** 2).sum(axis=1)
        assert_array_equal(right[left == query], pool[np.argsort(away)[:4]])


def test_fewer_samples_than_neighbours_asked_for():
    X = np.arange(6.0)[:, None]
    left, right, _ = graphs.nearest(X, 4, queries=np.array([0, 1]), pool=np.array([0, 1, 2]))
    assert_array_equal(left, [0, 0, 1, 1])
    assert_array_equal(right, [1, 2, 0, 2])
    alone = graphs.nearest(X, 4, queries=np.array([0]), pool=np.array([0]))
    assert [len(part) for part in alone] == [0, 0, 0]


@given(samples(), st.sampled_from([0.5, 1.0, 2.5]))
def test_balls(X, radius):
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


# -- weights -------------------------------------------------------------------------------------


@given(samples())
def test_auto_sigma_is_the_median_distance(X):
    expected = literal.auto_sigma(X)
    if expected > 0:
        assert_allclose(graphs.auto_sigma(X), expected, rtol=1e-12)
        assert_allclose(graphs.auto_sigma(sparse.csr_array(X)), expected, rtol=1e-10)


def test_auto_sigma_with_many_twins_and_with_nothing_else():
    X = np.zeros((10, 2))
    assert graphs.auto_sigma(X) == np.sqrt(0.5)
    X[0] = [3.0, 4.0]
    assert graphs.auto_sigma(X) == np.sqrt(25.0 / 2)


def test_auto_sigma_of_many_samples_does_not_change():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    assert graphs.auto_sigma(X) == graphs.auto_sigma(X)
    assert_allclose(graphs.auto_sigma(X), literal.auto_sigma(X[:200]), rtol=0.1)


@pytest.mark.parametrize("tile", [1 << 20, 7])
@given(X=samples())
def test_complete_kernel_in_tiles(tile, X):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "TILE_SIZE", tile)
        graph = graphs.kernel_graph(X, 0.8)
        expected = literal.gauss(X, 0.8)
        assert_allclose(graph.degrees, expected.sum(axis=1), rtol=1e-12)
        np.fill_diagonal(expected, 0)
        assert_allclose(dense(graph, len(X)), expected, rtol=1e-8, atol=1e-300)


def test_kernel_of_far_clusters_has_the_distances_inside_them_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 1e7 * (np.arange(40) % 2)[:, None]
    expected = literal.gauss(X, 1.0)
    np.fill_diagonal(expected, 0)
    assert_allclose(dense(graphs.kernel_graph(X, 1.0), 40), expected, rtol=1e-12)


# -- links -----------------------------------------------------------------------------------------


@given(st.data())
def test_degrees_of_every_kind(data):
    X = data.draw(samples())
    known = from_labels(data.draw(labels(len(X))), len(X))
    near = graphs.nearest_edges(X, 3)
    strength = np.random.default_rng(0).random(len(X))
    for graph in (
        near,
        graphs.must_graph(known, 2.0),
        graphs.cannot_graph(known),
        graphs.cannot_graph(known, strength),
        graphs.lsdf_graph(near, known, 100.0),
        graphs.constrained_graph(X, near, known, 1.0),
        graphs.reward_graph(X, near, known, 1.0),
        graphs.compensated_graph(near, known, 1.0, 0.9, 0.5),
    ):
        W = dense(graph, len(X))
        assert_allclose(W, W.T, rtol=1e-14)
        assert_array_equal(np.diag(W), 0)
        assert_allclose(graphs.degrees(graph), W.sum(axis=1), rtol=1e-12, atol=1e-12)


def test_graphs_are_frozen():
    edges = graphs.nearest_edges(np.arange(5.0)[:, None], 1)
    with pytest.raises(AttributeError):
        edges.weights = None
