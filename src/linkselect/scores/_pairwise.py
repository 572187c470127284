"""Scores that look at must-link and cannot-link pairs, alone or together with all samples."""

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
    """Compare the change along must-links with that along cannot-links; smaller is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Subtract the weighted change along cannot-links from must-links'; smaller is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    weight : float
        The weight of cannot-links in the difference.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Compare the change among the alike with that along cannot-links (C3); smaller is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    near : Edges
        Nearest neighbours, weighted by squared distance.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    gamma : float
        The weight of must-links; neighbours weigh 1.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Multiply Laplacian Score on a kernel graph by Constraint Score (C4); smaller is better.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    kernel : Edges, Groups, Kernel or a tuple of these
        The graph of the Laplacian Score; in the paper all pairs of samples, weighted by a Gaussian.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    with np.errstate(invalid="ignore"):  # infinity times 0 is as undefined as 0 / 0
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
    """Divide the variation between alike samples by that between unlike ones (C5, C6).

    Smaller is better. Samples weigh as much as their edges do together: in variant "2011" those of
    neighbours and must-links, in variant "2014" those of neighbours.

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
    variant : {"2011", "2014"}
        Which of the two papers defines the score.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Compute the ratio of C5 and C6 from their graph and the weight of each sample.

    The denominator has cannot-links, weighted by the sum over their two ends, and the weighted
    spread of unlabelled samples about the overall mean.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    alike : Edges, Groups, Kernel or a tuple of these
        The graph of samples that are alike.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    weights : ndarray of shape (n_samples,)
        The weight of each sample.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 19 of Salmi, Hammouche & Macaire (2020) has the same end of a cannot-link twice, so
    # that its term would be 0; Benabdeslem & Hindawi (2011) have both. Its sum would leave all
    # unlabelled samples out, although the Laplacian Score is said to be the case without labels.
    apart: FloatArray | float = 0.0
    if known.unlabelled.any():
        apart = _free_spread(X, known, weights, n_jobs)
    if known.has_cannot:
        apart = apart + laplacian_form(X, link_graphs.cannot_graph(known, weights), n_jobs)
    # Twice, since the published sums run over ordered pairs.
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
    """Divide the variation between alike samples by total plus between minus within scatter (C7).

    Smaller is better; if the denominator is not positive, the score is NaN.

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
    gamma : float
        How much near cannot-links are damped: they weigh `1 - gamma` times the Gaussian.
    compensation : float
        The weight of must-links that are not near.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

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
    """Compute the ratio of C7 from its graph and the weight of each sample in the total scatter.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples: dense, sparse, on a device or stored.
    alike : Edges, Groups, Kernel or a tuple of these
        The graph of samples that are alike.
    known : Supervision
        What is known about the samples: classes, must-links, cannot-links.
    weights : ndarray of shape (n_samples,)
        The weight of each sample.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    """
    # Equation 24 of Salmi, Hammouche & Macaire (2020), with their equation 27 as between and 28 as
    # within: around these the two words are swapped, and equation 29 has the opposite sign.
    total = degree_form(X, weights, n_jobs=n_jobs)

    classes = (known.classes, None)
    gaps = from_moments(lambda own: own.between() - own.within(), X, classes, n_jobs=n_jobs)
    denominator = total + gaps
    score = ratio(2.0 * laplacian_form(X, alike, n_jobs), denominator)
    xp = namespace_of(score)
    return xp.where(denominator > 0, score, xp.full_like(score, np.nan))


def _free_spread(X: Any, known: Supervision, weights: FloatArray, n_jobs: int | None) -> FloatArray:
    """Sum the weighted squared deviations of unlabelled samples from the overall mean."""
    labelled = (~known.unlabelled).astype(np.intp)

    def spread(parts: Moments) -> FloatArray:
        from_overall = parts.means_minus_group(parts.together(), 0)[0, :]
        return parts.scatter[0, :] + parts.mass[0] * from_overall**2

    return from_moments(spread, X, (labelled, weights), n_jobs=n_jobs)
