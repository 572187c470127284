"""Every score as the double sum of its definition: slow, simple and written independently.

Sums keep the type of X: if it is `np.longdouble`, so is every step up to the score.
"""

from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, wraps
from itertools import combinations

import numpy as np
from scipy.linalg import block_diag


def squared_distances(X):
    return ((X[:, None] - X[None, :]) ** 2).sum(axis=2)


def near(X, k, radius=None):
    """Return whether either sample of a pair is among the k nearest of the other, as a matrix."""
    n = len(X)
    D = squared_distances(X)
    if radius is not None:
        result = radius**2 >= D
        np.fill_diagonal(result, False)
        return result
    chosen = np.zeros((n, n), dtype=bool)
    for j in range(n):
        others = sorted((D[i, j], i) for i in range(n) if i != j)
        for _, i in others[:k]:
            chosen[i, j] = True
    return chosen | chosen.T


def auto_sigma(X):
    """Return sigma from the median distance of all pairs, or of positive ones if that is 0."""
    distances = squared_distances(X)[np.triu_indices(len(X), 1)]
    median = np.median(distances)
    if median == 0 and distances.any():
        median = np.median(distances[distances > 0])
    return np.sqrt(median / 2) if median > 0 else median + np.sqrt(0.5)


def gauss(X, sigma):
    """Return Gaussian weights of all pairs; weights below the range of float64 are 0."""
    G = np.exp(-squared_distances(X) / sigma / (2 * sigma))
    return np.where(G < 1e-300, 0 * G, G)


def form(f, W):
    """Return half the sum over ordered pairs of W_ij (f_i - f_j)^2."""
    return 0.5 * np.sum(W * (f[:, None] - f[None, :]) ** 2)


def laplacian_matrix(W):
    return np.diag(W.sum(axis=1)) - W


def weighted_mean_apart(f, d):
    """Return f_i minus the mean weighted by d, from differences, so that equal values give 0."""
    return ((f[:, None] - f[None, :]) * d).sum(axis=1) / d.sum()


def spread(f, d):
    """Return the sum of d_i (f_i - m)^2 around the mean m weighted by d."""
    return np.sum(d * weighted_mean_apart(f, d) ** 2)


def divide(a, b):
    if b == 0:
        return np.nan if a == 0 else np.inf if a > 0 else -np.inf
    return a / b


def per_feature(function):
    """Apply a function to every column; return NaN for constant ones."""

    def apply(X, *args, constant=np.nan, **kwargs):
        result = []
        for f in X.T:
            undefined = f.max() == f.min() and constant is not None
            result.append(constant if undefined else function(f, X, *args, **kwargs))
        return np.array(result)

    return apply


def variance(X):
    return ((X - X.mean(axis=0)) ** 2).mean(axis=0)


@per_feature
def laplacian(f, X, W):
    return divide(form(f, W), spread(f, W.sum(axis=1)))


def between_and_within(f, y):
    """Return the scatter between and within classes."""
    members = [f[y == c] for c in np.unique(y)]
    between = sum(len(v) * (v.mean() - f.mean()) ** 2 for v in members)
    return between, sum(((v - v.mean()) ** 2).sum() for v in members)


@per_feature
def fisher(f, X, y):
    return divide(*between_and_within(f, y))


def trace_ratios(X, y):
    """Return the scatters of every feature, and the best ratio for each subset size."""
    scatters = [between_and_within(f, y) for f in X.T]
    best = []
    for size in range(1, X.shape[1] + 1):
        subsets = combinations(scatters, size)
        sums = [[sum(part) for part in zip(*subset, strict=True)] for subset in subsets]
        best.append(max(float(divide(between, within)) for between, within in sums))
    return scatters, best


