"""Every score as the literal double sum of its definition: slow, plain, written independently."""

from collections import Counter
from fractions import Fraction
from math import fsum, log

import numpy as np


def squared_distances(X):
    n = len(X)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            D[i, j] = np.sum((X[i] - X[j]) ** 2)
    return D


def near(X, k, radius=None):
    """Return a symmetric boolean matrix: either is among the k nearest of the other."""
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
    D = squared_distances(X)
    return np.sqrt(np.median(D[np.triu_indices(len(X), 1)]) / 2)


def gauss(X, sigma):
    return np.exp(-squared_distances(X) / (2 * sigma**2))


def form(f, W):
    """Half the sum over ordered pairs of W_ij (f_i - f_j)^2."""
    n = len(f)
    return 0.5 * sum(W[i, j] * (f[i] - f[j]) ** 2 for i in range(n) for j in range(n))


def divide(a, b):
    if b == 0:
        return np.nan if a == 0 else np.inf * np.sign(a)
    return a / b


def per_feature(function):
    """Apply a function of one column to all, with NaN for a constant one."""

    def apply(X, *args, constant=np.nan, **kwargs):
        result = []
        for f in X.T:
            undefined = f.max() == f.min() and constant is not None
            result.append(constant if undefined else function(f, X, *args, **kwargs))
        return np.array(result)

    return apply


@per_feature
def laplacian(f, X, W):
    d = W.sum(axis=1)
    g = f - (f @ d) / d.sum()
    return divide(form(f, W), np.sum(d * g**2))


@per_feature
def fisher(f, X, y):
    mu = f.mean()
    between = sum((y == c).sum() * (f[y == c].mean() - mu) ** 2 for c in np.unique(y))
    within = sum((y == c).sum() * f[y == c].var() for c in np.unique(y))
    return divide(between, within)


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


def groups_of_pairs(n, must, cannot):
    """Return must-link components as labels, -1 for samples in no pair."""
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
                W[i, j] = gamma
            elif N[i, j] and (U[i] or U[j]):
                W[i, j] = 1
    return divide(form(f, W), form(f, C))


@per_feature
def laplacian_constraint(f, X, M, C, sigma):
    W = gauss(X, sigma)
    d = W.sum(axis=1)
    g = f - (f @ d) / d.sum()
    with np.errstate(invalid="ignore"):
        smooth = divide(form(f, W), np.sum(d * g**2))
        return np.float64(smooth) * divide(form(f, M), form(f, C))


def _apart(f, d, C, U):
    n = len(f)
    m = np.sum(d * f) / d.sum()
    total = sum(d[i] * (f[i] - f[j]) ** 2 for i in range(n) for j in range(n) if C[i, j])
    return total + sum(d[i] * (f[i] - m) ** 2 for i in range(n) if U[i])


def near_or_itself(X, k):
    """Count a sample among its own k nearest."""
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


@per_feature
def compensated_laplacian(f, X, M, C, groups, sigma, k, gamma, compensation, near=near):
    G, N = gauss(X, sigma), near(X, k)
    n = len(f)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if M[i, j]:
                W[i, j] = 1 if N[i, j] else compensation
            elif N[i, j]:
                W[i, j] = (1 - gamma) * G[i, j] if C[i, j] else G[i, j]
    d = W.sum(axis=1)
    total = np.sum(d * (f - np.sum(d * f) / d.sum()) ** 2)
    labelled = f[groups >= 0]
    members = [f[groups == c] for c in np.unique(groups[groups >= 0])]
    between = sum(len(v) * (v.mean() - labelled.mean()) ** 2 for v in members)
    within = sum(len(v) * v.var() for v in members)
    denominator = total + between - within
    return divide(2 * form(f, W), denominator) if denominator > 0 else np.nan


@per_feature
def frll(f, X, A, B, criterion):
    if criterion == "quotient":
        return divide(form(f, B), form(f, A))
    return form(f, B) - form(f, A)


