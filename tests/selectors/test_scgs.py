"""SCGS: convergence warnings, invalid input, order of features with weight 0."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import linkselect as ls
from tests.helpers.problems import partly_labelled


def test_too_few_steps_are_reported():
    X, y = partly_labelled(5, 30, 20)
    with pytest.warns(ConvergenceWarning, match=r"not converge .*tol=1e-10. Increase max_iter"):
        found = ls.SCGS(tol=1e-10, max_iter=1).fit(X, y)
    assert found.violation_ > 1e-10
    assert found.n_iter_ >= 1


@pytest.mark.parametrize("sparsity", [0.0, 0.1])
@pytest.mark.parametrize("exponent", [153.5, 153.8, 154.0, 155.0, 300.0])
def test_values_whose_squares_overflow_are_refused(sparsity, exponent):
    X = np.random.default_rng(0).normal(size=(20, 5)) * 10.0**exponent
    with pytest.raises(ValueError, match="so large that their squares overflow.*Scale the feat"):
        ls.SCGS(sparsity=sparsity).fit(X, np.arange(20) % 3 - 1)


def test_features_of_weight_0_are_ordered_by_their_gradient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = np.arange(60) % 2
    X[:, 150:160] += 1.5 * y[:, None]
    found = ls.SCGS(10, sparsity=0.8, pair_weight=0.0, graph_weight=0.0).fit(X, y)
    idle = found.order_[found.scores_[found.order_] == 0]
    assert len(idle) > 190
    slopes = np.linalg.norm(X.T @ (X @ found.coef_ - np.eye(2)[y]), axis=1)
    assert (np.diff(slopes[idle]) <= 1e-9).all()
    # By index none of them would be among the first ten features of weight 0.
    assert sum(feature in range(150, 160) for feature in found.order_[:10]) >= 7


def test_an_intercept_by_hand():
    """Check the optimality conditions for the weights and an intercept without a penalty."""
    X, y = partly_labelled(2, 40, 12)
    X = X + 3.0
    known = y >= 0
    options = {"pair_weight": 0.0, "graph_weight": 0.0, "sparsity": 0.5, "tol": 1e-9}
    found = ls.SCGS(fit_intercept=True, **options).fit(X, y)
    Y = (y[known, None] == np.unique(y[known])).astype(float)
    W = found.coef_
    residual = Y - X[known] @ W
    residual -= residual.mean(axis=0)  # the best intercept for these weights
    gradient = -X[known].T @ residual
    lengths = np.linalg.norm(W, axis=1)
    used = lengths > 0
    assert 1 < used.sum() < 12
    expected = -found.penalty_ * W[used] / lengths[used, None]
    np.testing.assert_allclose(gradient[used], expected, atol=1e-6)
    assert np.linalg.norm(gradient[~used], axis=1).max() <= found.penalty_ + 1e-6
    shifted = ls.SCGS(fit_intercept=True, **options).fit(X - 50.0, y)
    np.testing.assert_allclose(shifted.scores_, found.scores_, atol=1e-6)
