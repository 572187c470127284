"""Types of graphs: listed edges, groups, and Gaussian kernels with too many edges to list.

Graphs are immutable and symmetric, and have no self-loops. A tuple of graphs represents the sum of
their weight matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import sum_by
from linkselect._samples import Samples
from linkselect._samples.neighbors import Products


@dataclass(frozen=True)
class Edges:
    """Sparse graph represented by its edges, each of which is listed once.

    Attributes
    ----------
    n_samples : int
        Number of nodes.
    left, right : ndarray of int
        The two samples of each edge.
    weights : ndarray of float
        The weight of each edge.
    counts : ndarray of float, optional
        The number of edges that each edge represents, if edges were sampled from a larger graph.
        Default: 1.
    """

    n_samples: int
    left: IntArray
    right: IntArray
    weights: FloatArray
    counts: FloatArray | None = None

    @property
    def totals(self) -> FloatArray:
        """Weight of each edge, multiplied by the number of edges that it represents."""
        return self.weights if self.counts is None else self.weights * self.counts

    @property
    def degrees(self) -> FloatArray:
        """Degree of each node, which is the sum of the weights of its edges."""
        ends = np.concatenate([self.left, self.right])
        totals = self.totals
        return sum_by(ends, np.concatenate([totals, totals]), self.n_samples)

    def keep(self, chosen: Any) -> Edges:
        """Return the graph that contains only the chosen edges."""
        counts = None if self.counts is None else self.counts[chosen]
        left, right = self.left[chosen], self.right[chosen]
        return Edges(self.n_samples, left, right, self.weights[chosen], counts)

    def reweigh(self, weights: FloatArray | float) -> Edges:
        """Return the same edges with the given weights."""
        filled = np.broadcast_to(np.asarray(weights, dtype=np.float64), self.left.shape)
        return Edges(self.n_samples, self.left, self.right, filled, self.counts)

    def to_csr(self) -> csr_array:
        """Return the symmetric weight matrix."""
        rows = np.concatenate([self.left, self.right])
        columns = np.concatenate([self.right, self.left])
        totals = self.totals
        data = np.concatenate([totals, totals])
        return csr_array((data, (rows, columns)), shape=(self.n_samples, self.n_samples))


@dataclass(frozen=True)
class Groups:
    """Graph of all pairs of samples within groups or between groups, without a list of edges.

    The number of edges is proportional to the square of the group sizes. This representation
    requires memory for only one group number per sample.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        The group of each sample, or -1 for samples without a group.
    across : bool
        Whether edges join samples of different groups instead of samples of the same group.
    weight : float
        The weight of every edge.
    strength : ndarray of shape (n_samples,), optional
        If given, the weight of the edge between i and j is `weight * (strength[i] + strength[j])`.
        This is supported only for edges between groups.
    """

    codes: IntArray
    across: bool = False
    weight: float = 1.0
    strength: FloatArray | None = None

    @property
    def degrees(self) -> FloatArray:
        """Degree of each node, which is the sum of the weights of its edges."""
        grouped = self.codes >= 0
        sizes = np.bincount(self.codes[grouped])
        own = sizes[self.codes[grouped]]
        partners = sizes.sum() - own if self.across else own - 1
        result = np.zeros(len(self.codes))
        if self.strength is None:
            result[grouped] = self.weight * partners
            return result
        # The sum of `strength[i] + strength[j]` over all j in other groups.
        strength = self.strength[grouped]
        of_group = np.bincount(self.codes[grouped], strength)[self.codes[grouped]]
        result[grouped] = self.weight * (partners * strength + strength.sum() - of_group)
        return result


@dataclass(frozen=True)
class Kernel:
    """Graph of all pairs of samples within groups, whose Gaussian weights are computed on demand.

    Attributes
    ----------
    points : Samples
        The samples whose distances determine the weights.
    rows : Products
        The samples in a form that allows fast computation of distances.
    sigma : float
        The width of the Gaussian.
    codes : ndarray of shape (n_samples,)
        The group of each sample, or -1 for samples without a group. A complete graph has a single
        group.
    without : csr_array or None
        The excluded pairs, given by the nonzero entries of a symmetric matrix.
    degrees : ndarray of shape (n_samples,)
        The sum of weights at each node. For a complete graph, it includes the 1 on the diagonal.
    """

    points: Samples
    rows: Products
    sigma: float
    codes: IntArray
    without: csr_array | None
    degrees: FloatArray


Graph = Edges | Groups | Kernel | tuple[Any, ...]


def degrees(graph: Graph) -> FloatArray:
    """Return the degree of each node, which is the sum of the weights of its edges.

    The degrees of a tuple of graphs are added.
    """
    if isinstance(graph, tuple):
        return sum((degrees(part) for part in graph[1:]), start=degrees(graph[0]))
    return graph.degrees
