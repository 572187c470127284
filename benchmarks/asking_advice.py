"""When more answers are no longer worth it: what forecasts the gain of the next 20.

    python benchmarks/asking_advice.py --draws 5
"""

import argparse
import json
import os
import sys
import time
import warnings
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import linkselect as ls
from asking import PERSONS, SETS, STORE, TRIED, COUNTS, answered, stored
from linkselect.asking import STRATEGIES
from linkselect.evaluation import validate
from linkselect.labelling._labelling import number_of_best
from pairs_alone import accuracy, read, split

EVERY, MOST = 10, 100


def explained(X, pairs, features):
    """Return which share of what all features explain some of them explain."""
    rules = ls.FeatureRules(ls.LinkSelector(), len(features), keep=features)
    return float(rules.fit(X, pairs=pairs).estimator_.path_[-1])


def course(name, draw, person, order):
    data = split(*read(name), draw)
    varies = int((np.ptp(data.X, axis=0) > 0).sum())
    n_best, n_many = min(number_of_best(data.X.shape[1]), varies), min(50, varies)
    before = [ls.LinkSelector(n_many).fit(data.X).order_]
    found = []
    for number, queries in enumerate(answered(data.X, data.y, order, draw, person), start=1):
        if number % EVERY:
            continue
        pairs = queries.pairs
        selector = ls.LinkSelector(n_many).fit(data.X, pairs=pairs)
        now, path = selector.order_, selector.path_
        state = {"answers": list(queries.counts.values()), "best": now[:n_best].tolist()}
        state["accuracy"] = accuracy(data, now, COUNTS, ())[:2]
        for n in (n_best, n_many):
            past = [before[-1], before[max(len(before) - 2, 0)], before[0]]
            state[f"kept {n == n_best}"] = [
                1.0 if set(one[:n]) == set(now[:n])
                else explained(data.X, pairs, one[:n]) / float(path[n - 1]) for one in past
            ]
            state[f"path {n == n_best}"] = float(path[n - 1])
        held = validate(ls.LinkSelector(n_best), data.X, pairs=pairs, n_resamples=0)
        state["estimate"] = held.estimate and held.estimate.value
        state["p"] = held.p_value
        found.append(state)
        before.append(now)
        if number == MOST:
            return {"course": found}


def key(one):
    return one["set"], one["draw"], one["person"], one["order"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--orders", nargs="+", default=["grow"])
    parser.add_argument("--persons", nargs="+", default=list(PERSONS))
    options = parser.parse_args()
    STRATEGIES.update(TRIED)
    warnings.simplefilter("ignore")
    done = {key(one) for one in stored() if "course" in one}
    jobs = product(range(options.draws), options.persons, options.orders, SETS)
    start = time.perf_counter()
    with STORE.open("a") as store:
        for draw, person, order, name in jobs:
            if (name, draw, person, order) in done:
                continue
            found = {"set": name, "draw": draw, "person": person, "order": order}
            store.write(json.dumps(found | course(name, draw, person, order)) + "\n")
            store.flush()
            print(f"{time.perf_counter() - start:.0f} s: {name} {draw} {person} {order}", file=sys.stderr)


if __name__ == "__main__":
    main()
