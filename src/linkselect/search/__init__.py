"""Searches for subsets of features: what a feature adds to those already chosen."""

from linkselect.search.all_pairs import memory_needed
from linkselect.search.discretize import states_of
from linkselect.search.fcbf import fcbf
from linkselect.search.information import Discrete, mutual_information, symmetric_uncertainty
from linkselect.search.mrmr import mrmr
from linkselect.search.nearest_neighbor import AccuracyPath, select_by_nearest_neighbor
from linkselect.search.redundancy import least_redundant, rank_merit
from linkselect.search.similarity import SimilarityPath, select_from_groups, select_from_pairs
from linkselect.search.sparse_regression import SparseRegression, scgs
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
    "Discrete",
    "PairTarget",
    "SimilarityPath",
    "SparseRegression",
    "TraceRatioOptimum",
    "best_trace_ratio",
    "between_and_within",
    "draw_from_groups",
    "draw_from_pairs",
    "fcbf",
    "least_redundant",
    "match_sigma",
    "median_differences",
    "memory_needed",
    "mrmr",
    "mutual_information",
    "nearest_prototypes",
    "pair_target",
    "rank_merit",
    "scgs",
    "select_by_nearest_neighbor",
    "select_from_groups",
    "select_from_pairs",
    "states_of",
    "symmetric_uncertainty",
    "trace_ratio_path",
]
