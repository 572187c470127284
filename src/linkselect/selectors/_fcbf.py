"""Fast correlation-based filter (FCBF), which selects relevant, non-redundant features."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from linkselect._arrays import BoolArray
from linkselect._messages import warn_user
from linkselect._samples import Samples
from linkselect._search.fcbf import fcbf
from linkselect._supervision import Supervision
from linkselect.selectors._information_selector import InformationSelector
from linkselect.selectors._parameters import with_parameters
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track


@with_parameters
class FCBF(InformationSelector):
    """Select relevant features that no better feature makes redundant (FCBF).

    A feature f is relevant if its symmetric uncertainty with the class,
    `2 I(f; class) / (H(f) + H(class))`, exceeds `threshold`. Relevant features are visited from the
    best to the worst. A visited feature that has not been removed is predominant. It removes every
    worse feature q for which it is an approximate Markov blanket: its symmetric uncertainty with q
    is at least that of q with the class. Values that are equal up to rounding tie, and ties go to
    the earlier column. The label -1 is an ordinary class here.

    Not suitable for features that matter only together, such as the two inputs of an exclusive or.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the predominant features.
        If there are none, it keeps the best feature and warns.
    threshold : float, default=0.0
        Relevant features have a symmetric uncertainty above this value (at least 0, below 1).
    discretize : {"deviation", "uniform", "quantile"}, transformer or None, default="deviation"
        Discretisation of features. "deviation" creates three states, separated by the mean minus
        and plus one standard deviation. "uniform" and "quantile" create five bins of equal width or
        equal count. A transformer, such as `KBinsDiscretizer(10, encode="ordinal")`, is cloned and
        fitted. None means that the features are already discrete.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Symmetric uncertainty of each feature with the class.
    path_ : ndarray
        Symmetric uncertainty of the predominant features, in order of selection.

    See Also
    --------
    MRMR : Balance relevance and redundancy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FCBF
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = FCBF().fit(X, y)
    >>> fitted.n_features_, fitted.order_
    (2, array([2, 3, 0, 1]))
    """

    own_number = "all predominant features"
    references = ("yu2004",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InformationSelector._parameter_constraints,
        "threshold": [Interval(Real, 0, 1, closed="left")],
    }

    threshold: float = 0.0

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return n_features

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        states = self._states(X, known)
        found = fcbf(states, known.classes, self.threshold, track, self._first)
        path = found.uncertainty[found.order[: found.n_predominant]]
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, found.n_predominant)
            if found.n_predominant == 0 and not constant.all():
                best = found.uncertainty.max()
                warn_user(
                    f"No feature is predominant: the largest symmetric uncertainty with the class "
                    f"is {best:.3g}, but it must exceed threshold={self.threshold:g}. The best "
                    "feature is kept.",
                    hint="Decrease threshold, or choose another value of discretize.",
                    settings={"threshold": "VALUE", "discretize": "VALUE"},
                )
        return Ranking(found.uncertainty, found.order, wanted, {"path_": path})
