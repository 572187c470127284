"""CLS: a Laplacian Score that takes pairs into account."""

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError, many
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import GraphSelector
from linkselect.selectors._parameters import SIGMA, with_parameters
from linkselect.selectors._supervised_selectors import PairSelector

# Of stored data, from labels.
MOST_LABELLED = 10_000


@with_parameters
class ConstrainedLaplacianScore(GraphSelector, PairSelector):
    """Rank features by a Laplacian Score that takes pairs into account (CLS).

    The score divides how a feature varies between samples that should be alike by how it varies
    between samples that should differ: over cannot-links, weighted by the degrees of their ends,
    and over the spread of unlabelled samples; smaller is better. Variant "2011" takes neighbours
    and must-links as alike. Variant "2014" takes neighbours that are not must-links, plus the
    links on which labels and distances disagree: far must-links and near cannot-links.

    Without any supervision this is twice the Laplacian Score on the same graph. The default
    sigma suits features scaled to [0, 1]. Salmi, Hammouche & Macaire call the variants C5 and C6.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    variant : {"2011", "2014"}, default="2011"
        Which of the two published scores.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    n_neighbors : int, default=5
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other.
    max_queries : int, optional
        Find the neighbours of that many samples only, drawn at random, and estimate the scores
        from them. All with a label or in a pair are among them and may be half of them at most.
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
    CompensatedLaplacianScore : A compensated form of it.
    EnsembleCLS : Averaged over bags and subspaces.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstrainedLaplacianScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ConstrainedLaplacianScore().fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _asks_all_known = True
    # Must-links that are not near are weighed by their distance in all features.
    _scores_columns_apart = False
    references = ("benabdeslem2011", "benabdeslem2014", "salmi2020")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        **PairSelector._parameter_constraints,
        "variant": [StrOptions({"2011", "2014"})],
        "sigma": SIGMA,
    }

    variant: Literal["2011", "2014"] = "2011"
    sigma: float | Literal["auto"] = 1.0

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.constrained_laplacian(X, near, known, sigma, self.variant, self.n_jobs)

    def _check_search(self, X: Samples, known: Supervision) -> None:
        super()._check_search(X, known)
        n_labelled = int(np.count_nonzero(~known.unlabelled))
        if X.most_listed is not None and known.listed_must is None and n_labelled > MOST_LABELLED:
            raise GuidedValueError(
                f"{many(n_labelled, 'sample')} have a label. Every two of one class are compared, "
                f"which takes time by the square of their number, and X is outside memory: "
                f"{MOST_LABELLED:,} are the most. CompensatedLaplacianScore and LSDF take any "
                "number.",
                "Use one of these, or keep the labels of fewer samples (-1 for the others).",
                "y",
            )
        n_samples = X.shape[0]
        asks_all = (self.max_queries or X.default_queries or n_samples) >= n_samples
        if asks_all and X.must_stay_outside and known.listed_must is None:
            n_bytes = n_samples * X.shape[1] * X.dtype.itemsize
            fewer = max(2 * n_labelled, n_samples // 2)
            hint = "Keep the labels of fewer samples (-1 for the others)"
            if fewer < n_samples:
                hint = f"Pass max_queries={fewer}"
            raise GuidedValueError(
                f"X takes {n_bytes / 2**20:,.0f} MB, and ConstrainedLaplacianScore from labels "
                "needs the samples in memory if it asks all of them for their neighbours.",
                f"{hint}, use CompensatedLaplacianScore or LSDF, or pass np.asarray(X) if it "
                "fits into memory.",
                "max_queries",
            )
