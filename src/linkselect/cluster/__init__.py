"""Clustering that knows which samples belong together and which do not."""

from linkselect.cluster._cop_kmeans import COPKMeans
from linkselect.cluster._spectral import ConstrainedSpectralClustering

__all__ = ["COPKMeans", "ConstrainedSpectralClustering"]
