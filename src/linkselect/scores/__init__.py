"""Scores of single features: pure functions of the data, graphs and supervision."""

from linkselect.scores.pairwise import (
    compensated_laplacian,
    constrained_laplacian,
    constraint_difference,
    constraint_ratio,
    laplacian_constraint,
    lsdf,
)
from linkselect.scores.supervised import fisher, frll
from linkselect.scores.unsupervised import laplacian, sparsity, spectral, variance

__all__ = [
    "compensated_laplacian",
    "constrained_laplacian",
    "constraint_difference",
    "constraint_ratio",
    "fisher",
    "frll",
    "laplacian",
    "laplacian_constraint",
    "lsdf",
    "sparsity",
    "spectral",
    "variance",
]
