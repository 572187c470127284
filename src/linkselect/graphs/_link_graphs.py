"""Graphs from pairs and classes, alone or laid over a neighbour graph."""

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
    """Join the samples of every must-link, by the weight of the link times `weight`."""
    if known.must is None:
        return Groups(known.classes, weight=weight)
    return _listed(known, known.must).reweigh(weight * known.all_weights[0])


def cannot_graph(known: Supervision, strength: FloatArray | None = None) -> Edges | Groups:
    """Join the samples of every cannot-link, by the weight of the link.

    With `strength`, a value per sample, the weight of the edge between i and j is multiplied by
    `strength[i] + strength[j]`.
    """
    if known.cannot is None:
        return Groups(known.classes, across=True, strength=strength)
    edges = _listed(known, known.cannot).reweigh(known.all_weights[1])
    if strength is None:
        return edges
    return edges.reweigh(edges.weights * (strength[edges.left] + strength[edges.right]))


def lsdf_graph(near: Edges, known: Supervision, gamma: float) -> Graph:
    """Build the LSDF graph (C3): gamma on must-links, 1 on neighbours if either is unlabelled.

    Parameters
    ----------
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    gamma : float
        The weight of must-links.

    Returns
    -------
    Graph
        Must-links and neighbours, weighted.
    """
    unlabelled = known.unlabelled
    free = near.keep(unlabelled[near.left] | unlabelled[near.right])
    return free.reweigh(1.0), must_graph(known, gamma)


def constrained_graph(
    X: Any, near: Edges, known: Supervision, sigma: float, n_jobs: int | None = None
) -> Graph:
    """Weigh neighbours and must-links by a Gaussian (C5).

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    Graph
        Must-links and neighbours, weighted.
    """
    return gaussian_edges(near, sigma), *_far_must(X, near, known, sigma, n_jobs)


def reward_graph(
    X: Any, near: Edges, known: Supervision, sigma: float, n_jobs: int | None = None
) -> Graph:
    """Build the C6 graph: weight where labels and distances disagree, plus ordinary neighbours.

    Labels and distances disagree on near cannot-links and on far must-links. With `g` the
    Gaussian: `g + g^2` on near cannot-links, `g^2` on must-links that are not near, 0 on near
    must-links and `g` on all other neighbours.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    Graph
        Neighbours and far must-links, weighted.
    """
    weights = gaussian_edges(near, sigma).weights
    must, cannot = _linked(near, known)
    weights = np.where(must, 0.0, np.where(cannot, weights + weights**2, weights))
    # The square of a Gaussian is the Gaussian of a width smaller by the square root of 2.
    narrow = sigma / np.sqrt(2.0)
    return near.reweigh(weights), *_far_must(X, near, known, narrow, n_jobs)


def compensated_graph(
    near: Edges, known: Supervision, sigma: float, gamma: float, compensation: float
) -> Graph:
    """Weigh must-links by 1 if near, else by `compensation`; damp near cannot-links (C7).

    Parameters
    ----------
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.
    gamma : float
        How much near cannot-links are damped: they weigh `1 - gamma` times the Gaussian.
    compensation : float
        The weight of must-links that are not near.

    Returns
    -------
    Graph
        Must-links and neighbours, weighted.
    """
    weights = gaussian_edges(near, sigma).weights
    must, cannot = _linked(near, known)
    # Equation 30 of Salmi, Hammouche & Macaire (2020). By their equation 25 near cannot-links would
    # weigh more than other neighbours, although these samples should be told apart.
    # All must-links get `compensation` from their own graph; near ones are topped up to 1.
    weights = np.where(must, 1.0 - compensation, np.where(cannot, (1.0 - gamma) * weights, weights))
    return near.reweigh(weights), must_graph(known, compensation)


def affinity_graph(near: Edges, known: Supervision, sigma: float) -> Edges:
    """Weigh neighbours by a Gaussian and must-links by 1, without cannot-links (Kamvar et al.).

    Parameters
    ----------
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    sigma : float
        The width of the Gaussian in `exp(-distance^2 / (2 sigma^2))`.

    Returns
    -------
    Edges
        The affinity of neighbours and must-links.
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
    """Join each sample to the nearest of its own class, and to the nearest of all others.

    Either end may find the other. Where there are fewer than `n_neighbors`, all are joined.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample.
    n_neighbors : int
        How many neighbours of each kind a sample is joined to.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    same, other : Edges
        Neighbours of the same class, and of another one.
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
    """Tell which edges are must-links and which are cannot-links."""
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
    """Weigh the must-links that are not neighbours by a Gaussian."""
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
