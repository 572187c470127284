"""SCGS: a sparse regression on classes, pairs and a graph."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import one_blas_thread
from linkselect._messages import warn_user
from linkselect._samples import Samples
from linkselect._search.sparse_regression import scgs
from linkselect._supervision import Supervision
from linkselect.graphs import nearest_edges
from linkselect.selectors import _parameters as allowed
from linkselect.selectors._ranking import Ranking, best_first, with_equal_twins
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import PairSelector


@allowed.with_parameters
class SCGS(PairSelector):
    """Rank features by their weight in a sparse regression on classes, pairs and a graph.

    Minimises over W, one row per feature and one column per class,
    `1/2 |Y - X_l W|^2 + l1 sum_r |W_r| + (graph_weight / 2) tr(W'X'LXW) / n + (pair_weight / 2)
    [sum_M |W'(x_i - x_j)|^2 / |M| - theta sum_C |W'(x_i - x_j)|^2 / |C|]`, where X_l are the
    labelled samples, Y their one-hot classes, L the Laplacian of the neighbours (weights 1), M and
    C the must-links and cannot-links. If these have weights, each term is multiplied by its own,
    and the sums of the weights take the place of the numbers of links. The score of a feature is
    the norm `|W_r|` of its row; larger is better. theta keeps the problem convex. From bare pairs,
    samples that must-links join take the place of a class.

    Weights depend on units: standardise the features first (`StandardScaler`). As published there
    is no intercept, and features far from 0 take its place, also features that tell no class;
    `fit_intercept` avoids that. A constant feature acts as an intercept and is not ranked. Not for
    data that do not fit in memory: X is held dense in float64.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    sparsity : float, default=0.1
        The penalty l1 as a share of the smallest one for which every weight is 0. 0: no penalty.
    pair_weight : float, default=1.0
        The coefficient of the pairs. 0 switches them off.
    graph_weight : float, default=1.0
        The coefficient of the graph. 0 switches it off.
    n_neighbors : int, default=5
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other.
    fit_intercept : bool, default=False
        Whether the regression has an intercept, without a penalty. False is the published method.
    tol : float, default=1e-4
        The violation of the conditions for the optimum at which to stop.
    max_iter : int, default=20000
        How many steps to take at most on each working set of features.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links join the two ends of a cannot-link: "raise" an error, or drop
        that cannot-link with ("warn") or without ("drop") a warning.
    n_jobs : int, optional
        The number of threads of the neighbour search. Default: as many as BLAS may use.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_classes)
        The weights W.
    theta_ : float
        1, or if the problem would not be convex then, 0.999 of the largest value with which it
        is.
    penalty_ : float
        The penalty l1 itself.
    violation_ : float
        The certificate: how far the weights are from the conditions of the optimum. 0 is the
        optimum, 1 is no better than zero weights. A warning says if it exceeds `tol`.
    n_iter_ : int
        How many steps were taken.

    See Also
    --------
    SimilarityConstraintScore : Subsets without a regression.

    Notes
    -----
    Most weights are 0, and the paper does not say how to rank these features. Here they follow by
    the norm of their row of the gradient of all but the penalty, at the optimum, the largest
    first: the first of them is the one that would get a weight next if the penalty fell. Equal
    ones follow by their index. `scores_` holds the norms of the weights, so all of these have the
    score 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from linkselect import SCGS
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1
    >>> SCGS().fit(StandardScaler().fit_transform(X), y).order_
    array([2, 3, 1, 0])
    """

    greater_is_better = True
    needs = ("a pair or a label",)
    uses_weights = True
    _seconds = 3.0
    references = ("liu2016", "salmi2020")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "sparsity": [Interval(Real, 0, 1, closed="left")],
        "pair_weight": allowed.AT_LEAST_0,
        "graph_weight": allowed.AT_LEAST_0,
        "n_neighbors": allowed.NEIGHBORS,
        "fit_intercept": ["boolean"],
        "tol": allowed.POSITIVE,
        "max_iter": allowed.AT_LEAST_1,
    }

    sparsity: float = 0.1
    pair_weight: float = 1.0
    graph_weight: float = 1.0
    n_neighbors: int = 5
    fit_intercept: bool = False
    tol: float = 1e-4
    max_iter: int = 20_000

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        near = nearest_edges(X, self.n_neighbors, self.n_jobs).reweigh(1.0)
        dense = np.array(X.dense(), dtype=np.float64, order="C")
        if self.fit_intercept:
            # With the labelled samples around 0 the best intercept is the mean of Y, whatever W is;
            # the other terms see differences of samples only.
            dense -= dense[~known.unlabelled].mean(axis=0)
        options = (self.sparsity, self.pair_weight, self.graph_weight, self.tol, self.max_iter)
        # One BLAS thread, since the order of its sums depends on how many it has.
        with one_blas_thread():
            found = scgs(dense, known, near, *options)
        if found.violation > self.tol:
            warn_user(
                f"SCGS stopped after {found.n_iter} steps with violation {found.violation:.2g}, "
                f"above tol={self.tol:g}.",
                ConvergenceWarning,
                hint="Raise max_iter, tol or sparsity, lower pair_weight, or standardise the "
                "features.",
                settings={"max_iter": "VALUE", "tol": "VALUE", "X": "standard"},
            )
        fitted = {
            "coef_": found.weights,
            "theta_": found.theta,
            "penalty_": found.penalty,
            "violation_": found.violation,
            "n_iter_": found.n_iter,
        }
        ranking = self._by_score(X, np.linalg.norm(found.weights, axis=1), constant, fitted)
        # Copies of a feature have the same slope up to rounding, which must not order them.
        slopes = with_equal_twins(X, found.slopes)
        return replace(ranking, order=_idle_by_slope(ranking, slopes))


def _idle_by_slope(ranking: Ranking, slopes: FloatArray) -> IntArray:
    """Order the features of weight 0 by their slope, the steepest first; ties by index."""
    order = ranking.order.copy()
    places = np.flatnonzero(ranking.scores[order] == 0)
    idle = order[places]
    order[places] = idle[best_first(slopes[idle], greater_is_better=True)]
    return order
