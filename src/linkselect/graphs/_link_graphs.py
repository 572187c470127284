"""Graphs built from pairs or classes, alone or combined with a nearest-neighbour graph."""

from typing import Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._samples import as_samples
from linkselect._samples.distances import gaussian
from linkselect._samples.neighbors import Found, Search, edge_numbers, joined
from linkselect._supervision import Supervision
from linkselect.graphs._distance_graphs import (
    gaussian_edges,
    join_edges,
    kernel_graph,
    listed_kernel,
)
from linkselect.graphs._graph_types import Edges, Graph, Groups, Kernel
from linkselect.pairs._links import links_within


def must_graph(known: Supervision, weight: float = 1.0) -> Edges | Groups:
    """Build the graph of must-links, whose edge weights are the link weights times `weight`."""
    if known.must is None:
        return Groups(known.classes, weight=weight)
    return _listed(known, known.must).reweigh(weight * known.all_weights[0])


def cannot_graph(known: Supervision, strength: FloatArray | None = None) -> Edges | Groups:
    """Build the graph of cannot-links, whose edge weights are the link weights.

    If `strength` is given, with one value per sample, the weight of the edge between i and j is
    multiplied by `strength[i] + strength[j]`.
    """
    if known.cannot is None:
        return Groups(known.classes, across=True, strength=strength)
    edges = _listed(known, known.cannot).reweigh(known.all_weights[1])
    if strength is None:
        return edges
    return edges.reweigh(edges.weights * (strength[edges.left] + strength[edges.right]))


def lsdf_graph(near: Edges, known: Supervision, gamma: float) -> Graph:
    """Build the graph of LSDF (C3) from must-links and unlabelled neighbours.

    Must-links have the weight `gamma`. Edges between neighbours have the weight 1 if at least one
    of the two samples is unlabelled.

    Parameters
    ----------
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    gamma : float
        The weight of must-links.

    Returns
    -------
    graph : Graph
        The weighted graph of nearest neighbours and must-links.
    """
    unlabelled = known.unlabelled
    free = near.keep(unlabelled[near.left] | unlabelled[near.right])
    return free.reweigh(1.0), must_graph(known, gamma)


def constrained_graph(
    X: Any, near: Edges, known: Supervision, sigma: float, n_jobs: int | None = None
) -> Graph:
    """Build the graph of C5, which joins neighbours and must-linked samples with Gaussian weights.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    graph : Graph
        The weighted graph of nearest neighbours and must-links.
    """
    return gaussian_edges(near, sigma), *_far_must(X, near, known, sigma, n_jobs)


def reward_graph(
    X: Any, near: Edges, known: Supervision, sigma: float, n_jobs: int | None = None
) -> Graph:
    """Build the graph of C6, which emphasises pairs whose labels and distances disagree.

    Let `g` be the Gaussian of the distance. The weights are `g + g^2` for cannot-links between
    neighbours, `g^2` for must-links between samples that are not neighbours, 0 for must-links
    between neighbours, and `g` for all other neighbours.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    graph : Graph
        The weighted graph of nearest neighbours and must-links.
    """
    weights = gaussian_edges(near, sigma).weights
    must, cannot = _linked(near, known)
    weights = np.where(must, 0.0, np.where(cannot, weights + weights**2, weights))
    # The square of a Gaussian is a Gaussian with its width divided by the square root of 2.
    narrow = sigma / np.sqrt(2.0)
    return near.reweigh(weights), *_far_must(X, near, known, narrow, n_jobs)


def compensated_graph(
    near: Edges, known: Supervision, sigma: float, gamma: float, compensation: float
) -> Graph:
    """Build the graph of C7, in which must-links between neighbours have full weight.

    Must-links have the weight 1 between neighbours and the weight `compensation` otherwise. Other
    edges between neighbours have Gaussian weights, which are multiplied by `1 - gamma` for
    cannot-links.

    Parameters
    ----------
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    gamma : float
        The weight of cannot-links between neighbours is `1 - gamma` times the Gaussian.
    compensation : float
        The weight of must-links between samples that are not neighbours.

    Returns
    -------
    graph : Graph
        The weighted graph of nearest neighbours and must-links.
    """
    weights = gaussian_edges(near, sigma).weights
    must, cannot = _linked(near, known)
    # Equation 30 of Salmi, Hammouche & Macaire (2020). Their equation 25 would give cannot-links
    # between neighbours more weight than other neighbours, although they should be dissimilar.
    # The graph of must-links gives all of them the weight `compensation`; those between neighbours
    # receive the rest here.
    weights = np.where(must, 1.0 - compensation, np.where(cannot, (1.0 - gamma) * weights, weights))
    return near.reweigh(weights), must_graph(known, compensation)


def affinity_graph(near: Edges, known: Supervision, sigma: float) -> Edges:
    """Build the affinity graph of Kamvar et al., in which must-links have the weight 1.

    Edges between neighbours have Gaussian weights, and cannot-links are removed.

    Parameters
    ----------
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.

    Returns
    -------
    edges : Edges
        The weighted edges, which consist of nearest neighbours and must-links.
    """
    must, cannot = _linked(near, known)
    free = gaussian_edges(near, sigma).keep(~(must | cannot))
    links = links_within(known.classes) if known.must is None else known.must
    return Edges(
        near.n_samples,
        np.concatenate([free.left, links[:, 0]]),
        np.concatenate([free.right, links[:, 1]]),
        np.concatenate([free.totals, np.ones(len(links))]),
    )


def class_neighbors(
    X: Any, classes: IntArray, n_neighbors: int, n_jobs: int | None = None
) -> tuple[Edges, Edges]:
    """Build nearest-neighbour graphs within classes and between classes.

    Two samples of the same class are joined if either is among the nearest neighbours of the other
    within this class. Two samples of different classes are joined if either is among the nearest
    neighbours of the other outside its own class. If a sample has fewer than `n_neighbors`
    candidates, it is joined to all of them.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample.
    n_neighbors : int
        Number of nearest neighbours within the class and, separately, outside the class.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    same, other : Edges
        The edges within classes and the edges between classes.
    """
    X = as_samples(X)
    hits: list[Found] = []
    misses: list[Found] = []
    rows = X.products(np.float32, n_jobs)
    for code in np.unique(classes):
        own, others = np.flatnonzero(classes == code), np.flatnonzero(classes != code)
        hits.append(X.nearest(n_neighbors, n_jobs, Search(own, own, rows)))
        misses.append(X.nearest(n_neighbors, n_jobs, Search(own, others, rows)))
    same, other = (join_edges(X.shape[0], *joined(found)) for found in (hits, misses))
    return same.reweigh(1.0), other.reweigh(1.0)


def _listed(known: Supervision, links: IntArray) -> Edges:
    ones = np.ones(len(links))
    return Edges(len(known.classes), links[:, 0], links[:, 1], ones)


def _linked(near: Edges, known: Supervision) -> tuple[BoolArray, BoolArray]:
    """Return a mask of the edges that are must-links, and one of those that are cannot-links."""
    if known.must is None or known.cannot is None:
        left, right = known.classes[near.left], known.classes[near.right]
        labelled = (left >= 0) & (right >= 0)
        return labelled & (left == right), labelled & (left != right)
    edges = np.column_stack([near.left, near.right])
    return (
        _among(edges, known.must, near.n_samples),
        _among(edges, known.cannot, near.n_samples),
    )


def _among(edges: IntArray, links: IntArray, n_samples: int) -> BoolArray:
    own, known = (edge_numbers(ends[:, 0], ends[:, 1], n_samples) for ends in (edges, links))
    return np.isin(own, known)


def _far_must(
    X: Any, near: Edges, known: Supervision, sigma: float, n_jobs: int | None
) -> tuple[Edges | Kernel, ...]:
    """Build the graph of must-links between non-neighbours, with Gaussian weights."""
    if not known.has_must:
        return ()
    X = as_samples(X)
    if known.must is None:
        mask = near.reweigh(1.0).to_csr()
        if X.by_columns:
            return (listed_kernel(X, sigma, known.classes, mask, n_jobs),)
        return (kernel_graph(X, sigma, codes=known.classes, without=mask, n_jobs=n_jobs),)
    edges = np.column_stack([near.left, near.right])
    links = known.must[~_among(known.must, edges, near.n_samples)]
    far = _listed(known, links)
    return (far.reweigh(gaussian(X.pair_distances(far.left, far.right, n_jobs), sigma)),)
