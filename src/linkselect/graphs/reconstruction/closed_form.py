"""Rebuild samples from each other by least squares: one linear system each, no iteration."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from linkselect.arrays import FloatArray
from linkselect.blocks import map_threads, slices
from linkselect.graphs.neighbors import nearest

__all__ = ["local_weights", "ridge_weights"]

LOCAL_TILE_BYTES = 1 << 22


def ridge_weights(X: FloatArray, regularization: float) -> FloatArray:
    """Rebuild each sample from all others with small squared error and small squared weights.

    With `w` the target minus its weights, the problem is the least `w' (X X' + r I) w` with
    `w_i = 1` and sum 0. So one inverse holds the solutions of all samples in its columns.
    """
    centred = X - X.mean(axis=0)
    products = centred @ centred.T
    ridge = regularization * np.trace(products) / len(X) or 1.0
    products[np.diag_indices_from(products)] += ridge
    inverse = np.linalg.inv(products)
    total = inverse.sum(axis=0)
    inverse -= np.outer(total, total / total.sum())
    weights: FloatArray = -inverse / np.diag(inverse)[:, None]
    np.fill_diagonal(weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def local_weights(
    X: FloatArray, n_neighbors: int, regularization: float, n_jobs: int | None = None
) -> csr_array:
    """Rebuild each sample from its nearest ones, as locally linear embedding does."""
    n_samples = len(X)
    _, right, _ = nearest(X, n_neighbors, n_jobs=n_jobs)
    near = right.reshape(n_samples, n_neighbors)

    def work(part: slice) -> FloatArray:
        return _barycentric(X[near[part]] - X[part, None, :], regularization)

    size = max(1, LOCAL_TILE_BYTES // (8 * n_neighbors * X.shape[1]))
    weights = np.concatenate(map_threads(work, slices(n_samples, size), n_jobs))
    starts = np.arange(0, n_samples * n_neighbors + 1, n_neighbors)
    local = csr_array((weights.ravel(), near.ravel(), starts), shape=(n_samples, n_samples))
    local.sort_indices()
    return local


def _barycentric(difference: FloatArray, regularization: float) -> FloatArray:
    """Return weights with sum 1 that rebuild points from neighbours, which are given less them."""
    products = np.matmul(difference, difference.transpose(0, 2, 1))
    total = np.trace(products, axis1=1, axis2=2)
    ridge = np.where(total > 0.0, regularization * total, regularization)
    diagonal = np.arange(products.shape[1])
    products[:, diagonal, diagonal] += ridge[:, None]
    weights = np.linalg.solve(products, np.ones((*products.shape[:2], 1)))[:, :, 0]
    normalised: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalised
