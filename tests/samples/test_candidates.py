"""Candidates for nearest neighbours, compared with an exhaustive search."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from linkselect._samples.neighbors import (
    GROUPS_PER_NEIGHBOR,
    Bounds,
    even_parts,
    first_reach,
    keep_nearest,
    place_in_run,
    possible,
)
from linkselect.graphs._distance_graphs import join_edges


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**20))
def test_exactly_the_possible_nearest_are_candidates(n_columns, n_neighbors, seed):
    """Errors are multiples of 0.5, so that nothing is rounded; one distance is infinite."""
    rng = np.random.default_rng(seed)
    tile = rng.integers(0, 40, (3, n_columns)).astype(np.float64)
    tile[0, rng.integers(n_columns)] = np.inf
    own, others = rng.integers(0, 6, 3) / 2, rng.integers(0, 6, n_columns) / 2
    upper = np.sort(tile + others, axis=1)
    found = possible(tile.copy(), own, others, n_neighbors)
    if n_columns <= n_neighbors:
        assert_array_equal(found, np.isfinite(tile))
        return
    nth = upper[:, n_neighbors - 1]
    needed = tile - others - 2 * own[:, None] <= nth[:, None]
    assert (found | ~needed).all()
    if n_columns <= GROUPS_PER_NEIGHBOR * n_neighbors:  # here, the reach is the n-th smallest
        assert_array_equal(found & np.isfinite(tile), needed & np.isfinite(tile))


@pytest.mark.parametrize(
    ("n_neighbors", "n_columns"), [(1, 16), (1, 17), (1, 33), (3, 100), (2, 9), (40, 700)]
)
def test_the_first_reach_is_a_close_upper_bound(n_neighbors, n_columns):
    tile = np.random.default_rng(n_columns).permuted(
        np.tile(np.arange(float(n_columns)), (200, 1)), axis=1
    )
    reach = first_reach(tile, n_neighbors)
    assert (reach >= n_neighbors - 1).all()
    # The reach is the n-th smallest group minimum, and several of the nearest may share a group.
    assert np.mean(reach) < n_neighbors - 1 + n_columns / 16
    assert reach.min() < n_neighbors + 1


def test_places_in_runs():
    assert_array_equal(place_in_run(np.array([0, 0, 0, 2, 5, 5])), [0, 1, 2, 0, 0, 1])
    assert_array_equal(place_in_run(np.array([3])), [0])
    assert_array_equal(place_in_run(np.array([], dtype=int)), [])


def test_the_nearest_are_kept_and_ties_are_broken_by_index():
    query = np.array([1, 0, 0, 0, 1, 0])
    right = np.array([4, 9, 3, 2, 5, 7])
    distances = np.array([1.0, 2.0, 2.0, 2.0, 0.0, 1.0])
    assert_array_equal(keep_nearest(query, right, distances, 1), [5, 4])
    assert_array_equal(keep_nearest(query, right, distances, 3), [5, 3, 2, 4, 0])
    assert_array_equal(keep_nearest(query, right, distances, 9), [5, 3, 2, 1, 4, 0])


@given(st.integers(1, 80), st.integers(1, 30), st.integers(1, 20))
def test_even_parts(total, size, least):
    parts = even_parts(total, size, least)
    assert [parts[0].start, parts[-1].stop] == [0, total]
    assert all(left.stop == right.start for left, right in pairwise(parts))
    lengths = [part.stop - part.start for part in parts]
    assert max(lengths) - min(lengths) <= 1
    assert len(parts) == 1 or min(lengths) >= least
    # The number of parts follows from `size`, unless parts would be smaller than `least`.
    assert len(parts) == max(1, min(int(np.ceil(total / size)), total // least))


def test_the_smallest_bounds_are_kept():
    bounds = Bounds(3, 2)
    assert_array_equal(bounds.reach, [np.inf] * 3)
    bounds.start(slice(0, 2), np.array([[5.0, 1.0, 3.0], [4.0, 4.0, 9.0]]))
    assert_array_equal(bounds.reach, [3.0, 4.0, np.inf])
    bounds.add(np.array([0, 0, 0, 2]), np.array([5.0, 1.0, 3.0, 7.0]))
    assert_array_equal(bounds.smallest, [[1.0, 3.0], [np.inf, 4.0], [7.0, np.inf]])
    bounds.add(np.array([0, 1, 2, 2]), np.array([2.0, 8.0, 6.0, 9.0]))
    assert_array_equal(bounds.smallest, [[1.0, 2.0], [4.0, 8.0], [6.0, 7.0]])
    bounds.add(np.array([], dtype=int), np.array([]))
    assert_array_equal(bounds.reach, [2.0, 8.0, 7.0])


def test_edges_that_both_ends_find_are_listed_once():
    left, right = np.array([0, 2, 4, 3, 0]), np.array([2, 0, 3, 4, 1])
    edges = join_edges(5, left, right, np.array([7.0, 7.0, 9.0, 9.0, 1.0]))
    assert (edges.left.tolist(), edges.right.tolist()) == ([0, 0, 3], [1, 2, 4])
    assert edges.weights.tolist() == [1.0, 7.0, 9.0]
    assert edges.n_samples == 5
