"""Tests of pairs implied by labels, of random pairs, and of encoded labels."""

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.pairs import LoneClass
from linkselect.pairs import _labels as drawing
from linkselect.pairs._labels import encode_labels, is_missing


@given(st.lists(st.integers(-1, 3), max_size=12))
def test_all_pairs_of_labels(y):
    assume({-1, 1} != set(y))  # refused, since -1 is probably a class here
    pairs = Pairs.from_labels(y)
    known = [(i, j) for i in range(len(y)) for j in range(i) if y[i] >= 0 and y[j] >= 0]
    assert pairs == Pairs(
        must=[pair for pair in known if y[pair[0]] == y[pair[1]]],
        cannot=[pair for pair in known if y[pair[0]] != y[pair[1]]],
    )
    assert pairs.n_samples == len(y)


@given(st.integers(0, 1000))
def test_drawn_pairs_are_among_all_pairs(seed):
    y = np.random.default_rng(seed).integers(-1, 3, 15)
    y[:2] = 0, 1  # a single class in addition to -1 is refused
    everything = Pairs.from_labels(y)
    n_must, n_cannot = len(everything.must) // 2, len(everything.cannot)
    drawn = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
    assert len(drawn.must) == n_must
    assert set(drawn.must) <= set(everything.must)
    assert drawn.cannot == everything.cannot
    again = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
    assert again == drawn


@pytest.mark.slow
def test_every_pair_is_drawn_equally_often():
    y = [0, 0, 0, 1, 1, 2]
    drawn = [Pairs.from_labels(y, n_must=1, n_cannot=1, random_state=seed) for seed in range(2000)]
    for kind, n_all in (("must", 4), ("cannot", 11)):
        pairs = [getattr(pairs, kind)[0] for pairs in drawn]
        counts = [pairs.count(pair) for pair in set(pairs)]
        assert len(counts) == n_all
        assert max(counts) < 1.5 * 2000 / n_all


def test_pairs_of_many_labels_are_drawn_without_listing_all_pairs():
    y = np.repeat(np.arange(10), 20_000)
    pairs = Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    assert all(y[a] == y[b] for a, b in pairs.must)
    assert all(y[a] != y[b] for a, b in pairs.cannot)
    assert max(max(pair) for pair in pairs.must) > 100_000


@pytest.mark.parametrize(
    "asked", [{"n_must": 3}, {"n_cannot": 9}, {"n_must": -1}, {"n_must": 0.5}, {"n_must": "auto"}]
)
def test_more_pairs_than_there_are(asked):
    with pytest.raises(ValueError, match="but the labels imply"):
        Pairs.from_labels([0, 0, 1, 1], **asked)


def test_labels_with_ids():
    by_id = Pairs.from_labels(["x", "x", None], sample_ids=["a", "b", "c"])
    assert by_id.must == (("a", "b"),)
    assert by_id.n_samples is None
    assert Pairs.from_labels(pd.Series([1, 1], index=["p", "q"])).must == (("p", "q"),)
    with pytest.raises(ValueError, match="Duplicate sample id 'a'"):
        Pairs.from_labels([0, 0], sample_ids=["a", "a"])
    with pytest.raises(ValueError, match="3 ids for 2 samples"):
        Pairs.from_labels([0, 0], sample_ids=["a", "b", "c"])


def test_labels_with_a_default_index_number_rows():
    assert Pairs.from_labels(pd.Series([0, 0, 1])).n_samples == 3
    assert Pairs.from_labels(pd.Series([0, 0, 1], index=[3, 4, 5])).n_samples is None


def test_encode_labels():
    codes, classes = encode_labels(np.array([3.0, np.nan, -1.0, 5.0]))
    assert codes.tolist() == [0, -1, -1, 1]
    assert classes.tolist() == [3.0, 5.0]
    with pytest.raises(ValueError, match=r"labels of different types \(int, str\)"):
        encode_labels(np.array(["a", 1], dtype=object))
    codes, classes = encode_labels(np.array(["b", None, "a", -1, pd.NA, np.nan], dtype=object))
    assert codes.tolist() == [1, -1, 0, -1, -1, -1]
    # In a list with text, NumPy would convert missing values to text.
    for missing in (-1, np.nan, None):
        assert encode_labels(["b", missing, "a"])[0].tolist() == [1, -1, 0]
        assert Pairs.from_labels(("b", missing, "b")).must == ((0, 2),)
    assert encode_labels(["b", -1, "a", np.nan], minus_one=False)[0].tolist() == [2, 0, 1, -1]
    assert encode_labels([3, -1, 3], minus_one=False)[0].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="one dimension"):
        encode_labels([[1, 2], [3, 4]])


