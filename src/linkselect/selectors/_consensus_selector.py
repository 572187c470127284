"""A ranking that several selectors agree on."""

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

# Above this many features a member that searches takes this many steps only; the rest follow by
# their value at the last step. The measured defaults are those with these numbers.
MANY_FEATURES = 200
SEARCH_STEPS = 50
# Pairs over which the similarity member sums up, so that its cost does not grow with the samples.
DRAWN_PAIRS = 1000
# Looser than the default of SCGS: a rank needs few digits.
SCGS_TOLERANCE = 1e-2

_MEMBERS_FOR_EXAMPLE = "Write [('fisher', FisherScore()), ('relieff', ReliefF())]"


def _members_may_come_first(init: Init) -> Init:
    """Accept the positions of version 0.1, with a warning: members, weights, number of features."""

    @wraps(init)
    def in_either_order(self: Any, *args: Any, **kwargs: Any) -> None:
        if not (args and (isinstance(args[0], list) or len(args) > 2)):
            return init(self, *args, **kwargs)
        warn_user(
            "The first argument of ConsensusSelector is now n_features_to_select; members in its "
            "place will be refused from version 0.3 on.",
            FutureWarning,
            hint="Write ConsensusSelector(estimators=[...]).",
        )
        by_name = dict(zip(("estimators", "weights", "n_features_to_select"), args, strict=False))
        return init(self, **by_name, **kwargs)

    return cast(Init, in_either_order)


