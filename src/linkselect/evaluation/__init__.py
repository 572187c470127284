"""Evaluate selectors: accuracy, agreement, stability and statistical significance."""

from linkselect.evaluation._comparison import compare
from linkselect.evaluation._curves import Curve, nearest_neighbor_curve, numbers_of_features
from linkselect.evaluation._feature_p_values import FeaturePValues, feature_p_values
from linkselect.evaluation._fold_rankings import FoldRankings
from linkselect.evaluation._frequencies import Twin
from linkselect.evaluation._held_out import Estimate
from linkselect.evaluation._number_of_features import NumberOfFeatures, choose_number
from linkselect.evaluation._pair_auc import (
    PairAUC,
    PairCurve,
    pair_auc,
    pair_auc_curve,
    pair_scorer,
)
from linkselect.evaluation._pair_folds import PairKFold
from linkselect.evaluation._pair_worth import PairWorth, SuspectPair, pair_worth, suspect_pairs
from linkselect.evaluation._result import Comparison, HeldOutPairs, Measure
from linkselect.evaluation._significance import (
    Difference,
    corrected_t_test,
    holm,
    rank_correlation,
    top_overlap,
)
from linkselect.evaluation._validation import Validation, validate
from linkselect.selectors._stability import kuncheva_index, nogueira_index

__all__ = [
    "Comparison",
    "Curve",
    "Difference",
    "Estimate",
    "FeaturePValues",
    "FoldRankings",
    "HeldOutPairs",
    "Measure",
    "NumberOfFeatures",
    "PairAUC",
    "PairCurve",
    "PairKFold",
    "PairWorth",
    "SuspectPair",
    "Twin",
    "Validation",
    "choose_number",
    "compare",
    "corrected_t_test",
    "feature_p_values",
    "holm",
    "kuncheva_index",
    "nearest_neighbor_curve",
    "nogueira_index",
    "numbers_of_features",
    "pair_auc",
    "pair_auc_curve",
    "pair_scorer",
    "pair_worth",
    "rank_correlation",
    "suspect_pairs",
    "top_overlap",
    "validate",
]
