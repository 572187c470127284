"""Folds of pairs."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.evaluation import PairKFold
from linkselect.evaluation._pair_folds import read_units


def links(pairs):
    return {frozenset(pair) for pair in pairs}


def drawn(seed, n_samples=40, n_must=25, n_cannot=25, names=int):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_samples)
    pairs = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
    return Pairs(
        [(names(a), names(b)) for a, b in pairs.must],
        [(names(a), names(b)) for a, b in pairs.cannot],
    )


@given(st.integers(0, 500), st.sampled_from([int, "s{}".format]))
def test_no_sample_is_on_both_sides(seed, names):
    pairs = drawn(seed, n_samples=80, names=names)
    together = {sample: place for place, group in enumerate(pairs.components()) for sample in group}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        folds = list(PairKFold(4, random_state=seed).split(pairs))
    for train, test in folds:
        # Not even through a chain of must-links, so that no held-out pair follows from the others.
        units = [{together[sample] for sample in side.ids} for side in (train, test)]
        assert not units[0] & units[1]
        for side in (train, test):
            assert side.n_must > 0
            assert side.n_cannot > 0
            assert links(side.must) <= links(pairs.must)
            assert links(side.cannot) <= links(pairs.cannot)
    held_out = [pair for _, test in folds for pair in test.must]
    assert len(held_out) == len(set(held_out)) == pairs.n_must


@pytest.mark.parametrize("seed", range(5))
def test_folds_hold_as_many_pairs_each(seed):
    """Units of 6, 3, 3, 1 and 1 must-links fill two folds of 7 if the largest is placed first."""
    starts, sizes = (0, 10, 20, 30, 40), (6, 3, 3, 1, 1)
    must = [
        (first + i, first + i + 1) for first, n in zip(starts, sizes, strict=True) for i in range(n)
    ]
    folds = PairKFold(2, random_state=seed).split(Pairs(must))
    assert [test.n_must for _, test in folds] == [7, 7]


def test_a_rare_class_does_not_leak():
    """The smallest case: every cannot-link names one of three samples of a rare class."""
    y = (np.arange(60) < 3).astype(int)
    pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        folds = list(PairKFold(5, random_state=0).split(pairs))
    assert folds
    for train, test in folds:
        assert not set(train.ids) & set(test.ids)


def test_a_hub_cannot_be_held_out():
    must = [(2 * i, 2 * i + 1) for i in range(1, 21)]
    with pytest.raises(ValueError, match="a split requires two parts without common samples"):
        list(PairKFold(random_state=0).split(Pairs(must, [(0, i) for i in range(2, 22)])))


def test_groups_stay_on_one_side():
    pairs = drawn(0, n_samples=200)
    group = {sample: sample // 3 for sample in range(200)}
    for train, test in PairKFold(2, random_state=0).split(pairs, group):
        assert not {group[one] for one in train.ids} & {group[one] for one in test.ids}


def test_adaptive_pairs_train_and_are_not_held_out():
    must = [(2 * i, 2 * i + 1) for i in range(20)]
    cannot = [(2 * i, 2 * i + 1) for i in range(50, 70)]
    pairs = Pairs(must, cannot, adaptive=must[:10] + cannot[:10])
    for train, test in PairKFold(2, random_state=0).split(pairs):
        assert not links(test.must + test.cannot) & links(pairs.adaptive)
        assert links(pairs.adaptive) <= links(train.must + train.cannot)


def test_pairs_between_folds_train_where_they_share_no_sample():
    # A chain of cannot-links is cut; the link between the two pieces is never held out.
    chain = [(i, i + 1) for i in range(11)]
    must = [(100 + 2 * i, 101 + 2 * i) for i in range(6)]
    folds = list(PairKFold(2, random_state=0).split(Pairs(must, chain)))
    held_out = [pair for _, test in folds for pair in test.cannot]
    assert len(held_out) == 10
    for train, test in folds:
        assert not set(train.ids) & set(test.ids)


def test_independent_links():
    pairs = Pairs(must=[(0, 1), (1, 2), (4, 5)], cannot=[(0, 9), (2, 9), (9, 10), (11, 12)])
    assert read_units(pairs).independent == (2, 2)
    hub = Pairs(must=[(5, 6)], cannot=[(0, i) for i in range(1, 5)])
    assert read_units(hub).independent == (1, 1)
    assert read_units(Pairs(cannot=[(0, 1)]), {0: "a", 1: "a"}).independent == (0, 0)


def test_folds_are_of_about_one_size():
    # Each sample is in one pair only, so every pair is a unit.
    must = [(2 * i, 2 * i + 1) for i in range(10)]
    cannot = [(2 * i, 2 * i + 1) for i in range(50, 70)]
    for _, test in PairKFold(5, random_state=0).split(Pairs(must, cannot)):
        assert (test.n_must, test.n_cannot) == (2, 4)


def test_repeats_deal_again():
    folds = list(PairKFold(3, n_repeats=4, random_state=0).split(drawn(1, 200)))
    assert len(folds) == 12
    assert len({test for _, test in folds}) > 3
    again = list(PairKFold(3, n_repeats=4, random_state=0).split(drawn(1, 200)))
    assert folds == again


def test_row_numbers_keep_the_number_of_rows():
    pairs = Pairs(must=[(0, 1), (2, 3)], cannot=[(4, 5), (6, 7)], n_samples=9)
    for sides in PairKFold(2, random_state=0).split(pairs):
        assert [side.n_samples for side in sides] == [9, 9]


def test_fewer_groups_than_folds():
    pairs = Pairs(must=[(0, 1), (1, 2), (4, 5)], cannot=[(6, 7), (8, 9), (10, 11), (12, 13)])
    with pytest.warns(UserWarning, match="2 folds instead of 5"):
        assert len(list(PairKFold(5, n_repeats=3).split(pairs))) == 6


def test_must_links_alone():
    pairs = Pairs(must=[(2 * i, 2 * i + 1) for i in range(8)])
    folds = list(PairKFold(2, random_state=0).split(pairs))
    assert [(train.n_must, test.n_must) for train, test in folds] == [(4, 4)] * 2


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (Pairs(must=[(0, 1)]), "two independent must-links. Given: 1 must-link"),
        (Pairs(cannot=[(0, 1), (2, 3)]), "Given: 2 cannot-links"),
        (
            Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 5), (3, 4)]),
            "each with must-links and cannot-links",
        ),
        (Pairs(), "Given: no pairs"),
        (
            Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)]),
            r"contradict.*pass pairs\.without_conflicts\(\)",
        ),
    ],
)
def test_too_few_pairs(pairs, message):
    with pytest.raises(ValueError, match=message):
        list(PairKFold().split(pairs))


@pytest.mark.parametrize(
    "options", [{"n_splits": 1}, {"n_splits": 2.5}, {"n_repeats": 0}, {"n_splits": "5"}]
)
def test_wrong_numbers(options):
    with pytest.raises(ValueError, match="whole number"):
        PairKFold(**options)


def test_what_is_not_pairs():
    with pytest.raises(TypeError, match="must be a linkselect.Pairs"):
        list(PairKFold().split([(0, 1)]))
    assert repr(PairKFold(3)) == "PairKFold(n_splits=3, n_repeats=1, random_state=None)"
