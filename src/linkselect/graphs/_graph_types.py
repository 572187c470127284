"""The kinds of graph: listed edges, whole groups, and a kernel that is too dense to list.

Graphs are values: frozen, symmetric, without self loops in their edges. A weight matrix that
is best described in parts is a tuple of graphs whose weights add up.
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
    """List the edges of a sparse graph, each once.

    Attributes
    ----------
    n_samples : int
        The number of nodes.
    left, right : ndarray of int
        The two ends of each edge.
    weights : ndarray of float
        The weight of each edge.
    counts : ndarray of float, optional
        How many edges of a larger graph each edge stands for, if they were sampled. Default: 1.
    """

    n_samples: int
    left: IntArray
    right: IntArray
    weights: FloatArray
    counts: FloatArray | None = None

    @property
    def totals(self) -> FloatArray:
        """The weight of all edges that each edge stands for."""
        return self.weights if self.counts is None else self.weights * self.counts

    @property
    def degrees(self) -> FloatArray:
        """The sum of weights at each node."""
        ends = np.concatenate([self.left, self.right])
        totals = self.totals
        return sum_by(ends, np.concatenate([totals, totals]), self.n_samples)

    def keep(self, chosen: Any) -> Edges:
        """Return the chosen edges only."""
        counts = None if self.counts is None else self.counts[chosen]
        left, right = self.left[chosen], self.right[chosen]
        return Edges(self.n_samples, left, right, self.weights[chosen], counts)

    def reweigh(self, weights: FloatArray | float) -> Edges:
        """Return the same edges with other weights."""
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
    """Join all samples of a group, or all samples of different groups, without listing edges.

    A class graph as edges grows with the square of the class; as groups it costs nothing.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        The group of each sample, -1 for samples outside every group.
    across : bool
        False: edges inside groups. True: edges between different groups.
    weight : float
        The weight of every edge.
    strength : ndarray of shape (n_samples,), optional
        If given, the edge between i and j weighs `weight * (strength[i] + strength[j])`.
        Only for edges across groups.
    """

    codes: IntArray
    across: bool = False
    weight: float = 1.0
    strength: FloatArray | None = None

    @property
    def degrees(self) -> FloatArray:
        """The sum of weights at each node."""
        grouped = self.codes >= 0
        sizes = np.bincount(self.codes[grouped])
        own = sizes[self.codes[grouped]]
        partners = sizes.sum() - own if self.across else own - 1
        result = np.zeros(len(self.codes))
        if self.strength is None:
            result[grouped] = self.weight * partners
            return result
        # The sum over the partners j of `strength[i] + strength[j]`.
        strength = self.strength[grouped]
        of_group = np.bincount(self.codes[grouped], strength)[self.codes[grouped]]
        result[grouped] = self.weight * (partners * strength + strength.sum() - of_group)
        return result


@dataclass(frozen=True)
class Kernel:
    """Weigh every pair inside a group by a Gaussian, computed in tiles when it is needed.

    Attributes
    ----------
    points : Samples
        The samples whose distances make the weights.
    rows : Products
        The samples prepared for fast distances.
    sigma : float
        The width of the Gaussian.
    codes : ndarray of shape (n_samples,)
        The group of each sample, -1 for none; one group for the complete graph.
    without : csr_array or None
        Pairs that are left out, as the nonzero entries of a symmetric matrix.
    degrees : ndarray of shape (n_samples,)
        The sum of weights at each node; on the complete graph with the 1 of the diagonal.
    """

    points: Samples
    rows: Products
    sigma: float
    codes: IntArray
    without: csr_array | None
    degrees: FloatArray


Graph = Edges | Groups | Kernel | tuple[Any, ...]


def degrees(graph: Graph) -> FloatArray:
    """Add up the degrees of all parts of a graph."""
    if isinstance(graph, tuple):
        return sum((degrees(part) for part in graph[1:]), start=degrees(graph[0]))
    return graph.degrees
