"""Selectors that need a label for every sample."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect import scores
from linkselect.blocks import Matrix
from linkselect.graphs import class_neighbors
from linkselect.selectors.ranking import NEIGHBORS, LabelSelector
from linkselect.selectors.unsupervised import find_neighbors
from linkselect.supervision import Supervision

__all__ = ["FRLL", "FisherMarkov", "FisherScore", "ReliefF"]


class FisherScore(LabelSelector):
    """Rank features by the scatter of class means over the scatter inside classes.

    The score of a feature is `sum_c n_c (mean_c - mean)^2 / sum_c n_c var_c` over classes c;
    larger is better. Labels of -1 are a class like any other here.

    Not for classes that differ in anything but their means.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore().fit(X, y).order_
    array([2, 3, 0, 1])
    """

    greater_is_better = True
    _infinite = "no class has two samples that differ in them"

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        return scores.fisher(X, known.classes, self.n_jobs)


class FRLL(LabelSelector):
    """Rank features by how well they part neighbours of different classes (FRLL, 2013).

    With A the neighbours of the same class and B those of different classes, all weights 1, the
    score of a feature f compares `Q(f; B)`, its squared change over B, with `Q(f; A)`: by
    their quotient or by their difference; larger is better. Labels of -1 are a class like any
    other here.

    Not for data in which every neighbour is of the same class: then B is empty, every score is
    0 and `neighbors="per_class"` helps.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    criterion : {"quotient", "difference"}, default="quotient"
        `Q(f; B) / Q(f; A)` or `Q(f; B) - Q(f; A)`.
    neighbors : {"overall", "per_class"}, default="overall"
        Whether the nearest are sought among all samples and then parted by class, or sought
        separately inside the own class and among all others.
    n_neighbors : int, default=5
        Samples are neighbours where either is among this many nearest of the other.
    radius : float, optional
        If given, samples are neighbours where they are at most this far apart, and
        `n_neighbors` is not used. For `neighbors="overall"` only.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FRLL
    >>> X, y = load_iris(return_X_y=True)
    >>> FRLL().fit(X, y).order_
    array([3, 0, 2, 1])
    """

    greater_is_better = True
    _infinite = "no class has two neighbours that differ in them"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "criterion": [StrOptions({"quotient", "difference"})],
        "neighbors": [StrOptions({"overall", "per_class"})],
        "n_neighbors": NEIGHBORS,
        "radius": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        criterion: Literal["quotient", "difference"] = "quotient",
        neighbors: Literal["overall", "per_class"] = "overall",
        n_neighbors: int = 5,
        radius: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.neighbors = neighbors
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_jobs = n_jobs

    @property
    def _constant_is_undefined(self) -> bool:  # type: ignore[override]
        return self.criterion == "quotient"

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        if self.neighbors == "per_class":
            if self.radius is not None:
                raise ValueError(
                    f'radius={self.radius:g} needs neighbors="overall"; with "per_class" '
                    "neighbours are counted by n_neighbors. Pass radius=None."
                )
            same, other = class_neighbors(X, known.classes, self.n_neighbors, self.n_jobs)
        else:
            near = find_neighbors(X, self.n_neighbors, self.radius, self.n_jobs).reweigh(1.0)
            alike = known.classes[near.left] == known.classes[near.right]
            same, other = near.keep(alike), near.keep(~alike)
        return scores.frll(X, same, other, self.criterion, self.n_jobs)


class ReliefF(LabelSelector):
    """Rank features by how they differ to the nearest misses and to the nearest hits.

    Over every sample once, the score of a feature is the mean of its difference to the
    `n_neighbors` nearest of each other class c, weighted by `prior_c / (1 - prior_own)`, minus its
    mean difference to the nearest of the own class; larger is better (Robnik-Sikonja & Kononenko
    2003). Two samples differ by `|f_i - f_j| / range`, or by 0 and 1 for equal and unequal values
    of a discrete feature; the nearest have the least sum of these over all features, ties by row.
    With two classes and one neighbour this is Relief (Kira & Rendell 1992), on all samples.
    Labels of -1 are a class like any other here.

    Not for many irrelevant features: they drown the distances that neighbours are found by. Time
    is quadratic in the number of samples. A class with fewer than `n_neighbors` samples gives all.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_neighbors : int, default=5
        How many nearest samples to take from every class. The habit elsewhere is 10.
    discrete : bool or array-like, optional
        The features that hold categories: True for all, a mask, or their indices. Default: none.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> ReliefF().fit(X, y).order_
    array([3, 2, 0, 1])
    """

    greater_is_better = True
    _constant_is_undefined = False
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "n_neighbors": NEIGHBORS,
        "discrete": ["boolean", "array-like", None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_neighbors: int = 5,
        discrete: bool | ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.discrete = discrete
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        discrete = _discrete_mask(self.discrete, X.shape[1])
        return scores.relieff(X, known.classes, self.n_neighbors, discrete, self.n_jobs)


def _discrete_mask(discrete: bool | ArrayLike | None, n_features: int) -> NDArray[np.bool_]:
    given = np.asarray(False if discrete is None else discrete)
    if given.dtype.kind == "b" and given.shape in ((), (n_features,)):
        return np.broadcast_to(given, n_features)
    mask = np.zeros(n_features, dtype=bool)
    whole = given.dtype.kind in "iu" and given.ndim == 1
    if given.size == 0:
        return mask
    if not whole or given.min() < 0 or given.max() >= n_features:
        raise ValueError(
            f"discrete={discrete!r} does not name features: X has {n_features}. Pass True, a mask "
            f"of {n_features} booleans, or indices from 0 to {n_features - 1}."
        )
    mask[given] = True
    return mask


class FisherMarkov(LabelSelector):
    """Rank features by the variance of class means and a share of the variance.

    The score of a feature is `between - gamma * total`: the variance of its class means, weighted
    by class size, minus gamma times its variance; larger is better. This is the linear kernel's
    coefficient of the Fisher-Markov selector (Cheng, Zhou & Cheng 2011), in which the mean of a
    feature cancels. Labels of -1 are a class like any other here.

    Not for features of different units: as with the variance, large numbers win. Scale first.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    gamma : float, default=-0.5
        At most 1. Negative values reward variance, positive ones punish it.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherMarkov
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherMarkov().fit(X, y).order_
    array([2, 3, 0, 1])
    """

    greater_is_better = True
    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "gamma": [Interval(Real, None, 1, closed="right")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        gamma: float = -0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.n_jobs = n_jobs

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        return scores.fisher_markov(X, known.classes, self.gamma, self.n_jobs)
