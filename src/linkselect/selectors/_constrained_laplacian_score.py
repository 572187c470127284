"""Constrained Laplacian Score (CLS), which uses pairs."""

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

# Largest number of labelled samples if X is stored outside memory.
MOST_LABELLED = 10_000


@with_parameters
class ConstrainedLaplacianScore(GraphSelector, PairSelector):
    """Rank features by a Laplacian Score that uses pairs (CLS).

    Let `Q(f; W)` be the sum of `w_ij (f_i - f_j)^2` over the edges of W, a graph of samples that
    should be alike. Let C contain the cannot-links, weighted by the degrees of their samples, and
    let `free` be the spread of the unlabelled samples about the overall mean, weighted by their
    degrees. The score of a feature f is `2 Q(f; W) / (Q(f; C) + free)`; smaller is better.

    The edges of W have Gaussian weights. In variant "2011", W joins neighbours and must-links. In
    variant "2014", W joins neighbours without a must-link and gives extra weight to links that
    contradict distances: must-links between distant samples and cannot-links between neighbours.

    Without supervision, the score is twice the Laplacian Score on the same graph. The default
    `sigma` suits features scaled to [0, 1]. Not suitable if noise features outnumber the others,
    since neighbours are found in all features. Salmi, Hammouche & Macaire call the variants C5 and
    C6.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    variant : {"2011", "2014"}, default="2011"
        Year of the paper that defines the score.
    sigma : float or "auto", default=1.0
        Width of the Gaussian weights `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to
        the median squared distance between samples.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    max_queries : int, optional
        Maximum number of samples whose nearest neighbours are computed. If there are more samples,
        this number is drawn at random, and the scores are estimates. Samples with a label or in a
        pair are always included and may make up at most half of this number. Default: all samples
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
    CompensatedLaplacianScore : A related score that also uses class scatter.
    EnsembleCLS : The mean of this score over random subsamples.

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
    # Must-links between distant samples are weighted by the distance over all features.
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
                f"{many(n_labelled, 'sample')} have a label, but at most {MOST_LABELLED:,} labels "
                "are supported if X is stored outside memory. This method compares all pairs of "
                "samples in a class, so its time is quadratic in the number of labels. "
                "CompensatedLaplacianScore and LSDF support any number of labels.",
                "Use one of these methods, or reduce the number of labels (-1 means unlabelled).",
                "y",
            )
        n_samples = X.shape[0]
        asks_all = (self.max_queries or X.default_queries or n_samples) >= n_samples
        if asks_all and X.must_stay_outside and known.listed_must is None:
            n_bytes = n_samples * X.shape[1] * X.dtype.itemsize
            fewer = max(2 * n_labelled, n_samples // 2)
            hint = "Reduce the number of labels (-1 means unlabelled)"
            if fewer < n_samples:
                hint = f"Pass max_queries={fewer}"
            raise GuidedValueError(
                "With labels, ConstrainedLaplacianScore requires X in memory because it computes "
                f"the nearest neighbours of all samples, but X takes {n_bytes / 2**20:,.0f} MB.",
                f"{hint}, use CompensatedLaplacianScore or LSDF, or pass np.asarray(X) if it "
                "fits into memory.",
                "max_queries",
            )
