"""The scikit-learn selectors: check the input, call a score, keep the ranking."""

from linkselect.selectors.information import FCBF, MRMR
from linkselect.selectors.pairwise import (
    LSDF,
    CompensatedLaplacianScore,
    ConstrainedLaplacianScore,
    ConstraintScore,
    LaplacianConstraintScore,
)
from linkselect.selectors.score_function import ScoreFunction
from linkselect.selectors.search import (
    NearestNeighborSFS,
    SimilarityConstraintScore,
    TraceRatio,
)
from linkselect.selectors.semisupervised import SCGS, EnsembleCLS
from linkselect.selectors.sparsity import SparsityScore
from linkselect.selectors.supervised import FRLL, FisherMarkov, FisherScore, ReliefF
from linkselect.selectors.unsupervised import LaplacianScore, SpectralScore, VarianceScore
from linkselect.selectors.wrappers import Redundancy, StableSelector

__all__ = [
    "FCBF",
    "FRLL",
    "LSDF",
    "MRMR",
    "SCGS",
    "CompensatedLaplacianScore",
    "ConstrainedLaplacianScore",
    "ConstraintScore",
    "EnsembleCLS",
    "FisherMarkov",
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "NearestNeighborSFS",
    "Redundancy",
    "ReliefF",
    "ScoreFunction",
    "SimilarityConstraintScore",
    "SparsityScore",
    "SpectralScore",
    "StableSelector",
    "TraceRatio",
    "VarianceScore",
]
