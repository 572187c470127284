"""Compensated Laplacian Score (CCLS), which also uses pairs and class scatter."""

from numbers import Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import GraphSelector
from linkselect.selectors._parameters import AT_LEAST_0, SIGMA, with_parameters
from linkselect.selectors._supervised_selectors import PairSelector


@with_parameters
class CompensatedLaplacianScore(GraphSelector, PairSelector):
    """Rank features by a Laplacian Score that also uses pairs and class scatter (CCLS).

    Let `Q(f; W)` be the sum of `w_ij (f_i - f_j)^2` over the edges of a graph W, and `total` the
    scatter of all samples, weighted by their degrees in W. Let `between` and `within` be the
    scatter of class means and the scatter within classes, over the labelled samples. The score of a
    feature f is `2 Q(f; W) / (total + between - within)`; smaller is better.

    In W, must-links have weight 1 between neighbours and weight `compensation` otherwise.
    Cannot-links between neighbours have `1 - gamma` times a Gaussian weight, and all other
    neighbours the full Gaussian weight. From pairs without labels, samples connected by must-links
    form a class.

    If the denominator is not positive, the feature has no score and ranks last. The default
    `sigma` suits features scaled to [0, 1]. Not suitable if noise features outnumber the others,
    since neighbours are found in all features. Salmi, Hammouche & Macaire call this score C7.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    gamma : float, default=0.9
        Damping of cannot-links between neighbours, from 0 (no damping) to 1 (complete removal).
    compensation : float, default=0.5
        Weight of must-links between samples that are not neighbours.
    sigma : float or "auto", default=1.0
        Width of the Gaussian weights `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to
        the median squared distance between samples.
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
    ConstrainedLaplacianScore : A Laplacian Score with pairs, without class scatter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import CompensatedLaplacianScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> CompensatedLaplacianScore().fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _why_undefined = "total plus between-class minus within-class scatter is not positive"
    needs = ("a pair or a label",)
    references = ("yang2016", "salmi2020")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        **PairSelector._parameter_constraints,
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "compensation": AT_LEAST_0,
        "sigma": SIGMA,
    }

    gamma: float = 0.9
    compensation: float = 0.5
    sigma: float | Literal["auto"] = 1.0

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.compensated_laplacian(
            X, near, known, sigma, self.gamma, self.compensation, self.n_jobs
        )
