"""The scikit-learn selectors: check the input, call a score, keep the ranking."""

from linkselect.selectors._compensated_laplacian_score import CompensatedLaplacianScore
from linkselect.selectors._consensus_selector import ConsensusSelector
from linkselect.selectors._constrained_laplacian_score import ConstrainedLaplacianScore
from linkselect.selectors._constraint_score import ConstraintScore
from linkselect.selectors._ensemble_cls import EnsembleCLS
from linkselect.selectors._fcbf import FCBF
from linkselect.selectors._fisher_markov import FisherMarkov
from linkselect.selectors._fisher_score import FisherScore
from linkselect.selectors._frll import FRLL
from linkselect.selectors._laplacian_constraint_score import LaplacianConstraintScore
from linkselect.selectors._laplacian_score import LaplacianScore
from linkselect.selectors._lsdf import LSDF
from linkselect.selectors._mrmr import MRMR
from linkselect.selectors._nearest_neighbor_sfs import NearestNeighborSFS
from linkselect.selectors._redundancy import Redundancy
from linkselect.selectors._relieff import ReliefF
from linkselect.selectors._scgs import SCGS
from linkselect.selectors._score_function import ScoreFunction
from linkselect.selectors._similarity_constraint_score import SimilarityConstraintScore
from linkselect.selectors._sparsity_score import SparsityScore
from linkselect.selectors._spectral_score import SpectralScore
from linkselect.selectors._stable_selector import StableSelector
from linkselect.selectors._trace_ratio import TraceRatio
from linkselect.selectors._variance_score import VarianceScore

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
