"""Scores based on must-links and cannot-links, alone or combined with unlabelled samples."""

from typing import Any, Literal

import numpy as np

from linkselect._arrays import FloatArray
from linkselect._bibliography import cites
from linkselect._forms import degree_form, from_moments, laplacian_form, laplacian_forms, ratio
from linkselect._samples.devices import namespace_of
from linkselect._samples.moments import Moments
from linkselect._supervision import Supervision
from linkselect.graphs import _link_graphs as link_graphs
from linkselect.graphs._distance_graphs import gaussian_edges
from linkselect.graphs._graph_types import Edges, Graph, degrees
from linkselect.scores._unsupervised import laplacian


@cites("zhang2008")
def constraint_ratio(X: Any, known: Supervision, n_jobs: int | None = None) -> FloatArray:
    """Compute Constraint Score-1 (C1), the ratio of must-link variation to cannot-link variation.

    The variation is the weighted sum of squared differences over the pairs. Smaller scores are
    better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 5 of Zhang, Chen & Zhou (2008).
    return ratio(
        *laplacian_forms(X, link_graphs.must_graph(known), link_graphs.cannot_graph(known), n_jobs)
    )


@cites("zhang2008")
def constraint_difference(
    X: Any, known: Supervision, weight: float, n_jobs: int | None = None
) -> FloatArray:
    """Compute Constraint Score-2 (C2), the must-link variation minus the cannot-link variation.

    The variation is the weighted sum of squared differences over the pairs. The variation along
    cannot-links is multiplied by `weight`. Smaller scores are better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    weight : float
        Weight of cannot-links in the difference.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 6 of Zhang, Chen & Zhou (2008).
    alike, apart = laplacian_forms(
        X, link_graphs.must_graph(known), link_graphs.cannot_graph(known), n_jobs
    )
    return alike - weight * apart


@cites("zhao2008", "salmi2020")
def lsdf(
    X: Any, near: Edges, known: Supervision, gamma: float, n_jobs: int | None = None
) -> FloatArray:
    """Compute the LSDF score (C3), the ratio of graph variation to cannot-link variation.

    The graph joins must-linked samples, and neighbours of which at least one is unlabelled.
    Smaller scores are better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    gamma : float
        Weight of must-links; the other edges have weight 1.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equations 12 and 13 of Salmi, Hammouche & Macaire (2020).
    alike = laplacian_form(X, link_graphs.lsdf_graph(near, known, gamma), n_jobs)
    return ratio(alike, laplacian_form(X, link_graphs.cannot_graph(known), n_jobs))


@cites("kalakech2011", "salmi2020")
def laplacian_constraint(
    X: Any, kernel: Graph, known: Supervision, n_jobs: int | None = None
) -> FloatArray:
    """Compute the product of the Laplacian Score and Constraint Score-1 (C4).

    Smaller scores are better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    kernel : Edges, Groups, Kernel or a tuple of these
        The graph of the Laplacian Score. In the paper, it contains all pairs of samples with
        Gaussian weights.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    with np.errstate(invalid="ignore"):  # infinity times 0 is NaN
        return laplacian(X, kernel, n_jobs) * constraint_ratio(X, known, n_jobs)


