"""Tests of files of pairs: common variants, round trips, and invalid files."""

import json
from collections import namedtuple
from datetime import date
from enum import IntEnum
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect import Pairs


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
def test_files_round_trip(pairs, tmp_path):
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


def test_csv_written_by_hand(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("\ufefflink, a, b\nMUST, 1, 2\n cannot ,2,3\n", encoding="utf-8")
    assert Pairs.from_csv(file) == Pairs(must=[(1, 2)], cannot=[(2, 3)])
    assert Pairs.from_csv(file, id_type=str).must == (("1", "2"),)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_csv_from_spreadsheets_in_other_locales(sign, tmp_path):
    file = tmp_path / "pairs.csv"
    lines = [["a", "b", "link"], ["p,1", "p,2", "must"], ["p,1", "p,7", "cannot"]]
    file.write_text("".join(f"{sign.join(line)}\n" for line in lines))
    assert Pairs.from_csv(file) == Pairs([("p,1", "p,2")], [("p,1", "p,7")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with the header a,b,link"),
        ("x,y,link\n0,1,must\n", "must begin with the header a,b,link"),
        ("a,b,link\n0,1,must\n0,2,maybe\n", "line 3: 0,2,maybe is not a pair"),
        ("a,b,link\n0,,must\n", "line 2"),
        ("a,b,link\n0,1\n", "line 2"),
        ("a,b,link\n0,1,must,2\n", "line 2"),
        ("a,b,link\n1,1,must\n", "links a sample to itself"),
    ],
)
def test_csv_without_pairs_is_refused(text, message, tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        Pairs.from_csv(file)


@pytest.mark.parametrize("text", ['[["a", "b"]]', '{"must": [], "other": []}', "3"])
def test_json_without_pairs_is_refused(text, tmp_path):
    file = tmp_path / "pairs.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="expected"):
        Pairs.from_json(file)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_interrupted_write_loses_nothing(form, tmp_path, monkeypatch):
    file = tmp_path / "pairs"
    file.write_text("before")

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        getattr(Pairs(must=[(0, 1)]), f"to_{form}")(file)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_tuple_ids_survive_json_and_are_refused_by_csv(tmp_path):
    pairs = Pairs(must=[((0, "a"), (1, "b"))])
    pairs.to_json(tmp_path / "pairs.json")
    assert Pairs.from_json(tmp_path / "pairs.json") == pairs
    with pytest.raises(TypeError, match=r"The id \(0, 'a'\) would be read from CSV as"):
        pairs.to_csv(tmp_path / "pairs.csv")
    assert not (tmp_path / "pairs.csv").exists()


def test_a_failed_write_creates_no_file(tmp_path):
    pairs = Pairs(must=[(pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02"))])
    for write in (pairs.to_json, pairs.to_csv):
        with pytest.raises(TypeError, match=r"The id Timestamp\(.* (cannot|would)"):
            write(tmp_path / "pairs")
    assert not (tmp_path / "pairs").exists()


# -- ids survive a round trip, or are refused --------------------------------------------------


def back_or_refused(pairs, file, form, **options):
    """Write pairs and read them back; return False if their ids are refused.

    A refusal must leave an existing file unchanged.
    """
    file.write_bytes(b"before")
    try:
        getattr(pairs, f"to_{form}")(file, **options)
    except TypeError as error:
        message = str(error)
    else:
        found = getattr(Pairs, f"from_{form}")(file, **options)
        assert found == pairs
        # Unlike ==, this also compares types and signs.
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
    ("\ud83d\ude00", "b"),  # JSON joins the two surrogates to one character
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
def test_which_ids_a_format_supports(cases, held_by, tmp_path):
    for pair in cases:
        pairs = Pairs(must=[pair])
        held = {form for form in ("csv", "json") if back_or_refused(pairs, tmp_path / "p", form)}
        assert held == held_by, ascii(pairs.must)[:80]


def test_csv_supports_ids_that_id_type_restores(tmp_path):
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
        (" b", r"The id ' b' would be read from CSV as 'b'\. .*to_json"),
        (1, r"The id 1 would be read from CSV as '1'\. .*to_json"),
        ("", "The id '' cannot be written as CSV: .*is not a pair.*to_json"),
        (True, "The id True would be read from CSV as 'True'.*to_json"),
        ("\ud800", r"The id '\\ud800' cannot be written as CSV: .*surrogates.*to_json"),
        ("b" * 10**6, r"The id 'b+\.\.\.b+' cannot be written as CSV: .*to_json"),
    ],
    ids=["space", "number", "empty", "bool", "surrogate", "long"],
)
def test_ids_refused_by_csv_are_named(end, message, tmp_path):
    with pytest.raises(TypeError, match=message) as caught:
        Pairs(must=[("a", end)]).to_csv(tmp_path / "pairs.csv")
    assert len(str(caught.value)) < 500
    assert caught.value.hint.startswith("Use only whole numbers")
    assert not (tmp_path / "pairs.csv").exists()


def test_text_that_looks_like_numbers_needs_id_type(tmp_path):
    message = r"The id '1' would be read from CSV as 1\. .*id_type=str.*to_csv and from_csv"
    with pytest.raises(TypeError, match=message):
        Pairs(must=[("1", "2")]).to_csv(tmp_path / "pairs.csv")


def test_a_number_with_too_many_digits_is_refused(tmp_path):
    pairs = Pairs(must=[("a", 10**5000)])
    for form in ("csv", "json"):
        with pytest.raises(TypeError, match=f"The id <int> cannot be written as {form.upper()}"):
            getattr(pairs, f"to_{form}")(tmp_path / "pairs")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (b"x", "The id b'x' cannot be written as JSON: .*bytes.*Use text"),
        (Place(1), r"The id Place\(row=1\) would be read from JSON as \(1,\)"),
        ((1, b"x"), r"The id \(1, b'x'\) cannot be written as JSON: .*bytes.*Use text"),
        ((Place(1),), r"The id \(Place\(row=1\),\) would be read from JSON as \(\(1,\),\)\. "),
        (float("inf"), "The id inf cannot be written as JSON: .*Use text"),
    ],
)
def test_ids_refused_by_json_are_named(end, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        Pairs(must=[("a", end)]).to_json(tmp_path / "pairs.json")
    assert not (tmp_path / "pairs.json").exists()


def test_csv_with_an_id_of_spaces_only(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text('a,b,link\n" ",1,must\n')
    with pytest.raises(ValueError, match="line 2"):
        Pairs.from_csv(file)


def test_csv_with_an_overlong_id(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text(f"a,b,link\n0,1,must\n0,{'1' * 200_000},must\n")
    with pytest.raises(ValueError, match="pairs.csv, line 3: field larger than"):
        Pairs.from_csv(file)


def test_csv_with_an_id_that_only_looks_like_a_number(tmp_path):
    file = tmp_path / "pairs.csv"
    for text in ("--5", "1" * 5000):
        file.write_text(f"a,b,link\n{text},6,must\n")
        assert Pairs.from_csv(file).must == ((text, "6"),)


# -- frames ------------------------------------------------------------------------------------

LINKS = {"a": ["p1", "p1", "p3"], "b": ["p2", "p7", "p4"], "link": ["must", "cannot", " Must"]}


@pytest.mark.parametrize("library", [pd, pl])
def test_pairs_of_a_frame(library):
    frame = library.DataFrame({"note": ["x", "y", "z"], **LINKS})
    expected = Pairs(must=[("p1", "p2"), ("p3", "p4")], cannot=[("p1", "p7")])
    assert Pairs.from_frame(frame) == expected


def test_numbers_in_a_frame_stay_numbers():
    found = Pairs.from_frame(pd.DataFrame({"a": [0], "b": [3], "link": ["must"]}))
    assert found.must == ((0, 3),)
    assert type(found.ids[0]) is int


def test_frames_without_pairs_are_refused():
    with pytest.raises(ValueError, match=r"columns a, b and link, but this one has x"):
        Pairs.from_frame(pd.DataFrame({"x": [1]}))
    with pytest.raises(ValueError, match=r"this is a list.*Pairs\(must="):
        Pairs.from_frame([(0, 3)])
    odd = pd.DataFrame(LINKS | {"link": ["must", "same", "must"]})
    with pytest.raises(ValueError, match=r"Row 1 .*link='same' for the pair 'p1', 'p7'.*must or"):
        Pairs.from_frame(odd)
    lacking = pd.DataFrame(LINKS | {"b": ["p2", None, "p4"]})
    with pytest.raises(ValueError, match="missing sample id"):
        Pairs.from_frame(lacking)


@pytest.mark.parametrize("library", [pd, pl])
def test_links_may_be_spelled_out(library, tmp_path):
    spelled = ["Must-Link", "cannot_link", "MUST"]
    expected = Pairs(must=[("p1", "p2"), ("p3", "p4")], cannot=[("p1", "p7")])
    assert Pairs.from_frame(library.DataFrame(LINKS | {"link": spelled})) == expected
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,link\np1,p2,must-link\np1,p7,Cannot-link\np3,p4,must\n")
    assert Pairs.from_csv(path) == expected


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([True, False, True], r"link=True.*\.map\(\{True: 'must', False: 'cannot'\}\)"),
        ([1, 0, 0], r"link=1 .*\.map\(\{1: 'must', -1: 'cannot'\}\)"),
        ([2, 1, 1], r"link=2 .* The column link must contain must or cannot\.$"),
        ([0, 1, 1], r"link=0.*\.map\(\{1: 'must', 0: 'cannot'\}\)"),
        ([-1, 1, 1], r"link=-1.*\.map\(\{1: 'must', -1: 'cannot'\}\)"),
    ],
)
def test_numbers_for_links_are_not_guessed(links, words):
    with pytest.raises(ValueError, match=words):
        Pairs.from_frame(pd.DataFrame(LINKS | {"link": links}))


def test_long_quotations_are_shortened(tmp_path):
    """The limits are 40 characters for ids, 60 for other content, and 100 for other errors."""
    for name, shown in [("x" * 38, repr("x" * 38)), ("x" * 39, f"'{'x' * 19}...{'x' * 16}'")]:
        with pytest.raises(TypeError) as caught:
            Pairs(must=[(1, name), (2, name)]).to_csv(tmp_path / "p.csv", id_type=float)
        assert f"The id {shown} " in str(caught.value)

    def refuse(text):
        raise ValueError("no" * 200 if text == "b" else text)

    with pytest.raises(TypeError) as caught:
        Pairs(must=[("b", "b2")]).to_csv(tmp_path / "p.csv", id_type=refuse)
    assert caught.value.problem == f"The id 'b' cannot be written as CSV: {'no' * 50}."
    (tmp_path / "p.json").write_text(json.dumps(["y" * 200]))
    with pytest.raises(ValueError, match="expected") as caught:
        Pairs.from_json(tmp_path / "p.json")
    assert str(caught.value).endswith(f"got ['{'y' * 58}.")
