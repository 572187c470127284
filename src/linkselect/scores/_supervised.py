"""Scores that need a label for every sample."""

from typing import Any, Literal

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._forms import from_moments, laplacian_form, ratio
from linkselect._samples.moments import Moments
from linkselect.graphs._graph_types import Edges


@cites("duda2001")
def fisher(X: Any, classes: IntArray, n_jobs: int | None = None) -> FloatArray:
    """Compare the scatter of class means with the scatter inside classes; larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, from 0 on.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Subtract gamma times the variance from the variance of class means; larger is better.

    As published, `(1/n) sum_c (sum_{i in c} f_i)^2 / n_c - (gamma/n) sum f_i^2 + ((gamma-1)/n^2)
    (sum f_i)^2`. The squared mean enters the three terms with the factors 1, -gamma and gamma - 1,
    so it cancels, and what is left are variances, which a large mean does not disturb.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, from 0 on.
    gamma : float
        The factor of the variance; negative values reward it.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Compare the change towards neighbours of other classes and of the own; larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    same : Edges
        Neighbours of the same class.
    other : Edges
        Neighbours of another class.
    criterion : {"quotient", "difference"}
        Whether the two changes are divided or subtracted.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    across, inside = laplacian_form(X, other, n_jobs), laplacian_form(X, same, n_jobs)
    return ratio(across, inside) if criterion == "quotient" else across - inside
