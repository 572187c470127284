"""References for the definition of every search, used by `comparisons.py`."""

import warnings
from itertools import pairwise

import numpy as np
from sklearn.model_selection import check_cv
from tests.helpers import literal
from tests.helpers.references import (
    NEAR_TIE,
    TOLERANCE,
    MismatchError,
    NoAnswerError,
    Reference,
    RoundingDecidesError,
    check_neighbors,
    exactly,
    fisher,
    fisher_scores,
    largest_error,
    need,
    number,
    variance,
    wide,
)

import linkselect as ls


def follow(fitted, value, columns, scale=1.0, direction=1):
    """Check that every step of a greedy search is optimal.

    `value` takes the selected features and a candidate. If two candidates are equal up to rounding,
    both are accepted; if their columns are equal, the one with the lower index must be selected.
    """
    order, path = fitted.order_.tolist(), fitted.path_
    d = len(columns)
    if sorted(order) != list(range(d)):
        raise MismatchError(f"order {order} is no permutation")
    error = 0.0
    remaining, values = list(range(d)), {}
    for place, reached in enumerate(path):
        chosen, feature = order[:place], order[place]
        values = {r: direction * value(chosen, r) for r in remaining}
        error = max(
            error,
            float((values[feature] - min(values.values())) / scale),
            float(abs(direction * reached - values[feature]) / scale),
        )
        if error > TOLERANCE:
            raise MismatchError(f"step {place} chose {feature} of {values}, path {path}")
        twins = [r for r in remaining if np.array_equal(columns[r], columns[feature])]
        if feature != min(twins):
            raise MismatchError(f"step {place} chose {feature} before its twin {min(twins)}")
        remaining.remove(feature)
    rest = order[len(path) :]
    for one, other in pairwise(rest):
        if values[one] > values[other] + TOLERANCE * scale:
            raise MismatchError(f"the rest {rest} does not follow {values}")
    return error


def similarity(problem, known, selector):
    X = wide(problem)
    n, d = X.shape
    if selector.mode == "supervised":
        need(known, "must", "cannot")
        target, counts = known.M, known.M | known.C
    else:
        prototypes = np.flatnonzero(~known.U)
        if len(np.unique(known.groups[prototypes])) < 2:
            raise NoAnswerError
        others = np.flatnonzero(known.U)
        check_neighbors(X, 1, others, prototypes)
        groups = known.groups.copy()
        D = literal.squared_distances(X)
        for i in others:
            groups[i] = known.groups[prototypes[D[i, prototypes].argmin()]]
        target, counts = groups[:, None] == groups[None, :], np.ones((n, n), dtype=bool)
    scale = float(counts.sum())
    squared = [(f[:, None] - f[None, :]) ** 2 for f in X.T]

    def error_of(fitted):
        sigma = np.longdouble(fitted.sigma_)
        error = check_width(X, target, counts, selector, sigma)
        exponents = [D / sigma / sigma / 2 for D in squared]

        def value(chosen, candidate):
            exponent = sum((exponents[f] for f in chosen), exponents[candidate])
            return np.sum((np.exp(-exponent) - target)[counts] ** 2)

        alone = [value([], r) for r in range(d)]
        error = max(error, largest_error(fitted.scores_, alone, np.full(d, scale)))
        error = max(error, follow(fitted, value, X.T, scale))
        if selector.n_features_to_select == "auto":
            check_minimum(fitted, value, scale)
        return error

    return Reference(error_of)


def check_width(X, target, counts, selector, sigma):
    if selector.sigma == "auto":
        return largest_error([sigma], [literal.auto_sigma(X)])
    if selector.sigma != "target":
        return largest_error([sigma], [selector.sigma])
    D = literal.squared_distances(X)
    off = counts & ~np.eye(len(X), dtype=bool)
    must, cannot = D[off & target], D[off & ~target]

    def mismatch(width):
        apart = np.mean((1 - np.exp(-must / width / width / 2)) ** 2) if len(must) else 0
        return apart + (np.mean(np.exp(-cannot / width / width)) if len(cannot) else 0)

    if not (must.any() or cannot.any()):
        return largest_error([sigma], [1.0])
    positive = D[off & (D > 0)]
    # Widths that are tried before the best one is refined, because there may be two minima.
    widths = np.geomspace(np.sqrt(positive.min()) / 4, np.sqrt(positive.max()) * 4, 64)
    least = min(mismatch(width) for width in widths)
    # If the minimum is at an end of the interval, the refinement ends within 1e-6 of it.
    if mismatch(sigma) > least + 1e-6:
        raise MismatchError(f"sigma={sigma} has mismatch {mismatch(sigma)} instead of {least}")
    return 0.0


