"""Reconstruction of points from each other by regularised least squares in closed form."""

import numpy as np

from linkselect._arrays import FloatArray


def ridge_weights(points: FloatArray, regularization: float) -> FloatArray:
    """Reconstruct each point from all other points by ridge regression; the weights sum to 1.

    Let `w` be the unit vector of the target minus its weights, and let P be the matrix of centred
    points. The problem is to minimise `w' (P P' + r I) w` subject to `w_i = 1` and `sum(w) = 0`.
    The solutions for all points are scaled columns of a single inverse.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
    regularization : float
        The ratio of r to the mean squared distance of a point from the mean.

    Returns
    -------
    ndarray of shape (n_points, n_points)
        The weights of all points, whose rows sum to 1 and whose diagonal is 0.
    """
    centred = points - points.mean(axis=0)
    products = centred @ centred.T
    # If all points are equal, any ridge yields equal weights.
    ridge = regularization * np.trace(products) / len(points) or 1.0
    products[np.diag_indices_from(products)] += ridge
    inverse = np.linalg.inv(products)
    # A rank-1 update restricts the inverse to vectors with sum 0.
    total = inverse.sum(axis=0)
    inverse -= np.outer(total, total / total.sum())
    weights: FloatArray = -inverse / np.diag(inverse)[:, None]
    np.fill_diagonal(weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def barycentric_weights(difference: FloatArray, regularization: float) -> FloatArray:
    """Reconstruct each point from its neighbours, as in locally linear embedding.

    Parameters
    ----------
    difference : ndarray of shape (n_points, n_neighbours, n_coordinates)
        The differences between the neighbours of each point and the point itself.
    regularization : float
        The ratio of the ridge to the sum of squared distances to the neighbours.

    Returns
    -------
    ndarray of shape (n_points, n_neighbours)
        The weights of the neighbours of each point, whose rows sum to 1.
    """
    products = np.matmul(difference, difference.transpose(0, 2, 1))
    total = np.trace(products, axis1=1, axis2=2)
    ridge = np.where(total > 0.0, regularization * total, regularization)
    diagonal = np.arange(products.shape[1])
    products[:, diagonal, diagonal] += ridge[:, None]
    weights = np.linalg.solve(products, np.ones((*products.shape[:2], 1)))[:, :, 0]
    normalised: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalised
