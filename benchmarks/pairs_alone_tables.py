"""The data sets, methods and kinds of supervision of pairs_alone.py, and its tables."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "pairs_alone.md"

# LinkSelector was designed on the second group; the first is reported separately.
HELD_OUT = [
    "binary_alphadigits",
    "chowdary",
    "classic3",
    "darwin_handwriting",
    "gtzan_features",
    "lung_bhattacharjee",
    "su",
    "trace",
    "umist_28x23",
]
CHOSEN_ON = [
    "allaml",
    "bbc_view1",
    "cnae_9",
    "colon",
    "colon_discretized",
    "dermatology",
    "hepatitis",
    "image_segmentation",
    "ionosphere",
    "isolet_1560",
    "khan",
    "libras_movement",
    "madelon",
    "meat_nir",
    "mnist",
    "multiple_features",
    "olivetti_64x64",
    "orl_32x32",
    "pie_32x32_first10",
    "pie_pose27_32x32",
    "prostate_ge",
    "prostate_singh_train",
    "sonar",
    "soybean_small",
    "steel_plates_faults",
    "usps",
    "warp_pie10p",
    "wbcd_original",
    "yale_32x32",
    "yaleb_32x32",
]
GROUPS = {"held out": HELD_OUT, "design": CHOSEN_ON}

BOTH_KINDS = ("20 pairs", "40 pairs", "100 pairs")
FROM_PAIRS = (
    "LinkSelector",
    "ConsensusSelector",
    "SimilarityConstraintScore, semi-supervised",
    "SimilarityConstraintScore",
    "SCGS",
    "LSDF",
    "ConstraintScore",
    "CompensatedLaplacianScore",
    "LaplacianConstraintScore",
    "ConstrainedLaplacianScore",
)
SOME = ("LinkSelector", "ConsensusSelector", "SCGS", "ConstraintScore")
ON_LABELLED = ("Redundancy(FisherScore)", "MRMR", "FisherScore", "ReliefF")
REFERENCES = ("random features", "all features")
FASTCAN = ("FastCan",) if find_spec("fastcan") else ()
SPECIAL = (
    "10 must-links",
    "50 must-links",
    "50 cannot-links",
    "20 pairs, 10 % wrong",
    "100 pairs, 10 % wrong",
    "100 pairs as they come",
    "20 must-links",
    "3 labels per class and 20 must-links",
)
# What is measured from each kind of supervision, in order of execution.
KINDS = {
    "reference": REFERENCES,
    "20 pairs": FROM_PAIRS,
    "100 pairs": FROM_PAIRS,
    "3 labels per class": ("LinkSelector", "SCGS", *ON_LABELLED),
    "all labels": ("LinkSelector", *ON_LABELLED, *FASTCAN),
    "nothing": ("LinkSelector", "Redundancy(LaplacianScore)", "LaplacianScore", "VarianceScore"),
    "40 pairs": FROM_PAIRS,
    "5 labels per class": ("LinkSelector", "SCGS", *ON_LABELLED),
    **dict.fromkeys(SPECIAL, SOME),
    "stability": (*SOME, "SimilarityConstraintScore, semi-supervised", "random features"),
    "suspects": BOTH_KINDS,
    "choice": FROM_PAIRS[2:],  # held-out pairs choose one of these
}
NEAREST, LINEAR, FOREST = range(3)
N_BOOTSTRAP = 10_000
# How the tables call a kind of supervision, where its key is no name.
SHOWN = {"nothing": "no supervision", "100 pairs as they come": "100 pairs of random samples"}


# -- values -------------------------------------------------------------------------------------


def of_kind(units, kind, sets):
    return [one for one in units if one["kind"] == kind and one["set"] in sets]


def with_references(units):
    """Add random and all features, which are the same for every kind, to each unit."""
    places = {(one["set"], one["draw"]): one for one in units if one["kind"] == "reference"}
    found = []
    for one in units:
        reference = places.get((one["set"], one["draw"]), {"values": {}})["values"]
        measured = one["kind"] not in ("stability", "suspects", "choice")
        found.append(one | {"values": one["values"] | reference} if measured else one)
    return found


def mean_by_set(pairs):
    """Return the mean of the values of each data set, over its draws."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def value(one, label, place):
    found = one["values"].get(label)
    return None if found is None else found[place]


