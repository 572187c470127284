"""Scores against the literal double sums of their definitions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import linkselect as ls
import literal
from problems import labels, link_lists, samples

STORAGE = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


def fitted(selector, X, y=None, pairs=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return selector.fit(X, y, pairs=pairs)


def agrees(selector, X, expected, y=None, pairs=None):
    """Check scores in every storage; constants are NaN in both or follow the formula in both."""
    for store in STORAGE:
        found = fitted(selector, store(X), y, pairs).scores_
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * tiny(X))


def tiny(X):
    """Scale an absolute tolerance for what cancels to 0, by the spread of the data."""
    return 1e-3 * max(np.ptp(X, axis=0).max(), 1e-3)


def supervised_forms(X, y):
    """Return the same knowledge as partial labels for a selector, and as literal matrices."""
    M, C = literal.links(y)
    return {"y": y}, M, C, y < 0, y


def pair_forms(n, must, cannot):
    M, C = literal.links_of_pairs(n, must, cannot)
    groups = literal.groups_of_pairs(n, must, cannot)
    return {"pairs": ls.Pairs(must, cannot)}, M, C, groups < 0, groups


@st.composite
def weak_supervision(draw, min_features=1):
    X = draw(samples(min_features=min_features))
    if draw(st.booleans()):
        return X, *supervised_forms(X, draw(labels(len(X))))
    return X, *pair_forms(len(X), *draw(link_lists(len(X))))


@given(samples())
def test_variance(X):
    agrees(ls.VarianceScore(), X, X.var(axis=0))


@given(samples(), st.sampled_from([1, 3, 5]), st.sampled_from(["auto", 0.7]))
def test_laplacian(X, k, sigma):
    width = literal.auto_sigma(X) if sigma == "auto" else sigma
    assume(width > 0)
    W = np.where(literal.near(X, k), literal.gauss(X, width), 0.0)
    assume(W.any())
    agrees(ls.LaplacianScore(n_neighbors=k, sigma=sigma), X, literal.laplacian(X, W))


@given(samples())
def test_laplacian_with_binary_weights(X):
    expected = literal.laplacian(X, literal.near(X, 4).astype(float))
    agrees(ls.LaplacianScore(n_neighbors=4, weights="binary"), X, expected)


@given(samples(), st.floats(0.3, 3.0))
def test_laplacian_on_balls(X, radius):
    W = literal.near(X, None, radius).astype(float)
    assume(W.any())
    # On the sphere itself rounding decides.
    assume(np.abs(literal.squared_distances(X) - radius**2).min() > 1e-9)
    agrees(ls.LaplacianScore(radius=radius, weights="binary"), X, literal.laplacian(X, W))


@given(samples(), st.sampled_from([1, 2, 3]))
def test_spectral(X, style):
    sigma = literal.auto_sigma(X)
    assume(sigma > 0)
    W = np.where(literal.near(X, 3), literal.gauss(X, sigma), 0.0)
    found = fitted(ls.SpectralScore(style=style, n_neighbors=3), X).scores_
    # The literal 1 - (h'xi)^2 loses all digits of a feature with a large offset.
    assert_allclose(found, literal.spectral(X, W, style), rtol=1e-7, atol=1e-9)


@given(samples())
def test_spectral_style_2_is_the_laplacian_score(X):
    assert_allclose(
        fitted(ls.SpectralScore(style=2, n_neighbors=3), X).scores_,
        fitted(ls.LaplacianScore(n_neighbors=3), X).scores_,
        rtol=1e-12,
    )


@given(st.data())
def test_fisher(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    agrees(ls.FisherScore(), X, literal.fisher(X, y), y)


@given(st.data(), st.sampled_from([-0.5, 0.0, 0.25, -4.0]))
def test_fisher_markov(data, gamma):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    agrees(ls.FisherMarkov(gamma=gamma), X, literal.fisher_markov(X, y, gamma), y)


def test_fisher_markov_with_a_large_mean():
    rng = np.random.default_rng(1)
    X, y = 1e8 + 1e-3 * rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    found = ls.FisherMarkov().fit(X, y).scores_
    assert_allclose(found, literal.fisher_markov(X, y, -0.5), rtol=1e-10)


@given(st.data(), st.sampled_from(["quotient", "difference"]))
def test_frll(data, criterion):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    near, same = literal.near(X, 3), y[:, None] == y[None, :]
    constant = np.nan if criterion == "quotient" else None
    expected = literal.frll(X, near & same, near & ~same, criterion, constant=constant)
    agrees(ls.FRLL(criterion=criterion, n_neighbors=3), X, expected, y)
    A, B = literal.class_neighbors(X, y, 3)
    expected = literal.frll(X, A, B, criterion, constant=constant)
    agrees(ls.FRLL(criterion=criterion, neighbors="per_class", n_neighbors=3), X, expected, y)


@given(weak_supervision())
def test_constraint_ratio(problem):
    X, known, M, C, _, _ = problem
    agrees(ls.ConstraintScore(), X, literal.constraint_ratio(X, M, C), **known)


@given(weak_supervision(), st.sampled_from([0.1, 1.0]))
def test_constraint_difference(problem, weight):
    X, known, M, C, _, _ = problem
    expected = literal.constraint_difference(X, M, C, weight, constant=None)
    agrees(ls.ConstraintScore(criterion="difference", weight=weight), X, expected, **known)


@given(weak_supervision())
def test_lsdf(problem):
    X, known, M, C, U, _ = problem
    expected = literal.lsdf(X, M, C, U, gamma=100.0, k=3)
    agrees(ls.LSDF(n_neighbors=3), X, expected, **known)


@given(weak_supervision())
def test_laplacian_constraint(problem):
    X, known, M, C, _, _ = problem
    expected = literal.laplacian_constraint(X, M, C, sigma=1.0)
    agrees(ls.LaplacianConstraintScore(), X, expected, **known)


@given(weak_supervision(), st.sampled_from(["2011", "2014"]))
def test_constrained_laplacian(problem, variant):
    X, known, M, C, U, _ = problem
    assume(np.where(literal.near(X, 3), literal.gauss(X, 1.0), 0).any())
    expected = literal.constrained_laplacian(X, M, C, U, sigma=1.0, k=3, variant=variant)
    agrees(ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=3), X, expected, **known)


@given(samples(), st.sampled_from(["2011", "2014"]))
def test_constrained_laplacian_without_supervision_is_twice_the_laplacian_score(X, variant):
    plain = fitted(ls.LaplacianScore(n_neighbors=3, sigma=1.0), X).scores_
    selector = ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=3)
    assert_allclose(fitted(selector, X).scores_, 2 * plain, rtol=1e-12)
    unlabelled = np.full(len(X), -1)
    assert_allclose(fitted(selector, X, unlabelled).scores_, 2 * plain, rtol=1e-12)


@given(weak_supervision())
def test_compensated_laplacian(problem):
    X, known, M, C, _, groups = problem
    expected = literal.compensated_laplacian(
        X, M, C, groups, sigma=1.0, k=3, gamma=0.9, compensation=0.5
    )
    agrees(ls.CompensatedLaplacianScore(n_neighbors=3), X, expected, **known)


@given(st.data())
def test_all_pairs_of_labels_equal_the_labels(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X)))
    pairs = ls.Pairs.from_labels(y)
    for selector in (ls.ConstraintScore(), ls.ConstraintScore(criterion="difference")):
        by_pairs = fitted(selector, X, pairs=pairs).scores_
        assert_allclose(fitted(selector, X, y).scores_, by_pairs, rtol=1e-10, atol=1e-10 * tiny(X))


# -- by hand ---------------------------------------------------------------------------------


def test_constraint_score_by_hand():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 7.0], [7.0, 6.0]])
    pairs = ls.Pairs(must=[(0, 1)], cannot=[(1, 2), (2, 3)])
    # must: 1 and 0; cannot: 4 + 16 and 4 + 1
    assert ls.ConstraintScore().fit(X, pairs=pairs).scores_.tolist() == [1 / 20, 0.0]
    by_difference = ls.ConstraintScore(criterion="difference", weight=0.5).fit(X, pairs=pairs)
    assert by_difference.scores_.tolist() == [-9.0, -2.5]


def test_fisher_score_by_hand():
    X = np.array([[0.0], [2.0], [4.0], [6.0]])
    # means 1 and 5 about 3: 2 * 4 + 2 * 4; inside: 1 + 1 + 1 + 1
    assert ls.FisherScore().fit(X, [0, 0, 1, 1]).scores_.tolist() == [4.0]


# -- invariances and hard numbers ------------------------------------------------------------

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
    # What the shifted column can hold at all in float64, moved back without error.
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
def test_memmap_that_cannot_be_written_to(selector, tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 6)), rng.integers(0, 2, 40)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(selector.fit(mapped, y).scores_, selector.fit(X, y).scores_)


# -- weights that vanish, narrow types, extreme scales ------------------------------------------


@pytest.mark.parametrize("variant", ["2011", "2014"])
@pytest.mark.parametrize("store", STORAGE)
def test_a_labelled_sample_far_from_all_others(variant, store):
    # The weights of the first labelled sample underflow: it has a degree of 0.
    X = np.array([[60.0, 50], [1, 2], [0, 1], [1, 1], [0, 0], [2, 1]])
    y = np.array([0, 0, 1, 1, -1, -1])
    M, C = literal.links(y)
    expected = literal.constrained_laplacian(X, M, C, y < 0, sigma=1.0, k=2, variant=variant)
    selector = ls.ConstrainedLaplacianScore(variant=variant, n_neighbors=2)
    assert_allclose(selector.fit(store(X), y).scores_, expected, rtol=1e-12)
    by_pairs = selector.fit(store(X), pairs=ls.Pairs.from_labels(y)).scores_
    assert_allclose(by_pairs, expected, rtol=1e-12)
    if variant == "2011":
        assert_allclose(expected, [3.48e-4, 5.12e-4], rtol=1e-3)


def test_breast_cancer_from_few_labels_as_from_their_pairs():
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        some = np.where(rng.random(len(y)) < 0.1, y, -1)
        for variant in ("2011", "2014"):
            selector = ls.ConstrainedLaplacianScore(variant=variant)
            by_pairs = selector.fit(X, pairs=ls.Pairs.from_labels(some))
            scores, order = by_pairs.scores_, by_pairs.order_
            assert_allclose(selector.fit(X, some).scores_, scores, rtol=1e-9)
            assert_array_equal(selector.order_, order)


@pytest.mark.parametrize("number", [np.int8, np.uint8, np.int32, np.int64, np.float32, bool])
@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_array])
def test_complete_kernel_on_sparse_data_of_any_type(number, store):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if number is bool else 17, (40, 6)) * (rng.random((40, 6)) < 0.4)
    y = rng.integers(-1, 3, 40)
    # With a narrow width the form is summed up from differences.
    for selector in (
        ls.LaplacianConstraintScore(sigma=5.0),
        ls.LaplacianConstraintScore(sigma=0.1),
        ls.ConstrainedLaplacianScore(sigma=5.0),
    ):
        expected = selector.fit(X.astype(float), y).scores_
        assert_allclose(selector.fit(store(X.astype(number)), y).scores_, expected, rtol=1e-10)


def test_differences_that_underflow_are_refused():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.COPKMeans(2)):
        with pytest.raises(
            ValueError, match=r"30 features.*'mean radius'.*underflow.*MinMaxScaler"
        ):
            selector.fit(X * 1e-162, y)
        with pytest.raises(ValueError, match=r"1 features.*feature 3: the squares"):
            selector.fit(X.to_numpy() * np.where(np.arange(30) == 3, 1e-162, 1.0), y)
    # What squares nothing works at any scale.
    for selector in (ls.ReliefF(), ls.MRMR(5), ls.FCBF()):
        order = selector.fit(X[:60], y[:60]).order_
        assert_array_equal(selector.fit(X[:60] * 2.0**-540, y[:60]).order_, order)
    # Up to the limit nothing is lost.
    expected = ls.FisherScore().fit(X, y).scores_
    assert_allclose(ls.FisherScore().fit(X * 2.0**-280, y).scores_, expected, rtol=1e-12)


def test_weights_that_nearly_vanish():
    # Twins at the start, everything else so far apart that few weights are left.
    X = np.array([[32.0, 54, 29], [33, 54, 29], [4, 28, 21], [40, 41, 2], [11, 3, 45]])
    X = np.vstack([X, [[10.0, 53, 58], [36, 18, 18], [35, 49, 59]]])
    # The edges (0, 1) and (5, 7) of weights .61 and 3.9e-140 outweigh all others. The third
    # feature changes over the second of them only.
    expected = 1.0 / (29**2 + 30**2)
    for store in STORAGE:
        found = ls.LaplacianScore(n_neighbors=2, sigma=1.0).fit(store(X))
        assert_allclose(found.scores_[2], expected, rtol=1e-10)
        with pytest.raises(ValueError, match=r"nearly 0 with sigma=0.01.*nearest samples are 1 "):
            ls.LaplacianScore(n_neighbors=2, sigma=0.01).fit(store(X))


@pytest.mark.parametrize("selector", [ls.FisherScore(), ls.FRLL(), ls.TraceRatio()], ids=repr)
def test_one_sample_per_class_is_told(selector):
    X = np.random.default_rng(0).random((8, 3))
    with pytest.warns(UserWarning, match="all 3 features.*infinite.*no class has two") as told:
        selector.fit(X, np.arange(8))
    assert len(told) == 1


@pytest.mark.parametrize("selector", SHIFT_INVARIANT, ids=repr)
def test_the_order_of_memory_changes_no_bit(selector):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 30)), rng.integers(-1, 3, 60)
    expected = selector.fit(X, y).scores_
    assert_array_equal(selector.fit(np.asfortranarray(X), y).scores_, expected)
    assert_array_equal(selector.fit(np.repeat(X, 2, axis=1)[:, ::2], y).scores_, expected)
    assert_array_equal(selector.fit(pd.DataFrame(X), y).scores_, expected)


def test_compensated_laplacian_over_a_denominator_of_0():
    # Two samples that a must-link joins: total and within scatter are the same sum.
    X = np.array([[0.0, 1.0], [3.0, 1.5]])
    selector = ls.CompensatedLaplacianScore(n_neighbors=1)
    with pytest.warns(UserWarning, match="2 of 2 features vary.*is not positive"):
        selector.fit(X, pairs=ls.Pairs(must=[(0, 1)]))
    assert np.isnan(selector.scores_).all()


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("selector", [*SHIFT_INVARIANT, ls.ReliefF(), ls.TraceRatio(5)], ids=repr)
def test_copies_of_a_feature_tie_and_go_by_index(selector, store):
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
    # Every entry is stored, the zeros too, and each as two halves.
    untidy = sparse.csr_array(
        (np.repeat(X.ravel() / 2, 2), (np.repeat(rows, 2), np.repeat(columns, 2))), shape=X.shape
    )
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.LaplacianConstraintScore()):
        expected = selector.fit(sparse.csr_array(X), y).scores_
        assert_array_equal(selector.fit(untidy, y).scores_, expected)
