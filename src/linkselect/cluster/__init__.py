"""Semi-supervised clustering with must-links, cannot-links or labels."""

from linkselect.cluster._cop_kmeans import COPKMeans
from linkselect.cluster._spectral import ConstrainedSpectralClustering

__all__ = ["COPKMeans", "ConstrainedSpectralClustering"]
