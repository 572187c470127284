"""CCLS: a Laplacian Score compensated by pairs and classes."""

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
    """Rank features by a Laplacian Score compensated by pairs and classes (CCLS).

    The score of a feature f is `2 Q(f; W) / (total + between - within)`; smaller is better. W
    weighs must-links by 1 if near and by `compensation` if not, near cannot-links by
    `(1 - gamma)` times a Gaussian, and other neighbours by the Gaussian. `total` is the scatter
    of all samples under the degrees of W; `between` and `within` are the scatter of class means
    and inside classes over the labelled samples. With bare pairs, samples that must-links join
    are a class.

    If the denominator is not positive, a feature has no score and ranks last. The default sigma
    suits features scaled to [0, 1]. Salmi, Hammouche & Macaire call this score C7.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    gamma : float, default=0.9
        How much near cannot-links are damped, from 0 (not) to 1 (left out).
    compensation : float, default=0.5
        The weight of must-links that are not neighbours.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
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
    ConstrainedLaplacianScore : Without the scatter of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import CompensatedLaplacianScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> CompensatedLaplacianScore().fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _why_undefined = "total plus between minus within scatter is not positive"
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
