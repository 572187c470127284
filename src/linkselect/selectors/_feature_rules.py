"""Selection with rules that keep or exclude features, select whole groups or drop copies."""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import GuidedValueError, many
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._search.correlations import copies_of
from linkselect.selectors._feature_names import find_features, find_groups
from linkselect.selectors._foreign import Ranked, ranked_with
from linkselect.selectors._method import describe
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._reasons import feature_reasons
from linkselect.selectors._selector import Track
from linkselect.selectors._wrapper import Wrapper, arguments_of


class _Walk(NamedTuple):
    taken: list[IntArray]
    left: list[IntArray]
    copy_of: IntArray


class FeatureRules(Wrapper):
    """Combine a selector with rules that keep or exclude features, select groups or drop copies.

    Kept features are selected first and count towards the number of features. Searches start from
    them: `LinkSelector`, `MRMR`, `FCBF`, `TraceRatio`, `SimilarityConstraintScore`,
    `NearestNeighborSFS` and `Redundancy` select the features that add most to the kept ones. Every
    other method ranks the remaining features as it would without this rule. Excluded features are
    removed before the estimator is fitted.

    A group is selected as a whole or not at all, and each of its columns counts. Its score is the
    mean score of its members; in a search, it has the position of its first member. A group that
    exceeds the remaining number of features is skipped, so fewer features than requested may be
    selected.

    Not suitable for X stored in parts or on a device. Copies are found by correlation over all
    rows, so a single outlier shared by two features can make them copies.

    Parameters
    ----------
    estimator : selector
        The selector that ranks the features. It is not modified.
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the same number as the
        estimator.
    keep : array-like, optional
        Names, indices or a mask of features that are always selected, in the given order. If a kept
        feature belongs to a group, the whole group is kept.
    exclude : array-like, optional
        Names, indices or a mask of features that are never selected.
    groups : list or dict, optional
        Groups of features: a list, or a dict whose keys are the names of the groups. Each group is
        a list of names or indices, or a pattern such as `"temp_*"`.
    copies : {"all", "one"}, default="all"
        "all" treats copies like other features. "one" selects only the first of several copies,
        which are features with an absolute correlation of at least 0.999 over at least ten samples.
        The other copies are replaced by the next features in the ranking; after a search, features
        are ranked by their value at the last step. Kept features and single members of groups are
        not dropped as copies.

    Attributes
    ----------
    estimator_ : selector
        The estimator, fitted without the excluded features.
    scores_ : ndarray of shape (n_features,)
        Scores of the estimator. Features in a group have their mean score, excluded features NaN.
    order_ : ndarray of shape (n_features,)
        The selected features, followed by the remaining features, then copies, then excluded
        features.
    copy_of_ : ndarray of shape (n_features,)
        For each feature, the selected feature of which it is a copy; -1 if it is not a copy or if
        `copies="all"`.
    reasons_ : ndarray of shape (n_features,)
        Reason why each feature is selected or not: "selected", "excluded", "constant", "copy of
        NAME" or "below the cut".

    See Also
    --------
    Redundancy : Penalise the correlation with features already selected.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FeatureRules, FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> rules = FeatureRules(FisherScore(), 2, keep=[1], exclude=[2]).fit(X, y)
    >>> rules.order_, rules.reasons_.tolist()
    (array([1, 3, 0, 2]), ['below the cut', 'selected', 'excluded', 'selected'])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Wrapper._parameter_constraints,
        "keep": ["array-like", None],
        "exclude": ["array-like", None],
        "groups": [list, tuple, dict, None],
        "copies": [StrOptions({"all", "one"})],
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        keep: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        groups: Any = None,
        copies: Literal["all", "one"] = "all",
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.exclude = exclude
        self.groups = groups
        self.copies = copies

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Whether larger values of `scores_` are better, as in the wrapped selector."""
        return describe(self.estimator).greater_is_better

    @property
    def searches(self) -> bool:  # type: ignore[override]
        """Whether the wrapped selector searches for a subset."""
        return describe(self.estimator).searches

    @property
    def own_number(self) -> str:  # type: ignore[override]
        """Description of the features kept by "auto", if the wrapped selector has its own rule."""
        return getattr(self.estimator, "own_number", "")

    @property
    def _keeps_own_number(self) -> bool:  # type: ignore[override]
        return getattr(self.estimator, "_keeps_own_number", False)

    @property
    def uses_weights(self) -> bool:  # type: ignore[override]
        """Whether the wrapped selector uses pair weights."""
        return getattr(self.estimator, "uses_weights", False)

    def _rank(self, X: Samples, known: Given, constant: BoolArray, track: Track[Any]) -> Ranking:
        n_features = X.shape[1]
        names = getattr(self, "feature_names_in_", None)
        kept = find_features(self.keep, names, n_features, "keep")
        excluded = np.zeros(n_features, dtype=bool)
        excluded[find_features(self.exclude, names, n_features, "exclude")] = True
        shown = _check_feature_names_in(self)
        self._check_rules(kept, excluded, shown)
        unit_of = {int(feature): np.array([feature]) for feature in np.flatnonzero(~excluded)}
        for group in find_groups(self.groups, names, n_features):
            members = group[~excluded[group]]
            unit_of.update(dict.fromkeys(members.tolist(), members))
        kept_units = _distinct(unit_of, kept)
        kept = np.concatenate([np.empty(0, dtype=np.intp), *kept_units])
        wanted = self._wanted(n_features, len(unit_of), len(kept))
        inner, scores, order = self._fitted(X, known, kept, excluded, wanted)
        if wanted is None:
            wanted = max(len(kept), int(inner.n_features_))
        for group in {id(unit): unit for unit in unit_of.values() if len(unit) > 1}.values():
            scores[group] = _mean(scores[group])
        units = self._units_in_order(unit_of, scores, order)
        walk = self._walk(X, kept_units, units, wanted, n_features)
        if not walk.taken:
            least = min(len(unit) for unit in units)
            raise GuidedValueError(
                f"No group can be selected: at most {many(wanted, 'feature')} may be selected, but "
                f"the smallest group contains {many(least, 'feature')}.",
                f"Pass n_features_to_select={least} or more, or use smaller groups.",
                "n_features_to_select",
            )
        return self._ranking(walk, scores, excluded, constant, shown, inner)

    def _check_rules(self, kept: IntArray, excluded: BoolArray, shown: NDArray[Any]) -> None:
        if excluded[kept].any():
            raise GuidedValueError(
                f"Feature {str(shown[kept[excluded[kept]][0]])!r} is both kept and excluded.",
                "Remove this feature from keep or from exclude.",
                "exclude",
            )
        if excluded.all():
            raise GuidedValueError(
                "exclude removes every feature.", "Exclude fewer features.", "exclude"
            )

    def _wanted(self, n_features: int, n_left: int, n_kept: int) -> int | None:
        """Return the number of features to select; None if the estimator determines it."""
        number = self.n_features_to_select
        if number == "auto":
            return None
        wanted = count_features(number, n_features)
        if isinstance(number, int | np.integer) and wanted > n_left:
            raise GuidedValueError(
                f"n_features_to_select={wanted}, but only {many(n_left, 'feature')} remain after "
                "exclusion.",
                f"Choose 1 to {n_left}, or exclude fewer features.",
                "n_features_to_select",
            )
        if n_kept > wanted:
            raise GuidedValueError(
                f"keep contains {many(n_kept, 'feature')}, including those in groups, but "
                f"n_features_to_select={number!r} allows only {wanted}.",
                f"Pass n_features_to_select={n_kept} or more, or keep fewer features.",
                "n_features_to_select",
            )
        return min(wanted, n_left)

    def _fitted(
        self, X: Samples, known: Given, kept: IntArray, excluded: BoolArray, wanted: int | None
    ) -> tuple[Any, FloatArray, IntArray]:
        """Fit the estimator without excluded features; return it, its scores and its order."""
        left = np.flatnonzero(~excluded)
        samples = X.choose(left) if excluded.any() else X
        if wanted is not None:
            inner = ranked_with(self.estimator, wanted)
        elif hasattr(self.estimator, "sees"):
            inner = clone(self.estimator)
        else:
            inner = Ranked(clone(self.estimator))
        if len(kept):
            inner._first = tuple(np.searchsorted(left, kept).tolist())
        inner.fit(samples.values, **arguments_of(known, inner))
        vars(inner).pop("_first", None)  # a later fit must not start from the kept features
        scores = np.full(X.shape[1], np.nan)
        scores[left] = inner.scores_
        return inner, scores, left[inner.order_]

    def _units_in_order(
        self, unit_of: dict[int, IntArray], scores: FloatArray, order: IntArray
    ) -> list[IntArray]:
        """Return groups and single features in ranking order, without repetition."""
        if not self.searches and self.groups is not None:
            keys = -scores[order] if self.greater_is_better else scores[order]
            order = order[np.argsort(keys, kind="stable")]
        return _distinct(unit_of, order)

    def _walk(
        self,
        X: Samples,
        kept: list[IntArray],
        units: list[IntArray],
        wanted: int,
        n_features: int,
    ) -> _Walk:
        """Select groups and single features in order, unless they do not fit or are copies."""
        copy_of = np.full(n_features, -1, dtype=np.intp)
        held = {id(unit) for unit in kept}
        waiting = [*kept, *(unit for unit in units if id(unit) not in held)]
        taken: list[IntArray] = []
        left: list[IntArray] = []
        room = wanted
        while waiting and room:
            # Check as many units at once as may be selected, so that X is read only a few times.
            some, waiting = waiting[:room], waiting[room:]
            copies = self._copies(X, [unit for unit in some if (copy_of[unit] < 0).any()])
            for unit in some:
                is_kept = id(unit) in held
                if len(unit) > room or (not is_kept and (copy_of[unit] >= 0).all()):
                    left.append(unit)
                    continue
                taken.append(unit)
                room -= len(unit)
                copy_of[unit] = -1
                for feature in unit.tolist():
                    near = np.array(copies.get(feature, ()), dtype=np.intp)
                    copy_of[near[copy_of[near] < 0]] = feature
                copy_of[np.concatenate(taken)] = -1
        return _Walk(taken, left + waiting, copy_of)

    def _copies(self, X: Samples, units: list[IntArray]) -> dict[int, list[int]]:
        """Find the copies of every feature in the given units (groups or single features)."""
        found: dict[int, list[int]] = {}
        if self.copies == "one" and units:
            for feature, copy in copies_of(X, np.concatenate(units)):
                found.setdefault(feature, []).append(copy)
        return found

    def _ranking(
        self,
        walk: _Walk,
        scores: FloatArray,
        excluded: BoolArray,
        constant: BoolArray,
        shown: NDArray[Any],
        inner: Any,
    ) -> Ranking:
        copy_of = np.where(excluded, -1, walk.copy_of)
        selected = np.concatenate(walk.taken)
        rest = np.concatenate([np.empty(0, dtype=np.intp), *walk.left])
        if self.copies == "one":
            # Copies come after all other features that vary.
            rest = rest[np.lexsort((np.where(constant, 2, copy_of >= 0)[rest],))]
        order = np.concatenate([selected, rest, np.flatnonzero(excluded)])
        reasons = feature_reasons(
            order, len(selected), constant, shown, copy_of=copy_of, excluded=excluded
        )
        fitted = {
            "estimator_": inner.estimator_ if isinstance(inner, Ranked) else inner,
            "copy_of_": copy_of,
            "reasons_": reasons,
        }
        return Ranking(scores, order, len(selected), fitted)


def _distinct(unit_of: dict[int, IntArray], features: IntArray) -> list[IntArray]:
    """Return the groups of features (or single features), ordered by their first member."""
    return list({id(unit_of[one]): unit_of[one] for one in features.tolist()}.values())


def _mean(scores: FloatArray) -> float:
    """Return the mean of the scores that are not NaN; NaN if there are none."""
    return float(np.mean(scores[~np.isnan(scores)])) if not np.isnan(scores).all() else np.nan
