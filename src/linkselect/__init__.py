"""Select features from must-link and cannot-link pairs, a few labels, all labels, or none."""

from linkselect.pairs import Pairs
from linkselect.selectors import (
    FRLL,
    LSDF,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    FisherMarkov,
    FisherScore,
    LaplacianConstraintScore,
    LaplacianScore,
    ReliefF,
    SpectralScore,
    VarianceScore,
)

__version__ = "0.1.0"

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
    "Pairs",
    "ReliefF",
    "SpectralScore",
    "VarianceScore",
]
