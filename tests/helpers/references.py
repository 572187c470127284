"""References for the definition of every score, used by `comparisons.py`.

A reference takes a problem, its supervision and a selector, and returns how to compare the fitted
selector with sums in `np.longdouble`, or with exact fractions where ties decide.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from tests.helpers import literal

from linkselect import _supervision as supervision
from linkselect._resampling import draw_bag, draw_subspaces

# Tolerance relative to the scale of a score: the score itself, or the terms that cancel in it.
TOLERANCE = 1e-9
# The order of two distances closer than this may depend on rounding.
NEAR_TIE = 1e-12
# A graph whose weights are all smaller may be refused, as a graph without weights must be.
FAINT = 1e-100
# Smaller values count as 0, because float64 loses their weights on the way.
VANISHED = 1e-250


class RoundingDecidesError(Exception):
    """The expected result depends on the rounding of two nearly equal values."""


class NoAnswerError(Exception):
    """The definition has no answer, and the selector must raise an error."""


class MismatchError(AssertionError):
    """The result of the selector differs from its definition."""


class Known(NamedTuple):
    """Supervision for a selector, and the same as the sets of the definitions."""

    arguments: dict
    M: np.ndarray
    C: np.ndarray
    U: np.ndarray
    groups: np.ndarray
    y: np.ndarray | None


class Reference(NamedTuple):
    """The expected result: `error_of` returns the largest error of a fitted selector."""

    error_of: Callable
    may_refuse: bool = False


def wide(problem):
    """Return the samples in longdouble minus the first one, which changes no difference."""
    X = problem.X.astype(np.longdouble)
    return X - X[0]


def exactly(X):
    """Return the samples as fractions."""
    return np.array([[Fraction(value) for value in row] for row in X.tolist()], dtype=object)


def largest_error(found, expected, scale=None):
    """Return the largest error relative to its scale; NaN and infinite values must be equal."""
    found, expected = np.asarray(found, np.longdouble), np.asarray(expected, np.longdouble)
    scale = np.abs(expected) if scale is None else np.asarray(scale, np.longdouble)
    if found.shape != expected.shape:
        raise MismatchError(f"{found.shape} values instead of {expected.shape}")
    largest = 0.0
    for place, (value, right, unit) in enumerate(zip(found, expected, scale, strict=True)):
        if np.isinf(unit):  # the terms cancel: the sign of the score is undetermined
            continue
        if np.isnan(right) or np.isinf(right):
            same = np.isnan(value) if np.isnan(right) else value == right
            if not same:
                raise MismatchError(f"value {place} is {value:.17g} instead of {right:.17g}")
            continue
        off = abs(value - right)
        if off == 0 or (abs(right) < VANISHED and abs(value) < VANISHED):
            continue
        error = off / unit if unit else np.longdouble(np.inf)
        if not error <= TOLERANCE:
            raise MismatchError(
                f"value {place} is {value:.17g} instead of {right:.17g}, error {error:.3g}"
            )
        largest = max(largest, float(error))
    return largest


def scores(expected, scale=None, may_refuse=False):
    """Return the reference for a selector whose order follows its scores."""

    def error_of(fitted):
        error = largest_error(fitted.scores_, expected, scale)
        values = fitted.scores_ if fitted.greater_is_better else -fitted.scores_
        values = np.where(np.isnan(values), -np.inf, values)[fitted.order_]
        last = np.isnan(fitted.scores_[fitted.order_])
        if (np.diff(values) > 0).any() or (np.diff(last.astype(int)) < 0).any():
            raise MismatchError(f"order {fitted.order_} does not follow the scores")
        return error

    return Reference(error_of, may_refuse)


def check_neighbors(X, k, queries=None, pool=None):
    """Discard the problem if rounding decides which samples are among the k nearest."""
    D = literal.squared_distances(X)
    D64 = literal.squared_distances(X.astype(np.float64))
    everything = np.arange(len(X))
    for query in everything if queries is None else queries:
        others = np.array([i for i in (everything if pool is None else pool) if i != query])
        if len(others) > k:
            check_cut(D[query, others], D64[query, others], X[others], k)


def check_cut(distances, in_float64, rows, k):
    """Discard the problem if there are near ties, or ties that float64 may not detect."""
    inside, outside = np.sort(distances)[k - 1 : k + 1]
    if inside == outside:
        tied = distances == inside
        twins = (rows[tied] == rows[tied][0]).all()
        # If float64 represents the sums exactly, the order of summation does not matter.
        if not twins and (in_float64[tied] != distances[tied]).any():
            raise RoundingDecidesError
    elif outside - inside <= NEAR_TIE * outside:
        raise RoundingDecidesError


def width(X, selector):
    if selector.sigma == "auto":
        return literal.auto_sigma(X)
    return X.dtype.type(selector.sigma)


def gauss(X, sigma):
    """Return Gaussian weights; discard the problem if one is near the lower limit of float64."""
    G = literal.gauss(X, sigma)
    if ((G > 0) & (G < 1e-290)).any():
        raise RoundingDecidesError
    return G


def refuse_faint(weights):
    """Raise an error for a graph without weights; return whether a selector may refuse it."""
    if not weights.any():
        raise NoAnswerError
    return bool(weights.max() < FAINT)


# -- unsupervised scores ----------------------------------------------------------------------


def variance(problem, known, selector):
    return scores(literal.variance(wide(problem)))


def neighbor_graph(X, selector):
    """Return the weights, and whether they are so small that a selector may refuse them."""
    if selector.radius is None:
        check_neighbors(X, selector.n_neighbors)
        N = literal.near(X, selector.n_neighbors)
    else:
        N = literal.near(X, None, selector.radius)
        D = literal.squared_distances(X)
        if (np.abs(D - selector.radius**2) <= NEAR_TIE * selector.radius**2).any():
            raise RoundingDecidesError
    if not N.any():
        raise NoAnswerError
    if selector.weights == "binary":
        return N.astype(X.dtype), False
    W = np.where(N, gauss(X, width(X, selector)), 0)
    return W, refuse_faint(W)


def laplacian(problem, known, selector):
    X = wide(problem)
    W, may_refuse = neighbor_graph(X, selector)
    return scores(literal.laplacian(X, W), may_refuse=may_refuse)


def spectral(problem, known, selector):
    W, may_refuse = neighbor_graph(wide(problem), selector)
    X = problem.X.astype(np.longdouble)
    value = literal.spectral_sums(X, W, selector.style)
    scale = np.abs(value)
    if selector.style == 3:
        # Twice the spread minus the change.
        scale = scale + 2 * np.abs(literal.spectral_sums(X, W, 1))
    return scores(value, scale, may_refuse)


def sparsity(problem, known, selector):
    """Check that the weights are optimal, and that the scores follow from them."""
    X = wide(problem)

    def error_of(fitted):
        S = fitted.reconstruction_weights_.toarray()
        if np.diag(S).any() or np.abs(S.sum(axis=1) - 1).max() > 1e-9:
            raise MismatchError("a row of weights does not sum to 1 without the sample itself")
        if selector.graph == "l1" and selector.form == "compensated" and len(X) < 20:
            check_optimum(X.astype(np.float64), S)
        # The sums are 1 only up to rounding, so the features must have no offset.
        centred = X - X.mean(axis=0)
        deviation = np.sqrt((centred**2).mean(axis=0))
        residual = centred - S @ centred
        # An error below 1e-9 standard deviations counts as 0.
        unsure = np.abs(np.abs(residual) - 1e-9 * deviation) < 1e-11 * deviation
        residual = np.where(np.abs(residual) <= 1e-9 * deviation, 0, residual)
        above, below = (residual**2).sum(axis=0), deviation**2
        constant = X.max(axis=0) == X.min(axis=0)
        expected = np.where(constant, np.nan, above / np.where(constant, 1, below))
        noise = 1e-15 * np.abs(S) @ np.abs(centred)
        scale = np.abs(expected) + (np.abs(residual) * noise).sum(axis=0) / below / TOLERANCE
        scale = np.where(unsure.any(axis=0), np.inf, scale)
        return largest_error(fitted.scores_, expected, scale)

    return Reference(error_of)


def check_optimum(X, S):
    """Compare the objective of every sample with that of the published linear program (eq. 8)."""
    size = np.abs(X).max()
    if not 1e-2 < size < 1e3:
        return  # the tolerances of the linear program are absolute
    n, d = X.shape
    for i in range(n):
        others = np.delete(X - X[i], i, axis=0)
        equations = np.vstack([others.T, np.ones(n - 1)])
        identity = np.vstack([np.eye(d), np.zeros(d)])
        equations = np.hstack([equations, -equations, identity, -identity])
        goal = np.append(np.zeros(d), 1.0)
        solution = linprog(np.ones(equations.shape[1]), A_eq=equations, b_eq=goal)
        objective = np.abs(S[i]).sum() + np.abs(X[i] - S[i] @ X).sum()
        if abs(objective - solution.fun) > 1e-6 * solution.fun:
            raise MismatchError(f"sample {i}: objective {objective} instead of {solution.fun}")


# -- scores from labels ------------------------------------------------------------------------


def scatters(X, y):
    """Return the exact scatter of every feature between and within classes."""
    return [literal.between_and_within(f, y) for f in exactly(X).T]


def number(value):
    """Round a fraction to float64."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def fisher_scores(X, y):
    """Return the scores and their scales.

    Class means have an error of 1e-16 standard deviations, and scores are squares of their
    differences. If the means are nearly equal, the scale of the error follows from that.
    """
    values, scale = [], []
    for between, within in scatters(X, y):
        value = number(literal.divide(between, within))
        total = number(literal.divide(between + within, within))
        values.append(value)
        unit = np.abs(value) + 1e-6 * np.sqrt(np.abs(value) * total) + 1e-20 * total
        scale.append(unit if np.isfinite(unit) else 1.0)
    return values, scale


