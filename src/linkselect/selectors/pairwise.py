"""Selectors that work from must-link and cannot-link pairs, or from labels that imply them."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect import scores
from linkselect.blocks import Matrix
from linkselect.graphs import kernel_graph, nearest_edges, resolve_sigma
from linkselect.selectors.ranking import NEIGHBORS, SIGMA, PairSelector
from linkselect.supervision import OnConflict, Supervision

__all__ = [
    "LSDF",
    "CompensatedLaplacianScore",
    "ConstrainedLaplacianScore",
    "ConstraintScore",
    "LaplacianConstraintScore",
]

AT_LEAST_0 = [Interval(Real, 0, None, closed="left")]


class ConstraintScore(PairSelector):
    """Rank features by how they change over must-links and over cannot-links (2008).

    With `M` and `C` the sums of `(f_i - f_j)^2` over must-links and over cannot-links, the score
    of a feature f is `M / C` (Constraint Score-1) or `M - weight * C` (Constraint Score-2);
    smaller is better.

    The difference depends on the scale of a feature, the ratio does not. With very few pairs
    the ratio is unstable: a feature that happens to agree on all must-links scores 0.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    criterion : {"ratio", "difference"}, default="ratio"
        `M / C` or `M - weight * C`.
    weight : float, default=0.1
        The weight of cannot-links in the difference.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstraintScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ConstraintScore().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _undefined = "they have the same value at both ends of every pair"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "criterion": [StrOptions({"ratio", "difference"})],
        "weight": AT_LEAST_0,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        criterion: Literal["ratio", "difference"] = "ratio",
        weight: float = 0.1,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.weight = weight
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    @property
    def _constant_is_undefined(self) -> bool:  # type: ignore[override]
        return self.criterion == "ratio"

    @property
    def _needs(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("must", "cannot") if self.criterion == "ratio" else ("any",)

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        if self.criterion == "ratio":
            return scores.constraint_ratio(X, known, self.n_jobs)
        return scores.constraint_difference(X, known, self.weight, self.n_jobs)


class LSDF(PairSelector):
    """Rank features by locality and cannot-links (LSDF, Zhao, Lu & He 2008; C3 in 2020).

    The score of a feature f is `Q(f; W) / Q(f; C)`, where Q sums `w_ij (f_i - f_j)^2` over edges.
    W has gamma on must-links and 1 on neighbours of which at least one is unlabelled, C has 1 on
    cannot-links; smaller is better.

    Not without a cannot-link, and not where neighbours in all features mean little.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    gamma : float, default=100.0
        The weight of must-links.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> LSDF().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _undefined = "they have the same value at both ends of every edge and cannot-link"
    _needs = ("cannot",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "gamma": AT_LEAST_0,
        "n_neighbors": NEIGHBORS,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        gamma: float = 100.0,
        n_neighbors: int = 5,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        near = nearest_edges(X, self.n_neighbors, self.n_jobs)
        return scores.lsdf(X, near, known, self.gamma, self.n_jobs)


class LaplacianConstraintScore(PairSelector):
    """Rank features by Laplacian Score times Constraint Score (Kalakech et al. 2011; C4 in 2020).

    The score of a feature is its Laplacian Score on the complete graph of Gaussian weights, times
    its Constraint Score-1; smaller is better.

    The complete graph takes time quadratic in the number of samples, in memory bounded by
    tiles. The default sigma suits features scaled to [0, 1].

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LaplacianConstraintScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> LaplacianConstraintScore().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _undefined = "they have the same value at both ends of every pair"
    _needs = ("must", "cannot")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "sigma": SIGMA,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        sigma: float | Literal["auto"] = 1.0,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.sigma = sigma
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        kernel = kernel_graph(X, resolve_sigma(self.sigma, X, self.n_jobs), n_jobs=self.n_jobs)
        return scores.laplacian_constraint(X, kernel, known, self.n_jobs)


class ConstrainedLaplacianScore(PairSelector):
    """Rank features by a Laplacian Score that heeds pairs (CLS; C5 and C6 in 2020).

    The score compares how a feature changes among samples that should be alike with how it
    changes where it should: over cannot-links, weighted by the degrees of their ends, and
    over the spread of unlabelled samples; smaller is better. Variant "2011" (Benabdeslem &
    Hindawi) takes neighbours and must-links as alike; variant "2014" takes neighbours without
    must-links, plus what should not be: far must-links and near cannot-links.

    Without any supervision this is twice the Laplacian Score on the same graph. The default
    sigma suits features scaled to [0, 1].

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    variant : {"2011", "2014"}, default="2011"
        Which of the two published scores.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstrainedLaplacianScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ConstrainedLaplacianScore().fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "variant": [StrOptions({"2011", "2014"})],
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        variant: Literal["2011", "2014"] = "2011",
        n_neighbors: int = 5,
        sigma: float | Literal["auto"] = 1.0,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.variant = variant
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        near = nearest_edges(X, self.n_neighbors, self.n_jobs)
        sigma = resolve_sigma(self.sigma, X, self.n_jobs)
        return scores.constrained_laplacian(X, near, known, sigma, self.variant, self.n_jobs)


class CompensatedLaplacianScore(PairSelector):
    """Rank features by a Laplacian Score compensated by pairs and classes (CCLS; C7 in 2020).

    The score of a feature f is `2 Q(f; W) / (total + between - within)`; smaller is better. W
    weighs must-links by 1 if near and by `compensation` if not, near cannot-links by
    `(1 - gamma)` times a Gaussian, and other neighbours by the Gaussian. `total` is the scatter
    of all samples under the degrees of W; `between` and `within` are the scatter of class means
    and inside classes over the labelled samples. With bare pairs, samples that must-links join
    are a class.

    Where the denominator is not positive a feature has no score and ranks last. The default
    sigma suits features scaled to [0, 1].

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    gamma : float, default=0.9
        How much near cannot-links are damped, from 0 (not) to 1 (left out).
    compensation : float, default=0.5
        The weight of must-links that are not neighbours.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import CompensatedLaplacianScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> CompensatedLaplacianScore().fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _undefined = "total plus between minus within scatter is not positive"
    _needs = ("any",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "compensation": AT_LEAST_0,
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        gamma: float = 0.9,
        compensation: float = 0.5,
        n_neighbors: int = 5,
        sigma: float | Literal["auto"] = 1.0,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.compensation = compensation
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        near = nearest_edges(X, self.n_neighbors, self.n_jobs)
        sigma = resolve_sigma(self.sigma, X, self.n_jobs)
        return scores.compensated_laplacian(
            X, near, known, sigma, self.gamma, self.compensation, self.n_jobs
        )
