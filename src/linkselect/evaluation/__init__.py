"""Compare methods on one table: accuracy, agreement, stability, significance."""

from linkselect.evaluation.accuracy import nearest_neighbor_curve
from linkselect.evaluation.comparison import compare
from linkselect.evaluation.curves import Curve, numbers_of_features
from linkselect.evaluation.fold_rankings import FoldRankings
from linkselect.evaluation.held_out import Estimate
from linkselect.evaluation.measure import Difference, Measure
from linkselect.evaluation.number_of_features import NumberOfFeatures, choose_number
from linkselect.evaluation.pair_auc import (
    PairAUC,
    PairCurve,
    pair_auc,
    pair_auc_curve,
    pair_scorer,
)
from linkselect.evaluation.pair_folds import PairKFold
from linkselect.evaluation.pair_result import HeldOutPairs
from linkselect.evaluation.pair_worth import PairWorth, pair_worth
from linkselect.evaluation.result import Comparison
from linkselect.evaluation.significance import (
    corrected_t_test,
    holm,
    rank_correlation,
    top_overlap,
)
from linkselect.evaluation.suspects import SuspectPair, suspect_pairs
from linkselect.evaluation.twins import Twin
from linkselect.evaluation.validation import Validation, validate
from linkselect.selectors.stability import kuncheva_index, nogueira_index

__all__ = [
    "Comparison",
    "Curve",
    "Difference",
    "Estimate",
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
