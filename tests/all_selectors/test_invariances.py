"""Results must not depend on row or column order, storage, types, threads or numba."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import linkselect as ls
from linkselect._compiled.hits import count_hits
from linkselect._compiled.manhattan import manhattan_distances
from linkselect._compiled.similarity_sums import pair_sums
from tests.helpers.estimators import COMBINED, PAIRWISE, SELECTORS, WRAPPERS
from tests.helpers.problems import DENSE, SPARSE, store
from tests.helpers.sizes import calls_of

EVERYTHING = [*SELECTORS, *WRAPPERS, *COMBINED]
every_selector = pytest.mark.parametrize("selector", EVERYTHING, ids=repr)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def fit(selector, X, y, pairs=None, ids=None, **options):
    """Fit a copy, with pairs if the selector uses them and with labels otherwise."""
    takes_pairs = any(selector is other for other in PAIRWISE)
    arguments = {"pairs": pairs, "sample_ids": ids} if takes_pairs and pairs is not None else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(selector).set_params(**options).fit(X, y, **arguments)


def results(fitted):
    """Return all fitted arrays that users can access."""
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
    """Draw whole numbers in the range of every integer type, labels, and pairs."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(20, 80, (3, d))
    truth = rng.integers(0, 3, n)
    X = np.clip(centres[truth] + rng.integers(-25, 26, (n, d)), 0, 100)
    X = X * (rng.random((n, d)) < 0.8)
    ids = [f"sample {i}" for i in range(n)]
    pairs = ls.Pairs.from_labels(truth, sample_ids=ids, n_must=15, n_cannot=15, random_state=0)
    return X.astype(float), truth, pairs, ids


def scaled(X):
    """Scale the values for a sigma of 1, by a power of 2 so that ties remain exact."""
    return X / 64.0


def without_ties(X):
    """Add noise: ties would go by position, and short numbers would hide the order of sums."""
    return scaled(X) + 1e-3 * np.random.default_rng(1).normal(size=X.shape)


# -- rows and columns --------------------------------------------------------------------------

# These draw or split by row number, so their results depend on the order of the rows.
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
    """Equal only up to rounding: sums run over the samples in another order."""
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
    """Equal only up to rounding: distances sum the features in another order."""
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
    """Return whether scores are counts of hits, draws or ranks, whose ties go by position."""
    counting = (ls.NearestNeighborSFS, ls.StableSelector, ls.ConsensusSelector)
    return isinstance(selector, counting) or selector.get_params().get("discrete", False)


def tolerance_of(selector):
    """Return the tolerance of the solver for optima, and that of rounding otherwise."""
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
    """Equal only up to rounding: sums over stored entries add all zeros at once."""
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
    """All these values are exact in float64, dense and sparse."""
    X, y, pairs, ids = problem(n=30)
    # A Gaussian that suits whole numbers up to 100.
    options = {"sigma": 50.0} if selector.get_params().get("sigma") == 1.0 else {}
    expected = fit(selector, make(X), y, pairs, ids, **options)
    # SciPy has no sparse float16.
    for dtype in [*INTEGERS, "f4", "f2"] if make is np.asarray else ["i1", "u2", "i8", "f4"]:
        found = fit(selector, make(X.astype(dtype)), y, pairs, ids, **options)
        assert_same_bits(found, expected, dtype)
    expected = fit(selector, make((X > 50).astype(float)), y, pairs, ids, **options)
    assert_same_bits(fit(selector, make(X > 50), y, pairs, ids, **options), expected, "bool")


# -- threads and numba ---------------------------------------------------------------------------


@every_selector
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_number_of_threads_changes_no_bit(selector, make, shrink, sizes):
    if "n_jobs" not in selector.get_params():
        pytest.skip("has one thread")
    # Many blocks, so that threads have something to share.
    shrink(255)
    sizes(ROWS_PER_BLOCK=16, FEATURES_PER_BLOCK=8)
    X, y, pairs, ids = problem(n=50, d=40)
    stored = make(scaled(X))
    one = fit(selector, stored, y, pairs, ids, n_jobs=1)
    assert_same_bits(fit(selector, stored, y, pairs, ids, n_jobs=3), one)


COMPILED = [
    (ls.SimilarityConstraintScore(1.0, sigma=3.0), pair_sums),
    (ls.SimilarityConstraintScore(mode="semi-supervised", sigma=3.0), pair_sums),
    (ls.ReliefF(), manhattan_distances),
    (ls.NearestNeighborSFS(1.0), count_hits),
    (ls.NearestNeighborSFS(cv=2), count_hits),
]


@pytest.mark.parametrize(("selector", "loop"), COMPILED, ids=[repr(case[0]) for case in COMPILED])
@pytest.mark.parametrize("ties", [False, True])
def test_numba_changes_no_bit(selector, loop, ties, compile_from):
    pytest.importorskip("numba")
    X, y, _, _ = problem(n=70, d=12)
    X = np.round(X / 25) / 4 if ties else scaled(X)
    y = np.where(np.arange(70) % 3 == 0, -1, y)
    compile_from(False)
    before = calls_of(loop)
    expected = fit(selector, X, y)
    assert calls_of(loop) == before
    compile_from(True)
    assert_same_bits(fit(selector, X, y), expected)
    assert calls_of(loop) > before
