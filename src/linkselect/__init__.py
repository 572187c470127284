"""Select features from must-link and cannot-link pairs, a few labels, all labels, or none."""

from linkselect.cluster import ConstrainedSpectralClustering, COPKMeans
from linkselect.pairs import Pairs
from linkselect.selectors import (
    FCBF,
    FRLL,
    LSDF,
    MRMR,
    SCGS,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    EnsembleCLS,
    FisherMarkov,
    FisherScore,
    LaplacianConstraintScore,
    LaplacianScore,
    NearestNeighborSFS,
    Redundancy,
    ReliefF,
    SimilarityConstraintScore,
    SparsityScore,
    SpectralScore,
    StableSelector,
    TraceRatio,
    VarianceScore,
)

__version__ = "0.1.0"

__all__ = [
    "FCBF",
    "FRLL",
    "LSDF",
    "MRMR",
    "SCGS",
    "COPKMeans",
    "CompensatedLaplacianScore",
    "ConstrainedLaplacianScore",
    "ConstrainedSpectralClustering",
    "ConstraintScore",
    "EnsembleCLS",
    "FisherMarkov",
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "NearestNeighborSFS",
    "Pairs",
    "Redundancy",
    "ReliefF",
    "SimilarityConstraintScore",
    "SparsityScore",
    "SpectralScore",
    "StableSelector",
    "TraceRatio",
    "VarianceScore",
]
