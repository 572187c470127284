"""Scores of single features: pure functions of the data, graphs and supervision."""

from linkselect.scores.ensemble import ensemble_constrained_laplacian
from linkselect.scores.pairwise import (
    compensated_laplacian,
    constrained_laplacian,
    constraint_difference,
    constraint_ratio,
    laplacian_constraint,
    lsdf,
)
from linkselect.scores.relief import relieff
from linkselect.scores.scgs import scgs
from linkselect.scores.supervised import fisher, fisher_markov, frll
from linkselect.scores.unsupervised import laplacian, sparsity, spectral, variance

__all__ = [
    "compensated_laplacian",
    "constrained_laplacian",
    "constraint_difference",
    "constraint_ratio",
    "ensemble_constrained_laplacian",
    "fisher",
    "fisher_markov",
    "frll",
    "laplacian",
    "laplacian_constraint",
    "lsdf",
    "relieff",
    "scgs",
    "sparsity",
    "spectral",
    "variance",
]
