"""SCGS: row-sparse regression on the classes that also takes pairs and a graph into account."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from linkselect._arrays import FloatArray
from linkselect._bibliography import cites
from linkselect._forms import laplacian_product
from linkselect._solvers.proximal import proximal_descent, row_norms, row_violations
from linkselect._supervision import Supervision
from linkselect.graphs._graph_types import Edges
from linkselect.graphs._link_graphs import cannot_graph, must_graph

# The set of features may double in each round, so that they hardly ever run out.
OUTER_ROUNDS = 100
# At the largest theta itself the quadratic part is flat in some direction, and unless the penalty
# is large the objective falls without end along it. Slightly below, there is a minimum.
CONVEX_SHARE = 0.999
# A largest theta that exceeds 1 by no more than this exceeds it by rounding.
THETA_ROUNDING = 1e-9

Form = Callable[[FloatArray], FloatArray]


class SparseRegression(NamedTuple):
    """Weights with the certificate of how good they are.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_classes)
        The row of a feature is 0 if it is not used.
    theta : float
        The share of the cannot-link term that is kept.
    penalty : float
        The coefficient of the sum of row norms.
    violation : float
        How far the weights are from the conditions of the optimum, over the value at zero
        weights: 0 is the exact optimum, 1 is no better than zero weights.
    n_iter : int
        How many proximal steps were taken in all.
    slopes : ndarray of shape (n_features,)
        The norm of each row of the gradient of all but the penalty, at these weights. If the
        penalty fell, the feature of weight 0 with the largest one would enter next.
    """

    weights: FloatArray
    theta: float
    penalty: float
    violation: float
    n_iter: int
    slopes: FloatArray


# BLAS overflows silently; what follows from that, `inf - inf` or `0 * inf`, is looked for below.
@np.errstate(invalid="ignore")
@cites("liu2016")
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
    `near`, and W_r the row of a feature, whose norm ranks it. theta is 1, or if the problem is
    not strictly convex with 1, 0.999 times the largest value with which it is convex.

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

    Raises
    ------
    FloatingPointError
        If X has values so large that their squares overflow.
    """
    labelled = np.flatnonzero(~known.unlabelled)
    targets = np.zeros((X.shape[0], int(known.classes.max()) + 1))
    targets[labelled, known.classes[labelled]] = 1.0
    # A row of zeros stands for a sample without a class; it is left out of the regression.
    linear = X.T @ targets
    largest_gradient = float(row_norms(linear).max(initial=0.0))
    _check_finite(largest_gradient, "the gradient at zero weights")
    attract = _attraction(known, near, pair_weight, graph_weight)
    repel = _mean_over_pairs(known, pair_weight, cannot=True)
    theta = 1.0
    if pair_weight > 0 and known.has_cannot:
        largest = largest_theta(X, attract, repel)
        theta = CONVEX_SHARE * largest if largest <= 1.0 + THETA_ROUNDING else 1.0

    def form(values: FloatArray) -> FloatArray:
        return attract(values) - theta * repel(values)

    penalty = sparsity * largest_gradient
    if sparsity == 0:
        weights, n_iter = _least_norm_weights(X, form, targets), 1
    else:
        weights, n_iter = _row_sparse_weights(X, form, linear, penalty, tolerance, max_iter)
    gradient = X.T @ form(X @ weights) - linear
    violation = row_violations(weights, gradient, penalty).max(initial=0.0)
    violation /= max(largest_gradient, np.finfo(float).tiny)
    _check_finite(violation, "the gradient")
    slopes = row_norms(gradient)
    return SparseRegression(weights, theta, penalty, float(violation), n_iter, slopes)


def _check_finite(values: FloatArray | float, name: str) -> None:
    if not np.isfinite(values).all():
        raise FloatingPointError(f"overflow encountered in {name}")


def _attraction(known: Supervision, near: Edges, pair_weight: float, graph_weight: float) -> Form:
    """Return the product with the form of all terms but the cannot-links."""
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
    """Find the largest theta with `X' (attract - theta repel) X` positive semidefinite.

    It is infinite if nothing repels. Both forms see X only through the span of its columns, so the
    question is asked there: in min(n_samples, n_features) dimensions, however many features there
    are.
    """
    span, _, _ = _column_span(X)
    attraction, repulsion = span.T @ attract(span), span.T @ repel(span)
    sizes, directions = eigh(attraction)
    # What is 0 up to the rounding of an eigenvalue, and below of a product with an eigenvector.
    flat = sizes <= 1e-12 * sizes[-1]
    # In a direction in which nothing attracts, nothing can make up for repulsion.
    unopposed = np.abs(repulsion @ directions[:, flat]).max(initial=0.0)
    if unopposed > 1e-10 * np.abs(repulsion).max():
        return 0.0
    if flat.all():  # neither attraction nor repulsion
        return np.inf
    whitening = directions[:, ~flat] / np.sqrt(sizes[~flat])
    strongest = np.linalg.eigvalsh(whitening.T @ repulsion @ whitening)[-1]
    return float(1.0 / strongest) if strongest > np.finfo(float).tiny else np.inf


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
    allowed = tolerance * row_norms(linear).max(initial=0.0)
    working = np.zeros(len(linear), dtype=bool)
    n_iter = 0
    for _ in range(OUTER_ROUNDS):
        before = working.copy()
        active = np.flatnonzero(weights.any(axis=1))
        gradient = X.T @ form(X[:, active] @ weights[active]) - linear
        violations = row_violations(weights, gradient, penalty)
        if violations.max(initial=0.0) <= allowed:
            break
        # From ten on the set at most doubles, so that it stays small if few features are used.
        newcomers = np.argsort(-violations, kind="stable")[: max(10, len(active))]
        working[active] = True
        working[newcomers[violations[newcomers] > 0]] = True
        if (working == before).all():  # The steps ran out; the caller sees it in the violation.
            break
        quadratic = X[:, working].T @ form(X[:, working])
        _check_finite(quadratic, "the squares of the features")
        weights[working], steps = proximal_descent(
            quadratic, linear[working], penalty, weights[working], allowed / 2, max_iter
        )
        n_iter += steps
    return weights, n_iter
