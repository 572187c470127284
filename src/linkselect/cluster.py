"""Clustering that knows which samples belong together and which do not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect import supervision
from linkselect.arrays import FloatArray, IntArray, Matrix
from linkselect.blocks import map_threads
from linkselect.checks import check_labels, check_samples, check_spread, index_of
from linkselect.graphs import affinity_graph, nearest_edges, resolve_sigma
from linkselect.pairs import Pairs, encode_labels
from linkselect.selectors.parameters import NEIGHBORS, SIGMA
from linkselect.supervision import OnConflict, Supervision

__all__ = ["COPKMeans", "ConstrainedSpectralClustering"]

# As many clusters as scikit-learn's KMeans makes where nobody says how many.
N_CLUSTERS = 8
# Below this, all eigenvectors of a dense matrix are found faster than a few of a sparse one.
SAMPLES_AS_DENSE = 500
# Where the sparse solver finds no end, so many are still dense: 200 MB.
MOST_SAMPLES_AS_DENSE = 5000
AT_LEAST_1 = [Interval(Integral, 1, None, closed="left")]


class _PairClusterer(ClusterMixin, BaseEstimator):
    """What the two clusterers share: check the input, cluster, name the clusters by labels."""

    __metadata_request__fit: ClassVar = {"pairs": True, "sample_ids": True}
    __metadata_request__fit_predict: ClassVar = {"pairs": True, "sample_ids": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [*AT_LEAST_1, None],
        "on_conflict": [StrOptions({"raise", "warn", "drop"})],
        "n_init": AT_LEAST_1,
        "random_state": ["random_state"],
    }

    n_clusters: int | None
    on_conflict: OnConflict

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), optional
            Labels, with -1, None or NaN where unknown. Ignored when pairs are given.
        pairs : Pairs, optional
            Must-links and cannot-links.
        sample_ids : iterable of hashable, optional
            The id of each row, by which `pairs` name samples. Default: the index of a pandas
            X, else row numbers.

        Returns
        -------
        self
        """
        self._validate_params()
        ids = index_of(X) if sample_ids is None else sample_ids
        X = check_samples(self, X)
        check_spread(X, getattr(self, "feature_names_in_", None))
        names: NDArray[Any] = np.empty(0)
        if pairs is not None:
            known = supervision.from_pairs(
                pairs, X.shape[0], ids, self.on_conflict, ids_are_index=sample_ids is None
            )
        elif y is not None:
            labels = check_labels(y)
            known = supervision.from_labels(labels, X.shape[0])
            names = encode_labels(labels)[1]
        else:
            known = supervision.nothing(X.shape[0])
        n_clusters = self._count_clusters(X.shape[0], len(names))
        found = self._cluster(X, known, n_clusters)
        classes = known.classes if len(names) else np.full(X.shape[0], -1)
        number = _numbers_by_label(found["labels_"], classes, n_clusters)
        self.names_ = np.full(n_clusters, None, dtype=object)
        for cluster, code in enumerate(number.names):
            if code >= 0:
                self.names_[cluster] = names[code]
        self.labels_ = number.new[found.pop("labels_")]
        if "cluster_centers_" in found:
            found["cluster_centers_"] = found["cluster_centers_"][np.argsort(number.new)]
        self.__dict__.update(found)
        return self

    def fit_predict(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
    ) -> IntArray:
        """Cluster the samples and return `labels_`; see `fit`."""
        return self.fit(X, y, pairs=pairs, sample_ids=sample_ids).labels_

    def _count_clusters(self, n_samples: int, n_classes: int) -> int:
        n_clusters = self.n_clusters or n_classes or N_CLUSTERS
        if n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={n_clusters}, but X has {n_samples} samples. Ask for 1 to "
                f"{n_samples} clusters."
            )
        return n_clusters

    def _cluster(self, X: Matrix, known: Supervision, n_clusters: int) -> dict[str, Any]:
        """Return `labels_` and further attributes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Numbers(NamedTuple):
    """The new number of each cluster, and the class code that names each new number, or -1."""

    new: IntArray
    names: IntArray


def _numbers_by_label(clusters: IntArray, classes: IntArray, n_clusters: int) -> _Numbers:
    """Number clusters in the order of the labels that name them, the nameless ones last.

    Clusters and labels are matched one to one, so that as many labelled samples as possible are in
    the cluster of their label. A match without a labelled sample in common is none.
    """
    n_classes = int(classes.max(initial=-1)) + 1
    agreement = np.zeros((n_clusters, n_classes), dtype=np.intp)
    known = classes >= 0
    np.add.at(agreement, (clusters[known], classes[known]), 1)
    names = np.full(n_clusters, -1, dtype=np.intp)
    for cluster, code in zip(*linear_sum_assignment(-agreement), strict=True):
        if agreement[cluster, code]:
            names[cluster] = code
    order = np.lexsort((np.arange(n_clusters), np.where(names < 0, n_classes, names)))
    new = np.empty(n_clusters, dtype=np.intp)
    new[order] = np.arange(n_clusters)
    return _Numbers(new, names[order])


class ConstrainedSpectralClustering(_PairClusterer):
    """Cluster the leading eigenvectors of an affinity that pairs have changed.

    Neighbours have the affinity `exp(-distance^2 / (2 sigma^2))`, must-links 1 and cannot-links 0
    (Kamvar, Klein & Manning 2003). With A the affinities and D their row sums, the leading
    eigenvectors of `(A + d_max I - D) / d_max` ("additive") or `D^(-1/2) A D^(-1/2)` ("symmetric")
    are taken, their rows scaled to length 1 and clustered by k-means.

    Pairs change affinities and promise nothing: a cannot-link may end in one cluster if the rest
    of the graph insists; `COPKMeans` never does that. Not for a nearly complete graph under
    "additive": its eigenvectors then pick out single samples. Keep `n_neighbors` small or take
    "symmetric".

    Parameters
    ----------
    n_clusters : int, optional
        How many clusters. Default: as many as the labels have classes; 8 without labels.
    n_neighbors : int, default=20
        Samples are neighbours where either is among this many nearest of the other; all others
        where there are fewer.
    sigma : float or "auto", default="auto"
        The width of the Gaussian. "auto": `2 sigma^2` is the median squared distance.
    normalization : {"additive", "symmetric"}, default="additive"
        How the affinity is normalised.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_init : int, default=10
        How many starts k-means makes.
    random_state : int, RandomState instance or None, default=None
        Determines the starts of k-means. The eigenvectors do not depend on it.
    n_jobs : int, optional
        The number of threads of the neighbour search. Default: as many as BLAS may use.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, from 0.
    names_ : ndarray of object of shape (n_clusters,)
        The label that names each cluster, or None; `names_[labels_]` are labels. Clusters are
        matched with labels so that as many labelled samples as possible keep theirs, and
        numbered in their order.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The affinities with the pairs in them.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_PairClusterer._parameter_constraints,
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
        "normalization": [StrOptions({"additive", "symmetric"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_neighbors: int = 20,
        sigma: float | Literal["auto"] = "auto",
        normalization: Literal["additive", "symmetric"] = "additive",
        on_conflict: OnConflict = "raise",
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.normalization = normalization
        self.on_conflict = on_conflict
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, X: Matrix, known: Supervision, n_clusters: int) -> dict[str, Any]:
        near = nearest_edges(X, min(self.n_neighbors, X.shape[0] - 1), self.n_jobs)
        affinity = affinity_graph(near, known, resolve_sigma(self.sigma, X)).to_csr()
        normalize = additive if self.normalization == "additive" else symmetric
        # One BLAS thread, since the order of its sums depends on how many it has.
        [rows] = map_threads(
            lambda matrix: leading_eigenvectors(matrix, n_clusters), [normalize(affinity)], n_jobs=1
        )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1.0)
        means = KMeans(n_clusters, n_init=self.n_init, random_state=self.random_state)
        return {"labels_": means.fit(rows).labels_.astype(np.intp), "affinity_matrix_": affinity}


def additive(affinity: Any) -> Any:
    """Compute `(A + d_max I - D) / d_max`: a walk that stays longer where the degree is small."""
    degrees = affinity.sum(axis=1)
    largest = degrees.max() or 1.0
    return sparse.csr_array((affinity + sparse.diags_array(largest - degrees)) / largest)


def symmetric(affinity: Any) -> Any:
    """Compute `D^(-1/2) A D^(-1/2)`; a sample without any affinity keeps a row of zeros."""
    degrees = affinity.sum(axis=1)
    scale = sparse.diags_array(np.where(degrees > 0, degrees, np.inf) ** -0.5)
    return sparse.csr_array(scale @ affinity @ scale)


def leading_eigenvectors(matrix: Any, count: int) -> FloatArray:
    """Find the eigenvectors of the largest eigenvalues of a symmetric matrix, in columns."""
    n_samples = matrix.shape[0]
    if n_samples > SAMPLES_AS_DENSE and count < n_samples - 1:
        # A fixed start makes the result repeatable; a random one meets every eigenvector.
        start = np.random.default_rng(0).standard_normal(n_samples)
        try:
            return eigsh(matrix, k=count, which="LA", v0=start)[1]
        except ArpackNoConvergence as error:
            if n_samples > MOST_SAMPLES_AS_DENSE:
                raise ValueError(
                    "The leading eigenvectors of the affinities cannot be told apart: at this "
                    "sigma most samples have hardly any affinity to others. Choose a larger sigma."
                ) from error
    dense = matrix.toarray()
    found = eigh(dense, subset_by_index=[n_samples - count, n_samples - 1])[1]
    # Like ARPACK, LAPACK's solver for some eigenvectors may fail where eigenvalues nearly coincide,
    # as they do if affinities are tiny; it then returns none.
    return found if found.shape[1] == count else eigh(dense, driver="evd")[1][:, -count:]


class COPKMeans(_PairClusterer):
    """Cluster by k-means that never breaks a pair (Wagstaff et al. 2001).

    Samples that must-links join, or that have one label, move as one group. Groups are assigned
    one after the other to the nearest centre whose cluster holds nothing they cannot be with. The
    order decides whether that succeeds, so the group with the fewest clusters left goes first
    (Brelaz), then the one with most cannot-links, and every start shuffles the rest. Of the starts
    that succeed, the one with the least scatter counts.

    Whether an assignment exists at all is a graph colouring, so for three or more clusters a
    feasible problem may be given up; the error says what to try. Without pairs this is k-means;
    scikit-learn's is faster. X is held dense in float64.

    Parameters
    ----------
    n_clusters : int, optional
        How many clusters. Default: as many as the labels have classes; 8 without labels. If
        fewer than the classes of y, samples of a class still stay together, and classes merge.
    max_iter : int, default=300
        How many assignments to make at most in each start.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_init : int, default=10
        How many starts to make.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, from 0.
    names_ : ndarray of object of shape (n_clusters,)
        The label that names each cluster, or None; `names_[labels_]` are labels.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means of the clusters.
    inertia_ : float
        The sum of squared distances to them.
    n_iter_ : int
        How many assignments the best start made.

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect import COPKMeans, Pairs
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> pairs = Pairs(must=[(0, 3)], cannot=[(0, 1)])
    >>> clusters = COPKMeans(2, random_state=0).fit_predict(X, pairs=pairs)
    >>> bool(clusters[0] == clusters[3]), bool(clusters[0] == clusters[1])
    (True, False)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_PairClusterer._parameter_constraints,
        "max_iter": AT_LEAST_1,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_iter: int = 300,
        on_conflict: OnConflict = "raise",
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: Matrix, known: Supervision, n_clusters: int) -> dict[str, Any]:
        points = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64, order="C")
        groups, apart = _groups(known, n_clusters)
        sizes = np.bincount(groups)
        if n_clusters > len(sizes):
            raise ValueError(
                f"n_clusters={n_clusters}, but the must-links leave {len(sizes)} groups of the "
                f"{len(points)} samples. Ask for fewer clusters or give fewer must-links."
            )
        member = sparse.csr_array((1 / sizes[groups], (groups, np.arange(len(groups)))))
        means = member @ points
        rng = check_random_state(self.random_state)
        starts = [
            _one_start(means, sizes, apart, n_clusters, self.max_iter, rng)
            for _ in range(self.n_init)
        ]
        found = [start for start in starts if start is not None]
        if not found:
            raise ValueError(
                f"No assignment to n_clusters={n_clusters} that honours every cannot-link was "
                f"found in n_init={self.n_init} starts. {_clique(apart, n_clusters)}Ask for more "
                "clusters, raise n_init, or give fewer cannot-links."
            )
        best = min(found, key=lambda start: start.scatter)
        labels = best.clusters[groups]
        return {
            "labels_": labels,
            "cluster_centers_": best.centres,
            "inertia_": float(np.square(points - best.centres[labels]).sum()),
            "n_iter_": best.n_iter,
        }


def _groups(known: Supervision, n_clusters: int) -> tuple[IntArray, list[IntArray]]:
    """Return the group of each sample, and for each group those that it cannot be with."""
    n_samples = len(known.classes)
    n_classes = int(known.classes.max(initial=-1)) + 1
    single = n_classes + np.arange(n_samples)
    groups = np.where(known.classes >= 0, known.classes, single)
    groups = np.unique(groups, return_inverse=True)[1].astype(np.intp)
    if known.cannot is None:
        # Fewer clusters than classes is the wish to merge classes, so none is kept apart.
        n_apart = n_classes if n_classes <= n_clusters else 0
        links = np.column_stack(np.triu_indices(n_apart, k=1))
    else:
        links = groups[known.cannot]
    links = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0)
    n_groups = int(groups.max()) + 1
    return groups, np.split(links[:, 1], np.searchsorted(links[:, 0], np.arange(1, n_groups)))


class _Start(NamedTuple):
    clusters: IntArray
    centres: FloatArray
    scatter: float
    n_iter: int


def _one_start(
    means: FloatArray,
    sizes: IntArray,
    apart: list[IntArray],
    n_clusters: int,
    max_iter: int,
    rng: np.random.RandomState,
) -> _Start | None:
    """Run k-means on groups from one random start; None where the assignment gets stuck."""
    n_links = np.array([len(others) for others in apart])
    constrained = rng.permutation(np.flatnonzero(n_links))
    constrained = constrained[np.argsort(-n_links[constrained], kind="stable")]
    weights = sizes.astype(np.float64)
    centres, _ = kmeans_plusplus(means, n_clusters, sample_weight=weights, random_state=rng)
    best: _Start | None = None
    before = None
    for number in range(1, max_iter + 1):
        distances = np.column_stack([np.square(means - c).sum(axis=1) for c in centres])
        clusters = _assign(distances, apart, constrained)
        if clusters is None or (before is not None and (clusters == before).all()):
            break
        centres = _centres(means, weights, clusters, centres)
        scatter = float(weights @ np.square(means - centres[clusters]).sum(axis=1))
        # A greedy assignment may also get worse, so the last one need not be the best.
        if best is None or scatter < best.scatter:
            best = _Start(clusters, centres, scatter, number)
        before = clusters
    return best


def _assign(distances: FloatArray, apart: list[IntArray], constrained: IntArray) -> IntArray | None:
    """Assign groups to the nearest cluster open to them; None where one has none left.

    Next comes always the constrained group with the fewest clusters left, in the order given
    where several have as few. That finds an assignment to two clusters whenever there is one.
    """
    n_clusters = distances.shape[1]
    clusters = distances.argmin(axis=1)
    allowed = distances.copy()
    left = np.full(len(clusters), n_clusters)
    done = 2 * n_clusters
    for _ in constrained:
        group = constrained[left[constrained].argmin()]
        if left[group] == 0:
            return None
        cluster = clusters[group] = allowed[group].argmin()
        waiting = apart[group][left[apart[group]] < done]
        left[waiting] -= np.isfinite(allowed[waiting, cluster])
        allowed[waiting, cluster] = np.inf
        left[group] = done
    return clusters


def _centres(
    means: FloatArray, weights: FloatArray, clusters: IntArray, centres: FloatArray
) -> FloatArray:
    """Average the groups of every cluster; an empty cluster keeps its centre."""
    total = np.bincount(clusters, weights, minlength=len(centres))
    sums = np.zeros_like(centres)
    np.add.at(sums, clusters, means * weights[:, None])
    return np.where(total[:, None] > 0, sums / np.where(total > 0, total, 1.0)[:, None], centres)


def _clique(apart: list[IntArray], n_clusters: int) -> str:
    """Say so where more groups than clusters exclude each other: then there is no assignment."""
    for start in np.argsort([-len(others) for others in apart], kind="stable"):
        clique, candidates = [int(start)], set(apart[start].tolist())
        while candidates:
            shared = {group: len(candidates & set(apart[group].tolist())) for group in candidates}
            following = max(sorted(candidates), key=shared.__getitem__)
            clique.append(following)
            candidates &= set(apart[following].tolist())
        if len(clique) > n_clusters:
            return f"There is none: {len(clique)} groups of samples must all be apart. "
        if len(apart[start]) < n_clusters:
            break
    return ""
