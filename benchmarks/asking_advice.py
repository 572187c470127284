"""When more answers are no longer worth it: the states that a page may speak about, and chance."""

import numpy as np

import linkselect as ls
from asking_person import answered, ranked, tested
from linkselect.evaluation import validate
from linkselect.labelling._labelling import number_of_best
from pairs_alone import read, split

EVERY, MOST = 10, 100


def explained(X, pairs, features):
    """Return which share of what all features explain some of them explain."""
    rules = ls.FeatureRules(ls.LinkSelector(), len(features), keep=features)
    return float(rules.fit(X, pairs=pairs).estimator_.path_[-1])


def course(name, draw, person):
    """Follow the default order: after every ten answers what the page knows, and accuracies.

    `best` and `many` have, for the features of the page and for 50, the share of what those chosen
    now explain that those chosen 10 and 20 answers ago, and from no answer, would explain now.
    """
    data = split(*read(name), draw)
    varies = int((np.ptp(data.X, axis=0) > 0).sum())
    numbers = {"best": min(number_of_best(data.X.shape[1]), varies), "many": min(50, varies)}
    before = [ranked(data.X, None).order_]
    found = []
    questions = answered(data.X, data.y, "nearest", draw, person, MOST)
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
    """Measure what the page measures after every tenth answer."""
    selector = ls.LinkSelector(number_of_best(X.shape[1]))
    return validate(selector, X, pairs=pairs, n_resamples=0)


def looks(seed, n_classes, order):
    """Return the p-value after every ten answers if classes have nothing to do with the samples."""
    rng = np.random.default_rng([seed, n_classes])
    X, y = rng.normal(size=(100, 20)), rng.permutation(100) % n_classes
    questions = enumerate(answered(X, y, order, seed, "always right", MOST), start=1)
    return [
        check(X, queries.pairs).p_value if queries.pairs.n_must else None
        for number, queries in questions
        if number % EVERY == 0
    ]
