"""SCGS: row-sparse regression on the classes that also honours pairs and a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from linkselect.arrays import FloatArray
from linkselect.forms import laplacian_product
from linkselect.graphs.kinds import Edges
from linkselect.graphs.links import cannot_graph, must_graph
from linkselect.supervision import Supervision

__all__ = ["SparseRegression", "scgs"]

OUTER_ROUNDS = 100
# At the largest theta itself the quadratic part is flat in some direction, and unless the penalty
# is large the objective falls without end along it. A hair below, there is a minimum.
CONVEX_SHARE = 0.999

Form = Callable[[FloatArray], FloatArray]


class SparseRegression(NamedTuple):
    """Weights with the certificate of how good they are.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_classes)
        The row of a feature is 0 where it is not used.
    theta : float
        The share of the cannot-link term that was kept.
    penalty : float
        The coefficient of the sum of row norms.
    violation : float
        How far the weights are from the conditions of the optimum, over the value at zero
        weights: 0 is the exact optimum, 1 is no better than zero weights.
    n_iter : int
        How many proximal steps were taken in all.
    """

    weights: FloatArray
    theta: float
    penalty: float
    violation: float
    n_iter: int


def scgs(
    X: FloatArray,
    known: Supervision,
    near: Edges,
    sparsity: float,
    pair_weight: float,
    graph_weight: float,
    tolerance: float = 1e-4,
    max_iter: int = 20_000,
) -> SparseRegression:
    """Fit one-hot classes by few features, must-links together and cannot-links apart.

    Minimises over W `1/2 |Y - X_l W|^2 + penalty * sum_r |W_r| + (graph_weight/2) tr(W'X'LXW) / n
    + (pair_weight/2) [sum_must |W'(x_i - x_j)|^2 / |must| - theta sum_cannot |W'(x_i - x_j)|^2 /
    |cannot|]`, where X_l are the samples with a class, Y their one-hot classes, L the Laplacian of
    `near`, and W_r the row of a feature, whose norm ranks it. theta is 1, or where that is not
    convex, 0.999 times the largest value that is.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Dense, float64. There is no intercept.
    known : Supervision
        Classes and pairs.
    near : Edges
        The neighbour graph with the weights it is meant to have.
    sparsity : float
        The penalty as a share of the smallest one for which all weights are 0; 0 for none.
    pair_weight, graph_weight : float
        The coefficients of the other two terms, not negative; 0 switches a term off.
    tolerance : float, default=1e-4
        The violation at which to stop.
    max_iter : int, default=20000
        How many proximal steps to take at most on each working set.

    Returns
    -------
    SparseRegression
    """
    labelled = np.flatnonzero(~known.unlabelled)
    targets = np.zeros((X.shape[0], int(known.classes.max()) + 1))
    targets[labelled, known.classes[labelled]] = 1.0
    # A row of zeros stands for a sample without a class; it is left out of the regression.
    linear = X.T @ targets
    attract = _attraction(known, near, pair_weight, graph_weight)
    repel = _mean_over_pairs(known, pair_weight, cannot=True)
    theta = 1.0
    if pair_weight > 0 and known.has_cannot:
        largest = largest_theta(X, attract, repel)
        theta = CONVEX_SHARE * largest if largest < 1 else 1.0

    def form(values: FloatArray) -> FloatArray:
        return attract(values) - theta * repel(values)

    largest_gradient = float(_row_norms(linear).max(initial=0.0))
    penalty = sparsity * largest_gradient
    if sparsity == 0:
        weights, n_iter = _least_norm_weights(X, form, targets), 1
    else:
        weights, n_iter = _row_sparse_weights(X, form, linear, penalty, tolerance, max_iter)
    gradient = X.T @ form(X @ weights) - linear
    violation = _row_violations(weights, gradient, penalty).max(initial=0.0)
    violation /= max(largest_gradient, np.finfo(float).tiny)
    return SparseRegression(weights, theta, penalty, float(violation), n_iter)


def _attraction(known: Supervision, near: Edges, pair_weight: float, graph_weight: float) -> Form:
    has_class = (~known.unlabelled).astype(np.float64)[:, None]
    together = _mean_over_pairs(known, pair_weight, cannot=False)
    smooth = near.reweigh(near.weights * graph_weight / near.n_samples)

    def attract(values: FloatArray) -> FloatArray:
        total = has_class * values + together(values)
        return total + laplacian_product(smooth, values) if graph_weight else total

    return attract


def _mean_over_pairs(known: Supervision, weight: float, cannot: bool) -> Form:
    """Return the product with the form `v -> weight * mean of (v_i - v_j)^2` over pairs."""
    graph = cannot_graph(known) if cannot else must_graph(known)
    n_pairs = graph.degrees.sum() / 2.0
    if weight == 0 or n_pairs == 0:
        return np.zeros_like
    return lambda values: weight / n_pairs * laplacian_product(graph, values)


def largest_theta(X: FloatArray, attract: Form, repel: Form) -> float:
    """Find the largest theta up to 1 with `X' (attract - theta repel) X` positive semidefinite.

    Both forms see X only through the span of its columns, so the question is asked there: in
    min(n_samples, n_features) dimensions, however many features there are.
    """
    span, _, _ = _column_span(X)
    attraction, repulsion = span.T @ attract(span), span.T @ repel(span)
    sizes, directions = eigh(attraction)
    flat = sizes <= 1e-12 * sizes[-1]
    # Where nothing attracts, nothing can make up for repulsion.
    unopposed = np.abs(repulsion @ directions[:, flat]).max(initial=0.0)
    if unopposed > 1e-10 * np.abs(repulsion).max():
        return 0.0
    whitening = directions[:, ~flat] / np.sqrt(sizes[~flat])
    strongest = np.linalg.eigvalsh(whitening.T @ repulsion @ whitening)[-1]
    return float(1.0 / max(strongest, 1.0))


def _column_span(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular vectors and values of X without what is 0 up to rounding."""
    left, sizes, right = svd(X, full_matrices=False)
    kept = sizes > sizes[0] * max(X.shape) * np.finfo(np.float64).eps
    kept[0] = True
    return left[:, kept], sizes[kept], right[kept]


