"""The scikit-learn selectors: check the input, call a score, keep the ranking."""

from linkselect.selectors.pairwise import (
    LSDF,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    LaplacianConstraintScore,
)
from linkselect.selectors.sparsity import SparsityScore
from linkselect.selectors.supervised import FRLL, FisherScore
from linkselect.selectors.unsupervised import LaplacianScore, SpectralScore, VarianceScore

__all__ = [
    "FRLL",
    "LSDF",
    "CompensatedLaplacianScore",
    "ConstrainedLaplacianScore",
    "ConstraintScore",
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "SparsityScore",
    "SpectralScore",
    "VarianceScore",
]
