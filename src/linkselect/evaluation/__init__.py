"""Compare methods on one table: accuracy, agreement, stability, significance."""

from linkselect.evaluation.accuracy import nearest_neighbor_curve
from linkselect.evaluation.comparison import compare
from linkselect.evaluation.curves import Curve, numbers_of_features
from linkselect.evaluation.pair_auc import (
    PairAUC,
    PairCurve,
    pair_auc,
    pair_auc_curve,
    pair_scorer,
)
from linkselect.evaluation.pair_folds import PairKFold
from linkselect.evaluation.result import Comparison, Difference
from linkselect.evaluation.significance import (
    corrected_t_test,
    holm,
    rank_correlation,
    top_overlap,
)
from linkselect.selectors.stability import kuncheva_index, nogueira_index

__all__ = [
    "Comparison",
    "Curve",
    "Difference",
    "PairAUC",
    "PairCurve",
    "PairKFold",
    "compare",
    "corrected_t_test",
    "holm",
    "kuncheva_index",
    "nearest_neighbor_curve",
    "nogueira_index",
    "numbers_of_features",
    "pair_auc",
    "pair_auc_curve",
    "pair_scorer",
    "rank_correlation",
    "top_overlap",
]
