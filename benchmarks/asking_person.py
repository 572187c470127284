"""A simulated person who answers questions about pairs, and the store of the results."""

import json
import sys
import time
from pathlib import Path

import numpy as np

import linkselect as ls
from linkselect.asking import PairQueries
from pairs_alone import accuracy
from pairs_alone_tables import CHOSEN_ON, HELD_OUT

STORE = Path(__file__).parent / "asking.jsonl"
SETS = (*CHOSEN_ON, *HELD_OUT)
# Shares of wrong and of unsure answers.
PERSONS = {"always right": (0.0, 0.0), "10 % wrong": (0.1, 0.0), "20 % unsure": (0.0, 0.2)}
COUNTS, MOST_FEATURES = (5, 10, 20, 30, 50), 50


def answered(X, y, order, seed, person, n_answers):
    """Yield the queries after every answer; they stay unchanged once no question is left."""
    wrong, unsure = PERSONS[person]
    mood = np.random.default_rng([seed, 11])
    queries = PairQueries(X, strategy=order, random_state=seed)
    for _ in range(n_answers):
        pair = queries.next_pair()
        if pair is not None:
            alike = (y[pair[0]] == y[pair[1]]) != (mood.random() < wrong)
            said = "alike" if alike else "different"
            queries.answer(pair, "unsure" if mood.random() < unsure else said)
        yield queries


def ranked(X, pairs):
    """Return LinkSelector, fitted for the largest number of features that is tested."""
    return ls.LinkSelector(min(MOST_FEATURES, X.shape[1])).fit(X, pairs=pairs)


def tested(data, order):
    """Return the accuracy, in per cent, of 1-NN and of a linear SVM with the first features."""
    return accuracy(data, order, COUNTS, ())[:2]


def stored():
    """Return the stored results by job."""
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    units = (json.loads(line) for line in lines)
    return {tuple(one["job"]): one["found"] for one in units}


def run(jobs, measures):
    """Measure the jobs that are not stored. A job is the name of a measure and its arguments."""
    done = stored()
    left = [job for job in jobs if job not in done]
    start = time.perf_counter()
    with STORE.open("a") as store:
        for number, job in enumerate(left, start=1):
            found = measures[job[0]](*job[1:])
            store.write(json.dumps({"job": job, "found": found}) + "\n")
            store.flush()
            minutes = (time.perf_counter() - start) / 60
            print(f"{number} of {len(left)}, {minutes:.1f} min: {job}", file=sys.stderr)
