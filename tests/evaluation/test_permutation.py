"""Valid permutations of samples, and the p-values based on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect.evaluation._permutation import Arrangements, log_ways, p_value, twice_the_mean


@given(st.integers(0, 200))
def test_rows_move_inside_batches_and_groups_as_a_whole(seed):
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 8, 30))
    batch = (group % 2)[:]  # each group is in one batch
    to = Arrangements.of(30, group, batch).draw(np.random.RandomState(seed))
    assert sorted(to) == list(range(30))
    np.testing.assert_array_equal(batch[to], batch)
    for one in np.unique(group):
        moved = to[group == one]
        assert len(np.unique(group[moved])) == 1
        assert len(moved) == np.count_nonzero(group == group[moved[0]])


def test_a_group_over_several_batches_keeps_them():
    group, batch = np.repeat(np.arange(4), 2), np.array(["a", "b"] * 4)
    ways = Arrangements.of(8, group, batch)
    for seed in range(10):
        np.testing.assert_array_equal(batch[ways.draw(np.random.RandomState(seed))], batch)


def test_every_arrangement_is_as_likely():
    ways, rng = Arrangements.of(3), np.random.RandomState(0)
    counts = np.zeros((3, 3))
    for _ in range(3000):
        counts[np.arange(3), ways.draw(rng)] += 1
    assert np.abs(counts / 3000 - 1 / 3).max() < 0.05


def test_the_number_of_ways():
    assert Arrangements.of(10).count(np.arange(3)) == pytest.approx(10 * 9 * 8)
    assert Arrangements.of(6, groups=[0, 0, 1, 1, 2, 2]).count(np.array([0])) == pytest.approx(3)
    assert Arrangements.of(6, groups=[0, 1, 1, 2, 2, 2]).count(np.arange(6)) == pytest.approx(1)
    assert Arrangements.of(4, batches=list("aabb")).count(np.arange(4)) == pytest.approx(4)
    assert np.exp(log_ways(np.array([4, 4]))) == pytest.approx(70)
    assert Arrangements.of(2000).count(np.arange(2000)) > 1e300


def test_only_some_rows_move():
    ways = Arrangements.of(10, rows=np.array([2, 5, 7]))
    to = ways.draw(np.random.RandomState(1))
    still = np.setdiff1d(np.arange(10), [2, 5, 7])
    np.testing.assert_array_equal(to[still], still)
    np.testing.assert_array_equal(ways.rows, [2, 5, 7])
    inside = Arrangements.of(10, groups=np.arange(10) // 2).among(np.array([0, 5]))
    np.testing.assert_array_equal(inside.rows, [0, 1, 4, 5])


def test_labelled_rows_take_each_others_places():
    labelled = np.array([0, 2, 5, 6])
    ways = Arrangements.of(8, np.arange(8) // 2, labelled=labelled)
    for seed in range(10):
        to = ways.draw(np.random.RandomState(seed))
        np.testing.assert_array_equal(np.sort(to[labelled]), labelled)
        np.testing.assert_array_equal(to[::2] // 2, to[1::2] // 2)


def test_p_values():
    null = np.linspace(0, 1, 39)
    assert p_value(2.0, null) == 1 / 40
    assert p_value(-1.0, null) == 1
    assert p_value(1.0, null) == 2 / 40, "a tie counts as evidence against the ranking"
    assert twice_the_mean([0.01, 0.01]) == pytest.approx(0.02)
    assert twice_the_mean([0.9, 0.8]) == 1
    assert twice_the_mean([0.3]) == 0.3
