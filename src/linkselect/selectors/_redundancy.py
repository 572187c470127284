"""A choice that repeats little of what was chosen before."""

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
    """Choose features that a selector ranks high and that repeat little of those chosen before.

    The first feature is the selector's best. Every next one maximises
    `(1 - weight) * merit - weight * largest |correlation| with the chosen ones`, where the merit
    falls evenly from 1 for the selector's best feature to 0 for its worst. Ranks make this fit
    every score, whatever its scale or direction. Values that are equal up to rounding tie, and ties
    go to the feature that the selector ranks higher.

    Not for relations that correlation does not see, such as a feature and its square about 0.

    Parameters
    ----------
    estimator : selector
        The selector whose ranking counts; it stays as it is. One without `ranking_` must have
        `scores_` of which larger is better.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or as many as the estimator keeps.
    weight : float, default=0.5
        From 0 (the estimator's own ranking) to 1 (least correlation, after the first).

    Attributes
    ----------
    estimator_ : selector
        The fitted estimator.
    scores_ : ndarray of shape (n_features,)
        The estimator's own scores, in its own direction.
    path_ : ndarray
        The value of each chosen feature when it was chosen.

    See Also
    --------
    MRMR : Redundancy by mutual information.

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
        """Whether a larger value of `scores_` is better: what the wrapped selector says."""
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
