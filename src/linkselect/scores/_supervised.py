"""Scores that need a label for every sample."""

from typing import Any, Literal

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._forms import from_moments, laplacian_form, ratio
from linkselect._samples.moments import Moments
from linkselect.graphs._graph_types import Edges


@cites("duda2001")
def fisher(X: Any, classes: IntArray, n_jobs: int | None = None) -> FloatArray:
    """Compute the Fisher score: scatter of class means over scatter within classes.

    Larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_jobs : int, optional
        Number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """

    def score(parts: Moments) -> FloatArray:
        return ratio(parts.between(), parts.within())

    return from_moments(score, X, (classes, None), n_jobs=n_jobs)


@cites("cheng2011")
def fisher_markov(X: Any, classes: IntArray, gamma: float, n_jobs: int | None = None) -> FloatArray:
    """Compute the Fisher-Markov score: variance of class means minus gamma times the variance.

    Larger is better. The published formula is
    `(1/n) sum_c (sum_{i in c} f_i)^2 / n_c - (gamma/n) sum f_i^2 + ((gamma-1)/n^2) (sum f_i)^2`.
    Its three terms contain the squared mean with the factors 1, -gamma and gamma - 1, so it
    cancels. Computing from variances keeps precision for features with a large mean.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    gamma : float
        Weight of the variance; negative values reward a large variance.
    n_jobs : int, optional
        Number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """

    def score(parts: Moments) -> FloatArray:
        between, within = parts.between(), parts.within()
        return (between - gamma * (between + within)) / len(classes)

    return from_moments(score, X, (classes, None), n_jobs=n_jobs)


@cites("pan2013")
def frll(
    X: Any,
    same: Edges,
    other: Edges,
    criterion: Literal["quotient", "difference"],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute the FRLL score from neighbours of the same class and of other classes.

    The score compares the sum of squared differences between neighbours of different classes with
    that between neighbours of the same class. Larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    same : Edges
        Edges between neighbours of the same class.
    other : Edges
        Edges between neighbours of different classes.
    criterion : {"quotient", "difference"}
        Whether the two sums are divided or subtracted.
    n_jobs : int, optional
        Number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    across, inside = laplacian_form(X, other, n_jobs), laplacian_form(X, same, n_jobs)
    return ratio(across, inside) if criterion == "quotient" else across - inside
