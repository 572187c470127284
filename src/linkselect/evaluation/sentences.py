"""A comparison in plain sentences: who led, by how much, and what can be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkselect.evaluation.curves import RANDOM
from linkselect.evaluation.significance import p_text
from linkselect.messages import many

if TYPE_CHECKING:
    from linkselect.evaluation.result import Comparison

__all__ = ["summarize"]


def summarize(found: Comparison) -> Iterator[str]:
    """Say who led and by how much, against whom that can be shown, and what each method used."""
    first = found.leader
    counts = found.accuracy[first].n_features
    few = "" if len(counts) == 1 else f"{counts[0]} to "
    yield (
        f"{found.classifier} with {few}{many(counts[-1], 'feature')}, {found.n_splits} random "
        f"splits: {_who_led(found)}."
    )
    others = [name for name in found.mean_accuracy if name not in _leaders(found)]
    shown = [name for name in others if found.difference(first, name).p_adjusted < found.level]
    unclear = [name for name in others if name not in shown]
    if shown:
        yield f"{first} was better than {_gaps(found, first, shown)}."
    if unclear:
        yield f"No difference can be shown between {first} and {_gaps(found, first, unclear)}."
    yield _against_chance(found)
    yield _supervision_used(found)
    best = found.accuracy[first].mean
    yield (
        f"All features ({found.n_features:,}) give {_percent(float(np.mean(found.all_features)))}; "
        f"{first} reaches {_percent(best.max())} at best, with "
        f"{many(counts[int(best.argmax())], 'feature')}."
    )


def _leaders(found: Comparison) -> list[str]:
    """Name the method with the largest mean, and those that have the same."""
    means = found.mean_accuracy
    return [name for name in means if np.isclose(means[name], means[found.leader], 0, 1e-9)]


def _who_led(found: Comparison) -> str:
    names = _leaders(found)
    mean = found.mean_accuracy[found.leader]
    chance = float(found.accuracy[RANDOM].values.mean())
    less = f", less than a {RANDOM} of features" if mean < chance else ""
    if len(found.methods) == 1:
        return f"{names[0]} had a mean accuracy of {_percent(mean)}{less}"
    if len(names) == 1:
        return f"{names[0]} had the largest mean accuracy of the methods, {_percent(mean)}{less}"
    together = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{together} had the same largest mean accuracy, {_percent(mean)}{less}"


def _gaps(found: Comparison, first: str, others: Sequence[str]) -> str:
    gaps = (found.difference(first, name) for name in others)
    return ", ".join(
        f"{name} ({100 * gap.mean:.1f} points, p {p_text(gap.p_adjusted)})"
        for name, gap in zip(others, gaps, strict=True)
    )


def _against_chance(found: Comparison) -> str:
    gaps = {name: found.difference(name, RANDOM) for name in found.methods}
    beaten = [n for n, gap in gaps.items() if gap.better == n and gap.p_adjusted < found.level]
    rest = [name for name in found.methods if name not in beaten]
    chance = _percent(float(found.accuracy[RANDOM].values.mean()))
    if rest and beaten:
        return f"Not shown to beat a {RANDOM} of features ({chance}): {', '.join(rest)}."
    several = len(found.methods) > 1
    if beaten:
        who = "Every method" if several else beaten[0]
        return f"{who} beat a {RANDOM} of features ({chance})."
    who = "No method can" if several else f"{rest[0]} cannot"
    return f"{who} be shown to beat a {RANDOM} of features ({chance})."


def _supervision_used(found: Comparison) -> str:
    """Say what each method used, since more supervision makes the task easier."""
    methods_by_use: dict[str, list[str]] = {}
    for name, used in found.saw.items():
        methods_by_use.setdefault(used, []).append(name)
    if len(methods_by_use) == 1:
        who = "every method" if len(found.methods) > 1 else found.methods[0]
        return f"Fitted on all rows, {who} used {next(iter(methods_by_use))}."
    parts = (f"{used} ({', '.join(names)})" for used, names in methods_by_use.items())
    return f"Fitted on all rows, methods used different things: {'; '.join(parts)}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