def means(units, label, place):
    """Return a method's mean on each data set where it raises no error."""
    some = ((one["set"], value(one, label, place)) for one in units)
    return mean_by_set((name, found) for name, found in some if found is not None)


def gaps(units, label, place):
    """Return the lead of LinkSelector on each data set, over draws where both methods work."""
    both = [
        (one["set"], value(one, "LinkSelector", place), value(one, label, place)) for one in units
    ]
    return mean_by_set((name, own - other) for name, own, other in both if None not in (own, other))


def refusals(units, label):
    return sum(label in one["values"] and one["values"][label] is None for one in units)


# -- tables -------------------------------------------------------------------------------------


def shown_kind(kind):
    return SHOWN.get(kind, kind)


def table(head, rows):
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]
    )


def joined(units, label, places, decimals=1):
    """Return means over data sets as one cell, or - if there is none."""
    found = [list(means(units, label, place).values()) for place in places]
    if not found[0]:
        return "refuses" if refusals(units, label) else "-"
    return " / ".join(f"{np.mean(one):.{decimals}f}" if one else "-" for one in found)


def accuracy_table(units, sets, kinds):
    """Return the accuracy of each method by 1-NN / linear SVM / forest, best first."""
    columns = [of_kind(units, kind, sets) for kind in kinds]
    labels = dict.fromkeys(label for kind in kinds for label in (*KINDS[kind], *REFERENCES))
    rows = []
    for label in labels:
        found = [list(means(some, label, place).values()) for some in columns for place in range(3)]
        flat = [np.mean(one) for one in found if one]
        refused = sum(refusals(some, label) for some in columns)
        name = f"{label} (refuses {refused} of {sum(map(len, columns))})" if refused else label
        cells = [joined(some, label, range(3)) for some in columns]
        if flat or refused:
            rows.append((np.mean(flat) if flat else 0.0, [name, *cells]))
    rows.sort(key=lambda row: -row[0])
    return table(["method", *map(shown_kind, kinds)], [row for _, row in rows])


def interval(values):
    """Return the bootstrap interval of a mean, over data sets, at 95 %."""
    values = np.array(values)
    rows = np.random.default_rng(0).integers(len(values), size=(N_BOOTSTRAP, len(values)))
    return np.percentile(values[rows].mean(axis=1), [2.5, 97.5])


def lead_table(units, kinds, place):
    """Return the lead of LinkSelector over every other method."""
    columns = {
        f"{group}, {shown_kind(kind)}": of_kind(units, kind, sets)
        for group, sets in GROUPS.items()
        for kind in kinds
    }
    others = dict.fromkeys(
        label for kind in kinds for label in (*KINDS[kind][1:], "random features")
    )
    rows = []
    for label in others:
        cells = []
        for some in columns.values():
            found = list(gaps(some, label, place).values())
            if not found:
                cells.append("-")
                continue
            low, high = interval(found)
            ahead = f"{sum(gap > 0 for gap in found)}/{len(found)}"
            cells.append(f"{np.mean(found):+.1f} [{low:.1f}, {high:.1f}], {ahead}")
        rows.append([label, *cells])
    return table(["LinkSelector minus", *columns], rows)


def special_table(units, sets):
    """Return a row for each kind of supervision, with 1-NN / linear SVM."""
    shown = (*SOME, *REFERENCES)
    rows = []
    for kind in ("20 pairs", "100 pairs", "3 labels per class", *SPECIAL):
        some = of_kind(units, kind, sets)
        cells = []
        for label in shown:
            refused = refusals(some, label)
            note = f" ({refused} of {len(some)} refused)" if 0 < refused < len(some) else ""
            cells.append(joined(some, label, (NEAREST, LINEAR)) + note)
        rows.append([shown_kind(kind), *cells])
    return table(["supervision", *shown], rows)