def fisher(problem, known, selector):
    return scores(*fisher_scores(problem.X, known.y))


def fisher_markov(problem, known, selector):
    n, gamma = len(known.y), Fraction(selector.gamma)
    parts = scatters(problem.X, known.y)
    scale = [(b + abs(gamma) * (b + w)) / n for b, w in parts]
    exact = [(b - gamma * (b + w)) / n for b, w in parts]
    return scores([number(value) for value in exact], [number(value) for value in scale])


def frll(problem, known, selector):
    X, y, k = wide(problem), known.y, selector.n_neighbors
    if selector.neighbors == "overall":
        check_neighbors(X, k)
        N, same = literal.near(X, k), y[:, None] == y[None, :]
        A, B = N & same, N & ~same
    else:
        for label in np.unique(y):
            own, others = np.flatnonzero(y == label), np.flatnonzero(y != label)
            check_neighbors(X, k, own, own)
            check_neighbors(X, k, own, others)
        A, B = literal.class_neighbors(X, y, k)
    if selector.criterion == "quotient":
        return scores(literal.frll(X, A, B, "quotient"))
    scale = [literal.form(f, A) + literal.form(f, B) for f in X.T]
    return scores(literal.frll(X, A, B, "difference", constant=None), scale)


def relieff(problem, known, selector):
    d = problem.X.shape[1]
    discrete = np.broadcast_to(bool(selector.discrete), d)
    distances = literal.relief_differences(problem.X, discrete).sum(axis=2)
    for i, label in product(range(len(distances)), np.unique(known.y)):
        others = (known.y == label) & (np.arange(len(distances)) != i)
        near = sorted(distances[i, others])[selector.n_neighbors - 1 : selector.n_neighbors + 1]
        # The selector would treat such close values as a tie, although they are not.
        if len(near) == 2 and 0 < near[1] - near[0] < 1e-10:
            raise RoundingDecidesError
    expected = literal.relieff(problem.X, known.y, selector.n_neighbors, discrete)
    # Differences are in units of the feature's range.
    return scores(expected, np.ones(d))


