import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.pairs import PairConflictError
from linkselect.pairs._conflicts import describe_conflicts

small_pairs = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] != pair[1]),
    max_size=8,
)


def as_sets(pairs):
    return {frozenset(pair) for pair in pairs.must}, {frozenset(pair) for pair in pairs.cannot}


def test_duplicates_and_reversed_pairs_count_once():
    pairs = Pairs(must=[(0, 3), (3, 0), (0, 3)], cannot=[("a", "b"), ("b", "a")])
    assert pairs.must == ((0, 3),)
    assert pairs.cannot == (("a", "b"),)


def test_pairs_are_neither_a_sequence_nor_an_array():
    for name in ("__len__", "shape", "__array__"):
        assert not hasattr(Pairs(), name)


def test_pairs_are_immutable():
    pairs = Pairs(must=[(0, 1)])
    with pytest.raises(AttributeError, match="is immutable"):
        pairs.must = ()
    with pytest.raises(AttributeError, match="is immutable"):
        pairs.n_samples = 3
    assert Pairs(must=[(1, 0)]) == pairs
    assert hash(Pairs(must=[(1, 0)])) == hash(pairs)
    assert pairs != Pairs(cannot=[(0, 1)])
    assert pairs != "pairs"


def test_pickle():
    pairs = Pairs(must=[(0, 1)], cannot=[("a", (1, 2))])
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert pickle.loads(pickle.dumps(Pairs(must=[(0, 1)], n_samples=5))).n_samples == 5


@pytest.mark.parametrize(
    ("must", "message"),
    [
        ([(2, 2)], "links a sample to itself"),
        ([(0, 1, 2)], "not a pair of two samples"),
        (["ab"], "not a pair of two samples"),
        ([3], "not a pair of two samples"),
        ([{0, 1}], "not a pair of two samples"),
        ([{"a": 0, "b": 1}], "not a pair of two samples"),
        ([(0, pd.NA)], "missing sample id"),
        ([(0, None)], "missing sample id"),
        ([(0, float("nan"))], "missing sample id"),
    ],
)
def test_invalid_pairs_are_refused(must, message):
    with pytest.raises(ValueError, match=message):
        Pairs(must=must)


def test_ids_must_be_hashable():
    for unhashable in ([0], np.array([0, 1])):
        with pytest.raises(TypeError, match="must be hashable"):
            Pairs(cannot=[(unhashable, "a")])
    with pytest.raises(TypeError, match="is not a list of pairs"):
        Pairs(must=5)


def test_the_error_for_a_frame_names_from_frame():
    with pytest.raises(TypeError, match=r"must is a frame.*Pairs.from_frame\(frame\)"):
        Pairs(pd.DataFrame({"a": [0], "b": [1], "link": ["must"]}))


def test_numpy_pairs_become_plain_ids():
    pairs = Pairs(must=np.array([[0, 1], [2, 3]]))
    assert pairs.must == ((0, 1), (2, 3))
    assert type(pairs.must[0][0]) is int


@given(small_pairs, small_pairs, small_pairs, small_pairs)
def test_union(must, cannot, more_must, more_cannot):
    both = Pairs(must, cannot) | Pairs(more_must, more_cannot)
    assert as_sets(both) == as_sets(Pairs(must + more_must, cannot + more_cannot))


def test_union_of_other_row_numbers_is_refused():
    with pytest.raises(ValueError, match="refer to different samples"):
        Pairs(must=[(0, 1)], n_samples=3) | Pairs(must=[(0, 1)], n_samples=4)
    with pytest.raises(TypeError):
        Pairs() | [(0, 1)]


def test_pairs_with_an_absent_sample_have_no_rows():
    pairs = Pairs(must=[("a", "b"), ("a", "gone")], cannot=[("gone", "b"), ("b", "c")])
    must, cannot = pairs.rows({"c": 0, "b": 1, "a": 2})
    assert [sorted(pair) for pair in must.tolist()] == [[1, 2]]
    assert [sorted(pair) for pair in cannot.tolist()] == [[0, 1]]


@given(small_pairs, small_pairs)
def test_closure_and_conflicts_by_brute_force(must, cannot):
    pairs = Pairs(must, cannot)
    group = list(range(9))
    for _ in range(9):
        for a, b in must:
            group[a] = group[b] = min(group[a], group[b])
    contradicted = {frozenset(pair) for pair in cannot if group[pair[0]] == group[pair[1]]}
    assert {frozenset(conflict.cannot) for conflict in pairs.conflicts()} == contradicted
    for conflict in pairs.conflicts():
        links = {frozenset(link) for link in zip(conflict.chain, conflict.chain[1:], strict=False)}
        assert links <= as_sets(pairs)[0]
        assert {conflict.chain[0], conflict.chain[-1]} == set(conflict.cannot)
    if contradicted:
        with pytest.raises(PairConflictError, match="contradicts? the must-links"):
            pairs.closure()
        pairs = pairs.without_conflicts()
        assert pairs.conflicts() == ()
    named = set(pairs.ids)
    all_pairs = {frozenset((a, b)) for a in named for b in named if a < b}
    apart = {frozenset((group[a], group[b])) for a, b in pairs.cannot}
    together = {pair for pair in all_pairs if len({group[i] for i in pair}) == 1}
    separate = {pair for pair in all_pairs if frozenset(group[i] for i in pair) in apart}
    assert as_sets(pairs.closure()) == (together, separate)


