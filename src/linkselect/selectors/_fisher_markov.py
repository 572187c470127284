"""The Fisher-Markov selector with a linear kernel."""

from functools import partial
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from linkselect import scores
from linkselect._supervision import Supervision
from linkselect.selectors._parameters import with_parameters
from linkselect.selectors._selector import ColumnScore
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class FisherMarkov(LabelSelector):
    """Rank features by the variance of class means minus `gamma` times the total variance.

    The score of a feature is `between - gamma * total`, where `between` is the variance of its
    class means, weighted by class size, and `total` is its variance; larger is better. This is the
    coefficient of the Fisher-Markov selector with a linear kernel, in which the mean of a feature
    cancels. The label -1 is an ordinary class here.

    Not suitable for features in different units: as with the variance, the largest values win.
    Scale the features first.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    gamma : float, default=-0.5
        Factor of the total variance, at most 1. Negative values reward variance, positive values
        penalise it.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    FisherScore : The ratio of between-class to within-class scatter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherMarkov
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherMarkov().fit(X, y).order_
    array([2, 3, 0, 1])
    """

    greater_is_better = True
    works_on = ("memory", "sparse", "device", "parts")
    _seconds = 0.02
    references = ("cheng2011",)
    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "gamma": [Interval(Real, None, 1, closed="right")],
    }

    gamma: float = -0.5

    def _column_score(self, known: Supervision) -> ColumnScore:
        return partial(scores.fisher_markov, classes=known.classes, gamma=self.gamma)
