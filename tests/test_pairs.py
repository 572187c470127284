import json
import pickle
from collections import namedtuple
from datetime import date
from enum import IntEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.pairs import PairConflictError, encode_labels

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


def test_it_is_no_sequence_and_no_array():
    for name in ("__len__", "shape", "__array__"):
        assert not hasattr(Pairs(), name)


def test_it_cannot_be_changed():
    pairs = Pairs(must=[(0, 1)])
    with pytest.raises(AttributeError, match="cannot be changed"):
        pairs.must = ()
    with pytest.raises(AttributeError, match="cannot be changed"):
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
        ([(0, 1, 2)], "a pair is two samples"),
        (["ab"], "a pair is two samples"),
        ([3], "a pair is two samples"),
        ([{0, 1}], "a pair is two samples"),
        ([{"a": 0, "b": 1}], "a pair is two samples"),
        ([(0, pd.NA)], "missing sample id"),
        ([(0, None)], "missing sample id"),
        ([(0, float("nan"))], "missing sample id"),
    ],
)
def test_what_is_no_pair(must, message):
    with pytest.raises(ValueError, match=message):
        Pairs(must=must)


def test_ids_must_be_hashable():
    for unhashable in ([0], np.array([0, 1])):
        with pytest.raises(TypeError, match="must be hashable"):
            Pairs(cannot=[(unhashable, "a")])
    with pytest.raises(TypeError, match="must be a list of pairs"):
        Pairs(must=5)


def test_numpy_pairs_become_plain_ids():
    pairs = Pairs(must=np.array([[0, 1], [2, 3]]))
    assert pairs.must == ((0, 1), (2, 3))
    assert type(pairs.must[0][0]) is int


@given(small_pairs, small_pairs, small_pairs, small_pairs)
def test_union(must, cannot, more_must, more_cannot):
    both = Pairs(must, cannot) | Pairs(more_must, more_cannot)
    assert as_sets(both) == as_sets(Pairs(must + more_must, cannot + more_cannot))


def test_union_of_other_row_numbers_is_refused():
    with pytest.raises(ValueError, match="number different rows"):
        Pairs(must=[(0, 1)], n_samples=3) | Pairs(must=[(0, 1)], n_samples=4)
    with pytest.raises(TypeError):
        Pairs() | [(0, 1)]


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
        with pytest.raises(PairConflictError, match="contradict the must-links"):
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
    assert str(conflict) == "cannot-link ('d', 'a'), but must-links join its ends: 'd' = 'c' = 'a'"
    direct = Pairs(must=[(0, 1)], cannot=[(1, 0)]).conflicts()
    assert direct[0].chain == (1, 0)


def test_many_conflicts_are_counted():
    must = [(0, 1), (1, 2), (2, 3), (3, 4)]
    pairs = Pairs(must, cannot=[(0, 2), (0, 3), (0, 4), (1, 3), (7, 8)])
    with pytest.raises(PairConflictError, match=r"4 of the cannot-links.*and 1 more.*drop"):
        pairs.closure()


def test_a_long_chain_is_shortened_in_the_message():
    pairs = Pairs(must=[(i, i + 1) for i in range(1000)], cannot=[(0, 1000)])
    message = str(pairs.conflicts()[0])
    assert "0 = 1 = 2 = 3 = ... (994 more) ... = 998 = 999 = 1000" in message
    assert len(pairs.conflicts()[0].chain) == 1001


def test_row_numbers_are_checked_where_the_number_of_rows_is_known():
    with pytest.raises(ValueError, match="A pair names 100, but with n_samples=10"):
        Pairs(must=[(0, 100)], n_samples=10)
    with pytest.raises(ValueError, match="n_samples='x'"):
        Pairs(n_samples="x")


def test_labels_with_a_default_index_number_rows():
    assert Pairs.from_labels(pd.Series([0, 0, 1])).n_samples == 3
    assert Pairs.from_labels(pd.Series([0, 0, 1], index=[3, 4, 5])).n_samples is None


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


# -- labels ----------------------------------------------------------------------------------


@given(st.lists(st.integers(-1, 3), max_size=12))
def test_all_pairs_of_labels(y):
    pairs = Pairs.from_labels(y)
    known = [(i, j) for i in range(len(y)) for j in range(i) if y[i] >= 0 and y[j] >= 0]
    assert as_sets(pairs) == (
        {frozenset(pair) for pair in known if y[pair[0]] == y[pair[1]]},
        {frozenset(pair) for pair in known if y[pair[0]] != y[pair[1]]},
    )
    assert pairs.n_samples == len(y)


