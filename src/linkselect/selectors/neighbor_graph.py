"""What selectors over a graph of neighbours share."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect.arrays import Matrix
from linkselect.graphs import Edges, ball_edges, gaussian_edges, nearest_edges, resolve_sigma
from linkselect.messages import GuidedValueError
from linkselect.selectors.parameters import NEIGHBORS, SIGMA
from linkselect.selectors.selector import RankingSelector

__all__ = ["find_neighbors"]


class NeighborGraphSelector(RankingSelector):
    """A selector over the graph of nearest neighbours."""

    _stays_on_device = True
    _undefined = (
        "they do not change between the samples that still have a neighbour; if sigma is narrow, "
        "the weights of the others have vanished, and a larger sigma helps"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
        "weights": [StrOptions({"gaussian", "binary"})],
        "radius": [None, Interval(Real, 0, None, closed="neither")],
    }

    n_neighbors: int
    sigma: float | Literal["auto"]
    weights: Literal["gaussian", "binary"]
    radius: float | None
    n_jobs: int | None

    def _graph(self, X: Matrix) -> Edges:
        near = find_neighbors(X, self.n_neighbors, self.radius, self.n_jobs)
        if self.weights == "binary":
            return near.reweigh(1.0)
        return gaussian_edges(near, resolve_sigma(self.sigma, X, self.n_jobs))


def find_neighbors(X: Matrix, n_neighbors: int, radius: float | None, n_jobs: int | None) -> Edges:
    """Join nearest neighbours, or all samples within a radius if there is one."""
    if radius is None:
        return nearest_edges(X, n_neighbors, n_jobs)
    near = ball_edges(X, radius, n_jobs)
    if not len(near.left):
        closest = np.sqrt(nearest_edges(X, 1, n_jobs).weights.min())
        raise GuidedValueError(
            f"radius={radius:g} joins no samples: the closest two are {closest:g} apart.",
            "Increase radius, or pass radius=None to use n_neighbors.",
            "radius",
        )
    return near
