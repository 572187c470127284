"""center_batches compared with a literal loop, and with unusual input."""

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from linkselect import FisherScore, center_batches, open_stored

BATCHES = np.array(list("aabbbcab"), dtype=object)
X = np.random.default_rng(0).normal(size=(8, 4))


def literal(samples, batches):
    found = np.array(samples, dtype=np.float64)
    for column in range(found.shape[1]):
        for batch in set(batches):
            rows = [row for row in range(len(found)) if batches[row] == batch]
            known = [found[row, column] for row in rows if not np.isnan(found[row, column])]
            for row in rows:
                found[row, column] -= sum(known) / len(known) if known else np.nan
    return found


def test_an_annotated_object():
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(sparse.csr_array(np.abs(X)))
    assert_array_equal(
        center_batches(cells, list("aabbbbab")), center_batches(np.abs(X), list("aabbbbab"))
    )


@pytest.mark.filterwarnings("ignore:1 batch has only one sample")
@pytest.mark.parametrize(
    "samples",
    [
        X,
        (50 * X).astype(np.int8),
        (100 + 50 * X).astype(np.uint8),
        X > 0,
        X.tolist(),
        np.where(X > 1, np.nan, X),
        np.column_stack([X, np.full(8, np.nan)]),
        X.astype(np.float32),
        np.asfortranarray(X),
        np.array(X, dtype=object),
    ],
    ids=["float", "int8", "uint8", "bool", "list", "nan", "empty", "float32", "fortran", "object"],
)
def test_every_kind_of_number(samples):
    before = np.array(samples)
    found = center_batches(samples, BATCHES)
    assert found.dtype == (np.float32 if before.dtype == np.float32 else np.float64)
    assert_allclose(found, literal(samples, BATCHES), atol=1e-6 if found.itemsize == 4 else 1e-12)
    assert_array_equal(np.array(samples), before)


@pytest.mark.filterwarnings("ignore:1 batch has only one sample")
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_becomes_dense(make):
    samples = X * (X > 0)
    assert_array_equal(center_batches(make(samples), BATCHES), center_batches(samples, BATCHES))


@pytest.mark.filterwarnings("ignore:1 batch has only one sample")
def test_frames_stay_frames():
    frame = pd.DataFrame(X, index=[*"stuvwxy", 8], columns=["a", "b", "c", 4])
    found = center_batches(frame, pd.Series(BATCHES))
    assert_array_equal(found.to_numpy(), center_batches(X, BATCHES))
    assert found.index.equals(frame.index)
    assert list(found.columns) == ["a", "b", "c", 4]
    found = center_batches(polars.DataFrame(X, schema=list("abcd")), polars.Series(BATCHES))
    assert found.columns == list("abcd")
    assert_array_equal(found.to_numpy(), center_batches(X, BATCHES))
    whole = pd.DataFrame({"a": pd.array([1, None, 3, 4, 5, 6, 7, 8], dtype="Int64")})
    expected = literal(whole.to_numpy(dtype=float, na_value=np.nan), BATCHES)
    assert_allclose(center_batches(whole, BATCHES).to_numpy(), expected)
    masked = np.ma.masked_array(X, X > 1)
    assert_array_equal(
        center_batches(masked, BATCHES), center_batches(masked.filled(np.nan), BATCHES)
    )


def test_a_large_offset_keeps_its_digits():
    batches = np.repeat([0, 1], 4)
    shifted = np.round(X, 3) + np.where(batches, 1e8, -3e8)[:, None]
    assert_allclose(center_batches(shifted, batches), literal(np.round(X, 3), batches), atol=1e-7)


def test_a_batch_indicator_leaves_no_residue():
    """A residue of 1e-17 would separate the batches, since Fisher's score ignores its size."""
    batches = np.repeat([0, 1, 2], [3, 3, 7])
    mark = np.array([0.1, 0.3, 1e8 + 0.7])[batches]
    assert np.ptp(literal(mark[:, None], batches)) > 0, (
        "subtracting the plain mean leaves a residue"
    )
    found = center_batches(np.column_stack([mark, np.arange(13.0)]), batches)
    assert_array_equal(found[:, 0], np.zeros(13))
    with pytest.warns(
        UserWarning, match="1 of 2 features is constant|1 of 2 features are constant"
    ):
        assert np.isnan(FisherScore().fit(found, batches > 0).scores_[0])


def test_many_features():
    rng = np.random.default_rng(0)
    samples, batches = rng.normal(size=(60, 10_000)), np.arange(60) % 4
    found = center_batches(samples, batches)
    for one in range(4):
        assert_allclose(found[batches == one].mean(axis=0), 0, atol=1e-14)


def test_a_sample_alone_in_a_batch_is_reported():
    with pytest.warns(UserWarning, match="1 batch has only one sample, so all features of this"):
        found = center_batches(X, BATCHES)
    assert_array_equal(found[5], np.zeros(4))


@pytest.mark.parametrize(
    ("samples", "batches", "problem"),
    [
        (np.where(X > 1, np.inf, X), BATCHES, "contains infinity"),
        (X, BATCHES[:5], "batches has 5 values, but X has 8 samples"),
        (X, [None, *BATCHES[1:]], "batches has 1 missing value"),
        (X, [pd.NA, np.nan, *BATCHES[2:]], "batches has 2 missing values"),
        (X[0], BATCHES, "Expected 2D array"),
        (pd.DataFrame({"a": list("abcdefgh")}), BATCHES, "could not convert string"),
    ],
    ids=["infinite", "short", "None", "NA", "1-D", "text"],
)
def test_samples_that_cannot_be_centred(samples, batches, problem):
    with pytest.raises(ValueError, match=problem):
        center_batches(samples, batches)


def test_stored_samples_are_not_read_by_accident(tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(TypeError, match="center_batches requires all samples in memory"):
        center_batches(open_stored(tmp_path / "X.npy"), BATCHES)
