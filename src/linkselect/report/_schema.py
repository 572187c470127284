"""Types of the plain data that `summarize` returns and report templates display."""

import math
from typing import Any, Literal, NotRequired, TypedDict

# Increases when a key is removed or changes its meaning; new keys do not change it.
SCHEMA_VERSION = 1

# Longer lists are truncated; their full length is stored separately.
MOST_LISTED = 12
# JSON supports neither NaN nor infinity: None is a missing score, "inf" and "-inf" are infinite.
Score = float | Literal["inf", "-inf"] | None
Rule = Literal["given", "own optimum", "held-out accuracy", "half, at most 300", "half"]


def plain_text(value: Any) -> str:
    """Convert a value to text, and replace characters that cannot be encoded as UTF-8."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def plain_number(value: Any) -> Score:
    """Convert a number for JSON: NaN becomes None, and infinity becomes text."""
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


class Parameter(TypedDict):
    """A parameter of the method; `usual` is true if the parameter has its default value.

    Numbers, booleans, null and text are stored directly; other values are stored as Python code.
    """

    name: str
    value: float | bool | str | None
    usual: bool


class MethodSummary(TypedDict):
    """The class name of the selector, the first line of its docstring, and its parameters."""

    name: str
    about: str
    parameters: list[Parameter]
    greater_is_better: bool
    n_selected: int


class DataSummary(TypedDict):
    """The data on which the selector was fitted.

    `constant` contains the names of the first constant features. `n_missing` is the number of
    missing values before imputation.
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
    """The labels or pairs that the method used.

    `n_samples` is the number of samples with a label or pair, and `coverage` is their proportion.
    `must` and `cannot` are the numbers of must-links and cannot-links. If the method used labels,
    these are the pairs that the labels imply. The other keys depend on `kind`.
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
    """The features from best to worst, in columns of equal length.

    `frequency` contains selection frequencies if they were measured, and `frequency_error` their
    Monte Carlo standard errors. `p_value`, `adjusted` and `q_value` are present if p-values were
    requested. `reason` is "selected", "constant", "copy of X", "correlated with X", "below the
    cut", "excluded" or "unstable".
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
    """The criterion of a search after each added feature, with standard errors if estimated."""

    values: list[Score]
    errors: list[Score] | None
    has_optimum: bool


class ViewSummary(TypedDict):
    """2-D coordinates of samples, the pairs to draw, and the total numbers of pairs."""

    points: list[list[float]]
    labels: list[str]
    must: list[list[int]]
    cannot: list[list[int]]
    n_must: int
    n_cannot: int


class MaskSummary(TypedDict):
    """Rows of an image in which selected pixels are 1 and the others 0."""

    pixels: list[list[int]]


class EstimateSummary(TypedDict):
    """The performance of the selected features on held-out pairs or labels."""

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
    """A feature that is highly correlated with a selected feature."""

    feature: str
    correlation: float


class ValidationSummary(TypedDict):
    """The reliability of the ranking; `reason` explains a missing estimate or p-value.

    `selected` contains the names of the selected features, best first. For each of them,
    `selected_again` is the selection frequency, `together` is the frequency with which it or a
    highly correlated feature is selected, and `twins` lists highly correlated features (for the
    first 300 only). `n_resamples` is the number of resamples that could be ranked, and `n_unranked`
    is the number of the others. `pairs_left` contains the mean numbers of must-links and
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
    """The performance on held-out labels or pairs by number of features."""

    measure: Literal["1-NN accuracy", "pair AUC"]
    n_features: list[int]
    mean: list[float]
    standard_error: list[float]


class NumberSummary(TypedDict):
    """The number of selected features, the rule behind it, and a sentence that explains it."""

    n_features: int
    rule: Rule
    reason: str
    curve: CurveSummary | None


class GroupSummary(TypedDict):
    """Values of a feature in one class, or distances between the samples of one type of pair.

    `quantiles` contains the 5, 25, 50, 75 and 95 % quantiles of these values or distances.
    """

    label: str
    n: int
    quantiles: list[float]


class HistogramSummary(TypedDict):
    """Counts of values in bins of equal width from the minimum to the maximum."""

    counts: list[int]
    low: float
    high: float


class ProfileSummary(TypedDict):
    """Values of a feature by class or type of pair, or a histogram without supervision."""

    feature: str
    groups: list[GroupSummary]
    histogram: HistogramSummary | None


class ProfilesSummary(TypedDict):
    """Values of the best selected features by class or type of pair, or their histograms.

    `n_left_out` is the number of other selected features, and `n_groups_left_out` is the number of
    smaller classes that are not described.
    """

    kind: Literal["classes", "pairs", "none"]
    n_left_out: int
    n_groups_left_out: int
    features: list[ProfileSummary]


class Summary(TypedDict):
    """The content of a report on a fitted selector.

    `alarms` contains warnings about the selected features, which the report shows first.
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
