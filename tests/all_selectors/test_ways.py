"""The algorithm that suits the size of the data is used.

Results do not depend on this choice, but time and memory do.
"""

import importlib

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context

import linkselect as ls
from linkselect import graphs
from linkselect._samples import as_samples, device_neighbors, distances, neighbors
from linkselect._samples.devices import device_of
from linkselect._search.all_pairs import AllPairs, memory_needed
from linkselect._search.kernel_terms import kernel_terms
from linkselect.graphs._distance_graphs import listed_kernel
from linkselect.scores import _relief as relief


def test_terms_of_kernels_fill_the_room_there_is(sizes):
    X, groups = np.random.default_rng(0).random((50, 4)), np.repeat([0, 1], 25)
    whole = AllPairs(X, groups, 0.3, 1)
    assert len(whole.plain_terms) <= len(whole.squared_terms) < 50
    assert whole.n_terms == len(whole.squared_terms)
    for room, kept in [(2 * 8 * 200 * 5, 5), (2 * 8 * 200 * 6 - 1, 5), (0, 2)]:
        sizes(MAX_BYTES_FOR_TERMS=room)
        found = AllPairs(X, groups, 0.3, 1)
        assert len(found.plain_terms) == len(found.squared_terms) == kept
        assert found.n_terms == 64
    assert memory_needed(1000) == 20_000_000


def test_terms_are_no_more_than_a_kernel_needs():
    columns = np.random.default_rng(1).random((3, 40)) * [[0.0], [1.0], [3.0]]
    terms, remainder = kernel_terms(columns)
    assert 8 < len(terms) < 40
    assert (remainder < 1e-13).all()
    sizes = np.array([np.square(term).sum(axis=1) for term in terms])
    assert (np.diff(sizes, axis=0) <= 1e-12).all()
    assert np.count_nonzero(sizes[:, 0] > 1e-20) == 1
    for feature, values in enumerate(columns):
        kernel = np.exp(-((values[:, None] - values) ** 2) / 2)
        built = sum(np.outer(term[feature], term[feature]) for term in terms)
        np.testing.assert_allclose(built, kernel, atol=1e-13)


# -- bounds leave few distances to be computed from differences ----------------------------------


def strict(X):
    return importlib.import_module("array_api_strict").asarray(X)


@pytest.fixture
def compared(monkeypatch):
    """Count the pairs of samples whose distance is computed from differences."""
    counts = []

    def watch(owner, place):
        plain = owner.pair_distances

        def counted(*given, **more):
            counts.append(given[place].shape[0])
            return plain(*given, **more)

        monkeypatch.setattr(owner, "pair_distances", counted)

    watch(distances, 1)
    watch(device_neighbors, 2)
    return counts


@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_candidates_are_hardly_more_than_neighbours(n_neighbors):
    X = np.random.default_rng(0).normal(size=(300, 5))
    rows = as_samples(X).products(np.float32, 1)
    assert len(neighbors._mutual_candidates(rows, n_neighbors, 1)[0]) == 300 * n_neighbors
    found = neighbors._candidates(rows, np.arange(100), np.arange(50, 300), n_neighbors, 64)
    assert 100 * n_neighbors <= len(found[0]) <= 110 * n_neighbors
    here = device_of(strict(X))
    search = device_neighbors._Search(here, strict(X), here.put(np.arange(300)), n_neighbors)
    rows = device_neighbors.products(here, strict(X), here.xp.float32)
    # One candidate beyond the neighbours and the sample itself suffices for certainty.
    for n_more, n_open in [(device_neighbors.MORE_CANDIDATES, 0), (1, 0), (0, 300)]:
        assert search.by_products(rows, np.arange(300), n_more)[2].sum() == n_open


@pytest.mark.parametrize("store", [np.asarray, strict])
def test_few_distances_are_found_by_differences(store, compared):
    X = np.random.default_rng(0).normal(size=(300, 5))
    with config_context(array_api_dispatch=True):
        edges = graphs.ball_edges(store(X), 1.0)
        assert compared == [len(edges.left)] == [356]
        compared.clear()
        graphs.auto_sigma(store(X))
        assert sum(compared) <= 8
        compared.clear()
        graphs.kernel_graph(store(X), 1.0)
        assert not compared
        # Products do not resolve distances within two distant clusters; others do not matter.
        graphs.kernel_graph(store(X + 1e7 * (np.arange(300) % 2)[:, None]), 1.0)
        assert compared == [2 * 150 * 150]


def test_few_distances_of_stored_samples_are_found_by_differences(compared, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 90))
    none, codes = sparse.csr_array((40, 40)), np.arange(40) // 20
    for move, n_compared in [(0.0, 0), (1e7, 2 * 2 * 45)]:
        np.save(tmp_path / "X.npy", X + move * (np.arange(40) % 2)[:, None])
        stored = as_samples(ls.open_stored(tmp_path / "X.npy"))
        listed_kernel(stored, 3.0, codes, none, 1)
        assert sum(compared) == n_compared


def test_candidates_of_relieff_are_its_neighbours():
    codes, sizes = np.random.default_rng(0).random((300, 5)), np.array([100, 200])
    single = codes.astype(np.float32)

    def between(left, right):
        return cdist(single[left], single[right], "cityblock").astype(np.float32)

    plain = relief._scipy_distances(codes, np.zeros(5, dtype=bool))
    for listed in (relief._by_rows(plain, sizes, 5, 5), relief._by_halves(between, sizes, 5, 5, 1)):
        lengths = {tuple(map(len, by_class)) for by_class in listed(slice(0, 300))}
        assert lengths == {(5, 5)}


@pytest.mark.parametrize("store", [np.asarray, strict])
@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_both_ends_of_a_pair_count_in_the_error_of_its_distance(store, unit, compared):
    """With the error of one end alone, the distance would be resolved; with both, it is not."""
    X = unit * np.repeat([[-1.0], [1.0]], 8, axis=0)
    X += 1e-9 * unit * np.arange(16)[:, None]
    rows = as_samples(X).products(np.float64, 1)
    error = rows.errors.min() * rows.scale**2
    with config_context(array_api_dispatch=True):
        for share, expected in [(1.5, [2 * 8 * 8]), (2.5, [])]:
            graphs.kernel_graph(store(X), np.sqrt(share * error / 2e-9))
            assert compared == expected
            compared.clear()