def stability_table(units):
    """Return the share of features selected again, up to correlated ones, and Jaccard's index."""
    rows = []
    for label in KINDS["stability"]:
        groups = [of_kind(units, "stability", sets) for sets in GROUPS.values()]
        cells = [joined(some, label, places, 2) for places in ((0, 1), (2, 3)) for some in groups]
        rows.append([label, *cells])
    head = [f"halves of {what}, {group}" for what in ("samples", "pairs") for group in GROUPS]
    return table(["method", *head], rows)


def set_table(units):
    """Return every data set: accuracy from 20 / 100 pairs, and how well wrong pairs are found."""
    rows = []
    for group, sets in GROUPS.items():
        for name in sets:
            columns = [of_kind(units, kind, [name]) for kind in ("20 pairs", "100 pairs")]
            cells = [
                " / ".join(joined(some, label, [NEAREST]) for some in columns) for label in SOME[:3]
            ]
            cells += [joined(columns[0], label, [NEAREST]) for label in REFERENCES]
            if any(columns):
                cells.append(shown_aucs(suspect_aucs(units, [name])))
                rows.append([f"*{name}*" if group == "held out" else name, *cells])
    overall = shown_aucs(suspect_aucs(units, {*HELD_OUT, *CHOSEN_ON}))
    rows.append(["**mean**", *[""] * len((*SOME[:3], *REFERENCES)), overall])
    return table(["data set", *SOME[:3], *REFERENCES, "wrong pairs found, AUC"], rows)


def suspect_aucs(units, sets):
    """Return the AUC with which wrong pairs are found, by number of pairs; mean over data sets."""
    found = [
        [np.mean([one["values"][budget] for one in some]) for budget in BOTH_KINDS]
        for some in (of_kind(units, "suspects", [name]) for name in sets)
        if some
    ]
    return np.mean(found, axis=0) if found else None


def shown_aucs(values):
    return "-" if values is None else " / ".join(f"{value:.2f}" for value in values)


def choice_table(units):
    """Compare ways to choose a method by their loss against the best candidate."""
    measured = {(one["set"], one["draw"], one["kind"]): one["values"] for one in units}
    ways = {
        "held-out pairs": [],
        "the pairs used to fit": [],
        "a random draw": [],
        "always ConsensusSelector": [],
        "always LinkSelector": [],
    }
    head = ["method chosen by"]
    for budget in BOTH_KINDS:
        losses = []
        for one in of_kind(units, "choice", {*HELD_OUT, *CHOSEN_ON}):
            values = measured.get((one["set"], one["draw"], budget), {})
            reached = {k: v[NEAREST] for k, v in values.items() if v is not None}
            auc = {k: v[budget] for k, v in one["values"].items() if budget in v and k in reached}
            if not auc or not {"LinkSelector", "ConsensusSelector"} <= set(reached):
                continue
            by_held_out, by_own = (max(auc, key=lambda k, i=i: auc[k][i]) for i in range(2))
            chance = np.mean([reached[label] for label in auc])
            taken = [reached[by_held_out], reached[by_own], chance]
            taken += [reached["ConsensusSelector"], reached["LinkSelector"]]
            losses.append(max(reached[label] for label in auc) - np.array(taken))
        head.append(f"{budget} ({len(losses)} sets)")
        mean = [f"{loss:.1f}" for loss in np.mean(losses, axis=0)] if losses else ["-"] * len(ways)
        for way, loss in zip(ways.values(), mean, strict=True):
            way.append(loss)
    return table(head, [[way, *row] for way, row in ways.items()])


# -- the page -----------------------------------------------------------------------------------


