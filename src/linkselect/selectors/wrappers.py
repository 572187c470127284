"""Selectors around a selector: how stable its choice is, and a choice without repetition."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from linkselect.blocks import Matrix, map_threads, slices
from linkselect.pairs import Pairs, encode_labels
from linkselect.scores.ensemble import MEMBERS_PER_STEP, draw_bag
from linkselect.search import least_redundant, rank_merit
from linkselect.selectors.ranking import Ranking, RankingSelector, Track, count_features
from linkselect.supervision import Supervision, check_index

__all__ = ["Redundancy", "StableSelector", "kuncheva_index", "nogueira_index"]


@dataclass(frozen=True)
class _Given(Supervision):
    """What was given to `fit`, to be handed on to the wrapped selector as it is."""

    y: Any = None
    pairs: Pairs | None = None
    sample_ids: tuple[Hashable, ...] | None = None

    def arguments(self) -> dict[str, Any]:
        """Return what the wrapped selector's `fit` takes besides X; pairs only if given."""
        if self.pairs is None:
            return {"y": self.y}
        return {"y": self.y, "pairs": self.pairs, "sample_ids": self.sample_ids}


class _Wrapper(RankingSelector):
    """A selector that fits another one, of this library or any with `get_support`."""

    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": RankingSelector._parameter_constraints["n_features_to_select"],
        "estimator": [HasMethods(["fit", "get_support"])],
    }

    estimator: Any

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> _Given:
        ids = None if sample_ids is None else tuple(sample_ids)
        if isinstance(pairs, Pairs) and ids is not None and ids_are_index:
            check_index(pairs, ids)
        return _Given(np.full(n_samples, -1, dtype=np.intp), y=y, pairs=pairs, sample_ids=ids)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags


