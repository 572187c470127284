"""Sums over graphs, compared with the double sums of their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import linkselect as ls
from linkselect import _forms as forms
from linkselect import graphs
from linkselect._forms import laplacian_product
from linkselect._samples import as_samples
from linkselect._samples.moments import moments
from linkselect._supervision import from_labels, from_pairs
from linkselect.graphs import Groups, cannot_graph, must_graph, nearest_edges
from tests.helpers import literal
from tests.helpers.dense_graphs import dense
from tests.helpers.fitting import STORAGE
from tests.helpers.problems import labels, partly_labelled, samples


@pytest.mark.parametrize("store", STORAGE)
@given(data=st.data())
def test_laplacian_form_of_every_kind_of_graph(store, data):
    X = data.draw(samples())
    known = from_labels(data.draw(labels(len(X))), len(X))
    near = graphs.nearest_edges(X, 3)
    strength = np.random.default_rng(0).random(len(X))
    for graph in (
        near,
        graphs.must_graph(known, 2.0),
        graphs.cannot_graph(known),
        graphs.cannot_graph(known, strength),
        graphs.kernel_graph(X, 1.0),
        graphs.kernel_graph(X, 1.0, codes=known.classes, without=near.reweigh(1.0).to_csr()),
        (near, graphs.must_graph(known)),
    ):
        W = dense(graph, len(X))
        expected = [literal.form(f, W) for f in X.T]
        found = forms.laplacian_form(store(X), graph)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-13 * W.sum() * np.ptp(X) ** 2 * 1e-3)
        assert_array_equal(found[np.ptp(X, axis=0) == 0], 0)


@pytest.mark.parametrize("store", STORAGE)
def test_two_forms_are_those_of_each_graph_alone(store):
    """This includes equal groups, for which one pass computes both."""
    X, y = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3
    known = from_labels(y, 60)
    together = [must_graph(known, 2.0), cannot_graph(known)]
    apart = [Groups(y, weight=2.0), Groups(y.copy(), across=True)]
    expected = [forms.laplacian_form(store(X), graph) for graph in apart]
    for two in (apart, together):
        assert_array_equal(forms.laplacian_forms(store(X), *two), expected)


@pytest.mark.parametrize("store", STORAGE)
@given(X=samples())
def test_degree_form(store, X):
    degrees = np.random.default_rng(0).random(len(X))
    mean = degrees @ X / degrees.sum()
    assert_allclose(
        forms.degree_form(store(X), degrees), degrees @ (X - mean) ** 2, rtol=1e-10, atol=1e-20
    )
    assert_allclose(forms.degree_form(store(X), degrees, centred=False), degrees @ X**2, rtol=1e-10)


@pytest.mark.parametrize("store", STORAGE)
def test_kurtosis(store):
    X = np.random.default_rng(0).poisson(0.3, size=(200, 5)).astype(float)
    X[:, 1], X[:, 2], X[:, 3] = 7.0, np.arange(200) < 20, np.arange(200) % 2 + 1e8
    found = as_samples(store(X)).kurtosis(None)
    deviation = X - X.mean(axis=0)
    expected = [np.mean(f**4) / np.mean(f**2) ** 2 for f in deviation[:, [0, 2, 3, 4]].T]
    assert_allclose(found[[0, 2, 3, 4]], expected, rtol=1e-10)
    assert np.isnan(found[1])
    # A fraction p has one value and all others another: 1 / (p (1 - p)) - 3.
    assert_allclose(found[2:4], [1 / (0.1 * 0.9) - 3, 1.0], rtol=1e-10)


@pytest.mark.parametrize("shape", [(60, 4), (20, 50)])
def test_kurtosis_of_samples_outside_memory(shape, tmp_path):
    X = np.random.default_rng(0).exponential(size=shape)
    np.save(tmp_path / "X.npy", X)
    stored = as_samples(ls.open_stored(tmp_path / "X.npy"))
    assert stored.by_columns == (shape[0] < shape[1])
    assert_allclose(stored.kurtosis(None), as_samples(X).kurtosis(None), rtol=1e-12)


@pytest.mark.parametrize("store", STORAGE)
def test_mean_1e8_and_spread_1e_minus_3(store):
    rng = np.random.default_rng(0)
    X = 1e8 + 1e-3 * rng.normal(size=(500, 3))
    small = X - 1e8  # exact: both are multiples of the same power of two
    codes = rng.integers(0, 4, 500)
    near = graphs.nearest_edges(rng.normal(size=(500, 2)), 5)
    for graph in (
        near,
        graphs.Groups(codes),
        graphs.Groups(codes, across=True),
        graphs.Groups(codes, across=True, strength=rng.random(500)),
        graphs.kernel_graph(rng.normal(size=(500, 2)), 1.0),
    ):
        W = dense(graph, 500)
        exact = np.einsum("ij,ijk->k", W, (small[:, None] - small[None]) ** 2) / 2
        assert_allclose(forms.laplacian_form(store(X), graph), exact, rtol=1e-10)
    assert_allclose(forms.degree_form(store(X), np.ones(500)), 500 * small.var(axis=0), rtol=1e-10)


def test_kernel_form_keeps_its_digits_where_sums_cancel():
    # The feature is constant inside two far clusters: f'Df and f'Wf agree to 15 digits.
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.random.default_rng(0).random(40)])
    points = X * [8.0, 1.0]
    W = literal.gauss(points, 1.0)
    found = forms.laplacian_form(X, graphs.kernel_graph(points, 1.0))
    assert_allclose(found, [literal.form(f, W) for f in X.T], rtol=1e-11)
    assert found[0] < 1e-10


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.float16, np.float32])
def test_numbers_of_every_type_are_subtracted_without_wrapping(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 200, (30, 4)).astype(dtype)
    near = graphs.nearest_edges(X, 3)
    assert_array_equal(
        forms.laplacian_form(X, near), forms.laplacian_form(X.astype(np.float64), near)
    )


def test_blocks_and_threads_change_nothing(shrink):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 150))
    graph = graphs.nearest_edges(X, 4)
    whole = forms.laplacian_form(X, graph, n_jobs=1)
    assert_array_equal(forms.laplacian_form(X, graph, n_jobs=4), whole)
    shrink(15)
    assert_allclose(forms.laplacian_form(X, graph, n_jobs=2), whole, rtol=1e-14)


def test_sparse_data_are_not_made_dense():
    import tracemalloc

    X = sparse.random_array(
        (2000, 50_000), density=1e-4, rng=np.random.default_rng(0), format="csr"
    )
    edges = graphs.Edges(2000, np.arange(1999), np.arange(1, 2000), np.ones(1999))
    tracemalloc.start()
    forms.laplacian_form(X, edges)
    forms.degree_form(X, np.ones(2000))
    forms.laplacian_form(X, graphs.Groups(np.arange(2000) % 3))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 50_000 * 8 / 20


@pytest.mark.parametrize("store", STORAGE)
def test_a_sample_far_away_costs_the_others_no_digits(store):
    # The first sample is its own class or has no weight, and does not affect the others.
    f = np.random.default_rng(0).random(40) + 1.0
    X = np.column_stack([f, np.full(40, 0.1), np.concatenate([[0.0], f[1:]])])
    X[0, :2] = 1e12
    codes = np.array([0] + [1] * 39)
    found = moments(store(X), codes)
    assert_allclose(found.scatter[1], 39 * X[1:].var(axis=0), rtol=1e-12, atol=1e-30)
    assert found.scatter[1, 1] == 0
    weightless = moments(store(X), np.zeros(40, dtype=int), (codes == 1).astype(float))
    assert_allclose(weightless.scatter[0], 39 * X[1:].var(axis=0), rtol=1e-12, atol=1e-30)
    assert_allclose(weightless.means_minus(0.0)[0], X[1:].mean(axis=0), rtol=1e-13)


def test_sparse_column_with_nearly_all_weight_stored():
    weights = np.ones(40)
    weights[0] = 1e-12
    X = np.full((40, 1), 0.7)
    X[0] = 0.0
    found = forms.degree_form(sparse.csr_array(X), weights)
    assert_allclose(found, forms.degree_form(X, weights), rtol=1e-10)


def test_sparse_classes_that_are_constant_have_no_scatter():
    X = np.zeros((100, 4))
    X[:50] = [0.1, 0.7, 1e8, 3.3]
    found = moments(sparse.csc_array(X), np.repeat([0, 1], 50))
    assert_array_equal(found.scatter, 0)


@pytest.mark.parametrize("store", STORAGE)
def test_means_are_compared_whatever_their_reference_sample(store):
    # The first sample has no weight, so the two means of its group have other origins.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)) + np.array([0.0, 1e6, 0.0])
    X[0] += 50.0
    codes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, -1, -1, -1])
    strength = rng.random(12)
    strength[[0, 3]] = 0.0
    literal = np.zeros(3)
    for i in range(9):
        for j in range(i):
            if codes[i] != codes[j]:
                literal += (strength[i] + strength[j]) * (X[i] - X[j]) ** 2
    found = forms.laplacian_form(store(X), graphs.Groups(codes, across=True, strength=strength))
    assert_allclose(found, literal, rtol=1e-10)


@pytest.mark.parametrize("store", STORAGE)
def test_light_weights_keep_their_scatter_beside_heavy_ones(store):
    # Only samples of small weight vary; a rounding error of the mean would outweigh them.
    weights = np.array([1e-150, 1.0, 1.0, 1e-150])
    X = np.array([[0.7, 0.0], [0.1, 0.3], [0.1, 0.3], [0.9, 0.0]])
    expected = [1e-150 * (0.6**2 + 0.8**2), 1e-150 * 2 * 0.3**2]
    assert_allclose(forms.degree_form(store(X), weights), expected, rtol=1e-12)


def test_laplacian_products_equal_the_matrix():
    X, y = partly_labelled(0, 14, 3)
    M, C = literal.links(y)
    known = from_labels(y, 14)
    values = np.random.default_rng(1).normal(size=(14, 2))
    near = nearest_edges(X, 3).reweigh(0.7)
    for graph, W in (
        (must_graph(known, 0.3), 0.3 * M),
        (cannot_graph(known), C * 1.0),
        (near, 0.7 * literal.near(X, 3)),
    ):
        expected = literal.laplacian_matrix(W) @ values
        assert_allclose(laplacian_product(graph, values), expected, atol=1e-12)
    pairs = ls.Pairs(must=[(0, 3)], cannot=[(3, 5), (1, 2)])
    listed = from_pairs(pairs, 14)
    _, C = literal.links_of_pairs(14, pairs.must, pairs.cannot)
    found = laplacian_product(cannot_graph(listed), values)
    assert_allclose(found, literal.laplacian_matrix(C * 1.0) @ values, atol=1e-12)
    with pytest.raises(NotImplementedError, match="strength"):
        laplacian_product(Groups(known.classes, across=True, strength=np.ones(14)), values)


@pytest.mark.parametrize("store", STORAGE)
def test_nothing_taken_together_is_nothing(store):
    whole = moments(store(np.eye(3)), np.full(3, -1)).together()
    assert_array_equal(whole.mass, [0.0])
    assert_array_equal(whole.scatter, np.zeros((1, 3)))


@pytest.mark.parametrize("n_features", [2, 3, 4, 9])
def test_edges_between_few_of_the_samples(n_features):
    # Also with as many connected samples as features.
    X = np.random.default_rng(0).normal(size=(9, n_features))
    graph = graphs.Edges(9, np.array([4, 4, 6]), np.array([6, 8, 8]), np.array([1.0, 2.0, 3.0]))
    expected = [literal.form(f, dense(graph, 9)) for f in X.T]
    assert_allclose(forms.laplacian_form(X, graph), expected, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_kernel_forms_keep_their_digits_in_any_unit_and_tile(unit, shrink):
    shrink(299)
    # One feature only separates two distant clusters, so that its sums cancel.
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.random.default_rng(0).random(40)])
    points = X * [6.0, 1.0]
    W = literal.gauss(points, 1.0)
    found = forms.laplacian_form(unit * X, graphs.kernel_graph(points, 1.0))
    assert_allclose(found, [unit**2 * literal.form(f, W) for f in X.T], rtol=1e-10)


def test_forms_that_cancel_keep_their_digits():
    """The first two forms are below 1e-5 of the terms that cancel."""
    points = np.repeat([[0.0], [8.0]], 20, axis=0) + np.random.default_rng(0).random((40, 1))
    apart = np.repeat([0.0, 1.0], 20)
    noise = np.random.default_rng(1).normal(size=40)
    # The contribution of the noise to the form is about its square.
    X = np.column_stack([apart + size * noise for size in (0.0, 1e-4, 1e-2, 1.0)])
    W = literal.gauss(points, 1.0)
    found = forms.laplacian_form(X, graphs.kernel_graph(points, 1.0))
    assert_allclose(found, [literal.form(f, W) for f in X.T], rtol=1e-8)
    shares = [literal.form(f, W) / (W.sum(axis=1) @ (f - f.mean()) ** 2) for f in X.T]
    assert [share < 1e-5 for share in shares] == [True, True, False, False]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_errors_that_are_rounding_count_nothing(store):
    """This concerns errors below 1e-9 standard deviations, for each sample."""
    weights = sparse.csr_array(np.roll(np.eye(8), 1, axis=0))  # each sample from the previous one
    f = np.tile([0.0, 0.0, 1.0, 1.0], 2)
    for size, counts in [(0.9e-9, False), (1.1e-9, True)]:
        g = f.copy()
        g[1] += size * f.std()
        found = forms.reconstruction_form(store(np.column_stack([f, g])), weights)
        assert found[0] == 4.0
        # The following step is large, and changes by as much.
        step = (1.0 - size * f.std()) ** 2 + 3.0
        assert_allclose(found[1] - step, (size * f.std()) ** 2 if counts else 0.0, atol=1e-15)
