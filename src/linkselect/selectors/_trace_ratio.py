"""The trace ratio, which is the Fisher Score of a whole subset."""

from typing import Any

import numpy as np

from linkselect._arrays import BoolArray
from linkselect._forms import ratio
from linkselect._samples import Samples
from linkselect._search.trace_ratio import best_trace_ratio, between_and_within, trace_ratio_path
from linkselect._supervision import Supervision
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import LabelSelector


class TraceRatio(LabelSelector):
    """Select the subset with the largest ratio of between-class to within-class scatter.

    Let b and w be the between-class and within-class scatter of each feature. The ratio of a
    subset, its Fisher Score, is `sum b / sum w`; larger is better. For every size, the subset with
    the largest ratio is found exactly. Features are ordered by `b - ratio_ * w` at the optimum of
    the chosen size, so the selected features are that subset. The label -1 is an ordinary class
    here.

    Not suitable for features in different units: unlike the Fisher Score, the ratio depends on
    scale, and features with large scatter count more. Constant features are left out and rank last.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Ratio of each feature alone.
    order_ : ndarray of shape (n_features,)
        Features, sorted by the difference `b - ratio_ * w` at the optimum.
    ratio_ : float
        Ratio of the selected subset.
    path_ : ndarray of shape (n_sizes,)
        Largest ratio for each subset size, from 1 to the number of selected features, or
        to the number of all features with "auto".

    See Also
    --------
    FisherScore : The ratio of single features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import TraceRatio
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TraceRatio().fit(X, y)
    >>> selector.order_
    array([2, 3, 1, 0])
    >>> selector.path_.round(2)
    array([16.06, 15.5 , 10.51,  6.63])
    """

    greater_is_better = True
    searches = True
    works_on = ("memory", "sparse", "device")
    references = ("nie2008",)
    _infinite = "no class has two samples with different values"

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        if self.n_features_to_select == "auto":
            return n_features
        wanted = count_features(self.n_features_to_select, n_features)
        return self._steps_for(wanted, n_features)

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        between, within = between_and_within(X, known.classes, self.n_jobs)
        scores = np.where(constant, np.nan, ratio(between, within))
        # Features without any scatter would not change the ratio and could rank before others.
        varying, rest = np.flatnonzero(~np.isnan(scores)), np.flatnonzero(np.isnan(scores))
        between, within = between[varying], within[varying]
        n_selected = count_features(self.n_features_to_select, X.shape[1])
        n_sizes = self._n_steps(*X.shape)
        if not len(varying):
            fitted = {"ratio_": np.nan, "path_": np.full(n_sizes, np.nan)}
            return Ranking(scores, rest, n_selected, fitted)
        # A feature in `_first` without scatter takes a place, but does not change the ratio.
        place = np.full(X.shape[1], -1)
        place[varying] = np.arange(len(varying))
        first = [int(place[feature]) for feature in self._first if place[feature] >= 0]
        size = max(1, n_selected - (len(self._first) - len(first)))
        best = best_trace_ratio(between, within, min(size, len(varying)), first)
        path = trace_ratio_path(between, within, track, min(n_sizes, len(varying)), first)
        if len(path) == len(varying):
            path = np.pad(path, (0, n_sizes - len(path)), mode="edge")
        order = np.concatenate([varying[best.order], rest])
        return Ranking(scores, order, n_selected, {"ratio_": best.ratio, "path_": path})
