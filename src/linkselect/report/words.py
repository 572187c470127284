"""What a report says to a reader who knows nothing of feature selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkselect.messages import many
from linkselect.report.schema import Summary

if TYPE_CHECKING:
    from linkselect.evaluation.result import Comparison

__all__ = ["comparison_sentence", "method_line", "plain_sentence", "title"]


def title(summary: Summary) -> str:
    """Say in a few words what the page is about."""
    n_selected = many(summary["method"]["n_selected"], "feature")
    found = summary["validation"]
    if found is not None and found["better_than_chance"] is False:
        return f"{n_selected} selected, not shown to be better than chance"
    return f"{n_selected} {_purpose(summary)}"


def _purpose(summary: Summary) -> str:
    known = summary["supervision"]
    if known["kind"] == "pairs":
        return "by which alike samples are close and unlike ones far apart"
    if known["kind"] == "none":
        return "that describe the samples, chosen without labels"
    classes = known.get("classes", [])
    if known.get("n_classes") == 2 and len(classes) == 2:
        first, second = sorted(str(one["label"]) for one in classes)
        if len(first) + len(second) <= 40:
            return f"that tell {first} from {second}"
    return f"that tell {known.get('n_classes', 0):,} classes apart"


def plain_sentence(summary: Summary) -> str:
    """Say in one sentence how good the selected features are, in counts of a hundred."""
    method, data = summary["method"], summary["data"]
    found = summary["validation"]
    estimate = None if found is None else found["estimate"]
    n_all, n_selected = data["n_features"], method["n_selected"]
    those = "this one" if n_selected == 1 else f"these {n_selected:,}"
    if estimate is None:
        because = "nothing was held back to test them"
        if summary["supervision"]["kind"] == "none":
            because = "without labels or pairs nothing shows whether they suit a purpose"
        return f"Of {many(n_all, 'measured feature')} {those} came out first; {because}."
    right, chance = _of_100(estimate["value"]), _of_100(estimate["chance"])
    doubt = ""
    if found is not None and not found["better_than_chance"]:
        noun = "pair" if estimate["measure"] == "pair AUC" else "sample"
        doubt = _doubt(right, chance, many(estimate["n_held_out"], noun))
    if estimate["measure"] == "pair AUC":
        return (
            f"Of {many(n_all, 'measured feature')} {those} were chosen. In them, two samples that "
            f"you called unlike are farther apart than two that you called alike {right} times of "
            f"100, tested on pairs that had no part in ranking the features; chance would give "
            f"{chance}{doubt}."
        )
    return (
        f"Of {many(n_all, 'measured feature')} {those} were chosen. Someone who knows nothing else "
        f"about a new sample would name its class rightly {right} times of 100, as tested on "
        f"samples that had no part in ranking the features{_number_from_them(summary)}; always "
        f"naming the largest class gives {chance}{doubt}."
    )


def _doubt(right: int, chance: int, held_out: str) -> str:
    """Say why more than chance is not shown: it is not more, or too little was held out."""
    if right <= chance:
        return ", which is no worse"
    return f", and {held_out} are too few to rule that out"


def _number_from_them(summary: Summary) -> str:
    chosen = summary["number_of_features"]["rule"] == "held-out accuracy"
    return ", only in choosing how many to keep" if chosen else ""


def _of_100(share: float) -> int:
    return round(100 * share)


def method_line(summary: Summary) -> str:
    """Say in one sentence what was done, for those who know the method."""
    method, data, known = summary["method"], summary["data"], summary["supervision"]
    by = {
        "pairs": f"from {many(known.get('must', 0), 'must-link')} and "
        f"{many(known.get('cannot', 0), 'cannot-link')}",
        "labels": f"from the labels of {many(known.get('n_classes', 0), 'class')}",
        "partial labels": f"from {many(known['n_samples'], 'labelled sample')}",
        "none": "without labels or pairs",
    }[known["kind"]]
    return (
        f"{method['name']} selects {method['n_selected']:,} of "
        f"{many(data['n_features'], 'feature')}, {by}."
    )


def comparison_sentence(found: Comparison) -> str:
    """Say who came out first and how sure that is, in counts of a hundred."""
    measure = found.measures[0]
    leader, *others = measure.means
    value, by_chance = _of_100(measure.means[leader]), _of_100(measure.by_chance)
    if measure.name == "accuracy":
        text = (
            f"With the features that {leader} chose, the class of a new sample was named rightly "
            f"{value} times of 100 on average; with features chosen at random {by_chance} times."
        )
    else:
        text = (
            f"In the features that {leader} chose, two samples that you called unlike were farther "
            f"apart than two that you called alike {value} times of 100 on average, on pairs that "
            f"were held back; in features chosen at random {by_chance} times."
        )
    if not others:
        return text
    shown = measure.difference(leader, others[0]).p_adjusted < found.level
    lead = "is more than chance" if shown else "may be chance"
    return f"{text} Its lead over the next, {others[0]}, {lead}."
