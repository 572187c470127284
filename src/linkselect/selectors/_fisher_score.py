"""The Fisher Score."""

from functools import partial

from linkselect import scores
from linkselect._supervision import Supervision
from linkselect.selectors._selector import ColumnScore
from linkselect.selectors._supervised_selectors import LabelSelector


class FisherScore(LabelSelector):
    """Rank features by the ratio of between-class to within-class scatter.

    The score of a feature is `sum_c n_c (mean_c - mean)^2 / sum_c n_c var_c` over classes c;
    larger is better. The label -1 is an ordinary class here.

    Not suitable for classes with the same means that differ otherwise, for example in variance.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    TraceRatio : The same ratio for a whole subset.
    ConstraintScore : A similar ratio from pairs instead of labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore().fit(X, y).order_
    array([2, 3, 0, 1])
    """

    greater_is_better = True
    works_on = ("memory", "sparse", "device", "parts")
    _seconds = 0.02
    references = ("duda2001",)
    _infinite = "no class has two samples with different values"

    def _column_score(self, known: Supervision) -> ColumnScore:
        return partial(scores.fisher, classes=known.classes)
