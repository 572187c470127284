import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from linkselect import ConstraintScore, Pairs, StableSelector
from linkselect._supervision import from_labels, from_pairs, nothing, restrict
from linkselect.pairs import LoneClass


def test_labels():
    known = from_labels(["b", None, "a", "a"], 4)
    assert known.classes.tolist() == [1, -1, 0, 0]
    assert known.unlabelled.tolist() == [False, True, False, False]
    assert known.must is None
    assert known.has_must
    assert known.has_cannot


def test_pairs_join_components_and_leave_the_rest_unlabelled():
    known = from_pairs(Pairs(must=[(4, 1), (1, 2)], cannot=[(0, 4), (0, 6)]), 8)
    assert known.classes.tolist() == [0, 1, 1, -1, 1, -1, 2, -1]
    assert known.must.tolist() == [[4, 1], [1, 2]]
    assert known.cannot.tolist() == [[0, 4], [0, 6]]


def test_pairs_by_id_find_their_rows():
    pairs = Pairs(must=[("a", "c")], cannot=[("c", "d")])
    known = from_pairs(pairs, 3, ["d", "c", "a"])
    assert known.must.tolist() == [[2, 1]]
    assert known.cannot.tolist() == [[1, 0]]


def test_some_rows():
    known = from_pairs(Pairs(must=[(4, 1), (1, 2)], cannot=[(0, 4), (0, 6)]), 8)
    part = restrict(known, np.array([6, 4, 1, 0]))
    assert part.classes.tolist() == [2, 1, 1, 0]
    assert part.must.tolist() == [[1, 2]]
    assert part.cannot.tolist() == [[3, 1], [3, 0]]
    labelled = from_labels([2, 2, -1], 3)
    assert restrict(labelled, np.array([0, 2])).hint == labelled.hint


def test_labels_are_listed_only_when_asked_for():
    labels = Pairs.from_labels([5, 5, 6, -1, -1, -1])
    pairs = Pairs(must=[(3, 4)], cannot=[(0, 4)], must_weights=[2]) | labels
    known = from_pairs(pairs, 6)
    assert known.classes.tolist() == [0, 0, 1, 2, 2, -1]
    assert known.listed_must.tolist() == [[3, 4]]
    assert known.must.tolist() == [[3, 4], [0, 1]]
    assert known.cannot.tolist() == [[0, 4], [0, 2], [1, 2]]
    assert [weights.tolist() for weights in known.all_weights] == [[2, 1], [1, 1, 1]]
    assert known.cannot_weights is None
    part = restrict(known, np.array([4, 3, 1, 0]))
    assert part.must.tolist() == [[1, 0], [2, 3]]
    assert part.must_weights.tolist() == [2]
    assert part.cannot.tolist() == [[3, 0]]


@pytest.mark.parametrize(
    ("y", "has_must", "has_cannot"),
    [([0, 0, -1], True, False), ([0, 2, -1], False, True), ([0, 0, 2], True, True)],
)
def test_labels_in_pairs_bring_both_kinds(y, has_must, has_cannot):
    known = from_pairs(Pairs.from_labels(y), 3)
    assert (known.has_must, known.has_cannot) == (has_must, has_cannot)
    assert not restrict(known, np.array([1])).has_cannot


def test_many_labels_in_a_fold_are_counted_without_a_list():
    y = np.arange(100_000) % 3
    pairs = Pairs.from_labels(y, sample_ids=[f"s{row}" for row in range(100_000)])
    n_all, n_held = 100_000 * 99_999 // 2, 8763 * 8762 // 2
    with pytest.warns(UserWarning, match=f"{n_all - n_held:,} of {n_all:,} pairs"):
        known = from_pairs(pairs, 8763, [f"s{row}" for row in range(8763)])
    assert known.n_groups == 3
    with pytest.raises(ValueError, match=r"pair \('s0', 's1'\) contains 's0'"):
        from_pairs(pairs, 2, ["a", "b"])


def test_nothing():
    known = nothing(3)
    assert known.unlabelled.all()
    assert not known.has_must
    assert not known.has_cannot


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        nothing(3).classes = np.zeros(3)


