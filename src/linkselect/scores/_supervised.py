"""Scores that require a label for every sample."""

from typing import Any, Literal

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect._forms import from_moments, laplacian_form, ratio
from linkselect._samples.moments import Moments
from linkselect.graphs._graph_types import Edges


@cites("duda2001")
def fisher(X: Any, classes: IntArray, n_jobs: int | None = None) -> FloatArray:
    """Compute the Fisher score, the ratio of between-class scatter to within-class scatter.

    Larger is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

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
    """Compute the Fisher-Markov score, the variance of class means minus gamma times the variance.

    Larger scores are better. The published formula is `(1/n) sum_c (sum_{i in c} f_i)^2 / n_c -
    (gamma/n) sum f_i^2 + ((gamma-1)/n^2) (sum f_i)^2`. The squared mean is contained in its three
    terms with the factors 1, -gamma and gamma - 1, so it cancels. The score is computed from
    variances, which retains precision for features with a large mean.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    classes : ndarray of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    gamma : float
        Weight of the variance; negative values reward a large variance.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

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
    """Compute the FRLL score from nearest neighbours of the same class and of other classes.

    The score compares the sum of squared differences between neighbours of different classes with
    the same sum for neighbours of the same class. Larger scores are better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    same : Edges
        Edges between neighbours of the same class.
    other : Edges
        Edges between neighbours of different classes.
    criterion : {"quotient", "difference"}
        Whether the score is the quotient or the difference of the two sums.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    across, inside = laplacian_form(X, other, n_jobs), laplacian_form(X, same, n_jobs)
    return ratio(across, inside) if criterion == "quotient" else across - inside
