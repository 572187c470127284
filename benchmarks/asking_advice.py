"""Measure when more answers stop improving the features, and how often noise looks significant."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

import linkselect as ls
from asking_person import answered, ranked, tested
from asking_tables import table, with_error
from linkselect.evaluation import validate
from linkselect.evaluation._permutation import LEVEL
from linkselect.labelling._advice import STATES
from linkselect.labelling._labelling import number_of_best
from pairs_alone import read, split
from pairs_alone_tables import CHOSEN_ON, HELD_OUT, N_BOOTSTRAP

EVERY, MOST = 10, 100


def explained(X, pairs, features):
    """Return the share explained by some features, relative to all features."""
    rules = ls.FeatureRules(ls.LinkSelector(), len(features), keep=features)
    return float(rules.fit(X, pairs=pairs).estimator_.path_[-1])


def course(name, draw, person):
    """Follow the default order; return accuracies and the state of the page every ten answers.

    `best` and `many` (the features of the page, and 50) compare what three earlier selections
    explain with what the present one explains: those of 10 and 20 answers ago, and of no answer.
    """
    data = split(*read(name), draw)
    varies = int((np.ptp(data.X, axis=0) > 0).sum())
    numbers = {"best": min(number_of_best(data.X.shape[1]), varies), "many": min(50, varies)}
    before = [ranked(data.X, None).order_]
    found = []
    questions = answered(data.X, data.y, "grow", draw, person, MOST)
    for number, queries in enumerate(questions, start=1):
        if number % EVERY:
            continue
        selector = ranked(data.X, queries.pairs)
        state = {"answers": list(queries.counts.values())}
        state["accuracy"] = tested(data, selector.order_)
        for label, n in numbers.items():
            chosen, reached = selector.order_[:n], float(selector.path_[n - 1])
            state[label] = [
                1.0
                if set(past[:n]) == set(chosen)
                else explained(data.X, queries.pairs, past[:n]) / reached
                for past in (before[-1], before[max(len(before) - 2, 0)], before[0])
            ]
        kept = set(before[-1][: numbers["best"]]) & set(selector.order_[: numbers["best"]])
        state["stayed"] = len(kept) / numbers["best"]
        held_out = check(data.X, queries.pairs)
        state["auc"] = held_out.estimate and held_out.estimate.value
        state["p"] = held_out.p_value
        found.append(state)
        before.append(selector.order_)
    return found


def check(X, pairs):
    """Validate as the page does after every tenth answer."""
    selector = ls.LinkSelector(number_of_best(X.shape[1]))
    return validate(selector, X, pairs=pairs, n_resamples=0)


def looks(seed, n_classes, order):
    """Return the p-value after every ten answers if classes are independent of the samples."""
    rng = np.random.default_rng([seed, n_classes])
    X, y = rng.normal(size=(100, 20)), rng.permutation(100) % n_classes
    questions = enumerate(answered(X, y, order, seed, "always right", MOST), start=1)
    return [
        check(X, queries.pairs).p_value if queries.pairs.n_must else None
        for number, queries in questions
        if number % EVERY == 0
    ]


# -- tables -----------------------------------------------------------------------------------


class State(NamedTuple):
    """The state after some answers, and the gain of the next 20."""

    name: str
    known: dict[str, float | None]
    gain: float


FORECASTS = {
    "answers": "number of answers",
    "alike": "number of alike answers",
    "auc": "AUC on held-out pairs, where available",
    "stayed": "share of the best features kept over the last 10 answers",
    "best 10": "share of what the best features explain that those of 10 answers ago explain",
    "best 20": "the same, of 20 answers ago",
    "many 20": "the same with 50 features",
}


def states(units, sets):
    """Return the states in which 20 more answers could be given.

    Like the page, only states count that had an alike answer 10 answers ago.
    """
    found = []
    for job, course in units.items():
        if job[0] != "course" or job[1] not in sets:
            continue
        accuracy = np.mean([one["accuracy"] for one in course], axis=1)
        numbers = [sum(one["answers"]) for one in course]
        for place in range(1, len(course) - 2):
            one, before = course[place], course[place - 1]
            if numbers[place + 2] < EVERY * (place + 3) or not before["answers"][0]:
                continue
            known = {"answers": numbers[place], "alike": one["answers"][0]}
            known |= {"stayed": one["stayed"], "auc": one["auc"]}
            for label in ("best", "many"):
                known |= dict(
                    zip((f"{label} 10", f"{label} 20", f"{label} 0"), one[label], strict=True)
                )
            found.append(State(job[1], known, accuracy[place + 2] - accuracy[place]))
    return found


def interval(some, value):
    """Return the 95 % bootstrap interval over data sets of a mean over states."""
    by_set = {}
    for one in some:
        by_set.setdefault(one.name, []).append(value(one))
    sums = np.array([(np.sum(values), len(values)) for values in by_set.values()])
    draws = np.random.default_rng(0).integers(len(sums), size=(N_BOOTSTRAP, len(sums)))
    total = sums[draws].sum(axis=1)
    return np.percentile(total[:, 0] / total[:, 1], [2.5, 97.5])


def advice_table(units, sets):
    """Return the gain of the next 20 answers, by the share of best features kept."""
    head = ["features kept", "states", "gain of 20 answers", "gained more than 1", "more than 2"]
    head.append("lost more than 1")
    every, rows = states(units, sets), []
    uppers = (np.inf, *(state.least for state in STATES[:-1]))
    for state, upper in zip(STATES, uppers, strict=True):
        some = [one for one in every if state.least - 1e-9 <= one.known["stayed"] < upper - 1e-9]
        gains = np.array([one.gain for one in some])
        low, high = interval(some, lambda one: one.gain)
        least, most = interval(some, lambda one: 100.0 * (one.gain > 1))
        rows.append(
            [
                f"{100 * state.least:.0f} % or more" if state.least else "less",
                len(some),
                f"{gains.mean():+.1f} [{low:+.1f}, {high:+.1f}]",
                f"{100 * (gains > 1).mean():.0f} % [{least:.0f}, {most:.0f}]",
                f"{100 * (gains > 2).mean():.0f} %",
                f"{100 * (gains < -1).mean():.0f} %",
            ]
        )
    return table(head, rows)


def forecast(some, label, n_parts=3):
    """Forecast the gain on each data set from the others, by thirds of a number.

    Returns
    -------
    tuple
        The share of the variance explained, and for each data set by how much the squared error is
        smaller than that of a single mean.
    """
    some = [one for one in some if one.known[label] is not None]
    values, gains = np.array([(one.known[label], one.gain) for one in some]).T
    names = np.array([one.name for one in some])
    plain, better = [], []
    for name in np.unique(names):
        own = names == name
        edges = np.unique(np.quantile(values[~own], np.arange(1, n_parts) / n_parts))
        part = np.searchsorted(edges, values)
        mean = gains[~own].mean()
        means = [
            gains[~own & (part == one)].mean() if (~own & (part == one)).any() else mean
            for one in range(len(edges) + 1)
        ]
        plain.append(np.mean((gains[own] - mean) ** 2))
        better.append(plain[-1] - np.mean((gains[own] - np.array(means)[part[own]]) ** 2))
    return np.mean(better) / np.mean(plain), better


def forecast_table(units, sets):
    """Return how well each number forecasts the gain of 20 more answers."""
    every, rows = states(units, sets), []
    for label, words in FORECASTS.items():
        share, better = forecast(every, label)
        rows.append([words, f"{100 * share:+.1f} %", with_error(better)])
    return table(["number", "variance explained", "squared error less by"], rows)


def noise_table(units):
    """Return how often noise is called better than chance within 100 answers."""
    by_order = {}
    for job, found in units.items():
        if job[0] == "noise":
            right = [p is not None and p <= LEVEL for p in found]
            by_order.setdefault(job[3], []).append((found, right))
    rows = []
    for order, runs in by_order.items():
        n_checks = sum(p is not None for found, _ in runs for p in found)
        ever = np.mean([any(right) for _, right in runs])
        twice = np.mean([any(map(all, pairwise(right))) for _, right in runs])
        error = np.sqrt(np.maximum([ever, twice], 1 / len(runs)) / len(runs))
        each = sum(sum(right) for _, right in runs) / n_checks
        shares = 100 * np.transpose([(ever, twice), error])
        cells = [f"{100 * each:.1f} %", *(f"{a:.1f} ± {b:.1f} %" for a, b in shares)]
        rows.append([order, len(runs), f"{n_checks / len(runs):.1f}", *cells])
    return table(
        ["order", "runs", "checks per run", "per check", "any check", "two in a row"], rows
    )


def advice_tables(units):
    """Return all tables about when to stop by their marks."""
    return {
        "forecasts": forecast_table(units, CHOSEN_ON),
        "advice": advice_table(units, CHOSEN_ON),
        "advice, held out": advice_table(units, HELD_OUT),
        "noise": noise_table(units),
    }
