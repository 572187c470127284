"""The tables of docs/asking_simulation.md about the order of questions."""

from itertools import product

import numpy as np

from asking_person import PERSONS
from pairs_alone_tables import CHOSEN_ON, HELD_OUT

ANSWERS = (10, 20, 40, 80)
GROUPS = {"design": CHOSEN_ON, "held out": HELD_OUT}
# Orders measured on more draws, and the baseline.
SHOWN = ("random", "minmax", "grow", "nearest")
FINALISTS = (*SHOWN, "grow, Constraint Score")
BASE = "random"


def measured(units, order, person, sets):
    """Return accuracies by data set and draw: numbers of answers by 1-NN and SVM."""
    return {
        (job[1], job[2]): np.array(found["accuracy"])
        for job, found in units.items()
        if job[0] == "order" and job[3:] == (person, order) and job[1] in sets
    }


def gains(units, order, persons, sets, base=BASE):
    """Return the gains over a baseline, data sets by numbers of answers, and the number of draws.

    Only units that both orders have count; 1-NN and SVM, draws and persons are averaged.
    """
    by_set = {}
    for person in persons:
        mine, other = (measured(units, one, person, sets) for one in (order, base))
        for name, draw in mine.keys() & other.keys():
            gain = (mine[name, draw] - other[name, draw]).mean(axis=1)
            by_set.setdefault(name, []).append(gain)
    means = [np.mean(by_set[name], axis=0) for name in sorted(by_set)]
    return np.array(means), min(map(len, by_set.values()), default=0) // len(persons)


def with_error(values):
    """Return the mean over data sets and its standard error as text."""
    return f"{np.mean(values):+.1f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def gain_row(units, label, order, persons, sets, base=BASE):
    found, n_draws = gains(units, order, persons, sets, base)
    cells = [with_error(column) for column in (*found.T, found.mean(axis=1))]
    ahead = f"{(found.mean(axis=1) > 0).sum()}/{len(found)}"
    return [*label, *cells, ahead, n_draws]


def gain_table(units, group):
    """Return the gains over random questions of the orders measured on most draws."""
    head = ["person", "order", *(f"{n} answers" for n in ANSWERS), "mean", "ahead on", "draws"]
    rows = [
        gain_row(units, (person, order), order, (person,), GROUPS[group])
        for person, order in product(PERSONS, SHOWN[1:])
    ]
    return table(head, rows)


def tried_table(units, orders):
    """Return the gains over `grow` of all orders that were tried, over all persons."""
    head = ["order", *(f"{n} answers" for n in ANSWERS), "mean", "ahead on", "draws"]
    rows = [
        gain_row(units, (order,), order, tuple(PERSONS), CHOSEN_ON, "grow")
        for order in orders
        if order != "grow"
    ]
    return table(head, rows)


def level_table(units):
    """Return accuracies by 1-NN / SVM for a person who is always right, and alike answers."""
    rows = []
    for group, order in product(GROUPS, ("random", "grow", "nearest")):
        found = measured(units, order, "always right", GROUPS[group])
        levels = np.mean(list(found.values()), axis=0)
        alike = [
            np.array(one["answers"])[:, 0]
            for job, one in units.items()
            if job[0] == "order" and job[3:] == ("always right", order) and job[1] in GROUPS[group]
        ]
        cells = [
            f"{a:.1f} / {b:.1f} ({n:.0f})"
            for (a, b), n in zip(levels, np.mean(alike, axis=0), strict=True)
        ]
        rows.append([group, order, *cells])
    return table(["data sets", "order", *(f"{n} answers" for n in ANSWERS)], rows)


def set_table(units):
    """Return the gain of `grow` on every data set, over all persons and numbers of answers."""
    cells = []
    for name in (*CHOSEN_ON, *HELD_OUT):
        gain = gains(units, "grow", tuple(PERSONS), (name,))[0].mean()
        cells.append((f"*{name}*" if name in HELD_OUT else name, f"{gain:+.1f}"))
    rows = [[*sum(cells[place : place + 3], ())] for place in range(0, len(cells), 3)]
    return table(["data set", "gain"] * 3, rows)


def order_tables(units, orders):
    """Return all tables about the order of questions by their marks."""
    return {
        "gains": gain_table(units, "design"),
        "gains, held out": gain_table(units, "held out"),
        "levels": level_table(units),
        "tried": tried_table(units, orders),
        "sets": set_table(units),
    }