def test_one_labelled_class_is_explained_when_it_turns_out_too_little():
    assert "y has only one class, 2" in from_labels([2, 2, -1], 3).hint
    assert from_labels([2, 2, -1], 3).lone_class == LoneClass(2, 1)
    with pytest.raises(ValueError, match="one class, 1, and 1 sample with the label -1") as caught:
        from_labels([-1, 1, 1], 3)
    assert caught.value.problem.endswith("which means unlabelled here.")
    assert from_labels([1, 1, 1], 3).hint == ""


def test_row_numbers_stop_when_metadata_are_routed():
    # After a scaler, a frame has lost its index, so row numbers would refer to rows of the fold.
    X, y = load_iris(return_X_y=True, as_frame=True)
    pairs = Pairs(must=[(0, 3), (51, 60), (101, 120)], cannot=[(0, 60), (51, 120), (3, 101)])
    model = make_pipeline(MinMaxScaler(), ConstraintScore(2), KNeighborsClassifier())
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match=r"would refer to other samples.*pass sample_ids="):
            cross_validate(model, X, y, params={"pairs": pairs}, cv=5, error_score="raise")
        routed = {"pairs": pairs, "sample_ids": X.index.to_numpy()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            cross_validate(
                model,
                X,
                y,
                params=routed,
                cv=KFold(5, shuffle=True, random_state=0),
                error_score="raise",
            )
        with pytest.raises(ValueError, match=r"n_samples=150\)"):
            ConstraintScore().fit(X.to_numpy(), pairs=pairs)
        whole = Pairs(pairs.must, pairs.cannot, n_samples=150)
        ConstraintScore().fit(X.to_numpy(), pairs=whole)
        ConstraintScore().fit(X, pairs=pairs)
    ConstraintScore().fit(X.to_numpy(), pairs=pairs)


def test_a_sample_that_is_absent_is_named():
    pairs = Pairs(must=[("p1", "p2")], cannot=[("p1", "px"), ("py", "p2")])
    with pytest.warns(
        UserWarning, match=r"2 of 3 pairs .* pair \('p1', 'px'\) contains 'px', which is not in X"
    ):
        from_pairs(pairs, 3, ["p1", "p2", "p3"])
    lost = Pairs(must=[("p1", "px")])
    with pytest.raises(
        ValueError, match=r"pair \('p1', 'px'\) contains 'px' \(str\), whereas X .*'p1'"
    ):
        from_pairs(lost, 3, ["p1", "p2", "p3"])


@pytest.mark.parametrize(
    ("absent", "present"), [("0", 0), (0, "0"), ("007", 7), ("7.0", 7), (" s1", "s1"), ("S1", "s1")]
)
@pytest.mark.parametrize("routed", [False, True])
def test_an_id_that_is_spelt_otherwise_is_always_named(absent, present, routed):
    pairs = Pairs(must=[("a", "b"), ("a", "c")], cannot=[("a", "d"), ("b", absent)])
    words = rf"1 of 4 pairs .*: {absent!r} \(\w+\) in the pairs, but {present!r} \(\w+\) in X"
    for is_index in (False, True):
        with (
            config_context(enable_metadata_routing=routed),
            pytest.warns(UserWarning, match=words) as caught,
        ):
            known = from_pairs(pairs, 5, ["a", "b", "c", "d", present], ids_are_index=is_index)
        assert len(caught) == 1
        assert (len(known.must), len(known.cannot)) == (2, 1)


@pytest.mark.parametrize("selector", [ConstraintScore(), StableSelector(ConstraintScore())])
def test_an_absent_id_is_counted_unless_it_may_be_outside_a_fold(selector):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    pairs = Pairs(must=[(0, 3), (51, 60), (101, 120)], cannot=[(0, 60), (51, 120), (3, 149)])
    some = X.iloc[:140]
    words = r"1 of 6 pairs .* pair \(3, 149\) contains 149, .*sample_ids=X.index"
    with pytest.warns(UserWarning, match=words) as caught:
        selector.fit(some, pairs=pairs)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector.fit(some, pairs=pairs, sample_ids=some.index)
        with config_context(enable_metadata_routing=True):
            selector.fit(some, pairs=pairs)
