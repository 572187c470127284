"""Bags of samples and subspaces of features."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import linkselect as ls
from linkselect._resampling import deal_units, draw_bag, draw_subspaces, seeded
from linkselect._supervision import from_labels, from_pairs


def test_bags_keep_the_supervision():
    rng = np.random.RandomState(0)
    y = np.array([0] * 10 + [1] * 3 + [2] + [-1] * 40)
    known = from_labels(y, 54)
    for _ in range(20):
        bag = draw_bag(known, 0.3, 6, rng)
        assert_array_equal(np.bincount(y[bag] + 1), [12, 3, 2, 1])
        assert len(np.unique(bag)) == len(bag)
    pairs = from_pairs(ls.Pairs(must=[(0, 20)], cannot=[(3, 7)]), 54)
    for _ in range(20):
        assert {0, 3, 7, 20} <= set(draw_bag(pairs, 0.1, 1, rng).tolist())
    assert len(draw_bag(pairs, 0.01, 30, rng)) == 30


def test_units_stay_together():
    rng = np.random.RandomState(0)
    links = ls.Pairs(must=[(0, 1), (1, 2), (20, 21), (22, 23), (2, 24)], cannot=[(30, 31), (32, 0)])
    known = from_pairs(links, 60)
    groups = np.repeat(np.arange(20), 3)
    for given in (None, groups):
        for _ in range(20):
            some, others = map(set, deal_units(known, 0.5, 3, rng, given))
            assert some | others == set(range(60))
            assert not some & others
            for together in ({0, 1, 2, 24}, {20, 21}, {22, 23}):
                assert together <= some or together <= others
            if given is not None:
                assert all({row, row - row % 3} <= some or row in others for row in some)


def test_halves_of_labels_are_halves():
    rng = np.random.RandomState(0)
    y = np.array([0] * 10 + [1] * 6 + [2] * 3 + [-1] * 41)
    links = ls.Pairs(must=[(20, 21), (22, 23), (25, 24)], cannot=[(30, 31), (32, 33)])
    for known in (from_labels(y, 60), from_pairs(links | ls.Pairs.from_labels(y), 60)):
        sizes = []
        for _ in range(40):
            for side in deal_units(known, 0.5, 3, rng):
                labels = y[side]
                sizes.append(np.bincount(labels[labels >= 0]))
                assert 22 <= len(side) <= 38
        assert (np.array(sizes)[:, :2] == [5, 3]).all()
        assert set(np.array(sizes)[:, 2]) == {2}, "one sample of three is on both sides"


def test_a_share_other_than_half():
    known = from_labels(np.repeat([0, 1], 20), 40)
    some, others = deal_units(known, 0.8, 1, np.random.RandomState(0))
    assert (len(some), len(others)) == (32, 8)


@pytest.mark.parametrize(("n_features", "size", "n_subspaces"), [(7, 3, 5), (10, 10, 3), (5, 1, 9)])
def test_every_feature_is_drawn_about_equally_often(n_features, size, n_subspaces):
    subspaces = draw_subspaces(n_features, size, n_subspaces, np.random.RandomState(0))
    assert all(len(set(subspace)) == size for subspace in map(tuple, subspaces))
    counts = np.bincount(np.concatenate(subspaces), minlength=n_features)
    assert np.ptp(counts) <= 1
    assert counts.min() >= 1


def test_seeds_reach_selectors_inside():
    selector = ls.StableSelector(ls.Redundancy(ls.EnsembleCLS()), random_state=3)
    name = "estimator__estimator__random_state"
    one, two = (seeded(selector, np.random.RandomState(0), only_unset=True) for _ in range(2))
    assert one.random_state == 3
    assert isinstance(one.get_params()[name], int)
    assert one.get_params()[name] == two.get_params()[name]
    assert selector.get_params()[name] is None, "the selector stays as it is"
    # The outermost is drawn first, so that wrapping a selector does not change its draws.
    rng = np.random.RandomState(0)
    assert seeded(selector, np.random.RandomState(0)).random_state == rng.randint(2**31 - 1)
