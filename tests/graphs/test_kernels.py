"""Tests of Gaussian weights between all pairs of samples."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context

from linkselect import graphs
from linkselect.graphs._distance_graphs import gaussian_edges
from tests.helpers import literal
from tests.helpers.dense_graphs import dense
from tests.helpers.problems import samples
from tests.helpers.sizes import shrink


@given(samples())
def test_auto_sigma_is_the_median_distance(X):
    expected = literal.auto_sigma(X)
    if expected > 0:
        assert_allclose(graphs.auto_sigma(X), expected, rtol=1e-12)
        assert_allclose(graphs.auto_sigma(sparse.csr_array(X)), expected, rtol=1e-10)


def test_auto_sigma_with_many_or_only_duplicates():
    X = np.zeros((10, 2))
    assert graphs.auto_sigma(X) == np.sqrt(0.5)
    X[0] = [3.0, 4.0]
    assert graphs.auto_sigma(X) == np.sqrt(25.0 / 2)


@pytest.mark.parametrize("how_far", 10.0 ** np.arange(1, 9))
def test_auto_sigma_with_an_outlier_of_any_size(how_far):
    # The farther the outlier, the more distances are too uncertain and computed exactly.
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] *= how_far
    assert_allclose(graphs.auto_sigma(X), literal.auto_sigma(X), rtol=1e-12)


def test_auto_sigma_of_many_samples_is_reproducible():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    assert graphs.auto_sigma(X) == graphs.auto_sigma(X)
    assert_allclose(graphs.auto_sigma(X), literal.auto_sigma(X[:200]), rtol=0.1)


@pytest.mark.parametrize("tile", [1 << 20, 6])
@given(X=samples())
def test_complete_kernel_in_tiles(tile, X):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, tile)
        graph = graphs.kernel_graph(X, 0.8)
        expected = literal.gauss(X, 0.8)
        assert_allclose(graph.degrees, expected.sum(axis=1), rtol=1e-12)
        np.fill_diagonal(expected, 0)
        assert_allclose(dense(graph, len(X)), expected, rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_kernel_of_distant_clusters_is_exact_within_them(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 1e7 * (np.arange(40) % 2)[:, None]
    expected = literal.gauss(X, 1.0)
    np.fill_diagonal(expected, 0)
    assert_allclose(dense(graphs.kernel_graph(unit * X, unit), 40), expected, rtol=1e-12)


def test_no_weight_is_above_one():
    # Distances of duplicates, computed by matrix products, may be slightly negative.
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 7)), 2, axis=0)
    weights = dense(graphs.kernel_graph(X, 1e-2), 40)
    assert weights.max() <= 1.0
    assert_allclose(weights[np.arange(0, 40, 2), np.arange(1, 40, 2)], 1.0, rtol=1e-9)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_graph_of_tiny_weights_is_refused(store):
    # The largest weight is 1e-150, so quadratic forms would come close to underflow.
    X = store(np.array([[0.0], [1.0], [3.0], [6.0]]))
    sigma = np.sqrt(1 / (2 * 150 * np.log(10)))
    near = graphs.nearest_edges(X, 1)
    with pytest.raises(ValueError, match="0 or nearly 0"):
        gaussian_edges(near, sigma)
    assert gaussian_edges(near, 2 * sigma).weights.max() > 1e-40


@pytest.mark.parametrize("n_twins", [2, 3, 10, 30])
def test_duplicates_count_in_the_median_unless_they_dominate(n_twins):
    """Compare arrays in memory and on a device."""
    X = np.random.default_rng(n_twins).normal(size=(40, 3))
    X[:n_twins] = X[0]
    there = pytest.importorskip("array_api_strict").asarray(X)
    with config_context(array_api_dispatch=True):
        for found in (graphs.auto_sigma(X), graphs.auto_sigma(there)):
            assert_allclose(found, literal.auto_sigma(X), rtol=1e-14)


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (30, 31), (31, 30)])
def test_the_median_uses_a_random_part_of_many_samples(shape, sizes):
    """At most 30 samples are used here, whatever the number of features."""
    sizes(SIGMA_ROWS=30)
    X = np.random.default_rng(0).normal(size=shape)
    seen = X
    if len(X) > 30:
        seen = X[np.sort(np.random.default_rng(0).choice(len(X), 30, replace=False))]
        assert graphs.auto_sigma(X) != pytest.approx(literal.auto_sigma(X), rel=1e-9)
    assert_allclose(graphs.auto_sigma(X), literal.auto_sigma(seen), rtol=1e-13)
