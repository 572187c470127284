"""LSDF: locality and cannot-links."""

from typing import Any, ClassVar

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import GraphSelector
from linkselect.selectors._parameters import AT_LEAST_0, with_parameters
from linkselect.selectors._supervised_selectors import PairSelector


@with_parameters
class LSDF(GraphSelector, PairSelector):
    """Rank features by locality and cannot-links (LSDF).

    The score of a feature f is `Q(f; W) / Q(f; C)`, where Q sums `w_ij (f_i - f_j)^2` over edges.
    W has gamma on must-links and 1 on neighbours of which at least one is unlabelled, C has 1 on
    cannot-links; smaller is better.

    Not without a cannot-link, and not if neighbours in all features mean little. Salmi, Hammouche &
    Macaire call this score C3.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    gamma : float, default=100.0
        The weight of must-links.
    n_neighbors : int, default=5
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other.
    max_queries : int, optional
        Find the neighbours of that many samples only, drawn at random, and estimate the scores
        from them. Those with a label or in a pair come first if they are at most half of that.
        Default: all samples; 20,000, with a warning, if X is outside memory.
    neighbors_transformer : transformer, optional
        Proposes neighbours, of which the nearest are taken: any of scikit-learn's kind, such as
        `KNeighborsTransformer` or pynndescent's. It should propose twice `n_neighbors`.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links join the two ends of a cannot-link: "raise" an error, or drop
        that cannot-link with ("warn") or without ("drop") a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    standard_errors_ : ndarray of shape (n_features,)
        The standard error of each score as an estimate of that of the whole graph; only if
        samples were drawn. It covers the draw, not how the samples themselves were collected.
        NaN, with a warning, if too few of the drawn samples carry the variance of the feature.

    See Also
    --------
    ConstraintScore : The pairs alone.
    CompensatedLaplacianScore : Weights by distance, and classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> LSDF().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _why_undefined = "they have the same value at both ends of every edge and cannot-link"
    needs = ("a cannot-link",)
    uses_weights = True
    references = ("zhao2008", "salmi2020")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        **PairSelector._parameter_constraints,
        "gamma": AT_LEAST_0,
    }

    gamma: float = 100.0

    def _needs_graph(self, known: Supervision) -> bool:
        # Neighbours count if one of them is unlabelled.
        return bool(known.unlabelled.any())

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.lsdf(X, near, known, self.gamma, self.n_jobs)