@given(st.integers(0, 1000))
def test_a_random_number_of_pairs_is_part_of_all(seed):
    y = np.random.default_rng(seed).integers(-1, 3, 15)
    everything = Pairs.from_labels(y)
    n_must, n_cannot = len(everything.must) // 2, len(everything.cannot)
    drawn = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
    assert len(drawn.must) == n_must
    assert as_sets(drawn)[0] <= as_sets(everything)[0]
    assert as_sets(drawn)[1] == as_sets(everything)[1]
    again = Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
    assert again == drawn


def test_every_pair_is_drawn_equally_often():
    y = [0, 0, 0, 1, 1, 2]
    drawn = [Pairs.from_labels(y, n_must=1, n_cannot=1, random_state=seed) for seed in range(2000)]
    for kind, n_all in (("must", 4), ("cannot", 11)):
        pairs = [getattr(pairs, kind)[0] for pairs in drawn]
        counts = [pairs.count(pair) for pair in set(pairs)]
        assert len(counts) == n_all
        assert max(counts) < 1.5 * 2000 / n_all


def test_pairs_of_many_labels_are_drawn_without_listing_all():
    y = np.repeat(np.arange(10), 20_000)
    pairs = Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    assert all(y[a] == y[b] for a, b in pairs.must)
    assert all(y[a] != y[b] for a, b in pairs.cannot)
    assert max(max(pair) for pair in pairs.must) > 100_000


@pytest.mark.parametrize(
    "asked", [{"n_must": 3}, {"n_cannot": 9}, {"n_must": -1}, {"n_must": 0.5}, {"n_must": "auto"}]
)
def test_more_pairs_than_there_are(asked):
    with pytest.raises(ValueError, match="were asked for, but the labels imply"):
        Pairs.from_labels([0, 0, 1, 1], **asked)


def test_labels_with_ids():
    by_id = Pairs.from_labels(["x", "x", None], sample_ids=["a", "b", "c"])
    assert by_id.must == (("a", "b"),)
    assert by_id.n_samples is None
    assert Pairs.from_labels(pd.Series([1, 1], index=["p", "q"])).must == (("p", "q"),)
    with pytest.raises(ValueError, match="names 'a' more than once"):
        Pairs.from_labels([0, 0], sample_ids=["a", "a"])
    with pytest.raises(ValueError, match="3 entries, but there are 2 samples"):
        Pairs.from_labels([0, 0], sample_ids=["a", "b", "c"])


def test_encode_labels():
    codes, classes = encode_labels(np.array([3.0, np.nan, -1.0, 5.0]))
    assert codes.tolist() == [0, -1, -1, 1]
    assert classes.tolist() == [3.0, 5.0]
    with pytest.raises(ValueError, match="mixes labels of the types int, str"):
        encode_labels(np.array(["a", 1], dtype=object))
    codes, classes = encode_labels(np.array(["b", None, "a", -1, pd.NA, np.nan], dtype=object))
    assert codes.tolist() == [1, -1, 0, -1, -1, -1]
    with pytest.raises(ValueError, match="one dimension"):
        encode_labels([[1, 2], [3, 4]])


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pairs",
    [
        Pairs(must=[(0, 3), (1, 4)], cannot=[(0, 60)]),
        Pairs(must=[("a", "b, c")], cannot=[('"quoted"', "ä")]),
        Pairs(must=[("007", "7")]),
        Pairs(),
    ],
    ids=repr,
)
def test_files_there_and_back(pairs, tmp_path):
    pairs.to_csv(tmp_path / "pairs.csv")
    assert Pairs.from_csv(tmp_path / "pairs.csv") == pairs
    pairs.to_json(tmp_path / "pairs.json")
    assert Pairs.from_json(tmp_path / "pairs.json") == pairs


