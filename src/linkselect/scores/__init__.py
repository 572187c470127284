"""Scores of single features, as functions of the data, a graph and the supervision.

C1 to C7 are the names of constraint scores in Salmi, Hammouche & Macaire (2020).
"""

from linkselect.scores._pairwise import (
    compensated_laplacian,
    constrained_laplacian,
    constraint_difference,
    constraint_ratio,
    laplacian_constraint,
    lsdf,
    weighted_compensated_laplacian,
    weighted_constrained_laplacian,
)
from linkselect.scores._relief import relieff
from linkselect.scores._supervised import fisher, fisher_markov, frll
from linkselect.scores._unsupervised import laplacian, sparsity, spectral, variance

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
    "sparsity",
    "spectral",
    "variance",
    "weighted_compensated_laplacian",
    "weighted_constrained_laplacian",
]
