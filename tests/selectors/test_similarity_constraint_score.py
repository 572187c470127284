"""SimilarityConstraintScore: targets, widths, drawn pairs, errors, narrow types."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
from tests.helpers import literal
from tests.helpers.fitting import fitted
from tests.helpers.problems import prototypes


def assert_found(fitted, expected):
    order, path, scores = expected
    n_steps = len(fitted.path_)
    assert_array_equal(fitted.order_[:n_steps], order[:n_steps])
    assert_allclose(fitted.path_, path[:n_steps], rtol=1e-11)
    assert_allclose(fitted.scores_, scores, rtol=1e-11)
    assert fitted.n_features_ == path.argmin() + 1


# -- target similarity -------------------------------------------------------------------------


def test_labels_make_groups(wine):
    X, y = wine
    partial = prototypes(y, 5, 0)
    expected = literal.similarity_search(X, 1.0, *literal.target_of_groups(partial), 13)
    assert_found(ls.SimilarityConstraintScore().fit(X, partial), expected)
    known = np.flatnonzero(partial >= 0)
    nearest = known[((X[:, None] - X[known]) ** 2).sum(axis=2).argmin(axis=1)]
    expected = literal.similarity_search(X, 1.0, *literal.target_of_groups(partial[nearest]), 13)
    assert_found(ls.SimilarityConstraintScore(mode="semi-supervised").fit(X, partial), expected)


def test_pairs_without_labels_are_used_as_given(wine):
    X, y = wine
    # 0 = 1 and 1 = 2 imply 0 = 2, which the supervised score does not use.
    pairs = ls.Pairs(must=[(0, 1), (1, 2), (60, 61)], cannot=[(0, 60), (2, 140), (61, 141)])
    target = literal.target_of_pairs(len(y), pairs.must, pairs.cannot)
    expected = literal.similarity_search(X, 1.0, *target, 13)
    assert_found(ls.SimilarityConstraintScore().fit(X, pairs=pairs), expected)


def test_samples_in_pairs_are_prototypes(wine):
    X, y = wine
    pairs = ls.Pairs(must=[(0, 1), (1, 2), (60, 61)], cannot=[(0, 60), (2, 140), (61, 141)])
    groups = np.full(len(y), -1)
    # Two components, and two samples that are only in cannot-links.
    groups[[0, 1, 2]], groups[[60, 61]], groups[140], groups[141] = 0, 1, 2, 3
    known = np.flatnonzero(groups >= 0)
    nearest = known[((X[:, None] - X[known]) ** 2).sum(axis=2).argmin(axis=1)]
    expected = literal.similarity_search(X, 1.0, *literal.target_of_groups(groups[nearest]), 13)
    selector = ls.SimilarityConstraintScore(mode="semi-supervised")
    assert_found(selector.fit(X, pairs=pairs), expected)
    # The closure does not change the components.
    assert_array_equal(clone(selector).fit(X, pairs=pairs.closure()).order_, selector.order_)


def test_all_pairs_from_labels_equal_the_labels(wine):
    X, y = wine
    partial = prototypes(y, 6, 1)
    from_labels = ls.SimilarityConstraintScore().fit(X, partial)
    from_pairs = ls.SimilarityConstraintScore().fit(X, pairs=ls.Pairs.from_labels(partial))
    assert_array_equal(from_pairs.order_, from_labels.order_)
    assert_allclose(from_pairs.path_, from_labels.path_, rtol=1e-12)


@pytest.mark.parametrize("mode", ["supervised", "semi-supervised"])
def test_drawn_pairs(mode, wine):
    X, y = wine
    selector = ls.SimilarityConstraintScore(4, mode=mode, max_pairs=2000, random_state=0)
    exact = ls.SimilarityConstraintScore(4, mode=mode).fit(X, y)
    assert_array_equal(exact.standard_error_, np.zeros(4))
    drawn = selector.fit(X, y)
    assert (np.abs(drawn.path_ - exact.path_) < 5 * drawn.standard_error_).all()
    assert_array_equal(clone(selector).fit(X, y).path_, drawn.path_)
    other = clone(selector).set_params(random_state=1).fit(X, y)
    assert (other.path_ != drawn.path_).all()
    every = clone(selector).set_params(max_pairs=10**6).fit(X, y)
    assert_allclose(every.path_, exact.path_, rtol=1e-12)
    assert_array_equal(every.standard_error_, np.zeros(4))
    bare = clone(selector).set_params(max_pairs=500).fit(X, pairs=ls.Pairs.from_labels(y))
    assert (bare.standard_error_ > 0).all()


# -- how many features -------------------------------------------------------------------------


def test_the_search_ends_after_its_minimum(wine):
    X, y = wine
    whole = ls.SimilarityConstraintScore(13).fit(X, y)
    best = ls.SimilarityConstraintScore().fit(X, y)
    assert best.n_features_ == whole.path_.argmin() + 1
    assert len(best.path_) <= len(whole.path_) == 13
    assert_array_equal(best.path_, whole.path_[: len(best.path_)])


# -- the width ---------------------------------------------------------------------------------


def test_widths(wine):
    X, y = wine
    assert ls.SimilarityConstraintScore(sigma=2).fit(X, y).sigma_ == 2.0
    auto = ls.SimilarityConstraintScore(sigma="auto").fit(X, y).sigma_
    squared = ((X[:, None] - X) ** 2).sum(axis=2)[np.triu_indices(len(X), 1)]
    assert 2 * auto**2 == pytest.approx(np.median(squared))
    target = ls.SimilarityConstraintScore(sigma="target")
    matched = target.fit(X, y).sigma_
    assert matched == clone(target).fit(X, y).sigma_
    assert clone(target).fit(7 * X, y).sigma_ == pytest.approx(7 * matched, rel=1e-4)
    assert_array_equal(clone(target).fit(7 * X, y).order_, target.order_)


def test_features_out_of_scale_are_reported():
    X, y = load_breast_cancer(return_X_y=True)
    message = (
        r"sigma=1 is too small for \d+ of 30 features.*half of the must-links.* more than 3\.7 "
        r"\(in feature 23, by more than \d+\).*MinMaxScaler.*sigma=\"auto\".*sigma=\"target\""
    )
    pairs = ls.Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    frame = pd.DataFrame(X).add_prefix("f")
    with pytest.warns(UserWarning, match=message.replace("feature 23", "'f23'")):
        ls.SimilarityConstraintScore(2).fit(frame, pairs=pairs)
    with pytest.warns(UserWarning, match=message):
        ls.SimilarityConstraintScore(2).fit(X, y)
    with pytest.warns(UserWarning, match=message):
        ls.SimilarityConstraintScore(2).fit(X, pairs=pairs)
    with pytest.warns(UserWarning, match=message):
        ls.SimilarityConstraintScore(2).fit(sparse.csr_array(X), pairs=pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ls.SimilarityConstraintScore(2).fit(MinMaxScaler().fit_transform(X), y)
        ls.SimilarityConstraintScore(2, sigma="auto").fit(X, y)
        ls.SimilarityConstraintScore(2, sigma="target").fit(X, y)
        ls.SimilarityConstraintScore(2, sigma=1000.0).fit(X, y)


@pytest.mark.parametrize("mode", ["supervised", "semi-supervised"])
def test_the_warning_about_sigma_sees_narrow_sparse_integers(mode):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = (rng.integers(0, 2, (40, 4)) * 255).astype(np.uint8)
    selector = ls.SimilarityConstraintScore(2, mode=mode, sigma=20.0)
    for stored in (X, sparse.csr_array(X)):
        with pytest.warns(UserWarning, match=r"sigma=20 is too small for .* more than 255\)"):
            selector.fit(stored, y)


# -- bad input ---------------------------------------------------------------------------------


def test_too_little_to_compare(wine):
    X, y = wine
    selector = ls.SimilarityConstraintScore()
    with pytest.raises(ValueError, match=r"needs a cannot-link.*at least two classes"):
        selector.fit(X, np.zeros(len(y), dtype=int))
    with pytest.raises(ValueError, match=r"needs a must-link.*two samples in one of them"):
        selector.fit(X, prototypes(y, 1, 0))
    with pytest.raises(ValueError, match="needs a must-link and a cannot-link, but neither pairs"):
        selector.fit(X)
    with pytest.raises(ValueError, match="needs a must-link, but there is none among the 2"):
        selector.fit(X, pairs=ls.Pairs(cannot=[(0, 1)]))


def test_all_samples_in_one_group_leave_nothing_to_compare(wine):
    X, y = wine
    selector = ls.SimilarityConstraintScore(mode="semi-supervised")
    with pytest.raises(ValueError, match=r"needs two groups.* one group among the 178 samples"):
        selector.fit(X, np.zeros(len(y), dtype=int))
    with pytest.raises(ValueError, match=r"needs two groups.* only one group among the 3 samples"):
        selector.fit(X, pairs=ls.Pairs(must=[(0, 1), (1, 2)]))
    with pytest.raises(ValueError, match="needs two groups.*neither pairs"):
        selector.fit(X)


@pytest.mark.parametrize("sigma", [1.0, "auto", "target"])
@pytest.mark.parametrize("max_pairs", [None, 100])
def test_two_groups_are_enough_for_all_samples(wine, sigma, max_pairs):
    X, y = wine
    X = MinMaxScaler().fit_transform(X)
    selector = ls.SimilarityConstraintScore(
        mode="semi-supervised", sigma=sigma, max_pairs=max_pairs, random_state=0
    )
    one_each = prototypes(y, 1, 0)
    by_label = selector.fit(X, one_each).order_
    first, second, third = np.flatnonzero(one_each >= 0)
    cannot = ls.Pairs(cannot=[(first, second), (first, third), (second, third)])
    assert_array_equal(selector.fit(X, pairs=cannot).order_, by_label)
    # Unconnected must-links form two groups, even without a cannot-link.
    groups = np.full(len(y), -1)
    groups[[0, 1, 100, 101]] = [0, 0, 1, 1]
    apart = ls.Pairs(must=[(0, 1), (100, 101)])
    assert_array_equal(selector.fit(X, pairs=apart).order_, selector.fit(X, groups).order_)
    # Every sample a group of its own: no two should be alike.
    few = X[[0, 70, 150]]
    assert sorted(selector.fit(few, [0, 1, 2]).order_) == list(range(X.shape[1]))


@pytest.mark.parametrize(
    "selector",
    [
        ls.SimilarityConstraintScore(sigma=0),
        ls.SimilarityConstraintScore(sigma=-1.0),
        ls.SimilarityConstraintScore(sigma="median"),
        ls.SimilarityConstraintScore(mode="unsupervised"),
        ls.SimilarityConstraintScore(max_pairs=1),
        ls.SimilarityConstraintScore(random_state="seed"),
    ],
    ids=repr,
)
def test_parameters_out_of_range(selector, wine):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        selector.fit(*wine)


def test_a_warning_announces_much_memory(wine, sizes):
    sizes(MANY_BYTES=2**19)
    with pytest.warns(UserWarning, match=r"All pairs of 178 samples need about.*max_pairs="):
        ls.SimilarityConstraintScore(2).fit(*wine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ls.SimilarityConstraintScore(2, max_pairs=500).fit(*wine)


# -- narrow types and offsets ------------------------------------------------------------------


def narrow_problem(number, spread, n_samples=500, n_features=820):
    """Make features that vary little, except two good ones whose range overflows the type."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n_samples)
    X = rng.integers(-spread // 8, spread // 8, (n_samples, n_features))
    # Four classes, which only these two features together separate.
    X[:, 6] += spread * 7 // 8 * np.where(y < 2, 1, -1)
    X[:, 3] += spread * 7 // 8 * np.where(y % 2, 1, -1)
    return X.astype(number), y


# The range of the values exceeds what the type can store. Large enough to be compiled.
@pytest.mark.slow
@pytest.mark.parametrize(("number", "spread"), [(np.int16, 30_000), (np.int8, 120)])
def test_narrow_integers_choose_as_their_floats(number, spread):
    X, y = narrow_problem(number, spread)
    selector = ls.SimilarityConstraintScore(3, sigma=spread / 4)
    expected = fitted(selector, X.astype(float), y)
    order, scores = expected.order_, expected.scores_
    assert_array_equal(fitted(selector, X, y).order_, order)
    assert_array_equal(selector.scores_, scores)
    assert set(order[:2]) == {3, 6}


@pytest.mark.parametrize("from_pairs", [False, True])
@pytest.mark.parametrize("mode", ["supervised", "semi-supervised"])
def test_an_offset_costs_the_similarity_no_digits(mode, from_pairs):
    rng = np.random.default_rng(1)
    # Values that remain exact after adding 1e8, with a spread of 1e-3.
    X = rng.integers(0, 2**16, (60, 5)) * 2.0**-26
    y = rng.integers(0, 3, 60)
    known = {"pairs": ls.Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=0)}
    known = known if from_pairs else {"y": y}
    selector = ls.SimilarityConstraintScore(5, mode=mode, sigma=5e-4)
    expected = fitted(selector, X, **known)
    scores, order, path = expected.scores_, expected.order_, expected.path_
    moved = fitted(selector, X + 1e8, **known)
    assert_allclose(moved.scores_, scores, rtol=1e-12)
    assert_allclose(moved.path_, path, rtol=1e-12)
    assert_array_equal(moved.order_, order)
    # A column and its shifted copy tie, and the first one wins.
    for first, second in ((0.0, 1e8), (1e8, 0.0)):
        twins = np.column_stack([X[:, 0] + first, X[:, 0] + second])
        assert_array_equal(
            fitted(selector.set_params(n_features_to_select=2), twins, **known).order_, [0, 1]
        )


def test_a_value_far_from_all_others_costs_the_similarity_no_digits():
    rng = np.random.default_rng(2)
    X, y = rng.random((40, 4)), rng.integers(0, 2, 40)
    X[0, 1] = 1e9
    selector = ls.SimilarityConstraintScore(4, sigma=0.5)
    similar = np.exp(-((X[:, None] - X) ** 2) / 0.5)
    target = (y[:, None] == y)[..., None]
    expected = ((similar - target) ** 2).sum(axis=(0, 1))
    assert_allclose(fitted(selector, X, y).scores_, expected, rtol=1e-12)
