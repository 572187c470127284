"""SCGS, a sparse regression based on classes, pairs and a nearest-neighbour graph."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import one_blas_thread
from linkselect._messages import many, warn_user
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
    """Rank features by their weights in a sparse regression that uses pairs and a graph (SCGS).

    The method minimises, over a matrix W with one row per feature and one column per class,
    `1/2 |Y - X_l W|^2 + l1 sum_r |W_r| + (graph_weight / 2) tr(W'X'LXW) / n + (pair_weight / 2)
    [sum_M |W'(x_i - x_j)|^2 / |M| - theta sum_C |W'(x_i - x_j)|^2 / |C|]`. Here, X_l are the
    labelled samples, Y their one-hot encoded classes, L the Laplacian of the neighbour graph with
    weights 1, and M and C the must-links and cannot-links. If links have weights, each term is
    multiplied by its weight, and sums of weights replace the numbers of links. The score of a
    feature is the norm `|W_r|` of its row; larger is better. The factor `theta` keeps the problem
    convex. From pairs without labels, samples connected by must-links form a class.

    Weights depend on units: standardise the features first (`StandardScaler`). As published, the
    regression has no intercept, so features far from 0 can act as one, even if they do not separate
    classes; `fit_intercept=True` avoids this. A constant feature acts as an intercept and has no
    score. Not suitable for data that do not fit in memory, since X becomes a dense float64 array.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    sparsity : float, default=0.1
        Penalty l1 as a fraction of the smallest penalty for which all weights are 0. A value of 0
        means no penalty.
    pair_weight : float, default=1.0
        Coefficient of the pair term; 0 means that pairs are ignored.
    graph_weight : float, default=1.0
        Coefficient of the graph term; 0 means that the graph is ignored.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    fit_intercept : bool, default=False
        Whether to add an unpenalised intercept. The published method has no intercept.
    tol : float, default=1e-4
        The iteration stops when `violation_` does not exceed this value.
    max_iter : int, default=20000
        Maximum number of steps for each working set of features.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads for the nearest-neighbour search; -1 uses all CPU cores. Default: the
        number of BLAS threads.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_classes)
        The weight matrix W.
    theta_ : float
        The factor theta. It is 1 or, if the problem would then not be convex, 0.999 times the
        largest value for which the problem is convex.
    penalty_ : float
        The penalty l1.
    violation_ : float
        Relative violation of the optimality conditions, which is 0 at the optimum and 1 if the
        weights are no better than all zeros. A value above `tol` causes a warning.
    n_iter_ : int
        Total number of iteration steps.

    See Also
    --------
    SimilarityConstraintScore : Selects subsets without a regression.

    Notes
    -----
    Most weights are 0, and the paper does not define how to rank these features. Here, they are
    ordered by the norm of their row in the gradient of the objective without the penalty, at the
    optimum, largest first. The first of them would be the next to get a weight if the penalty
    decreased. Ties go by index. `scores_` contains the norms of the weights, so all these features
    have the score 0.

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
            # If the labelled samples are centred, the best intercept is the mean of Y for every W.
            # The other terms depend only on differences between samples.
            dense -= dense[~known.unlabelled].mean(axis=0)
        options = (self.sparsity, self.pair_weight, self.graph_weight, self.tol, self.max_iter)
        # One BLAS thread, because the number of threads changes the order of its sums.
        with one_blas_thread():
            found = scgs(dense, known, near, *options)
        if found.violation > self.tol:
            warn_user(
                f"SCGS did not converge within {many(found.n_iter, 'step')}: the violation of the "
                f"optimality conditions is {found.violation:.2g}, which exceeds tol={self.tol:g}.",
                ConvergenceWarning,
                hint="Increase max_iter, tol or sparsity, decrease pair_weight, or standardise X.",
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
        # Duplicate features have the same slope up to rounding, which must not order them.
        slopes = with_equal_twins(X, found.slopes)
        return replace(ranking, order=_idle_by_slope(ranking, slopes))


def _idle_by_slope(ranking: Ranking, slopes: FloatArray) -> IntArray:
    """Order the features with weight 0 by decreasing slope; ties are broken by index."""
    order = ranking.order.copy()
    places = np.flatnonzero(ranking.scores[order] == 0)
    idle = order[places]
    order[places] = idle[best_first(slopes[idle], greater_is_better=True)]
    return order
