"""COP-KMeans: k-means in which clusters satisfy all must-links and cannot-links."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.cluster._clusterer import Clustering, PairClusterer
from linkselect.selectors._parameters import AT_LEAST_1, with_parameters


@with_parameters
class COPKMeans(PairClusterer):
    """K-means clustering that satisfies all must-links and cannot-links.

    Samples that are connected by must-links, or that have the same label, are assigned as one
    group. Each group in turn is assigned to the nearest cluster that contains no group from which
    cannot-links or labels separate it [1]_. Whether this succeeds depends on the order of the
    groups. The group with the fewest possible clusters is therefore assigned first [2]_. Ties are
    resolved in favour of the group with the most cannot-links, then at random. The result is the
    successful start with the smallest inertia.

    Finding a valid assignment is a graph colouring problem. With three or more clusters, the search
    may therefore fail although an assignment exists; the error message suggests what to change.
    Without pairs and labels, the method reduces to k-means, for which scikit-learn is faster. X is
    converted to a dense array of type float64.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters. Default: the number of classes in y, or 8 without labels. If there
        are fewer clusters than classes, whole classes are merged.
    max_iter : int, default=300
        The maximum number of iterations in each start.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links connect the two samples of a cannot-link: raise an error, or drop
        the cannot-link with ("warn") or without ("drop") a warning.
    n_init : int, default=10
        The number of random starts.
    random_state : int, RandomState instance or None, default=None
        Seed for the random starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, numbered from 0.
    names_ : ndarray of object of shape (n_clusters,)
        The label of each cluster, or None; `names_[labels_]` contains the predicted labels.
        Clusters are matched with labels such that as many labelled samples as possible are in the
        cluster of their label, and are numbered in the order of the labels.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres of the clusters.
    inertia_ : float
        The sum of squared distances of the samples to their centres.
    n_iter_ : int
        The number of iterations of the best start.
    n_features_in_ : int
        The number of features in X.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if X was a DataFrame with strings as column names.

    See Also
    --------
    ConstrainedSpectralClustering : Clusters of any shape, with pairs as soft constraints.
    Pairs : Must-links and cannot-links.
    sklearn.cluster.KMeans : K-means without supervision.

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

    references = ("wagstaff2001", "brelaz1979")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairClusterer._parameter_constraints,
        "max_iter": AT_LEAST_1,
    }

    max_iter: int = 300

    def _cluster(self, X: Samples, known: Supervision, n_clusters: int) -> Clustering:
        points = np.array(X.dense(), dtype=np.float64, order="C")
        # k-means++ computes distances from dot products, in which a large offset reduces precision.
        origin = points.mean(axis=0)
        points -= origin
        groups, apart = _groups(known, n_clusters)
        sizes = np.bincount(groups)
        if n_clusters > len(sizes):
            raise GuidedValueError(
                f"n_clusters={n_clusters}, but the must-links join the {len(points)} samples into "
                f"only {len(sizes)} groups.",
                "Choose fewer clusters, or pass fewer must-links.",
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
            raise GuidedValueError(
                f"No assignment to n_clusters={n_clusters} that satisfies all cannot-links was "
                f"found in n_init={self.n_init} starts.{_why_none(apart, n_clusters)}",
                "Choose more clusters, increase n_init, or pass fewer cannot-links.",
            )
        best = min(found, key=lambda start: start.scatter)
        labels = best.clusters[groups]
        inertia = float(np.square(points - best.centers[labels]).sum())
        centers = best.centers + origin
        return Clustering(labels, centers, {"inertia_": inertia, "n_iter_": best.n_iter})


def _groups(known: Supervision, n_clusters: int) -> tuple[IntArray, list[IntArray]]:
    """Return the group of each sample, and the groups from which each group must be separated."""
    n_samples = len(known.classes)
    n_classes = int(known.classes.max(initial=-1)) + 1
    single = n_classes + np.arange(n_samples)
    groups = np.where(known.classes >= 0, known.classes, single)
    groups = np.unique(groups, return_inverse=True)[1].astype(np.intp)
    if known.cannot is None:
        # Fewer clusters than classes means that classes may merge, so none are separated.
        n_apart = n_classes if n_classes <= n_clusters else 0
        links = np.column_stack(np.triu_indices(n_apart, k=1))
    else:
        links = groups[known.cannot]
    links = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0)
    n_groups = int(groups.max()) + 1
    return groups, np.split(links[:, 1], np.searchsorted(links[:, 0], np.arange(1, n_groups)))


class _Start(NamedTuple):
    """The best assignment of groups found in one start."""

    clusters: IntArray
    centers: FloatArray
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
    """Run k-means on groups from one random start, or return None if no assignment is valid."""
    n_links = np.array([len(others) for others in apart])
    constrained = rng.permutation(np.flatnonzero(n_links))
    constrained = constrained[np.argsort(-n_links[constrained], kind="stable")]
    weights = sizes.astype(np.float64)
    # Computed here so that an overflow raises an error on every platform, before k-means++ uses it.
    norms = np.square(means).sum(axis=1)
    centers, _ = kmeans_plusplus(
        means, n_clusters, sample_weight=weights, x_squared_norms=norms, random_state=rng
    )
    best: _Start | None = None
    before = None
    for number in range(1, max_iter + 1):
        distances = np.column_stack([np.square(means - c).sum(axis=1) for c in centers])
        clusters = _assign(distances, apart, constrained)
        if clusters is None or (before is not None and (clusters == before).all()):
            break
        centers = _centers(means, weights, clusters, centers)
        scatter = float(weights @ np.square(means - centers[clusters]).sum(axis=1))
        # With constraints, the inertia may increase, so the last assignment need not be the best.
        if best is None or scatter < best.scatter:
            best = _Start(clusters, centers, scatter, number)
        before = clusters
    return best


def _assign(distances: FloatArray, apart: list[IntArray], constrained: IntArray) -> IntArray | None:
    """Assign each group to the nearest allowed cluster, or return None if a group has none.

    The group with the fewest allowed clusters is always assigned next; of tied groups, the first
    one is assigned. For two clusters, this finds an assignment whenever there is one.
    """
    n_clusters = distances.shape[1]
    clusters = distances.argmin(axis=1)
    allowed = distances.copy()
    left = np.full(len(clusters), n_clusters)
    # Larger than any number of allowed clusters, so that assigned groups are not chosen again.
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


def _centers(
    means: FloatArray, weights: FloatArray, clusters: IntArray, centers: FloatArray
) -> FloatArray:
    """Return the mean of the groups in every cluster; an empty cluster keeps its centre."""
    total = np.bincount(clusters, weights, minlength=len(centers))
    sums = np.zeros_like(centers)
    np.add.at(sums, clusters, means * weights[:, None])
    return np.where(total[:, None] > 0, sums / np.where(total > 0, total, 1.0)[:, None], centers)


def _why_none(apart: list[IntArray], n_clusters: int) -> str:
    """Return an explanation if too many groups exclude each other, otherwise an empty string."""
    for start in np.argsort([-len(others) for others in apart], kind="stable"):
        clique, candidates = [int(start)], set(apart[start].tolist())
        while candidates:
            shared = {group: len(candidates & set(apart[group].tolist())) for group in candidates}
            following = max(sorted(candidates), key=shared.__getitem__)
            clique.append(following)
            candidates &= set(apart[following].tolist())
        if len(clique) > n_clusters:
            return f" No assignment exists: {len(clique)} groups must be in different clusters."
        if len(apart[start]) < n_clusters:
            break
    return ""
