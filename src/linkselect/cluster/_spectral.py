"""Constrained spectral clustering: must-links and cannot-links modify the affinity matrix."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import KMeans
from sklearn.utils._param_validation import StrOptions

from linkselect._arrays import FloatArray
from linkselect._blocks import one_blas_thread
from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.cluster._clusterer import Clustering, PairClusterer
from linkselect.graphs import affinity_graph, nearest_edges, resolve_sigma
from linkselect.selectors._parameters import NEIGHBORS, SIGMA, with_parameters

# Below this size, all eigenvectors of a dense matrix are faster than a few of a sparse one.
SAMPLES_AS_DENSE = 500
# Up to this size, a dense matrix (200 MB) is used if the sparse solver does not converge.
MOST_SAMPLES_AS_DENSE = 5000


@with_parameters
class ConstrainedSpectralClustering(PairClusterer):
    """Spectral clustering of an affinity matrix that is modified by pairs.

    The affinity of neighbours is `exp(-distance^2 / (2 sigma^2))`, that of must-links is 1 and that
    of cannot-links is 0 [1]_. Let A be the affinity matrix, D the diagonal matrix of its row sums,
    and d_max the largest row sum. The rows of the leading eigenvectors of
    `(A + d_max I - D) / d_max` ("additive") or `D^(-1/2) A D^(-1/2)` ("symmetric") are scaled to
    length 1 and clustered by k-means.

    Pairs change affinities but are not hard constraints: the samples of a cannot-link may be in the
    same cluster if the rest of the graph outweighs the cannot-link. In contrast, `COPKMeans`
    satisfies all pairs. Do not use "additive" with a nearly complete graph, because the
    eigenvectors then isolate single samples; choose a small `n_neighbors`, or "symmetric".

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters. Default: the number of classes in y, or 8 without labels.
    n_neighbors : int, default=20
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other. If X has fewer samples, all samples are neighbours.
    sigma : float or "auto", default="auto"
        The width of the Gaussian kernel. With "auto", `2 sigma^2` is the median squared distance.
    normalization : {"additive", "symmetric"}, default="additive"
        The normalisation of the affinity matrix.
    n_jobs : int, optional
        The number of threads for computing nearest neighbours. Default: the number of threads that
        BLAS may use.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links connect the two samples of a cannot-link: raise an error, or drop
        the cannot-link with ("warn") or without ("drop") a warning.
    n_init : int, default=10
        The number of random starts of k-means.
    random_state : int, RandomState instance or None, default=None
        Seed for the random starts of k-means. The eigenvectors do not depend on this seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, numbered from 0.
    names_ : ndarray of object of shape (n_clusters,)
        The label of each cluster, or None; `names_[labels_]` contains the predicted labels.
        Clusters are matched with labels such that as many labelled samples as possible are in the
        cluster of their label, and are numbered in the order of the labels.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The affinity matrix, as modified by the pairs.
    n_features_in_ : int
        The number of features in X.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if X was a DataFrame with strings as column names.

    See Also
    --------
    COPKMeans : K-means clustering that satisfies all must-links and cannot-links.
    Pairs : Must-links and cannot-links.
    sklearn.cluster.SpectralClustering : Spectral clustering without supervision.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstrainedSpectralClustering, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5:50], y[55:100], y[105:] = -1, -1, -1
    >>> model = ConstrainedSpectralClustering(random_state=0).fit(X, y)
    >>> model.names_[model.labels_[[0, 70, 140]]]
    array([np.int64(0), np.int64(1), np.int64(2)], dtype=object)
    """

    references = ("kamvar2003",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairClusterer._parameter_constraints,
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
        "normalization": [StrOptions({"additive", "symmetric"})],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int = 20
    sigma: float | Literal["auto"] = "auto"
    normalization: Literal["additive", "symmetric"] = "additive"
    n_jobs: int | None = None

    def _cluster(self, X: Samples, known: Supervision, n_clusters: int) -> Clustering:
        near = nearest_edges(X, min(self.n_neighbors, X.shape[0] - 1), self.n_jobs)
        affinity = affinity_graph(near, known, resolve_sigma(self.sigma, X)).to_csr()
        normalize = additive if self.normalization == "additive" else symmetric
        # The order of summation in BLAS depends on the number of threads.
        with one_blas_thread():
            rows = leading_eigenvectors(normalize(affinity), n_clusters)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1.0)
        means = KMeans(n_clusters, n_init=self.n_init, random_state=self.random_state)
        labels = means.fit(rows).labels_.astype(np.intp)
        return Clustering(labels, fitted={"affinity_matrix_": affinity})


def additive(affinity: Any) -> Any:
    """Return `(A + d_max I - D) / d_max`, a random walk that stays longer at low-degree nodes."""
    degrees = affinity.sum(axis=1)
    largest = degrees.max() or 1.0
    return sparse.csr_array((affinity + sparse.diags_array(largest - degrees)) / largest)


def symmetric(affinity: Any) -> Any:
    """Return `D^(-1/2) A D^(-1/2)`; the row of a sample without affinities remains zero."""
    degrees = affinity.sum(axis=1)
    scale = sparse.diags_array(np.where(degrees > 0, degrees, np.inf) ** -0.5)
    return sparse.csr_array(scale @ affinity @ scale)


def leading_eigenvectors(matrix: Any, count: int) -> FloatArray:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix, as columns."""
    n_samples = matrix.shape[0]
    if n_samples > SAMPLES_AS_DENSE and count < n_samples - 1:
        # A fixed start vector makes the result reproducible; random entries involve all
        # eigenvectors.
        start = np.random.default_rng(0).standard_normal(n_samples)
        try:
            return eigsh(matrix, k=count, which="LA", v0=start)[1]
        except ArpackNoConvergence as error:
            if n_samples > MOST_SAMPLES_AS_DENSE:
                raise GuidedValueError(
                    "The leading eigenvectors of the affinity matrix cannot be computed: with this "
                    "sigma, most samples have almost no affinity to other samples.",
                    "Choose a larger sigma.",
                ) from error
    dense = matrix.toarray()
    found = eigh(dense, subset_by_index=[n_samples - count, n_samples - 1])[1]
    # Like ARPACK, LAPACK's solver for some eigenvectors may fail if eigenvalues nearly coincide, as
    # with very small affinities. In this case it returns no eigenvectors.
    return found if found.shape[1] == count else eigh(dense, driver="evd")[1][:, -count:]