def test_the_formats_on_disk(tmp_path):
    pairs = Pairs(must=[(0, 3)], cannot=[(0, 60)])
    pairs.to_csv(tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text().split() == ["a,b,link", "0,3,must", "0,60,cannot"]
    pairs.to_json(tmp_path / "pairs.json")
    content = json.loads((tmp_path / "pairs.json").read_text())
    assert content == {"must": [[0, 3]], "cannot": [[0, 60]]}


def test_csv_as_people_write_it(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("\ufefflink, a, b\nMUST, 1, 2\n cannot ,2,3\n", encoding="utf-8")
    assert Pairs.from_csv(file) == Pairs(must=[(1, 2)], cannot=[(2, 3)])
    assert Pairs.from_csv(file, id_type=str).must == (("1", "2"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "starts with the line a,b,link"),
        ("x,y,link\n0,1,must\n", "starts with the line a,b,link"),
        ("a,b,link\n0,1,must\n0,2,maybe\n", "line 3: 0,2,maybe is not a pair"),
        ("a,b,link\n0,,must\n", "line 2"),
        ("a,b,link\n0,1\n", "line 2"),
        ("a,b,link\n0,1,must,2\n", "line 2"),
        ("a,b,link\n1,1,must\n", "links a sample to itself"),
    ],
)
def test_csv_that_holds_no_pairs(text, message, tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        Pairs.from_csv(file)


@pytest.mark.parametrize("text", ['[["a", "b"]]', '{"must": [], "other": []}', "3"])
def test_json_that_holds_no_pairs(text, tmp_path):
    file = tmp_path / "pairs.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="expected"):
        Pairs.from_json(file)


def test_tuple_ids_survive_json_and_are_refused_by_csv(tmp_path):
    pairs = Pairs(must=[((0, "a"), (1, "b"))])
    pairs.to_json(tmp_path / "pairs.json")
    assert Pairs.from_json(tmp_path / "pairs.json") == pairs
    with pytest.raises(TypeError, match=r"The id \(0, 'a'\) is a tuple, which CSV cannot hold"):
        pairs.to_csv(tmp_path / "pairs.csv")
    assert not (tmp_path / "pairs.csv").exists()


def test_a_file_is_not_begun_that_cannot_be_finished(tmp_path):
    pairs = Pairs(must=[(pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02"))])
    for write in (pairs.to_json, pairs.to_csv):
        with pytest.raises(TypeError, match="is a Timestamp, which"):
            write(tmp_path / "pairs")
    assert not (tmp_path / "pairs").exists()


# -- files give back the ids that they got, or are not written ---------------------------------


def back_or_refused(pairs, file, form, **options):
    """Write and read back; tell whether it was written. A refusal must leave the file as it is."""
    file.write_bytes(b"before")
    try:
        getattr(pairs, f"to_{form}")(file, **options)
    except TypeError as error:
        message = str(error)
    else:
        found = getattr(Pairs, f"from_{form}")(file, **options)
        assert found == pairs
        # With types and signs, which == leaves out.
        assert repr((found.must, found.cannot)) == repr((pairs.must, pairs.cannot))
        return True
    assert message.startswith("The id ")
    assert file.read_bytes() == b"before"
    return False


class Grade(IntEnum):
    LOW = 1


Place = namedtuple("Place", "row")

odd_signs = st.characters(exclude_categories=()) | st.sampled_from(" \t\r\n\0,;\"'-0179.e\ufeff")
looks_like_more = st.sampled_from(
    ["must", "a,b,link", "nan", "None", "True", "1", "1.0", "-1", "--5"]
)
odd_texts = st.text(odd_signs, max_size=6) | looks_like_more
odd_numbers = st.integers() | st.booleans() | st.floats(allow_nan=False) | st.just(Grade.LOW)
odd_ids = st.recursive(
    odd_texts | odd_numbers | st.binary(max_size=2) | st.dates(),
    lambda inner: st.lists(inner | st.sampled_from([None, np.nan]), max_size=2).map(tuple),
    max_leaves=3,
)
links = st.one_of(
    st.lists(st.tuples(kind, kind).filter(lambda pair: pair[0] != pair[1]), max_size=3)
    for kind in (odd_ids, odd_texts, looks_like_more, st.integers())
)


@given(links, links)
def test_files_never_change_an_id(tmp_path_factory, must, cannot):
    pairs, file = Pairs(must, cannot), tmp_path_factory.getbasetemp() / "odd"
    back_or_refused(pairs, file, "json")
    back_or_refused(pairs, file, "csv")
    for kind in (str, int, float):
        back_or_refused(pairs, file, "csv", id_type=kind)


IN_CSV_AND_JSON = [
    (0, -7),
    (10**30, 1),
    ("a", "b c"),
    ("a,b", 'say "a"'),
    ("a\nb", "a\r\nb"),
    ("a\rb", "a\tb"),
    ("a\0b", "ä 本 \U0001f600"),
    ("must", "a,b,link"),
    ("nan", "None"),
    ("--5", "-"),
    ("007", "1"),
    ("1.0", "1"),
    (np.int8(1), np.uint64(2**63)),
]
IN_JSON_ONLY = [
    ("1", "2"),
    (" a", "b"),
    ("a\n", "b"),
    ("\ta", "b"),
    ("", "b"),
    (" ", "b"),
    ("a" * 200_000, "b"),
    ("\ud800", "b"),
    ("a", 1),
    ("a", True),
    (True, 0),
    (1.5, 2.0),
    (-0.0, 1e300),
    (np.float32(0.1), np.bool_(True)),
    ((1, "a"), (True, None, (2.5,))),
]
IN_NEITHER = [
    (10**5000, 1),
    ("\ud83d\ude00", "b"),  # JSON reads the two halves of a sign as that sign
    (float("inf"), 1.0),
    ((1, float("nan")), "a"),
    ((1, b"x"), "a"),
    ((np.float64(1.5), 1), "a"),
    (Place(1), "a"),
    (Grade.LOW, 2),
    (b"a", "a"),
    (date(2026, 1, 2), "a"),
    (frozenset([1]), "a"),
]


@pytest.mark.parametrize(
    ("cases", "held_by"),
    [(IN_CSV_AND_JSON, {"csv", "json"}), (IN_JSON_ONLY, {"json"}), (IN_NEITHER, set())],
    ids=["csv and json", "json only", "neither"],
)
def test_which_ids_a_file_holds(cases, held_by, tmp_path):
    for pair in cases:
        pairs = Pairs(must=[pair])
        held = {form for form in ("csv", "json") if back_or_refused(pairs, tmp_path / "p", form)}
        assert held == held_by, ascii(pairs.must)[:80]


def test_csv_holds_what_id_type_makes_of_its_own_text(tmp_path):
    file, day, next_day = tmp_path / "pairs.csv", date(2026, 1, 2), date(2026, 1, 3)
    for pair, kind in [
        (("1", "2"), str),
        (("1", "1.0"), str),
        ((0.1, -0.0), float),
        ((0.5, float("inf")), float),
        ((day, next_day), date.fromisoformat),
    ]:
        assert back_or_refused(Pairs(must=[pair]), file, "csv", id_type=kind)
    for pair, kind in [((1, 2), str), ((1, 2), float), ((1.0, 2), int), ((" 1", "2"), str)]:
        assert not back_or_refused(Pairs(must=[pair]), file, "csv", id_type=kind)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (" b", r"The id ' b' would come back from CSV as 'b'\. .*to_json"),
        (1, r"The id 1 would come back from CSV as '1'\. .*to_json"),
        ("", "The id '' cannot be written as CSV: .*is not a pair.*to_json"),
        (True, "The id True is a bool, which CSV cannot hold.*to_json"),
        ("\ud800", r"The id '\\ud800' cannot be written as CSV: .*surrogates.*to_json"),
        ("b" * 10**6, r"The id 'b{20,60}\.\.\. cannot be written as CSV: .*to_json"),
    ],
    ids=["space", "number", "empty", "bool", "surrogate", "long"],
)
def test_what_csv_refuses_is_named(end, message, tmp_path):
    with pytest.raises(TypeError, match=message) as caught:
        Pairs(must=[("a", end)]).to_csv(tmp_path / "pairs.csv")
    assert len(str(caught.value)) < 500
    assert not (tmp_path / "pairs.csv").exists()


def test_text_that_looks_like_numbers_needs_a_word(tmp_path):
    message = r"The id '1' would come back from CSV as 1\. .*id_type=str.*to_csv and from_csv"
    with pytest.raises(TypeError, match=message):
        Pairs(must=[("1", "2")]).to_csv(tmp_path / "pairs.csv")


def test_a_number_too_long_for_python_to_write_is_refused(tmp_path):
    pairs = Pairs(must=[("a", 10**5000)])
    for form in ("csv", "json"):
        with pytest.raises(TypeError, match=f"The id <int> cannot be written as {form.upper()}"):
            getattr(pairs, f"to_{form}")(tmp_path / "pairs")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (b"x", "The id b'x' is a bytes, which JSON cannot hold.*by text"),
        (Place(1), r"The id Place\(row=1\) is a Place, which JSON cannot hold"),
        ((1, b"x"), r"The id \(1, b'x'\) cannot be written as JSON: .*bytes.*by text"),
        ((Place(1),), r"The id \(Place\(row=1\),\) would come back from JSON as \(\(1,\),\)\. "),
        (float("inf"), "The id inf cannot be written as JSON: .*by text"),
    ],
)
def test_what_json_refuses_is_named(end, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        Pairs(must=[("a", end)]).to_json(tmp_path / "pairs.json")
    assert not (tmp_path / "pairs.json").exists()


def test_csv_with_an_id_of_spaces_only(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text('a,b,link\n" ",1,must\n')
    with pytest.raises(ValueError, match="line 2"):
        Pairs.from_csv(file)


def test_csv_with_more_text_than_an_id_has(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text(f"a,b,link\n0,1,must\n0,{'1' * 200_000},must\n")
    with pytest.raises(ValueError, match="pairs.csv, line 3: field larger than"):
        Pairs.from_csv(file)


def test_csv_with_an_id_that_only_begins_like_a_number(tmp_path):
    file = tmp_path / "pairs.csv"
    for text in ("--5", "1" * 5000):
        file.write_text(f"a,b,link\n{text},6,must\n")
        assert Pairs.from_csv(file).must == ((text, "6"),)
