"""Simulate a person who is asked about pairs: what the order of questions is worth, when to stop.

Prints the tables of docs/asking_simulation.md and with `--write` puts them there. Finished units
are kept in a file, so the same command goes on where it was stopped. `--speed` measures how long
the next question takes instead.

    python benchmarks/asking.py --draws 5 --write    # about 1 hour on one core
    python benchmarks/asking.py --speed

Half of the rows (at most 200) are asked about, the other half (at most 200) tests, as in
pairs_alone.py. After so many answers LinkSelector ranks the features from the pairs that were
answered; a nearest neighbour and a linear SVM test the first 5 to 50.
"""

import argparse
import json
import os
import sys
import time
import warnings
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import linkselect as ls
from asking_orders import TRIED
from linkselect.asking import STRATEGIES, PairQueries
from pairs_alone import accuracy, read, split
from pairs_alone_tables import CHOSEN_ON, HELD_OUT

STORE = Path(__file__).parent / "asking.jsonl"
SETS = (*CHOSEN_ON, *HELD_OUT)
ANSWERS = (10, 20, 40, 80)
COUNTS, N_FEATURES = (5, 10, 20, 30, 50), 50
# The share of wrong and of unsure answers.
PERSONS = {"always right": (0.0, 0.0), "10 % wrong": (0.1, 0.0), "20 % unsure": (0.0, 0.2)}
ORDERS = (*STRATEGIES, *TRIED)


def answered(X, y, order, seed, person):
    """Yield the questions after every answer; when nothing is left, they stay as they are."""
    wrong, unsure = PERSONS[person]
    mood = np.random.default_rng([seed, 11])
    queries = PairQueries(X, strategy=order, random_state=seed)
    while True:
        pair = queries.next_pair()
        if pair is not None:
            alike = (y[pair[0]] == y[pair[1]]) != (mood.random() < wrong)
            said = "alike" if alike else "different"
            queries.answer(pair, "unsure" if mood.random() < unsure else said)
        yield queries


def measured(data, pairs):
    """Return the accuracy of 1-NN and of a linear SVM with the features of some pairs."""
    selector = ls.LinkSelector(min(N_FEATURES, data.X.shape[1]))
    return accuracy(data, selector.fit(data.X, pairs=pairs).order_, COUNTS, ())[:2]


def ask(name, draw, person, order):
    """Measure one order of questions."""
    data = split(*read(name), draw)
    found, kinds = [], []
    questions = answered(data.X, data.y, order, draw, person)
    for number, queries in zip(range(1, max(ANSWERS) + 1), questions, strict=False):
        if number in ANSWERS:
            found.append(measured(data, queries.pairs))
            kinds.append([queries.counts["alike"], queries.counts["different"]])
    return {"accuracy": found, "answers": kinds}


def key(one):
    return one["set"], one["draw"], one["person"], one["order"]


def stored():
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--persons", nargs="+", choices=PERSONS, default=list(PERSONS))
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS))
    options = parser.parse_args()
    STRATEGIES.update(TRIED)
    warnings.simplefilter("ignore")
    done = {key(one) for one in stored() if "accuracy" in one}
    jobs = product(range(options.draws), options.persons, options.sets, options.orders)
    start = time.perf_counter()
    with STORE.open("a") as store:
        for draw, person, name, order in jobs:
            if (name, draw, person, order) in done:
                continue
            found = {"set": name, "draw": draw, "person": person, "order": order}
            store.write(json.dumps(found | ask(name, draw, person, order)) + "\n")
            store.flush()
            print(f"{time.perf_counter() - start:.0f} s: {name} {draw} {person} {order}", file=sys.stderr)


if __name__ == "__main__":
    main()
