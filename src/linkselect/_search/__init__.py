"""Searches for subsets of features: what a feature adds to those already chosen."""

from linkselect._search.all_pairs import memory_needed
from linkselect._search.discretize import states_of
from linkselect._search.fcbf import fcbf
from linkselect._search.information import Discrete, mutual_information, symmetric_uncertainty
from linkselect._search.mrmr import mrmr
from linkselect._search.nearest_neighbor import AccuracyPath, select_by_nearest_neighbor
from linkselect._search.redundancy import least_redundant, rank_merit
from linkselect._search.similarity import SimilarityPath, select_from_groups, select_from_pairs
from linkselect._search.sparse_regression import SparseRegression, scgs
from linkselect._search.targets import (
    PairTarget,
    draw_from_groups,
    draw_from_pairs,
    match_sigma,
    median_differences,
    nearest_prototypes,
    pair_target,
)
from linkselect._search.trace_ratio import (
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
