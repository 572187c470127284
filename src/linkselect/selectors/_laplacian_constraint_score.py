"""The product of the Laplacian Score and the Constraint Score."""

from typing import Any, ClassVar, Literal

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import kernel_graph, resolve_sigma
from linkselect.selectors._parameters import SIGMA, with_parameters
from linkselect.selectors._supervised_selectors import PairSelector


@with_parameters
class LaplacianConstraintScore(PairSelector):
    """Rank features by the product of Laplacian Score and Constraint Score.

    The score of a feature is its Laplacian Score on the complete graph with Gaussian weights,
    times its Constraint Score-1; smaller is better.

    Not suitable for very many samples: the graph is complete, so time is quadratic in their number.
    The default `sigma` suits features scaled to [0, 1]. Salmi, Hammouche & Macaire call this score
    C4.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    sigma : float or "auto", default=1.0
        Width of the Gaussian weights `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to
        the median squared distance between samples.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    LaplacianScore : The first factor, on a neighbour graph.
    ConstraintScore : The second factor.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LaplacianConstraintScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> LaplacianConstraintScore().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _undefined = "both ends of every pair have the same value"
    needs = ("a must-link", "a cannot-link")
    works_on = ("memory", "sparse", "device")
    uses_weights = True
    references = ("kalakech2011", "salmi2020")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "sigma": SIGMA,
    }

    sigma: float | Literal["auto"] = 1.0

    def _score(self, X: Samples, known: Supervision) -> FloatArray:
        kernel = kernel_graph(X, resolve_sigma(self.sigma, X, self.n_jobs), n_jobs=self.n_jobs)
        return scores.laplacian_constraint(X, kernel, known, self.n_jobs)
