"""The neighbours of some samples, as an estimate of the graph of all.

An end of an edge finds it if the other end is among its nearest. An edge is in the graph if one
of its ends finds it, and is seen here if such an end is asked. Some samples are always asked. Of
the N others n are drawn, every set of n with the same chance. So an edge is seen

- for sure, if an end that finds it is always asked,
- with probability `n / N`, if one end finds it,
- with probability `1 - (N - n) (N - n - 1) / (N (N - 1))`, if both ends find it: it is missed if
  both are among the N - n that were not drawn.

An edge that is seen stands for 1 / probability edges (Horvitz & Thompson, 1952). Over all draws any
sum over edges, each with its count, is then on average the sum over the whole graph. Whether the
other end finds an edge, too, takes the neighbours of that end: a second search.
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

# Standard errors come from leaving out one of so many groups of the samples drawn. They have one
# degree of freedom less, so that two of them cover 94 % of normal estimates; from ten groups, 92 %.
N_GROUPS = 20
NOT_ASKED, ALWAYS_ASKED = -2, -1
# So many neighbours of samples that were not asked are listed at a time: only few of them count.
LISTED_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Queries:
    """Name the samples whose neighbours are searched.

    Attributes
    ----------
    always : ndarray of int
        Rows that are asked whatever is drawn.
    drawn : ndarray of int
        Rows drawn from all others, in random order.
    """

    always: IntArray
    drawn: IntArray


def draw_queries(first: BoolArray, max_queries: int, generator: np.random.Generator) -> Queries:
    """Draw samples to be asked; the marked ones come first if they are at most half of them.

    Parameters
    ----------
    first : ndarray of bool of shape (n_samples,)
        The marked samples, such as those in a pair.
    max_queries : int
        How many samples are asked.
    generator : numpy.random.Generator
        Draws the others.

    Returns
    -------
    Queries
        The samples that are asked.
    """
    always = np.flatnonzero(first)
    if 2 * len(always) > max_queries:
        always = always[:0]
    # Numbers among the others become rows without a list of all others, who may be a billion.
    number = generator.choice(len(first) - len(always), max_queries - len(always), replace=False)
    others_before = always - np.arange(len(always))
    return Queries(always, number + np.searchsorted(others_before, number, side="right"))


@dataclass(frozen=True)
class SampledEdges:
    """List the edges that some samples found, each once.

    Attributes
    ----------
    edges : Edges
        Weighted by the squared distance.
    finds : ndarray of bool of shape (n_edges, 2)
        Whether the left end has the right one among its nearest, and the other way round.
    groups : ndarray of int of shape (n_edges, 2)
        The group of each end that was drawn, from 0; -1 if it was always asked, -2 if not at all.
    sizes : ndarray of int
        How many samples of each group were drawn.
    n_others : int
        Of how many samples they were drawn.
    """

    edges: Edges
    finds: BoolArray
    groups: IntArray
    sizes: IntArray
    n_others: int

    @property
    def rows(self) -> IntArray:
        """The samples with an edge, in order."""
        return np.union1d(self.edges.left, self.edges.right)

    @property
    def largest_hub(self) -> float:
        """The largest share of the samples drawn that find the same sample."""
        by_drawn = self.finds & (self.groups >= 0)
        found = [self.edges.right[by_drawn[:, 0]], self.edges.left[by_drawn[:, 1]]]
        counts = np.unique(np.concatenate(found), return_counts=True)[1]
        return float(counts.max(initial=0) / self.sizes.sum())

    def among(self, rows: IntArray) -> SampledEdges:
        """Number samples by their place among sorted rows, which have all ends of edges."""
        left, right = (np.searchsorted(rows, end) for end in (self.edges.left, self.edges.right))
        return replace(self, edges=replace(self.edges, n_samples=len(rows), left=left, right=right))

    def counted(self, without: int | None = None) -> Edges:
        """Say how many edges of the whole graph each edge stands for.

        With `without`, as if the samples of that group had not been drawn.
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
    """Return how likely an edge is seen that one end finds, and one that both ends find."""
    left_out = n_others - n_drawn
    both_missed = left_out * (left_out - 1) / (n_others * max(n_others - 1, 1))
    return n_drawn / n_others, 1.0 - both_missed


def sampled_edges(
    X: Any, n_neighbors: int, queries: Queries, n_jobs: int | None = None
) -> SampledEdges:
    """Search the neighbours of some samples among all, and who of these finds them in turn.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind.
    n_neighbors : int
        How many nearest samples, itself left out; ties go to the lower row number.
    queries : Queries
        The samples whose neighbours are searched.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    SampledEdges
        The edges from the samples that were asked.
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
    """Tell which end of numbered edges finds the other, by the nearest of some samples."""
    finds = np.zeros((len(number), 2), dtype=bool)
    mine = edge_numbers(finder, other, n_samples)
    place = np.minimum(np.searchsorted(number, mine), len(number) - 1)
    # What only a sample that was not asked finds is not seen.
    seen = number[place] == mine
    finds[place[seen], (finder > other)[seen].astype(np.intp)] = True
    return finds


def _groups(queries: Queries) -> IntArray:
    """Deal the samples drawn into groups, at random since they come in random order."""
    return np.arange(len(queries.drawn)) % N_GROUPS


def _group_of(queries: Queries, rows: IntArray) -> IntArray:
    groups = np.where(np.isin(rows, queries.always), ALWAYS_ASKED, NOT_ASKED)
    by_row = np.argsort(queries.drawn)
    is_drawn = np.isin(rows, queries.drawn)
    place = np.searchsorted(queries.drawn, rows[is_drawn], sorter=by_row)
    groups[is_drawn] = _groups(queries)[by_row[place]]
    return groups


def standard_errors(score: Callable[[Edges], Any], found: SampledEdges) -> FloatArray:
    """Estimate how far scores from a draw are from those of the whole graph.

    The jackknife: scores are computed again without each group of the samples drawn, and what
    they vary says how much the draw matters. Since n of the N samples were drawn without
    replacement, the variance has the factor `1 - n / N`, and there is no error if n is N.

    Samples that were not drawn do not count. If a few samples carry most of a sum, a draw that
    misses them is far off and states a small error.

    Parameters
    ----------
    score : callable
        Returns one number per feature from counted edges.
    found : SampledEdges
        What was found for the draw.

    Returns
    -------
    ndarray of shape (n_features,)
        NaN if fewer than two samples were drawn, or without a score.
    """
    n_groups = len(found.sizes)
    if n_groups < 2:
        return np.full_like(to_numpy(score(found.counted())), np.nan)
    again = np.array([to_numpy(score(found.counted(without=group))) for group in range(n_groups)])
    with np.errstate(invalid="ignore"):
        apart = np.square(again - again.mean(axis=0)).sum(axis=0)
    share_left_out = 1.0 - found.sizes.sum() / found.n_others
    return np.sqrt(apart * (n_groups - 1) / n_groups * share_left_out)
