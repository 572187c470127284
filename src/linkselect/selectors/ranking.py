"""What all selectors share: check the input, call a score, keep the ranking."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from linkselect import supervision
from linkselect.blocks import Matrix
from linkselect.forms import FAINT, constant_columns, faint_columns, with_equal_twins
from linkselect.messages import warn_user
from linkselect.pairs import Pairs, encode_labels, is_missing
from linkselect.supervision import OnConflict, Supervision

__all__ = [
    "LabelSelector",
    "PairSelector",
    "Ranking",
    "RankingSelector",
    "Track",
    "best_first",
    "check_labels",
    "check_samples",
    "check_spread",
    "count_features",
    "index_of",
]

NUMBER_OF_FEATURES = [
    StrOptions({"auto"}),
    Interval(Integral, 1, None, closed="left"),
    Interval(Real, 0, 1, closed="right"),
]
SIGMA = [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")]
NEIGHBORS = [Interval(Integral, 1, None, closed="left")]


def best_first(scores: NDArray[np.float64], greater_is_better: bool) -> NDArray[np.intp]:
    """Order features from best to worst: ties by index, NaN last."""
    keys = -scores if greater_is_better else scores
    order = np.argsort(keys)
    # A stable sort is several times slower, and is only needed where there are ties.
    ordered = keys[order]
    if (ordered[1:] == ordered[:-1]).any() or np.isnan(ordered[-2:]).all():
        return np.argsort(keys, kind="stable")
    return order


def count_features(wanted: int | float | str, n_features: int) -> int:
    """Resolve `n_features_to_select`: a number, a fraction, or half of all for "auto"."""
    if isinstance(wanted, str):
        return max(1, n_features // 2)
    if isinstance(wanted, Integral):
        return int(wanted)
    return max(1, int(wanted * n_features + 1e-9))


@dataclass(frozen=True)
class Ranking:
    """What a method found out about the features.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        The value of each feature.
    order : ndarray of shape (n_features,)
        Feature indices, best first.
    n_selected : int
        How many of them are kept.
    fitted : dict
        Further attributes of the fitted selector, by name.
    """

    scores: NDArray[np.float64]
    order: NDArray[np.intp]
    n_selected: int
    fitted: dict[str, Any] = field(default_factory=dict)


Step = TypeVar("Step")
Track = Callable[[Iterable[Step]], Iterator[Step]]


class RankingSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Rank features by a score and keep the best.

    A subclass stores its parameters in `__init__` and computes one score per feature in
    `_score`; a method that searches overrides `_rank` instead. This class ignores y and pairs;
    `LabelSelector` and `PairSelector` do not.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature, in the published formula's own value and direction.
    ranking_ : ndarray of shape (n_features,)
        The rank of each feature; 1 is best.
    order_ : ndarray of shape (n_features,)
        Feature indices, best first.
    support_ : ndarray of shape (n_features,)
        Whether each feature is selected.
    n_features_ : int
        How many features are selected.
    n_features_in_ : int
        How many features X had.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X was a frame with text for column names.
    """

    greater_is_better: ClassVar[bool] = False
    """Whether a larger value of `scores_` is better."""

    # In a Pipeline with metadata routing, pairs and ids arrive without being asked for.
    __metadata_request__fit: ClassVar = {"pairs": True, "sample_ids": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": NUMBER_OF_FEATURES,
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(int, {-1}), None],
    }
    # What a constant feature scores: NaN in a ratio, what the formula says in a difference.
    _constant_is_undefined = True
    # Whether a label of -1 is a class like any other, or means unlabelled.
    _minus_one_is_a_class: ClassVar[bool] = False
    # Why a feature that varies may still have no score, and why the scores of all may be infinite.
    _undefined = "the score is 0 / 0"
    _infinite = "the denominator of the score is 0"
    # Whether differences of a feature are squared, which tiny ones do not survive.
    _squares_differences = True

    n_features_to_select: int | float | Literal["auto"]

    def _score(self, X: Matrix, known: Supervision) -> NDArray[np.float64]:
        """Compute the score of every feature."""
        raise NotImplementedError(f"{type(self).__name__} has neither _score nor _rank.")

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        """Return how many steps `_rank` tracks at most; 0 for a method without a long loop."""
        return 0

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
    ) -> Self:
        """Score and rank the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples: NumPy, memory-mapped, SciPy sparse, pandas or polars.
        y : array-like of shape (n_samples,), optional
            Labels, for methods that use them.
        pairs : Pairs, optional
            Must-links and cannot-links, for methods that use them.
        sample_ids : iterable of hashable, optional
            The id of each row, by which `pairs` name samples. Default: the index of a pandas
            X, else row numbers.

        Returns
        -------
        self
        """
        before = _fitted_attributes(self)
        try:
            self._validate_params()
            ids = index_of(X) if sample_ids is None else sample_ids
            X, y = self._check_data(X, y)
            self._check_count(X.shape[1])
            if self._squares_differences:
                check_spread(X, getattr(self, "feature_names_in_", None))
            known = self._know(X.shape[0], y, pairs, ids, sample_ids is None)
            task = self._init_callback_context(max_subtasks=self._n_steps(*X.shape))
            task.call_on_fit_task_begin(estimator=self, X=X, y=y)
            with np.errstate(over="raise"):
                self._keep(self._rank(X, known, partial(_track, self, task)))
            task.call_on_fit_task_end(estimator=self, X=X, y=y)
        except FloatingPointError as error:
            self._restore(before)
            raise ValueError(
                f"X has values so large that their squares overflow ({error}). Scale the features, "
                "for example with sklearn.preprocessing.StandardScaler()."
            ) from error
        except BaseException:
            # What fails or is interrupted leaves the object as it was, not half-fitted.
            self._restore(before)
            raise
        return self

    def _restore(self, before: dict[str, Any]) -> None:
        for name in _fitted_attributes(self):
            delattr(self, name)
        self.__dict__.update(before)

    def _check_count(self, n_features: int) -> None:
        wanted = self.n_features_to_select
        if isinstance(wanted, Integral) and wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted}, but X has {n_features} features. "
                f"Choose 1 to {n_features}, a fraction such as 0.5, or 'auto'."
            )

    def _rank(self, X: Matrix, known: Supervision, track: Track) -> Ranking:
        """Score every feature and order them."""
        return self._ranking(X, self._score(X, known))

    def _ranking(self, X: Matrix, scores: NDArray[np.float64]) -> Ranking:
        """Order features by their scores; what has none ranks last, with a warning."""
        constant = constant_columns(X)
        if self._constant_is_undefined:
            scores = np.where(constant, np.nan, scores)
        scores = with_equal_twins(X, scores)
        self._warn(scores, constant)
        n_selected = count_features(self.n_features_to_select, X.shape[1])
        return Ranking(scores, best_first(scores, self.greater_is_better), n_selected)

    def _check_data(self, X: Any, y: Any) -> tuple[Matrix, Any]:
        return check_samples(self, X), y

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> Supervision:
        return supervision.nothing(n_samples)

    def _warn(self, scores: NDArray[np.float64], constant: NDArray[np.bool_]) -> None:
        n_constant = int(constant.sum())
        n_undefined = int((np.isnan(scores) & ~constant).sum())
        if n_constant:
            rank = "rank last" if self._constant_is_undefined else "are ranked by the formula"
            warn_user(
                f"{n_constant} of {len(scores)} features are constant; they {rank}. "
                "Remove them with sklearn.feature_selection.VarianceThreshold()."
            )
        finite = np.isfinite(scores)
        n_infinite = int(np.isinf(scores).sum())
        if n_infinite > 1 and not finite.any():
            warn_user(
                f"The scores of all {n_infinite} features that vary are infinite, which tells "
                f"none of them from another: {self._infinite}."
            )
        if n_undefined:
            warn_user(
                f"{n_undefined} of {len(scores)} features vary, but have no score and rank last: "
                f"{self._undefined}."
            )

    def _keep(self, found: Ranking) -> None:
        n_features = len(found.order)
        self.scores_ = found.scores
        self.order_ = found.order
        self.ranking_ = np.empty(n_features, dtype=np.intp)
        self.ranking_[found.order] = np.arange(1, n_features + 1)
        self.n_features_ = found.n_selected
        self.support_ = self.ranking_ <= found.n_selected
        self.__dict__.update(found.fitted)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return feature, score, rank and selected as a data frame, best first.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Which library makes the frame; it must be installed.
        """
        check_is_fitted(self)
        if library not in ("pandas", "polars"):
            raise ValueError(f"library={library!r}, but a frame is made by 'pandas' or 'polars'.")
        best = self.order_
        return import_module(library).DataFrame(
            {
                "feature": _check_feature_names_in(self)[best],
                "score": self.scores_[best],
                "rank": self.ranking_[best],
                "selected": self.support_[best],
            }
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LabelSelector(RankingSelector):
    """A selector that needs a label for every sample; pairs are ignored."""

    _minus_one_is_a_class = True

    def _check_data(self, X: Any, y: Any) -> tuple[Matrix, Any]:
        X = self._check_samples_with_labels(X, y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O" and any(is_missing(label, minus_one=False) for label in y):
            raise ValueError(
                f"y has missing labels (None or NaN), but {type(self).__name__} needs a label for "
                "every sample. Use a method for partial labels, such as LSDF or "
                "ConstrainedLaplacianScore."
            )
        assert_all_finite(y, input_name="y")
        encode_labels(y)  # explains labels that have no common order
        check_classification_targets(y)
        check_consistent_length(X, y)
        return X, y

    def _check_samples_with_labels(self, X: Any, y: Any) -> Matrix:
        name = type(self).__name__
        if y is None:
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None. "
                f"Write {name}().fit(X, y), or use a method that works from pairs, such as "
                "ConstraintScore().fit(X, pairs=pairs)."
            )
        return check_samples(self, X)

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> Supervision:
        labels, classes = np.unique(y, return_inverse=True)
        self._check_classes(labels)
        return Supervision(classes)

    def _check_classes(self, labels: NDArray[Any]) -> None:
        if len(labels) < 2:
            found = f"the one class {labels[0]!s}" if len(labels) else "no label"
            raise ValueError(
                f"y has {found}, but {type(self).__name__} compares classes "
                "and needs at least 2. For data without classes use VarianceScore or "
                "LaplacianScore."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class PairSelector(RankingSelector):
    """A selector that works from pairs, or from labels, of which -1 means unlabelled.

    When `pairs` is given, y is ignored: a Pipeline hands y to every step, and a union would
    silently turn pairs into full supervision. Who wants both writes
    `pairs | Pairs.from_labels(y)`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "on_conflict": [StrOptions({"raise", "warn", "drop"})],
    }
    # What the method cannot do without: "must", "cannot", "groups" (two of them), "any" (a pair or
    # a label) or nothing at all.
    _needs: ClassVar[tuple[str, ...]] = ()

    on_conflict: OnConflict

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> Supervision:
        if pairs is not None:
            known = supervision.from_pairs(
                pairs, n_samples, sample_ids, self.on_conflict, ids_are_index=ids_are_index
            )
        elif y is not None:
            known = supervision.from_labels(check_labels(y), n_samples)
        else:
            known = supervision.nothing(n_samples)
        self._check_needs(known, given=pairs is not None or y is not None)
        return known

    def _check_needs(self, known: Supervision, given: bool) -> None:
        present = {
            "must": known.has_must,
            "cannot": known.has_cannot,
            "groups": known.n_groups > 1,
            "any": not known.unlabelled.all(),
        }
        missing = [need for need in self._needs if not present[need]]
        if not missing:
            return
        name = type(self).__name__
        words = {
            "must": "a must-link",
            "cannot": "a cannot-link",
            "groups": "two groups, by a cannot-link, by must-links that do not meet, or by labels",
            "any": "a pair or a label",
        }
        lacking = " and ".join(words[need] for need in missing)
        if not given:
            found = "neither pairs nor y was passed"
        else:
            n_known = int(np.count_nonzero(~known.unlabelled))
            which = f"the {n_known} samples with a pair or label here"
            found = f"there is none among {which}"
            if missing == ["groups"] and n_known:
                found = f"{which} are one group"
        raise ValueError(
            f"{name} needs {lacking}, but {found}. "
            f"{known.hint or _HOW_TO_SUPERVISE.format(name=name)}"
        )


