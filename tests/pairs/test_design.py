"""Compare pairs from a design with a double loop, and test invalid designs."""

import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkselect import Pairs

STUDY = {
    "patient": ["ann", "ann", "bob", "bob", "bob", None, "cem"],
    "batch": [1, 2, 1, 1, 3, 1, None],
    "disease": ["ill", "ill", "well", "well", None, "ill", "well"],
}


def missing(value):
    return value is None or value != value or value in ("", "nan")


def literal(columns, same=None, different=None, across=None):
    """Return the pairs of a design by comparing every two rows."""
    n_rows = len(next(iter(columns.values())))
    must, cannot = [], []
    for i in range(n_rows):
        for j in range(i + 1, n_rows):

            def equal(name, i=i, j=j):
                """Return whether both rows have equal values; None if a value is missing."""
                a, b = columns[name][i], columns[name][j]
                return None if missing(a) or missing(b) else a == b

            apart, together = (across is None or equal(across) is one for one in (False, True))
            if same is not None and equal(same) is True and apart:
                must.append((i, j))
            if different is not None and equal(different) is False and together:
                cannot.append((i, j))
    return must, cannot


def found(frame, **design):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pairs = Pairs.from_columns(frame, **design)
        except ValueError as error:
            if "No two rows" not in str(error):
                raise
            return [], []
    return sorted(pairs.must), sorted(pairs.cannot)


@pytest.mark.parametrize("across", [None, "batch"])
@pytest.mark.parametrize("different", [None, "disease", "patient"])
@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame])
def test_a_study_equals_the_double_loop(library, different, across):
    design = {"same": "patient", "different": different, "across": across}
    assert found(library(STUDY), **design) == literal(STUDY, **design)


values = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", "", "nan", None]), min_size=12, max_size=12),
    st.lists(st.sampled_from([0, 1, -1, 2, None]), min_size=12, max_size=12),
    st.lists(st.sampled_from([0.5, 1.0, float("nan")]), min_size=12, max_size=12),
    st.lists(st.sampled_from([True, False, None]), min_size=12, max_size=12),
    st.lists(st.sampled_from(["1", 1, "a", (1, 2), None]), min_size=12, max_size=12),
    st.lists(
        st.sampled_from([datetime(2026, 1, 1), datetime(2026, 1, 2), None]),
        min_size=12,
        max_size=12,
    ),
)
names = st.sampled_from([None, "x", "y", "z"])


@settings(max_examples=200)
@given(st.fixed_dictionaries({"x": values, "y": values, "z": values}), names, names, names)
def test_random_designs_equal_the_double_loop(columns, same, different, across):
    if same is None and different is None:
        return
    design = {"same": same, "different": different, "across": across}
    expected = literal(columns, **design)
    assert found(columns, **design) == expected
    swapped = dict(reversed(columns.items()))
    assert found(pd.DataFrame(swapped), **design) == expected
    few = found(columns, **design, max_pairs=3, random_state=0)
    for some, every in zip(few, expected, strict=True):
        assert len(some) == len(set(some)) == min(3, len(every))
        assert set(some) <= set(every)


def test_every_pair_is_drawn_equally_often():
    columns = {"patient": list("aaaabbcccd"), "batch": [1, 1, 2, 3, 1, 2, 1, 2, 2, 1]}
    every, _ = literal(columns, "patient", None, "batch")
    counts = dict.fromkeys(every, 0)
    for seed in range(1000):
        drawn = Pairs.from_columns(
            columns, same="patient", across="batch", max_pairs=3, random_state=seed
        )
        for pair in drawn.must:
            counts[pair] += 1
    expected = 3000 / len(every)
    assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in counts.values())


def test_a_draw_depends_on_its_seed_but_not_on_the_other_kind():
    columns = {"p": np.arange(60) // 3, "y": np.arange(60) % 2}
    draw = {"same": "p", "max_pairs": 10}
    first = Pairs.from_columns(columns, **draw, random_state=1)
    assert first == Pairs.from_columns(columns, **draw, random_state=1)
    assert first != Pairs.from_columns(columns, **draw, random_state=2)
    both = Pairs.from_columns(columns, **draw, different="y", random_state=1)
    assert both.must == first.must
    assert both.n_cannot == 10


# -- ids -------------------------------------------------------------------------------------


def test_ids_are_the_index_of_a_pandas_frame():
    frame = pd.DataFrame(STUDY, index=[f"s{i}" for i in range(7)])
    pairs = Pairs.from_columns(frame, same="patient", across="batch")
    assert pairs.must == (("s0", "s1"), ("s2", "s4"), ("s3", "s4"))
    assert pairs.n_samples is None


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame])
def test_without_an_index_ids_are_row_numbers(library):
    assert Pairs.from_columns(library(STUDY), same="patient").n_samples == 7


def test_an_index_with_duplicate_or_missing_names_is_refused():
    with pytest.raises(ValueError, match="Duplicate sample id 'a'"):
        Pairs.from_columns(pd.DataFrame(STUDY, index=list("aabcdef")), same="patient")
    with pytest.raises(ValueError, match="index of the frame has a missing value"):
        Pairs.from_columns(pd.DataFrame(STUDY, index=[*"abcdef", None]), same="patient")