# -- scores from pairs -------------------------------------------------------------------------


def need(known, *what):
    if ("must" in what and not known.M.any()) or ("cannot" in what and not known.C.any()):
        raise NoAnswerError
    if "any" in what and known.U.all():
        raise NoAnswerError


def constraint(problem, known, selector):
    X = wide(problem)
    if selector.criterion == "ratio":
        need(known, "must", "cannot")
        return scores(literal.constraint_ratio(X, known.M, known.C))
    need(known, "any")
    weight = selector.weight
    expected = literal.constraint_difference(X, known.M, known.C, weight, constant=None)
    scale = literal.constraint_difference(X, known.M, known.C, -weight, constant=None)
    return scores(expected, scale)


def lsdf(problem, known, selector):
    X = wide(problem)
    need(known, "cannot")
    check_neighbors(X, selector.n_neighbors)
    expected = literal.lsdf(X, known.M, known.C, known.U, selector.gamma, selector.n_neighbors)
    return scores(expected)


def laplacian_constraint(problem, known, selector):
    X = wide(problem)
    need(known, "must", "cannot")
    sigma = width(X, selector)
    G = gauss(X, sigma)
    may_refuse = refuse_faint(np.where(np.eye(len(X)), 0, G))
    return scores(literal.laplacian_constraint(X, known.M, known.C, sigma), may_refuse=may_refuse)


def near_weights(X, selector):
    """Return sigma, and whether a selector may refuse the Gaussian weights of the neighbours."""
    check_neighbors(X, selector.n_neighbors)
    sigma = width(X, selector)
    return sigma, refuse_faint(np.where(literal.near(X, selector.n_neighbors), gauss(X, sigma), 0))


def constrained_laplacian(problem, known, selector):
    X = wide(problem)
    sigma, may_refuse = near_weights(X, selector)
    expected = literal.constrained_laplacian(
        X, known.M, known.C, known.U, sigma, selector.n_neighbors, selector.variant
    )
    return scores(expected, may_refuse=may_refuse)


