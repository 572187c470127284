"""Selectors that look at the samples only."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, Options, StrOptions

from linkselect import scores
from linkselect.blocks import Matrix
from linkselect.graphs import Edges, ball_edges, gaussian_edges, nearest_edges, resolve_sigma
from linkselect.selectors.ranking import NEIGHBORS, SIGMA, RankingSelector
from linkselect.supervision import Supervision

__all__ = ["LaplacianScore", "SpectralScore", "VarianceScore"]


class VarianceScore(RankingSelector):
    """Rank features by their variance.

    The score of a feature f is `mean((f - mean(f))^2)`; larger is better.

    Not for features of different units: the one with the largest numbers wins.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import VarianceScore
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceScore().fit(X).order_
    array([2, 0, 3, 1])
    """

    greater_is_better = True
    _constant_is_undefined = False

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        return scores.variance(X, self.n_jobs)


class _NeighborGraphSelector(RankingSelector):
    """A selector over the graph of nearest neighbours."""

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
        raise ValueError(
            f"radius={radius:g} joins no samples: the closest two are {closest:g} apart. "
            "Increase radius, or pass radius=None to use n_neighbors."
        )
    return near


class LaplacianScore(_NeighborGraphSelector):
    """Rank features by how little they change between neighbours (He, Cai & Niyogi 2005).

    With W the weights between neighbours, D their sums and `L = D - W`, the score of a feature
    f is `f'Lf / g'Dg`, where g is f minus its mean under D; smaller is better.

    Not for data in which noise features outnumber the others: neighbours are found in all
    features.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    sigma : float or "auto", default="auto"
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    weights : {"gaussian", "binary"}, default="gaussian"
        Whether near neighbours weigh more than far ones, or all weigh 1.
    radius : float, optional
        If given, samples are neighbours where they are at most this far apart, and
        `n_neighbors` is not used.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LaplacianScore
    >>> X, y = load_iris(return_X_y=True)
    >>> LaplacianScore(n_features_to_select=2).fit(X).get_support()
    array([False, False,  True,  True])
    """

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_neighbors: int = 5,
        sigma: float | Literal["auto"] = "auto",
        weights: Literal["gaussian", "binary"] = "gaussian",
        radius: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.weights = weights
        self.radius = radius
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        return scores.laplacian(X, self._graph(X), self.n_jobs)


class SpectralScore(_NeighborGraphSelector):
    """Rank features by the spectrum of the neighbour graph (SPEC, Zhao & Liu 2007).

    With Ln the normalised Laplacian of the graph, (lambda_j, xi_j) its eigenpairs and
    `h = D^(1/2) f` scaled to norm 1, the score of a feature f is for

    - style 1: `h' Ln h`; smaller is better,
    - style 2: `h' Ln h / (1 - (h'xi_1)^2)`, equal to the Laplacian Score; smaller is better,
    - style 3: the sum over j >= 2 of `(2 - lambda_j) (h'xi_j)^2`; larger is better.

    Styles 1 and 3 depend on the offset of a feature: style 1 favours features that are far
    from 0 compared with their spread. Prefer style 2 unless features have a natural zero.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    style : {1, 2, 3}, default=2
        Which of the three scores.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    sigma : float or "auto", default="auto"
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    weights : {"gaussian", "binary"}, default="gaussian"
        Whether near neighbours weigh more than far ones, or all weigh 1.
    radius : float, optional
        If given, samples are neighbours where they are at most this far apart, and
        `n_neighbors` is not used.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import SpectralScore
    >>> X, y = load_iris(return_X_y=True)
    >>> SpectralScore(style=2).fit(X).order_
    array([2, 3, 0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_NeighborGraphSelector._parameter_constraints,
        "style": [Options(int, {1, 2, 3})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        style: Literal[1, 2, 3] = 2,
        n_neighbors: int = 5,
        sigma: float | Literal["auto"] = "auto",
        weights: Literal["gaussian", "binary"] = "gaussian",
        radius: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.style = style
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.weights = weights
        self.radius = radius
        self.n_jobs = n_jobs

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Whether a larger value of `scores_` is better; depends on the instance: in style 3."""
        return self.style == 3

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        return scores.spectral(X, self._graph(X), self.style, self.n_jobs)
