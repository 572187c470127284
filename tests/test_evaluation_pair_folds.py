"""Folds of pairs."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.evaluation import PairKFold


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
def test_nothing_held_out_follows_from_the_rest(seed, names):
    pairs = drawn(seed, names=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        folds = list(PairKFold(4, random_state=seed).split(pairs))
    for train, test in folds:
        assert links(train.must) | links(test.must) == links(pairs.must)
        assert links(train.cannot) | links(test.cannot) == links(pairs.cannot)
        closure = train.closure()
        assert not links(test.must) & links(closure.must)
        assert not links(test.cannot) & links(closure.cannot)
        for side in (train, test):
            assert side.n_must > 0
            assert side.n_cannot > 0
    # Every pair is held out once.
    assert sum(test.n_must for _, test in folds) == pairs.n_must
    assert sum(test.n_cannot for _, test in folds) == pairs.n_cannot


def test_folds_are_of_about_one_size():
    # Each sample in one pair only, so that every pair is a group of its own.
    must = [(2 * i, 2 * i + 1) for i in range(10)]
    cannot = [(2 * i, 2 * i + 1) for i in range(50, 70)]
    for _, test in PairKFold(5, random_state=0).split(Pairs(must, cannot)):
        assert (test.n_must, test.n_cannot) == (2, 4)


def test_repeats_deal_again():
    folds = list(PairKFold(3, n_repeats=4, random_state=0).split(drawn(1)))
    assert len(folds) == 12
    assert len({test for _, test in folds}) > 3
    again = list(PairKFold(3, n_repeats=4, random_state=0).split(drawn(1)))
    assert folds == again


def test_row_numbers_keep_the_number_of_rows():
    pairs = Pairs(must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 2), (1, 4), (3, 5)], n_samples=9)
    for sides in PairKFold(2, random_state=0).split(pairs):
        assert [side.n_samples for side in sides] == [9, 9]


def test_fewer_groups_than_folds():
    pairs = Pairs(must=[(0, 1), (1, 2), (4, 5)], cannot=[(0, 4), (0, 7), (7, 9), (5, 9)])
    with pytest.warns(UserWarning, match="only 2 groups of must-links.*2 folds instead of 5"):
        assert len(list(PairKFold(5).split(pairs))) == 2


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (Pairs(must=[(0, 1)]), "1 group of must-links and 0 groups of cannot-links"),
        (Pairs(cannot=[(0, 1), (2, 3)]), "0 groups of must-links and 2 groups"),
        (Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 5), (3, 4)]), "needs at least 2 of each"),
        (Pairs(), "0 groups of must-links"),
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
