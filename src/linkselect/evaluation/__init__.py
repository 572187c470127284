"""Comparing methods on one table: accuracy, agreement, stability, significance."""

from linkselect.evaluation.accuracy import nearest_neighbor_curve
from linkselect.evaluation.comparison import Comparison, Difference, compare, numbers_of_features
from linkselect.evaluation.curves import Curve
from linkselect.evaluation.significance import (
    corrected_t_test,
    holm,
    rank_correlation,
    top_overlap,
)

__all__ = [
    "Comparison",
    "Curve",
    "Difference",
    "compare",
    "corrected_t_test",
    "holm",
    "nearest_neighbor_curve",
    "numbers_of_features",
    "rank_correlation",
    "top_overlap",
]