# -- columns of other types --------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(STUDY).convert_dtypes(),
        pd.DataFrame(STUDY).astype({"patient": "category", "disease": "category"}),
        pd.DataFrame(STUDY | {"batch": pd.to_datetime(["2026-01-01", "2026-01-02"] * 3 + [None])}),
        pl.DataFrame(STUDY, schema_overrides={"patient": pl.Categorical}),
        {name: np.array(column, dtype=object) for name, column in STUDY.items()},
    ],
    ids=["nullable", "categorical", "dates", "polars categorical", "arrays"],
)
def test_columns_of_any_type(frame):
    pairs = Pairs.from_columns(frame, same="patient", different="disease")
    assert (list(pairs.must), list(pairs.cannot)) == literal(STUDY, "patient", "disease")


def test_dates_and_masked_values():
    days = np.array(["2026-01-01", "NaT", "2026-01-01", "NaT"], dtype="M8[ns]")
    assert Pairs.from_columns({"day": days}, same="day").must == ((0, 2),)
    masked = np.ma.masked_array([1, 1, 1], [False, False, True])
    assert Pairs.from_columns({"x": masked}, same="x").must == ((0, 1),)


def test_large_numbers_are_not_rounded():
    frame = pl.DataFrame({"x": [2**53, 2**53 + 1, None]})
    assert Pairs.from_columns(frame, different="x").cannot == ((0, 1),)


def test_text_that_marks_missing_values_is_reported_once():
    message = "1 of 4 values of 'x' is '' and is treated as missing"
    with pytest.warns(UserWarning, match=message) as caught:
        Pairs.from_columns({"x": ["a", "", "b", "a"]}, same="x", different="x")
    assert len(caught) == 1


# -- sizes ---------------------------------------------------------------------------------------


def test_one_column_of_groups_may_be_large():
    y = np.arange(1_000_000) % 3
    pairs = Pairs.from_columns({"y": y}, same="y", different="y")
    assert pairs == Pairs.from_labels(y)
    assert pairs.n_must + pairs.n_cannot == len(y) * (len(y) - 1) // 2


def test_too_many_pairs_to_list_are_counted_and_can_be_drawn():
    columns = {"x": np.zeros(5000), "batch": np.arange(5000) % 2}
    with pytest.raises(ValueError, match=r"12,497,500 must-links, .* 10,000,000 .* max_pairs="):
        Pairs.from_columns(columns, same="x")
    drawn = Pairs.from_columns(columns, same="x", max_pairs=7, random_state=0)
    assert drawn.n_must == 7
    with pytest.raises(ValueError, match="6,247,500|12,497,500 cannot-links"):
        Pairs.from_columns({"x": np.arange(5000)}, different="x")


def test_the_limit_of_listed_pairs():
    with pytest.raises(ValueError, match="10,001,628 must-links, but at most 10,000,000"):
        Pairs.from_columns({"x": [0] * 4473}, same="x")
    listed = Pairs.from_columns({"x": [0] * 1000}, same="x")
    assert listed.n_must == 499_500


# -- invalid designs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({}, "Neither same nor different was passed"),
        (
            {"same": "pateint"},
            "same='pateint' is not a column of the frame. Did you mean 'patient'",
        ),
        (
            {"same": "patient", "across": "x"},
            "across='x' is not a column.*Available: patient, batch",
        ),
        ({"same": "patient", "max_pairs": 0}, "max_pairs=0, but the maximum number"),
        ({"same": "patient", "max_pairs": 1.5}, "max_pairs=1.5, but the maximum number"),
        ({"same": "patient", "max_pairs": True}, "max_pairs=True, but the maximum number"),
        (
            {"same": "patient", "across": "disease"},
            "^No two rows have the same patient but differ in disease, so there are no must-links. "
            "Missing values: 1 in patient, 1 in disease. Use other columns, or omit across.$",
        ),
        ({"different": "batch", "across": "batch"}, "with the same batch differ in batch"),
    ],
)
def test_invalid_designs_are_refused(design, message):
    with pytest.raises(ValueError, match=message):
        Pairs.from_columns(STUDY, **design)


def test_a_kind_without_pairs_is_reported():
    with pytest.warns(UserWarning, match="No two rows have the same patient but differ"):
        pairs = Pairs.from_columns(STUDY, same="patient", different="batch", across="disease")
    assert (pairs.n_must, pairs.n_cannot) == (0, 2)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ([1, 2], TypeError, "frame is a list, but must be a pandas or polars"),
        ("m.csv", TypeError, "frame is a str.*read_csv"),
        (pl.LazyFrame(STUDY), TypeError, "frame is a LazyFrame.*collect the data first"),
        ({"x": [[1], [2]]}, TypeError, "same='x' has values that cannot be compared"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), ValueError, "has several columns named 'x'"),
        ({"x": [1, 2], "y": [1]}, ValueError, "different lengths: 2, 1"),
        ({"x": [], "y": []}, ValueError, "No two rows have the same x but differ in y"),
    ],
)
def test_invalid_frames_are_refused(frame, error, message):
    across = "y" if isinstance(frame, dict) and "y" in frame else None
    with pytest.raises(error, match=message):
        Pairs.from_columns(frame, same="x", across=across)
