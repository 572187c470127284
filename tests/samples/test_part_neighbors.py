"""Neighbours among stored samples equal those found in memory, including ties."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import linkselect as ls
from linkselect._samples import as_samples
from linkselect._samples.sources.running import reporting
from linkselect.graphs import auto_sigma, nearest
from linkselect.graphs._distance_graphs import listed_kernel
from tests.helpers import literal


def _ties(rng, shape):
    return rng.integers(0, 2, shape).astype(np.float32)


def _copies(rng, shape):
    return rng.normal(size=(7, shape[1]))[rng.integers(0, 7, shape[0])]


def _far_from_the_origin(rng, shape):
    return rng.normal(size=shape) + 1e9


def _one_far_away(rng, shape):
    X = rng.normal(size=shape)
    X[3] *= 1e12
    return X


def _narrow(rng, shape):
    return rng.integers(-128, 127, shape, dtype=np.int8, endpoint=True)


def _constant(rng, shape):
    return np.full(shape, 0.1)


KINDS = [_ties, _copies, _far_from_the_origin, _one_far_away, _narrow, _constant]
SHAPES = {"by rows": (150, 6), "by columns": (40, 90)}


def surveyed(folder, X):
    np.save(folder / "X.npy", X)
    return as_samples(ls.open_stored(folder / "X.npy"))


@pytest.fixture(params=SHAPES)
def shape(request, sizes):
    # Several parts, several batches of queries, several tiles of each.
    sizes(SLAB_BYTES=1000, QUERY_BYTES=1500, TILE_SIZE=100)
    return SHAPES[request.param]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("n_neighbors", [1, 5, 39])
def test_neighbours_equal_those_in_memory(make, n_neighbors, shape, tmp_path):
    rng = np.random.default_rng(0)
    X = make(rng, shape)
    queries = np.sort(rng.choice(len(X), len(X) // 2, replace=False))
    there = nearest(surveyed(tmp_path, X), n_neighbors, queries=queries, n_jobs=2)
    here = nearest(X, n_neighbors, queries=queries)
    assert_array_equal(there[0], here[0])
    assert_array_equal(there[1], here[1])
    if shape == SHAPES["by rows"]:
        assert_array_equal(there[2], here[2])
    np.testing.assert_allclose(there[2], here[2], rtol=1e-14)


@pytest.mark.parametrize("make", KINDS)
def test_widths_and_distances(make, shape, tmp_path):
    X = make(np.random.default_rng(1), shape)
    stored = surveyed(tmp_path, X)
    np.testing.assert_allclose(auto_sigma(stored), auto_sigma(X), rtol=1e-14)
    left, right = np.triu_indices(len(X), k=1)
    expected = as_samples(X).pair_distances(left, right, None)
    found = stored.pair_distances(left, right, None)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_cached_rows_are_not_read_again(tmp_path):
    X = np.random.default_rng(2).normal(size=(50, 3))
    stored = surveyed(tmp_path, X).holding(np.array([2, 5, 40]), None)
    (tmp_path / "X.npy").unlink()
    assert_array_equal(stored.take([40, 2, 2]).values, X[[40, 2, 2]])
    with pytest.raises(ValueError, match=r"X\.npy was not found"):
        stored.take([3])


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_kernels_of_few_samples_stored_by_columns(unit, tmp_path):
    """Within distant clusters, products do not resolve distances; some pairs are excluded."""
    rng = np.random.default_rng(0)
    X = unit * (rng.normal(size=(40, 90)) / 5 + 1e7 * (np.arange(40) % 2)[:, None])
    codes = np.repeat([0, 1, -1, 2], 10)
    left_out = np.zeros((40, 40))
    left_out[0, 2] = left_out[2, 0] = left_out[11, 15] = left_out[15, 11] = 1.0
    found = listed_kernel(surveyed(tmp_path, X), 2 * unit, codes, sparse.csr_array(left_out), 1)
    expected = literal.gauss(X, 2 * unit)
    expected[(codes[:, None] != codes) | (codes < 0) | (left_out > 0)] = 0.0
    np.fill_diagonal(expected, 0.0)
    weights = found.to_csr().toarray()
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-200)
    assert (weights[0, 4], weights[0, 1]) > (1e-3, 0.0)
    assert found.n_samples == 40
    assert len(found.left) == 3 * 45 - 2


@pytest.mark.parametrize(
    ("room", "listed", "n_batches"),
    [
        *[(48 * 75, 24, 1), (48 * 75 - 1, 24, 2), (48 * 25, 24, 3), (1, 24, 75)],
        *[(80 * 75, 40, 1), (80 * 75 - 1, 40, 2)],
    ],
)
def test_queries_are_processed_in_batches_that_fit(room, listed, n_batches, tmp_path, sizes):
    """A row of six numbers takes 48 bytes, and its two neighbours may take more."""
    sizes(LISTED_BYTES=listed, QUERY_BYTES=room)
    X = np.random.default_rng(0).normal(size=(150, 6))
    begun = []
    token = reporting.set(lambda done, total, what: begun.append(what) if done == 0 else None)
    try:
        found = nearest(surveyed(tmp_path, X), 2, queries=np.arange(75))
    finally:
        reporting.reset(token)
    assert_array_equal(found[1], nearest(X, 2, queries=np.arange(75))[1])
    assert begun.count("search neighbours") == n_batches