@pytest.mark.parametrize("y", [[-1, 1, 1, -1], [-1.0, 1.0, 1.0], np.array([1, -1], dtype=object)])
def test_classes_minus_one_and_one_are_refused(y):
    words = r"only one class, 1.*-1, which means unlabelled here.*np.where\(y == -1, 0, y\)"
    with pytest.raises(ValueError, match=words):
        Pairs.from_labels(y)


def test_cannot_links_of_a_single_class_and_minus_one():
    assert Pairs.from_labels([0, 0, -1]).must == ((0, 1),)
    with pytest.raises(ValueError, match="only one class, 0, and 1 sample with the label -1"):
        Pairs.from_labels([0, 0, -1], n_must=1, n_cannot=1)


def test_no_pairs_all_pairs_and_too_many_pairs():
    y = [0, 0, 1, 1, 1, 2]
    assert Pairs.from_labels(y, n_must=0, n_cannot=0) == Pairs()
    everything = Pairs.from_labels(y)
    assert (everything.n_must, everything.n_cannot) == (4, 11)
    assert Pairs.from_labels(y, n_must=4, n_cannot=11, random_state=0) == everything
    assert Pairs.from_labels(y, n_must=np.int64(4)) == everything
    for kind, total in (("must", 4), ("cannot", 11)):
        with pytest.raises(
            ValueError, match=rf"n_{kind}={total + 1}, .* imply {total} {kind}-links\."
        ) as caught:
            Pairs.from_labels(y, **{f"n_{kind}": total + 1})
        assert caught.value.hint == f"Choose a number from 0 to {total}, or None for all links."
        assert caught.value.parameter == f"n_{kind}"


@pytest.mark.parametrize("sizes", [(1,), (2, 1), (3, 5, 2), (1, 1, 1), (70, 50)])
def test_links_are_drawn_in_ascending_order(sizes):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    i, j = np.triu_indices(len(y), 1)
    for n_must, n_cannot in [(None, None), (sum(s * (s - 1) // 2 for s in sizes) // 2, None)]:
        found = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=1)
        assert list(found.must) == sorted(found.must)
        assert all(a < b and y[a] == y[b] for a, b in found.must)
        assert len(set(found.must)) == (np.sum(y[i] == y[j]) if n_must is None else n_must)
        across = y[i] != y[j]
        assert found.cannot == tuple(zip(i[across].tolist(), j[across].tolist(), strict=True))


def test_missing_labels():
    for label in (None, float("nan"), pd.NA, pd.NaT):
        assert is_missing(label)
        assert is_missing(label, minus_one=False)
    for label in (-1, -1.0, np.int8(-1)):
        assert is_missing(label)
        assert not is_missing(label, minus_one=False)
    for label in (0, 1, -2, "-1", "", "nan", (), (-1,), True, False):
        assert not is_missing(label)


def test_a_single_class_and_the_number_of_unlabelled_samples():
    def lone(y):
        return LoneClass.find(np.array(y, dtype=object), *encode_labels(np.array(y, dtype=object)))

    assert lone([3, -1, -1, None]) == LoneClass(3, 2)
    assert lone([3, None, float("nan"), pd.NA]) is None
    assert lone([3, 4, -1]) is None
    assert lone([-1, None]) is None
    assert lone(["a", -1]).label == "a"
    assert lone([3, Decimal(-1), Fraction(-1), pd.NA, pd.NaT]) == LoneClass(3, 2)
    assert (LoneClass(1, 2).is_one, LoneClass(2, 1).is_one) == (True, False)
    assert str(LoneClass(3, 2).error()) == (
        "y has only one class, 3, and 2 samples with the label -1, which means unlabelled here. "
        "If -1 is a class, rename it: y = np.where(y == -1, 0, y)."
    )


def test_numbered_pairs_are_exact_for_large_classes(monkeypatch):
    """Square roots of numbers with 16 digits are not exact in float64."""
    ends = [2, 3, 1000, 94_906_266, 2**27 + 1, 300_000_001]
    numbers = [b * (b - 1) // 2 + more for b in ends for more in (-1, 0, 1)]
    expected = []
    for t in numbers:
        b = (1 + isqrt(8 * t + 1)) // 2
        expected.append([t - b * (b - 1) // 2, b])
    monkeypatch.setattr(drawing, "_draw", lambda *_: np.array(numbers))
    assert drawing._draw_within(np.array([400_000_000]), None, None).tolist() == expected
    # The same holds for the second class.
    moved = drawing._draw_within(np.array([1, 400_000_000]), None, None)
    assert (moved - 1).tolist() == expected
