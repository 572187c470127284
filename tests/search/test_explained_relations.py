"""LinkSelector compared with related methods, each of which is a limit of its criterion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import qr, subspace_angles

import linkselect as ls
from linkselect._search import explained

every_seed = pytest.mark.parametrize("seed", range(10))


@pytest.fixture
def set_ridge(monkeypatch):
    return lambda ridge: monkeypatch.setattr(explained, "RIDGE", ridge)


@pytest.fixture
def no_ridge(set_ridge):
    set_ridge(1e-9)


def draw(seed, n_samples=30, n_features=12):
    """Return features with common directions, scaled by range and centred, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 3)
    hidden = rng.normal(size=(n_samples, 4)) + np.eye(4)[y]
    X = hidden @ rng.normal(size=(4, n_features)) + rng.normal(size=(n_samples, n_features))
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return X - X.mean(axis=0), y


def greedy(value, n_features, n_steps):
    """Select features greedily by the value of the subset."""
    chosen = []
    for _ in range(n_steps):
        rest = [feature for feature in range(n_features) if feature not in chosen]
        chosen.append(max(rest, key=lambda feature: value([*chosen, feature])))
    return chosen


def project(columns):
    basis = qr(columns, mode="economic")[0]
    return basis @ basis.T


def indicators(y):
    found = (y[:, None] == np.unique(y)).astype(float)
    return found - found.mean(axis=0)


def within_pairs(F, must):
    """Return the scatter of differences over must-links."""
    differences = np.array([F[i] - F[j] for i, j in must])
    return differences.T @ differences


@every_seed
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_without_supervision_and_ridge_it_is_greedy_column_subset_selection(seed, shape, no_ridge):
    F, _ = draw(seed, *shape)
    expected = greedy(lambda S: -np.sum((F - project(F[:, S]) @ F) ** 2), F.shape[1], 8)
    assert_array_equal(ls.LinkSelector(8).fit(F).order_[:8], expected)


@every_seed
def test_with_all_labels_little_noise_and_no_ridge_it_is_orthogonal_least_squares(seed, no_ridge):
    """The targets are class indicators, each with a length of about 1."""
    F, y = draw(seed)
    targets = indicators(y) / np.sqrt(np.bincount(y))
    left, goals, expected = F.copy(), targets.copy(), []
    for _ in range(6):
        lengths = (left**2).sum(axis=0)
        reduced = ((left.T @ goals) ** 2).sum(axis=1) / np.where(lengths > 1e-12, lengths, np.inf)
        expected.append(int(np.argmax(reduced)))
        chosen = left[:, expected[-1]] / np.sqrt(lengths[expected[-1]])
        left = left - np.outer(chosen, chosen @ left)
        goals = goals - np.outer(chosen, chosen @ goals)
    assert_array_equal(ls.LinkSelector(6, noise=1e-7).fit(F, y).order_[:6], expected)


@every_seed
def test_in_that_limit_it_sums_squared_canonical_correlations(seed, no_ridge):
    """As in fastcan, only the span of the scaled indicators matters, not their lengths."""
    F, y = draw(seed)

    def correlations(S):
        return np.sum(np.cos(subspace_angles(F[:, S], indicators(y)[:, 1:])) ** 2)

    fitted = ls.LinkSelector(6, noise=1e-7).fit(F, y)
    expected = greedy(correlations, F.shape[1], 6)
    assert_array_equal(fitted.order_[:6], expected)
    path = [correlations(expected[:step]) for step in range(1, 7)]
    assert_allclose(fitted.path_, np.array(path) / correlations(range(F.shape[1])), rtol=1e-4)


@every_seed
def test_must_links_without_noise_are_relevant_component_analysis(seed):
    """Its metric is the inverse covariance within pairs; here, T is its matrix over samples."""
    F, y = draw(seed, 60, 5)
    must = ls.Pairs.from_labels(y, n_must=30, n_cannot=0, random_state=seed).must
    # Each of the two samples of a pair is half a difference away from their mean.
    inside = within_pairs(F, must) / (4 * len(must))
    Q = np.zeros((len(must), len(F)))
    for row, (i, j) in zip(Q, must, strict=True):
        row[[i, j]] = 1.0, -1.0
    K, variance = F @ F.T, 1e-6
    moment = explained.condition(K, Q @ K, Q @ K @ Q.T, np.zeros((len(must), 0)), variance)
    expected = F @ np.linalg.inv(inside) @ F.T / (4 * len(must))
    assert_allclose(moment / variance, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@every_seed
def test_with_a_large_ridge_it_is_kernel_alignment(seed, set_ridge):
    """Unlike kernel-target alignment, it is not divided by the norm of the kernel."""
    set_ridge(1e7)
    F, y = draw(seed)
    pairs = ls.Pairs.from_labels(y, n_must=8, n_cannot=0, random_state=seed)
    variance = 0.03 * np.mean(np.sum(F**2, axis=1))
    inner = np.linalg.inv(np.eye(F.shape[1]) + within_pairs(F, pairs.must) / variance)
    moment = F @ inner @ F.T
    fitted = ls.LinkSelector(6).fit(F, pairs=pairs)
    alignment = [np.sum(moment * (F[:, [feature]] @ F[:, [feature]].T)) for feature in range(12)]
    assert_array_equal(fitted.order_[:6], np.argsort(alignment)[::-1][:6])
    assert_allclose(fitted.scores_, np.array(alignment) / np.sum(alignment), rtol=1e-5)
    assert_allclose(fitted.path_, np.cumsum(np.sort(fitted.scores_)[::-1])[:6], rtol=1e-5)


def test_errors_of_random_sums_shrink_with_the_square_root_of_their_number():
    F = np.random.default_rng(0).normal(size=(2000, 40))
    lengths = np.sqrt((F**2).sum(axis=0))
    for n_sums in (100, 400):
        sums = explained._random_sums(2000, n_sums).T @ F
        error = (sums.T @ sums - F.T @ F) / np.outer(lengths, lengths)
        error = error[np.triu_indices(40, 1)]
        assert np.sqrt(np.mean(error**2)) == pytest.approx(n_sums**-0.5, rel=0.1)
        assert abs(np.mean(error)) < 0.2 * n_sums**-0.5
