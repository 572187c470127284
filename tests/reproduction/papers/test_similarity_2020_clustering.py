"""Tests of labels found by clustering, and of accuracies based on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import KNeighborsClassifier

from linkselect.reproduction._papers.similarity_2020.clustering import (
    clustering_curve,
    label_by_clustering,
    label_by_prototypes,
    without,
)


def keep_labels(y, rows):
    labels = np.full(len(y), -1)
    labels[rows] = y[rows]
    return labels


def test_rows_take_the_label_of_the_nearest_prototype():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [2.9]])
    assert label_by_prototypes(X, np.array([0, -1, -1, 1, -1])).tolist() == [0, 0, 1, 1, 0]


def test_a_prototype_with_a_duplicate_in_another_class_keeps_its_label():
    X = np.array([[0.0], [0.0], [3.0]])
    assert label_by_prototypes(X, np.array([0, 1, -1])).tolist() == [0, 1, 0]


def test_clustering_follows_the_shape_of_classes():
    X, y = make_moons(200, noise=0.04, random_state=0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    labels = keep_labels(y, np.r_[np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]])
    found = label_by_clustering(X, labels, n_neighbors=6, sigma=0.05)
    by_distance = label_by_prototypes(X, labels)
    assert (found == y).mean() == 1.0
    assert (by_distance == y).mean() < 0.95


def test_labelled_rows_keep_their_labels():
    X, y = make_blobs(60, centers=3, cluster_std=4.0, random_state=1)
    rows = np.concatenate([np.flatnonzero(y == label)[:4] for label in range(3)])
    # Deliberately wrong: given labels are kept, whatever the clusters are.
    labels = keep_labels((y + 1) % 3, rows)
    found = label_by_clustering(X, labels)
    assert_array_equal(found[rows], labels[rows])
    assert set(found) <= {0, 1, 2}


def test_known_labels_are_returned_if_all_are_known():
    X = np.random.default_rng(0).random((6, 5))
    assert label_by_clustering(X, np.arange(6)).tolist() == [0, 1, 2, 3, 4, 5]


def test_few_rows_are_all_neighbours():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    labels = np.array([0, -1, -1, -1, -1, 1])
    assert label_by_clustering(X, labels, sigma=0.2).tolist() == [0, 0, 0, 1, 1, 1]


def test_the_basis_without_a_direction_spans_the_complement():
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    direction = vectors @ [2.0, -1.0, 0.5]
    basis = without(vectors, direction)
    assert basis.shape == (9, 2)
    assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    assert_allclose(basis.T @ direction, 0.0, atol=1e-12)
    assert_allclose(vectors @ (vectors.T @ basis), basis, atol=1e-12)


def test_curve_is_1nn_accuracy_with_clustered_labels():
    X, y = make_blobs(120, n_features=6, centers=3, cluster_std=5.0, random_state=2)
    labels = keep_labels(
        y[:60], np.concatenate([np.flatnonzero(y[:60] == c)[:3] for c in range(3)])
    )
    order = np.array([4, 2, 0, 5, 1, 3])
    curve = clustering_curve(X[:60], labels, X[60:], y[60:], order, [1, 3, 6])
    for m, accuracy in zip([1, 3, 6], curve, strict=True):
        kept = order[:m]
        found = label_by_clustering(X[:60][:, kept], labels)
        nearest = KNeighborsClassifier(1).fit(X[:60][:, kept], found)
        assert accuracy == pytest.approx(nearest.score(X[60:][:, kept], y[60:]))
