"""Scores that Salmi, Hammouche & Macaire (2020) read differently from their first publication.

Each sample is joined with itself by a weight of 1, which counts in its degree. Their equation 1 has
it for the complete graph. For neighbours CNAE-9 shows it: its samples are so far apart that this
weight decides. The paper has 11.5 % for the Laplacian Score there and 19.1 % for C7, and so have
these readings (11.7 and 19.2); joined with others alone the scores have 52 %.

Every function takes the data, and what is known of it if the score looks at that, and returns one
score per feature; smaller is better.
"""

from __future__ import annotations

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._supervision import Supervision
from linkselect.graphs import (
    Edges,
    compensated_graph,
    constrained_graph,
    degrees,
    gaussian_edges,
    kernel_graph,
    nearest_edges,
    reward_graph,
)

SIGMA = 1.0  # of all Gaussian weights
N_NEAREST = 5  # of C3, C5, C6 and C7, the sample itself among them
WITH_ITSELF = 1.0
# Of C7, as the paper sets them.
GAMMA, COMPENSATION = 0.9, 0.5


def laplacian_score(X: FloatArray) -> FloatArray:
    """Compute the Laplacian Score on the complete graph of equations 1 and 15."""
    return scores.laplacian(X, kernel_graph(X, SIGMA, n_jobs=1), 1)


def spec(X: FloatArray) -> FloatArray:
    """Compute the first style of SPEC on the complete graph."""
    return scores.spectral(X, kernel_graph(X, SIGMA, n_jobs=1), 1, 1)


def c5(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute the constrained Laplacian score of Benabdeslem & Hindawi (2011), C5."""
    alike = constrained_graph(X, _neighbors(X), known, SIGMA, 1)
    weights = degrees(alike) + WITH_ITSELF
    return scores.weighted_constrained_laplacian(X, alike, known, weights, 1)


def c6(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute the second constrained Laplacian score, of Benabdeslem & Hindawi (2014), C6."""
    near = _neighbors(X)
    alike = reward_graph(X, near, known, SIGMA, 1)
    weights = degrees(gaussian_edges(near, SIGMA)) + WITH_ITSELF
    return scores.weighted_constrained_laplacian(X, alike, known, weights, 1)


def c7(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute the compensated Laplacian score, C7."""
    alike = compensated_graph(_neighbors(X), known, SIGMA, GAMMA, COMPENSATION)
    weights = degrees(alike) + WITH_ITSELF
    return scores.weighted_compensated_laplacian(X, alike, known, weights, 1)


def _neighbors(X: FloatArray) -> Edges:
    return nearest_edges(X, N_NEAREST - 1, 1)
