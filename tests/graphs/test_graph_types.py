"""Compare every kind of graph with its weight matrix."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from linkselect import graphs
from linkselect._supervision import from_labels
from tests.helpers.dense_graphs import dense
from tests.helpers.problems import labels, samples


@given(st.data())
def test_degrees_of_every_kind(data):
    X = data.draw(samples())
    known = from_labels(data.draw(labels(len(X))), len(X))
    near = graphs.nearest_edges(X, 3)
    strength = np.random.default_rng(0).random(len(X))
    for graph in (
        near,
        graphs.must_graph(known, 2.0),
        graphs.cannot_graph(known),
        graphs.cannot_graph(known, strength),
        graphs.lsdf_graph(near, known, 100.0),
        graphs.constrained_graph(X, near, known, 1.0),
        graphs.reward_graph(X, near, known, 1.0),
        graphs.compensated_graph(near, known, 1.0, 0.9, 0.5),
    ):
        W = dense(graph, len(X))
        assert_allclose(W, W.T, rtol=1e-13, atol=1e-16)  # exp(-x) has a relative error of x * eps
        assert_array_equal(np.diag(W), 0)
        assert_allclose(graphs.degrees(graph), W.sum(axis=1), rtol=1e-12, atol=1e-12)


def test_graphs_are_frozen():
    edges = graphs.nearest_edges(np.arange(5.0)[:, None], 1)
    with pytest.raises(AttributeError):
        edges.weights = None


def test_graphs_cannot_be_changed():
    X = np.random.default_rng(0).random((6, 2))
    kernel = graphs.kernel_graph(X, 1.0)
    for value in (graphs.nearest_edges(X, 2), graphs.Groups(np.arange(6) % 2), kernel, kernel.rows):
        for field in fields(value):
            with pytest.raises(FrozenInstanceError):
                setattr(value, field.name, None)
