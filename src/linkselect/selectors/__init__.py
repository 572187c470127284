"""The scikit-learn selectors: check the input, call a score, keep the ranking."""

from linkselect.selectors.compensated_laplacian_score import CompensatedLaplacianScore
from linkselect.selectors.consensus_selector import ConsensusSelector
from linkselect.selectors.constrained_laplacian_score import ConstrainedLaplacianScore
from linkselect.selectors.constraint_score import ConstraintScore
from linkselect.selectors.ensemble_cls import EnsembleCLS
from linkselect.selectors.fcbf import FCBF
from linkselect.selectors.fisher_markov import FisherMarkov
from linkselect.selectors.fisher_score import FisherScore
from linkselect.selectors.frll import FRLL
from linkselect.selectors.laplacian_constraint_score import LaplacianConstraintScore
from linkselect.selectors.laplacian_score import LaplacianScore
from linkselect.selectors.lsdf import LSDF
from linkselect.selectors.mrmr import MRMR
from linkselect.selectors.nearest_neighbor_sfs import NearestNeighborSFS
from linkselect.selectors.redundancy import Redundancy
from linkselect.selectors.relieff import ReliefF
from linkselect.selectors.scgs import SCGS
from linkselect.selectors.score_function import ScoreFunction
from linkselect.selectors.similarity_constraint_score import SimilarityConstraintScore
from linkselect.selectors.sparsity_score import SparsityScore
from linkselect.selectors.spectral_score import SpectralScore
from linkselect.selectors.stable_selector import StableSelector
from linkselect.selectors.trace_ratio import TraceRatio
from linkselect.selectors.variance_score import VarianceScore

__all__ = [
    "FCBF",
    "FRLL",
    "LSDF",
    "MRMR",
    "SCGS",
    "CompensatedLaplacianScore",
    "ConsensusSelector",
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
