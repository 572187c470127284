"""What the held-out data sets of pairs_alone.py show, in sentences and in the README's table."""

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
    table,
    with_references,
)


def best_other(units, labels, place):
    """Return the method of these with the largest mean."""
    found = {label: list(means(units, label, place).values()) for label in labels}
    return max((label for label in found if found[label]), key=lambda label: np.mean(found[label]))


def both(units, label):
    """Return the mean accuracy by 1-NN / linear SVM as text."""
    return joined(units, label, (NEAREST, LINEAR))


def beside(units, kind, group, own="LinkSelector"):
    """Say what LinkSelector reaches beside the best other method by each classifier."""
    some = of_kind(units, kind, group)
    others = [label for label in KINDS[kind] if label != own]
    ahead = [best_other(some, others, place) for place in (NEAREST, LINEAR)]
    named = " and ".join(f"`{label}` {both(some, label)}" for label in dict.fromkeys(ahead))
    return f"`{own}` {both(some, own)}, the best other {named}"


def change(units, kind, other, group):
    """Return by how much LinkSelector changes from one kind of knowledge to another, as text."""
    gaps = []
    for place in (NEAREST, LINEAR):
        reached = [means(of_kind(units, k, group), "LinkSelector", place) for k in (kind, other)]
        gaps.append(np.mean([reached[1][name] - reached[0][name] for name in reached[0]]))
    return " / ".join(f"{gap:+.1f}" for gap in gaps)


def findings(units):
    """Return what the held-out data sets show, in sentences with numbers."""
    group, units = HELD_OUT, with_references(units)
    if not all(of_kind(units, kind, group) for kind in (*BOTH_KINDS, *SPECIAL, "all labels")):
        return []
    some = of_kind(units, "20 pairs", group)
    chance, everything = (both(some, label) for label in REFERENCES)
    together = "3 labels per class and 20 must-links"
    lines = [
        "Mean accuracy on the held-out data sets, in per cent, 1-NN / linear SVM:",
        "",
        f"- **20 pairs**: {beside(units, '20 pairs', group)}; random features {chance}, all "
        f"features {everything}.",
        f"- **100 pairs**: {beside(units, '100 pairs', group)}.",
        f"- **3 labels per class**: {beside(units, '3 labels per class', group)}.",
        f"- **All labels**: {beside(units, 'all labels', group)}.",
        f"- **Nothing**: {beside(units, 'nothing', group)}.",
        f"- **Labels and pairs**: 3 labels per class and 20 must-links between other samples "
        f"{both(of_kind(units, together, group), 'LinkSelector')}; the labels alone "
        f"{both(of_kind(units, '3 labels per class', group), 'LinkSelector')}, the links alone "
        f"{both(of_kind(units, '20 must-links', group), 'LinkSelector')}.",
        f"- **Wrong pairs**: a tenth wrong changes `LinkSelector` by "
        f"{change(units, '20 pairs', '20 pairs, 10 % wrong', group)} points at 20 pairs and by "
        f"{change(units, '100 pairs', '100 pairs, 10 % wrong', group)} at 100.",
        f"- **Must-links only** change it by {change(units, '100 pairs', '50 must-links', group)} "
        f"points beside 100 pairs of both kinds; from cannot-links alone it ranks as from nothing.",
    ]
    return ["\n".join(lines)]


def headline(units):
    """Return the table of the README: LinkSelector beside the best other method and chance."""
    units = with_references(units)
    rows = []
    for kind in ("20 pairs", "100 pairs", "3 labels per class", "all labels", "nothing"):
        some = of_kind(units, kind, HELD_OUT)
        if not some:
            return []
        others = [label for label in KINDS[kind] if label != "LinkSelector"]
        first = best_other(some, others, NEAREST)
        best = f"{both(some, first)} (`{first}`)"
        rows.append([kind, both(some, "LinkSelector"), best, both(some, "random features")])
    head = ["known", "`LinkSelector`", "best other method by 1-NN", "random features"]
    return table(head, rows).split("\n")
