"""Simulate a person who is asked about pairs: what a good order of asking is worth.

Prints the tables of docs/asking_simulation.md and with `--write` puts them there. Finished units
are kept in a file, so the same command goes on where it was stopped. `--speed` measures how long
the next question and the live ranking take instead.

    python benchmarks/asking.py --seeds 30 --methods constraint similarity --write
    python benchmarks/asking.py --speed
"""

import argparse
import json
import os
import re
import resource
import sys
import time
import warnings
from functools import cache
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import linkselect as ls
from linkselect.asking import PairQueries
from linkselect.evaluation import nearest_neighbor_curve
from pairs_alone import DATA, NUMBERS, load

PAGE = Path(__file__).parents[1] / "docs" / "asking_simulation.md"
STORE = Path(__file__).parent / "asking.jsonl"

# On the first seven the strategy was chosen, with other seeds.
CHOSEN_ON = [
    "wine",
    "ionosphere",
    "dermatology",
    "libras_movement",
    "image_segmentation",
    "multiple_features",
    "colon",
]
OTHERS = ["wdbc", "yale_32x32", "allaml", "sonar"]
SETS = (*CHOSEN_ON, *OTHERS)
STRATEGIES = ("random", "grow", "minmax")
ANSWERS = (10, 20, 40, 80)
MOST_ROWS = 250
FIRST_SEED = 200
# The share of wrong and of unsure answers.
PERSONS = {"always right": (0.0, 0.0), "10 % wrong": (0.1, 0.0), "20 % unsure": (0.0, 0.2)}
METHODS = {
    "constraint": "Constraint Score (C1)",
    "constraint, pairs only": "Constraint Score, without the pairs that follow",
    "similarity": "similarity-based score (eps^S)",
    "consensus": "ConsensusSelector",
}


@cache
def prepared(name):
    """Return X scaled to [0, 1], and classes: of images 2 x 2 pixels pooled, of many columns some.

    The cuts are those of the first experiments, so that numbers can be compared with theirs.
    """
    if name == "yale_32x32":
        with np.load(DATA / f"{name}.npz") as content:
            X, y = content["X"].astype(float), content["y"]
        X = X.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(len(X), -1)
        return (X - X.min(axis=0)) / np.ptp(X, axis=0), np.unique(y, return_inverse=True)[1]
    X, y = load(name)
    if name == "multiple_features":
        X = X[:, np.sort(np.random.default_rng(2).choice(X.shape[1], 300, replace=False))]
    return X, y


def selector(method, n_features):
    """Return a method; the search takes 60 steps if there are many features."""
    if method == "similarity":
        return ls.SimilarityConstraintScore(n_features if n_features <= 200 else 60)
    if method == "consensus":
        return ls.ConsensusSelector(random_state=0)
    return ls.ConstraintScore()


def pairs_after(X, y, strategy, seed, person):
    """Yield the pairs after each number of answers; a contradiction ends as unsure."""
    wrong, unsure = PERSONS[person]
    mood = np.random.default_rng([seed, 11])
    queries = PairQueries(X, strategy=strategy, random_state=seed)
    for number in range(1, max(ANSWERS) + 1):
        pair = queries.next_pair()
        if pair is not None:
            alike = (y[pair[0]] == y[pair[1]]) != (mood.random() < wrong)
            said = "alike" if alike else "different"
            queries.answer(pair, "unsure" if mood.random() < unsure else said)
        if number in ANSWERS:
            yield queries.pairs


