"""SPEC, which relates features to the spectrum of a nearest-neighbour graph."""

from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Options

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import NeighborGraphSelector
from linkselect.selectors._parameters import with_parameters


@with_parameters
class SpectralScore(NeighborGraphSelector):
    """Rank features by their smoothness on a neighbour graph, measured by its spectrum (SPEC).

    Let Ln be the normalised Laplacian of the graph, (lambda_j, xi_j) its eigenpairs, D the diagonal
    matrix of its degrees, and `h = D^(1/2) f` scaled to norm 1. The score of a feature f depends on
    `style`:

    - For style 1, it is `h' Ln h`; smaller is better.
    - For style 2, it is `h' Ln h / (1 - (h'xi_1)^2)`, the Laplacian Score; smaller is better.
    - For style 3, it is the sum over j >= 2 of `(2 - lambda_j) (h'xi_j)^2`; larger is better.

    Styles 1 and 3 are not suitable for features without a natural zero, because they depend on the
    offset of a feature: style 1 favours features with a large mean compared with their spread.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    style : {1, 2, 3}, default=2
        The number of the score in the list above.
    sigma : float or "auto", default="auto"
        Width of the Gaussian weights `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to
        the median squared distance between samples.
    weights : {"gaussian", "binary"}, default="gaussian"
        Weights of the edges between neighbours: "gaussian" weights decrease with distance (see
        `sigma`), and "binary" weights are all 1.
    radius : float, optional
        If given, samples are neighbours if their distance is at most `radius`, and `n_neighbors` is
        ignored.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    max_queries : int, optional
        Maximum number of samples whose nearest neighbours are computed. If there are more samples,
        this number is drawn at random, and the scores are estimates. Default: all samples or, if X
        is stored outside memory, 20,000 samples with a warning.
    neighbors_transformer : transformer, optional
        Transformer that returns candidate neighbours, of which the nearest ones are kept. It must
        have the interface of scikit-learn's `KNeighborsTransformer`, as in pynndescent, and should
        return twice `n_neighbors` candidates.
    random_state : int, RandomState instance or None, default=None
        Controls the random draw. Pass an int for reproducible results.
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
    LaplacianScore : Style 2 under its usual name.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import SpectralScore
    >>> X, y = load_iris(return_X_y=True)
    >>> SpectralScore(style=2).fit(X).order_
    array([2, 3, 0, 1])
    """

    references = ("zhao2007",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborGraphSelector._parameter_constraints,
        "style": [Options(int, {1, 2, 3})],
    }

    style: Literal[1, 2, 3] = 2

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Whether larger values of `scores_` are better, which is the case only for style 3."""
        return self.style == 3

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.spectral(X, self._weighted(near, sigma), self.style, self.n_jobs)
