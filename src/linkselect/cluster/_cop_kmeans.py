"""COP-KMeans: k-means that never breaks a pair."""

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
    """Cluster by k-means that never breaks a pair [1]_.

    Samples that must-links join, or that have one label, move as one group. Groups are assigned
    one after the other to the nearest centre whose cluster holds nothing they cannot be with. The
    order decides whether that succeeds, so the group with the fewest clusters left goes first
    [2]_, then the one with most cannot-links, and every start shuffles the rest. Of the starts
    that succeed, the one with the least scatter counts.

    Whether an assignment exists is a question of graph colouring, so for three or more clusters the
    search may fail although there is one; the error says what to try. Without pairs this is
    k-means, and scikit-learn's is faster. X is held dense in float64.

    Parameters
    ----------
    n_clusters : int, optional
        How many clusters. Default: as many as the labels have classes; 8 without labels. If
        fewer than the classes of y, samples of a class still stay together, and classes merge.
    max_iter : int, default=300
        How many assignments to make at most in each start.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do when must-links join the two ends of a cannot-link: "raise" an error, or drop
        that cannot-link with ("warn") or without ("drop") a warning.
    n_init : int, default=10
        How many starts to make.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, from 0.
    names_ : ndarray of object of shape (n_clusters,)
        The label that names each cluster, or None; `names_[labels_]` are labels. Clusters are
        matched with labels so that as many labelled samples as possible keep theirs, and
        numbered in their order.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means of the clusters.
    inertia_ : float
        The sum of squared distances to them.
    n_iter_ : int
        How many assignments the best start made.
    n_features_in_ : int
        How many features X had.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X was a frame with text for column names.

    See Also
    --------
    ConstrainedSpectralClustering : Clusters of any shape; pairs change affinities.
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
        # The first centres are drawn by products, in which a large offset hides the distances.
        origin = points.mean(axis=0)
        points -= origin
        groups, apart = _groups(known, n_clusters)
        sizes = np.bincount(groups)
        if n_clusters > len(sizes):
            raise GuidedValueError(
                f"n_clusters={n_clusters}, but the must-links leave {len(sizes)} groups of the "
                f"{len(points)} samples.",
                "Ask for fewer clusters or give fewer must-links.",
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
                f"No assignment to n_clusters={n_clusters} that honours every cannot-link was "
                f"found in n_init={self.n_init} starts.{_why_none(apart, n_clusters)}",
                "Ask for more clusters, raise n_init, or give fewer cannot-links.",
            )
        best = min(found, key=lambda start: start.scatter)
        labels = best.clusters[groups]
        inertia = float(np.square(points - best.centers[labels]).sum())
        centers = best.centers + origin
        return Clustering(labels, centers, {"inertia_": inertia, "n_iter_": best.n_iter})


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
    """The best assignment of groups that one start found."""

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
    """Run k-means on groups from one random start; None if the assignment gets stuck."""
    n_links = np.array([len(others) for others in apart])
    constrained = rng.permutation(np.flatnonzero(n_links))
    constrained = constrained[np.argsort(-n_links[constrained], kind="stable")]
    weights = sizes.astype(np.float64)
    # Here an overflow is noticed on every machine, and before anything is drawn by it.
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
        # A greedy assignment may also get worse, so the last one need not be the best.
        if best is None or scatter < best.scatter:
            best = _Start(clusters, centers, scatter, number)
        before = clusters
    return best


def _assign(distances: FloatArray, apart: list[IntArray], constrained: IntArray) -> IntArray | None:
    """Assign groups to the nearest cluster open to them; None if one has none left.

    The constrained group with the fewest clusters left always comes next, the first in the given
    order if there are several. That finds an assignment to two clusters whenever there is one.
    """
    n_clusters = distances.shape[1]
    clusters = distances.argmin(axis=1)
    allowed = distances.copy()
    left = np.full(len(clusters), n_clusters)
    # More than any group has left, so that one that is assigned never comes first again.
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
    """Average the groups of every cluster; an empty cluster keeps its centre."""
    total = np.bincount(clusters, weights, minlength=len(centers))
    sums = np.zeros_like(centers)
    np.add.at(sums, clusters, means * weights[:, None])
    return np.where(total[:, None] > 0, sums / np.where(total > 0, total, 1.0)[:, None], centers)


def _why_none(apart: list[IntArray], n_clusters: int) -> str:
    """Say so if more groups than clusters exclude each other: then there is no assignment."""
    for start in np.argsort([-len(others) for others in apart], kind="stable"):
        clique, candidates = [int(start)], set(apart[start].tolist())
        while candidates:
            shared = {group: len(candidates & set(apart[group].tolist())) for group in candidates}
            following = max(sorted(candidates), key=shared.__getitem__)
            clique.append(following)
            candidates &= set(apart[following].tolist())
        if len(clique) > n_clusters:
            return f" There is none: {len(clique)} groups of samples must all be apart."
        if len(apart[start]) < n_clusters:
            break
    return ""
