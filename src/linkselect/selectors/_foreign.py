"""Adapter that uses a selector of another library to rank all features and keep the best."""

from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from linkselect._arrays import BoolArray, FloatArray
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect.selectors._ranking import Ranking, best_first, count_features
from linkselect.selectors._selector import RankingSelector, Track
from linkselect.selectors._wrapper import Wrapper, arguments_of


class Ranked(Wrapper):
    """Rank features with a selector of another library.

    Such a selector reports which features it keeps; these come first. Further attributes determine
    the order: `scores_` (`SelectKBest`), absolute coefficients or importances (`SelectFromModel`),
    or `ranking_`, whose reciprocal is the score (`RFE`). Without any of these attributes, all other
    features are tied.

    Parameters
    ----------
    estimator : selector
        Any selector with the methods `fit` and `get_support`. It is not modified.
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the same number as the
        selector.

    Attributes
    ----------
    estimator_ : selector
        The fitted selector.

    See Also
    --------
    AsScoreFunction : The reverse, a selector of this library as a score for `SelectKBest`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import SelectKBest
    >>> from linkselect.selectors._foreign import Ranked
    >>> X, y = load_iris(return_X_y=True)
    >>> Ranked(SelectKBest(k=2)).fit(X, y).order_
    array([2, 3, 0, 1])
    """

    greater_is_better = True

    def __init__(
        self, estimator: Any, n_features_to_select: int | float | Literal["auto"] = "auto"
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select

    def _warn(self, scores: FloatArray, constant: BoolArray) -> None:
        RankingSelector._warn(self, scores, constant)

    def _rank(self, X: Samples, known: Given, constant: BoolArray, track: Track[Any]) -> Ranking:
        n_features = X.shape[1]
        inner = clone(self.estimator)
        wanted = self.n_features_to_select
        if wanted != "auto":
            _keep(inner, count_features(wanted, n_features))
        inner.fit(X.values, **arguments_of(known, inner))
        kept = np.asarray(inner.get_support(), dtype=bool)
        scores = _scores(inner, kept)
        order = best_first(scores, True)
        # Equal scores, such as those of all features that RFE keeps, are ordered by its last model.
        weights = _weights(inner, kept)
        order = order[np.lexsort((-weights[order], -scores[order], ~kept[order]))]
        n_kept = max(1, int(kept.sum()))
        n_selected = n_kept if wanted == "auto" else count_features(wanted, n_features)
        return Ranking(scores, order, n_selected, {"estimator_": inner})


def ranked_with(selector: Any, n_features: int) -> Any:
    """Copy a selector and set its number of features. Selectors of other libraries are wrapped."""
    if hasattr(selector, "sees"):
        return clone(selector).set_params(n_features_to_select=n_features)
    return Ranked(clone(selector), n_features)


def _keep(selector: Any, n_features: int) -> None:
    """Set the number of features that a selector keeps, if it has a parameter for it."""
    parameters = selector.get_params(deep=False)
    if "n_features_to_select" in parameters:
        selector.set_params(n_features_to_select=n_features)
    elif "k" in parameters:
        selector.set_params(k=n_features)
    elif "max_features" in parameters and "threshold" in parameters:
        selector.set_params(max_features=n_features, threshold=-np.inf)


def _scores(fitted: Any, kept: BoolArray) -> FloatArray:
    """Return the score of each feature in a fitted selector. Larger scores are better."""
    for name in ("scores_", "variances_"):
        values = np.asarray(getattr(fitted, name, ()), dtype=np.float64)
        if values.shape == kept.shape:
            return values
    if hasattr(fitted, "ranking_"):
        return 1 / np.asarray(fitted.ranking_, dtype=np.float64)
    weights = _weights(fitted, kept)
    return weights if weights.any() else kept.astype(np.float64)


def _weights(fitted: Any, kept: BoolArray) -> FloatArray:
    """Return the importance or the sum of absolute coefficients of each feature in the model."""
    found = np.zeros(len(kept))
    model = getattr(fitted, "estimator_", None)
    for name in ("feature_importances_", "coef_"):
        size = np.abs(np.asarray(getattr(model, name, ()), dtype=np.float64))
        total = np.atleast_2d(size).sum(axis=0)
        if len(total) == len(kept):
            return total
        if len(total) == kept.sum():
            found[kept] = total
            return found
    return found
