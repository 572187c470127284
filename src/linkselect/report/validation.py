"""How far to trust a ranking, with names instead of numbers, and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkselect.messages import many
from linkselect.report.schema import EstimateSummary, ValidationSummary

if TYPE_CHECKING:
    from linkselect.evaluation import Validation

__all__ = ["again_lines", "describe_validation", "twin_lines", "validation_lines", "warning_of"]

MOST_NAMED = 3
HELD_OUT = {"pair AUC": "pairs", "1-NN accuracy": "labels"}


def describe_validation(found: Validation, names: Sequence[str]) -> ValidationSummary:
    """Turn a validation into plain data that names features."""
    plain = found.to_dict()
    plain["selected"] = [names[feature] for feature in found.selected]
    plain["twins"] = [
        [
            {"feature": names[twin.feature], "correlation": round(twin.correlation, 4)}
            for twin in twins
        ]
        for twins in found.twins
    ]
    summary: ValidationSummary = plain  # type: ignore[assignment]
    return summary


def warning_of(found: ValidationSummary) -> str | None:
    """Say that a ranking is not shown to be better than chance, if it is not."""
    estimate = found["estimate"]
    if estimate is None or found["better_than_chance"]:
        return None
    held_out = HELD_OUT[estimate["measure"]]
    return (
        f"On held-out {held_out} the ranking is not shown to be better than chance: "
        f"{_measured(estimate)}, chance {estimate['chance']:.2f}. Do not trust it without more "
        f"{held_out}; another method may do better."
    )


def validation_lines(found: ValidationSummary) -> list[str]:
    """Say in one short line each what was found on held-out supervision, resamples and twins."""
    lines = []
    estimate = found["estimate"]
    if estimate is not None:
        lines.append(
            f"Held-out {HELD_OUT[estimate['measure']]}: {_measured(estimate)} (chance "
            f"{estimate['chance']:.2f}, random features {estimate['random_features']:.2f}, all "
            f"features {estimate['all_features']:.2f})."
        )
    elif found["reason"]:
        lines.append(f"No estimate beside chance: {found['reason']}")
    return [*lines, *again_lines(found), *twin_lines(found)]


def _measured(estimate: EstimateSummary) -> str:
    measure = estimate["measure"].removeprefix("pair ")
    return f"{measure} {estimate['value']:.2f} +- {estimate['standard_error']:.2f}"


def again_lines(found: ValidationSummary) -> list[str]:
    """Say how often the selected features are selected again, if that is known."""
    shares = found["selected_again"]
    if not shares:
        return []
    places = sorted(range(len(shares)), key=lambda place: (shares[place], place))[:MOST_NAMED]
    unsure = [
        f"{found['selected'][place]} ({shares[place]:.2f})" for place in places if shares[place] < 1
    ]
    line = (
        f"Selected again in {many(found['n_resamples'], 'resample')}: "
        f"{sum(shares) / len(shares):.2f} on average"
    )
    return [f"{line}; least sure: {', '.join(unsure)}." if unsure else f"{line}."]


def twin_lines(found: ValidationSummary) -> list[str]:
    """Name the best selected features with a twin; two that are twins of each other once."""
    listed: dict[frozenset[str], str] = {}
    for name, others in zip(found["selected"], found["twins"], strict=False):
        for other in others[:1]:
            text = f"{name} ~ {other['feature']} ({other['correlation']:.2f})"
            listed.setdefault(frozenset((name, other["feature"])), text)
    if not listed:
        return []
    more = len(listed) - MOST_NAMED
    named = ", ".join([*listed.values()][:MOST_NAMED])
    return [f"Says the same as: {named}{f', and {more:,} more' if more > 0 else ''}."]