def compensated_laplacian(problem, known, selector):
    X = wide(problem)
    need(known, "any")
    sigma, may_refuse = near_weights(X, selector)
    options = (sigma, selector.n_neighbors, selector.gamma, selector.compensation)
    expected = literal.compensated_laplacian(X, known.M, known.C, known.groups, *options)
    scale = []
    for f, value in zip(X.T, expected, strict=True):
        parts = literal.compensated_parts(f, X, known.M, known.C, known.groups, *options)
        _, total, between, within = parts
        most = total + between + within
        left = abs(total + between - within) / most if most else 1.0
        # A small difference of large terms may be pure rounding error, with either sign.
        scale.append(np.inf if left < 1e-6 else abs(value) / left)
    return scores(expected, scale, may_refuse)


def ensemble(problem, known, selector):
    """Average the literal score over the bags and subspaces that the selector draws."""
    X = wide(problem)
    n, d = X.shape
    if known.y is not None:
        told = supervision.from_labels(known.y, n)
    elif known.arguments:
        told = supervision.from_pairs(known.arguments["pairs"], n)
    else:
        told = supervision.nothing(n)
    rng = np.random.RandomState(selector.random_state)
    k, n_members = selector.n_neighbors, selector.n_estimators
    bags = [draw_bag(told, selector.max_samples, k + 1, rng) for _ in range(n_members)]
    size = max(1, int(selector.max_features * d + 1e-9), -(-d // n_members))
    found = [[] for _ in range(d)]
    may_refuse = False
    for bag, features in zip(bags, draw_subspaces(d, size, n_members, rng), strict=True):
        some = X[np.ix_(bag, features)]
        M, C = known.M[np.ix_(bag, bag)], known.C[np.ix_(bag, bag)]
        sigma, faint = near_weights(some, selector)
        may_refuse |= faint
        values = literal.constrained_laplacian(some, M, C, known.U[bag], sigma, k, "2014")
        for feature, value in zip(features, values, strict=True):
            if not np.isnan(value):
                found[feature].append(value)
    return scores([np.mean(v) if v else np.nan for v in found], may_refuse=may_refuse)


def scgs(problem, known, selector):
    """Check the optimality conditions, written out with dense matrices."""
    need(known, "any")
    X = problem.X
    check_neighbors(wide(problem), selector.n_neighbors)
    N = literal.near(wide(problem), selector.n_neighbors).astype(float)

    def form(W):
        return X.T @ (np.diag(W.sum(axis=1)) - W) @ X

    def error_of(fitted):
        labelled = ~known.U
        classes = np.unique(known.groups[labelled])
        Y = (known.groups[:, None] == classes).astype(float)
        linear = X.T @ Y
        attract = X[labelled].T @ X[labelled] + selector.graph_weight * form(N) / len(X)
        if known.M.any():
            attract += selector.pair_weight * form(known.M * 1.0) / (known.M.sum() / 2)
        repel = np.zeros_like(attract)
        if known.C.any():
            repel = selector.pair_weight * form(known.C * 1.0) / (known.C.sum() / 2)
        theta, penalty, W = fitted.theta_, fitted.penalty_, fitted.coef_
        size = np.linalg.norm(attract, 2) or 1.0
        if np.linalg.eigvalsh(attract - theta * repel)[0] < -1e-9 * size:
            raise MismatchError(f"theta={theta} is not convex")
        norms = np.linalg.norm(linear, axis=1)
        if abs(penalty - selector.sparsity * norms.max()) > TOLERANCE * norms.max():
            raise MismatchError(f"penalty={penalty} of {norms.max()}")
        gradient = (attract - theta * repel) @ W - linear
        lengths = np.linalg.norm(W, axis=1)
        balance = gradient + penalty * W / np.where(lengths > 0, lengths, 1)[:, None]
        violation = np.where(
            lengths > 0,
            np.linalg.norm(balance, axis=1),
            np.maximum(np.linalg.norm(gradient, axis=1) - penalty, 0),
        ).max()
        allowed = selector.tol * norms.max()
        # A selector that reports that it has not converged is not checked.
        rounding = 1e-9 * size * np.abs(W).max()
        if violation > 1.01 * allowed + rounding and fitted.violation_ <= selector.tol:
            raise MismatchError(
                f"violation {violation / norms.max():.3g}, said {fitted.violation_:.3g}"
            )
        constant = X.max(axis=0) == X.min(axis=0)
        idle = [f for f in fitted.order_ if fitted.scores_[f] == 0]
        steepness = np.linalg.norm(gradient, axis=1)
        slack = rounding + 1e-9 * norms.max()
        for i, one in enumerate(idle):
            for other in idle[i + 1 :]:
                same = (X[:, one] == X[:, other]).all()
                if steepness[one] < steepness[other] - slack or (same and one > other):
                    raise MismatchError(f"feature {one} of weight 0 comes before {other}")
        return largest_error(fitted.scores_, np.where(constant, np.nan, lengths))

    return Reference(error_of)
