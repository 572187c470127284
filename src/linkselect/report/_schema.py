"""The plain data of a report: what `summarize` returns, and `render` and the templates read."""

import math
from typing import Any, Literal, NotRequired, TypedDict

# Grows by one when a key changes its meaning or goes; new keys may come at any time.
SCHEMA_VERSION = 1

# Longer lists are cut; their length is said.
MOST_LISTED = 12
# JSON holds neither NaN nor infinity: None is no score, "inf" and "-inf" are infinite ones.
Score = float | Literal["inf", "-inf"] | None
Rule = Literal["given", "own optimum", "held-out accuracy", "half, at most 300", "half"]


def plain_text(value: Any) -> str:
    """Return text that every encoding of Unicode can hold."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def plain_number(value: Any) -> Score:
    """Return a number that JSON can hold: None for no value, text for an infinite one."""
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


class Parameter(TypedDict):
    """One parameter of the method; `usual` if it has its default.

    The value is a number, a truth value, null or text; anything else is written as in Python.
    """

    name: str
    value: float | bool | str | None
    usual: bool


class MethodSummary(TypedDict):
    """The selector: its class, the first line of its documentation, and its parameters."""

    name: str
    about: str
    parameters: list[Parameter]
    greater_is_better: bool
    n_selected: int


class DataSummary(TypedDict):
    """The data as the selector got them; `constant` names the first of the constant features.

    Only `n_missing` counts in the data before missing values were filled.
    """

    n_samples: int
    n_features: int
    kind: str
    named: bool
    preparation: str | None
    n_missing: int
    n_constant: int
    constant: list[str]


class ClassSize(TypedDict):
    """A class and its number of samples."""

    label: str
    count: int


class SupervisionSummary(TypedDict):
    """What the method used of labels and pairs.

    `n_samples` have a label or a pair, which is the share `coverage`. `must` and `cannot` count
    pairs, or the pairs that labels imply. The rest depends on the kind.
    """

    kind: Literal["none", "labels", "partial labels", "pairs"]
    n_samples: int
    coverage: float
    must: NotRequired[int]
    cannot: NotRequired[int]
    # labels
    n_classes: NotRequired[int]
    classes: NotRequired[list[ClassSize]]
    # pairs
    lost: NotRequired[int]
    n_groups: NotRequired[int]
    largest_group: NotRequired[int]
    n_conflicts: NotRequired[int]
    conflicts: NotRequired[list[str]]


class RankingSummary(TypedDict):
    """The features, best first, in columns of one length.

    `frequency` has selection frequencies if they were measured, with `frequency_error`, their Monte
    Carlo standard errors; `p_value`, `adjusted` and `q_value` are there if they were asked for.
    `reason` is "selected", "constant", "copy of X", "correlated with X", "below the cut",
    "excluded" or "unstable".
    """

    feature: list[str]
    score: list[Score]
    rank: list[int]
    selected: list[bool]
    frequency: NotRequired[list[float]]
    frequency_error: NotRequired[list[float]]
    p_value: NotRequired[list[float]]
    adjusted: NotRequired[list[float]]
    q_value: NotRequired[list[float]]
    reason: list[str]


class PathSummary(TypedDict):
    """The criterion after each added feature, with its standard errors if it is an estimate."""

    values: list[Score]
    errors: list[Score] | None
    has_optimum: bool


class ViewSummary(TypedDict):
    """Some samples in the plane and some pairs between them; `n_must` and `n_cannot` count all."""

    points: list[list[float]]
    labels: list[str]
    must: list[list[int]]
    cannot: list[list[int]]
    n_must: int
    n_cannot: int


class MaskSummary(TypedDict):
    """Rows of pixels: 1 if selected, else 0."""

    pixels: list[list[int]]


class EstimateSummary(TypedDict):
    """How well the selected number of features does on held-out pairs or labels."""

    measure: Literal["pair AUC", "1-NN accuracy"]
    value: float
    standard_error: float
    chance: float
    all_features: float
    random_features: float
    n_folds: int
    n_repeats: int
    n_held_out: int
    contrast: Literal["cannot-links", "random pairs"] | None


class TwinSummary(TypedDict):
    """Another feature that is highly correlated with a selected one."""

    feature: str
    correlation: float


class ValidationSummary(TypedDict):
    """How far the ranking can be trusted; `reason` says why there is no estimate or no p-value.

    `selected` names the selected features, best first. For each of them `selected_again` has the
    share of resamples in which it is selected, `together` the share in which it or one that is
    highly correlated with it is, and for the first 300 `twins` has those. `n_resamples` could be
    ranked and `n_unranked` could not; `pairs_left` has the mean numbers of must-links and
    cannot-links in a resample.
    """

    better_than_chance: bool | None
    better_than_random: bool | None
    p_value: float | None
    p_random: float | None
    estimate: EstimateSummary | None
    reason: str | None
    n_resamples: int
    n_unranked: int
    pairs_left: list[float] | None
    selected: list[str]
    selected_again: list[float]
    together: list[float]
    twins: list[list[TwinSummary]]


class CurveSummary(TypedDict):
    """How well the best features do on held-out labels or pairs, over their number."""

    measure: Literal["1-NN accuracy", "pair AUC"]
    n_features: list[int]
    mean: list[float]
    standard_error: list[float]


class NumberSummary(TypedDict):
    """How many features are selected, by which rule, and the reason in a sentence."""

    n_features: int
    rule: Rule
    reason: str
    curve: CurveSummary | None


class GroupSummary(TypedDict):
    """The values of one group of samples, or the distances of one kind of pairs, in a feature.

    `quantiles` are those of 5, 25, 50, 75 and 95 %.
    """

    label: str
    n: int
    quantiles: list[float]


class HistogramSummary(TypedDict):
    """How many values there are in equal steps from the lowest to the highest."""

    counts: list[int]
    low: float
    high: float


class ProfileSummary(TypedDict):
    """One feature: its groups, or a histogram if there are none."""

    feature: str
    groups: list[GroupSummary]
    histogram: HistogramSummary | None


class ProfilesSummary(TypedDict):
    """The best selected features, by class, between pairs, or as they are.

    `n_left_out` counts further selected features, `n_groups_left_out` smaller classes.
    """

    kind: Literal["classes", "pairs", "none"]
    n_left_out: int
    n_groups_left_out: int
    features: list[ProfileSummary]


class Summary(TypedDict):
    """What a report says about a fitted selector.

    `alarms` say what speaks against the selected features; they stand before everything else.
    """

    schema_version: int
    source: str | None
    call: str
    version: dict[str, str]
    method: MethodSummary
    data: DataSummary
    supervision: SupervisionSummary
    ranking: RankingSummary
    path: PathSummary | None
    view: ViewSummary | None
    mask: MaskSummary | None
    validation: ValidationSummary | None
    number_of_features: NumberSummary
    profiles: ProfilesSummary | None
    alarms: list[str]
    notes: list[str]
    warnings: list[str]
    seconds: float | None
