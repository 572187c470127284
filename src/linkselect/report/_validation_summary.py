"""Describe the reliability of a ranking in sentences for the terminal and the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkselect._messages import first_few, many, shortened
from linkselect.evaluation._significance import p_text
from linkselect.report._schema import EstimateSummary, Summary, ValidationSummary

if TYPE_CHECKING:
    from linkselect.evaluation import Validation

MOST_NAMED = 3
# Conventional levels of the family-wise error rate and of the false discovery rate.
LEVEL, FALSE_SHARE = 0.05, 0.1
# Agreement beyond chance below this is considered poor (Fleiss; Nogueira, Sechidis & Brown 2018).
POOR_AGREEMENT = 0.4
SAME_NUMBER = "the same number of random features"


def describe_validation(found: Validation | None, names: Sequence[str]) -> ValidationSummary | None:
    """Convert the result of a validation to plain data with feature names."""
    if found is None:
        return None
    plain = found.to_dict()
    del plain["frequencies"]  # the ranking contains them
    plain["selected"] = [names[feature] for feature in found.selected]
    plain["twins"] = [
        [
            {"feature": names[twin.feature], "correlation": round(twin.correlation, 4)}
            for twin in twins
        ]
        for twins in found.twins
    ]
    return plain  # type: ignore[return-value]


def alarms(found: ValidationSummary | None, n_features: int) -> list[str]:
    """Return warnings if the selected features are unstable or perform no better than others."""
    if found is None:
        return []
    lines = _instability(found, n_features)
    estimate = found["estimate"]
    if estimate is None:
        return lines
    selected = f"the selected feature{'' if len(found['selected']) == 1 else 's'}"
    if found["better_than_chance"] is False:
        lines.append(
            f"On held-out {_held_out(estimate)}, {selected} did not perform significantly better "
            f"than chance: {_measured(estimate)}, chance {estimate['chance']:.2f}."
        )
    others = {
        SAME_NUMBER: estimate["random_features"],
        f"all {n_features:,} features": estimate["all_features"],
    }
    best = round(estimate["value"], 2)
    ahead = [f"{name} ({one:.2f})" for name, one in others.items() if round(one, 2) > best]
    if ahead:
        text = f"{' and '.join(ahead)} {_task(estimate)} better than {selected} ({best:.2f})."
        lines.append(f"{text[0].upper()}{text[1:]}")
    return lines


def _task(estimate: EstimateSummary) -> str:
    if estimate["measure"] == "1-NN accuracy":
        return "classify held-out samples"
    return f"separate held-out must-links from {estimate.get('contrast') or 'cannot-links'}"


def _instability(found: ValidationSummary, n_features: int) -> list[str]:
    """Return a warning if different halves of the samples lead to different features."""
    shares = found.get("together") or found["selected_again"]
    if not shares or len(shares) == n_features:
        return []
    resamples = f"{many(found['n_resamples'], 'resample')} of half the samples"
    mean, chance = sum(shares) / len(shares), len(shares) / n_features
    if mean - chance < POOR_AGREEMENT * (1 - chance):
        return [
            f"The selection is unstable: over {resamples}, the mean selection frequency is "
            f"{mean:.2f} if highly correlated features count as one (chance: {chance:.2g})."
        ]
    if shares[0] == 0:
        return [
            f"In {resamples}, neither the best feature, {shortened(found['selected'][0])}, nor any "
            "feature highly correlated with it was selected."
        ]
    return []


def validation_lines(summary: Summary) -> list[str]:
    """Describe the performance on held-out labels or pairs, and the selection frequencies."""
    found, lines = summary["validation"], []
    if found is None:
        return _significance_lines(summary)
    estimate = found["estimate"]
    if estimate is not None:
        contrast = estimate.get("contrast")
        against = " versus random pairs" if contrast == "random pairs" else ""
        lines.append(
            f"Held-out {_held_out(estimate)}{against}: {_measured(estimate)[:-1]}; chance "
            f"{estimate['chance']:.2f}, random features {estimate['random_features']:.2f}, all "
            f"features {estimate['all_features']:.2f})."
        )
        if contrast:
            others = "random" if "random" in contrast else "cannot-linked"
            lines.append(
                f"The AUC is the probability that two {others} samples are farther apart than two "
                "must-linked samples."
            )
        lines += _claim_lines(found)
    if found["reason"]:
        lines.append(found["reason"])
    return [*lines, *_frequency_lines(found), *_twin_lines(found), *_significance_lines(summary)]


def _claim_lines(found: ValidationSummary) -> list[str]:
    """State whether the selection performs better than chance and than random features."""
    claims = [
        ("chance", found["better_than_chance"], found.get("p_value")),
        (SAME_NUMBER, found.get("better_than_random"), found.get("p_random")),
    ]
    made = [(name, holds, p) for name, holds, p in claims if p is not None]
    text = (", but " if len({holds for _, holds, _ in made}) == 2 else " and ").join(
        f"{'' if holds else 'not '}significantly better than {name} (p {p_text(p)})"
        for name, holds, p in made
    )
    return [f"The selection performs {text}."] if text else []


def _significance_lines(summary: Summary) -> list[str]:
    """State the number of significant features, if p-values were computed."""
    ranking = summary["ranking"]
    if "adjusted" not in ranking:
        return []
    n_sure = sum(p <= LEVEL for p in ranking["adjusted"])
    n_found = sum(q <= FALSE_SHARE for q in ranking["q_value"])
    return [
        f"Significant features: {n_sure:,} of {len(ranking['feature']):,} at a family-wise error "
        f"rate of {100 * LEVEL:g} %, and {n_found:,} at a false discovery rate of "
        f"{100 * FALSE_SHARE:g} %."
    ]


def _held_out(estimate: EstimateSummary) -> str:
    if estimate["measure"] == "1-NN accuracy":
        return "labels"
    return "must-links" if estimate.get("contrast") == "random pairs" else "pairs"


def _measured(estimate: EstimateSummary) -> str:
    measure, error = estimate["measure"].removeprefix("pair "), 2 * estimate["standard_error"]
    return f"{measure} {estimate['value']:.2f} ± {error:.2f} (2 standard errors)"


def _frequency_lines(found: ValidationSummary) -> list[str]:
    """Describe the selection frequencies over resamples, if they were measured."""
    shares = found["selected_again"]
    if not shares:
        return []
    worst = sorted(zip(shares, range(len(shares)), found["selected"], strict=True))[:MOST_NAMED]
    unsure = [f"{shortened(name)} ({share:.2f})" for share, _, name in worst if share < 1]
    together = found.get("together") or shares
    line = (
        f"Selection frequency over {many(found['n_resamples'], 'resample')}: mean "
        f"{sum(shares) / len(shares):.2f} ({sum(together) / len(together):.2f} if highly "
        "correlated features count as one)"
    )
    lines = [f"{line}; least stable: {', '.join(unsure)}." if unsure else f"{line}."]
    if left := found.get("pairs_left"):
        kinds = zip(left, ("must-links", "cannot-links"), strict=True)
        kept = " and ".join(f"{count:.1f} {kind}" for count, kind in kinds if count)
        lines.append(f"On average, a resample of half the samples contains {kept}.")
    if n_unranked := found.get("n_unranked", 0):
        resamples = many(n_unranked, "further resample")
        lines.append(f"{resamples} contained too few labels or pairs to be ranked.")
    return lines


def _twin_lines(found: ValidationSummary) -> list[str]:
    """List the best selected features that are highly correlated with another feature."""
    listed: dict[frozenset[str], str] = {}
    for name, others in zip(found["selected"], found["twins"], strict=False):
        for other in others[:1]:
            pair = f"{shortened(name)} and {shortened(other['feature'])}"
            text = f"{pair} (r = {other['correlation']:.2f})"
            listed.setdefault(frozenset((name, other["feature"])), text)
    if not listed:
        return []
    return [f"Highly correlated: {first_few([*listed.values()], MOST_NAMED)}."]


def selected_line(summary: Summary) -> str:
    """State the number of selected features and the rule that determined it."""
    n_all = many(summary["data"]["n_features"], "feature")
    seconds = summary["seconds"]
    time = "" if seconds is None else f" in {seconds:.2f} s"
    reason = summary["number_of_features"]["reason"]
    return f"Selected {summary['method']['n_selected']:,} of {n_all}{time}. {reason}".rstrip()
