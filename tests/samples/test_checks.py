"""Checks of samples, labels and frames."""

from datetime import datetime
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import linkselect as ls
from linkselect import Pairs, evaluation
from linkselect._samples.checks import check_samples, check_spread, index_of
from linkselect._supervision import check_labels
from linkselect.cli._tables.reading import MISSING
from linkselect.pairs._labels import NO_LABEL, encode_labels


def test_repeated_sparse_entries_are_summed_in_a_copy():
    X = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [0, 0, 1])), shape=(3, 2))
    repeated = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3, 3])), shape=(3, 2)
    )
    found = ls.VarianceScore().fit(repeated).scores_
    np.testing.assert_allclose(found, X.toarray().var(axis=0))
    assert repeated.nnz == 3


def test_differences_that_underflow_are_refused():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    faint = X * 1e-162
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.COPKMeans(2)):
        with pytest.raises(
            ValueError, match=r"30 features.*'mean radius'.*underflow.*divide each of them by its r"
        ):
            selector.fit(faint, y)
        selector.fit(faint / np.ptp(faint.to_numpy(), axis=0), y)
        with pytest.raises(ValueError, match=r"^1 feature of X varies by.*: feature 3\. Squares"):
            selector.fit(X.to_numpy() * np.where(np.arange(30) == 3, 1e-162, 1.0), y)
    # Methods that do not use squares work at any scale.
    for selector in (ls.ReliefF(), ls.MRMR(5), ls.FCBF()):
        order = selector.fit(X[:60], y[:60]).order_
        assert_array_equal(selector.fit(X[:60] * 2.0**-540, y[:60]).order_, order)
    # Above the limit, no digits are lost.
    expected = ls.FisherScore().fit(X, y).scores_
    assert_allclose(ls.FisherScore().fit(X * 2.0**-280, y).scores_, expected, rtol=1e-12)


def test_samples_are_copied_only_if_necessary():
    tidy = sparse.csr_array(np.eye(3))
    assert check_samples(ls.VarianceScore(), tidy).values is tidy
    dense = np.eye(3)
    assert check_samples(ls.VarianceScore(), dense).values is dense
    untidy = sparse.csr_array(np.eye(3))
    untidy.data[1] = 0.0
    found = check_samples(ls.VarianceScore(), untidy).values
    assert (found.nnz, untidy.nnz) == (2, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.float32])
def test_numbers_keep_their_type(dtype):
    assert check_samples(ls.VarianceScore(), np.eye(3, dtype=dtype)).dtype == dtype


def test_the_first_faint_feature_is_named():
    X = np.column_stack([np.arange(3.0), 1e-200 * np.arange(3.0), 1e-300 * np.arange(3.0)])
    check_spread(X[:, :1])
    with pytest.raises(ValueError, match=r"2 features of X vary by less than .* feature 1\. "):
        check_spread(X)
    with pytest.raises(ValueError, match=r"feature 'b'\. "):
        check_spread(X, np.array(["a", "b", "c"], dtype=object))


@pytest.mark.parametrize(
    "y", [[0, 1, -1], ["a", "b", None], [0.0, np.nan, 2.0], [True, False], [[0], [1]]]
)
def test_labels_become_one_dimension(y):
    assert_array_equal(check_labels(y), np.asarray(y).reshape(-1))


def test_a_missing_label_in_a_list_of_text_stays_missing():
    assert check_labels(["a", np.nan, "b", -1]).tolist()[3] == -1
    X, some = np.arange(12.0).reshape(4, 3) ** 2, ["a", np.nan, "b", "b"]
    of_array = ls.ConstraintScore().fit(X, np.array(some, dtype=object)).scores_
    assert_array_equal(ls.ConstraintScore().fit(X, some).scores_, of_array)
    with pytest.raises(ValueError, match="y has 1 missing label"):
        ls.FisherScore().fit(X, some)


def test_several_columns_of_labels_are_left_for_a_later_check():
    assert check_labels(np.zeros((3, 2))).shape == (3, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0], "y has the value 0.5, but class labels must be whole numbers"),
        ([1.0, np.nan, np.inf], "y has the value inf"),
        ([1.0, 1j], "Complex data not supported"),
    ],
)
def test_numbers_that_are_not_classes_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y)


def test_only_pandas_has_an_index():
    frame = pd.DataFrame({"f": [0, 1]}, index=["a", "b"])
    assert list(index_of(frame)) == ["a", "b"]
    # The `index` of a list is a method.
    for other in (pl.DataFrame({"f": [0, 1]}), np.zeros((2, 1)), [[0], [1]]):
        assert index_of(other) is None


