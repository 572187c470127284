"""Select features from must-link and cannot-link pairs, a few labels, all labels, or none."""

from linkselect.pairs import Pairs
from linkselect.selectors import (
    FRLL,
    LSDF,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    FisherScore,
    LaplacianConstraintScore,
    LaplacianScore,
    SparsityScore,
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
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "Pairs",
    "SparsityScore",
    "SpectralScore",
    "VarianceScore",
]