def test_a_conflict_is_explained_by_the_shortest_chain():
    pairs = Pairs(must=[("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")], cannot=[("d", "a")])
    (conflict,) = pairs.conflicts()
    assert (
        str(conflict)
        == "cannot-link ('d', 'a'), but must-links connect its samples: 'd' = 'c' = 'a'"
    )
    direct = Pairs(must=[(0, 1)], cannot=[(1, 0)]).conflicts()
    assert direct[0].chain == (1, 0)


def test_many_conflicts_are_counted():
    must = [(0, 1), (1, 2), (2, 3), (3, 4)]
    pairs = Pairs(must, cannot=[(0, 2), (0, 3), (0, 4), (1, 3), (7, 8)])
    with pytest.raises(PairConflictError, match=r"^4 cannot-links contradict .*and 1 more.*drop"):
        pairs.closure()
    with pytest.raises(PairConflictError, match="^3 cannot-links contradict") as all_shown:
        Pairs(must, cannot=[(0, 2), (0, 3), (0, 4)]).closure()
    assert " more" not in str(all_shown.value)


def test_the_error_separates_the_chain_from_the_hint():
    pairs = Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(PairConflictError) as caught:
        pairs.closure()
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert error.problem.startswith("1 cannot-link contradicts the must-links: ")
        assert error.problem.endswith("must-links connect its samples: 0 = 1 = 2.")
        assert error.hint.startswith(
            "Correct the pairs (Pairs.conflicts() lists all conflicts), or"
        )
        assert str(error) == f"{error.problem} {error.hint}"


def test_a_long_chain_is_shortened_in_the_message():
    pairs = Pairs(must=[(i, i + 1) for i in range(1000)], cannot=[(0, 1000)])
    message = str(pairs.conflicts()[0])
    assert "0 = 1 = 2 = 3 = ... (994 more) ... = 998 = 999 = 1000" in message
    assert len(pairs.conflicts()[0].chain) == 1001


def test_row_numbers_are_checked_if_the_number_of_rows_is_known():
    message = "A pair contains 100, but with n_samples=10, .* row numbers from 0 to 9"
    with pytest.raises(ValueError, match=message):
        Pairs(must=[(0, 100)], n_samples=10)
    with pytest.raises(ValueError, match="n_samples='x'"):
        Pairs(n_samples="x")


def test_components():
    pairs = Pairs(must=[(5, 6), (0, 1), (1, 2)], cannot=[(0, 9)])
    assert pairs.components() == ((0, 1, 2), (5, 6), (9,))
    assert Pairs().components() == ()
    assert Pairs.from_labels([0, 0, -1, 1]).components() == ((0, 1), (3,))


def test_summary():
    pairs = Pairs(must=[(0, 1), (1, 2), (5, 9)], cannot=[(0, 5), (0, 2)])
    assert pairs.summary(n_samples=20) == {
        "must": 3,
        "cannot": 2,
        "conflicts": 1,
        "components": 2,
        "samples": 5,
        "coverage": 0.25,
        "lost_must": 0,
        "lost_cannot": 0,
    }
    fold = pairs.summary(sample_ids=[0, 1, 2, 5])
    assert (fold["must"], fold["lost_must"], fold["lost_cannot"]) == (2, 1, 0)
    assert fold["coverage"] == 1.0
    assert pairs.summary()["coverage"] is None


# -- exact messages and the limits at which they appear -----------------------------------------


def refusal_of(make):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    return str(caught.value)


@pytest.mark.parametrize("sample", [-1, 10, 2.0, "3"])
def test_row_numbers_go_from_0_to_the_last_row(sample):
    assert Pairs(must=[(0, 9)], n_samples=10).n_samples == 10
    assert Pairs(must=[(0, np.int8(9))], n_samples=np.int64(10)).must == ((0, 9),)
    message = refusal_of(lambda: Pairs(must=[(5, sample)], n_samples=10))
    assert message == (
        f"A pair contains {sample!r}, but with n_samples=10, samples must be row numbers from 0 "
        "to 9. Omit n_samples to use other ids."
    )


@pytest.mark.parametrize("n_samples", [0, -1, 1.0, "1"])
def test_n_samples_is_at_least_one(n_samples):
    assert Pairs(n_samples=1).n_samples == 1
    message = refusal_of(lambda: Pairs(n_samples=n_samples))
    assert message == f"n_samples={n_samples!r}, but it must be the number of rows, at least 1."