COLUMNS = {
    "age": [41, 52, 38, 60],
    "sex": ["f", "m", "f", "f"],
    "town": ["Bonn", None, "Ulm", "Bonn"],
}


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("estimator", [ls.VarianceScore(), ls.FisherScore(), ls.COPKMeans(2)])
def test_columns_of_text_are_named(library, estimator):
    words = r"2 non-numeric columns: 'sex' \(such as 'f'\), 'town' \(such as 'Bonn'\).*Encoder"
    with pytest.raises(ValueError, match=words) as caught:
        estimator.fit(library.DataFrame(COLUMNS), [0, 1, 0, 1])
    assert caught.value.parameter == "X"


def test_columns_that_share_a_name_are_refused():
    frame = pd.DataFrame([[1.0, "x", 2.0], [2.0, "y", 5.0]], columns=["a", "a", "b"])
    words = r"^X has 1 duplicate column name: 'a'\..*duplicated\(\)"
    with pytest.raises(ValueError, match=words):
        ls.VarianceScore().fit(frame)


def test_no_more_than_five_columns_are_named():
    frame = pd.DataFrame({f"c{number}": ["x", "y"] for number in range(9)})
    with pytest.raises(
        ValueError, match=r"9 non-numeric columns.*'c4' \(such as 'x'\), and 4 more\."
    ):
        ls.VarianceScore().fit(frame)


def test_numbers_in_a_column_of_objects_are_numbers():
    frame = pd.DataFrame({"a": [1, 2.5, 3], "b": ["1", "2", "4"]}, dtype=object)
    assert ls.VarianceScore().fit(frame).n_features_in_ == 2
    frame.loc[0, "a"] = None
    with pytest.raises(ValueError, match="contains NaN"):
        ls.VarianceScore().fit(frame)


DAYS = [datetime(2020, 1, day) for day in (1, 2, 5, 9)]
DATED = {
    "age": [41, 52, 38, 60],
    "day": DAYS,
    "stay": [day - DAYS[0] for day in DAYS],
}


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_are_named(library):
    words = r"2 non-numeric columns: 'day' \(such as '2020-01-01 00:00:00'\), 'stay' .*dt.days"
    with pytest.raises(ValueError, match=words):
        ls.VarianceScore().fit(library.DataFrame(DATED))
    with pytest.raises(ValueError, match="2 non-numeric columns: 'sex' .*, 'day'"):
        ls.VarianceScore().fit(library.DataFrame({"sex": COLUMNS["sex"], "day": DAYS}))
    with pytest.raises(ValueError, match="1 non-numeric column: 'day'"):
        ls.VarianceScore().fit(library.DataFrame({"day": DAYS}))


def test_an_array_of_dates_is_refused():
    with pytest.raises(TypeError, match="dates"):
        ls.VarianceScore().fit(np.array(DAYS, dtype="datetime64[D]").reshape(2, 2))


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_with_gaps_are_named(library):
    # -1 is a value of a feature, unlike among labels.
    columns = {"a": [1.0, None, -1.0], "b": [1.0, 2.0, -1.0], "c": [None, None, 1.0]}
    words = (
        r"^Input X contains NaN\. 2 columns have missing values: {} \(1 value\), {} \(2 values\)\."
    )
    with pytest.raises(ValueError, match=words.format("'a'", "'c'") + r" Impute them, .*\(\)\.$"):
        ls.VarianceScore().fit(library.DataFrame(columns))
    with pytest.raises(ValueError, match=words.format("0", "2")):
        ls.VarianceScore().fit(pd.DataFrame(columns).to_numpy())


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match="X has no columns"):
        ls.VarianceScore().fit(pd.DataFrame(index=range(3)))


@pytest.mark.parametrize("selector", [ls.VarianceScore(), ls.ConstraintScore(), ls.FisherScore()])
def test_pairs_in_the_place_of_labels(selector):
    with pytest.raises(TypeError, match=r"y\[0\] is \(0, 1\).*pairs=Pairs\(must=\[\(0, 1\)"):
        selector.fit(np.eye(4), [(0, 1), (2, 3)])


def test_the_mask_of_an_array_marks_missing_values():
    X, y = load_breast_cancer(return_X_y=True)
    plain = ls.FisherScore(3).fit(X, y)
    masked = np.ma.MaskedArray(X, mask=np.zeros(X.shape, bool))
    assert_array_equal(ls.FisherScore(3).fit(masked, y).scores_, plain.scores_)
    masked[5, 2] = np.ma.masked
    for fit in (ls.FisherScore().fit, ls.COPKMeans().fit):
        with pytest.raises(ValueError, match=r"1 column has missing values: 2 \(1 value\)"):
            fit(masked, y)
    with pytest.raises(ValueError, match="contains NaN"):
        plain.transform(masked)
    with pytest.raises(ValueError, match="contains NaN"):
        evaluation.compare({"variance": ls.VarianceScore()}, masked, y)
    counts = np.ma.MaskedArray(X.astype(int), mask=masked.mask)
    with pytest.raises(ValueError, match=r"1 column has missing values: 2 \(1 value\)"):
        ls.VarianceScore().fit(counts)