def check_minimum(fitted, value, scale):
    """Check that no further step is lower than the end of the path."""
    if fitted.n_features_ != fitted.path_.argmin() + 1:
        raise MismatchError(f"{fitted.n_features_} features on {fitted.path_}")
    chosen = fitted.order_[: len(fitted.path_)].tolist()
    remaining = [r for r in range(len(fitted.order_)) if r not in chosen]
    while remaining:
        values = [value(chosen, r) for r in remaining]
        if min(values) < fitted.path_.min() - TOLERANCE * scale:
            raise MismatchError(f"{chosen} and one more reach {min(values)}, below {fitted.path_}")
        chosen.append(remaining.pop(int(np.argmin(values))))


def nearest_neighbor(problem, known, selector):
    rows = np.flatnonzero(~known.U)
    y = known.groups[rows]
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) < 2:
        raise NoAnswerError
    X = wide(problem)[rows]
    everything = np.arange(len(rows))
    if selector.cv == "loo":
        splits = [(np.delete(everything, i), np.array([i])) for i in everything]
    else:
        if counts.max() < selector.cv:
            raise NoAnswerError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            splits = list(check_cv(selector.cv, y, classifier=True).split(X, y))
    squared = [(f[:, None] - f[None, :]) ** 2 for f in X.T]
    in_float64 = [D.astype(np.float64) for D in squared]

    def accuracy(chosen, candidate):
        features = [*chosen, candidate]
        D = sum(squared[f] for f in features)
        D64 = sum(in_float64[f] for f in features)
        hits = []
        for train, test in splits:
            for i in test:
                if len(train) > 1:
                    check_nearest(D[i, train], D64[i, train], X[np.ix_(train, features)])
            nearest = train[D[np.ix_(test, train)].argmin(axis=1)]
            hits.append((y[nearest] == y[test]).mean())
        return np.mean(hits) if selector.cv != "loo" else np.sum(hits) / len(hits)

    def error_of(fitted):
        alone = [accuracy([], r) for r in range(X.shape[1])]
        error = largest_error(fitted.scores_, alone, np.ones(len(alone)))
        return max(error, follow(fitted, accuracy, X.T, 1.0, -1))

    return Reference(error_of)


def check_nearest(distances, in_float64, rows):
    """Discard the problem if rounding decides which sample is the nearest."""
    least = distances.min()
    near = distances <= least * (1 + NEAR_TIE)
    if near.sum() > 1:
        twins = (rows[near] == rows[near][0]).all()
        tied = (distances[near] == least).all() and (in_float64[near] == distances[near]).all()
        if not twins and not tied:
            raise RoundingDecidesError


def states(problem, how):
    columns = problem.X.T.tolist()
    if how is None:
        return columns
    if how == "quantile":
        return [literal.quantile_states(f) for f in columns]
    cut = {"deviation": literal.exact_deviation_states, "uniform": literal.width_states}[how]
    found, closest = zip(*(cut(f) for f in columns), strict=True)
    if min(closest) < 1e-12:
        raise RoundingDecidesError
    return list(found)


