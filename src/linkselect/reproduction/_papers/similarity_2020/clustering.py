"""Accuracy with few labelled rows when clustering assigns labels to the others (section 5.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkselect._arrays import FloatArray
from linkselect._supervision import from_labels
from linkselect.cluster._spectral import leading_eigenvectors, symmetric
from linkselect.evaluation._curves import check_counts, nearest_neighbor_curve
from linkselect.graphs import affinity_graph, nearest_edges

# As in Kamvar, Klein & Manning (2003).
N_NEIGHBORS = 20


def label_by_prototypes(X: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Assign the label of the nearest labelled row to each unlabelled row.

    `linkselect._search.nearest_prototypes` computes the same labels, but sums squared differences
    in another order. With that order, rounding would decide between prototypes at equal distance on
    Dermatology and CNAE-9, whose features have few distinct values. As a result, 3 of 39,000 rows
    would change class, and stored results would not be reproduced.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    labels : array of int, shape (n_samples,)
        The class of each row, or -1 if it is unknown.

    Returns
    -------
    array of int, shape (n_samples,)
        The classes of all rows.
    """
    known = np.flatnonzero(labels >= 0)
    found = labels[known][cdist(X, X[known], "sqeuclidean").argmin(axis=1)]
    found[known] = labels[known]
    return found


def label_by_clustering(
    X: NDArray[Any],
    labels: NDArray[Any],
    *,
    n_neighbors: int = N_NEIGHBORS,
    sigma: float = 1.0,
) -> NDArray[Any]:
    """Label all rows by constrained spectral clustering, given the labels of a few rows.

    Neighbours have a Gaussian affinity, labelled rows of the same class have affinity 1, and
    labelled rows of different classes have affinity 0. Rows are embedded by the leading
    eigenvectors of the symmetrically normalised affinity, with one eigenvector per class. The
    trivial eigenvector, which depends only on the degrees, is excluded. Embedded rows are scaled to
    length 1, and each gets the label of the nearest labelled row.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, restricted to the selected features.
    labels : array of int, shape (n_samples,)
        The class of each row, or -1 if it is unknown.
    n_neighbors : int, default=20
        The number of neighbours of each row; if there are fewer other rows, all of them are used.
    sigma : float, default=1.0
        The width of the Gaussian kernel.

    Returns
    -------
    array of int, shape (n_samples,)
        The classes of all rows; known labels are unchanged.
    """
    if (labels >= 0).all():
        return labels.copy()
    near = nearest_edges(X, min(n_neighbors, len(X) - 1), 1)
    affinity = affinity_graph(near, from_labels(labels, len(X)), sigma).to_csr()
    count = min(len(np.unique(labels[labels >= 0])) + 1, len(X))
    leading = leading_eigenvectors(symmetric(affinity), count)
    points = without(leading, np.sqrt(affinity.sum(axis=1)))
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return label_by_prototypes(points / np.where(lengths > 0, lengths, 1.0), labels)


def without(vectors: FloatArray, direction: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of the vectors after removing a given direction.

    If the graph has several components, the solver may return any linear combination of the
    direction and other eigenvectors. The span of the result does not depend on this combination,
    unless only some eigenvectors of a multiple eigenvalue are included.
    """
    unit = direction / np.linalg.norm(direction)
    rest = vectors - np.outer(unit, unit @ vectors)
    return np.linalg.svd(rest, full_matrices=False)[0][:, :-1]


def clustering_curve(
    train: NDArray[Any],
    labels: NDArray[Any],
    test: NDArray[Any],
    y_test: NDArray[Any],
    order: NDArray[Any],
    n_features: Sequence[int] | NDArray[Any] | None = None,
    *,
    n_neighbors: int = N_NEIGHBORS,
    sigma: float = 1.0,
) -> FloatArray:
    """Compute 1-NN accuracy on training rows labelled by clustering, for each number of features.

    For each number of features, `label_by_clustering` uses the best features to label the
    unlabelled training rows. A 1-NN classifier then uses all training rows to classify the test
    rows.

    Parameters
    ----------
    train, labels : arrays of shape (n_train, d), (n_train,)
        The training rows and their classes, numbered from 0, or -1 if unknown.
    test, y_test : arrays of shape (n_test, d), (n_test,)
        The test rows and their classes.
    order : array of int
        The column numbers of the features, best first.
    n_features : ascending ints, optional
        The numbers of features to evaluate. Default: 1, 2, ..., len(order).
    n_neighbors, sigma
        As in `label_by_clustering`.

    Returns
    -------
    array of float, one for each number of features
        The share of correctly classified test rows.
    """
    counts = check_counts(n_features, len(order))
    accuracies = np.empty(len(counts))
    for place, count in enumerate(counts):
        kept = np.asarray(order)[:count]
        seen = np.ascontiguousarray(train[:, kept])
        found = label_by_clustering(seen, labels, n_neighbors=n_neighbors, sigma=sigma)
        accuracies[place] = nearest_neighbor_curve(
            seen, found, test[:, kept], y_test, np.arange(count), [count]
        )[0]
    return accuracies