def class_neighbors(X, y, k):
    """Return near-and-same-class and near-and-other-class, each sought separately."""
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
    # Eigenvectors of the Laplacian without the trivial direction, which is moved to eigenvalue 2.
    values, vectors = np.linalg.eigh(L + 2 * np.outer(first, first))
    return np.sum((2 - values) * (h @ vectors) ** 2)


def relieff(X, y, n_neighbors, discrete):
    """Follow the definition in exact arithmetic, so that ties are ties."""
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    extent = [max(column) - min(column) for column in zip(*rows, strict=True)]
    n, d = X.shape

    def difference(i, j, f):
        a, b = rows[i][f], rows[j][f]
        if discrete[f]:
            return Fraction(a != b)
        return abs(a - b) / extent[f] if extent[f] else Fraction(0)

    def distance(i, j):
        return sum(difference(i, j, f) for f in range(d))

    prior = {c: Fraction(int((y == c).sum()), n) for c in set(y.tolist())}
    scores = [Fraction(0)] * d
    for i in range(n):
        for c in prior:
            others = [(distance(i, j), j) for j in range(n) if j != i and y[j] == c]
            near = [j for _, j in sorted(others)[:n_neighbors]]
            weight = Fraction(-1) if c == y[i] else prior[c] / (1 - prior[y[i].item()])
            for j in near:
                for f in range(d):
                    scores[f] += weight * difference(i, j, f) / len(near) / n
    return np.array([float(score) for score in scores])


def fisher_markov(X, y, gamma):
    """Add up the three published sums in exact arithmetic."""
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


def deviation_states(f):
    mean = sum(f) / len(f)
    deviation = (sum((value - mean) ** 2 for value in f) / len(f)) ** 0.5
    low, high = mean - deviation, mean + deviation
    return [0 if value <= low else 2 if value > high else 1 for value in f]


def entropy(*variables):
    n = len(variables[0])
    counts = Counter(zip(*variables, strict=True)).values()
    return fsum(-count / n * log(count / n) for count in counts)


def information(a, b):
    n, of_a, of_b = len(a), Counter(a), Counter(b)
    both = Counter(zip(a, b, strict=True)).items()
    return fsum(count / n * log(count * n / (of_a[x] * of_b[y])) for (x, y), count in both)


def uncertainty(a, b):
    entropies = entropy(a) + entropy(b)
    return 2 * information(a, b) / entropies if entropies else 0.0


def mrmr(columns, classes, n_chosen, scheme):
    """Return relevance, order and path; values that differ by less than 1e-11 are ties."""
    relevance = [information(column, classes) for column in columns]
    chosen, path = [], []
    while len(chosen) < n_chosen:
        keys = {}
        for f, column in enumerate(columns):
            if f in chosen:
                continue
            value = relevance[f]
            if chosen:
                redundancy = sum(information(column, columns[g]) for g in chosen) / len(chosen)
                if scheme == "difference":
                    value = relevance[f] - redundancy
                elif redundancy > 1e-13:
                    value = relevance[f] / redundancy
                else:
                    value = np.inf if relevance[f] > 1e-13 else 0.0
            among_infinite = round(relevance[f], 11) if value == np.inf else 0
            keys[f] = (-round(value, 11), -among_infinite, f)
        ranked = sorted(keys, key=keys.get)
        chosen.append(ranked[0])
        path.append(-keys[ranked[0]][0])
    return relevance, chosen + ranked[1:], path


def fcbf(columns, classes, threshold):
    """Return uncertainty, order and the number of predominant features."""
    with_class = [round(uncertainty(column, classes), 11) for column in columns]
    ranked = sorted(range(len(columns)), key=lambda f: (-with_class[f], f))
    alive = [f for f in ranked if with_class[f] > threshold]
    for p in ranked:
        if p in alive:
            for q in alive[alive.index(p) + 1 :]:
                if round(uncertainty(columns[p], columns[q]), 11) >= with_class[q]:
                    alive.remove(q)
    return with_class, alive + [f for f in ranked if f not in alive], len(alive)
