"""Select features from must-link and cannot-link pairs, a few labels, all labels or no labels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# For type checkers only: a star imports the names in the module's `__all__`.
if TYPE_CHECKING:
    from linkselect._samples.batch_means import center_batches as center_batches
    from linkselect._samples.sources.opening import open_stored as open_stored
    from linkselect.cluster import *  # noqa: F403
    from linkselect.evaluation import compare as compare
    from linkselect.pairs import Pairs as Pairs
    from linkselect.selectors import *  # noqa: F403

__version__ = "0.1.0"

# The public names and their modules. A module is imported when one of its names is first used, so
# that `linkselect --help` need not wait for scikit-learn.
_HOMES = {
    "FCBF": "selectors",
    "FRLL": "selectors",
    "LSDF": "selectors",
    "MRMR": "selectors",
    "SCGS": "selectors",
    "AsScoreFunction": "selectors",
    "COPKMeans": "cluster",
    "CompensatedLaplacianScore": "selectors",
    "ConsensusSelector": "selectors",
    "ConstrainedLaplacianScore": "selectors",
    "ConstrainedSpectralClustering": "cluster",
    "ConstraintScore": "selectors",
    "EnsembleCLS": "selectors",
    "FeatureRules": "selectors",
    "FisherMarkov": "selectors",
    "FisherScore": "selectors",
    "LaplacianConstraintScore": "selectors",
    "LaplacianScore": "selectors",
    "LinkSelector": "selectors",
    "NearestNeighborSFS": "selectors",
    "Pairs": "pairs",
    "Redundancy": "selectors",
    "ReliefF": "selectors",
    "SimilarityConstraintScore": "selectors",
    "SparsityScore": "selectors",
    "SpectralScore": "selectors",
    "StableSelector": "selectors",
    "TraceRatio": "selectors",
    "VarianceScore": "selectors",
    "center_batches": "_samples.batch_means",
    "compare": "evaluation",
    "open_stored": "_samples.sources.opening",
}

# Deprecated names, whose modules warn when they are used: docs/deprecations.md.
_FORMER = {"ScoreFunction": "selectors"}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name) or _FORMER.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    if name in _HOMES:
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
