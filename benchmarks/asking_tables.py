"""The tables of docs/asking_simulation.md about the order of questions."""

from pathlib import Path

import numpy as np

from pairs_alone_tables import CHOSEN_ON, HELD_OUT

ANSWERS = (10, 20, 40, 80)
# Orders that are measured on more draws.
FINALISTS = ("random", "minmax", "grow", "nearest", "grow, Constraint Score")
PAGE = Path(__file__).parents[1] / "docs" / "asking_simulation.md"
GROUPS = {"chosen on": CHOSEN_ON, "held out": HELD_OUT}
BASE = "random"


def by_set(units, person, order):
    """Return accuracies by data set and draw: numbers of answers by 1-NN and SVM."""
    return {
        (one["set"], one["draw"]): np.array(one["accuracy"])
        for one in units
        if (one["person"], one["order"]) == (person, order)
    }


def gains(units, person, order, sets, base=BASE):
    """Return the gain of an order of questions, data sets by numbers of answers, and its draws.

    Only what both were tried on counts; 1-NN and SVM are averaged, and so are draws.
    """
    mine, other = by_set(units, person, order), by_set(units, person, base)
    found = {}
    for place in mine.keys() & other.keys():
        if place[0] in sets:
            found.setdefault(place[0], []).append((mine[place] - other[place]).mean(axis=1))
    means = [np.mean(found[name], axis=0) for name in sorted(found)]
    return np.array(means), min(map(len, found.values()), default=0)


def with_error(values):
    """Write the mean over data sets and its standard error."""
    return f"{np.mean(values):+.1f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def gain_table(units, orders, persons, answers, group):
    """Return the gains over random questions."""
    rows = []
    for person in persons:
        for order in orders:
            found, n_draws = gains(units, person, order, GROUPS[group])
            if len(found) == len(GROUPS[group]):
                cells = [with_error(column) for column in found.T]
                mean = with_error(found.mean(axis=1))
                rows.append([person, order, *cells, f"**{mean}**", n_draws])
    return table(["person", "order", *(f"{n} answers" for n in answers), "mean", "draws"], rows)


def level_table(units, orders, answers, group):
    """Return mean accuracies by 1-NN / SVM of a person who is always right, and alike answers."""
    rows = []
    for order in orders:
        found = by_set(units, "always right", order)
        some = [value for (name, _), value in found.items() if name in GROUPS[group]]
        if not some:
            continue
        levels = [f"{a:.1f} / {b:.1f}" for a, b in np.mean(some, axis=0)]
        alike = [
            [pair[0] for pair in one["answers"]]
            for one in units
            if (one["person"], one["order"]) == ("always right", order)
            and one["set"] in GROUPS[group]
        ]
        rows.append([order, *levels, " / ".join(f"{n:.0f}" for n in np.mean(alike, axis=0))])
    return table(["order", *(f"{n} answers" for n in answers), "alike answers"], rows)


def set_table(units, orders):
    """Return the mean gain on every data set, a person who is always right."""
    columns = [gains_by_name(units, order) for order in orders]
    rows = []
    for group, sets in GROUPS.items():
        for name in sets:
            cells = [f"{column[name]:+.1f}" if name in column else "-" for column in columns]
            rows.append([name + (" (held out)" if group == "held out" else ""), *cells])
    return table(["data set", *orders], rows)


def gains_by_name(units, order):
    found = {}
    for name in (*CHOSEN_ON, *HELD_OUT):
        values, _ = gains(units, "always right", order, {name})
        if len(values):
            found[name] = float(values.mean())
    return found


def tables(units):
    return {}
