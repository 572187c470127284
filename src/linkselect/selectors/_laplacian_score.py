"""The Laplacian Score."""

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import Edges
from linkselect.selectors._neighbor_graph import NeighborGraphSelector


class LaplacianScore(NeighborGraphSelector):
    """Rank features by how little they vary between neighbouring samples.

    Let W be the matrix of weights between neighbours, D the diagonal matrix of its row sums and
    `L = D - W`. The score of a feature f is `f'Lf / g'Dg`, where g is f minus its mean weighted by
    D; smaller is better.

    Not suitable if noise features outnumber the others, since neighbours are found in all features.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
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
    SpectralScore : Related scores on the same graph.
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
