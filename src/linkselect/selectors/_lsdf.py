"""LSDF, which compares the variation between similar samples with that on cannot-links."""

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

    Let the graph W contain must-links with weight `gamma` and, with weight 1, pairs of neighbours
    of which at least one is unlabelled. Let C contain the cannot-links with weight 1, and let
    `Q(f; W)` be the sum of `w_ij (f_i - f_j)^2` over the edges of W. The score of a feature f is
    `Q(f; W) / Q(f; C)`; smaller is better.

    LSDF requires at least one cannot-link. It is not suitable if noise features outnumber the
    others, since neighbours are found in all features. Salmi, Hammouche & Macaire call this score
    C3.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    gamma : float, default=100.0
        Weight of must-links. Edges between neighbours have weight 1.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    max_queries : int, optional
        Maximum number of samples whose nearest neighbours are computed. If there are more samples,
        this number is drawn at random, and the scores are estimates. Samples with a label or in a
        pair are always included if they make up at most half of this number. Default: all samples
        or, if X is stored outside memory, 20,000 samples with a warning.
    neighbors_transformer : transformer, optional
        Transformer that returns candidate neighbours, of which the nearest ones are kept. It must
        have the interface of scikit-learn's `KNeighborsTransformer`, as in pynndescent, and should
        return twice `n_neighbors` candidates.
    random_state : int, RandomState instance or None, default=None
        Controls the random draw. Pass an int for reproducible results.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    standard_errors_ : ndarray of shape (n_features,)
        Standard error of each score, set only if samples were drawn and the scores are therefore
        estimates. It reflects only the random draw of these samples, not the sampling of the data.
        It is NaN, with a warning, if too few of the drawn samples account for the variance of the
        feature.

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