_HOW_TO_SUPERVISE = (
    "Write {name}().fit(X, pairs=Pairs(must=[(0, 3)], cannot=[(0, 60)])), or {name}().fit(X, y) "
    "with at least two classes, two samples in one of them, and -1 for unlabelled samples. "
    "In cross-validation, give more pairs or use larger folds."
)


def check_samples(estimator: BaseEstimator, X: Any) -> Matrix:
    """Check X as scikit-learn does: numbers, finite, two samples or more; dense, CSR or CSC."""
    X = validate_data(
        estimator,
        X,
        accept_sparse=("csr", "csc"),
        # Integers stay integers: column blocks become float64 one at a time.
        dtype="numeric",
        ensure_min_samples=2,
    )
    if issparse(X) and not (X.has_canonical_format and X.data.all()):
        # Entries that are stored twice would count twice, and stored zeros in another order.
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def check_spread(X: Matrix, names: NDArray[Any] | None = None) -> None:
    """Refuse features that vary so little that the squares of their differences underflow."""
    faint = faint_columns(X)
    if len(faint):
        name = f"feature {faint[0]}" if names is None else f"feature {names[faint[0]]!r}"
        raise ValueError(
            f"X has {len(faint)} features that vary by less than {FAINT:g}, the first of them "
            f"{name}: the squares of so small differences underflow to 0. Use larger units, for "
            "example by sklearn.preprocessing.MinMaxScaler()."
        )


def check_labels(y: Any) -> Any:
    """Refuse what cannot be class labels; -1, None and NaN are looked at later."""
    labels = np.asarray(y)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{labels}\n")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.dtype.kind == "f":
        whole = labels[labels == labels]
        if np.isinf(whole).any() or (whole != np.floor(whole)).any():
            odd = whole[np.isinf(whole) | (whole != np.floor(whole))][0]
            raise ValueError(
                f"y has the value {odd:g}, but classes are whole numbers or text, with -1, None or "
                "NaN for unlabelled samples. Cut a continuous target into classes first."
            )
    return labels


def _track(estimator: RankingSelector, task: Any, steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a long loop and report each to the callbacks, which may end it."""
    for step in steps:
        part = task.subcontext(task_name="step")
        part.call_on_fit_task_begin(estimator=estimator)
        yield step
        if part.call_on_fit_task_end(estimator=estimator):
            return


def _fitted_attributes(estimator: BaseEstimator) -> dict[str, Any]:
    found = vars(estimator).items()
    return {name: value for name, value in found if name.endswith("_") and name[0] != "_"}


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas frame, whose labels stay with their rows in a fold."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None
