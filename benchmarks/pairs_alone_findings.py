"""The main results of pairs_alone.py on the held-out data sets, for its page and for README."""

import numpy as np

from pairs_alone_tables import (
    BOTH_KINDS,
    HELD_OUT,
    KINDS,
    LINEAR,
    NEAREST,
    REFERENCES,
    SPECIAL,
    joined,
    means,
    of_kind,
    shown_kind,
    table,
    with_references,
)


def best_other(units, labels, place):
    """Return the method with the largest mean."""
    found = {label: list(means(units, label, place).values()) for label in labels}
    return max((label for label in found if found[label]), key=lambda label: np.mean(found[label]))


def both(units, label):
    """Return the mean accuracy by 1-NN / linear SVM as text."""
    return joined(units, label, (NEAREST, LINEAR))


def compared(units, kind, group):
    """Return a row: LinkSelector, and the best other method by each classifier."""
    some = of_kind(units, kind, group)
    others = [label for label in KINDS[kind] if label != "LinkSelector"]
    ahead = [best_other(some, others, place) for place in (NEAREST, LINEAR)]
    named = ", ".join(f"{both(some, label)} (`{label}`)" for label in dict.fromkeys(ahead))
    return [shown_kind(kind), both(some, "LinkSelector"), named]


def change(units, kind, other, group):
    """Return the change of LinkSelector's accuracy from one kind of supervision to another."""
    gaps = []
    for place in (NEAREST, LINEAR):
        reached = [means(of_kind(units, k, group), "LinkSelector", place) for k in (kind, other)]
        gaps.append(np.mean([reached[1][name] - reached[0][name] for name in reached[0]]))
    return " / ".join(f"{gap:+.1f}" for gap in gaps)


def findings(units):
    """Return the main table of the held-out data sets, and the effects of other kinds of pairs."""
    group, units = HELD_OUT, with_references(units)
    if not all(of_kind(units, kind, group) for kind in (*BOTH_KINDS, *SPECIAL, "all labels")):
        return []
    some = of_kind(units, "20 pairs", group)
    together = "3 labels per class and 20 must-links"
    kinds = ("20 pairs", "100 pairs", "3 labels per class", "all labels", "nothing")
    rows = [compared(units, kind, group) for kind in kinds]
    rows.append([together, both(of_kind(units, together, group), "LinkSelector"), ""])
    rows += [[label, both(some, label), ""] for label in REFERENCES]
    return [
        *table(["supervision", "`LinkSelector`", "best other method"], rows).split("\n"),
        "",
        "- **Wrong pairs.** If 10 % of the pairs are wrong, the accuracy of `LinkSelector` "
        f"changes by {change(units, '20 pairs', '20 pairs, 10 % wrong', group)} points with 20 "
        f"pairs and by {change(units, '100 pairs', '100 pairs, 10 % wrong', group)} points with "
        "100.",
        "- **Must-links only.** With must-links alone, the accuracy changes by "
        f"{change(units, '100 pairs', '50 must-links', group)} points compared with 100 pairs of "
        "both kinds. With cannot-links alone, the ranking is the same as without supervision.",
    ]


def headline(units):
    """Return the line of the README: LinkSelector, the best other method and random features."""
    units = with_references(units)
    reached = {}
    for kind in ("20 pairs", "all labels"):
        some = of_kind(units, kind, HELD_OUT)
        if not some:
            return []
        first = best_other(some, [one for one in KINDS[kind] if one != "LinkSelector"], NEAREST)
        chance = both(some, "random features")
        reached[kind] = both(some, "LinkSelector"), f"{both(some, first)} % (`{first}`)"
    (pairs, other), (labels, other_from_labels) = reached.values()
    return [
        "- **Accuracy.** On nine data sets that were not used to design it (1-NN / linear SVM, 5 "
        f"to 50 features), `LinkSelector` reaches {pairs} % from",
        f"  20 pairs; the best other method {other}, random features {chance} %. With all labels: "
        f"{labels} %, the",
        f"  best other method {other_from_labels}. [39 data sets, all methods, and where it loses]"
        "(docs/pairs_alone.md)",
    ]
