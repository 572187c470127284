import json
import pickle

import numpy as np
import pandas as pd
import pytest

from linkselect import Pairs


def weighted(pairs):
    return dict(zip(pairs.must, pairs.must_weights, strict=True))


def test_a_pair_given_twice_has_its_larger_weight():
    pairs = Pairs([(0, 1), (1, 0), (2, 3)], [(0, 2)], must_weights=[0.5, 3, 2])
    assert weighted(pairs) == {(0, 1): 3.0, (2, 3): 2.0}
    assert pairs.cannot_weights == (1.0,)
    both = pairs | Pairs([(3, 2), (5, 6)], must_weights=[4, 0.1])
    assert weighted(both) == {(0, 1): 3.0, (2, 3): 4.0, (5, 6): 0.1}


def test_labels_imply_links_of_weight_1():
    labels = Pairs.from_labels([0, 0, 0, 1])
    pairs = Pairs([(0, 1), (1, 2)], must_weights=[0.5, 2]) | labels
    assert weighted(pairs) == {(1, 2): 2.0, (0, 1): 1.0, (0, 2): 1.0}
    assert (pairs.n_must, pairs.n_cannot) == (3, 3)
    assert pairs != labels
    assert Pairs([(0, 1)], must_weights=[0.5]) | labels == labels


def test_operations_keep_weights():
    pairs = Pairs([(0, 1), (1, 2)], [(0, 2), (0, 9)], must_weights=[2, 3], cannot_weights=[5, 0.5])
    assert weighted(pairs.restrict([1, 2])) == {(1, 2): 3.0}
    settled = pairs.without_conflicts()
    assert settled.cannot_weights == (0.5,)
    closed = settled.closure()
    assert weighted(closed) == {(0, 1): 2.0, (0, 2): 1.0, (1, 2): 3.0}
    assert dict(zip(closed.cannot, closed.cannot_weights, strict=True)) == {
        (0, 9): 0.5,
        (1, 9): 1.0,
        (2, 9): 1.0,
    }
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    plain = Pairs(pairs.must, pairs.cannot)
    assert plain != pairs
    assert plain == Pairs(pairs.must, pairs.cannot, must_weights=[1, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "must_weights has 1 weight for 2 must-links"),
        ([1, 0], r"contains 0 for the pair \('b', 'c'\), but weights must be positive"),
        ([-2, 1], r"contains -2 for the pair \('a', 'b'\),"),
        ([1, np.inf], r"contains inf for the pair \('b', 'c'\),"),
        ([np.nan, 1], r"contains nan for the pair \('a', 'b'\),"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        Pairs([("a", "b"), ("b", "c")], must_weights=weights)


@pytest.mark.parametrize("weights", ["x", 3, ["a", "b"]])
def test_weights_must_be_numbers(weights):
    with pytest.raises(TypeError, match="cannot_weights must be a list of numbers"):
        Pairs(cannot=[("a", "b"), ("b", "c")], cannot_weights=weights)


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_files_have_weights_only_if_needed(tmp_path, ending):
    path = tmp_path / f"pairs.{ending}"
    pairs = Pairs([(0, 1), (1, 2)], [(0, 7)], must_weights=[1 / 3, 1], adaptive=[(0, 7)])
    write, read = {"csv": ("to_csv", "from_csv"), "json": ("to_json", "from_json")}[ending]
    getattr(pairs, write)(path)
    back = getattr(Pairs, read)(path)
    assert back == pairs
    assert back.must_weights == (1 / 3, 1.0)
    getattr(Pairs(pairs.must), write)(path)
    assert "weight" not in path.read_text()


def test_the_layout_of_files(tmp_path):
    pairs = Pairs([(0, 1)], [(0, 7)], must_weights=[2.5])
    pairs.to_csv(tmp_path / "pairs.csv")
    lines = (tmp_path / "pairs.csv").read_text().split()
    assert lines == ["a,b,link,weight", "0,1,must,2.5", "0,7,cannot,1.0"]
    pairs.to_json(tmp_path / "pairs.json")
    assert json.loads((tmp_path / "pairs.json").read_text()) == {
        "must": [[0, 1]],
        "cannot": [[0, 7]],
        "must_weights": [2.5],
        "cannot_weights": [1.0],
    }


def test_a_frame_may_have_weights():
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 2], "link": ["must", "cannot"], "weight": [2, 0.5]})
    pairs = Pairs.from_frame(frame)
    assert (pairs.must_weights, pairs.cannot_weights) == ((2.0,), (0.5,))
    with pytest.raises(ValueError, match="Row 1 of the frame has weight='much' for"):
        Pairs.from_frame(frame.assign(weight=[1, "much"]))


def test_a_line_without_a_weight_is_named(tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b,link,weight\n0,1,must,2\n0,2,must,\n")
    with pytest.raises(ValueError, match="line 3 has weight='' for the pair '0', '2'"):
        Pairs.from_csv(tmp_path / "pairs.csv")
