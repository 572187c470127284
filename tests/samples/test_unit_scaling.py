"""Scaling of columns whose values are tiny, huge or far from zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from linkselect._samples.unit_scaling import FitUnits, scaled_to_one
from linkselect.cli import run
from linkselect.cli._preparation import Preparation

rng = np.random.default_rng(0)
X = rng.integers(-1000, 1000, (30, 4)) / 256.0
# Scaling by these powers of 2 keeps all digits, so results must equal those of X itself.
POWERS = [-1060, -600, -57, 1012]


@pytest.mark.parametrize("scale", ["minmax", "standard"])
@pytest.mark.parametrize("power", POWERS)
def test_scaling_by_powers_of_two_changes_nothing(scale, power):
    expected = {"minmax": MinMaxScaler(), "standard": StandardScaler()}[scale].fit_transform(X)
    transformer = Preparation(scale, "mean").transformer(sparse=False)
    assert_allclose(transformer.fit_transform(np.ldexp(X, power)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("sign", [1, -1])
def test_zeros_stay_zeros(power, sign):
    some = sparse.csr_array(sign * X * (X > 2))
    other = some.copy()
    other.data = np.ldexp(other.data, power)
    found = Preparation("minmax", "none").transformer(sparse=True).fit_transform(other)
    assert_array_equal(found.toarray(), MaxAbsScaler().fit_transform(some).toarray())


@pytest.mark.parametrize("least", [5e-324, np.float32(1e-45)])
def test_the_smallest_possible_range(least):
    tiny = np.array([[0], [least], [0]])
    for store in (np.asarray, sparse.csr_array):
        found = scaled_to_one(store(tiny))
        assert_array_equal(found if store is np.asarray else found.toarray(), [[0], [1], [0]])


def test_values_far_from_zero_keep_their_digits():
    far = 2.0**60 + 256 * np.arange(30.0)[:, np.newaxis]
    found = Preparation().transformer(sparse=False).fit_transform(far)
    assert_allclose(found[:, 0], np.arange(30) / 29, rtol=1e-15)


def test_plain_columns_and_missing_values_stay():
    tiny = X.copy()
    tiny[:, 1] *= 2.0**-70
    tiny[3, 1] = tiny[5, 2] = np.nan
    found = FitUnits().fit_transform(tiny)
    assert_array_equal(found[:, [0, 2, 3]], tiny[:, [0, 2, 3]])
    assert np.isnan(found[3, 1])
    assert 0.5 <= np.nanmax(found[:, 1]) <= 2.0
    assert_array_equal(FitUnits().fit_transform(X), X)
    empty = np.column_stack([X, np.full(30, np.nan), np.full(30, 1e-300)])
    assert_array_equal(FitUnits().fit_transform(empty), empty)
    for whole in (np.arange(6).reshape(3, 2), X.astype(np.float32)):
        assert FitUnits().fit_transform(whole).dtype == whole.dtype


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_scaled_to_one(store, dtype):
    whole = np.abs(np.rint(X * 16))
    found = scaled_to_one(store(whole.astype(dtype)))
    plain = MinMaxScaler() if store is np.asarray else MaxAbsScaler()
    assert sparse.issparse(found) == (store is not np.asarray)
    found = found.toarray() if sparse.issparse(found) else found
    assert_allclose(found, plain.fit_transform(whole), rtol=1e-15)


def test_units_are_those_of_the_rows_that_were_fitted():
    tiny = X * 2.0**-70
    units = FitUnits().fit(tiny[:20])
    assert_array_equal(units.transform(tiny)[:20], units.transform(tiny[:20]))
    expected = MinMaxScaler().fit(X[:20]).transform(X)
    scaler = Preparation().transformer(sparse=False).fit(tiny[:20])
    assert_allclose(scaler.transform(tiny), expected, rtol=0, atol=1e-14)


def test_faint_columns_are_named_if_they_are_not_scaled(tmp_path, capsys):
    table = tmp_path / "t.csv"
    rows = [f"{x},{x}e-300,{i % 2}" for i, x in enumerate((1, 5, 2, 7, 3, 8, 2, 9))]
    table.write_text("\n".join(["a,faint,class", *rows]))
    call = ["rank", str(table), "--label", "class", "--no-validate"]
    assert run([*call, "--scale", "none"]) == 1
    errors = capsys.readouterr().err
    assert "t.csv: the range of 1 feature is below 1e-90 ('faint')" in errors
    assert "--scale minmax" in errors
    assert run(call) == 0
    assert "scaled to [0, 1]" in capsys.readouterr().out


def test_sparse_features_are_divided_by_their_largest_size_whatever_its_sign():
    X = sparse.csr_array([[0.0, -4e-30], [-2.0, 0.0], [1.0, -2e-30]])
    expected = [[0.0, -1.0], [-1.0, 0.0], [0.5, -0.5]]
    np.testing.assert_allclose(scaled_to_one(X).toarray(), expected)
