"""Select features from must-link and cannot-link pairs, a few labels, all labels, or none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        ScoreFunction,
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
    "ScoreFunction",
    "SimilarityConstraintScore",
    "SparsityScore",
    "SpectralScore",
    "StableSelector",
    "TraceRatio",
    "VarianceScore",
]

# Names load their module at first use: `linkselect --help` need not wait for scikit-learn.
_HOMES = {
    "COPKMeans": "cluster",
    "ConstrainedSpectralClustering": "cluster",
    "Pairs": "pairs",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'selectors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