def test_the_mask_of_labels_marks_missing_ones():
    X, y = load_breast_cancer(return_X_y=True)
    assert_array_equal(
        ls.FisherScore().fit(X, np.ma.MaskedArray(y)).scores_, ls.FisherScore().fit(X, y).scores_
    )
    some = np.ma.MaskedArray(y, mask=np.arange(len(y)) > 99)
    with pytest.raises(ValueError, match="y has 469 missing labels"):
        ls.FisherScore().fit(X, some)
    found = ls.ConstraintScore().fit(X, some)
    assert_array_equal(found.scores_, ls.ConstraintScore().fit(X, some.filled(-1)).scores_)


@pytest.mark.parametrize("no_time", [np.datetime64("NaT"), np.timedelta64("NaT"), pd.NaT, pd.NA])
@pytest.mark.parametrize("dtype", [None, object])
def test_a_missing_time_is_a_missing_label(no_time, dtype):
    day = np.timedelta64(1, "D") if isinstance(no_time, np.timedelta64) else np.datetime64("2020")
    y = np.array([day, day, day + 1, day + 1, no_time], dtype=object if no_time is pd.NA else dtype)
    assert encode_labels(y)[0].tolist() == [0, 0, 1, 1, -1]
    with pytest.raises(ValueError, match="y has 1 missing label"):
        ls.FisherScore().fit(np.arange(15.0).reshape(5, 3) ** 2, y)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, partial(np.array, dtype=object)])
@pytest.mark.parametrize("empty", ["", " ", "nan", "NaN"])
def test_empty_text_is_a_missing_label_with_one_warning(make, empty):
    X = np.arange(18.0).reshape(6, 3) ** 2
    y = ["a", "a", "b", "b", empty, empty]
    expected = ls.ConstraintScore().fit(X, [0, 0, 1, 1, -1, -1]).scores_
    words = f"2 of 6 labels are {empty!r} and are treated as missing. .* rename it"
    for fit in (ls.ConstraintScore().fit, ls.COPKMeans(2).fit, Pairs.from_labels):
        with pytest.warns(UserWarning, match=words) as caught:
            found = fit(make(y)) if fit == Pairs.from_labels else fit(X, make(y))
        assert len(caught) == 1
        if isinstance(found, ls.ConstraintScore):
            assert_array_equal(found.scores_, expected)
    with pytest.raises(ValueError, match="y has 2 missing labels"):
        ls.FisherScore().fit(X, make(y))
    assert set(encode_labels(["NA", "None", "a"])[1]) == {"NA", "None", "a"}
    assert set(NO_LABEL) < set(MISSING)


LARGE = np.array([[2**60 + 301 * i, i**2, i] for i in range(6)])
LARGE_KINDS = {
    "array": LARGE,
    "unsigned": LARGE.astype(np.uint64) + np.uint64(2**63) * (np.arange(3) == 0).astype(np.uint64),
    "csr": sparse.csr_array(LARGE),
    "pandas": pd.DataFrame(LARGE, columns=["0", "1", "2"]),
    "pandas with floats": pd.DataFrame(LARGE, columns=["0", "1", "2"]).assign(f=np.arange(6) / 2),
    "nullable": pd.DataFrame(LARGE, columns=["0", "1", "2"])
    .astype("Int64")
    .assign(f=np.arange(6) / 2),
    "polars": pl.DataFrame(LARGE, schema=["0", "1", "2"]).with_columns(f=pl.col("2") / 2),
}


@pytest.mark.parametrize("X", LARGE_KINDS.values(), ids=LARGE_KINDS)
@pytest.mark.parametrize("wrap", [lambda one: one, ls.StableSelector])
def test_integers_that_float64_rounds_are_named_once(X, wrap):
    words = r"1 feature of X has integers above 2\^53, .* are lost: '?0'?\. Subtract the minimum"
    with pytest.warns(UserWarning, match=words) as caught:
        wrap(ls.VarianceScore()).fit(X)
    assert len(caught) == 1


def test_integers_that_float64_represents_get_no_warning():
    for X in (LARGE[:, 1:], LARGE[:, :1] // 256 * 256, LARGE - [2**60, 0, 0]):
        ls.VarianceScore().fit(X)


@pytest.mark.parametrize(
    "selector", [ls.ReliefF(n_neighbors=1, discrete=True), ls.MRMR(2, discretize=None)]
)
def test_categories_are_not_rounded_and_get_no_warning(selector):
    selector.fit(LARGE, [0, 0, 0, 1, 1, 1])
