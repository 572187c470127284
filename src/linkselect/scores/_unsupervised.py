"""Scores that do not use any labels or pairs."""

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray
from linkselect._bibliography import cites
from linkselect._forms import degree_form, laplacian_form, ratio, reconstruction_form
from linkselect.graphs._graph_types import Graph, degrees


@cites("duda2001")
def variance(X: Any, n_jobs: int | None = None) -> FloatArray:
    """Compute the variance of each feature with divisor `n_samples`. Larger scores are better."""
    n_samples = X.shape[0]
    return degree_form(X, np.ones(n_samples), n_jobs=n_jobs) / n_samples


@cites("he2005")
def laplacian(X: Any, graph: Graph, n_jobs: int | None = None) -> FloatArray:
    """Compute the Laplacian Score, the ratio of variation along graph edges to weighted variance.

    The score of a feature f is `f'Lf / g'Dg`, where L is the graph Laplacian, D is the diagonal
    matrix of degrees, and g is f minus its degree-weighted mean. Smaller scores are better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    graph : Edges, Groups, Kernel or a tuple of these
        The graph of similar samples.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # The mean is weighted by the degrees, as in He, Cai & Niyogi (2005). Equation 2 of Zhang, Chen
    # & Zhou (2008) subtracts the unweighted mean.
    return ratio(laplacian_form(X, graph, n_jobs), degree_form(X, degrees(graph), n_jobs=n_jobs))


@cites("zhao2007")
def spectral(
    X: Any,
    graph: Graph,
    style: Literal[1, 2, 3],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute the SPEC score, which relates a feature to the spectrum of the graph Laplacian.

    Let `h` be `D^(1/2) f`, scaled to unit norm, and let (lambda_j, xi_j) be the eigenpairs of the
    normalised Laplacian Ln, with the trivial eigenvector xi_1. There are three styles of the score:

    1. `h' Ln h`; smaller is better.
    2. `h' Ln h / (1 - (h'xi_1)^2)`; smaller is better.
    3. the sum over j >= 2 of `(2 - lambda_j) (h'xi_j)^2`; larger is better.

    No eigenvectors need to be computed, because `h' Ln h = f'Lf / f'Df`,
    `1 - (h'xi_1)^2 = g'Dg / f'Df` with g as in `laplacian`, and the sum over all j of
    `(2 - lambda_j) (h'xi_j)^2` is `2 - h' Ln h`.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    graph : Edges, Groups, Kernel or a tuple of these
        The graph of similar samples.
    style : {1, 2, 3}
        The number of the style in the list above.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

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
    """Compute the Sparsity Score, the reconstruction error of a feature divided by its variance.

    The score is `|f - S f|^2 / mean((f - mean(f))^2)`, where the rows of the weight matrix S sum to
    1. Smaller scores are better. This is equation 9 of the paper. Equation 10 of the paper contains
    `S S'` instead of `S' S`, and its denominator is n times as large.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples, in memory.
    weights : csr_array of shape (n_samples, n_samples)
        The reconstruction weights S, as returned by `reconstruction_weights`.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    return ratio(reconstruction_form(X, weights, n_jobs), variance(X, n_jobs))
