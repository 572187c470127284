"""Convert graphs of every kind to matrices."""

import numpy as np

from linkselect import graphs
from linkselect._samples import distances


def dense(graph, n):
    """Return the weight matrix of any kind of graph."""
    if isinstance(graph, tuple):
        return sum(dense(part, n) for part in graph)
    if isinstance(graph, graphs.Edges):
        return graph.to_csr().toarray()
    if isinstance(graph, graphs.Groups):
        known = (graph.codes >= 0)[:, None] & (graph.codes >= 0)
        same = graph.codes[:, None] == graph.codes
        strength = np.full(n, 0.5) if graph.strength is None else graph.strength
        weights = graph.weight * (strength[:, None] + strength)
        return np.where(
            known & (~same if graph.across else same) & ~np.eye(n, dtype=bool), weights, 0
        )
    W = np.zeros((n, n))
    for rows, columns in distances.kernel_tiles(graph.codes):
        W[np.ix_(rows, columns)] = distances.kernel_weights(graph, rows, columns)
    return W