class StableSelector(_Wrapper):
    """Rank features by how often a selector chooses them on resamples of the data.

    The selector is fitted on all samples and on `n_resamples` draws of them without replacement;
    the score of a feature is the share of draws in which it was selected; larger is better, ties
    go by the mean rank. `kuncheva_` and `nogueira_` say how alike the choices were: 1 for always
    the same, about 0 for chance.

    A draw keeps supervision. With labels, `max_samples` of each class are drawn, at least two.
    With pairs, `max_samples` of the must-links and of the cannot-links, at least one of each, with
    their samples and `max_samples` of the samples in no drawn pair; pairs follow their samples.

    Not a measure of how good a choice is: a selector that always picks the first columns is
    perfectly stable.

    Parameters
    ----------
    estimator : selector
        The selector to refit; it stays as it is.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or all that are selected in at least
        the share `threshold` of the draws, the best one if there is none.
    n_resamples : int, default=50
        How many draws.
    max_samples : float, default=0.5
        The share of samples (and pairs) in a draw.
    threshold : float, default=0.6
        For "auto": how often a feature is selected that is kept.
    random_state : int, RandomState instance or None, default=None
        Determines the draws, and the `random_state` of the estimator if it has one.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    estimator_ : selector
        The estimator fitted on all samples.
    selection_frequencies_ : ndarray of shape (n_features,)
        The same as `scores_`.
    kuncheva_ : float
        The mean consistency of two draws; NaN where they selected different numbers of features,
        or all.
    nogueira_ : float
        One minus the variance of the selection over that of chance; also for different numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs, StableSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    >>> stable = StableSelector(LSDF(2), random_state=0).fit(X, pairs=pairs)
    >>> stable.selection_frequencies_, stable.kuncheva_
    (array([0., 0., 1., 1.]), 1.0)
    """

    greater_is_better = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_Wrapper._parameter_constraints,
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Real, 0, 1, closed="right")],
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_resamples: int = 50,
        max_samples: float = 0.5,
        threshold: float = 0.6,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.n_resamples = n_resamples
        self.max_samples = max_samples
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return -(-self.n_resamples // MEMBERS_PER_STEP)

    def _rank(self, X: Matrix, known: Supervision, track: Track) -> Ranking:
        assert isinstance(known, _Given)
        rng = check_random_state(self.random_state)
        # All samples first: what is wrong with the input is said once, and in the usual words.
        whole = self._seeded(rng).fit(X, **known.arguments())
        rows_first = X.tocsr() if issparse(X) else X
        draws = [(self._seeded(rng), *self._draw(known, rng)) for _ in range(self.n_resamples)]

        def work(draw: tuple[Any, NDArray[np.intp], dict[str, Any]]) -> tuple[Any, Any]:
            selector, rows, arguments = draw
            fitted = selector.fit(rows_first[rows], **arguments)
            support = fitted.get_support()
            return support, getattr(fitted, "ranking_", np.where(support, 1, 2))

        found: list[tuple[Any, Any]] = []
        for part in track(slices(len(draws), MEMBERS_PER_STEP)):
            with warnings.catch_warnings():
                # Constant features and the like were reported for all samples.
                warnings.simplefilter("ignore")
                found += map_threads(work, draws[part], self.n_jobs)
        selected = np.array([support for support, _ in found])
        frequency = selected.mean(axis=0)
        order = np.lexsort((np.mean([rank for _, rank in found], axis=0), -frequency))
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, int(np.count_nonzero(frequency >= self.threshold)))
        fitted = {
            "estimator_": whole,
            "selection_frequencies_": frequency,
            "kuncheva_": kuncheva_index(selected),
            "nogueira_": nogueira_index(selected),
        }
        return Ranking(frequency, order, wanted, fitted)

    def _seeded(self, rng: np.random.RandomState) -> Any:
        selector = clone(self.estimator)
        if "random_state" in selector.get_params():
            selector.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        return selector

    def _draw(
        self, known: _Given, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], dict[str, Any]]:
        """Draw rows, and what the selector is told about them."""
        n_samples = len(known.classes)
        least = getattr(self.estimator, "n_neighbors", 0) + 1
        # A selector that requires labels does not look at pairs.
        if known.pairs is None or get_tags(self.estimator).target_tags.required:
            labels = None if known.y is None else np.asarray(known.y).ravel()
            if labels is None or len(labels) != n_samples:  # a selector that ignores y let it pass
                rows = draw_bag(known, self.max_samples, least, rng)
                return rows, {"y": None}
            classes, names = encode_labels(labels)
            if len(names) > n_samples / 2:  # no classes, but numbers that the selector ignores
                classes = known.classes
            rows = draw_bag(Supervision(classes), self.max_samples, least, rng)
            return rows, {"y": labels[rows]}
        ids = range(n_samples) if known.sample_ids is None else known.sample_ids
        present = known.pairs.restrict(ids)
        pairs = Pairs(
            _some(present.must, self.max_samples, rng), _some(present.cannot, self.max_samples, rng)
        )
        row_of = {sample: row for row, sample in enumerate(ids)}
        classes = np.full(n_samples, -1, dtype=np.intp)
        classes[[row_of[sample] for sample in pairs.ids]] = 0
        # As with bare pairs, every named sample stays.
        links = np.empty((0, 2), dtype=np.intp)
        rows = draw_bag(Supervision(classes, links, links), self.max_samples, least, rng)
        return rows, {"y": None, "pairs": pairs, "sample_ids": [ids[row] for row in rows]}


def _some(links: tuple[Any, ...], share: float, rng: np.random.RandomState) -> list[Any]:
    if not links:
        return []
    size = max(1, round(share * len(links)))
    return [links[i] for i in np.sort(rng.choice(len(links), size, replace=False))]


