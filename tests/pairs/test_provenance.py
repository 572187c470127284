"""Tests of adaptive pairs (chosen by looking at the samples): every operation keeps the mark."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs

MUST, CANNOT = [("a", "b"), ("c", "d")], [("a", "c"), ("b", "e")]
PAIRS = Pairs(MUST, CANNOT, adaptive=[("b", "a"), ("b", "e")])

some_pairs = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] != pair[1]),
    max_size=8,
)


def as_set(pairs):
    return {frozenset(pair) for pair in pairs}


def test_adaptive_pairs_are_listed_in_order_must_links_first():
    assert PAIRS.adaptive == (("a", "b"), ("b", "e"))
    assert PAIRS.n_adaptive == 2
    numbered = Pairs(np.array([[0, 1], [2, 3]]), adaptive=np.array([[3, 2]]), n_samples=4)
    assert numbered.adaptive == ((2, 3),)
    assert all(type(row) is int for row in numbered.adaptive[0])


def test_no_pair_is_adaptive_by_default():
    for pairs in (Pairs(), Pairs(MUST, CANNOT), Pairs.from_labels([0, 0, 1, 1])):
        assert pairs.adaptive == ()
        assert pairs.n_adaptive == 0
    assert repr(Pairs(MUST, CANNOT)) == "Pairs(must=2, cannot=2)"
    assert repr(PAIRS) == "Pairs(must=2, cannot=2, adaptive=2)"


@pytest.mark.parametrize("pair", [("a", "d"), ("a", "z"), ("y", "z")])
def test_only_links_can_be_adaptive(pair):
    with pytest.raises(ValueError, match=r"neither a must-link nor a cannot-link") as caught:
        Pairs(MUST, CANNOT, adaptive=[("a", "b"), pair])
    assert str(pair) in str(caught.value)


def test_the_entries_are_checked_like_links():
    with pytest.raises(ValueError, match=r"adaptive contains \('a',\), which is not a pair"):
        Pairs(MUST, adaptive=[("a",)])
    with pytest.raises(TypeError, match="adaptive=True is not a list of pairs"):
        Pairs(MUST, adaptive=True)


def test_equal_only_with_the_same_adaptive_pairs():
    turned = Pairs([("b", "a"), ("d", "c")], CANNOT, adaptive=[("b", "e"), ("a", "b")])
    assert turned == PAIRS
    assert hash(turned) == hash(PAIRS)
    assert Pairs(MUST, CANNOT) != PAIRS
    assert Pairs(MUST, CANNOT, adaptive=MUST[:1]) != PAIRS


def test_the_marks_are_read_only():
    for marks in PAIRS._adaptive:
        with pytest.raises(ValueError, match="read-only"):
            marks[0] = False


def test_the_order_of_samples_in_an_adaptive_pair_is_ignored():
    pairs = Pairs([(0, 1), (2, 3), (1, 0)], adaptive=[(1, 0)])
    assert (pairs.must, pairs.adaptive) == (((0, 1), (2, 3)), ((0, 1),))


# -- operations on pairs -----------------------------------------------------------------------


def test_restricted_pairs_keep_the_mark():
    part = PAIRS.restrict("abc")
    assert part == Pairs(MUST[:1], CANNOT[:1], adaptive=MUST[:1])
    doubtful = Pairs([(0, 1), (1, 2)], [(0, 2), (2, 3), (4, 5)], adaptive=[(1, 2), (2, 3), (0, 2)])
    assert doubtful.without_conflicts() == Pairs(
        [(0, 1), (1, 2)], [(2, 3), (4, 5)], adaptive=[(1, 2), (2, 3)]
    )


@given(some_pairs, some_pairs, st.data())
def test_a_pair_is_adaptive_in_a_union_only_if_always_adaptive(one, other, data):
    def drawn(links):
        chosen = data.draw(st.lists(st.sampled_from(links))) if links else []
        return Pairs(must=links, adaptive=chosen), as_set(chosen)

    (left, left_adaptive), (right, right_adaptive) = drawn(one), drawn(other)
    without_looking = (as_set(one) - left_adaptive) | (as_set(other) - right_adaptive)
    both = left | right
    assert as_set(both.must) == as_set(one) | as_set(other)
    assert as_set(both.adaptive) == as_set(both.must) - without_looking
    assert (right | left) == both


def test_pairs_implied_by_adaptive_pairs_are_adaptive():
    pairs = Pairs([(0, 1), (1, 2)], [(2, 3), (4, 5)], adaptive=[(1, 2)])
    closed = pairs.closure()
    assert as_set(closed.adaptive) == as_set([(1, 2), (0, 2), (0, 3), (1, 3)])
    assert Pairs(pairs.must, pairs.cannot).closure().n_adaptive == 0


def test_pickles_also_of_versions_without_the_mark():
    assert pickle.loads(pickle.dumps(PAIRS)).adaptive == PAIRS.adaptive
    old = Pairs.__new__(Pairs)
    old.__setstate__(PAIRS.__getstate__()[:4])
    assert old == Pairs(MUST, CANNOT)


def test_a_notebook_shows_adaptive_pairs():
    assert "adaptive" not in Pairs(MUST, CANNOT)._repr_html_()
    html = PAIRS._repr_html_()
    assert "adaptive: chosen by looking at the samples" in html
    assert "(&#x27;a&#x27;, &#x27;b&#x27;), (&#x27;b&#x27;, &#x27;e&#x27;)" in html


# -- files and frames --------------------------------------------------------------------------


def test_files_round_trip(tmp_path):
    PAIRS.to_csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().split() == [
        "a,b,link,drawn",
        "a,b,must,adaptive",
        "c,d,must,random",
        "a,c,cannot,random",
        "b,e,cannot,adaptive",
    ]
    assert Pairs.from_csv(tmp_path / "p.csv") == PAIRS
    PAIRS.to_json(tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["adaptive"] == [["a", "b"], ["b", "e"]]
    assert Pairs.from_json(tmp_path / "p.json") == PAIRS


def test_the_mark_is_written_only_if_needed(tmp_path):
    Pairs(MUST, CANNOT).to_csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[0] == "a,b,link"
    Pairs(MUST, CANNOT).to_json(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text()).keys() == {"must", "cannot"}


def test_csv_written_by_hand(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("drawn;link;b;a\nAdaptive ;must;2;1\nrandom;cannot;3;2\n")
    assert Pairs.from_csv(file) == Pairs([(1, 2)], [(2, 3)], adaptive=[(1, 2)])


@pytest.mark.parametrize("line", ["1,2,must,maybe", "1,2,must,", "1,2,must"])
def test_csv_with_another_word(line, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text(f"a,b,link,drawn\n0,1,must,random\n{line}\n")
    message = r"p.csv, line 3 has drawn=.* for the pair '1', '2'.*random., or .adaptive"
    with pytest.raises(ValueError, match=message):
        Pairs.from_csv(file)


def test_json_that_names_other_pairs(tmp_path):
    (tmp_path / "p.json").write_text('{"must": [[0, 1]], "adaptive": [[0, 2]]}')
    with pytest.raises(ValueError, match=r"adaptive contains the pair \(0, 2\)"):
        Pairs.from_json(tmp_path / "p.json")


@pytest.mark.parametrize("library", [pd, pl])
def test_frames(library):
    columns = {"a": [0, 2], "b": [1, 3], "link": ["must", "cannot"]}
    frame = library.DataFrame({**columns, "drawn": ["random", "ADAPTIVE"]})
    assert Pairs.from_frame(frame) == Pairs([(0, 1)], [(2, 3)], adaptive=[(2, 3)])
    odd = library.DataFrame({**columns, "drawn": ["random", None]})
    with pytest.raises(ValueError, match=r"Row 1 .* for the pair 2, 3\. .*random., or .adaptive"):
        Pairs.from_frame(odd)