def best_trace_ratio(between, within, n_features):
    """Return the largest ratio over all subsets of a size; NaN if all are 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [
            between[list(subset)].sum() / within[list(subset)].sum()
            for subset in combinations(range(len(between)), n_features)
        ]
    return np.nan if np.isnan(ratios).all() else np.nanmax(ratios)


def links(y):
    """Return boolean matrices of the must-links and cannot-links that labels imply."""
    known = (y >= 0)[:, None] & (y >= 0)[None, :]
    same = y[:, None] == y[None, :]
    M = known & same
    np.fill_diagonal(M, False)
    return M, known & ~same


def links_of_pairs(n, must, cannot):
    M, C = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for a, b in must:
        M[a, b] = M[b, a] = True
    for a, b in cannot:
        C[a, b] = C[b, a] = True
    return M, C


def weighted_links(n, pairs):
    """Return matrices with the weights of must-links and cannot-links."""
    found = []
    for links, weights in ((pairs.must, pairs.must_weights), (pairs.cannot, pairs.cannot_weights)):
        W = np.zeros((n, n))
        for (a, b), weight in zip(links, weights, strict=True):
            W[a, b] = W[b, a] = weight
        found.append(W)
    return found


def groups_of_pairs(n, must, cannot):
    """Return the must-link components as labels; -1 for samples in no pair."""
    group = list(range(n))
    for _ in range(n):
        for a, b in must:
            group[a] = group[b] = min(group[a], group[b])
    touched = {sample for pair in (*must, *cannot) for sample in pair}
    return np.array([group[i] if i in touched else -1 for i in range(n)])


@per_feature
def constraint_ratio(f, X, M, C):
    return divide(form(f, M), form(f, C))


@per_feature
def constraint_difference(f, X, M, C, weight):
    return form(f, M) - weight * form(f, C)


@per_feature
def lsdf(f, X, M, C, U, gamma, k):
    N = near(X, k)
    n = len(f)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if M[i, j]:
                W[i, j] = gamma * M[i, j]
            elif N[i, j] and (U[i] or U[j]):
                W[i, j] = 1
    return divide(form(f, W), form(f, C))


@per_feature
def laplacian_constraint(f, X, M, C, sigma):
    W = gauss(X, sigma)
    with np.errstate(invalid="ignore"):
        smooth = divide(form(f, W), spread(f, W.sum(axis=1)))
        return f.dtype.type(smooth) * divide(form(f, M), form(f, C))


def _apart(f, d, C, U):
    """Sum d_i (f_i - f_j)^2 over ordered cannot-links plus d_i (f_i - m)^2 over U."""
    across = np.sum(C * d[:, None] * (f[:, None] - f[None, :]) ** 2)
    return across + np.sum(U * d * weighted_mean_apart(f, d) ** 2)


def near_or_itself(X, k):
    """Return `near` with every sample among its own k nearest."""
    return near(X, k - 1) | np.eye(len(X), dtype=bool)


@per_feature
def constrained_laplacian(f, X, M, C, U, sigma, k, variant, near=near):
    G, N = gauss(X, sigma), near(X, k)
    n = len(f)
    W = np.where(N, G, 0.0)
    if variant == "2011":
        W = degree_weights = np.where(M | N, G, 0.0)
    else:
        degree_weights = W.copy()
        for i in range(n):
            for j in range(n):
                if M[i, j] and N[i, j]:
                    W[i, j] -= G[i, j]
                elif (M[i, j] and not N[i, j]) or (C[i, j] and N[i, j]):
                    W[i, j] += G[i, j] ** 2
    return divide(2 * form(f, W), _apart(f, degree_weights.sum(axis=1), C, U))


def compensated_parts(f, X, M, C, groups, sigma, k, gamma, compensation, near=near):
    """Return the numerator of C7, and the total, between and within parts of its denominator."""
    G, N = gauss(X, sigma), near(X, k)
    n = len(f)
    W = np.zeros_like(G)
    for i in range(n):
        for j in range(n):
            if M[i, j]:
                W[i, j] = 1 if N[i, j] else compensation
            elif N[i, j]:
                W[i, j] = (1 - gamma) * G[i, j] if C[i, j] else G[i, j]
    d = W.sum(axis=1)
    total = spread(f, d)
    labelled = f[groups >= 0]
    members = [f[groups == c] for c in np.unique(groups[groups >= 0])]
    between = sum(len(v) * (v.mean() - labelled.mean()) ** 2 for v in members)
    return 2 * form(f, W), total, between, sum(len(v) * v.var() for v in members)


@per_feature
def compensated_laplacian(f, X, *args, **kwargs):
    above, total, between, within = compensated_parts(f, X, *args, **kwargs)
    denominator = total + between - within
    return divide(above, denominator) if denominator > 0 else np.nan


@per_feature
def frll(f, X, A, B, criterion):
    if criterion == "quotient":
        return divide(form(f, B), form(f, A))
    return form(f, B) - form(f, A)


def class_neighbors(X, y, k):
    """Return the nearest of the same class and of other classes, searched separately."""
    n = len(X)
    D = squared_distances(X)
    A, B = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for j in range(n):
        own = sorted((D[i, j], i) for i in range(n) if i != j and y[i] == y[j])
        other = sorted((D[i, j], i) for i in range(n) if y[i] != y[j])
        for _, i in own[:k]:
            A[i, j] = A[j, i] = True
        for _, i in other[:k]:
            B[i, j] = B[j, i] = True
    return A, B


@per_feature
def spectral(f, X, W, style):
    d = W.sum(axis=1)
    root = np.sqrt(d)
    L = np.eye(len(d)) - W / np.outer(root, root)
    h = root * f
    if not h.any():
        return np.nan
    h = h / np.linalg.norm(h)
    first = root / np.linalg.norm(root)
    if style == 1:
        return h @ L @ h
    if style == 2:
        return h @ L @ h / (1 - (h @ first) ** 2)
    # Eigenvectors of the Laplacian; the eigenvalue of the trivial direction is moved to 2.
    values, vectors = np.linalg.eigh(L + 2 * np.outer(first, first))
    return np.sum((2 - values) * (h @ vectors) ** 2)


@per_feature
def spectral_sums(f, X, W, style):
    """Compute `spectral` without eigenvectors, which lose digits if f has an offset.

    Ln is 0 on xi_1 = D^(1/2) 1, so `h' Ln h` is Q(f; W) over the squared length of D^(1/2) f, and
    the part of h orthogonal to xi_1 is D^(1/2) g.
    """
    d = W.sum(axis=1)
    change, energy, free = form(f, W), np.sum(d * f**2), spread(f, d)
    if style == 3:
        return divide(2 * free - change, energy)
    return divide(change, energy if style == 1 else free)


def relief_differences(X, discrete):
    """Return the exact differences of all pairs of samples in every feature, as fractions."""
    n, d = X.shape
    differences = np.full((n, n, d), Fraction(0), dtype=object)
    for f, column in enumerate(X.T.tolist()):
        values = [Fraction(value) for value in column]
        extent = max(values) - min(values)
        for i in range(n):
            for j in range(i):
                if values[i] != values[j]:
                    apart = Fraction(1) if discrete[f] else abs(values[i] - values[j]) / extent
                    differences[i, j, f] = differences[j, i, f] = apart
    return differences


def relieff(X, y, n_neighbors, discrete):
    """Compute ReliefF in exact arithmetic, so that ties are exact."""
    n, d = X.shape
    differences = relief_differences(X, discrete)
    distances = differences.sum(axis=2)
    prior = {c: Fraction(int((y == c).sum()), n) for c in set(y.tolist())}
    scores = np.full(d, Fraction(0), dtype=object)
    for i in range(n):
        for c in prior:
            others = [(distances[i, j], j) for j in range(n) if j != i and y[j] == c]
            near = [j for _, j in sorted(others)[:n_neighbors]]
            weight = Fraction(-1) if c == y[i] else prior[c] / (1 - prior[y[i].item()])
            for j in near:
                scores += weight * differences[i, j] / len(near) / n
    return np.array([float(score) for score in scores])


def fisher_markov(X, y, gamma):
    """Compute the three published sums in exact arithmetic."""
    n, gamma = len(y), Fraction(gamma)
    scores = []
    for column in X.T.tolist():
        f = [Fraction(value) for value in column]
        total = Fraction(0)
        for c in set(y.tolist()):
            inside = [value for value, label in zip(f, y.tolist(), strict=True) if label == c]
            total += sum(inside) ** 2 / len(inside)
        squares = sum(value**2 for value in f)
        scores.append(total / n - gamma / n * squares + (gamma - 1) / n**2 * sum(f) ** 2)
    return np.array([float(score) for score in scores])


def exact_deviation_states(f):
    """Discretize as `deviation_states` does, in exact arithmetic; also return the smallest margin.

    That is the smallest distance of a value from a cut that it does not equal, in deviations.
    """
    f = [Fraction(value) for value in f]
    mean = sum(f) / len(f)
    variance = sum((value - mean) ** 2 for value in f) / len(f)
    states, closest = [], 1.0
    for value in f:
        beyond = (value - mean) ** 2 - variance
        if beyond:
            closest = min(closest, float(abs(beyond) / variance))
        # A value equal to the upper cut is inside, one equal to the lower cut is not.
        low, high = value <= mean and beyond >= 0, value > mean and beyond > 0
        states.append(0 if low else 2 if high else 1)
    return states, closest


def quantile_states(f, n_bins=5):
    """Count the quantiles that each value reaches; a quantile between two values is their mean."""
    ascending = sorted(Fraction(value) for value in f)
    cuts = []
    for number in range(1, n_bins):
        place, rest = divmod(number * len(f), n_bins)
        cuts.append(ascending[place] if rest else (ascending[place - 1] + ascending[place]) / 2)
    return [sum(value >= cut for cut in cuts) for value in f]


def width_states(f, n_bins=5):
    """Count the bin edges that each value reaches; also return the smallest margin, in bins."""
    f = [Fraction(value) for value in f]
    low, extent = min(f), max(f) - min(f)
    if not extent:
        return [0] * len(f), 1.0
    places = [(value - low) * n_bins / extent for value in f]
    inner = [place for place in places if 0 < place < n_bins]
    closest = min((float(abs(place - round(place))) for place in inner), default=1.0)
    return [min(int(place), n_bins - 1) for place in places], closest


def deviation_states(f):
    mean = sum(f) / len(f)
    deviation = (sum((value - mean) ** 2 for value in f) / len(f)) ** 0.5
    low, high = mean - deviation, mean + deviation
    return [0 if value <= low else 2 if value > high else 1 for value in f]


# Entropies are sums of logarithms, which fractions cannot represent. With 60 digits, values that
# are exactly 0 are 0 in the first 50 digits, and equal values agree in the 40 that are compared.
DIGITS = Context(prec=60)
KNOWN, COMPARED = Decimal(10) ** -50, Decimal(10) ** -40


def with_many_digits(function):
    @wraps(function)
    def run(*arguments):
        with localcontext(DIGITS):
            return function(*arguments)

    return run


@cache
def logarithm(count):
    return DIGITS.ln(count)


@with_many_digits
def exact_entropy(*variables):
    n = len(variables[0])
    counts = Counter(zip(*variables, strict=True)).values()
    return sum(count * (logarithm(n) - logarithm(count)) for count in counts) / Decimal(n)


@with_many_digits
def exact_information(a, b):
    return (exact_entropy(a) + exact_entropy(b) - exact_entropy(a, b)).quantize(KNOWN)


@with_many_digits
def exact_uncertainty(a, b):
    entropies = exact_entropy(a) + exact_entropy(b)
    return (2 * exact_information(a, b) / (entropies or 1)).quantize(COMPARED)


def entropy(*variables):
    return float(exact_entropy(*variables))


def information(a, b):
    return float(exact_information(a, b))


def uncertainty(a, b):
    return float(exact_uncertainty(a, b))


@with_many_digits
def mrmr(columns, classes, n_chosen, scheme):
    """Return relevance, order and path; ties go to the earlier feature.

    With quotients, 0 / 0 has no value and ranks last: features without relevance and redundancy,
    and features with a single state.
    """
    relevance = [exact_information(column, classes) for column in columns]
    redundancy = [Decimal(0)] * len(columns)
    chosen, path = [], []
    for _ in range(n_chosen):
        values = {}
        for f, column in enumerate(columns):
            if f in chosen:
                continue
            if chosen:
                redundancy[f] += exact_information(column, columns[chosen[-1]])
            value = relevance[f]
            if scheme == "quotient" and len(set(column)) == 1:
                value = None
            elif chosen:
                value = _value_for_mrmr(relevance[f], redundancy[f], len(chosen), scheme)
            values[f] = value
        ranked = sorted(values, key=lambda f: _key_for_mrmr(values[f], relevance[f], f))
        chosen.append(ranked[0])
        path.append(np.nan if values[ranked[0]] is None else float(values[ranked[0]]))
    relevance = [float(value) for value in relevance]
    if scheme == "quotient":
        alone = zip(columns, relevance, strict=True)
        relevance = [np.nan if len(set(column)) == 1 else value for column, value in alone]
    return relevance, chosen + ranked[1:], path


def _value_for_mrmr(relevance, redundancy, count, scheme):
    if scheme == "difference":
        return (relevance - redundancy / count).quantize(COMPARED)
    if redundancy:
        return (relevance / (redundancy / count)).quantize(COMPARED)
    return Decimal("inf") if relevance else None


def _key_for_mrmr(value, relevance, feature):
    if value is None:
        return 1, 0, 0, feature
    return 0, -value, -relevance if value.is_infinite() else 0, feature


@with_many_digits
def fcbf(columns, classes, threshold):
    """Return uncertainty, order and the number of predominant features."""
    with_class = [exact_uncertainty(column, classes) for column in columns]
    ranked = sorted(range(len(columns)), key=lambda f: (-with_class[f], f))
    alive = [f for f in ranked if with_class[f] > threshold]
    for p in ranked:
        if p in alive:
            for q in alive[alive.index(p) + 1 :]:
                if exact_uncertainty(columns[p], columns[q]) >= with_class[q]:
                    alive.remove(q)
    rest = [f for f in ranked if f not in alive]
    return [float(value) for value in with_class], alive + rest, len(alive)


@with_many_digits
def redundancy(columns, merits, weight):
    """Return the order of all features; merits are 0 to n - 1 and decide ties."""
    merits = [Decimal(merit) / (len(merits) - 1) for merit in merits]
    weight = Decimal(weight)
    largest = [Decimal(0)] * len(columns)
    chosen = []
    while len(chosen) < len(columns):
        share = weight if chosen else Decimal(0)
        values = {
            f: ((1 - share) * merits[f] - share * largest[f]).quantize(COMPARED)
            for f in range(len(columns))
            if f not in chosen
        }
        chosen.append(min(values, key=lambda f: (-values[f], -merits[f], f)))
        largest = [
            max(before, correlation(columns[chosen[-1]], column))
            for before, column in zip(largest, columns, strict=True)
        ]
    return chosen


def correlation(a, b):
    """Return the absolute correlation with the given number of digits; 0 for a constant feature."""
    a, b = ([Fraction(v) - sum(map(Fraction, f)) / len(f) for v in f] for f in (a, b))
    common = sum(x * y for x, y in zip(a, b, strict=True)) ** 2
    lengths = sum(x * x for x in a) * sum(y * y for y in b)
    square = common / lengths if lengths else Fraction(0)
    return (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()


def similarity_criterion(X, features, sigma, target, weight):
    """Return eq. 33 or 36 of Salmi et al. (2020): the sum over all ordered pairs of samples."""
    difference = X[:, None, features].astype(float) - X[None, :, features]
    kernel = np.exp(-(difference**2).sum(axis=2) / (2 * sigma**2))
    return (weight * (kernel - target) ** 2).sum()


def similarity_search(X, sigma, target, weight, n_features):
    """Return order, path and scores of the forward search for the smallest criterion."""
    chosen, path = [], []
    remaining = list(range(X.shape[1]))
    while len(chosen) < n_features:
        values = [similarity_criterion(X, [*chosen, r], sigma, target, weight) for r in remaining]
        if not chosen:
            scores = np.array(values)
        best = int(np.argmin(values))
        path.append(values[best])
        rest = [remaining[p] for p in np.argsort(values, kind="stable") if p != best]
        chosen.append(remaining.pop(best))
    return np.array(chosen + rest), np.array(path), scores


def target_of_groups(groups):
    """Return the target similarity of each pair, and whether it is known; -1 has no group."""
    known = groups >= 0
    return groups[:, None] == groups, known[:, None] & known


def target_of_pairs(n_samples, must, cannot):
    """Return the target similarity of each pair, and whether it is known."""
    target = np.zeros((n_samples, n_samples))
    weight = np.zeros((n_samples, n_samples))
    for pairs, value in ((must, 1), (cannot, 0)):
        for i, j in pairs:
            target[i, j] = target[j, i] = value
            weight[i, j] = weight[j, i] = 1
    return target, weight


# -- LinkSelector ------------------------------------------------------------------------------


def scaled_features(X, scale):
    """Scale features to [0, 1], or counts to square roots in rows of length 1; then centre them.

    Constant features are 0. X is a longdouble, whose squares may exceed the range of float64.
    """
    X = X.astype(np.longdouble)
    low, high = X.min(axis=0), X.max(axis=0)
    varies = high > low
    share_of_zeros = (X[:, varies] == 0).sum() / max(X[:, varies].size, 1)
    are_counts = (low >= 0).all() and share_of_zeros > 0.5
    if scale == "counts" or (scale == "auto" and are_counts):
        deviation = np.sqrt(((X - X.mean(axis=0)) ** 2).mean(axis=0))
        F = np.where(varies, np.sqrt(X / np.where(varies, deviation, 1)), 0)
        length = np.sqrt((F**2).sum(axis=1, keepdims=True))
        F = F / np.where(length > 0, length, 1)
    else:
        F = np.where(varies, (X - low) / np.where(varies, high - low, 1), 0)
    return (F - F.mean(axis=0)).astype(np.float64)


def class_targets(labels, m):
    """Return class indicators / sqrt(class size), centred, with rows of mean squared norm m."""
    classes, sizes = np.unique(labels, return_counts=True)
    Z = (labels[:, None] == classes) / np.sqrt(sizes)
    Z = Z - Z.mean(axis=0)
    length = (Z**2).sum(axis=1).mean()
    return Z * np.sqrt(m / length) if len(classes) > 1 else 0 * Z


def large_groups(n, must, cannot):
    """Number the groups of eight or more linked samples that cannot-links separate; else -1."""
    group = np.arange(n)
    for a, b in must:
        group[group == group[a]] = group[b]
    apart = {(group[a], group[b]) for pair in cannot for a, b in (pair, pair[::-1])}
    large = [g for g in group if (group == g).sum() >= 8 and (g, g) not in apart]
    kept = []  # the largest first; of equal ones, the one with the first sample
    for g in sorted(dict.fromkeys(large), key=lambda g: -(group == g).sum()):
        if all((g, other) in apart for other in kept):
            kept.append(g)
    return np.where(np.isin(group, kept), group, -1) if len(kept) > 1 else np.full(n, -1)


def second_moment(F, labels, must, noise, cannot=()):
    """Return `T = K - BQ'K + BZZ'B'` with `B = KQ (Q'KQ + noise m I)^-1`; -1 is unlabelled."""
    n = len(F)
    K = F @ F.T
    m = K.trace() / n
    groups = large_groups(n, must, cannot)
    must = [(a, b) for a, b in must if groups[a] < 0]
    e, Q, Z = np.eye(n), [], []
    for codes in (labels, groups):
        for_all = class_targets(codes[codes >= 0], m) if (codes >= 0).any() else np.zeros((0, 0))
        Q += [e[i] for i in np.flatnonzero(codes >= 0)]
        Z.append(for_all)
    root = np.sqrt(min(1.0, 10 / max(len(must), 1)))  # the weights of links add up to ten at most
    Q += [root * (e[i] - e[j]) for i, j in must]
    if not Q or m == 0:
        return K
    Q, Z = np.column_stack(Q), block_diag(*Z, np.zeros((len(must), 0)))
    B = K @ Q @ np.linalg.inv(Q.T @ K @ Q + noise * m * np.eye(Q.shape[1]))
    return K - B @ Q.T @ K + B @ Z @ Z.T @ B.T


def explained(T, F, features):
    """Return `tr[T F_S (F_S'F_S + s2 I)^-1 F_S']` of some features S."""
    s2 = 0.5 * (F**2).sum(axis=0).mean()
    F_S = F[:, features]
    system = F_S.T @ F_S + s2 * np.eye(len(features))
    return np.trace(T @ F_S @ np.linalg.solve(system, F_S.T)) if s2 else 0.0


# Gains that differ by less, relative to the larger, are equal; the lower index comes first.
EQUAL_GAINS = 1e-9


def link_search(T, F, n_features, share=np.inf):
    """Add the feature that explains most, one at a time, and compute every value from scratch.

    Return the order, the path, and the margin by which rounding could not change the order. The
    remaining features follow by their gain, and constant features come last.
    """
    everything = list(range(F.shape[1]))
    total = explained(T, F, everything)
    left = [f for f in everything if F[:, f].any()]
    chosen, path, margin = [], [0.0], np.inf
    while True:
        gains = [explained(T, F, [*chosen, f]) / total - path[-1] for f in left]
        left, gains, certain = _by_gain(left, gains)
        margin = min(margin, certain, abs(path[-1] - share))
        if not left or len(chosen) == n_features or path[-1] >= share:
            break
        chosen.append(left.pop(0))
        path.append(path[-1] + gains[0])
    constant = [f for f in everything if not F[:, f].any()]
    return chosen + left + constant, path[1:], margin


def _by_gain(features, gains):
    """Order features by gain; also return the smallest margin of two gains from being tied."""
    ordered = sorted(zip(gains, features, strict=True), key=lambda pair: (-pair[0], pair[1]))
    run, keys, margin = 0, [], np.inf
    for place, (gain, feature) in enumerate(ordered):
        if place:
            apart = 1 - gain / ordered[place - 1][0]
            run += apart > EQUAL_GAINS
            margin = min(margin, abs(apart - EQUAL_GAINS))
        keys.append((run, feature, gain))
    if ordered and len(ordered) > 1 and ordered[0][0] < 1e-6:
        margin = 0.0  # the remaining gains are rounding errors
    keys.sort()
    return [key[1] for key in keys], [key[2] for key in keys], margin
