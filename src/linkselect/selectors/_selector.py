"""Base class of all selectors, which validates input, computes scores and stores the ranking."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._bibliography import with_attributes, with_references
from linkselect._callbacks import CallbackSupportMixin, parts_reported, tracked, with_callbacks
from linkselect._messages import ConstantFeaturesWarning, GuidedValueError, many, warn_user
from linkselect._samples import Parts, Samples, as_parts
from linkselect._samples.checks import (
    Given,
    check_samples,
    check_spread,
    refuse_stored,
    too_large,
    warn_of_rounding,
    without_mask,
)
from linkselect._samples.devices import (
    check_placement,
    is_out_of_memory,
    out_of_memory,
    to_numpy,
    with_zeros,
)
from linkselect._samples.fitted_columns import check_columns, checked_matrix
from linkselect._samples.parts import TAKE_ROWS
from linkselect._samples.samples import Kind
from linkselect._samples.sources.opening import select_columns
from linkselect._supervision import Supervision
from linkselect.pairs import Pairs
from linkselect.selectors import _ranking as rankings
from linkselect.selectors._method import Need, Sees, classes_for_moments
from linkselect.selectors._parameters import N_JOBS, NUMBER_OF_FEATURES, with_parameters
from linkselect.selectors._reasons import reasons_of

# Called with samples and `n_jobs`. A function, not a selector, because worker processes load it.
ColumnScore = Callable[..., FloatArray]
Step = TypeVar("Step")
Track = Callable[[Iterable[Step]], Iterator[Step]]


@with_parameters
class RankingSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base class of selectors that rank features by a score and keep the best.

    A subclass declares its parameters as fields (see `with_parameters`). It computes one score per
    feature in `_score`, or returns a function that does so in `_column_score`; a method that
    searches overrides `_rank` instead. This class ignores y and pairs; `LabelSelector` and
    `PairSelector` use them.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each feature, with the scale and direction of the published formula.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature. The best feature has rank 1.
    order_ : ndarray of shape (n_features,)
        Feature indices, sorted from best to worst.
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    n_features_ : int
        Number of selected features.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, set only if X was a data frame with strings as column names.
    """

    # Properties of the method, which `describe` returns. A property if the value depends on
    # parameters.
    sees: ClassVar[Sees] = "nothing"
    """Kind of supervision that the method uses."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """Supervision that the method requires."""
    greater_is_better: ClassVar[bool] = False
    """Whether larger values of `scores_` are better."""
    searches: ClassVar[bool] = False
    """Whether the method searches for a subset instead of scoring single features."""
    path_has_optimum: ClassVar[bool] = False
    """Whether values of `path_` are comparable between different numbers of features."""
    own_number: ClassVar[str] = ""
    """Description of the features kept by "auto"; empty if it keeps half of the features."""
    # Whether that number is accepted even if it is 1 or the number of all features.
    _keeps_own_number: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()
    """Keys of the references in the bibliography."""
    wraps: ClassVar[bool] = False
    """Whether the method wraps another selector."""
    works_on: ClassVar[tuple[Kind, ...]] = ("memory", "sparse")
    """Kinds of samples that are supported: dense or sparse in memory, on a device, or in parts."""
    uses_weights: ClassVar[bool] = False
    """Whether the method uses pair weights; other methods that use pairs reject weights."""

    # With metadata routing, a Pipeline passes pairs and ids without an explicit request.
    __metadata_request__fit: ClassVar = {"pairs": True, "sample_ids": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": NUMBER_OF_FEATURES,
        "n_jobs": N_JOBS,
    }
    # Whether a constant feature has no score (NaN): true for a ratio, not for a difference.
    _constant_is_undefined: ClassVar[bool] = True
    # Why a feature that varies may still have no score, and why the scores of all may be infinite.
    _undefined: ClassVar[str] = "the score is 0 / 0"
    _infinite: ClassVar[str] = "the denominator of the score is 0"
    # What to do instead if X is stored in parts, and the method needs it in memory.
    _instead_of_parts: ClassVar[str] = (
        f"{TAKE_ROWS} Alternatively, use a method that reads stored data part by part, such as "
        "ConstraintScore, FisherScore or LaplacianScore; see the guide to large data for a list."
    )
    # Whether the method squares differences within a feature, so that tiny ones would underflow.
    _squares_differences: ClassVar[bool] = True
    # Features that a search selects first. Not a parameter: `FeatureRules` sets it on a clone.
    _first: ClassVar[tuple[int, ...]] = ()
    # Seconds per fit on a million values (200 x 5,000), measured once and rounded up. A constant,
    # so that the output of a command does not depend on the speed of the machine.
    _seconds: ClassVar[float] = 0.1

    n_features_to_select: int | float | Literal["auto"] = field(default="auto", kw_only=False)
    n_jobs: int | None = None

    scores_: FloatArray = field(init=False)
    ranking_: IntArray = field(init=False)
    order_: IntArray = field(init=False)
    support_: BoolArray = field(init=False)
    n_features_: int = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[np.object_] = field(init=False)
    _constant: BoolArray = field(init=False)

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the inherited attributes and the references to the docstring of a subclass."""
        super().__init_subclass__(**options)
        if cls.__doc__ and RankingSelector.__doc__ and not cls.__name__.startswith("_"):
            text = with_attributes(cls.__doc__, RankingSelector.__doc__)
            cls.__doc__ = with_references(text, cls.references)

    def _column_score(self, known: Supervision) -> ColumnScore | None:
        """Return a function that scores each feature independently; None if impossible."""
        return None

    def _rows_that_count(self, known: Supervision) -> IntArray | None:
        """Return the sorted rows that are used by `_column_score`; None means all rows."""
        return None

    def _score(self, X: Samples, known: Supervision) -> FloatArray:
        """Compute the score of every feature."""
        score = self._column_score(known)
        if score is None:
            raise NotImplementedError(f"{type(self).__name__} must define _score or _rank.")
        found = X.map_column_parts(score, self.n_jobs) if X.scores is None else X.scores
        return rankings.with_equal_ties(X.fetched(found))

    def _rank(
        self, X: Samples, known: Any, constant: BoolArray, track: Track[Any]
    ) -> rankings.Ranking:
        """Score and order the features; methods that search for subsets override this method.

        Parameters
        ----------
        X : Samples
            The validated samples.
        known : Supervision
            The supervision, as returned by `_know`.
        constant : ndarray of bool of shape (n_features,)
            A mask of the constant features.
        track : callable
            Function that wraps the steps of a long loop to report progress.
        """
        return self._by_score(X, self._score(X, known), constant)

    def _by_score(
        self,
        X: Samples,
        scores: FloatArray,
        constant: BoolArray,
        fitted: dict[str, Any] | None = None,
    ) -> rankings.Ranking:
        """Order the features by score; features without a score rank last."""
        scores = X.fetched(scores)
        if self._constant_is_undefined:
            scores = np.where(constant, np.nan, scores)
        n_selected = rankings.count_features(self.n_features_to_select, len(scores))
        order = rankings.best_first(scores, self.greater_is_better)
        settled = rankings.with_equal_twins(
            X, scores, order[::-1] if self.greater_is_better else order
        )
        if settled is not scores:
            order = rankings.best_first(settled, self.greater_is_better)
        return rankings.Ranking(settled, order, n_selected, fitted or {})

    def _scores_without_each_pair(self, X: Samples, known: Supervision) -> FloatArray | None:
        """Return the scores after leaving out each pair in turn, starting with the must-links.

        The result is None if a refit would be required for each pair. A score is NaN if the method
        cannot be applied without the pair.
        """
        return None

    def _seconds_per_million(self, n_pairs: int) -> float:
        """Return the approximate time of a fit, in seconds per million values."""
        return self._seconds

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        """Return the maximum number of steps that `_rank` tracks; 0 if it has no long loop."""
        return 0

    def _steps_for(self, n_selected: int, n_features: int) -> int:
        """Return the number of search steps, at least one more than `_first` has features."""
        return min(max(n_selected, len(self._first) + 1), n_features)

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
            The samples, as a NumPy array, memory map, SciPy sparse matrix, pandas or polars data
            frame, or AnnData object. Many methods also accept torch and cupy arrays if
            scikit-learn's `array_api_dispatch` is enabled. Some methods read large memory maps,
            Zarr and dask arrays, Parquet files and backed AnnData objects part by part.
        y : array-like of shape (n_samples,), optional
            Labels, for methods that use them.
        pairs : Pairs, optional
            Must-links and cannot-links, for methods that use them.
        sample_ids : iterable of hashable, optional
            ID of each row, which `pairs` use to refer to samples. Default: the index of a pandas X,
            the index that pandas stored in a Parquet file, or `obs_names`; otherwise row numbers.

        Returns
        -------
        self
        """
        before = _fitted_attributes(self)
        try:
            self._validate_params()
            y = to_numpy(y) if get_config()["array_api_dispatch"] else y
            parts = as_parts(X)
            X = X if parts is None else parts
            given = Given.read(X, y, pairs, sample_ids)
            X, y = self._check_data(X, y)
            self._check_count(X.shape[1])
            known = self._know(replace(given, y=y), X.shape[0])
            n_steps = self._n_steps(*X.shape) if parts is None else None
            task = self._init_callback_context(max_subtasks=n_steps)
            task.call_on_fit_task_begin(estimator=self, X=X.values, y=y)
            with np.errstate(over="raise"):
                ranked = self._ranked if parts is None else self._ranked_by_parts
                found, constant = ranked(X, known, task)
            self._warn(found.scores, constant)
            self._restore(_fitted_attributes(self, "_in_"))  # remove an earlier fit
            self.__dict__.update(found.attributes(X))
            self._constant = X.placed(constant)
            task.call_on_fit_task_end(estimator=self, X=X.values, y=y)
        except FloatingPointError as error:
            self._restore(before)
            raise too_large(error) from error
        except BaseException as error:
            # A fit that fails or is interrupted leaves the object unchanged, not half-fitted.
            self._restore(before)
            if is_out_of_memory(error):
                raise out_of_memory(error) from error
            raise
        return self

    def _ranked(self, X: Samples, known: Any, task: Any) -> tuple[rankings.Ranking, BoolArray]:
        """Rank the features, and return a mask of the constant features."""
        if self._squares_differences:
            check_spread(X, getattr(self, "feature_names_in_", None))
        constant = X.constant_columns()
        return self._rank(X, known, constant, partial(tracked, self, task)), constant

    def _ranked_by_parts(
        self, X: Parts, known: Any, task: Any
    ) -> tuple[rankings.Ranking, BoolArray]:
        """Read stored samples once to compute the required statistics, and rank the features."""
        with parts_reported(self, task):
            # Everything needed from a part is taken at once, so that it is not read again.
            score = self._column_score(known) if X.by_columns else None
            hold = None if X.by_columns else self._rows_that_count(known)
            classes = classes_for_moments(known, X.shape[0])
            surveyed = X.surveyed(classes, getattr(self, "n_jobs", None), score, hold)
            if not self.wraps:
                names: Any = X.stored.names or range(X.shape[1])
                warn_of_rounding([names[place] for place in surveyed.rounded_columns()])
            return self._ranked(surveyed, known, task)

    def _restore(self, before: dict[str, Any]) -> None:
        for name in _fitted_attributes(self):
            delattr(self, name)
        self.__dict__.update(before)

    def _check_count(self, n_features: int) -> None:
        wanted: Any = self.n_features_to_select
        if isinstance(wanted, int | np.integer) and wanted > n_features:
            raise GuidedValueError(
                f"n_features_to_select={wanted}, but X has {many(n_features, 'feature')}.",
                f"Choose 1 to {n_features}, a fraction such as 0.5, or 'auto'.",
            )

    def _check_data(self, X: Any, y: Any) -> tuple[Samples, Any]:
        return check_samples(self, X), y

    def _know(self, given: Given, n_samples: int) -> Any:
        """Convert the labels and pairs passed to `fit` to a `Supervision` for `_rank`.

        Wrappers pass labels and pairs on unchanged.
        """
        return Supervision(np.full(n_samples, -1, dtype=np.intp))

    def _warn(self, scores: FloatArray, constant: BoolArray) -> None:
        n_all, n_constant = len(scores), np.count_nonzero(constant)
        n_infinite = np.count_nonzero(np.isinf(scores))
        n_undefined = np.count_nonzero(np.isnan(scores) & ~constant)
        if n_constant:
            are, rank = ("is", "ranks") if n_constant == 1 else ("are", "rank")
            last = self._constant_is_undefined
            place = f"{rank} last" if last else f"{are} ranked by the formula"
            warn_user(
                f"{n_constant} of {n_all} features {are} constant and {place}.",
                ConstantFeaturesWarning,
                hint="Remove constant features with sklearn.feature_selection.VarianceThreshold().",
            )
        if n_infinite > 1 and not np.isfinite(scores).any():
            warn_user(
                f"The scores of all {n_infinite} non-constant features are infinite, so these "
                f"features cannot be ranked: {self._infinite}."
            )
        if n_undefined:
            one = n_undefined == 1
            vary = "varies but has no score and ranks" if one else "vary but have no score and rank"
            warn_user(f"{n_undefined} of {n_all} features {vary} last: {self._undefined}.")

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return to_numpy(self.support_)

    @overload
    def get_support(self, indices: Literal[False] = False) -> BoolArray: ...

    @overload
    def get_support(self, indices: Literal[True]) -> IntArray: ...

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return a mask of the selected features, or their indices."""
        return super().get_support(indices=indices)

    @overload
    def transform(self, X: ArrayLike) -> NDArray[Any]: ...

    @overload
    def transform(self, X: Any) -> Any: ...

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features, without reading stored samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, as in `fit`.

        Returns
        -------
        X_selected : array-like of shape (n_samples, n_features_)
            The selected features. For a dask array, the result is a dask array, and for other
            stored samples it is a `Stored` object.
        """
        check_is_fitted(self)
        if (parts := as_parts(X)) is None:
            with checked_matrix(self, X) as matrix:
                return super().transform(without_mask(matrix))
        container = _get_output_config("transform", self)["dense"]
        if container != "default":
            raise GuidedValueError(
                f"With set_output(transform={container!r}), all of {parts.stored.label} would be "
                "read into a data frame.",
                "Use set_output(transform='default'), or convert the result of transform.",
                "X",
            )
        check_columns(self, parts.shape[1], parts.stored.names, parts.stored.label)
        return select_columns(X, np.flatnonzero(self.get_support()))

    def _transform(self, X: Any) -> Any:
        check_is_fitted(self)
        check_placement(self, X)
        return super()._transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Insert columns of zeros for features that were removed, as in scikit-learn."""
        refuse_stored("inverse_transform", X, "Pass np.asarray(X) if it fits in memory.")
        filled = with_zeros(X, self.get_support()) if get_config()["array_api_dispatch"] else None
        return super().inverse_transform(X) if filled is None else filled

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame with the score, rank and selection of each feature, best first.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Library that provides the data frame, which must be installed.
        """
        check_is_fitted(self)
        found = rankings.Ranking(to_numpy(self.scores_), to_numpy(self.order_), self.n_features_)
        names = _check_feature_names_in(self)
        more = {"reason": reasons_of(self, names)[found.order]}
        return rankings.ranking_frame(found, names, library, more)

    def _html_repr(self) -> str:
        """Return scikit-learn's HTML diagram, followed by the ranking after a fit."""
        diagram: str = super()._html_repr()
        if not hasattr(self, "order_"):
            return diagram
        found = rankings.Ranking(to_numpy(self.scores_), to_numpy(self.order_), self.n_features_)
        names = _check_feature_names_in(self)
        return diagram + rankings.ranking_view(
            found, names, type(self).__name__, self.greater_is_better
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = "device" in self.works_on
        return tags


def _fitted_attributes(estimator: BaseEstimator, end: str = "_") -> dict[str, Any]:
    found = vars(estimator).items()
    return {name: value for name, value in found if name.endswith(end) and name[0] != "_"}
