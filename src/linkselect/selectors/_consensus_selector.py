"""Combination of the rankings of several selectors."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import _BaseComposition

from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import (
    ConstantFeaturesWarning,
    GuidedTypeError,
    GuidedValueError,
    LeftOutPairsWarning,
    RoundedFeaturesWarning,
    many,
    warn_user,
)
from linkselect._samples import Samples
from linkselect._samples.checks import Given, works_on
from linkselect._samples.parts import TAKE_ROWS
from linkselect._samples.samples import Kind
from linkselect._samples.scaling import Scale
from linkselect._samples.unit_scaling import scaled_to_one
from linkselect._supervision import OnConflict, refuse_weights
from linkselect.selectors._compensated_laplacian_score import CompensatedLaplacianScore
from linkselect.selectors._constraint_score import ConstraintScore
from linkselect.selectors._laplacian_score import LaplacianScore
from linkselect.selectors._link_selector import LinkSelector
from linkselect.selectors._method import Need, Sees, describe, missing_needs, uses_groups
from linkselect.selectors._mrmr import MRMR
from linkselect.selectors._parameters import ON_CONFLICT
from linkselect.selectors._ranking import Ranking, with_equal_ties
from linkselect.selectors._redundancy import Redundancy
from linkselect.selectors._scgs import SCGS
from linkselect.selectors._selector import RankingSelector, Track
from linkselect.selectors._similarity_constraint_score import SimilarityConstraintScore
from linkselect.selectors._sparsity_score import SparsityScore
from linkselect.selectors._variance_score import VarianceScore
from linkselect.selectors._wrapper import TakesGroups, arguments_of, read_once

Members = list[tuple[str, Any]]
Init = TypeVar("Init", bound=Callable[..., None])

# With more than MANY_FEATURES features, members that search take only SEARCH_STEPS steps and order
# the other features by their value at the last step. The published benchmarks used these numbers.
MANY_FEATURES = 200
SEARCH_STEPS = 50
# Number of pairs that the similarity member draws, so that its cost does not grow with n_samples.
DRAWN_PAIRS = 1000
# Looser than the default of SCGS, because ranks need little precision.
SCGS_TOLERANCE = 1e-2

_MEMBERS_FOR_EXAMPLE = "Write [('fisher', FisherScore()), ('relieff', ReliefF())]"


def _members_may_come_first(init: Init) -> Init:
    """Accept positional arguments as ordered in version 0.1 (members first), with a warning."""

    @wraps(init)
    def in_either_order(self: Any, *args: Any, **kwargs: Any) -> None:
        if not (args and (isinstance(args[0], list) or len(args) > 2)):
            return init(self, *args, **kwargs)
        warn_user(
            "The first argument of ConsensusSelector is now n_features_to_select. Passing members "
            "as the first argument will raise an error from version 0.3 onwards.",
            FutureWarning,
            hint="Write ConsensusSelector(estimators=[...]).",
        )
        by_name = dict(zip(("estimators", "weights", "n_features_to_select"), args, strict=False))
        return init(self, **by_name, **kwargs)

    return cast(Init, in_either_order)


class ConsensusSelector(_BaseComposition, TakesGroups):
    """Rank features by their mean rank over several selectors.

    Every member is fitted on the same samples with the same supervision. The score of a feature is
    its mean rank over the members, weighted if `weights` are given; smaller is better. Ties go to
    the earlier column. Ranks make scores of any scale or direction comparable. Members that work
    in different ways complement each other better than similar ones.

    With `estimators="auto"`, the members depend on the supervision:

    - pairs: `SimilarityConstraintScore(mode="semi-supervised")`, `CompensatedLaplacianScore` and
      `SCGS`,
    - labels of some samples: `SimilarityConstraintScore`, `ConstraintScore`, `SCGS` and
      `LinkSelector`, which on its own is better than the consensus on average,
    - labels of all samples: `MRMR` and `SCGS`,
    - none: `Redundancy(LaplacianScore())` and `SparsityScore(graph="lle")`.

    Default members that need more supervision than is given are left out. A warning names a
    default member that cannot rank the data at hand. If samples are too far apart for
    `CompensatedLaplacianScore` to find neighbours, `ConstraintScore` replaces it, provided that
    there are must-links and cannot-links; any other member is left out. If no member remains,
    `VarianceScore` ranks the features.

    The default members are fitted on a copy of X scaled to [0, 1] (sparse X: to a largest absolute
    value of 1); members that you pass are fitted on X itself. With more than 200 features, searches
    take 50 steps and order the other features by their value at the last step.

    Try `LinkSelector` first. From pairs, the default members together were better than each single
    published method that uses pairs, on average over the data sets of the documentation. From
    labels or without supervision, they were not.

    Not suitable if few features are informative and the others vary together: two of the three
    default members also use all samples, and a single strong feature is lost in the mean rank.
    `ConstraintScore` and `LSDF` keep it. Not suitable for explaining why a feature is selected,
    since the members may disagree.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    estimators : "auto" or list of (str, selector), default="auto"
        Names and selectors of the members; "auto" chooses default members. The ranking of a
        selector of another library is taken from `ranking_`, `scores_` (larger is better) or
        `get_support`, whichever is available first.
    weights : array-like of shape (n_members,), optional
        Non-negative weight of each member. Default: equal weights.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action of the default members if must-links connect the two samples of a cannot-link:
        "raise" raises an error, "warn" drops the cannot-link with a warning, and "drop" drops it
        without a warning.
    random_state : int, RandomState instance or None, default=None
        Controls the random draw of pairs by the default members. Pass an int for reproducible
        results.
    n_jobs : int, optional
        Number of threads used by the default members; -1 uses all CPU cores. Default: the number of
        BLAS threads.

    Attributes
    ----------
    estimators_ : list of selector
        The fitted members that contributed to the ranking.
    named_estimators_ : Bunch
        The fitted members by name.
    rankings_ : ndarray of shape (n_members, n_features)
        Rank of each feature according to each member. If a member has scores but no ranking, tied
        features share their mean rank.

    See Also
    --------
    StableSelector : One selector on resamples of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConsensusSelector, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ConsensusSelector(random_state=0).fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    _seconds = 6.0
    references = ("dwork2001",)
    # The members check themselves whether features vary too little to be squared.
    _squares_differences = False
    _instead_of_parts = (
        "Pass members that read stored data part by part, such as estimators=[('constraint', "
        "ConstraintScore()), ('lsdf', LSDF())]; see the guide to large data for a list. "
        f"Alternative: {TAKE_ROWS}"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "estimators": [StrOptions({"auto"}), list],
        "weights": ["array-like", None],
        "on_conflict": ON_CONFLICT,
        "random_state": ["random_state"],
    }

    @_members_may_come_first
    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        estimators: Literal["auto"] | Members = "auto",
        *,
        weights: ArrayLike | None = None,
        on_conflict: OnConflict = "raise",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.estimators = estimators
        self.weights = weights
        self.on_conflict = on_conflict
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def sees(self) -> Sees:  # type: ignore[override]
        """Most general kind of supervision that any member uses."""
        if isinstance(self.estimators, str):
            return "pairs"
        seen = {describe(member).sees for _, member in self._checked_members()}
        most: tuple[Sees, ...] = ("pairs", "some labels", "labels")
        return next((kind for kind in most if kind in seen), "nothing")

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """Supervision that is required by the members; none for the default members."""
        if isinstance(self.estimators, str):
            return ()
        members = self._checked_members()
        needs = [need for _, member in members for need in describe(member).needs]
        return tuple(dict.fromkeys(needs))

    @property
    def works_on(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """Kinds of samples that are supported; stored parts only if all members support them."""
        automatic = isinstance(self.estimators, str)
        members = [] if automatic else [member for _, member in self._checked_members()]
        on_parts = members and all(works_on(member, "parts") for member in members)
        return ("memory", "sparse", "parts") if on_parts else ("memory", "sparse")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the selector and, if `deep` is true, of its members.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members and their parameters.
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, replace members by name, or set their parameters (`name__parameter`).

        Parameters
        ----------
        **params
            Names and values of the parameters.
        """
        self._set_params("estimators", **params)
        return self

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return 4 if isinstance(self.estimators, str) else len(self.estimators)

    @property
    def _uses_groups(self) -> bool:
        members = () if isinstance(self.estimators, str) else self.estimators
        return any(uses_groups(member) for _, member in members)

    def _know(self, given: Given, n_samples: int) -> Given:
        return read_once(self._with_groups(given, n_samples), n_samples)

    def _rank(self, X: Samples, known: Given, constant: BoolArray, track: Track[Any]) -> Ranking:
        automatic = isinstance(self.estimators, str)
        own = [] if automatic else self._checked_members()
        places = self._default_places(X, known) if automatic else [[one] for one in own]
        weights = self._checked_weights(len(places))
        # The default members expect features in [0, 1].
        samples = scaled_to_one(X.values) if automatic else X.values
        fitted, counts = [], []
        for candidates, weight in track(list(zip(places, weights, strict=True))):
            if (found := self._first_able(candidates, samples, known, ~constant)) is not None:
                fitted.append(found)
                counts.append(weight)
        if automatic and not any(counts):
            warn_user("No default member can rank these data, so VarianceScore is used.")
            fitted, counts = [("variance", self._fitted(VarianceScore(), samples, known))], [1.0]
        ranks = np.array([_ranks(member, X.shape[1]) for _, member in fitted])
        # Rounded weights such as 0.1 would make equal mean ranks differ in the last digit.
        scores = with_equal_ties(np.average(ranks, axis=0, weights=counts))
        return self._by_score(
            X,
            scores,
            constant,
            {
                "estimators_": [member for _, member in fitted],
                "named_estimators_": Bunch(**dict(fitted)),
                "rankings_": ranks,
            },
        )

    def _first_able(
        self, candidates: Members, X: Any, known: Given, varies: BoolArray
    ) -> tuple[str, Any] | None:
        """Fit the first candidate that can rank the data, and warn about those that cannot.

        Invalid input has already been rejected. An error raised by a default member therefore means
        that the method is not suitable for the data, and the other members are still fitted.
        """
        automatic = isinstance(self.estimators, str)
        for number, (name, member) in enumerate(candidates, start=1):
            try:
                fitted = self._fitted(member, X, known)
            except ValueError as error:
                if not automatic:
                    raise type(error)(*_named(name, error)) from error
                problem = getattr(error, "problem", error)
            else:
                if not (automatic and varies.any()) or np.isfinite(fitted.scores_[varies]).any():
                    return name, fitted
                problem = "No feature has a finite score."  # it would rank by column number
            others = [type(other).__name__ for _, other in candidates[number:]]
            outcome = f"replaced by {others[0]}" if others else "left out"
            warn_user(
                f"Member {name!r} cannot rank these data and is {outcome}. {problem}",
                hint="The members that contributed to the ranking are listed in named_estimators_.",
            )
        return None

    def _fitted(self, member: Any, X: Any, known: Given) -> Any:
        with warnings.catch_warnings():
            # Reported once for all members together.
            warnings.simplefilter("ignore", ConstantFeaturesWarning)
            warnings.simplefilter("ignore", RoundedFeaturesWarning)
            if isinstance(self.estimators, str):  # reported when they were chosen
                warnings.simplefilter("ignore", LeftOutPairsWarning)
            return clone(member).fit(X, **arguments_of(known, member))

    def _default_places(self, X: Samples, given: Given) -> list[Members]:
        """Return the candidates for each default member, in order of preference."""
        refuse_weights(given.pairs, "ConsensusSelector with its default members")
        known = given.supervision(X.shape[0], self.on_conflict)
        steps = X.shape[1] if X.shape[1] <= MANY_FEATURES else SEARCH_STEPS
        near = min(5, X.shape[0] - 1)
        if known.unlabelled.all():
            if given.pairs is not None:
                raise GuidedValueError(
                    "Pairs were passed to ConsensusSelector, but no pair has both samples in X.",
                    "Pass pairs such as Pairs(must=[(0, 3)], cannot=[(0, 60)]), or omit pairs to "
                    "rank without supervision.",
                    "pairs",
                )
            return [
                [("laplacian", Redundancy(LaplacianScore(n_neighbors=near), steps))],
                [("sparsity", SparsityScore(graph="lle", n_neighbors=near))],
            ]
        options: dict[str, Any] = {"on_conflict": self.on_conflict, "n_jobs": self.n_jobs}
        regression = SCGS(tol=SCGS_TOLERANCE, n_neighbors=near, **options)
        if given.pairs is None and not known.unlabelled.any():
            return [[("mrmr", MRMR(steps))], [("scgs", regression)]]
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        similarity = SimilarityConstraintScore(
            steps, max_pairs=DRAWN_PAIRS, random_state=seed, **options
        )
        constraint = ("constraint", ConstraintScore(**options))
        if given.pairs is None:
            second = [constraint]
        else:
            similarity.set_params(mode="semi-supervised")
            compensated = CompensatedLaplacianScore(n_neighbors=near, **options)
            # With many features, the weights of all its neighbours may vanish.
            second = [("compensated_laplacian", compensated), constraint]
        places: list[Members] = [
            [("similarity_constraint", similarity)],
            second,
            [("scgs", regression)],
        ]
        if given.pairs is None:  # from pairs, LinkSelector hardly improves the consensus
            # Members see values in [0, 1]; only the original X shows whether it may contain counts.
            scale: Scale = "range" if (X.extremes()[0] < 0).any() else "auto"
            places.append([("link_selector", LinkSelector(steps, scale=scale, **options))])
        able = (
            [one for one in place if not missing_needs(describe(one[1]).needs, known)]
            for place in places
        )
        return [place for place in able if place]

    def _checked_members(self) -> Members:
        members: Any = self.estimators
        named = isinstance(members, list) and all(
            isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str)
            for one in members
        )
        if not members or not named:
            raise GuidedValueError(
                f"estimators={members!r} is not a list of (name, selector) tuples.",
                f'{_MEMBERS_FOR_EXAMPLE}, or pass "auto".',
                "estimators",
            )
        for name, member in members:
            if isinstance(member, type) or not hasattr(member, "fit"):
                raise GuidedTypeError(
                    f"Member {name!r} is {member!r}, not a selector.",
                    f"{_MEMBERS_FOR_EXAMPLE}; to omit a member, remove it from the list.",
                    "estimators",
                )
        self._validate_names([name for name, _ in members])
        return [(name, member) for name, member in members]

    def _checked_weights(self, n_members: int) -> FloatArray:
        if self.weights is None:
            return np.ones(n_members)
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)  # text, or a ragged list
        usable = weights.shape == (n_members,) and np.isfinite(weights).all()
        if not usable or (weights < 0).any() or not weights.any():
            raise GuidedValueError(
                f"weights={self.weights!r} are not valid weights for {many(n_members, 'member')}.",
                "Pass finite, non-negative numbers, one per member and not all of them 0.",
                "weights",
            )
        # Large weights would overflow in a sum. Scaling by a power of 2 keeps ties exact.
        return np.ldexp(weights, -np.frexp(weights.max())[1])


def _ranks(fitted: Any, n_features: int) -> FloatArray:
    """Return the rank of each feature in a fitted selector; tied features share their mean rank."""
    if hasattr(fitted, "ranking_"):
        keys = np.asarray(fitted.ranking_, dtype=np.float64)
    elif hasattr(fitted, "scores_"):
        scores = np.asarray(fitted.scores_, dtype=np.float64)
        keys = np.where(np.isnan(scores), np.inf, -scores)
    else:
        keys = 1.0 - np.asarray(fitted.get_support(), dtype=np.float64)
    if keys.shape != (n_features,):
        raise GuidedValueError(
            f"{type(fitted).__name__} ranks {keys.size} features, but X has {n_features}.",
            "Use a selector that ranks all features.",
        )
    return rankdata(keys)


def _named(name: str, error: ValueError) -> Sequence[str]:
    """Prefix the message of an error with the name of the member that raised it."""
    problem = f"Member {name!r}: {getattr(error, 'problem', error)}"
    hint = getattr(error, "hint", None)
    return (problem,) if hint is None else (problem, hint)
