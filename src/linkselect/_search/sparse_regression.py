"""SCGS: row-sparse regression of class indicators, regularised by pairs and a neighbour graph."""

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

# The working set may double in each round, so this limit is hardly ever reached.
OUTER_ROUNDS = 100
# At the largest theta, the quadratic part is flat in some direction, and the objective is unbounded
# along it unless the penalty is large. Slightly below, there is a minimum.
CONVEX_SHARE = 0.999
# If the largest theta exceeds 1 by at most this, it equals 1 up to rounding.
THETA_ROUNDING = 1e-9

Form = Callable[[FloatArray], FloatArray]


class SparseRegression(NamedTuple):
    """Regression weights, and a measure of their optimality.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_classes)
        The regression weights. The row of an unused feature is 0.
    theta : float
        The factor of the cannot-link term.
    penalty : float
        The coefficient of the sum of row norms.
    violation : float
        The violation of the optimality conditions, relative to the violation at zero weights. A
        value of 0 indicates the exact optimum, and 1 indicates weights no better than zero.
    n_iter : int
        The total number of proximal steps.
    slopes : ndarray of shape (n_features,)
        The row norms of the gradient of the smooth part at these weights. As the penalty decreases,
        the unused feature with the largest value would be the next to receive a nonzero weight.
    """

    weights: FloatArray
    theta: float
    penalty: float
    violation: float
    n_iter: int
    slopes: FloatArray


# BLAS overflows silently; the resulting NaN from `inf - inf` or `0 * inf` is detected below.
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
    """Fit a row-sparse regression of one-hot classes with pair and graph regularisation.

    The objective, which is minimised over W, is `1/2 |Y - X_l W|^2 + penalty * sum_r |W_r| +
    (graph_weight/2) tr(W'X'LXW) / n + (pair_weight/2) [sum_must |W'(x_i - x_j)|^2 / |must| - theta
    sum_cannot |W'(x_i - x_j)|^2 / |cannot|]`, where X_l are the samples with a class, Y their
    one-hot classes, L the Laplacian of `near`, and W_r the row of feature r in W; the norm of this
    row ranks the feature. The factor theta is 1 if the problem is then strictly convex; otherwise
    it is 0.999 times the largest value for which the problem is convex.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples, dense and in float64. No intercept is fitted.
    known : Supervision
        The classes, must-links and cannot-links.
    near : Edges
        The weighted nearest-neighbour graph.
    sparsity : float
        The penalty as a fraction of the smallest penalty for which all weights are 0.
    pair_weight, graph_weight : float
        The coefficients of the pair and graph terms, at least 0.
    tolerance : float, default=1e-4
        The iteration stops when the violation does not exceed this value.
    max_iter : int, default=20000
        Maximum number of proximal steps for each working set.

    Returns
    -------
    fit : SparseRegression

    Raises
    ------
    FloatingPointError
        Raised if the squares of the values in X overflow.
    """
    labelled = np.flatnonzero(~known.unlabelled)
    targets = np.zeros((X.shape[0], int(known.classes.max()) + 1))
    targets[labelled, known.classes[labelled]] = 1.0
    # Samples without a class have a row of zeros here and are excluded from the regression below.
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
    """Return a function that applies the quadratic form of all terms except cannot-links."""
    has_class = (~known.unlabelled).astype(np.float64)[:, None]
    together = _mean_over_pairs(known, pair_weight, cannot=False)
    smooth = near.reweigh(near.weights * graph_weight / near.n_samples)

    def attract(values: FloatArray) -> FloatArray:
        total = has_class * values + together(values)
        return total + laplacian_product(smooth, values) if graph_weight else total

    return attract


def _mean_over_pairs(known: Supervision, weight: float, cannot: bool) -> Form:
    """Return a function that applies the form `weight * mean of (v_i - v_j)^2` over pairs."""
    graph = cannot_graph(known) if cannot else must_graph(known)
    n_pairs = graph.degrees.sum() / 2.0
    if weight == 0 or n_pairs == 0:
        return np.zeros_like
    return lambda values: weight / n_pairs * laplacian_product(graph, values)


def largest_theta(X: FloatArray, attract: Form, repel: Form) -> float:
    """Return the largest theta for which `X' (attract - theta repel) X` is positive semidefinite.

    The result is infinite without cannot-links. Both forms depend only on the column space of X, so
    the dimension of the eigenvalue problem is at most min(n_samples, n_features).
    """
    span, _, _ = _column_span(X)
    attraction, repulsion = span.T @ attract(span), span.T @ repel(span)
    sizes, directions = eigh(attraction)
    # Zero up to the rounding of an eigenvalue; below, of a product with an eigenvector.
    flat = sizes <= 1e-12 * sizes[-1]
    # In a direction without attraction, nothing can compensate for repulsion.
    unopposed = np.abs(repulsion @ directions[:, flat]).max(initial=0.0)
    if unopposed > 1e-10 * np.abs(repulsion).max():
        return 0.0
    if flat.all():  # neither attraction nor repulsion
        return np.inf
    whitening = directions[:, ~flat] / np.sqrt(sizes[~flat])
    strongest = np.linalg.eigvalsh(whitening.T @ repulsion @ whitening)[-1]
    return float(1.0 / strongest) if strongest > np.finfo(float).tiny else np.inf


def _column_span(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular vectors and values of X, except values that are 0 up to rounding."""
    left, sizes, right = svd(X, full_matrices=False)
    kept = sizes > sizes[0] * max(X.shape) * np.finfo(np.float64).eps
    kept[0] = True
    return left[:, kept], sizes[kept], right[kept]


def _least_norm_weights(X: FloatArray, form: Form, targets: FloatArray) -> FloatArray:
    """Return the minimum-norm solution of the unpenalised problem."""
    span, sizes, right = _column_span(X)
    fitted = np.linalg.pinv(span.T @ form(span), hermitian=True) @ (span.T @ targets)
    return right.T @ (fitted / np.where(sizes > 0, sizes, 1.0)[:, None])


def _row_sparse_weights(
    X: FloatArray, form: Form, linear: FloatArray, penalty: float, tolerance: float, max_iter: int
) -> tuple[FloatArray, int]:
    """Minimise `1/2 tr(W'X' form XW) - tr(linear'W) + penalty * sum_r |W_r|`.

    Most rows are 0 at the optimum, so the matrix `X' form X` is computed only for a growing working
    set of features. For all other features, the optimality conditions are checked.
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
        # Above ten features the working set at most doubles, so it stays small.
        newcomers = np.argsort(-violations, kind="stable")[: max(10, len(active))]
        working[active] = True
        working[newcomers[violations[newcomers] > 0]] = True
        if (working == before).all():  # `max_iter` was reached; the violation shows it.
            break
        quadratic = X[:, working].T @ form(X[:, working])
        _check_finite(quadratic, "the squares of the features")
        weights[working], steps = proximal_descent(
            quadratic, linear[working], penalty, weights[working], allowed / 2, max_iter
        )
        n_iter += steps
    return weights, n_iter
