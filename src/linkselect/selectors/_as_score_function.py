"""Adapter that makes the scores of a selector available to scikit-learn's univariate selectors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError
from linkselect._samples.devices import to_numpy
from linkselect.selectors._method import describe


class AsScoreFunction(BaseEstimator):
    """Turn a selector into a score function of X and y for which larger scores are better.

    Pass it as `score_func` to scikit-learn's `SelectKBest`, `SelectPercentile` or
    `GenericUnivariateSelect`. If smaller scores are better, their sign changes. Features without
    a score have the value NaN, which scikit-learn ranks last. The selector's parameters can be
    tuned, for example as `score_func__estimator__n_neighbors`.

    Not suitable for methods that search for subsets, because their selection does not follow the
    scores of single features. Not suitable for pairs, because scikit-learn's univariate selectors
    do not accept them: use the selector itself, or labels in which -1 marks unlabelled samples.

    Parameters
    ----------
    estimator : selector
        A selector of this library with one score per feature. It is cloned and not modified.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : Keep the features with the largest values.

    Notes
    -----
    `SelectKBest` keeps the same features as the selector, unless features tie for the last place.
    Of these, the selector keeps the first column and `SelectKBest` the last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import SelectKBest
    >>> from linkselect import AsScoreFunction, LaplacianScore
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectKBest(AsScoreFunction(LaplacianScore()), k=2).fit(X, y).get_support()
    array([False, False,  True,  True])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __call__(self, X: Any, y: ArrayLike | None = None) -> FloatArray:
        """Score the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), optional
            Labels, for methods that use them.

        Returns
        -------
        ndarray of shape (n_features,)
            One score per feature. Larger scores are better.
        """
        method = describe(self.estimator)
        if method.searches:
            name = type(self.estimator).__name__
            raise GuidedValueError(
                f"{name} searches for a subset of features, so its selection is not determined by "
                "the scores of single features.",
                f"Use {name}(n_features_to_select=k) instead of SelectKBest.",
            )
        fitted = clone(self.estimator).fit(X, y)
        scores = to_numpy(fitted.scores_)
        values = scores if method.greater_is_better else -scores
        # SelectKBest replaces NaN by the lowest number, so a score of -inf is raised just above it.
        return np.maximum(values, np.nextafter(np.finfo(values.dtype).min, 0))


class ScoreFunction(AsScoreFunction):
    """Deprecated name of `AsScoreFunction`, with the parameter `selector` of version 0.1."""

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    def __call__(self, X: Any, y: ArrayLike | None = None) -> FloatArray:
        """Score the features in the same way as `AsScoreFunction`."""
        return AsScoreFunction(self.selector)(X, y)