def _least_norm_weights(X: FloatArray, form: Form, targets: FloatArray) -> FloatArray:
    """Solve the problem without a penalty; of many solutions the one with the least norm."""
    span, sizes, right = _column_span(X)
    fitted = np.linalg.pinv(span.T @ form(span), hermitian=True) @ (span.T @ targets)
    return right.T @ (fitted / np.where(sizes > 0, sizes, 1.0)[:, None])


def _row_sparse_weights(
    X: FloatArray, form: Form, linear: FloatArray, penalty: float, tolerance: float, max_iter: int
) -> tuple[FloatArray, int]:
    """Minimise `1/2 tr(W'X' form XW) - tr(linear'W) + penalty * sum_r |W_r|`.

    Solved on a growing set of features: most rows are 0 at the optimum, so the matrix `X' form X`
    is only ever made for few features, and all others are merely checked.
    """
    weights = np.zeros(linear.shape)
    allowed = tolerance * _row_norms(linear).max(initial=0.0)
    working = np.zeros(len(linear), dtype=bool)
    n_iter = 0
    for _ in range(OUTER_ROUNDS):
        before = working.copy()
        active = np.flatnonzero(weights.any(axis=1))
        gradient = X.T @ form(X[:, active] @ weights[active]) - linear
        violations = _row_violations(weights, gradient, penalty)
        if violations.max(initial=0.0) <= allowed:
            break
        newcomers = np.argsort(-violations, kind="stable")[: max(10, len(active))]
        working[active] = True
        working[newcomers[violations[newcomers] > 0]] = True
        if (working == before).all():  # The steps ran out; the caller sees it in the violation.
            break
        quadratic = X[:, working].T @ form(X[:, working])
        weights[working], steps = _proximal_descent(
            quadratic, linear[working], penalty, weights[working], allowed / 2, max_iter
        )
        n_iter += steps
    return weights, n_iter


def _proximal_descent(
    quadratic: FloatArray,
    linear: FloatArray,
    penalty: float,
    weights: FloatArray,
    allowed: float,
    max_iter: int,
) -> tuple[FloatArray, int]:
    """Minimise by accelerated proximal steps.

    Momentum starts afresh whenever it points uphill (O'Donoghue & Candes 2015), which makes the
    steps converge linearly without knowing how strongly convex the problem is.
    """
    step = 1.0 / max(np.linalg.eigvalsh(quadratic)[-1], np.finfo(float).tiny)
    ahead, pace = weights, 1.0
    for number in range(1, max_iter + 1):
        following = _shrunken_rows(ahead - step * (quadratic @ ahead - linear), step * penalty)
        if np.vdot(ahead - following, following - weights) > 0:
            pace = 1.0
        next_pace = (1.0 + np.sqrt(1.0 + 4.0 * pace**2)) / 2.0
        ahead = following + (pace - 1.0) / next_pace * (following - weights)
        weights, pace = following, next_pace
        if number % 10 == 1:
            gradient = quadratic @ weights - linear
            if _row_violations(weights, gradient, penalty).max() <= allowed:
                break
    return weights, number


def _shrunken_rows(weights: FloatArray, threshold: float) -> FloatArray:
    """Shorten every row by the threshold, to 0 where it is shorter than that."""
    norms = _row_norms(weights)
    left = np.maximum(1.0 - threshold / np.where(norms > 0, norms, np.inf), 0.0)
    return weights * left[:, None]


def _row_violations(weights: FloatArray, gradient: FloatArray, penalty: float) -> FloatArray:
    """Measure how far each row is from its condition for the optimum.

    A row of zeros needs a gradient no longer than the penalty; any other row a gradient of that
    length straight against it.
    """
    norms = _row_norms(weights)
    balance = gradient + penalty * weights / np.where(norms > 0, norms, 1.0)[:, None]
    idle = np.maximum(_row_norms(gradient) - penalty, 0.0)
    return np.where(norms > 0, _row_norms(balance), idle)


def _row_norms(weights: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("rc,rc->r", weights, weights))