def extent(units, kinds, sets):
    """Return the number of data sets and draws in words."""
    draws = {}
    for kind in kinds:
        for one in of_kind(units, kind, sets):
            draws.setdefault((kind, one["set"]), set()).add(one["draw"])
    counts = sorted({len(some) for some in draws.values()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    n_sets = len({name for _, name in draws})
    return f"{n_sets} set{'s' * (n_sets > 1)}, {number} draw{'s' * (number != '1')} each"


def by_group(units, kinds, make):
    """Return a table for each group of data sets, after a sentence that names the group."""
    first = {
        "held out": "Held-out data sets ({}):",
        "design": "Design data sets ({}):",
    }
    parts = []
    for group, sets in GROUPS.items():
        if any(of_kind(units, kind, sets) for kind in kinds):
            parts += [first[group].format(extent(units, kinds, sets)), make(units, sets)]
    return parts


def leads(units, kinds):
    """Return the tables of leads by 1-NN and by a linear SVM."""
    if not any(of_kind(units, kind, {*HELD_OUT, *CHOSEN_ON}) for kind in kinds):
        return []
    start = "Lead of `LinkSelector` in mean {} accuracy:"
    return [
        *(start.format("1-NN"), lead_table(units, kinds, NEAREST)),
        *(start.format("linear SVM"), lead_table(units, kinds, LINEAR)),
    ]


def sections(units):
    """Return the parts of each section by its heading."""
    labels, everything = ("3 labels per class", "5 labels per class"), {*HELD_OUT, *CHOSEN_ON}

    def accuracies(*kinds):
        return by_group(units, kinds, lambda units, sets: accuracy_table(units, sets, kinds))

    def one_table(kinds, sentence, make):
        there = any(of_kind(units, kind, everything) for kind in kinds)
        return [sentence.format(extent(units, kinds, everything)), make(units)] if there else []

    return {
        "From pairs": [*accuracies(*BOTH_KINDS), *leads(units, ("20 pairs", "100 pairs"))],
        "From other kinds of pairs": by_group(units, SPECIAL, special_table),
        "From labels": [
            *accuracies(*labels),
            *accuracies("all labels"),
            *leads(units, ("3 labels per class", "all labels")),
        ],
        "Without supervision": [*accuracies("nothing"), *leads(units, ("nothing",))],
        "Stability": one_table(
            ("stability",),
            "Share of the first 20 features that are selected again, where features with |r| >= "
            "0.9 count as equal / Jaccard index (40 pairs in each half of the samples, or two "
            "halves of 40 pairs; {}, with at least 100 features):",
            stability_table,
        ),
        "Every data set": one_table(
            ("20 pairs", "100 pairs"),
            "1-NN accuracy (%) with 20 / 100 pairs, and the AUC with which `suspect_pairs` "
            "identifies wrong pairs if 10 % of 20 / 40 / 100 pairs are wrong (0.5 is chance; {}; "
            "held-out sets in italics):",
            set_table,
        ),
        "Choosing the method": one_table(
            ("choice",),
            "Loss in 1-NN accuracy, in points, relative to the best of eight methods that use "
            "pairs ({}; only where the pairs suffice for five folds):",
            choice_table,
        ),
    }


def tables(units):
    """Return all tables, in a fixed order."""
    units = [one for one in units if any(found is not None for found in one["values"].values())]
    units.sort(key=lambda one: (one["set"], one["draw"], one["kind"]))
    start = "The tables give accuracies (%) of 1-NN / linear SVM / random forest, and the lead of "
    start += "`LinkSelector` in points, with a 95 % bootstrap interval and the number of data sets "
    start += 'on which it leads. "Refuses" means that a method raises an error.'
    parts = [start]
    for heading, some in sections(with_references(units)).items():
        parts += [f"## {heading}", *some] if some else []
    return "\n\n".join(parts)


def write(text):
    """Put the tables between the marks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    marked = r"(<!-- measured -->).*?(<!-- end -->)"
    page = re.sub(marked, lambda m: f"{m[1]}\n\n{text}\n\n{m[2]}", page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")
