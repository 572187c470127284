"""Plain implementations in NumPy, or with scikit-learn's Lasso."""

import time
from itertools import combinations

import numpy as np
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_limits


def dense_laplacian_score(X, n_neighbors=5):
    """Compute the Laplacian Score through the full n x n weight matrix."""
    squares = np.einsum("ij,ij->i", X, X)
    distances = squares[:, None] - 2.0 * (X @ X.T) + squares
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, n_neighbors, axis=1)[:, :n_neighbors]
    near = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(near, nearest, True, axis=1)
    near |= near.T
    width = np.median(distances[:2000, :2000][np.isfinite(distances[:2000, :2000])])
    W = np.where(near, np.exp(-distances / width), 0.0)
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    centred = X - degrees @ X / degrees.sum()
    smooth = np.einsum("ij,ij->j", centred, L @ centred)
    return smooth / np.einsum("i,ij,ij->j", degrees, centred, centred)


def similarity_step(X, kernel, target, candidates, sigma=1.0):
    """Evaluate the similarity score of each candidate by a kernel update over all pairs."""
    values = []
    for r in candidates:
        alone = np.exp(-((X[:, None, r] - X[None, :, r]) ** 2) / (2 * sigma**2))
        values.append(((kernel * alone - target) ** 2).sum())
    return values


def best_of_all_subsets(between, within, n_features):
    """Find the largest trace ratio by trying every subset."""
    subsets = np.array(list(combinations(range(len(between)), n_features)))
    return (between[subsets].sum(axis=1) / within[subsets].sum(axis=1)).max()


def lasso_weights(X, samples, optimum, patience, goal=1e-6):
    """Reconstruct samples by Lasso; return the accuracy and seconds of each.

    The unknowns are the weights s and the compensations t, with columns [X' I; heavy 0] and target
    (x_i, heavy). A heavy last row makes the weights sum to about 1, and a small penalty makes the
    equations nearly exact. Then the weights are divided by their sum. The best of several heavy
    rows and penalties counts for each sample, with its own time.
    """
    n_samples, n_features = X.shape
    best = dict.fromkeys(samples, (np.inf, np.inf))
    for heavy in (10.0, 100.0):
        table = np.zeros((n_features + 1, n_samples + n_features))
        table[:-1, :n_samples] = X.T
        table[:-1, n_samples:] = np.eye(n_features)
        table[-1, :n_samples] = heavy
        gram = table.T @ table
        for i in samples:
            kept = np.arange(table.shape[1]) != i
            others = np.delete(X, i, axis=0)
            columns = np.asfortranarray(table[:, kept])
            products = np.ascontiguousarray(gram[np.ix_(kept, kept)])
            target = np.append(X[i], heavy)
            for penalty in (1e-3, 1e-5):
                for max_iter in 10 ** np.arange(2, 7):
                    alpha = penalty / len(target)
                    options = {"precompute": products, "fit_intercept": False, "copy_X": False}
                    model = Lasso(alpha, max_iter=int(max_iter), tol=1e-14, **options)
                    start = time.process_time()
                    with threadpool_limits(1):
                        model.fit(columns, target)
                    seconds = time.process_time() - start
                    weights = model.coef_[: n_samples - 1] / model.coef_[: n_samples - 1].sum()
                    total = np.abs(weights).sum() + np.abs(X[i] - weights @ others).sum()
                    reached = max(total / optimum[i] - 1.0, goal)
                    best[i] = min(best[i], (reached, seconds))
                    if reached <= goal or seconds > patience:
                        break
    return list(best.values())
