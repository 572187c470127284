"""The variance of a feature."""

from linkselect import scores
from linkselect._supervision import Supervision
from linkselect.selectors._selector import ColumnScore, RankingSelector


class VarianceScore(RankingSelector):
    """Rank features by their variance.

    The score of a feature f is `mean((f - mean(f))^2)`; larger is better.

    Not suitable for features in different units: the feature with the largest values wins.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    LaplacianScore : Compares the variation between neighbours with the variance.
    FisherMarkov : Adds the variance of class means.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import VarianceScore
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceScore().fit(X).order_
    array([2, 0, 3, 1])
    """

    greater_is_better = True
    works_on = ("memory", "sparse", "device", "parts")
    _seconds = 0.02
    references = ("duda2001",)
    _constant_is_undefined = False

    def _column_score(self, known: Supervision) -> ColumnScore:
        return scores.variance