class ConsensusSelector(_BaseComposition, TakesGroups):
    """Rank features by the mean of the ranks that several selectors give them.

    Every member is fitted on the same samples with the same supervision. The score of a feature is
    the mean of its ranks, weighted if `weights` are given; smaller is better, ties go to the
    earlier column. Ranks fit every score, whatever its scale or direction. Members that work in
    different ways complement each other better than members that resemble each other.

    With `estimators="auto"` the members follow from what is known. From pairs:
    `SimilarityConstraintScore(mode="semi-supervised")`, `CompensatedLaplacianScore` and `SCGS`.
    From some labels: `SimilarityConstraintScore`, `ConstraintScore`, `SCGS` and `LinkSelector`,
    which alone is ahead of the consensus on average. From all labels:
    `MRMR` and `SCGS`. From nothing: `Redundancy(LaplacianScore())` and
    `SparsityScore(graph="lle")`. A default member that cannot work from what is known is left out.
    A warning names one that cannot rank the data at hand: if samples are so far apart that
    `CompensatedLaplacianScore` finds no neighbours, `ConstraintScore` takes its place, given pairs
    of both kinds; any other is left out. If none remains, `VarianceScore` ranks the features.
    The default members see a copy of X scaled to [0, 1] (sparse X: to a largest absolute value of
    1); members that are passed see X as it is. Above 200 features searches take 50 steps, and the
    other features follow by their value at the last one.

    To start with, take `LinkSelector`. From pairs the default members together were ahead of each
    single published method that sees pairs, on average over the data sets of the documentation;
    from labels or nothing they were not.

    Not if few features inform and the others vary together: two of the three default members also
    look at all samples, and a single strong feature is lost in the mean of the ranks.
    `ConstraintScore` and `LSDF` keep it. Not for a reason why a feature is chosen: the members may
    disagree on that.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    estimators : "auto" or list of (str, selector), default="auto"
        The members by name. Selectors of other libraries take part by `ranking_`, `scores_` (larger
        is better) or `get_support`, whichever they have.
    weights : array-like of shape (n_members,), optional
        How much each member counts; not negative. Default: all the same.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links join the two ends of a cannot-link: "raise" an error, or drop
        that cannot-link with ("warn") or without ("drop") a warning. For the default members.
    random_state : int, RandomState instance or None, default=None
        Determines the pairs that the default members draw.
    n_jobs : int, optional
        The number of threads of the default members. Default: as many as BLAS may use.

    Attributes
    ----------
    estimators_ : list of selector
        The fitted members that took part.
    named_estimators_ : Bunch
        The same by name.
    rankings_ : ndarray of shape (n_members, n_features)
        The rank of each feature by each member. If a member has scores but no ranking, ties
        share the mean of their ranks.

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
    # Whether tiny differences are a problem is for the members to say.
    _squares_differences = False
    _instead_of_parts = (
        "Pass members that read parts, such as estimators=[('constraint', ConstraintScore()), "
        f"('lsdf', LSDF())]; the guide to large data lists them. Or: {TAKE_ROWS}"
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
        """What the members look at beside the features: the most that one of them does."""
        if isinstance(self.estimators, str):
            return "pairs"
        seen = {describe(member).sees for _, member in self._checked_members()}
        most: tuple[Sees, ...] = ("pairs", "some labels", "labels")
        return next((kind for kind in most if kind in seen), "nothing")

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """What the members cannot work without; the default ones can do without anything."""
        if isinstance(self.estimators, str):
            return ()
        members = self._checked_members()
        needs = [need for _, member in members for need in describe(member).needs]
        return tuple(dict.fromkeys(needs))

    @property
    def works_on(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """What it works on: also on parts if all members do."""
        automatic = isinstance(self.estimators, str)
        members = [] if automatic else [member for _, member in self._checked_members()]
        on_parts = members and all(works_on(member, "parts") for member in members)
        return ("memory", "sparse", "parts") if on_parts else ("memory", "sparse")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and if `deep` those of the members.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the members and their parameters, too.
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, a member by its name, or `name__parameter` of a member.

        Parameters
        ----------
        **params
            The parameters.
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
            warn_user("No default member can rank these data; VarianceScore ranks them.")
            fitted, counts = [("variance", self._fitted(VarianceScore(), samples, known))], [1.0]
        ranks = np.array([_ranks(member, X.shape[1]) for _, member in fitted])
        # Equal means of ranks differ in the last digit if weights such as 0.1 are rounded.
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
        """Fit the first candidate for a place that can rank the data, and name those that cannot.

        What is wrong with the input itself was refused before, so a default member that refuses it
        does so for the data, and does not hold up the others.
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
                problem = "No feature has a finite score."  # its order is that of the columns
            others = [type(other).__name__ for _, other in candidates[number:]]
            outcome = f"replaced by {others[0]}" if others else "left out"
            warn_user(
                f"Member {name!r} cannot rank these data and is {outcome}. {problem}",
                hint="named_estimators_ lists the members that took part.",
            )
        return None

    def _fitted(self, member: Any, X: Any, known: Given) -> Any:
        with warnings.catch_warnings():
            # Said once, of all members together.
            warnings.simplefilter("ignore", ConstantFeaturesWarning)
            warnings.simplefilter("ignore", RoundedFeaturesWarning)
            if isinstance(self.estimators, str):  # said when they were chosen
                warnings.simplefilter("ignore", LeftOutPairsWarning)
            return clone(member).fit(X, **arguments_of(known, member))

    def _default_places(self, X: Samples, given: Given) -> list[Members]:
        """Return the candidates for each place; the first that can rank the data takes it."""
        refuse_weights(given.pairs, "ConsensusSelector with its default members")
        known = given.supervision(X.shape[0], self.on_conflict)
        steps = X.shape[1] if X.shape[1] <= MANY_FEATURES else SEARCH_STEPS
        near = min(5, X.shape[0] - 1)
        if known.unlabelled.all():
            if given.pairs is not None:
                raise GuidedValueError(
                    "ConsensusSelector was given pairs, but there is none among the samples.",
                    "Pass Pairs(must=[(0, 3)], cannot=[(0, 60)]), or for a ranking without "
                    "supervision no pairs= at all.",
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
            # On wide tables the weights of its neighbours may vanish.
            second = [("compensated_laplacian", compensated), constraint]
        places: list[Members] = [
            [("similarity_constraint", similarity)],
            second,
            [("scgs", regression)],
        ]
        if given.pairs is None:  # from pairs its mean rank with the others gains next to nothing
            # What the members see is in [0, 1]; only X tells whether it may be counts.
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
                f"estimators={members!r} is not a list of (name, selector).",
                f'{_MEMBERS_FOR_EXAMPLE}, or pass "auto".',
                "estimators",
            )
        for name, member in members:
            if isinstance(member, type) or not hasattr(member, "fit"):
                raise GuidedTypeError(
                    f"Member {name!r} is {member!r}, not a selector.",
                    f"{_MEMBERS_FOR_EXAMPLE}; to leave a member out, remove it from the list.",
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
            weights = np.empty(0)  # text, or numbers in no common shape
        usable = weights.shape == (n_members,) and np.isfinite(weights).all()
        if not usable or (weights < 0).any() or not weights.any():
            raise GuidedValueError(
                f"weights={self.weights!r} do not weigh {n_members} members.",
                f"Pass {n_members} finite numbers of which none is negative and not all are 0.",
                "weights",
            )
        # The sum of large ones would overflow; by a power of 2, so that ties stay ties.
        return np.ldexp(weights, -np.frexp(weights.max())[1])


def _ranks(fitted: Any, n_features: int) -> FloatArray:
    """Return the rank of each feature by a fitted selector; tied scores share their mean rank."""
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
            "Use a selector that ranks every feature.",
        )
    return rankdata(keys)


def _named(name: str, error: ValueError) -> Sequence[str]:
    """Put the name of a member before what it says."""
    problem = f"Member {name!r}: {getattr(error, 'problem', error)}"
    hint = getattr(error, "hint", None)
    return (problem,) if hint is None else (problem, hint)