def kuncheva_index(selected: NDArray[np.bool_]) -> float:
    """Compute the mean consistency of all pairs of selections of one size (Kuncheva 2007).

    For two subsets of k out of d features with r in common it is `(r d - k^2) / (k (d - k))`: 1 for
    equal subsets, about 0 for chance. NaN where it is undefined: fewer than two runs, subsets of
    different sizes, or all or none of the features.

    Parameters
    ----------
    selected : ndarray of bool of shape (n_runs, n_features)
        What each run selected.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    >>> round(kuncheva_index(runs), 4)
    0.3333
    """
    n_runs, n_features = selected.shape
    sizes = selected.sum(axis=1)
    size = int(sizes[0])
    if n_runs < 2 or (sizes != size).any() or size in (0, n_features):
        return float("nan")
    # A feature chosen h times is common to h (h - 1) / 2 pairs of runs.
    times = selected.sum(axis=0)
    common = (times * (times - 1)).sum() / (n_runs * (n_runs - 1))
    return float((common * n_features - size**2) / (size * (n_features - size)))


def nogueira_index(selected: NDArray[np.bool_]) -> float:
    """Compare the variance of a selection with that of chance (Nogueira, Sechidis & Brown 2018).

    `1 - mean_f s_f^2 / (k/d (1 - k/d))`, where `s_f^2` is the unbiased variance of a feature's
    selection and k the mean number of features chosen. With equal sizes it is Kuncheva's index.
    NaN where it is undefined: fewer than two runs, or always all or none of the features.

    Parameters
    ----------
    selected : ndarray of bool of shape (n_runs, n_features)
        What each run selected.

    Examples
    --------
    >>> import numpy as np
    >>> round(nogueira_index(np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)), 4)
    0.4667
    """
    n_runs = len(selected)
    frequency = selected.mean(axis=0)
    chosen = frequency.mean()
    if n_runs < 2 or chosen in (0, 1):
        return float("nan")
    variance = n_runs / (n_runs - 1) * (frequency * (1 - frequency)).mean()
    return float(1 - variance / (chosen * (1 - chosen)))


class Redundancy(_Wrapper):
    """Choose features that a selector ranks high and that repeat little of those chosen before.

    The first feature is the selector's best. Every next one maximises
    `(1 - weight) * merit - weight * largest |correlation| with the chosen ones`, where the merit
    falls evenly from 1 for the selector's best feature to 0 for its worst. Ranks make this fit
    every score, whatever its scale or direction.

    Not for relations that correlation does not see, such as a feature and its square about 0.

    Parameters
    ----------
    estimator : selector
        The selector whose ranking counts; it stays as it is. One without `ranking_` must have
        `scores_` of which larger is better.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or as many as the estimator keeps.
    weight : float, default=0.5
        From 0 (the estimator's own ranking) to 1 (least correlation, after the first).

    Attributes
    ----------
    estimator_ : selector
        The fitted estimator.
    scores_ : ndarray of shape (n_features,)
        The estimator's own scores, in its own direction.
    path_ : ndarray
        The value of each chosen feature when it was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore, Redundancy
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore().fit(X, y).order_, Redundancy(FisherScore()).fit(X, y).order_
    (array([2, 3, 0, 1]), array([2, 3, 1, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_Wrapper._parameter_constraints,
        "weight": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        weight: float = 0.5,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.weight = weight

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Whether a larger value of `scores_` is better: what the estimator says."""
        return getattr(self.estimator, "greater_is_better", True)

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        wanted = self.n_features_to_select
        return n_features if wanted == "auto" else count_features(wanted, n_features)

    def _rank(self, X: Matrix, known: Supervision, track: Track) -> Ranking:
        assert isinstance(known, _Given)
        inner = clone(self.estimator).fit(X, **known.arguments())
        if hasattr(inner, "ranking_"):
            order = np.lexsort((np.arange(X.shape[1]), inner.ranking_))
        else:
            order = np.argsort(-inner.scores_, kind="stable")
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, int(inner.get_support().sum()))
        merit = rank_merit(order)
        columns_first = X.tocsc() if issparse(X) else X
        found = least_redundant(columns_first, merit, self.weight, wanted, track)
        scores = np.asarray(getattr(inner, "scores_", merit), dtype=np.float64)
        return Ranking(scores, found.order, wanted, {"estimator_": inner, "path_": found.path})
