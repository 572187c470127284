"""SCGS against a generic solver, EnsembleCLS against its members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import linkselect as ls
import literal
from linkselect.forms import laplacian_product
from linkselect.graphs import Groups, cannot_graph, must_graph, nearest_edges
from linkselect.scores.ensemble import draw_bag, draw_subspaces
from linkselect.scores.scgs import largest_theta
from linkselect.supervision import from_labels, from_pairs
from test_scores import fitted


def partly_labelled(seed, n_samples, n_features, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += 2 * y
    return StandardScaler().fit_transform(X), np.where(np.arange(n_samples) % 2, y, -1)


def dense_laplacian(W):
    return np.diag(W.sum(axis=1)) - W


# -- products with a Laplacian -----------------------------------------------------------------


def test_laplacian_products_equal_the_matrix():
    X, y = partly_labelled(0, 14, 3)
    M, C = literal.links(y)
    known = from_labels(y, 14)
    values = np.random.default_rng(1).normal(size=(14, 2))
    near = nearest_edges(X, 3).reweigh(0.7)
    for graph, W in (
        (must_graph(known, 0.3), 0.3 * M),
        (cannot_graph(known), C * 1.0),
        (near, 0.7 * literal.near(X, 3)),
    ):
        assert_allclose(laplacian_product(graph, values), dense_laplacian(W) @ values, atol=1e-12)
    pairs = ls.Pairs(must=[(0, 3)], cannot=[(3, 5), (1, 2)])
    listed = from_pairs(pairs, 14)
    _, C = literal.links_of_pairs(14, pairs.must, pairs.cannot)
    found = laplacian_product(cannot_graph(listed), values)
    assert_allclose(found, dense_laplacian(C * 1.0) @ values, atol=1e-12)
    with pytest.raises(NotImplementedError, match="strength"):
        laplacian_product(Groups(known.classes, across=True, strength=np.ones(14)), values)


# -- SCGS --------------------------------------------------------------------------------------


def literal_objective(W, X, M, C, groups, near, penalty, pairs, graph, theta, smoothing=0.0):
    labelled = groups >= 0
    Y = np.eye(groups.max() + 1)[groups[labelled]]
    value = 0.5 * ((Y - X[labelled] @ W) ** 2).sum()
    value += penalty * np.sqrt((W**2).sum(axis=1) + smoothing**2).sum()
    value += graph / 2 * np.trace(W.T @ X.T @ dense_laplacian(near) @ X @ W) / len(X)
    means = []
    for links in (M, C):
        i, j = np.nonzero(np.triu(links))
        means.append((((X[i] - X[j]) @ W) ** 2).sum() / max(len(i), 1))
    return value + pairs / 2 * (means[0] - theta * means[1])


@pytest.mark.parametrize("bare_pairs", [False, True])
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
        M, C = literal.links_of_pairs(16, must, cannot)
        codes = literal.groups_of_pairs(16, must, cannot)
        groups = np.searchsorted(np.unique(codes[codes >= 0]), codes)
        groups[codes < 0] = -1
        supervision = {"pairs": ls.Pairs(must, cannot)}
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
    assert ours >= generic.fun - 2e-3
    assert (found.theta_ < 1) == (pairs == 300)


@pytest.mark.parametrize("n_features", [5, 60])
def test_theta_is_the_largest_that_keeps_the_problem_convex(n_features):
    X, y = partly_labelled(2, 20, n_features)
    M, C = (dense_laplacian(links * 1.0) / (links.sum() / 2) for links in literal.links(y))
    for weight in (0.1, 50.0, 1e4):
        attraction, repulsion = np.diag((y >= 0) * 1.0) + weight * M, weight * C
        theta = largest_theta(X, attraction.__matmul__, repulsion.__matmul__)

        def smallest_share(share, attraction=attraction, repulsion=repulsion):
            values = np.linalg.eigvalsh(X.T @ (attraction - share * repulsion) @ X)
            return values[0] / values[-1]

        assert smallest_share(theta) > -1e-10
        assert theta == 1 or smallest_share(1.01 * theta) < -1e-8


def test_repulsion_that_nothing_balances_is_left_out():
    repulsion = dense_laplacian(np.array([[0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]]))
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


def test_too_few_steps_are_reported():
    X, y = partly_labelled(5, 30, 20)
    with pytest.warns(ConvergenceWarning, match=r"stopped after .*tol=1e-10. Raise max_iter"):
        found = ls.SCGS(tol=1e-10, max_iter=1).fit(X, y)
    assert found.violation_ > 1e-10
    assert found.n_iter_ >= 1


# -- EnsembleCLS -------------------------------------------------------------------------------


def test_ensemble_is_the_mean_over_its_members():
    X, y = partly_labelled(0, 30, 6)
    found = ls.EnsembleCLS(n_estimators=7, max_features=0.4, random_state=3).fit(X, y)
    rng = np.random.RandomState(3)
    known = from_labels(y, 30)
    bags = [draw_bag(known, 0.7, 6, rng) for _ in range(7)]
    subspaces = draw_subspaces(6, 2, 7, rng)
    sums, counts = np.zeros(6), np.zeros(6)
    for bag, subspace in zip(bags, subspaces, strict=True):
        member = ls.ConstrainedLaplacianScore(variant="2014").fit(X[bag][:, subspace], y[bag])
        sums[subspace] += member.scores_
        counts[subspace] += 1
    assert_allclose(found.scores_, sums / counts, rtol=1e-12)


def test_one_member_with_everything_is_the_score_itself():
    X, y = partly_labelled(0, 30, 6)
    for given in ({"y": y}, {"pairs": ls.Pairs(must=[(0, 4)], cannot=[(1, 5)])}, {}):
        alone = ls.ConstrainedLaplacianScore(variant="2014").fit(X, **given)
        found = ls.EnsembleCLS(n_estimators=1, max_samples=1.0, max_features=1.0).fit(X, **given)
        assert_allclose(found.scores_, alone.scores_, rtol=1e-12)


def test_ensemble_repeats_itself_on_any_number_of_threads():
    X, y = partly_labelled(1, 40, 9)
    first = ls.EnsembleCLS(n_estimators=20, random_state=0, n_jobs=1).fit(X, y).scores_
    again = ls.EnsembleCLS(n_estimators=20, random_state=0, n_jobs=3).fit(X, y).scores_
    other = ls.EnsembleCLS(n_estimators=20, random_state=1).fit(X, y).scores_
    assert_array_equal(again, first)
    assert (other != first).any()


def test_bags_keep_the_supervision():
    rng = np.random.RandomState(0)
    y = np.array([0] * 10 + [1] * 3 + [2] + [-1] * 40)
    known = from_labels(y, 54)
    for _ in range(20):
        bag = draw_bag(known, 0.3, 6, rng)
        assert_array_equal(np.bincount(y[bag] + 1), [12, 3, 2, 1])
        assert len(np.unique(bag)) == len(bag)
    pairs = from_pairs(ls.Pairs(must=[(0, 20)], cannot=[(3, 7)]), 54)
    for _ in range(20):
        assert {0, 3, 7, 20} <= set(draw_bag(pairs, 0.1, 1, rng).tolist())
    assert len(draw_bag(pairs, 0.01, 30, rng)) == 30


@pytest.mark.parametrize(("n_features", "size", "n_subspaces"), [(7, 3, 5), (10, 10, 3), (5, 1, 9)])
def test_every_feature_is_drawn_and_none_much_more_often(n_features, size, n_subspaces):
    subspaces = draw_subspaces(n_features, size, n_subspaces, np.random.RandomState(0))
    assert all(len(set(subspace)) == size for subspace in map(tuple, subspaces))
    counts = np.bincount(np.concatenate(subspaces), minlength=n_features)
    assert np.ptp(counts) <= 1
    assert counts.min() >= 1


def test_few_members_take_larger_subspaces():
    X, y = partly_labelled(1, 40, 9)
    found = ls.EnsembleCLS(n_estimators=2, max_features=0.1, random_state=0).fit(X, y)
    assert np.isfinite(found.scores_).all()


def test_a_feature_constant_in_some_bags_is_averaged_over_the_others():
    X, y = partly_labelled(1, 40, 4)
    X[:, 2] = 0.1
    X[7, 2] = 0.3
    found = fitted(ls.EnsembleCLS(n_estimators=30, max_samples=0.4, random_state=0), X, y)
    assert np.isfinite(found.scores_).all()
