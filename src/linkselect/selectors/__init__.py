"""Feature selectors with the interface of scikit-learn."""

from typing import Any

from linkselect._messages import warn_user
from linkselect.selectors import _as_score_function
from linkselect.selectors._as_score_function import AsScoreFunction
from linkselect.selectors._compensated_laplacian_score import CompensatedLaplacianScore
from linkselect.selectors._consensus_selector import ConsensusSelector
from linkselect.selectors._constrained_laplacian_score import ConstrainedLaplacianScore
from linkselect.selectors._constraint_score import ConstraintScore
from linkselect.selectors._ensemble_cls import EnsembleCLS
from linkselect.selectors._fcbf import FCBF
from linkselect.selectors._feature_rules import FeatureRules
from linkselect.selectors._fisher_markov import FisherMarkov
from linkselect.selectors._fisher_score import FisherScore
from linkselect.selectors._frll import FRLL
from linkselect.selectors._laplacian_constraint_score import LaplacianConstraintScore
from linkselect.selectors._laplacian_score import LaplacianScore
from linkselect.selectors._link_selector import LinkSelector
from linkselect.selectors._lsdf import LSDF
from linkselect.selectors._mrmr import MRMR
from linkselect.selectors._nearest_neighbor_sfs import NearestNeighborSFS
from linkselect.selectors._redundancy import Redundancy
from linkselect.selectors._relieff import ReliefF
from linkselect.selectors._scgs import SCGS
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
    "AsScoreFunction",
    "CompensatedLaplacianScore",
    "ConsensusSelector",
    "ConstrainedLaplacianScore",
    "ConstraintScore",
    "EnsembleCLS",
    "FeatureRules",
    "FisherMarkov",
    "FisherScore",
    "LaplacianConstraintScore",
    "LaplacianScore",
    "LinkSelector",
    "NearestNeighborSFS",
    "Redundancy",
    "ReliefF",
    "SimilarityConstraintScore",
    "SparsityScore",
    "SpectralScore",
    "StableSelector",
    "TraceRatio",
    "VarianceScore",
]


def __getattr__(name: str) -> Any:
    if name != "ScoreFunction":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_user(
        "ScoreFunction is now AsScoreFunction, and its parameter `selector` is now `estimator`. "
        "The old names will be removed in version 0.3.",
        FutureWarning,
    )
    return _as_score_function.ScoreFunction
