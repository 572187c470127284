"""Describe a comparison in sentences: the best method and the significant differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from linkselect._messages import many, pairs_text
from linkselect._notebook import panel, table
from linkselect.evaluation._curves import RANDOM
from linkselect.evaluation._significance import p_text

if TYPE_CHECKING:
    from linkselect.evaluation._result import Comparison, HeldOutPairs, Measure

# docs/pairs_alone.md reports the experiments.
WORTH = (
    "Interpret results on held-out pairs with care: the method with the highest AUC tends to be "
    "more accurate than a randomly chosen one, but it is often not the most accurate. Held-out "
    "pairs cannot determine how many features to keep."
)


def summarize(found: Comparison) -> Iterator[str]:
    """Yield sentences on the best method, significant differences and the supervision used."""
    if found.accuracy is not None:
        measure = found.measures[0]
        yield (
            f"On {found.n_splits} random splits, using {found.classifier} with "
            f"{_numbers(measure)}, {_who_led(measure)}."
        )
        yield from _differences(measure, found.level)
        yield _supervision_used(found)
        first = measure.leader
        best = measure.curves[first].mean
        counts = measure.curves[first].n_features
        yield (
            f"{_with_all(found, measure)}; {first} reached {measure.value_text(best.max())} at "
            f"best, with {many(counts[int(best.argmax())], 'feature')}."
        )
    if found.held_out_pairs is not None:
        yield from _held_out(found, found.held_out_pairs)


def _held_out(found: Comparison, held_out: HeldOutPairs) -> Iterator[str]:
    often = "" if held_out.n_repeats == 1 else f", repeated {held_out.n_repeats} times"
    yield (
        f"On held-out pairs ({pairs_text(held_out.n_must, held_out.n_cannot)}; "
        f"{many(held_out.n_folds, 'fold')}{often}), using {_numbers(held_out)}, "
        f"{_who_led(held_out)}."
    )
    yield (
        "The AUC is the probability that two cannot-linked samples are farther apart than two "
        "must-linked samples; 0.5 corresponds to chance. The pairs were not used to rank the "
        "features. The uncertainty of each mean AUC is "
        f"± {2 * held_out.standard_error[held_out.leader]:.2f} (2 standard errors)."
    )
    yield from _differences(held_out, found.level)
    if found.accuracy is None:
        yield _supervision_used(found)
    yield f"{_with_all(found, held_out)}."
    unmeasured = [name for name in found.methods if name not in held_out.methods]
    if unmeasured:
        yield f"Methods with labels are not evaluated on held-out pairs: {', '.join(unmeasured)}."
    yield WORTH


def _numbers(measure: Measure) -> str:
    counts = measure.curves[RANDOM].n_features
    few = "" if len(counts) == 1 else f"{counts[0]} to "
    return f"{few}{many(counts[-1], 'feature')}"


def _with_all(found: Comparison, measure: Measure) -> str:
    mean = measure.value_text(measure.with_all)
    return f"With all features ({found.n_features:,}), the mean {measure.name} was {mean}"


def _differences(measure: Measure, level: float) -> Iterator[str]:
    first = measure.leader
    others = [name for name in measure.means if name not in _leaders(measure)]
    shown = [name for name in others if measure.difference(first, name).p_adjusted < level]
    unclear = [name for name in others if name not in shown]
    if shown:
        yield f"{first} was significantly better than {_gaps(measure, first, shown)}."
    if unclear:
        yield f"{first} was not significantly better than {_gaps(measure, first, unclear)}."
    yield _against_chance(measure, level)


def _leaders(measure: Measure) -> list[str]:
    """Return the method with the largest mean, and the methods tied with it."""
    means = measure.means
    return [name for name in means if np.isclose(means[name], means[measure.leader], 0, 1e-9)]


def _who_led(measure: Measure) -> str:
    names = _leaders(measure)
    mean = measure.means[measure.leader]
    less = f", lower than for a {RANDOM} of features" if mean < measure.by_chance else ""
    value = f"{measure.value_text(mean)}{less}"
    if len(measure.methods) == 1:
        return f"{names[0]} had a mean {measure.name} of {value}"
    if len(names) == 1:
        return f"{names[0]} had the highest mean {measure.name}, {value}"
    together = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{together} had the same highest mean {measure.name}, {value}"


def _gaps(measure: Measure, first: str, others: Sequence[str]) -> str:
    gaps = {name: measure.difference(first, name) for name in others}
    return ", ".join(
        f"{name} ({measure.gap_text(gap.mean)}, p {p_text(gap.p_adjusted)})"
        for name, gap in gaps.items()
    )


def _against_chance(measure: Measure, level: float) -> str:
    gaps = {name: measure.difference(name, RANDOM) for name in measure.methods}
    beaten = [n for n, gap in gaps.items() if gap.better == n and gap.p_adjusted < level]
    rest = [name for name in measure.methods if name not in beaten]
    chance = measure.value_text(measure.by_chance)
    if rest and beaten:
        return (
            f"The following methods were not significantly better than a {RANDOM} of features "
            f"({chance}): {', '.join(rest)}."
        )
    several = len(measure.methods) > 1
    if beaten:
        who = "Every method" if several else beaten[0]
        return f"{who} was significantly better than a {RANDOM} of features ({chance})."
    who = "No method was" if several else f"{rest[0]} was not"
    return f"{who} significantly better than a {RANDOM} of features ({chance})."


def _supervision_used(found: Comparison) -> str:
    """Describe the supervision of each method, since more supervision makes the task easier."""
    methods_by_use: dict[str, list[str]] = {}
    for name, used in found.saw.items():
        methods_by_use.setdefault(used, []).append(name)
    if len(methods_by_use) == 1:
        who = "every method" if len(found.methods) > 1 else found.methods[0]
        return f"Supervision: {who} used {next(iter(methods_by_use))}."
    parts = (f"{used} ({', '.join(names)})" for used, names in methods_by_use.items())
    return f"Supervision differed between methods: {'; '.join(parts)}."


def comparison_view(found: Comparison) -> str:
    """Return a comparison as HTML."""
    rows = [
        [
            name,
            *(measure.mean_text(name) for measure in found.measures),
            _number(found.stability[name]),
            f"{found.seconds[name]:.3f} s",
            found.saw[name],
        ]
        for name in found.ranked
    ]
    baselines = (("random choice", "by_chance"), ("all features", "with_all"))
    rows += [
        [what, *(each.value_text(getattr(each, value)) for each in found.measures), "", "", ""]
        for what, value in baselines
    ]
    names = [f"mean {measure.name}" for measure in found.measures]
    header = ["method", *names, "stability", "time", "supervision"]
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in found.summary)
    return panel(
        f"{many(len(found.methods), 'method')} on {many(found.n_samples, 'sample')} with "
        f"{many(found.n_features, 'feature')}",
        table(header, rows, {0, len(header) - 1}),
        text,
    )


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.2f}"
