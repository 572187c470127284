"""LSDF: variation between similar samples, compared with cannot-links."""

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
    """Rank features by their variation between similar samples relative to cannot-links (LSDF).

    Let the graph W contain must-links with weight `gamma` and, with weight 1, neighbours of which
    at least one is unlabelled. Let C contain the cannot-links with weight 1, and let `Q(f; W)` be
    the sum of `w_ij (f_i - f_j)^2` over the edges of W. The score of a feature f is
    `Q(f; W) / Q(f; C)`; smaller is better.

    LSDF requires at least one cannot-link. It is not suitable if noise features outnumber the
    others, since neighbours are found in all features. Salmi, Hammouche & Macaire call this score
    C3.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    gamma : float, default=100.0
        Weight of must-links; neighbours have weight 1.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    max_queries : int, optional
        Number of samples, drawn at random, whose neighbours are searched; the scores are then
        estimates. Samples with a label or in a pair are always included if they make up at most
        half of this number. Default: all samples or, if X is stored outside memory, 20,000 with a
        warning.
    neighbors_transformer : transformer, optional
        Transformer that proposes candidate neighbours, of which the nearest are kept. It needs the
        interface of scikit-learn's `KNeighborsTransformer`, like that of pynndescent, and should
        propose twice `n_neighbors` candidates.
    random_state : int, RandomState instance or None, default=None
        Controls the random draw. Pass an int for reproducible results.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links connect the two samples of a cannot-link: raise an error, or
        drop the cannot-link with ("warn") or without ("drop") a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    standard_errors_ : ndarray of shape (n_features,)
        Standard error of each score as an estimate of the score on the whole graph; set only if
        samples were drawn. It reflects the random draw, not how the samples were collected. NaN,
        with a warning, if too few of the drawn samples account for the variance of the feature.

    See Also
    --------
    ConstraintScore : Uses pairs alone.
    CompensatedLaplacianScore : Weights neighbours by distance and uses class scatter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> LSDF().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _why_undefined = "both ends of every edge and cannot-link have the same value"
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
        # Edges between neighbours count only if one end is unlabelled.
        return bool(known.unlabelled.any())

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.lsdf(X, near, known, self.gamma, self.n_jobs)