def units_of(methods, person, name, seed):
    """Measure every strategy for some methods, with the same answers for all of them."""
    X, y = prepared(name)
    rng = np.random.default_rng([seed, len(X)])
    rows, half = rng.permutation(len(X)), len(X) // 2
    train, test = np.sort(rows[:half][:MOST_ROWS]), np.sort(rows[half:][:MOST_ROWS])
    X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    counts = NUMBERS[max(2, X.shape[1] // 2) >= NUMBERS]
    asked = {strategy: list(pairs_after(X, y, strategy, seed, person)) for strategy in STRATEGIES}

    def accuracy(method, pairs):
        order = ranked(method, X, pairs)
        curve = nearest_neighbor_curve(X, y, X_test, y_test, order, counts)
        return round(100 * float(curve.mean()), 3)

    for method in methods:
        found = {"method": method, "person": person, "set": name, "seed": seed}
        for strategy, after in asked.items():
            found[strategy] = [accuracy(method, pairs) for pairs in after]
        yield found


def ranked(method, X, pairs):
    """Rank by all pairs that follow; by variance as long as a kind of pair is missing."""
    if not (pairs.n_must and pairs.n_cannot):
        return ls.VarianceScore().fit(X).order_
    known = pairs if method.endswith("pairs only") else pairs.closure()
    return selector(method, X.shape[1]).fit(X, pairs=known).order_


# -- tables -----------------------------------------------------------------------------------


def whole_seeds(units, method, person):
    """Return the units of the seeds that were run on all data sets, by seed."""
    by_seed = {}
    for one in units:
        if (one["method"], one["person"]) == (method, person):
            by_seed.setdefault(one["seed"], []).append(one)
    return [some for some in by_seed.values() if len(some) == len(SETS)]


def mean_over_sets(seeds, strategy):
    """Return accuracies: seeds by numbers of answers."""
    found = [np.mean([one[strategy] for one in some], axis=0) for some in seeds]
    return np.reshape(found, (-1, len(ANSWERS)))


def with_error(values):
    """Write the mean and the standard error."""
    if len(values) < 2:
        return f"{np.mean(values):+.1f}"
    return f"{np.mean(values):+.1f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def header(*columns):
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def gain_table(units):
    numbers = [f"{number} answers" for number in ANSWERS]
    lines = header("method", "person", "strategy", *numbers, "seeds")
    for method, person, strategy in product(METHODS, PERSONS, STRATEGIES[1:]):
        seeds = whole_seeds(units, method, person)
        gained = mean_over_sets(seeds, strategy) - mean_over_sets(seeds, "random")
        if len(gained):
            cells = [with_error(column) for column in gained.T]
            label = (METHODS[method], person, strategy, *cells, str(len(gained)))
            lines.append(f"| {' | '.join(label)} |")
    return "\n".join(lines)


def level_table(units):
    numbers = [f"{number} answers" for number in ANSWERS]
    lines = header("method", "strategy", *numbers)
    for method, strategy in product(METHODS, STRATEGIES):
        means = mean_over_sets(whole_seeds(units, method, "always right"), strategy)
        if len(means):
            cells = " | ".join(f"{mean:.1f}" for mean in means.mean(axis=0))
            lines.append(f"| {METHODS[method]} | {strategy} | {cells} |")
    return "\n".join(lines)


def set_table(units, method, number=20):
    place = ANSWERS.index(number)
    lines = header(
        "data set", "random", "grow", "minmax", "grow - random", "minmax - random", "seeds"
    )
    for name in SETS:
        some = [
            one
            for one in units
            if (one["method"], one["person"], one["set"]) == (method, "always right", name)
        ]
        if not some:
            continue
        values = np.array([[one[strategy][place] for strategy in STRATEGIES] for one in some])
        means = [f"{mean:.1f}" for mean in values.mean(axis=0)]
        differences = [with_error(values[:, i] - values[:, 0]) for i in (1, 2)]
        mark = "" if name in CHOSEN_ON else " (not used to choose)"
        lines.append(f"| {name}{mark} | {' | '.join([*means, *differences, str(len(some))])} |")
    return "\n".join(lines)


def tables(units):
    parts = [
        "Gain over random pairs in points of accuracy, mean over the eleven data sets and its "
        "standard error over seeds:",
        gain_table(units),
        "Mean accuracy, a person who is always right:",
        level_table(units),
    ]
    for method, label in METHODS.items():
        if whole_seeds(units, method, "always right"):
            parts.append(f"Every data set after 20 answers, {label}, a person who is always right:")
            parts.append(set_table(units, method))
    return "\n\n".join(parts)


# -- speed ------------------------------------------------------------------------------------


def speed(n_samples, n_features, n_answers=200, n_classes=10):
    """Time the start, the next question after an answer, and the live ranking."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    y = rng.integers(n_classes, size=n_samples)
    X[:, :n_classes] += 2.0 * np.eye(n_classes, dtype=np.float32)[y]
    for strategy in STRATEGIES:
        began = time.perf_counter()
        queries = PairQueries(X, strategy=strategy, random_state=0)
        start = time.perf_counter() - began
        asking, ranking = [], []
        pair = queries.next_pair()
        for _ in range(n_answers):
            began = time.perf_counter()
            queries.answer(pair, "alike" if y[pair[0]] == y[pair[1]] else "different")
            pair = queries.next_pair()
            asking.append(time.perf_counter() - began)
            began = time.perf_counter()
            queries.scores()
            ranking.append(time.perf_counter() - began)
        ask, rank = 1000 * np.median(asking), 1000 * np.median(ranking)
        last, worst = 1000 * np.median(asking[-20:]), 1000 * max(asking)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{n_samples:,} x {n_features:,} {strategy}: start {start:.1f} s; next question "
            f"{ask:.1f} ms (median; of the last 20 {last:.1f}; longest {worst:.1f}); "
            f"ranking {rank:.1f} ms; peak memory {peak:.2f} GB",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--persons", nargs="*", choices=PERSONS, default=list(PERSONS))
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.speed:
        speed(10_000, 1_000)
        speed(70_000, 784)
        return
    units = simulated(options)
    text = tables(units)
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- measured -->).*?(<!-- end -->)"
        page = re.sub(marked, lambda m: f"{m[1]}\n\n{text}\n\n{m[2]}", page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


def simulated(options):
    """Return all units, after running those that are not in the store."""
    warnings.simplefilter("ignore")
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    units = [json.loads(line) for line in lines]
    done = {(one["method"], one["person"], one["seed"], one["set"]) for one in units}
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    with STORE.open("a") as store:
        for person, seed, name in product(options.persons, seeds, options.sets):
            missing = [one for one in options.methods if (one, person, seed, name) not in done]
            if not missing:
                continue
            for found in units_of(missing, person, name, seed):
                units.append(found)
                store.write(json.dumps(found) + "\n")
            store.flush()
            print(f"{len(units)}: {person} {seed} {name}", file=sys.stderr)
    return units


if __name__ == "__main__":
    main()
