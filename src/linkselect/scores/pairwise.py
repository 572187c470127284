"""Scores that look at must-link and cannot-link pairs, alone or besides all samples."""

from __future__ import annotations

from typing import Literal

import numpy as np

from linkselect.arrays import FloatArray, Matrix
from linkselect.blocks import blockwise
from linkselect.forms import degree_form, laplacian_form, moments
from linkselect.graphs.kernels import gaussian_edges
from linkselect.graphs.kinds import Edges, Graph, degrees
from linkselect.graphs.links import (
    cannot_graph,
    compensated_graph,
    constrained_graph,
    lsdf_graph,
    must_graph,
    reward_graph,
)
from linkselect.scores.ratios import ratio
from linkselect.scores.unsupervised import laplacian
from linkselect.supervision import Supervision

__all__ = [
    "compensated_laplacian",
    "constrained_laplacian",
    "constraint_difference",
    "constraint_ratio",
    "laplacian_constraint",
    "lsdf",
]


def constraint_ratio(X: Matrix, supervision: Supervision, n_jobs: int | None = None) -> FloatArray:
    """Compare the change along must-links with that along cannot-links; smaller is better."""
    apart = laplacian_form(X, cannot_graph(supervision), n_jobs)
    return ratio(laplacian_form(X, must_graph(supervision), n_jobs), apart)


def constraint_difference(
    X: Matrix, supervision: Supervision, weight: float, n_jobs: int | None = None
) -> FloatArray:
    """Subtract the weighted change along cannot-links from must-links'; smaller is better."""
    apart = laplacian_form(X, cannot_graph(supervision), n_jobs)
    return laplacian_form(X, must_graph(supervision), n_jobs) - weight * apart


def lsdf(
    X: Matrix, near: Edges, supervision: Supervision, gamma: float, n_jobs: int | None = None
) -> FloatArray:
    """Compare the change among the alike with that along cannot-links (C3); smaller is better."""
    alike = laplacian_form(X, lsdf_graph(near, supervision, gamma), n_jobs)
    return ratio(alike, laplacian_form(X, cannot_graph(supervision), n_jobs))


def laplacian_constraint(
    X: Matrix, kernel: Graph, supervision: Supervision, n_jobs: int | None = None
) -> FloatArray:
    """Multiply Laplacian Score on a kernel graph by Constraint Score (C4); smaller is better."""
    with np.errstate(invalid="ignore"):  # infinity times 0 is as undefined as 0 / 0
        return laplacian(X, kernel, n_jobs) * constraint_ratio(X, supervision, n_jobs)


def constrained_laplacian(
    X: Matrix,
    near: Edges,
    supervision: Supervision,
    sigma: float,
    variant: Literal["2011", "2014"],
    n_jobs: int | None = None,
    *,
    self_weight: float = 0.0,
) -> FloatArray:
    """Compare the change among the alike with what should change (C5, C6); smaller is better.

    The denominator has cannot-links, weighted by the degrees of their ends, and the spread of
    unlabelled samples about the overall mean. A sample's weight with itself counts in its degree.
    """
    if variant == "2011":
        alike = constrained_graph(X, near, supervision, sigma, n_jobs)
        weights = degrees(alike) + self_weight
    else:
        alike = reward_graph(X, near, supervision, sigma, n_jobs)
        weights = degrees(gaussian_edges(near, sigma)) + self_weight
    apart = _free_spread(X, supervision, weights, n_jobs)
    if supervision.has_cannot:
        apart += laplacian_form(X, cannot_graph(supervision, weights), n_jobs)
    return ratio(2.0 * laplacian_form(X, alike, n_jobs), apart)


def compensated_laplacian(
    X: Matrix,
    near: Edges,
    supervision: Supervision,
    sigma: float,
    gamma: float,
    compensation: float,
    n_jobs: int | None = None,
    *,
    self_weight: float = 0.0,
) -> FloatArray:
    """Compare the change among alike samples with total plus between minus within scatter (C7).

    Smaller is better; where the denominator is not positive the score is NaN. A sample's weight
    with itself counts in its degree.
    """
    graph = compensated_graph(near, supervision, sigma, gamma, compensation)
    total = degree_form(X, degrees(graph) + self_weight, n_jobs=n_jobs)

    def between_less_within(block: Matrix) -> FloatArray:
        parts = moments(block, supervision.classes)
        return parts.between() - parts.within()

    denominator = total + blockwise(between_less_within, X, n_jobs=n_jobs)
    score = ratio(2.0 * laplacian_form(X, graph, n_jobs), denominator)
    return np.where(denominator > 0, score, np.nan)


def _free_spread(
    X: Matrix, supervision: Supervision, weights: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Sum the weighted squared deviations of unlabelled samples from the overall mean."""
    labelled = (~supervision.unlabelled).astype(np.intp)
    if labelled.all():
        return np.zeros(X.shape[1])

    def work(block: Matrix) -> FloatArray:
        parts = moments(block, labelled, weights)
        from_overall = parts.means_minus_group(parts.together(), 0)[0]
        return parts.scatter[0] + parts.mass[0] * from_overall**2

    return blockwise(work, X, n_jobs=n_jobs)