def mrmr(problem, known, selector):
    columns = states(problem, selector.discretize)
    d = len(columns)
    n_chosen = d if selector.n_features_to_select == 1.0 else max(1, d // 2)
    found = literal.mrmr(columns, known.y.tolist(), n_chosen, selector.scheme)
    relevance, order, path = found
    varies = problem.X.max(axis=0) > problem.X.min(axis=0)
    relevance = np.where(varies & np.isnan(relevance), 0, relevance)

    def error_of(fitted):
        error = largest_error(fitted.scores_, relevance, np.ones(d))
        if fitted.order_.tolist() != order:
            raise MismatchError(f"order {fitted.order_} instead of {order}")
        return max(error, largest_error(fitted.path_, path, np.maximum(np.abs(path), 1)))

    return Reference(error_of)


def fcbf(problem, known, selector):
    columns = states(problem, selector.discretize)
    expected, order, n_predominant = literal.fcbf(columns, known.y.tolist(), selector.threshold)

    def error_of(fitted):
        if fitted.order_.tolist() != order:
            raise MismatchError(f"order {fitted.order_} instead of {order}")
        if fitted.n_features_ != max(1, n_predominant):
            raise MismatchError(f"{fitted.n_features_} features instead of {n_predominant}")
        return largest_error(fitted.scores_, expected, np.ones(len(expected)))

    return Reference(error_of)


def trace_ratio(problem, known, selector):
    X = problem.X
    varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    constant = np.setdiff1d(np.arange(X.shape[1]), varying).tolist()

    def error_of(fitted):
        error = largest_error(fitted.scores_, *fisher_scores(X, known.y))
        if fitted.order_[len(varying) :].tolist() != constant:
            raise MismatchError(f"order {fitted.order_} does not end with the constants {constant}")
        if not len(varying):
            return error
        parts, best = literal.trace_ratios(exactly(X)[:, varying], known.y)
        best += best[-1:] * len(constant)
        m = fitted.n_features_
        n_sizes = X.shape[1] if selector.n_features_to_select == "auto" else m
        # As for a single feature, a ratio of 0 is exact up to the rounding of the class means.
        scale = np.maximum(np.abs(best), 1e-20)
        error = max(error, largest_error(fitted.path_, best[:n_sizes], scale[:n_sizes]))
        error = max(error, largest_error([fitted.ratio_], [best[m - 1]], [scale[m - 1]]))
        of_feature = dict(zip(varying.tolist(), parts, strict=True))
        chosen = [of_feature[f] for f in fitted.order_[:m].tolist() if f in of_feature]
        reached = literal.divide(*(sum(part) for part in zip(*chosen, strict=True)))
        return max(error, largest_error([number(reached)], [best[m - 1]], [scale[m - 1]]))

    return Reference(error_of)


def link_selector(problem, known, selector):
    X = problem.X
    d = X.shape[1]
    if selector.scale == "counts" and (X < 0).any():
        raise NoAnswerError
    labels = np.full(len(X), -1) if known.y is None else known.y
    pairs = known.arguments.get("pairs", ls.Pairs())
    # Links between two labelled samples repeat the labels.
    must = [(a, b) for a, b in pairs.must if min(labels[a], labels[b]) < 0]
    F = literal.scaled_features(X, selector.scale)
    varies = F.any(axis=0)

    def error_of(fitted):
        if not varies.any():
            return largest_error(fitted.scores_, np.full(d, np.nan))
        T = literal.second_moment(F, labels, must, selector.noise, pairs.cannot)
        is_auto = selector.n_features_to_select == "auto"
        n_features = min(d, 300) if is_auto else fitted.n_features_
        found = literal.link_search(T, F, n_features, 0.9 if is_auto else np.inf)
        order, path, margin = found
        total = literal.explained(T, F, list(range(d)))
        alone = [literal.explained(T, F, [f]) / total if varies[f] else np.nan for f in range(d)]
        error = largest_error(fitted.scores_, alone, np.ones(d))
        if margin < 1e-10:
            raise RoundingDecidesError
        if fitted.order_.tolist() != order:
            raise MismatchError(f"order {fitted.order_} instead of {order}")
        if is_auto and fitted.n_features_ != len(path):
            raise MismatchError(f"{fitted.n_features_} features instead of {len(path)}")
        return max(error, largest_error(fitted.path_, path, np.ones(len(path))))

    return Reference(error_of)


# The selectors that are combined in the case above.
INNER = {ls.FisherScore: fisher, ls.VarianceScore: variance}


def redundancy(problem, known, selector):
    X = wide(problem)
    d = X.shape[1]
    centred = X - X.mean(axis=0)
    varies = X.max(axis=0) > X.min(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    unit = np.where(varies, centred / np.where(varies, length, 1), 0)
    inner = INNER[type(selector.estimator)](problem, known, selector.estimator)

    def error_of(fitted):
        error = inner.error_of(fitted.estimator_)
        merit = np.empty(d)
        merit[fitted.estimator_.order_] = np.linspace(1, 0, d) if d > 1 else 1.0

        def value(chosen, candidate):
            if not chosen:
                return merit[candidate]
            largest = max(abs(unit[:, candidate] @ unit[:, f]) for f in chosen)
            return (1 - selector.weight) * merit[candidate] - selector.weight * largest

        # Equal columns are ordered by merit, which the estimator orders by index.
        return max(error, follow(fitted, value, X.T, 1.0, -1))

    return Reference(error_of, inner.may_refuse)