@pytest.mark.parametrize(
    ("n_links", "shown"),
    [
        (7, "0 = 1 = 2 = 3 = 4 = 5 = 6 = 7"),
        (8, "0 = 1 = 2 = 3 = ... (2 more) ... = 6 = 7 = 8"),
        (9, "0 = 1 = 2 = 3 = ... (3 more) ... = 7 = 8 = 9"),
    ],
)
def test_the_length_from_which_a_chain_is_shortened(n_links, shown):
    pairs = Pairs(must=[(i, i + 1) for i in range(n_links)], cannot=[(0, n_links)])
    assert str(pairs.conflicts()[0]).endswith(f"connect its samples: {shown}")


@pytest.mark.parametrize("limit", [0, 1, 2, 3, None])
def test_conflicts_up_to_a_limit(limit):
    pairs = Pairs([(0, 1), (1, 2), (2, 3)], [(3, 0), (0, 2), (1, 3), (3, 5)])
    expected = [((3, 0), (3, 2, 1, 0)), ((0, 2), (0, 1, 2)), ((1, 3), (1, 2, 3))]
    found = pairs.conflicts(limit)
    assert [tuple(conflict) for conflict in found] == expected[:limit]
    assert pairs.n_conflicts == 3


def test_a_union_keeps_the_number_of_rows():
    ten, none = Pairs(must=[(0, 1)], n_samples=10), Pairs(must=[(0, 2)])
    assert [(a | b).n_samples for a, b in [(ten, none), (none, ten), (ten, ten)]] == [10] * 3
    assert (none | none).n_samples is None
    message = refusal_of(lambda: ten | Pairs(n_samples=9))
    assert message == (
        "Cannot join pairs with n_samples=10 and pairs with n_samples=9: their row numbers refer "
        "to different samples. Use sample ids to join the pairs."
    )


def test_a_closure_keeps_the_number_of_rows_and_a_restriction_does_not():
    pairs = Pairs(must=[(0, 1), (1, 2)], cannot=[(2, 3)], n_samples=10)
    assert pairs.closure().n_samples == pairs.without_conflicts().n_samples == 10
    assert pairs.restrict([0, 1, 3]).n_samples is None
    assert pairs.restrict([0, 1, 3]).must == ((0, 1),)
    assert pairs.restrict([2, 3]).cannot == ((2, 3),)


def test_coverage_refers_to_the_known_rows():
    numbered, named = Pairs(must=[(0, 1)], n_samples=8), Pairs(must=[(0, 1)])
    assert numbered.summary()["coverage"] == 0.25
    assert numbered.summary(n_samples=4)["coverage"] == 0.5
    assert named.summary(n_samples=4)["coverage"] == 0.5
    assert named.summary([])["coverage"] is None
    assert named.summary([0, 5])["lost_must"] == 1


def test_first_and_last_rows():
    pairs = Pairs(must=[("a", "b"), ("b", "gone")], cannot=[("gone", "a"), ("b", "a")])
    must, cannot = pairs.rows({"a": 0, "b": 5})
    assert (must.tolist(), cannot.tolist()) == ([[0, 5]], [[5, 0]])


def test_components_of_equal_size_keep_the_order_of_their_first_samples():
    pairs = Pairs(must=[(7, 3), (1, 0), (4, 5), (5, 6)], cannot=[(9, 8)])
    assert pairs.components() == ((4, 5, 6), (7, 3), (1, 0), (9,), (8,))
    assert repr(pairs) == "Pairs(must=4, cannot=1)"


def test_three_conflicts_are_shown_and_the_others_counted():
    pairs = Pairs([(0, 1), (1, 2), (2, 3)], [(0, 2), (1, 3), (0, 3), (0, 1), (2, 3)])
    told = (
        "cannot-link (0, 2), but must-links connect its samples: 0 = 1 = 2; "
        "cannot-link (1, 3), but must-links connect its samples: 1 = 2 = 3; "
        "cannot-link (0, 3), but must-links connect its samples: 0 = 1 = 2 = 3"
    )
    expected = f"5 cannot-links contradict the must-links: {told}; and 2 more."
    assert describe_conflicts(pairs) == expected


def test_internal_arrays_are_read_only():
    for pairs in (Pairs([(0, 1)], [(1, 2)]), Pairs.from_labels([0, 0, 1])):
        for links in (pairs._must, pairs._cannot):
            with pytest.raises(ValueError, match="read-only"):
                links[0, 0] = 5


def test_equality_compares_all_pairs():
    pairs, more = Pairs([(0, 1)], [(1, 2)]), Pairs([(0, 1), (3, 4)], [(1, 2)])
    other = Pairs([(0, 1)], [(1, 2), (1, 3)])
    assert len({pairs, more, other, Pairs([(1, 0)], [(2, 1)]), Pairs()}) == 4
    for one, another in permutations([pairs, more, other, Pairs()], 2):
        assert one != another
