"""Scores of single features: pure functions of the data, graphs and supervision."""

from linkselect.scores.pairwise import (
    compensated_laplacian,
    constrained_laplacian,
    constraint_difference,
    constraint_ratio,
    laplacian_constraint,
    lsdf,
)
from linkselect.scores.relief import relieff
from linkselect.scores.supervised import fisher, fisher_markov, frll
from linkselect.scores.unsupervised import laplacian, spectral, variance

__all__ = [
    "compensated_laplacian",
    "constrained_laplacian",
    "constraint_difference",
    "constraint_ratio",
    "fisher",
    "fisher_markov",
    "frll",
    "laplacian",
    "laplacian_constraint",
    "lsdf",
    "relieff",
    "spectral",
    "variance",
]
