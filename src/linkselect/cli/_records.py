"""The plain data that `linkselect compare` prints and writes as JSON."""

from __future__ import annotations

from typing import TypedDict


class CurveRecord(TypedDict):
    """A measure over numbers of features: mean and standard deviation, and every split or fold."""

    n_features: list[int]
    mean: list[float]
    spread: list[float]
    values: list[list[float]]


class DifferenceRecord(TypedDict):
    """By how much one method is better on average; p-values before and after Holm's correction."""

    better: str
    worse: str
    mean: float
    p: float | None
    p_adjusted: float | None


class HeldOutRecord(TypedDict):
    """What pairs told that were held out: AUCs, of which 0.5 is chance."""

    n_must: int
    n_cannot: int
    n_folds: int
    n_repeats: int
    chance: float
    mean_auc: dict[str, float]
    standard_error: dict[str, float | None]
    all_features: float
    differences: list[DifferenceRecord]
    auc: dict[str, CurveRecord]
    stability: dict[str, float | None]
    seconds: dict[str, float]


class ComparisonRecord(TypedDict):
    """What a comparison found; what only labels or only pairs tell is null without them."""

    schema_version: int
    source: str
    classes: list[str]
    preparation: str
    call: str
    summary: list[str]
    methods: list[str]
    n_samples: int
    n_features: int
    n_splits: int | None
    test_size: float | None
    classifier: str | None
    mean_accuracy: dict[str, float] | None
    all_features: float | None
    differences: list[DifferenceRecord] | None
    accuracy: dict[str, CurveRecord] | None
    held_out_pairs: HeldOutRecord | None
    top: int
    spearman: list[list[float | None]]
    overlap: list[list[float | None]]
    stability: dict[str, float | None]
    seconds: dict[str, float]
    saw: dict[str, str]
    rankings: dict[str, list[str]]
    notes: list[str]
