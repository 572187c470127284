"""The scikit-learn selectors: check the input, call a score, keep the ranking."""

from linkselect.selectors.pairwise import (
    LSDF,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    LaplacianConstraintScore,
)
from linkselect.selectors.supervised import FRLL, FisherMarkov, FisherScore, ReliefF
from linkselect.selectors.unsupervised import LaplacianScore, SpectralScore, VarianceScore

__all__ = [
    "FRLL",
    "LSDF",
    "CompensatedLaplacianScore",
    "ConstrainedLaplacianScore",
    "ConstraintScore",
    "FisherMarkov",
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "ReliefF",
    "SpectralScore",
    "VarianceScore",
]
