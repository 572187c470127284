"""Graphs whose nodes are samples, built from nearest neighbours, kernels, labels or pairs.

C3 to C7 are the names of constraint scores in Salmi, Hammouche & Macaire (2020).
"""

from linkselect.graphs._distance_graphs import (
    auto_sigma,
    ball_edges,
    gaussian_edges,
    kernel_graph,
    nearest,
    nearest_edges,
    proposed_edges,
    resolve_sigma,
)
from linkselect.graphs._graph_types import Edges, Graph, Groups, Kernel, degrees
from linkselect.graphs._link_graphs import (
    affinity_graph,
    cannot_graph,
    class_neighbors,
    compensated_graph,
    constrained_graph,
    lsdf_graph,
    must_graph,
    reward_graph,
)
from linkselect.graphs._reconstruction import reconstruction_weights

__all__ = [
    "Edges",
    "Graph",
    "Groups",
    "Kernel",
    "affinity_graph",
    "auto_sigma",
    "ball_edges",
    "cannot_graph",
    "class_neighbors",
    "compensated_graph",
    "constrained_graph",
    "degrees",
    "gaussian_edges",
    "kernel_graph",
    "lsdf_graph",
    "must_graph",
    "nearest",
    "nearest_edges",
    "proposed_edges",
    "reconstruction_weights",
    "resolve_sigma",
    "reward_graph",
]
