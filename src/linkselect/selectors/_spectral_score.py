"""SPEC: features compared with the spectrum of a graph."""

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
    """Rank features by the spectrum of the neighbour graph (SPEC).

    With Ln the normalised Laplacian of the graph, (lambda_j, xi_j) its eigenpairs and
    `h = D^(1/2) f` scaled to norm 1, the score of a feature f is for

    - style 1: `h' Ln h`; smaller is better,
    - style 2: `h' Ln h / (1 - (h'xi_1)^2)`, equal to the Laplacian Score; smaller is better,
    - style 3: the sum over j >= 2 of `(2 - lambda_j) (h'xi_j)^2`; larger is better.

    Styles 1 and 3 depend on the offset of a feature: style 1 favours features that are far
    from 0 compared with their spread. Prefer style 2 unless features have a natural zero.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    style : {1, 2, 3}, default=2
        Which of the three scores.
    sigma : float or "auto", default="auto"
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    weights : {"gaussian", "binary"}, default="gaussian"
        Whether near neighbours weigh more than far ones, or all weigh 1.
    radius : float, optional
        If given, samples are neighbours if they are at most this far apart, and
        `n_neighbors` is not used.
    n_neighbors : int, default=5
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other.
    max_queries : int, optional
        Find the neighbours of that many samples only, drawn at random, and estimate the scores
        from them. Default: all samples; 20,000, with a warning, if X is outside memory.
    neighbors_transformer : transformer, optional
        Proposes neighbours, of which the nearest are taken: any of scikit-learn's kind, such as
        `KNeighborsTransformer` or pynndescent's. It should propose twice `n_neighbors`.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.
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
    LaplacianScore : Style 2 by its usual name.

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
        """Whether a larger value of `scores_` is better; depends on the instance: in style 3."""
        return self.style == 3

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.spectral(X, self._weighted(near, sigma), self.style, self.n_jobs)
