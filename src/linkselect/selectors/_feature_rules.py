"""What a user demands of features: keep some, exclude some, take groups whole, no copies."""

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
    """Select features by another selector, and by rules: keep, exclude, group, drop copies.

    Kept features are selected first and count in the number of features. Searches start from them:
    `LinkSelector`, `MRMR`, `FCBF`, `TraceRatio`, `SimilarityConstraintScore`, `NearestNeighborSFS`
    and `Redundancy` choose what adds most to them. Every other method ranks as it does without
    them; the others keep their order. Excluded features are removed before the estimator sees X.

    A group is selected as a whole or not at all, and counts by its columns. Its score is the mean
    of its members' scores; in a search it stands where its first member stands. A group that no
    longer fits is passed over, so that fewer features than wanted may be selected.

    Not for X that is stored in parts or on a device. Near copies are found by correlation over all
    rows, so one outlier that two features share can make them copies.

    Parameters
    ----------
    estimator : selector
        The selector that ranks the features; it stays as it is.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or as many as the estimator keeps.
    keep : array-like, optional
        Names, indices or a mask of features that are always selected, in this order. A kept member
        of a group keeps the whole group.
    exclude : array-like, optional
        Names, indices or a mask of features that take no part.
    groups : list or dict, optional
        Lists of names or indices, or patterns such as `"temp_*"`, as a list or by name.
    copies : {"all", "one"}, default="all"
        "one": of features that correlate by 0.999 or more, with either sign, over ten or more
        samples, only the first in the order is selected, and the next ones take the places of the
        others; after a search these are in the order of their value at the last step. Kept features
        and members of groups are not dropped one by one.

    Attributes
    ----------
    estimator_ : selector
        The estimator, fitted without the excluded features.
    scores_ : ndarray of shape (n_features,)
        The estimator's own scores, the mean in a group; NaN for excluded features.
    order_ : ndarray of shape (n_features,)
        The selected features, the other ones, copies, and last excluded ones.
    copy_of_ : ndarray of shape (n_features,)
        The selected feature of which each is a copy; -1 for none, and with `copies="all"`.
    reasons_ : ndarray of shape (n_features,)
        Why each feature is selected or not: "selected", "excluded", "constant", "copy of NAME" or
        "below the cut".

    See Also
    --------
    Redundancy : Weigh the correlation with features that are chosen already.

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
        """Whether a larger value of `scores_` is better: what the wrapped selector says."""
        return describe(self.estimator).greater_is_better

    @property
    def searches(self) -> bool:  # type: ignore[override]
        """Whether the wrapped selector searches for a subset."""
        return describe(self.estimator).searches

    @property
    def own_number(self) -> str:  # type: ignore[override]
        """What "auto" keeps, if the wrapped selector has a rule of its own."""
        return getattr(self.estimator, "own_number", "")

    @property
    def _keeps_own_number(self) -> bool:  # type: ignore[override]
        return getattr(self.estimator, "_keeps_own_number", False)

    @property
    def uses_weights(self) -> bool:  # type: ignore[override]
        """Whether the wrapped selector uses weights of pairs."""
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
                f"No group fits: {many(wanted, 'feature')} may be selected, but the smallest "
                f"group has {least}.",
                f"Pass n_features_to_select={least} or more, or smaller groups.",
                "n_features_to_select",
            )
        return self._ranking(walk, scores, excluded, constant, shown, inner)

    def _check_rules(self, kept: IntArray, excluded: BoolArray, shown: NDArray[Any]) -> None:
        if excluded[kept].any():
            raise GuidedValueError(
                f"Feature {str(shown[kept[excluded[kept]][0]])!r} is both kept and excluded.",
                "Take it out of keep or of exclude.",
                "exclude",
            )
        if excluded.all():
            raise GuidedValueError(
                "exclude leaves no feature.", "Exclude fewer features.", "exclude"
            )

    def _wanted(self, n_features: int, n_left: int, n_kept: int) -> int | None:
        """Return how many features to select; None: what the estimator decides."""
        number = self.n_features_to_select
        if number == "auto":
            return None
        wanted = count_features(number, n_features)
        if isinstance(number, int | np.integer) and wanted > n_left:
            raise GuidedValueError(
                f"n_features_to_select={wanted}, but only {many(n_left, 'feature')} are left "
                "without the excluded ones.",
                f"Choose 1 to {n_left}, or exclude fewer.",
                "n_features_to_select",
            )
        if n_kept > wanted:
            raise GuidedValueError(
                f"{many(n_kept, 'feature')} are kept, with their groups, but "
                f"n_features_to_select={number!r} allows {wanted}.",
                f"Pass n_features_to_select={n_kept} or more, or keep fewer.",
                "n_features_to_select",
            )
        return min(wanted, n_left)

    def _fitted(
        self, X: Samples, known: Given, kept: IntArray, excluded: BoolArray, wanted: int | None
    ) -> tuple[Any, FloatArray, IntArray]:
        """Fit the estimator without the excluded features; return scores and order of all."""
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
        vars(inner).pop("_first", None)  # fitted again, it is the estimator as it was
        scores = np.full(X.shape[1], np.nan)
        scores[left] = inner.scores_
        return inner, scores, left[inner.order_]

    def _units_in_order(
        self, unit_of: dict[int, IntArray], scores: FloatArray, order: IntArray
    ) -> list[IntArray]:
        """Order groups and single features, each once."""
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
        """Take units in order while they fit and are no copies of what is taken."""
        copy_of = np.full(n_features, -1, dtype=np.intp)
        held = {id(unit) for unit in kept}
        waiting = [*kept, *(unit for unit in units if id(unit) not in held)]
        taken: list[IntArray] = []
        left: list[IntArray] = []
        room = wanted
        while waiting and room:
            # As many at once as may be taken, so that X is read a few times only.
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
        """Find the copies of every feature of some units."""
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
            # Copies come after all others that vary.
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
    """Return the units of features, each once, where its first member stands."""
    return list({id(unit_of[one]): unit_of[one] for one in features.tolist()}.values())


def _mean(scores: FloatArray) -> float:
    """Return the mean of what is not missing."""
    return float(np.mean(scores[~np.isnan(scores)])) if not np.isnan(scores).all() else np.nan
