"""Base class of the clusterers, which checks the input and matches clusters with labels."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import with_references
from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._samples.checks import Given, check_samples, check_spread, explained_overflow
from linkselect._supervision import OnConflict, Supervision, refuse_weights
from linkselect.pairs import Pairs
from linkselect.pairs._labels import encode_labels
from linkselect.selectors._parameters import AT_LEAST_1, ON_CONFLICT, with_parameters

# As in scikit-learn's KMeans.
N_CLUSTERS = 8


@dataclass(frozen=True)
class Clustering:
    """The result of a clusterer, before the clusters are renumbered.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The cluster of each sample, numbered from 0.
    centers : ndarray of shape (n_clusters, n_features) or None
        The centres of the clusters, for methods that compute them.
    fitted : dict
        Further fitted attributes, which do not depend on the numbering of the clusters.
    """

    labels: IntArray
    centers: FloatArray | None = None
    fitted: dict[str, Any] = field(default_factory=dict)


@with_parameters
class PairClusterer(ClusterMixin, BaseEstimator):
    """Base class of clusterers that use pairs or labels of some samples.

    A subclass is a dataclass whose fields are its parameters. It implements `_cluster`, which
    returns a `Clustering`.
    """

    references: ClassVar[tuple[str, ...]] = ()
    """Keys of the publications in the bibliography."""

    # With metadata routing, a Pipeline passes on pairs and IDs without an explicit request.
    __metadata_request__fit: ClassVar = {"pairs": True, "sample_ids": True}
    __metadata_request__fit_predict: ClassVar = {"pairs": True, "sample_ids": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [*AT_LEAST_1, None],
        "on_conflict": ON_CONFLICT,
        "n_init": AT_LEAST_1,
        "random_state": ["random_state"],
    }

    n_clusters: int | None = field(default=None, kw_only=False)
    on_conflict: OnConflict = "raise"
    n_init: int = 10
    random_state: int | np.random.RandomState | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the references from the bibliography to the docstring."""
        super().__init_subclass__(**options)
        if cls.__doc__:
            cls.__doc__ = with_references(cls.__doc__, cls.references)

    def _cluster(self, X: Samples, known: Supervision, n_clusters: int) -> Clustering:
        """Cluster the checked samples."""
        raise NotImplementedError(f"{type(self).__name__} has no _cluster.")

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
            Labels; -1, None and NaN mark unlabelled samples. Labels are ignored if pairs are
            passed.
        pairs : Pairs, optional
            Must-links and cannot-links.
        sample_ids : iterable of hashable, optional
            The ID of each sample, as used in `pairs`. Default: the index of X if it is a pandas
            object, otherwise row numbers.

        Returns
        -------
        self
            The fitted clusterer.
        """
        self._validate_params()
        given = Given.read(X, y, pairs, sample_ids)
        refuse_weights(given.pairs, type(self).__name__)
        samples = check_samples(self, X)
        check_spread(samples, getattr(self, "feature_names_in_", None))
        labels = given.labels()
        known = replace(given, y=labels).supervision(samples.shape[0], self.on_conflict)
        names = np.empty(0) if labels is None else encode_labels(labels)[1]
        n_clusters = self._count_clusters(samples.shape[0], len(names))
        with explained_overflow():
            found = self._cluster(samples, known, n_clusters)
        self._keep(found, known.classes, names, n_clusters)
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
            raise GuidedValueError(
                f"n_clusters={n_clusters}, but X has {n_samples} samples.",
                f"Choose 1 to {n_samples} clusters.",
            )
        return n_clusters

    def _keep(
        self, found: Clustering, classes: IntArray, names: NDArray[Any], n_clusters: int
    ) -> None:
        # Without labels, the groups of must-links have no label that could name a cluster.
        named = classes if len(names) else np.full(len(classes), -1)
        new, codes = _numbers_by_label(found.labels, named, n_clusters)
        self.names_ = np.full(n_clusters, None, dtype=object)
        for cluster, code in enumerate(codes):
            if code >= 0:
                self.names_[cluster] = names[code]
        self.labels_ = new[found.labels]
        if found.centers is not None:
            self.cluster_centers_ = found.centers[np.argsort(new)]
        self.__dict__.update(found.fitted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _numbers_by_label(
    clusters: IntArray, classes: IntArray, n_clusters: int
) -> tuple[IntArray, IntArray]:
    """Number the clusters in the order of their labels; clusters without a label come last.

    Clusters are matched one-to-one with labels such that as many labelled samples as possible are
    in the cluster of their label. A cluster is matched only if it contains a sample with the label.
    The function returns the new number of each cluster, and the class code of each renumbered
    cluster, which is -1 if the cluster has no label.
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
    return new, names[order]
