"""What a report says to a reader who knows nothing of feature selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkselect._messages import many, pairs_text
from linkselect.report._schema import Summary

if TYPE_CHECKING:
    from linkselect.evaluation._result import Comparison


def title(summary: Summary) -> str:
    """Say in a few words what the page is about."""
    n_selected = many(summary["method"]["n_selected"], "feature")
    found = summary["validation"]
    if found is None or found["better_than_chance"] or summary["supervision"]["kind"] == "none":
        return f"{n_selected} {_purpose(summary)}"
    if found["better_than_chance"] is None:
        return f"{n_selected} selected, not tested against chance"
    return f"{n_selected} selected, not shown to be better than chance"


def _purpose(summary: Summary) -> str:
    known = summary["supervision"]
    if known["kind"] == "pairs":
        if not known.get("cannot"):
            return "in which alike samples are close"
        if not known.get("must"):
            return "in which unlike samples are far apart"
        return "in which alike samples are close and unlike ones far apart"
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
    if found is not None and found["better_than_chance"] is False:
        doubt = ", which is not shown to be less"
    beside = (
        f"as many random features give {_of_100(estimate['random_features'])}, and all features "
        f"{_of_100(estimate['all_features'])}"
    )
    if estimate["measure"] == "pair AUC":
        unlike = "two samples that you called unlike"
        if estimate.get("contrast") == "random pairs":
            unlike = "two random samples"
        return (
            f"Of {many(n_all, 'measured feature')} {those} were chosen. In them, {unlike} are "
            f"farther apart than two that you called alike {right} times of 100, tested on samples "
            f"that had no part in choosing the features. Chance gives {chance}{doubt}; {beside}."
        )
    return (
        f"Of {many(n_all, 'measured feature')} {those} were chosen. By the nearest labelled sample "
        f"in them, {right} of 100 samples are classified correctly, tested on samples that had no "
        f"part in choosing the features. Chance gives {chance}{doubt}; "
        f"{beside}."
    )


def _of_100(share: float) -> int:
    return round(100 * share)


def method_line(summary: Summary) -> str:
    """Say in one sentence what was done, for those who know the method."""
    method, data, known = summary["method"], summary["data"], summary["supervision"]
    by = {
        "pairs": f"from {pairs_text(known.get('must', 0), known.get('cannot', 0))}",
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
