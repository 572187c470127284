"""Scores that look at the samples only."""

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray
from linkselect._bibliography import cites
from linkselect._forms import degree_form, laplacian_form, ratio, reconstruction_form
from linkselect.graphs._graph_types import Graph, degrees


@cites("duda2001")
def variance(X: Any, n_jobs: int | None = None) -> FloatArray:
    """Average the squared deviation from the mean; larger is better."""
    n_samples = X.shape[0]
    return degree_form(X, np.ones(n_samples), n_jobs=n_jobs) / n_samples


@cites("he2005")
def laplacian(X: Any, graph: Graph, n_jobs: int | None = None) -> FloatArray:
    """Compare the change along edges with the overall spread; smaller is better.

    `f'Lf / g'Dg`, where g is f without its mean under the degrees.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    graph : Edges, Groups, Kernel or a tuple of these
        The graph whose edges say which samples are alike.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # By the mean under the degrees, as He, Cai & Niyogi (2005) have it; equation 2 of Zhang, Chen &
    # Zhou (2008) subtracts the plain mean.
    return ratio(laplacian_form(X, graph, n_jobs), degree_form(X, degrees(graph), n_jobs=n_jobs))


@cites("zhao2007")
def spectral(
    X: Any,
    graph: Graph,
    style: Literal[1, 2, 3],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compare a feature with the spectrum of the normalised Laplacian (SPEC).

    With `h = D^(1/2) f` scaled to norm 1 and eigenpairs (lambda_j, xi_j) of the normalised
    Laplacian Ln, of which xi_1 is the trivial one:

    1. `h' Ln h`; smaller is better.
    2. the same over `1 - (h'xi_1)^2`; smaller is better.
    3. the sum over j >= 2 of `(2 - lambda_j) (h'xi_j)^2`; larger is better.

    No eigenvector is needed: `h' Ln h = f'Lf / f'Df` and `1 - (h'xi_1)^2 = g'Dg / f'Df`, and
    the sum over all j of `(2 - lambda_j) (h'xi_j)^2` is `2 - h' Ln h`.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    graph : Edges, Groups, Kernel or a tuple of these
        The graph whose edges say which samples are alike.
    style : {1, 2, 3}
        Which of the three scores above.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    weights = degrees(graph)
    energy = degree_form(X, weights, centred=False, n_jobs=n_jobs)
    change = laplacian_form(X, graph, n_jobs)
    if style == 1:
        return ratio(change, energy)
    spread = degree_form(X, weights, n_jobs=n_jobs)
    return ratio(change, spread) if style == 2 else ratio(2.0 * spread - change, energy)


@cites("liu2012")
def sparsity(X: Any, weights: csr_array, n_jobs: int | None = None) -> FloatArray:
    """Compare the reconstruction error of a feature with its variance; smaller is better.

    `|f - S f|^2 / mean((f - mean(f))^2)`, where the rows of the weights S sum to 1. This is eq. 9
    of the paper; its eq. 10 has `S S'` where the sum needs `S' S`, and a denominator n times as
    large.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples, in memory.
    weights : csr_array of shape (n_samples, n_samples)
        The weights by which samples reconstruct each other.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    return ratio(reconstruction_form(X, weights, n_jobs), variance(X, n_jobs))
