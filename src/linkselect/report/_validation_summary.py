"""How far a ranking can be trusted, with names instead of numbers, and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkselect._messages import many
from linkselect.evaluation._significance import p_text
from linkselect.report._schema import EstimateSummary, Summary, ValidationSummary

if TYPE_CHECKING:
    from linkselect.evaluation import Validation

MOST_NAMED = 3
# Usual levels for all features together.
LEVEL, FALSE_SHARE = 0.05, 0.1
# Agreement beyond chance below this is called poor (Fleiss; Nogueira, Sechidis & Brown 2018).
POOR_AGREEMENT = 0.4


def describe_validation(found: Validation | None, names: Sequence[str]) -> ValidationSummary | None:
    """Turn a validation, if there is one, into plain data that names features."""
    if found is None:
        return None
    plain = found.to_dict()
    del plain["frequencies"]  # the ranking has them
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


def alarms(found: ValidationSummary | None, n_features: int) -> list[str]:
    """Say what speaks against the selected features, in plain words; empty if nothing does."""
    if found is None:
        return []
    lines = _instability(found, n_features)
    estimate = found["estimate"]
    if estimate is not None:
        held_out = _held_out(estimate)
        if found["better_than_chance"] is False:
            lines.append(
                f"The selected features are not shown to agree with the {held_out} better than "
                f"chance: {_measured(estimate)}, chance {estimate['chance']:.2f}."
            )
        others = {
            "as many random features": estimate["random_features"],
            f"all {n_features:,} features": estimate["all_features"],
        }
        best = round(estimate["value"], 2)
        ahead = [f"{name} ({one:.2f})" for name, one in others.items() if round(one, 2) > best]
        if ahead:
            lines.append(
                f"On held-out {held_out}, {' and '.join(ahead)} do better than the selected ones "
                f"({estimate['value']:.2f})."
            )
    return lines


def _instability(found: ValidationSummary, n_features: int) -> list[str]:
    """Warn if other halves of the data would select other features."""
    shares = found.get("together") or found["selected_again"]
    if not shares or len(shares) == n_features:
        return []
    resamples = f"{many(found['n_resamples'], 'resample')} of half the samples"
    mean, chance = sum(shares) / len(shares), len(shares) / n_features
    if mean - chance < POOR_AGREEMENT * (1 - chance):
        return [
            f"The selection is unstable: on {resamples}, a selected feature or one highly "
            f"correlated with it is selected in {100 * mean:.0f} % of them on average; chance "
            f"gives {100 * chance:.2g} %."
        ]
    if shares[0] == 0:
        return [
            f"The best feature, {found['selected'][0]}, was selected in none of {resamples}, nor "
            "was one highly correlated with it."
        ]
    return []


def validation_lines(found: ValidationSummary) -> list[str]:
    """Say in short lines how the features do on held-out supervision, and how stable they are."""
    lines = []
    estimate = found["estimate"]
    if estimate is not None:
        beside = " against random pairs" if estimate.get("contrast") == "random pairs" else ""
        lines.append(
            f"Held-out {_held_out(estimate)}{beside}: {_measured(estimate)} (chance "
            f"{estimate['chance']:.2f}, random features {estimate['random_features']:.2f}, all "
            f"features {estimate['all_features']:.2f})."
        )
        lines += claim_lines(found)
    if found["reason"]:
        lines.append(found["reason"])
    return [*lines, *again_lines(found), *twin_lines(found)]


def claim_lines(found: ValidationSummary) -> list[str]:
    """Say whether the features are better than chance, and than random ones."""
    named = [
        ("better than chance", found["better_than_chance"], found.get("p_value")),
        (
            "better than as many random features",
            found.get("better_than_random"),
            found.get("p_random"),
        ),
    ]
    texts = [
        f"{'' if holds else 'not shown to be '}{name} (p {p_text(p)})"
        for name, holds, p in named
        if p is not None
    ]
    if not texts:
        return []
    text = "; ".join(texts)
    return [f"{text[0].upper()}{text[1:]}."]


def significance_lines(summary: Summary) -> list[str]:
    """Say how many features are significant, if that was tested."""
    ranking = summary["ranking"]
    if "adjusted" not in ranking:
        return []
    n_sure = sum(p <= LEVEL for p in ranking["adjusted"])
    n_found = sum(q <= FALSE_SHARE for q in ranking["q_value"])
    n_all = len(ranking["feature"])
    return [
        f"Significant: {n_sure:,} of {n_all:,} features at a family-wise error of "
        f"{100 * LEVEL:g} %, {n_found:,} at a false discovery rate of {100 * FALSE_SHARE:g} %."
    ]


def _held_out(estimate: EstimateSummary) -> str:
    if estimate["measure"] == "1-NN accuracy":
        return "labels"
    return "must-links" if estimate.get("contrast") == "random pairs" else "pairs"


def _measured(estimate: EstimateSummary) -> str:
    measure = estimate["measure"].removeprefix("pair ")
    return f"{measure} {estimate['value']:.2f}, give or take {2 * estimate['standard_error']:.2f}"


def again_lines(found: ValidationSummary) -> list[str]:
    """Say how often the selected features are selected again, if that is known."""
    shares = found["selected_again"]
    if not shares:
        return []
    places = sorted(range(len(shares)), key=lambda place: (shares[place], place))[:MOST_NAMED]
    unsure = [
        f"{found['selected'][place]} ({shares[place]:.2f})" for place in places if shares[place] < 1
    ]
    together = found.get("together") or shares
    line = (
        f"Selection frequency over {many(found['n_resamples'], 'resample')}: mean "
        f"{sum(shares) / len(shares):.2f}, with highly correlated features "
        f"{sum(together) / len(together):.2f}"
    )
    lines = [f"{line}; least stable: {', '.join(unsure)}." if unsure else f"{line}."]
    if left := found.get("pairs_left"):
        kinds = zip(left, ("must-links", "cannot-links"), strict=True)
        held = " and ".join(f"{count:.1f} {kind}" for count, kind in kinds if count)
        lines.append(f"A resample holds half of the samples and {held} between them, on average.")
    if n_unranked := found.get("n_unranked", 0):
        lines.append(f"{many(n_unranked, 'further resample')} held too few of them to be ranked.")
    return lines


def twin_lines(found: ValidationSummary) -> list[str]:
    """Name the best selected features that are highly correlated with another, each pair once."""
    listed: dict[frozenset[str], str] = {}
    for name, others in zip(found["selected"], found["twins"], strict=False):
        for other in others[:1]:
            text = f"{name} and {other['feature']} (r = {other['correlation']:.2f})"
            listed.setdefault(frozenset((name, other["feature"])), text)
    if not listed:
        return []
    more = len(listed) - MOST_NAMED
    named = ", ".join([*listed.values()][:MOST_NAMED])
    return [f"Highly correlated: {named}{f', and {more:,} more' if more > 0 else ''}."]
