"""Estimates of sums over a nearest-neighbour graph from the neighbours of sampled queries.

We say that sample i finds the edge to sample j if j is among the nearest neighbours of i. An edge
belongs to the graph if at least one of its two samples finds it. It is observed only if one of the
samples that find it is a query. Some samples are always queries, and n queries are drawn from the N
other samples at random without replacement. The probability of observing an edge is

- 1, if a sample that finds it is always a query,
- `n / N`, if one of its samples finds it,
- `1 - (N - n) (N - n - 1) / (N (N - 1))`, if both samples find it, since it is missed only if
  neither is drawn.

An observed edge represents 1 / probability edges (Horvitz & Thompson, 1952), so weighted sums over
observed edges are unbiased estimates of the sums over the whole graph. A second search determines
whether the other sample of an edge also finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples.devices import to_numpy
from linkselect._samples.neighbors import edge_numbers
from linkselect.graphs._distance_graphs import check_n_neighbors, nearest
from linkselect.graphs._graph_types import Edges

# Number of jackknife groups for standard errors. With 19 degrees of freedom, an interval of two
# standard errors covers 94 % of normal estimates; ten groups would give 92 %.
N_GROUPS = 20
NOT_ASKED, ALWAYS_ASKED = -2, -1
# Number of neighbours listed at a time for samples that are not queries, to limit memory.
LISTED_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Queries:
    """Row numbers of the queries, which are the samples whose nearest neighbours are computed.

    Attributes
    ----------
    always : ndarray of int
        Rows that are always queries.
    drawn : ndarray of int
        Rows that are drawn from all other rows, in random order.
    """

    always: IntArray
    drawn: IntArray


def draw_queries(first: BoolArray, max_queries: int, generator: np.random.Generator) -> Queries:
    """Draw queries.

    All marked samples are included if they make up at most half of the queries.

    Parameters
    ----------
    first : ndarray of bool of shape (n_samples,)
        The marked samples, such as those in a pair.
    max_queries : int
        Number of queries.
    generator : numpy.random.Generator
        The random generator used to draw the remaining queries.

    Returns
    -------
    queries : Queries
        The row numbers of all queries.
    """
    always = np.flatnonzero(first)
    if 2 * len(always) > max_queries:
        always = always[:0]
    # Positions among the unmarked samples are converted to row numbers without listing these
    # samples, of which there may be a billion.
    number = generator.choice(len(first) - len(always), max_queries - len(always), replace=False)
    others_before = always - np.arange(len(always))
    return Queries(always, number + np.searchsorted(others_before, number, side="right"))


@dataclass(frozen=True)
class SampledEdges:
    """Edges that are observed by sampling, each listed once.

    Attributes
    ----------
    edges : Edges
        The edges, weighted by the squared distance.
    finds : ndarray of bool of shape (n_edges, 2)
        Whether the left sample finds the edge, and whether the right sample finds it.
    groups : ndarray of int of shape (n_edges, 2)
        The jackknife group of each sample of an edge, counted from 0; -1 for samples that are
        always queries, and -2 for samples that are not queries.
    sizes : ndarray of int
        Number of drawn samples in each group.
    n_others : int
        Number of samples from which the queries were drawn.
    """

    edges: Edges
    finds: BoolArray
    groups: IntArray
    sizes: IntArray
    n_others: int

    @property
    def rows(self) -> IntArray:
        """Row numbers of the samples with at least one edge, in ascending order."""
        return np.union1d(self.edges.left, self.edges.right)

    @property
    def largest_hub(self) -> float:
        """Largest fraction of the drawn samples that share the same neighbour."""
        by_drawn = self.finds & (self.groups >= 0)
        found = [self.edges.right[by_drawn[:, 0]], self.edges.left[by_drawn[:, 1]]]
        counts = np.unique(np.concatenate(found), return_counts=True)[1]
        return float(counts.max(initial=0) / self.sizes.sum())

    def among(self, rows: IntArray) -> SampledEdges:
        """Renumber samples by their position in `rows`, which must be sorted and complete."""
        left, right = (np.searchsorted(rows, end) for end in (self.edges.left, self.edges.right))
        return replace(self, edges=replace(self.edges, n_samples=len(rows), left=left, right=right))

    def counted(self, without: int | None = None) -> Edges:
        """Return the edges, with the number of edges of the whole graph that each represents.

        If `without` is given, the samples of this jackknife group are treated as not drawn.
        """
        counts = np.ones(len(self.sizes), dtype=bool)
        if without is not None:
            counts[without] = False
        drawn = (self.groups >= 0) & counts[np.maximum(self.groups, 0)]
        certain = (self.finds & (self.groups == ALWAYS_ASKED)).any(axis=1)
        seen = certain | (self.finds & drawn).any(axis=1)
        by_one, by_two = _chances(int(self.sizes[counts].sum()), self.n_others)
        chance = np.where(certain, 1.0, np.where(self.finds.all(axis=1), by_two, by_one))
        return replace(self.edges, counts=1.0 / chance).keep(seen)


def _chances(n_drawn: int, n_others: int) -> tuple[float, float]:
    """Return the probabilities that an edge found by one sample, or by both, is observed."""
    left_out = n_others - n_drawn
    both_missed = left_out * (left_out - 1) / (n_others * max(n_others - 1, 1))
    return n_drawn / n_others, 1.0 - both_missed


def sampled_edges(
    X: Any, n_neighbors: int, queries: Queries, n_jobs: int | None = None
) -> SampledEdges:
    """Compute the nearest neighbours of the queries, and determine which samples find each edge.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    n_neighbors : int
        Number of nearest neighbours of each query, excluding the query itself. Ties are broken in
        favour of the lower row number.
    queries : Queries
        The samples whose nearest neighbours are computed.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    sampled : SampledEdges
        The edges that are found by at least one query.
    """
    n_samples = X.shape[0]
    check_n_neighbors(n_neighbors, n_samples)
    asked = np.sort(np.concatenate([queries.always, queries.drawn]))
    left, right, distances = nearest(X, n_neighbors, queries=asked, n_jobs=n_jobs)
    others = np.setdiff1d(right, asked)
    number, first = np.unique(edge_numbers(left, right, n_samples), return_index=True)
    low, high = np.divmod(number, n_samples)
    finds = _finds(number, left, right, n_samples)
    for some in slices(len(others), max(LISTED_AT_ONCE // n_neighbors, 1)):
        back = nearest(X, n_neighbors, queries=others[some], n_jobs=n_jobs)
        finds |= _finds(number, *back[:2], n_samples)
    groups = np.column_stack([_group_of(queries, end) for end in (low, high)])
    edges = Edges(n_samples, low, high, distances[first])
    return SampledEdges(
        edges, finds, groups, np.bincount(_groups(queries)), n_samples - len(queries.always)
    )


def _finds(number: IntArray, finder: IntArray, other: IntArray, n_samples: int) -> BoolArray:
    """Return a mask of the samples that find each edge, given lists of neighbours."""
    finds = np.zeros((len(number), 2), dtype=bool)
    mine = edge_numbers(finder, other, n_samples)
    place = np.minimum(np.searchsorted(number, mine), len(number) - 1)
    # Edges that no query finds are not in the list.
    seen = number[place] == mine
    finds[place[seen], (finder > other)[seen].astype(np.intp)] = True
    return finds


def _groups(queries: Queries) -> IntArray:
    """Assign the drawn samples, which are in random order, to jackknife groups."""
    return np.arange(len(queries.drawn)) % N_GROUPS


def _group_of(queries: Queries, rows: IntArray) -> IntArray:
    groups = np.where(np.isin(rows, queries.always), ALWAYS_ASKED, NOT_ASKED)
    by_row = np.argsort(queries.drawn)
    is_drawn = np.isin(rows, queries.drawn)
    place = np.searchsorted(queries.drawn, rows[is_drawn], sorter=by_row)
    groups[is_drawn] = _groups(queries)[by_row[place]]
    return groups


def standard_errors(score: Callable[[Edges], Any], found: SampledEdges) -> FloatArray:
    """Use the jackknife to estimate the standard errors of scores based on sampled queries.

    The scores are recomputed after leaving out each group of drawn samples, and their variation is
    used to estimate the sampling error. Because n of N samples are drawn without replacement, the
    variance is multiplied by `1 - n / N`, which is 0 if all samples are drawn.

    The estimate depends only on the drawn samples. If a few samples dominate a sum but are not
    drawn, the error is large although the estimated standard error is small.

    Parameters
    ----------
    score : callable
        Function that computes one score per feature from `Edges` with counts.
    found : SampledEdges
        The observed edges.

    Returns
    -------
    ndarray of shape (n_features,)
        The standard errors. They are NaN if fewer than two samples were drawn or if the score is
        NaN.
    """
    n_groups = len(found.sizes)
    if n_groups < 2:
        return np.full_like(to_numpy(score(found.counted())), np.nan)
    again = np.array([to_numpy(score(found.counted(without=group))) for group in range(n_groups)])
    with np.errstate(invalid="ignore"):
        apart = np.square(again - again.mean(axis=0)).sum(axis=0)
    share_left_out = 1.0 - found.sizes.sum() / found.n_others
    return np.sqrt(apart * (n_groups - 1) / n_groups * share_left_out)
