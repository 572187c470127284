"""The Laplacian Score."""

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import NeighborGraphSelector


class LaplacianScore(NeighborGraphSelector):
    """Rank features by how little they change between neighbours.

    With W the weights between neighbours, D their sums and `L = D - W`, the score of a feature
    f is `f'Lf / g'Dg`, where g is f minus its mean under D; smaller is better.

    Not for data in which noise features outnumber the others: neighbours are found in all
    features.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
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
    SpectralScore : Other scores on the same graph.
    ConstrainedLaplacianScore : The same idea with pairs or some labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LaplacianScore
    >>> X, y = load_iris(return_X_y=True)
    >>> LaplacianScore(n_features_to_select=2).fit(X).get_support()
    array([False, False,  True,  True])
    """

    references = ("he2005",)

    def _score_graph(self, X: Samples, near: Edges, known: Supervision, sigma: float) -> FloatArray:
        return scores.laplacian(X, self._weighted(near, sigma), self.n_jobs)