@cites("benabdeslem2011", "benabdeslem2014", "salmi2020")
def constrained_laplacian(
    X: Any,
    near: Edges,
    known: Supervision,
    sigma: float,
    variant: Literal["2011", "2014"],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute the constrained Laplacian score (C5, C6) from nearest neighbours and pairs.

    The score is the variation between similar samples divided by the variation between dissimilar
    samples, so smaller scores are better. The weight of a sample is the sum of the weights of its
    edges. These edges join a sample to its neighbours and must-linked samples in variant "2011"
    (C5), and only to its neighbours in variant "2014" (C6).

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        Width of the Gaussian `exp(-distance^2 / (2 sigma^2))`.
    variant : {"2011", "2014"}
        The year of the paper that defines the score.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    if variant == "2011":
        alike = link_graphs.constrained_graph(X, near, known, sigma, n_jobs)
        weights = degrees(alike)
    else:
        alike = link_graphs.reward_graph(X, near, known, sigma, n_jobs)
        weights = degrees(gaussian_edges(near, sigma))
    return weighted_constrained_laplacian(X, alike, known, weights, n_jobs)


@cites("benabdeslem2011", "benabdeslem2014", "salmi2020")
def weighted_constrained_laplacian(
    X: Any, alike: Graph, known: Supervision, weights: FloatArray, n_jobs: int | None = None
) -> FloatArray:
    """Compute the constrained Laplacian score (C5, C6) from a graph and sample weights.

    The denominator is the variation along cannot-links plus the weighted scatter of unlabelled
    samples about the overall mean. Each cannot-link is weighted by the sum of the weights of its
    two samples.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    alike : Edges, Groups, Kernel or a tuple of these
        The graph of similar samples.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    weights : ndarray of shape (n_samples,)
        The weight of each sample.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 19 of Salmi, Hammouche & Macaire (2020) uses the same end of a cannot-link twice,
    # which makes its term 0; Benabdeslem & Hindawi (2011) use both ends. The equation also omits
    # all unlabelled samples, but without labels the score should equal the Laplacian Score.
    apart: FloatArray | float = 0.0
    if known.unlabelled.any():
        apart = _free_spread(X, known, weights, n_jobs)
    if known.has_cannot:
        apart = apart + laplacian_form(X, link_graphs.cannot_graph(known, weights), n_jobs)
    # The factor of 2 is needed because the published sums run over ordered pairs.
    return ratio(2.0 * laplacian_form(X, alike, n_jobs), apart)


@cites("yang2016", "salmi2020")
def compensated_laplacian(
    X: Any,
    near: Edges,
    known: Supervision,
    sigma: float,
    gamma: float,
    compensation: float,
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute the compensated Laplacian score (C7) from nearest neighbours and pairs.

    The numerator of the score is the variation between similar samples. The denominator is the
    total scatter, plus the scatter between classes, minus the scatter within classes. Smaller
    scores are better; the score is NaN if the denominator is not positive.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    near : Edges
        The nearest-neighbour graph, weighted by squared distance.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    sigma : float
        Width of the Gaussian `exp(-distance^2 / (2 sigma^2))`.
    gamma : float
        The weight of cannot-links between neighbours is `1 - gamma` times the Gaussian.
    compensation : float
        Weight of must-links between samples that are not neighbours.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    alike = link_graphs.compensated_graph(near, known, sigma, gamma, compensation)
    return weighted_compensated_laplacian(X, alike, known, degrees(alike), n_jobs)


@cites("yang2016", "salmi2020")
def weighted_compensated_laplacian(
    X: Any, alike: Graph, known: Supervision, weights: FloatArray, n_jobs: int | None = None
) -> FloatArray:
    """Compute the compensated Laplacian score (C7) from a graph and sample weights.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    alike : Edges, Groups, Kernel or a tuple of these
        The graph of similar samples.
    known : Supervision
        The supervision: classes, must-links and cannot-links.
    weights : ndarray of shape (n_samples,)
        The weight of each sample.
    n_jobs : int, optional
        Number of threads. Default: the number of threads that BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 24 of Salmi, Hammouche & Macaire (2020). Equation 27 is the scatter between classes
    # and equation 28 that within classes: the paper's text swaps the two, and its equation 29 has
    # the opposite sign.
    total = degree_form(X, weights, n_jobs=n_jobs)

    classes = (known.classes, None)
    gaps = from_moments(lambda own: own.between() - own.within(), X, classes, n_jobs=n_jobs)
    denominator = total + gaps
    score = ratio(2.0 * laplacian_form(X, alike, n_jobs), denominator)
    xp = namespace_of(score)
    return xp.where(denominator > 0, score, xp.full_like(score, np.nan))


def _free_spread(X: Any, known: Supervision, weights: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return the weighted sum of squared deviations of unlabelled samples from the overall mean."""
    labelled = (~known.unlabelled).astype(np.intp)

    def spread(parts: Moments) -> FloatArray:
        from_overall = parts.means_minus_group(parts.together(), 0)[0, :]
        return parts.scatter[0, :] + parts.mass[0] * from_overall**2

    return from_moments(spread, X, (labelled, weights), n_jobs=n_jobs)
