"""SCGS compared with a generic solver, and on data for which terms vanish, cancel or overflow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import linkselect as ls
from linkselect._search import sparse_regression
from linkselect._search.sparse_regression import largest_theta, scgs
from linkselect._supervision import from_labels
from linkselect.graphs import nearest_edges
from tests.helpers import literal
from tests.helpers.problems import partly_labelled


def literal_objective(W, X, M, C, groups, near, penalty, pairs, graph, theta, smoothing=0.0):
    labelled = groups >= 0
    Y = np.eye(groups.max() + 1)[groups[labelled]]
    value = 0.5 * ((Y - X[labelled] @ W) ** 2).sum()
    value += penalty * np.sqrt((W**2).sum(axis=1) + smoothing**2).sum()
    value += graph / 2 * np.trace(W.T @ X.T @ literal.laplacian_matrix(near) @ X @ W) / len(X)
    means = []
    for links in (M, C):
        i, j = np.nonzero(np.triu(links))
        apart = (((X[i] - X[j]) @ W) ** 2).sum(axis=1)
        means.append(np.average(apart, weights=links[i, j]) if len(i) else 0.0)
    return value + pairs / 2 * (means[0] - theta * means[1])


@pytest.mark.parametrize("bare_pairs", [False, True, "weighted"])
@pytest.mark.parametrize(
    ("sparsity", "pairs", "graph"),
    [(0.2, 1, 1), (0.2, 0, 1), (0.2, 1, 0), (0.05, 0, 0), (0, 1, 1), (0.1, 300, 1)],
)
def test_scgs_equals_a_generic_solver(sparsity, pairs, graph, bare_pairs):
    X, y = partly_labelled(0, 16, 4)
    M, C = literal.links(y)
    groups, supervision = y, {"y": y}
    if bare_pairs:
        must, cannot = [(1, 3), (3, 5), (7, 9)], [(1, 7), (5, 11), (9, 13)]
        weights = {"must_weights": [2, 1, 0.1], "cannot_weights": [1, 5, 0.5]}
        given = ls.Pairs(must, cannot, **weights if bare_pairs == "weighted" else {})
        M, C = literal.weighted_links(16, given)
        codes = literal.groups_of_pairs(16, must, cannot)
        groups = np.searchsorted(np.unique(codes[codes >= 0]), codes)
        groups[codes < 0] = -1
        supervision = {"pairs": given}
    selector = ls.SCGS(sparsity=sparsity, pair_weight=pairs, graph_weight=graph, tol=1e-9)
    found = selector.fit(X, **supervision)
    assert found.violation_ <= 1e-9
    assert_allclose(found.scores_, np.linalg.norm(found.coef_, axis=1))
    near = literal.near(X, 5) * 1.0
    n_groups = groups.max() + 1

    def objective(w, smoothing=0.0):
        W = w.reshape(4, n_groups)
        known = (X, M, C, groups, near)
        return literal_objective(W, *known, found.penalty_, pairs, graph, found.theta_, smoothing)

    start = np.random.default_rng(1).normal(size=4 * n_groups)
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    generic = minimize(objective, start, args=(1e-5,), method="L-BFGS-B", options=options)
    ours = objective(found.coef_.ravel())
    assert ours <= objective(generic.x) + 1e-9
    # The generic solver stops slightly above the optimum.
    assert ours >= generic.fun - 2e-5 * max(100.0, abs(generic.fun))
    assert (found.theta_ < 1) == (pairs == 300)


@pytest.mark.parametrize("n_features", [5, 60])
def test_theta_is_the_largest_that_keeps_the_problem_convex(n_features):
    X, y = partly_labelled(2, 20, n_features)
    M, C = (literal.laplacian_matrix(links * 1.0) / (links.sum() / 2) for links in literal.links(y))
    for weight in (0.1, 50.0, 1e4):
        attraction, repulsion = np.diag((y >= 0) * 1.0) + weight * M, weight * C
        theta = largest_theta(X, attraction.__matmul__, repulsion.__matmul__)

        def smallest_share(share, attraction=attraction, repulsion=repulsion):
            values = np.linalg.eigvalsh(X.T @ (attraction - share * repulsion) @ X)
            return values[0] / values[-1]

        assert smallest_share(theta) > -1e-10
        assert smallest_share(1.01 * theta) < -1e-8


def test_repulsion_without_attraction_is_left_out():
    repulsion = literal.laplacian_matrix(np.array([[0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]]))
    attraction = np.diag([1.0, 0, 0])
    assert largest_theta(np.eye(3), attraction.__matmul__, repulsion.__matmul__) == 0


def test_many_more_features_than_samples():
    X, y = partly_labelled(3, 40, 3000)
    found = ls.SCGS(sparsity=0.3, tol=1e-6).fit(X, y)
    assert found.violation_ <= 1e-6
    assert found.scores_[0] > 0
    assert 0 < (found.scores_ > 0).sum() < 100
    assert (ls.SCGS(sparsity=0.999).fit(X, y).scores_ > 0).sum() < 4
    assert ls.SCGS(sparsity=0.0).fit(X, y).violation_ < 1e-9


# -- terms that vanish, cancel or overflow -----------------------------------------------------


@pytest.mark.parametrize("sparsity", [0.0, 0.1])
def test_without_attraction_or_repulsion_all_weights_are_zero(sparsity):
    # Both labelled samples are 0, and neighbours are equal, so every term is 0 for any weights.
    X = np.array([[0.0], [1], [1], [0], [0], [0], [1], [0], [1], [0]])
    y = np.full(10, -1)
    y[[0, 7]] = 0, 1
    found = ls.SCGS(n_neighbors=2, sparsity=sparsity).fit(X, y)
    assert_array_equal(found.coef_, 0.0)
    assert_array_equal(found.scores_, 0.0)
    assert found.theta_ == 1
    assert found.violation_ == 0


def test_largest_theta_is_infinite_without_repulsion():
    nothing = np.zeros((3, 3)).__matmul__
    assert largest_theta(np.eye(3), np.eye(3).__matmul__, nothing) == np.inf
    assert largest_theta(np.eye(3), nothing, nothing) == np.inf


@pytest.mark.parametrize("sparsity", [0.1, 0.5])
def test_theta_stays_below_one_if_the_problem_is_flat_at_one(sparsity):
    # One feature with attraction 1 and repulsion 1: at theta = 1 only the linear terms remain.
    X = np.array([[0.0], [1], [1], [1], [0], [1], [0]])
    found = ls.SCGS(n_neighbors=2, sparsity=sparsity).fit(X, pairs=ls.Pairs(cannot=[(0, 5)]))
    assert found.theta_ == 0.999
    # The minimum of 1/2 (1 - theta) w^2 - w + sparsity |w|.
    assert_allclose(found.scores_, (1 - sparsity) / (1 - found.theta_))
    assert found.violation_ <= 1e-9


def test_an_overflow_inside_BLAS_is_reported():
    X = np.full((6, 2), 1e154) * [[1], [-1], [1], [-1], [1], [-1]]
    known, near = from_labels(np.array([0, 1, 0, 1, -1, -1]), 6), nearest_edges(X / 1e154, 2)
    with pytest.raises(FloatingPointError, match="overflow encountered in the gradient"):
        scgs(X, known, near, 0.1, 1.0, 1.0)


def test_large_values_without_overflow_give_the_same_ranking():
    X, y = partly_labelled(4, 20, 5)
    expected = ls.SCGS().fit(X, y)
    found = ls.SCGS().fit(X * 2.0**500, y)
    assert_allclose(found.scores_ * 2.0**500, expected.scores_, rtol=1e-12)


@pytest.mark.parametrize(
    ("largest", "theta"),
    [
        (0.5, 0.999 * 0.5),
        (1.0, 0.999),
        (1.0 + 0.9e-9, 0.999 * (1.0 + 0.9e-9)),
        (1.0 + 1.1e-9, 1.0),
        (7.0, 1.0),
        (np.inf, 1.0),
    ],
)
def test_theta_is_one_unless_the_problem_is_flat_or_not_convex(largest, theta, monkeypatch):
    """If the largest theta exceeds 1 by at most 1e-9, the excess is a rounding error."""
    monkeypatch.setattr(sparse_regression, "largest_theta", lambda *_: largest)
    X, y = partly_labelled(4, 20, 5)
    found = scgs(X, from_labels(y, 20), nearest_edges(X, 3), 0.5, 1.0, 1.0)
    assert found.theta == theta


def test_the_largest_theta_by_hand():
    """It is the smallest ratio of attraction to repulsion over all directions."""
    attraction, repulsion = np.diag([2.0, 3.0, 4.0]), np.diag([1.0, 6.0, 0.0])
    found = largest_theta(np.eye(3), attraction.__matmul__, repulsion.__matmul__)
    assert found == pytest.approx(0.5)
    # There is no attraction along the last axis: with repulsion there, no theta is feasible;
    # without it, the axis does not matter.
    flat = np.diag([2.0, 3.0, 0.0])
    assert largest_theta(np.eye(3), flat.__matmul__, repulsion.__matmul__) == pytest.approx(0.5)
    repulsion[2, 2] = 1e-3
    assert largest_theta(np.eye(3), flat.__matmul__, repulsion.__matmul__) == 0.0
    # Linearly dependent columns do not change the span.
    X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert largest_theta(X, flat.__matmul__, repulsion.__matmul__) == pytest.approx(0.5)


def test_too_few_steps_increase_the_violation():
    X, y = partly_labelled(4, 30, 12)
    known, near = from_labels(y, 30), nearest_edges(X, 3)
    done = scgs(X, known, near, 0.05, 1.0, 1.0)
    short = scgs(X, known, near, 0.05, 1.0, 1.0, max_iter=2)
    assert done.violation <= 1e-4 < short.violation < 1
    assert short.n_iter < done.n_iter
    exact = scgs(X, known, near, 0.05, 1.0, 1.0, tolerance=1e-10)
    assert exact.violation <= 1e-10
    assert exact.n_iter > done.n_iter
    assert done.penalty == 0.05 * np.linalg.norm(X.T @ one_hot(y), axis=1).max()


def one_hot(y):
    return (y[:, None] == np.arange(y.max() + 1)).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_theta_in_any_direction(seed):
    """Flat directions that are not axes are flat only up to rounding."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    attraction = turn @ np.diag([2.0, 3.0, 4.0, 0.0]) @ turn.T
    repulsion = turn @ np.diag([1.0, 6.0, 0.0, 0.0]) @ turn.T
    found = largest_theta(np.eye(4), attraction.__matmul__, repulsion.__matmul__)
    assert found == pytest.approx(0.5)
    repulsion += 1e-3 * np.outer(turn[:, 3], turn[:, 3])
    assert largest_theta(np.eye(4), attraction.__matmul__, repulsion.__matmul__) == 0.0
