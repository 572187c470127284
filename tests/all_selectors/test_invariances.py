"""What must not change a result: places of rows and columns, storage, types, threads, numba."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import linkselect as ls
from linkselect import _blocks as blocks
from linkselect._samples import distances, moments, neighbors
from linkselect._samples import sparse as sparse_samples
from linkselect._search import all_pairs, nearest_neighbor, screening
from linkselect.scores import _relief as relief
from tests.helpers.estimators import COMBINED, PAIRWISE, SELECTORS, WRAPPERS
from tests.helpers.problems import DENSE, SPARSE, store

EVERYTHING = [*SELECTORS, *WRAPPERS, *COMBINED]
every_selector = pytest.mark.parametrize("selector", EVERYTHING, ids=repr)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def fit(selector, X, y, pairs=None, ids=None, **options):
    """Fit a copy; what takes pairs gets them, and everything else labels."""
    takes_pairs = any(selector is other for other in PAIRWISE)
    arguments = {"pairs": pairs, "sample_ids": ids} if takes_pairs and pairs is not None else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(selector).set_params(**options).fit(X, y, **arguments)


def results(fitted):
    """Return all arrays that a user may look at."""
    names = ("scores_", "path_", "standard_error_", "coef_")
    return {name: getattr(fitted, name) for name in names if hasattr(fitted, name)}


def assert_same_bits(found, expected, what=""):
    for name, value in results(expected).items():
        assert_array_equal(getattr(found, name), value, err_msg=f"{name} {what}")
    assert_array_equal(found.order_, expected.order_, err_msg=what)


def assert_close(found, expected, rtol, columns=None):
    """Compare scores and paths."""
    columns = slice(None) if columns is None else columns
    assert_allclose(found.scores_, expected.scores_[columns], rtol=rtol, atol=1e-13)
    if hasattr(expected, "path_"):
        assert_allclose(found.path_, expected.path_, rtol=rtol, atol=1e-13)


def problem(n=60, d=7, seed=0):
    """Draw whole numbers that every integer type holds, labels of some samples, and pairs."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(20, 80, (3, d))
    truth = rng.integers(0, 3, n)
    X = np.clip(centres[truth] + rng.integers(-25, 26, (n, d)), 0, 100)
    X = X * (rng.random((n, d)) < 0.8)
    ids = [f"sample {i}" for i in range(n)]
    pairs = ls.Pairs.from_labels(truth, sample_ids=ids, n_must=15, n_cannot=15, random_state=0)
    return X.astype(float), truth, pairs, ids


def scaled(X):
    """Bring the numbers to where a sigma of 1 makes sense; exactly, so that ties stay ties."""
    return X / 64.0


def without_ties(X):
    """Ties go by place; and numbers of few digits hide in which order they are added up."""
    return scaled(X) + 1e-3 * np.random.default_rng(1).normal(size=X.shape)


# -- rows and columns --------------------------------------------------------------------------

# These draw or split by row numbers, which other places of the rows change.
BY_ROW_NUMBER = (ls.EnsembleCLS, ls.StableSelector)


def looks_at_row_numbers(selector):
    options = selector.get_params()
    return (
        isinstance(selector, BY_ROW_NUMBER)
        or options.get("max_pairs") is not None
        or options.get("cv", "loo") != "loo"
    )


@every_selector
def test_rows_in_another_order_with_pairs_by_id(selector):
    """Not the same bits: sums run over the samples in another order."""
    if looks_at_row_numbers(selector):
        pytest.skip("draws or splits by row number")
    X, y, pairs, ids = problem()
    X = without_ties(X)
    rows = np.random.default_rng(2).permutation(len(X))
    expected = fit(selector, X, y, pairs, ids)
    found = fit(selector, X[rows], y[rows], pairs, [ids[row] for row in rows])
    assert_close(found, expected, rtol=tolerance_of(selector))
    assert_array_equal(found.order_, expected.order_)


@every_selector
def test_columns_in_another_order(selector):
    """Not the same bits: distances add up the features in another order."""
    if isinstance(selector, ls.EnsembleCLS):
        pytest.skip("draws subspaces by column number")
    X, y, pairs, ids = problem()
    X = without_ties(X)
    columns = np.random.default_rng(2).permutation(X.shape[1])
    expected = fit(selector, X, y, pairs, ids)
    found = fit(selector, X[:, columns], y, pairs, ids)
    assert_close(found, expected, rtol=tolerance_of(selector), columns=columns)
    if not counts(selector):
        assert_array_equal(columns[found.order_], expected.order_)


def counts(selector):
    """Return whether a selector counts hits, draws or ranks, which tie; ties go by place."""
    counting = (ls.NearestNeighborSFS, ls.StableSelector, ls.ConsensusSelector)
    return isinstance(selector, counting) or selector.get_params().get("discrete", False)


def tolerance_of(selector):
    """Optima are found to the tolerance of their solver, all else to rounding."""
    if isinstance(selector, ls.SCGS):
        return 1e-3
    if isinstance(selector, ls.SparsityScore):
        return 1e-6
    if selector.get_params().get("sigma") == "target":
        return 1e-6
    return 1e-10


# -- storage -----------------------------------------------------------------------------------


