"""Searches for subsets of features: pure functions of the data and of what should be alike."""

from linkselect.search.all_pairs import memory_needed
from linkselect.search.nearest_neighbor import AccuracyPath, select_by_nearest_neighbor
from linkselect.search.similarity import SimilarityPath, select_from_groups, select_from_pairs
from linkselect.search.targets import (
    PairTarget,
    draw_from_groups,
    draw_from_pairs,
    match_sigma,
    median_differences,
    nearest_prototypes,
    pair_target,
)
from linkselect.search.trace_ratio import (
    TraceRatioOptimum,
    best_trace_ratio,
    between_and_within,
    trace_ratio_path,
)

__all__ = [
    "AccuracyPath",
    "PairTarget",
    "SimilarityPath",
    "TraceRatioOptimum",
    "best_trace_ratio",
    "between_and_within",
    "draw_from_groups",
    "draw_from_pairs",
    "match_sigma",
    "median_differences",
    "memory_needed",
    "nearest_prototypes",
    "pair_target",
    "select_by_nearest_neighbor",
    "select_from_groups",
    "select_from_pairs",
    "trace_ratio_path",
]
