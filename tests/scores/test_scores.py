"""Invariances of scores: offsets, order of samples, storage, threads, copies of a feature."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import linkselect as ls
from tests.helpers.fitting import STORAGE

SHIFT_INVARIANT = [
    ls.VarianceScore(),
    ls.LaplacianScore(),
    ls.FisherScore(),
    ls.FRLL(),
    ls.ConstraintScore(),
    ls.LSDF(),
    ls.LaplacianConstraintScore(sigma=2.0),
    ls.ConstrainedLaplacianScore(sigma=2.0),
    ls.ConstrainedLaplacianScore(variant="2014", sigma=2.0),
    ls.CompensatedLaplacianScore(sigma=2.0),
]


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
def test_a_large_offset_changes_nothing(selector):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * [1, 1, 1, 1, 1e-3]
    y = rng.integers(0, 3, 60)
    offset = np.array([0, 0, 0, 0, 1e8])
    # The expected values have only the digits that survive the shift in float64.
    shifted = X + offset
    X = shifted - offset
    assert_allclose(selector.fit(shifted, y).scores_, selector.fit(X, y).scores_, rtol=1e-9)


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
def test_the_order_of_samples_changes_nothing(selector):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 6)), rng.integers(-1, 3, 50)
    mixed = rng.permutation(50)
    assert_allclose(
        selector.fit(X[mixed], y[mixed]).scores_, selector.fit(X, y).scores_, rtol=1e-10
    )


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
@pytest.mark.parametrize("store", [*STORAGE, sparse.csr_matrix, np.float32, np.int64])
def test_every_storage_and_number_of_threads_gives_the_same(selector, store):
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(80, 7)) * 2) * (rng.random((80, 7)) < 0.5)
    y = rng.integers(-1, 3, 80)
    expected = selector.set_params(n_jobs=1).fit(X, y).scores_
    stored = store(X)
    before = stored.copy()
    assert_allclose(selector.fit(stored, y).scores_, expected, rtol=1e-10)
    threaded = selector.set_params(n_jobs=3).fit(X, y).scores_
    selector.set_params(n_jobs=None)
    np.testing.assert_array_equal(threaded, expected)
    assert abs(before - stored).max() == 0


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
def test_read_only_memmap(selector, tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 6)), rng.integers(0, 2, 40)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(selector.fit(mapped, y).scores_, selector.fit(X, y).scores_)


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
def test_the_memory_layout_changes_no_bit(selector):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 30)), rng.integers(-1, 3, 60)
    expected = selector.fit(X, y).scores_
    assert_array_equal(selector.fit(np.asfortranarray(X), y).scores_, expected)
    assert_array_equal(selector.fit(np.repeat(X, 2, axis=1)[:, ::2], y).scores_, expected)
    assert_array_equal(selector.fit(pd.DataFrame(X), y).scores_, expected)


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("selector", [*SHIFT_INVARIANT, ls.ReliefF(), ls.TraceRatio(5)], ids=repr)
def test_copies_of_a_feature_tie_and_are_ordered_by_index(selector, store):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        copies = rng.integers(0, 3, 17)
        X, y = rng.normal(size=(25, 3))[:, copies], rng.integers(0, 3, 25)
        selector.fit(store(X), y)
        for feature in range(3):
            same = np.flatnonzero(copies == feature)
            assert len(set(selector.scores_[same])) == 1
            assert (np.diff(selector.ranking_[same]) > 0).all()


def test_stored_zeros_and_repeated_entries_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (20, 6)).astype(float)
    y = rng.integers(0, 2, 20)
    rows, columns = np.indices(X.shape).reshape(2, -1)
    # Every entry, including each zero, is stored as two halves.
    untidy = sparse.csr_array(
        (np.repeat(X.ravel() / 2, 2), (np.repeat(rows, 2), np.repeat(columns, 2))), shape=X.shape
    )
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.LaplacianConstraintScore()):
        expected = selector.fit(sparse.csr_array(X), y).scores_
        assert_array_equal(selector.fit(untidy, y).scores_, expected)
