"""The scores of a selector as a function, for scikit-learn's univariate selectors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError
from linkselect._samples.devices import to_numpy
from linkselect.selectors._method import describe


class AsScoreFunction(BaseEstimator):
    """Turn a selector into a function of X and y that returns scores, larger being better.

    This is what `SelectKBest`, `SelectPercentile` and `GenericUnivariateSelect` of scikit-learn
    take as `score_func`. Scores of which smaller is better change their sign; a feature without
    a score keeps NaN, which scikit-learn ranks last. Parameters of the selector can be searched, as
    `score_func__estimator__n_neighbors`.

    Not for methods that search for subsets, whose choice does not follow the scores of single
    features. Not for pairs: scikit-learn's selectors have no place for them, so use the selector
    itself, or labels with -1 for unlabelled samples.

    Parameters
    ----------
    estimator : selector
        A selector of this library with one score per feature. It is cloned, and stays as it is.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : Keep the features with the largest values.

    Notes
    -----
    `SelectKBest` keeps the same features as the selector, except for ties at the edge of what is
    kept: there the selector takes the first, and `SelectKBest` the last column.

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
            One value for each feature; larger is better.
        """
        method = describe(self.estimator)
        if method.searches:
            name = type(self.estimator).__name__
            raise GuidedValueError(
                f"{name} searches for a subset, and its choice does not follow scores of single "
                "features.",
                f"Write {name}(n_features_to_select=k) in place of SelectKBest.",
            )
        fitted = clone(self.estimator).fit(X, y)
        scores = to_numpy(fitted.scores_)
        values = scores if method.greater_is_better else -scores
        # SelectKBest puts the lowest number for NaN; what is infinitely bad still goes before it.
        return np.maximum(values, np.nextafter(np.finfo(values.dtype).min, 0))


class ScoreFunction(AsScoreFunction):
    """The name of `AsScoreFunction` in version 0.1, with its name for the estimator."""

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    def __call__(self, X: Any, y: ArrayLike | None = None) -> FloatArray:
        """Score the features, as `AsScoreFunction` does."""
        return AsScoreFunction(self.selector)(X, y)
