"""Selection of features with a high rank and low correlations between them."""

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from linkselect._arrays import BoolArray
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._search.redundancy import least_redundant, rank_merit
from linkselect.selectors._method import describe
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._wrapper import Wrapper, arguments_of


class Redundancy(Wrapper):
    """Select features that a selector ranks highly and that are weakly correlated with each other.

    The first feature is the one that the selector ranks first. Each further feature maximises
    `(1 - weight) * merit - weight * largest |correlation| with the selected features`, where the
    merit decreases linearly from 1 for the selector's best feature to 0 for its worst. Because
    merit depends only on ranks, it suits scores of any scale or direction. Values that are equal up
    to rounding tie, and ties go to the feature that the selector ranks higher.

    Not suitable for dependencies that correlation misses, such as between a feature symmetric about
    0 and its square.

    Parameters
    ----------
    estimator : selector
        The selector that ranks the features. It is not modified. If it has no attribute `ranking_`,
        larger values of its `scores_` must be better.
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the same number as the
        estimator.
    weight : float, default=0.5
        Weight of the correlation, from 0 (only the ranking of the estimator counts) to 1 (only the
        correlation counts, except for the first feature).

    Attributes
    ----------
    estimator_ : selector
        The fitted estimator.
    scores_ : ndarray of shape (n_features,)
        Scores of the estimator, which determines whether larger or smaller scores are better.
    path_ : ndarray
        Value of the criterion for each selected feature at the step that selected it.

    See Also
    --------
    MRMR : Penalises redundancy by mutual information.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore, Redundancy
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore().fit(X, y).order_, Redundancy(FisherScore()).fit(X, y).order_
    (array([2, 3, 0, 1]), array([2, 3, 1, 0]))
    """

    searches = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Wrapper._parameter_constraints,
        "weight": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        weight: float = 0.5,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.weight = weight

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Whether larger values of `scores_` are better, as in the wrapped selector."""
        return describe(self.estimator).greater_is_better

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        wanted = self.n_features_to_select
        if wanted == "auto":
            return n_features
        return self._steps_for(count_features(wanted, n_features), n_features)

    def _rank(self, X: Samples, known: Given, constant: BoolArray, track: Track[Any]) -> Ranking:
        inner = clone(self.estimator).fit(X.values, **arguments_of(known, self.estimator))
        if hasattr(inner, "ranking_"):
            order = np.lexsort((np.arange(X.shape[1]), inner.ranking_))
        else:
            order = np.argsort(-inner.scores_, kind="stable")
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, int(inner.get_support().sum()))
        merit = rank_merit(order)
        n_steps = self._steps_for(wanted, X.shape[1])
        found = least_redundant(X, merit, self.weight, n_steps, track, self._first)
        scores = np.asarray(getattr(inner, "scores_", merit), dtype=np.float64)
        return Ranking(scores, found.order, wanted, {"estimator_": inner, "path_": found.path})
