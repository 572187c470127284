"""SparsityScore: the literal formula, callbacks and invalid input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import linkselect as ls
from linkselect import scores
from linkselect.graphs import reconstruction_weights
from tests.helpers.fitting import needs_callbacks


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def check_weights(weights, n_samples):
    assert isinstance(weights, csr_array)
    assert weights.shape == (n_samples, n_samples)
    assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0, rtol=1e-9)
    assert_array_equal(weights.diagonal(), 0.0)


def literal_score(f, S):
    n = len(f)
    approximated = [sum(S[i, j] * f[j] for j in range(n)) for i in range(n)]
    error = sum((f[i] - approximated[i]) ** 2 for i in range(n))
    return error / (sum((value - sum(f) / n) ** 2 for value in f) / n)


@pytest.mark.parametrize("graph", ["l1", "l2", "lle"])
def test_score_is_the_literal_sum(graph, rng):
    X = rng.normal(size=(15, 7))
    fitted = ls.SparsityScore(graph=graph).fit(X)
    check_weights(fitted.reconstruction_weights_, 15)
    S = fitted.reconstruction_weights_.toarray()
    assert_allclose(fitted.scores_, [literal_score(f, S) for f in X.T], rtol=1e-9, atol=1e-16)
    assert_array_equal(fitted.order_, np.argsort(fitted.scores_, kind="stable"))
    sparse = scores.sparsity(csr_array(X), fitted.reconstruction_weights_)
    assert_allclose(sparse, fitted.scores_, rtol=1e-12)


def test_tolerance_form_scores_by_the_literal_sum(rng):
    X = rng.normal(size=(25, 4))
    fitted = ls.SparsityScore(form="tolerance", tolerance=0.5).fit(X)
    S = fitted.reconstruction_weights_.toarray()
    assert fitted.scores_.min() > 0.0
    assert_allclose(fitted.scores_, [literal_score(f, S) for f in X.T], rtol=1e-9)


def test_score_keeps_its_digits_far_from_zero(rng):
    X = rng.normal(size=(40, 3))
    S = reconstruction_weights(X, "lle")
    far = 1e8 + 1e-3 * X
    kept = (far - 1e8) / 1e-3
    assert_allclose(scores.sparsity(far, S), scores.sparsity(kept, S), rtol=1e-6)


def test_score_of_a_constant_feature_is_nan_without_a_warning_of_numpy(rng):
    X = rng.normal(size=(10, 3))
    X[:, 1] = 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scores.sparsity(X, reconstruction_weights(X))
    assert_array_equal(np.isnan(found), [False, True, False])


def test_exact_weights_score_zero(rng):
    X = rng.normal(size=(20, 3))
    assert_array_equal(scores.sparsity(X, reconstruction_weights(X, form="equality")), 0.0)


def test_wild_scales_are_ranked(rng):
    X = rng.normal(size=(30, 6)) * 10.0 ** np.arange(-6, 12, 3)
    fitted = ls.SparsityScore().fit(X)
    assert np.isfinite(fitted.scores_).all()
    # One unit of error costs the same in all features: only large ones are reconstructed.
    assert_array_equal(fitted.scores_[3:], 0.0)
    assert fitted.scores_[:2].min() > 1.0


def test_duplicate_samples_are_reconstructed_and_scores_stay_finite(rng):
    X = np.repeat(rng.normal(size=(6, 4)), 2, axis=0)
    with pytest.warns(UserWarning, match="All 4 non-constant .* 0.*Scale the features") as caught:
        fitted = ls.SparsityScore().fit(X)
    assert len(caught) == 1
    assert_array_equal(fitted.scores_, 0.0)
    assert_array_equal(fitted.order_, range(4))


# -- callbacks and limits ----------------------------------------------------------------------


class Recorder:
    """A callback that counts steps, and can end the fit."""

    def __init__(self, last=np.inf):
        self.begun, self.ended, self.last = 0, 0, last

    def setup(self, estimator, context):
        self.promised = context.max_subtasks

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended >= self.last

    def teardown(self, estimator, context):
        pass


@needs_callbacks
def test_callbacks_follow_the_tiles(rng):
    recorder = Recorder()
    ls.SparsityScore().set_callbacks(recorder).fit(0.1 * rng.normal(size=(32, 4)))
    assert recorder.begun == recorder.ended == 3  # two steps and the fit
    assert recorder.promised == 2


@needs_callbacks
def test_a_callback_may_end_the_fit(rng):
    selector = ls.SparsityScore().set_callbacks(Recorder(last=1))
    with pytest.warns(ConvergenceWarning, match="16 of 32 samples.*sample 16.*callback"):
        selector.fit(rng.normal(size=(32, 4)))
    check_weights(selector.reconstruction_weights_, 32)


@needs_callbacks
def test_samples_with_no_certificate_are_reported(rng):
    selector = ls.SparsityScore(max_iter=500).set_callbacks(Recorder(last=1))
    with pytest.warns(ConvergenceWarning, match="max_iter=500 .* no gap is certified for 16 "):
        selector.fit(rng.normal(size=(32, 4)))


@pytest.mark.parametrize("max_iter", [0, -1, 1.5, "most", None])
def test_invalid_max_iter_is_refused(max_iter, rng):
    with pytest.raises(ValueError, match="'max_iter' parameter of SparsityScore must be"):
        ls.SparsityScore(max_iter=max_iter).fit(rng.normal(size=(10, 3)))


def test_first_sample_of_colon_needs_a_tolerance_of_14(load_data):
    X = scale(load_data("colon")[0])
    with pytest.raises(ValueError, match=r"error is 14\.\d+ for sample 0.*form='compensated'"):
        ls.SparsityScore(form="tolerance").fit(X)


def test_selector_refuses_the_form_that_cannot_rank(rng):
    words = r"form='equality'.*all scores are 0.*graphs.reconstruction_weights\(X, form='equality'"
    with pytest.raises(ValueError, match=words):
        ls.SparsityScore(form="equality").fit(rng.normal(size=(10, 3)))


def test_the_first_order_solver_ranks_like_the_exact_one(rng):
    X = rng.random((60, 4)) @ rng.random((4, 80)) / 4 + rng.random(80) / 5 * rng.random((60, 80))
    exact, near = (ls.SparsityScore(solver=one).fit(X) for one in ("exact", "first_order"))
    assert np.corrcoef(exact.ranking_, near.ranking_)[0, 1] > 0.99
    assert not np.array_equal(exact.scores_, near.scores_)


def test_an_unknown_solver_is_refused(rng):
    with pytest.raises(ValueError, match="'solver' parameter"):
        ls.SparsityScore(solver="newton").fit(rng.random((9, 4)))
