"""mRMR, which measures relevance and redundancy by mutual information."""

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linkselect._arrays import BoolArray
from linkselect._samples import Samples
from linkselect._search.mrmr import mrmr
from linkselect._supervision import Supervision
from linkselect.selectors._information_selector import InformationSelector
from linkselect.selectors._parameters import with_parameters
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track


@with_parameters
class MRMR(InformationSelector):
    """Select features that are relevant to the class and share little information (mRMR).

    The relevance of a feature is its mutual information with the class, and its redundancy is its
    mean mutual information with the features already selected (natural logarithm). The first
    feature has the largest relevance. Each further feature maximises relevance minus redundancy
    (MID) or relevance divided by redundancy (MIQ). Values that are equal up to rounding tie, and
    ties go to the earlier column. The label -1 is an ordinary class here.

    Not suitable for features that matter only together: each is compared only with the class and
    with single other features. The search takes `n_features_to_select` steps; the other features
    are ordered by their value at the last step.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    scheme : {"difference", "quotient"}, default="difference"
        Whether features are compared by relevance minus redundancy or by relevance divided by
        redundancy. If the redundancy is 0, the quotient is infinite for a relevant feature. For any
        other feature it is 0 / 0, and the feature ranks last, as do constant features.
    discretize : {"deviation", "uniform", "quantile"}, transformer or None, default="deviation"
        Discretisation of features. "deviation" creates three states, separated by the mean minus
        and plus one standard deviation. "uniform" and "quantile" create five bins of equal width or
        equal count. A transformer, such as `KBinsDiscretizer(10, encode="ordinal")`, is cloned and
        fitted. None means that the features are already discrete.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Relevance of each feature.
    path_ : ndarray
        Value of the criterion for each selected feature at the step that selected it.

    See Also
    --------
    FCBF : Removes redundant features instead of penalising them.
    Redundancy : Penalises redundancy by correlation, with any selector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import MRMR
    >>> X, y = load_iris(return_X_y=True)
    >>> MRMR().fit(X, y).order_
    array([2, 3, 1, 0])
    """

    references = ("peng2005",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InformationSelector._parameter_constraints,
        "scheme": [StrOptions({"difference", "quotient"})],
    }

    scheme: Literal["difference", "quotient"] = "difference"

    @property
    def _constant_is_undefined(self) -> bool:  # type: ignore[override]
        return self.scheme == "quotient"

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        wanted = count_features(self.n_features_to_select, n_features)
        return self._steps_for(wanted, n_features)

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        wanted = count_features(self.n_features_to_select, X.shape[1])
        n_steps, states = self._n_steps(*X.shape), self._states(X, known)
        found = mrmr(states, known.classes, n_steps, self.scheme, track, self._first)
        scores = np.where(constant & self._constant_is_undefined, np.nan, found.relevance)
        return Ranking(scores, found.order, wanted, {"path_": found.path})
