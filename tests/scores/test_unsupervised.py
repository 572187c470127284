"""Compare the variance, Laplacian and spectral scores with their definitions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import linkselect as ls
from tests.helpers import literal
from tests.helpers.fitting import STORAGE, agrees, fitted
from tests.helpers.problems import samples


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
    # Exactly on the sphere, rounding would decide.
    assume(np.abs(literal.squared_distances(X) - radius**2).min() > 1e-9)
    agrees(ls.LaplacianScore(radius=radius, weights="binary"), X, literal.laplacian(X, W))


def test_weights_that_nearly_underflow():
    # The first two samples are close; all others are so far apart that few weights remain.
    X = np.array([[32.0, 54, 29], [33, 54, 29], [4, 28, 21], [40, 41, 2], [11, 3, 45]])
    X = np.vstack([X, [[10.0, 53, 58], [36, 18, 18], [35, 49, 59]]])
    # The edges (0, 1) and (5, 7), with weights 0.61 and 3.9e-140, outweigh all others. The third
    # feature differs only along the second one.
    expected = 1.0 / (29**2 + 30**2)
    for store in STORAGE:
        found = ls.LaplacianScore(n_neighbors=2, sigma=1.0).fit(store(X))
        assert_allclose(found.scores_[2], expected, rtol=1e-10)
        with pytest.raises(ValueError, match=r"With sigma=0.01,.*nearest samples is 1\."):
            ls.LaplacianScore(n_neighbors=2, sigma=0.01).fit(store(X))


@given(samples(), st.sampled_from([1, 2, 3]))
def test_spectral(X, style):
    sigma = literal.auto_sigma(X)
    assume(sigma > 0)
    W = np.where(literal.near(X, 3), literal.gauss(X, sigma), 0.0)
    found = fitted(ls.SpectralScore(style=style, n_neighbors=3), X).scores_
    # The literal formula 1 - (h'xi)^2 loses all digits if a feature has a large offset.
    assert_allclose(found, literal.spectral(X, W, style), rtol=1e-7, atol=1e-9)


@given(samples())
def test_spectral_style_2_is_the_laplacian_score(X):
    assert_allclose(
        fitted(ls.SpectralScore(style=2, n_neighbors=3), X).scores_,
        fitted(ls.LaplacianScore(n_neighbors=3), X).scores_,
        rtol=1e-12,
    )