@every_selector
def test_every_dense_storage_gives_the_same_bits(selector, tmp_path):
    X, y, pairs, ids = problem(n=40, d=21)
    X = without_ties(X)
    np.save(tmp_path / "X.npy", X)
    stored = {name: store(np.random.default_rng(0), X, name) for name in DENSE}
    stored["memory map"] = np.load(tmp_path / "X.npy", mmap_mode="r")
    stored["pandas"] = pd.DataFrame(X, index=ids)
    stored["polars"] = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
    expected = fit(selector, X, y, pairs, ids)
    for name, other in stored.items():
        assert_same_bits(fit(selector, other, y, pairs, ids), expected, name)


@every_selector
def test_sparse_equals_dense(selector):
    """Not the same bits: sums over stored entries take the zeros in at once."""
    X, y, pairs, ids = problem(n=40)
    X = scaled(X)
    expected = fit(selector, X, y, pairs, ids)
    for storage in SPARSE:
        stored = store(np.random.default_rng(0), X, storage)
        found = fit(selector, stored, y, pairs, ids)
        assert_close(found, expected, rtol=1e-10)
        assert_array_equal(found.order_, expected.order_)


@every_selector
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_every_type_gives_the_bits_of_its_float64(selector, make):
    """Dense as dense and sparse as sparse: float64 holds every one of these values."""
    X, y, pairs, ids = problem(n=30)
    # A Gaussian that fits whole numbers up to 100.
    options = {"sigma": 50.0} if selector.get_params().get("sigma") == 1.0 else {}
    expected = fit(selector, make(X), y, pairs, ids, **options)
    # SciPy has no sparse float16.
    for dtype in [*INTEGERS, "f4"] + ["f2"] * (make is np.asarray):
        found = fit(selector, make(X.astype(dtype)), y, pairs, ids, **options)
        assert_same_bits(found, expected, dtype)
    expected = fit(selector, make((X > 50).astype(float)), y, pairs, ids, **options)
    assert_same_bits(fit(selector, make(X > 50), y, pairs, ids, **options), expected, "bool")


# -- threads and numba ---------------------------------------------------------------------------


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut small data into many blocks, so that threads have something to share."""
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 1 << 10)
    monkeypatch.setattr(moments, "BLOCK_SIZE", 1 << 10)
    monkeypatch.setattr(sparse_samples, "BLOCK_WIDTH", 8)
    monkeypatch.setattr(sparse_samples, "EDGE_CHUNK", 64)
    monkeypatch.setattr(distances, "CHUNK_SIZE", 1 << 9)
    monkeypatch.setattr(neighbors, "TILE_SIZE", 1 << 11)
    monkeypatch.setattr(neighbors, "MUTUAL_TILE_SIZE", 1 << 10)
    monkeypatch.setattr(relief, "ROWS_PER_BLOCK", 16)
    monkeypatch.setattr(all_pairs, "ROWS_PER_BLOCK", 16)
    monkeypatch.setattr(all_pairs, "FEATURES_PER_BLOCK", 8)
    monkeypatch.setattr(nearest_neighbor, "DIFFERENCES_WORTH_THREADS", 0)
    monkeypatch.setattr(nearest_neighbor, "DISTANCES_PER_BLOCK", 1 << 8)


@every_selector
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_number_of_threads_changes_no_bit(selector, make, small_blocks):
    if "n_jobs" not in selector.get_params():
        pytest.skip("has one thread")
    X, y, pairs, ids = problem(n=50, d=40)
    stored = make(scaled(X))
    one = fit(selector, stored, y, pairs, ids, n_jobs=1)
    assert_same_bits(fit(selector, stored, y, pairs, ids, n_jobs=3), one)


COMPILED = [
    (ls.SimilarityConstraintScore(1.0, sigma=3.0), screening, "pair_sums"),
    (
        ls.SimilarityConstraintScore(mode="semi-supervised", sigma=3.0),
        screening,
        "pair_sums",
    ),
    (ls.ReliefF(), relief, "manhattan_distances"),
    (ls.NearestNeighborSFS(1.0), nearest_neighbor, "count_hits"),
    (ls.NearestNeighborSFS(cv=2), nearest_neighbor, "count_hits"),
]


@pytest.mark.parametrize(
    ("selector", "module", "name"), COMPILED, ids=[repr(case[0]) for case in COMPILED]
)
@pytest.mark.parametrize("ties", [False, True])
def test_numba_changes_no_bit(selector, module, name, ties, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(screening, "VALUES_WORTH_COMPILING", 0)
    monkeypatch.setattr(relief, "COMPARISONS_WORTH_COMPILING", 0)
    monkeypatch.setattr(nearest_neighbor, "DIFFERENCES_WORTH_COMPILING", 0)
    monkeypatch.setattr(nearest_neighbor, "CANDIDATES_WORTH_SORTING", 0)
    X, y, _, _ = problem(n=70, d=12)
    X = np.round(X / 25) / 4 if ties else scaled(X)
    y = np.where(np.arange(70) % 3 == 0, -1, y)
    compiled, calls = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda: calls.append(1) or compiled())
    expected = fit(selector, X, y)
    assert calls
    monkeypatch.setattr(module, name, lambda: None)
    assert_same_bits(fit(selector, X, y), expected)
