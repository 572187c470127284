"""Selectors that search for a subset of features that do well together."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect import search
from linkselect.blocks import Matrix
from linkselect.forms import constant_columns
from linkselect.graphs import resolve_sigma
from linkselect.messages import warn_user
from linkselect.pairs import encode_labels
from linkselect.scores.ratios import ratio
from linkselect.selectors.ranking import (
    SIGMA,
    LabelSelector,
    PairSelector,
    Ranking,
    Track,
    check_labels,
    count_features,
)
from linkselect.supervision import OnConflict, Supervision, from_labels

__all__ = ["NearestNeighborSFS", "SimilarityConstraintScore", "TraceRatio"]

# Pairs over which sigma is matched, and must-links over which it is checked.
PAIRS_FOR_SIGMA = 1_000_000
MUST_LINKS_TO_CHECK = 256
# Sigma is too narrow where half of the must-links have a kernel value below this in as
# large a share of the features.
VANISHED = 1e-3
SHARE_OF_VANISHED = 0.1
# Above this the matrices of all pairs are announced.
MANY_BYTES = 2 << 30


class SimilarityConstraintScore(PairSelector):
    """Select the features whose kernel comes closest to the target similarity (2020).

    With `w(F)` the Gaussian kernel on the features of a subset F and `T` the target similarity, 1
    for two samples that should be alike and 0 for two that should not, the score of F is the sum
    of `(w_ij(F) - T_ij)^2` over ordered pairs; smaller is better. Forward selection adds, step by
    step, the feature that makes the score least. Adding a feature shrinks kernel values: that
    helps across groups and harms inside, so the score has a minimum, and its place is the
    method's own number of features.

    `mode="supervised"` (eps^S) sums over must-links and cannot-links. From labels these are all
    pairs of labelled samples, from bare pairs exactly the given ones. `mode="semi-supervised"`
    (eps^SS) sums over all pairs of samples: every sample takes the group of its nearest
    prototype, by the distance in all features, ties to the lower row number. From labels the
    labelled samples are the prototypes and the classes their groups. From bare pairs the
    samples in pairs are the prototypes; the groups are what chains of must-links join, and a
    sample that is only in cannot-links is a group of one. Two groups count as different even
    where no cannot-link says so.

    The default sigma suits features scaled to [0, 1]. Over all pairs memory and time are quadratic
    in the number of samples: pass `max_pairs` for more than some 5,000. A sparse X becomes dense
    for the samples that take part.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or as many as give the least score
        on the path. With "auto" the search ends as soon as no lower score is possible.
    mode : {"supervised", "semi-supervised"}, default="supervised"
        Whether samples without a label or pair are left out, or follow their nearest prototype.
    sigma : float, "auto" or "target", default=1.0
        The width in the kernel `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance between samples. "target": the width for which the kernel on all
        features comes closest to the target, must-links and cannot-links counting alike.
    max_pairs : int, optional
        If there are more pairs, draw that many, half of them must-links and half cannot-links
        (or all of a kind that has fewer). Scores are then estimates over all pairs.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature alone.
    order_ : ndarray of shape (n_features,)
        The features in the order of their choice, then the rest by their score at the last step.
    path_ : ndarray of shape (n_steps,)
        The score after each chosen feature.
    standard_error_ : ndarray of shape (n_steps,)
        The standard error of each value of `path_`; 0 where no pairs were left out.
    sigma_ : float
        The width.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from linkselect import Pairs, SimilarityConstraintScore
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> selector = SimilarityConstraintScore(sigma="target")
    >>> selector.fit(MinMaxScaler().fit_transform(X), pairs=pairs).order_
    array([3, 2, 1, 0])
    """

    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "mode": [StrOptions({"supervised", "semi-supervised"})],
        "sigma": [*SIGMA, StrOptions({"target"})],
        "max_pairs": [None, Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        mode: Literal["supervised", "semi-supervised"] = "supervised",
        sigma: float | Literal["auto", "target"] = 1.0,
        max_pairs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        on_conflict: OnConflict = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.mode = mode
        self.sigma = sigma
        self.max_pairs = max_pairs
        self.random_state = random_state
        self.on_conflict = on_conflict
        self.n_jobs = n_jobs

    @property
    def _needs(self) -> tuple[str, ...]:  # type: ignore[override]
        # Every sample takes a group, so two groups are all that is needed.
        return ("must", "cannot") if self.mode == "supervised" else ("groups",)

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        if self.n_features_to_select == "auto":
            return n_features
        return count_features(self.n_features_to_select, n_features)

    def _rank(self, X: Matrix, known: Supervision, track: Track[int]) -> Ranking:
        target = self._target(X, known)
        sigma = self._width(X, target)
        constant = constant_columns(X)
        n_features = self._n_steps(*X.shape)
        until_minimum = self.n_features_to_select == "auto"
        options: dict[str, Any] = {
            "until_minimum": until_minimum,
            "track": track,
            "n_jobs": self.n_jobs,
        }
        if isinstance(target, search.PairTarget):
            found = search.select_from_pairs(X, target, sigma, n_features, **options)
        else:
            found = search.select_from_groups(X, target, sigma, n_features, **options)
        self._warn(found.scores, constant)
        n_selected = int(found.path.argmin()) + 1 if until_minimum else n_features
        fitted = {"path_": found.path, "standard_error_": found.standard_error, "sigma_": sigma}
        return Ranking(found.scores, found.order, n_selected, fitted)

    def _target(self, X: Matrix, known: Supervision) -> NDArray[np.intp] | search.PairTarget:
        """Return the groups if all their pairs count, else the pairs that do."""
        # A seed, since NumPy's generators draw from billions of pairs without listing them.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        generator = np.random.default_rng(seed)
        if self.mode == "supervised" and known.must is not None and known.cannot is not None:
            if self.max_pairs is None:
                return search.pair_target(known.must, known.cannot)
            return search.draw_from_pairs(known.must, known.cannot, self.max_pairs, generator)
        groups = known.classes
        if self.mode == "semi-supervised":
            groups = search.nearest_prototypes(X, groups, self.n_jobs)
        if self.max_pairs is not None:
            return search.draw_from_groups(groups, self.max_pairs, generator)
        n_samples = int(np.count_nonzero(groups >= 0))
        n_bytes = search.memory_needed(n_samples)
        if n_bytes > MANY_BYTES:
            warn_user(
                f"All pairs of {n_samples} samples take about {n_bytes / 2**30:.0f} GB of memory. "
                "Pass max_pairs=1_000_000 to draw that many pairs instead."
            )
        return groups

    def _width(self, X: Matrix, target: NDArray[np.intp] | search.PairTarget) -> float:
        if self.sigma == "auto":
            return resolve_sigma("auto", X, self.n_jobs)
        if not isinstance(target, search.PairTarget):
            n_pairs = PAIRS_FOR_SIGMA if self.sigma == "target" else 2 * MUST_LINKS_TO_CHECK
            target = search.draw_from_groups(target, n_pairs, np.random.default_rng(0))
        if self.sigma == "target":
            return search.match_sigma(X, target, self.n_jobs)
        self._check_width(X, target)
        return float(self.sigma)

    def _check_width(self, X: Matrix, target: search.PairTarget) -> None:
        """Warn if the kernel of many a feature alone cannot tell alike from unlike."""
        if target.n_must == 0:
            return
        some = np.unique(np.linspace(0, target.n_must - 1, MUST_LINKS_TO_CHECK).astype(np.intp))
        apart = search.median_differences(X, target.first[some], target.second[some])
        limit = float(self.sigma) * np.sqrt(-2 * np.log(VANISHED))
        n_vanished = np.count_nonzero(apart > limit)
        if n_vanished < SHARE_OF_VANISHED * len(apart) or n_vanished == 0:
            return
        worst = int(apart.argmax())
        warn_user(
            f"sigma={self.sigma:g} is too narrow for {n_vanished} of {len(apart)} features: in "
            f"each of them half of the must-links are more than {limit:.2g} apart (in feature "
            f"{worst} more than {apart[worst]:.3g}), so that the kernel is below {VANISHED:g} "
            "where samples should be alike. Scale the features to [0, 1] with MinMaxScaler, or "
            'pass sigma="auto" or sigma="target".'
        )


class TraceRatio(LabelSelector):
    """Select the subset with the largest scatter of class means over scatter inside classes.

    The subset-level Fisher score of Nie et al. (2008): with b and w the scatter between and within
    classes of each feature, the ratio of a subset is `sum b / sum w`; larger is better. For every
    size the subset with the largest ratio is found, not an approximation of it. Features are
    ordered by `b - ratio_ * w` at the optimum of the chosen size, so the selected ones are that
    subset. Labels of -1 are a class like any other here.

    Unlike the Fisher Score, it depends on the scale of features: those with much scatter count
    more. Constant features take no part and rank last.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The ratio of each feature alone.
    order_ : ndarray of shape (n_features,)
        The features by their difference at the optimum.
    ratio_ : float
        The ratio of the selected subset.
    path_ : ndarray of shape (n_sizes,)
        The largest ratio of a subset of 1, 2, ... features, up to the number of selected ones;
        up to all with "auto".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import TraceRatio
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TraceRatio().fit(X, y)
    >>> selector.order_
    array([2, 3, 1, 0])
    >>> selector.path_.round(2)
    array([16.06, 15.5 , 10.51,  6.63])
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

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        if self.n_features_to_select == "auto":
            return n_features
        return count_features(self.n_features_to_select, n_features)

    def _rank(self, X: Matrix, known: Supervision, track: Track[int]) -> Ranking:
        between, within = search.between_and_within(X, known.classes, self.n_jobs)
        constant = constant_columns(X)
        scores = np.where(constant, np.nan, ratio(between, within))
        self._warn(scores, constant)
        # What has no scatter at all would cost a subset nothing and stand before real features.
        varying, rest = np.flatnonzero(~np.isnan(scores)), np.flatnonzero(np.isnan(scores))
        between, within = between[varying], within[varying]
        n_selected = count_features(self.n_features_to_select, X.shape[1])
        n_sizes = self._n_steps(*X.shape)
        if not len(varying):
            fitted = {"ratio_": np.nan, "path_": np.full(n_sizes, np.nan)}
            return Ranking(scores, rest, n_selected, fitted)
        best = search.best_trace_ratio(between, within, min(n_selected, len(varying)))
        path = search.trace_ratio_path(between, within, track, min(n_sizes, len(varying)))
        if len(path) == len(varying):
            path = np.pad(path, (0, n_sizes - len(path)), mode="edge")
        order = np.concatenate([varying[best.order], rest])
        return Ranking(scores, order, n_selected, {"ratio_": best.ratio, "path_": path})


class NearestNeighborSFS(LabelSelector):
    """Select features by the accuracy of the nearest neighbour, one after the other (SFS-1NN).

    A wrapper: forward selection adds, step by step, the feature with which most samples have the
    label of their nearest neighbour; larger is better. Distances grow by one squared difference
    per feature, so nothing is fitted again. Equally near neighbours go by row number, equally
    good features by index.

    It needs labels; from pairs use a method such as `SimilarityConstraintScore`. Samples with the
    label -1, None or NaN are unlabelled and take no part. With few labelled samples many features
    have the same accuracy, and the lowest index wins. A sparse X becomes dense for the labelled
    samples.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    cv : "loo", int, splitter or iterable of (train, test), default="loo"
        "loo": every labelled sample looks for its neighbour among all others. Otherwise the test
        samples of each split look among its training samples, and the accuracy is the mean over
        splits. A number or a splitter of scikit-learn divides the labelled samples; an iterable
        names rows of X, of which the unlabelled are left out, so that
        `[(reference_rows, other_rows)]` scores a reference set on other rows.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The accuracy with each feature alone.
    order_ : ndarray of shape (n_features,)
        The features in the order of their choice, then the rest by accuracy at the last step.
    path_ : ndarray of shape (n_steps,)
        The accuracy after each chosen feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import NearestNeighborSFS
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = NearestNeighborSFS().fit(X, y)
    >>> selector.order_[:2], selector.path_.round(3)
    (array([2, 3]), array([0.88 , 0.953]))
    """

    greater_is_better = True
    _constant_is_undefined = False
    _minus_one_is_a_class = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "cv": [StrOptions({"loo"}), "cv_object"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        cv: Any = "loo",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.n_jobs = n_jobs

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return count_features(self.n_features_to_select, n_features)

    def _check_data(self, X: Any, y: Any) -> tuple[Matrix, Any]:
        return self._check_samples_with_labels(X, y), check_labels(y)

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> Supervision:
        known = from_labels(y, n_samples)
        if known.hint:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes, but {known.hint}")
        self._check_classes(encode_labels(y)[1])
        return known

    def _rank(self, X: Matrix, known: Supervision, track: Track[int]) -> Ranking:
        labelled = np.flatnonzero(~known.unlabelled)
        classes = known.classes[labelled]
        samples = X.tocsr()[labelled].toarray() if issparse(X) else X[labelled]
        constant = constant_columns(X)
        found = search.select_by_nearest_neighbor(
            samples,
            classes,
            self._n_steps(*X.shape),
            self._splits(samples, classes, labelled, X.shape[0]),
            track=track,
            n_jobs=self.n_jobs,
        )
        self._warn(found.scores, constant)
        n_selected = self._n_steps(*X.shape)
        return Ranking(found.scores, found.order, n_selected, {"path_": found.path})

    def _splits(
        self,
        samples: NDArray[Any],
        classes: NDArray[np.intp],
        labelled: NDArray[np.intp],
        n_samples: int,
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None:
        """Return splits as positions among the labelled samples."""
        if isinstance(self.cv, str):
            return None
        if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
            return list(check_cv(self.cv, classes, classifier=True).split(samples, classes))
        position = np.full(n_samples, -1, dtype=np.intp)
        position[labelled] = np.arange(len(labelled))
        return _labelled_splits(self.cv, position)


def _labelled_splits(
    splits: Iterable[tuple[ArrayLike, ArrayLike]], position: NDArray[np.intp]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Turn rows into positions among the labelled samples; the unlabelled have none."""
    found = []
    for number, split in enumerate(splits):
        sides = []
        for side, rows in zip(("training", "test"), split, strict=True):
            rows = np.asarray(rows)
            rows = np.flatnonzero(rows) if rows.dtype == bool else rows
            outside = rows[(rows < 0) | (rows >= len(position))]
            if len(outside):
                raise ValueError(
                    f"Split {number} of cv names row {outside[0]}, but X has {len(position)} rows "
                    f"(0..{len(position) - 1})."
                )
            places = position[rows]
            sides.append(places[places >= 0])
            if not len(sides[-1]):
                raise ValueError(
                    f"Split {number} of cv has no labelled {side} sample among its {len(rows)}. "
                    'Label some, choose other splits, or pass cv="loo".'
                )
        found.append((sides[0], sides[1]))
    if not found:
        raise ValueError('cv has no splits. Pass (train, test) pairs of rows, a number, or "loo".')
    return found
