"""Reconstruct points from each other by least squares: one linear system each, no iteration."""

import numpy as np

from linkselect._arrays import FloatArray


def ridge_weights(points: FloatArray, regularization: float) -> FloatArray:
    """Reconstruct each point from all others with small squared error and small squared weights.

    With `w` the target minus its weights, the problem is the least `w' (P P' + r I) w` with
    `w_i = 1` and sum 0, where P are the centred points. So one inverse holds the solutions of all
    points in its columns.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
    regularization : float
        r over the mean squared distance of a point from the mean.

    Returns
    -------
    ndarray of shape (n_points, n_points)
        Rows sum to 1; the diagonal is 0.
    """
    centred = points - points.mean(axis=0)
    products = centred @ centred.T
    # If all points are equal any ridge gives equal weights.
    ridge = regularization * np.trace(products) / len(points) or 1.0
    products[np.diag_indices_from(products)] += ridge
    inverse = np.linalg.inv(products)
    # A rank 1 update restricts the inverse to vectors with sum 0.
    total = inverse.sum(axis=0)
    inverse -= np.outer(total, total / total.sum())
    weights: FloatArray = -inverse / np.diag(inverse)[:, None]
    np.fill_diagonal(weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def barycentric_weights(difference: FloatArray, regularization: float) -> FloatArray:
    """Reconstruct each point of a stack from its neighbours, as locally linear embedding does.

    Parameters
    ----------
    difference : ndarray of shape (n_points, n_neighbours, n_coordinates)
        The neighbours of each point minus the point.
    regularization : float
        The ridge over the sum of squared distances to the neighbours.

    Returns
    -------
    ndarray of shape (n_points, n_neighbours)
        Rows sum to 1.
    """
    products = np.matmul(difference, difference.transpose(0, 2, 1))
    total = np.trace(products, axis1=1, axis2=2)
    ridge = np.where(total > 0.0, regularization * total, regularization)
    diagonal = np.arange(products.shape[1])
    products[:, diagonal, diagonal] += ridge[:, None]
    weights = np.linalg.solve(products, np.ones((*products.shape[:2], 1)))[:, :, 0]
    normalised: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalised
