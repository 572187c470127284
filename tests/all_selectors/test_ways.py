"""Which of two ways to the same result is taken: the one that is meant for the size.

Results tell nothing about that, but time and memory do.
"""

import importlib
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context

import linkselect as ls
from linkselect import graphs
from linkselect._samples import as_samples, device_neighbors, distances, neighbors
from linkselect._samples.devices import device_of
from linkselect._search import information, listed_pairs, nearest_neighbor, screening
from linkselect._search.all_pairs import AllPairs, memory_needed
from linkselect._search.kernel_terms import kernel_terms
from linkselect._search.targets import pair_target
from linkselect.graphs._distance_graphs import listed_kernel
from linkselect.graphs._reconstruction import _tile_size
from linkselect.scores import _relief as relief


def test_large_searches_by_accuracy_are_compiled(monkeypatch):
    """From 1e9 differences on, 1e4 more for each evaluation, and from 100 candidates."""
    monkeypatch.setattr(nearest_neighbor, "count_hits", lambda: "loop")
    for n_distances, n_candidates, n_features, compiled in [
        (990_000, 100, 10, True),
        (989_999, 100, 10, False),
        (990_000, 100, 9, False),
        (990_000, 99, 11, False),
        (0, 1000, 100, True),
    ]:
        way = nearest_neighbor._way_to_count(n_distances, n_candidates, n_features)
        assert isinstance(way, partial) == compiled
        assert compiled == (way is not nearest_neighbor._hits)


@pytest.mark.parametrize("n_samples", [64, 65])
def test_the_nearest_so_far_are_looked_at_first_among_many(n_samples):
    """Of up to 64 references all are looked at, else 32."""
    distances = np.random.default_rng(0).random((5, n_samples))
    near, beyond = nearest_neighbor._nearest_so_far(distances)
    few = n_samples > 64
    assert near.shape == (5, 32 if few else n_samples)
    in_order = np.sort(distances, axis=1)
    for row in range(5):
        assert set(distances[row, near[row]]) == set(in_order[row, : near.shape[1]])
        assert list(near[row]) == sorted(near[row])
        assert beyond[row] == (in_order[row, 32] if few else np.inf)


def test_distances_are_kept_if_there_is_room(monkeypatch):
    split = np.arange(7), np.arange(5)
    monkeypatch.setattr(nearest_neighbor, "DISTANCES_PER_BLOCK", 15)
    for keep in (True, False):
        blocks = list(nearest_neighbor._blocks(3, split, keep))
        assert [len(block.queries) for block in blocks] == [2, 2, 1]
        assert {block.split for block in blocks} == {3}
        assert [block.kept is not None for block in blocks] == [keep] * 3
        assert not keep or blocks[2].kept.shape == (1, 7)


def test_large_searches_by_accuracy_use_threads(monkeypatch):
    """From as many squared differences on as pay for starting them."""
    X, labels = np.random.default_rng(0).random((12, 5)), np.arange(12) % 2
    asked = set()
    monkeypatch.setattr(
        nearest_neighbor,
        "map_threads",
        lambda function, items, n_jobs: asked.add(n_jobs) or list(map(function, items)),
    )
    for least, expected in [(12 * 12 * 5, 3), (12 * 12 * 5 + 1, 1)]:
        monkeypatch.setattr(nearest_neighbor, "DIFFERENCES_WORTH_THREADS", least)
        nearest_neighbor.select_by_nearest_neighbor(X, labels, 2, n_jobs=3)
        assert asked == {expected}
        asked.clear()


def test_large_searches_by_similarity_are_screened(monkeypatch):
    """From 1e8 values of half a matrix on, if no feature is wider than 1.01 sigma."""
    monkeypatch.setattr(screening, "pair_sums", lambda: "sums")
    monkeypatch.setattr(screening, "Screen", lambda *given: given)
    columns = np.zeros((200, 1000))
    columns[7, 3] = 1.01
    for n_features, sigma, screened in [(200, 1.0, True), (199, 1.0, False), (200, 0.999, False)]:
        some = columns[:n_features]
        given = some, some, np.zeros(1000, dtype=int), sigma, map
        assert (screening.compiled_screen(*given) is not None) == screened


def test_large_data_of_relieff_are_compiled(monkeypatch):
    """Above 2e9 comparisons; by halves if 8 candidates for each neighbour are not all samples."""
    monkeypatch.setattr(relief, "manhattan_distances", lambda: "compiled")
    monkeypatch.setattr(relief, "_scipy_distances", lambda *_: "scipy")
    monkeypatch.setattr(relief, "_by_halves", lambda *_: "halves")
    monkeypatch.setattr(
        relief, "_by_rows", lambda propose, *_: propose if propose == "scipy" else "rows"
    )
    sizes = np.array([400, 600])
    for n_features, n_neighbors, way in [
        (2000, 10, "scipy"),
        (2001, 62, "halves"),
        (2001, 63, "rows"),
    ]:
        codes = np.broadcast_to(0.0, (1000, n_features))
        discrete = np.zeros(n_features, dtype=bool)
        assert relief._candidates(codes, discrete, sizes, n_neighbors, 1) == way


def test_few_states_are_counted_by_bits(monkeypatch):
    """Up to 16 states, and up to 256 cells."""
    asked = []
    monkeypatch.setattr(
        information,
        "_joint_entropy_by_bits",
        lambda features, variable, n_values, columns: asked.append(columns.tolist()) or 0.0,
    )
    states = np.minimum(np.arange(40)[:, None], [1, 15, 16])
    features = information.Discrete.of(states)
    assert features.bits.shape == (16, 1, 3)
    assert not features.bits[:, :, 2].any()
    for n_values, expected in [(16, [0, 1]), (17, [0]), (128, [0]), (129, [])]:
        variable = np.minimum(np.arange(40), n_values - 1)
        variable[-1] = n_values - 1
        information.mutual_information(features, variable)
        assert asked.pop() == expected


def test_blocks_of_listed_pairs_have_a_bounded_size(monkeypatch):
    monkeypatch.setattr(listed_pairs, "VALUES_PER_BLOCK", 6)
    for n_pairs, n_blocks in [(2, 1), (6, 1), (7, 2), (13, 3)]:
        check_blocks(n_pairs, n_blocks)


def check_blocks(n_pairs, n_blocks):
    must = np.column_stack([np.zeros(n_pairs, dtype=int), np.arange(1, n_pairs + 1)])
    none = np.empty((0, 2), dtype=int)
    X = np.ones((n_pairs + 1, 3))
    for links in ((must, none), (none, must)):
        found = listed_pairs.ListedPairs(X, pair_target(*links), 1.0, 1)
        parts = [part for part, _ in found._pair_blocks()]
        assert len(parts) == n_blocks
        assert [parts[0].start, parts[-1].stop] == [0, n_pairs]
        assert found._features_per_block() == max(1, 6 // n_pairs)


def test_terms_of_kernels_fill_the_room_there_is(monkeypatch):
    X, groups = np.random.default_rng(0).random((50, 4)), np.repeat([0, 1], 25)
    whole = AllPairs(X, groups, 0.3, 1)
    assert len(whole.plain_terms) <= len(whole.squared_terms) < 50
    assert whole.n_terms == len(whole.squared_terms)
    for room, kept in [(2 * 8 * 200 * 5, 5), (2 * 8 * 200 * 6 - 1, 5), (0, 2)]:
        monkeypatch.setattr("linkselect._search.all_pairs.MAX_BYTES_FOR_TERMS", room)
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


def test_many_candidates_are_left_to_double_precision(precisions):
    """If single precision cannot tell more than 64 for each neighbour apart, on either way."""
    for n_copies, expected in [(64, ["float32"]), (67, ["float32", "float64"])]:
        # All as near to the first one, up to what single precision knows.
        X = np.zeros((n_copies, 1))
        X[1:, 0] = 1.0 + 1e-12 * np.arange(n_copies - 1)
        precisions.clear()
        found = graphs.nearest(X, 1, queries=np.array([0]))
        assert found[1].tolist() == [1]
        assert precisions == expected
    assert neighbors.MANY_CANDIDATES == 64


# -- bounds leave hardly more to differences than is asked for ----------------------------------


def strict(X):
    return importlib.import_module("array_api_strict").asarray(X)


@pytest.fixture
def compared(monkeypatch):
    """Count the pairs of samples whose distance is found by differences."""
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
    # One more than the neighbours and the sample itself is enough to be certain.
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
        # Products do not resolve distances inside of two far clusters; those across do not matter.
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


def test_tiles_of_reconstructions_fill_their_room():
    """At most 128 targets in 32 MB, and 16 tiles if there are as many samples; else even ones."""
    for n_samples, n_features in product([2, 16, 17, 400, 3000, 40_000], [1, 300, 5000]):
        check_tile_sizes(n_samples, n_features)


def check_tile_sizes(n_samples, n_features):
    smaller = min(n_samples, n_features + 1)
    of_target = 8 * (20 * (n_samples + n_features) + 3 * smaller**2)
    size = _tile_size(n_samples, n_features, "exact")
    allowed = min(128, 2**25 // of_target, int(np.ceil(n_samples / 16)))
    assert size == max(1, allowed)
    near = _tile_size(n_samples, n_features, "first_order")
    n_tiles = int(np.ceil(n_samples / near))
    assert near <= 192
    assert n_tiles == int(np.ceil(n_samples / 192))
    assert near == int(np.ceil(n_samples / n_tiles))


@pytest.mark.parametrize("store", [np.asarray, strict])
@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_both_ends_of_a_pair_count_in_the_error_of_its_distance(store, unit, compared):
    """One end alone would be resolved, both are not."""
    X = unit * np.repeat([[-1.0], [1.0]], 8, axis=0)
    X += 1e-9 * unit * np.arange(16)[:, None]
    rows = as_samples(X).products(np.float64, 1)
    error = rows.errors.min() * rows.scale**2
    with config_context(array_api_dispatch=True):
        for share, expected in [(1.5, [2 * 8 * 8]), (2.5, [])]:
            graphs.kernel_graph(store(X), np.sqrt(share * error / 2e-9))
            assert compared == expected
            compared.clear()
