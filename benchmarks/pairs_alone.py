"""Measure the features that LinkSelector and others select from pairs, labels, both or neither.

Prints the tables of docs/pairs_alone.md, and `--write` puts them there. It resumes where it ended:

    python benchmarks/pairs_alone.py --draws 2 --write    # about 15 minutes on 2 cores
    python benchmarks/pairs_alone.py --only "20 pairs" "all labels" --sets khan trace
    python benchmarks/pairs_alone.py --forget LinkSelector --write    # measure it again

Half of the samples (at most 200) train, the other half (at most 200) tests, both scaled to [0, 1]
by the training half; LinkSelector gets unscaled samples. A method that raises an error yields None.
"""

import argparse
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import Pool
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

import linkselect as ls
from linkselect.evaluation import (
    PairKFold,
    nearest_neighbor_curve,
    pair_auc,
    pair_auc_curve,
    suspect_pairs,
)
from measured_pages import show
from pairs_alone_findings import findings, headline
from pairs_alone_tables import (
    BOTH_KINDS,
    CHOSEN_ON,
    FROM_PAIRS,
    HELD_OUT,
    KINDS,
    ON_LABELLED,
    PAGE,
    tables,
    write,
)

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
README = Path(__file__).parents[1] / "README.md"
STORE = Path(__file__).parent / "pairs_alone.jsonl"
MOST_ROWS, N_RANDOM, FLIPPED = 200, 10, 0.1
COUNTS, FOREST_COUNTS = (5, 10, 20, 30, 50), (20, 50)
# Stability of the first 20 features, on data sets with at least 100.
FIRST, FEWEST, ALIKE, PAIRS_FOR_STABILITY = 20, 100, 0.9, 40

# Number of pairs drawn, and which of them are used: must-links alone are those of both kinds.
OF_A_DRAW = {
    "20 pairs": (20, "both"),
    "40 pairs": (40, "both"),
    "100 pairs": (100, "both"),
    "10 must-links": (20, "must"),
    "50 must-links": (100, "must"),
    "50 cannot-links": (100, "cannot"),
    "20 pairs, 10 % wrong": (20, "flipped"),
    "100 pairs, 10 % wrong": (100, "flipped"),
}

# -- samples and supervision --------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Unscaled samples, samples scaled by the training half, and their classes."""

    X: np.ndarray
    X_test: np.ndarray
    train: np.ndarray
    y: np.ndarray
    test: np.ndarray
    y_test: np.ndarray


def read(name):
    """Return all samples, with column medians for missing values, and classes."""
    with np.load(DATA / f"{name}.npz") as content:
        X, y = content["X"], content["y"]
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return X, np.unique(y, return_inverse=True)[1]


def split(X, y, draw):
    """Return training rows from one random half, and test rows from the other."""
    rows, half = np.random.default_rng([draw, len(X)]).permutation(len(X)), len(X) // 2
    train, test = np.sort(rows[:half][:MOST_ROWS]), np.sort(rows[half:][:MOST_ROWS])
    own, other = X[train].astype(float), X[test].astype(float)
    scaler = MinMaxScaler().fit(own)
    return Split(own, other, scaler.transform(own), y[train], scaler.transform(other), y[test])


def drawn(y, budget, draw):
    """Draw equal numbers of must-links and cannot-links, fewer if the labels imply fewer."""
    every, half = ls.Pairs.from_labels(y), budget // 2
    n_must, n_cannot = min(half, every.n_must), min(half, every.n_cannot)
    seed = int(np.random.default_rng([draw, budget, len(y)]).integers(2**31))
    return ls.Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)


def flipped(pairs, draw):
    """Flip some pairs of each kind; return all pairs, and the wrong ones."""
    rng = np.random.default_rng([draw, 7])
    kept, wrong = [], []
    for links in (pairs.must, pairs.cannot):
        places = rng.choice(len(links), max(1, round(FLIPPED * len(links))), replace=False)
        kept.append([link for place, link in enumerate(links) if place not in places])
        wrong.append([links[place] for place in sorted(places)])
    pairs = ls.Pairs(kept[0] + wrong[1], kept[1] + wrong[0], n_samples=pairs.n_samples)
    return pairs, wrong[0] + wrong[1]


def as_they_come(y, number, draw):
    """Draw pairs of random rows, of either kind."""
    every = np.column_stack(np.triu_indices(len(y), 1))
    rng = np.random.default_rng([draw, number, len(y)])
    some = every[rng.choice(len(every), min(number, len(every)), replace=False)]
    alike = y[some[:, 0]] == y[some[:, 1]]
    return ls.Pairs(some[alike].tolist(), some[~alike].tolist(), n_samples=len(y))


def some_labels(y, per_class, draw):
    """Keep the labels of a few samples of each class; the others are -1."""
    rng = np.random.default_rng([draw, per_class, len(y)])
    few = np.full(len(y), -1)
    for one in np.unique(y):
        few[rng.permutation(np.flatnonzero(y == one))[:per_class]] = one
    return few


def known(kind, y, draw):
    """Return the arguments of `fit` in addition to the samples."""
    if kind == "nothing":
        return {}
    if kind == "all labels":
        return {"y": y}
    if kind.endswith("labels per class"):
        return {"y": some_labels(y, int(kind[0]), draw)}
    if kind == "100 pairs as they come":
        return {"pairs": as_they_come(y, 100, draw)}
    if kind.endswith("20 must-links"):
        few = some_labels(y, 3, draw)
        links = ls.Pairs(must=drawn(np.where(few < 0, y, -1), 40, draw).must, n_samples=len(y))
        return {"pairs": links if kind == "20 must-links" else links | ls.Pairs.from_labels(few)}
    budget, part = OF_A_DRAW[kind]
    pairs = drawn(y, budget, draw)
    told = {
        "both": pairs,
        "must": ls.Pairs(must=pairs.must, n_samples=len(y)),
        "cannot": ls.Pairs(cannot=pairs.cannot, n_samples=len(y)),
        "flipped": flipped(pairs, draw)[0],
    }
    return {"pairs": told[part]}


# -- methods ------------------------------------------------------------------------------------


class FastCan:
    """Forward selection by canonical correlation with the classes, as in fastcan."""

    def __init__(self, steps):
        self.steps = steps

    def fit(self, X, y):
        from fastcan import FastCan as ForwardSelection

        # It raises an error once no feature is linearly independent of the selected ones.
        steps = min(self.steps, np.linalg.matrix_rank(X - X.mean(axis=0)))
        classes = (y[:, None] == np.unique(y)[1:]).astype(float)
        chosen = ForwardSelection(steps, verbose=0).fit(X, classes).indices_
        self.order_ = np.r_[chosen, np.setdiff1d(np.arange(X.shape[1]), chosen)]
        return self


def methods(n_features, on_conflict="raise"):
    """Return all methods by name; searches take at most 50 steps."""
    steps, settle = min(50, n_features), {"on_conflict": on_conflict}
    similarity = partial(ls.SimilarityConstraintScore, steps, **settle)
    pair_methods = (
        ls.LinkSelector(steps, **settle),
        ls.ConsensusSelector(random_state=0, **settle),
        similarity(mode="semi-supervised", max_pairs=1000, random_state=0),
        similarity(),
        ls.SCGS(tol=1e-2, **settle),
        ls.LSDF(**settle),
        ls.ConstraintScore(**settle),
        ls.CompensatedLaplacianScore(**settle),
        ls.LaplacianConstraintScore(**settle),
        ls.ConstrainedLaplacianScore(**settle),
    )
    return dict(zip(FROM_PAIRS, pair_methods, strict=True)) | {
        "Redundancy(FisherScore)": ls.Redundancy(ls.FisherScore(), steps),
        "MRMR": ls.MRMR(steps),
        "FisherScore": ls.FisherScore(),
        "ReliefF": ls.ReliefF(),
        "FastCan": FastCan(steps),
        "Redundancy(LaplacianScore)": ls.Redundancy(ls.LaplacianScore(), steps),
        "LaplacianScore": ls.LaplacianScore(),
        "VarianceScore": ls.VarianceScore(),
    }


def order_of(label, X, scaled, told, on_conflict="raise"):
    """Return the features in the order of a method, best first, or None if it raises an error."""
    samples = X if label == "LinkSelector" else scaled
    if label in (*ON_LABELLED, "FastCan"):
        labelled = told["y"] >= 0
        samples, told = samples[labelled], {"y": told["y"][labelled]}
    try:
        return methods(X.shape[1], on_conflict)[label].fit(samples, **told).order_
    except (ValueError, RuntimeError):
        return None


# -- measurements ---------------------------------------------------------------------------------


def accuracy(data, order, counts=COUNTS, forest_counts=FOREST_COUNTS):
    """Return the accuracy, in per cent, of 1-NN, linear SVM and forest with the first features.

    The accuracy of the forest is None if there are too few features.
    """
    counts, of_forest = ([n for n in some if n <= len(order)] for some in (counts, forest_counts))

    def tested(model, count):
        model.fit(data.train[:, order[:count]], data.y)
        return model.score(data.test[:, order[:count]], data.y_test)

    linear = [tested(LinearSVC(C=1, max_iter=300, random_state=0), n) for n in counts]
    forest = [tested(RandomForestClassifier(50, n_jobs=1, random_state=0), n) for n in of_forest]
    samples = data.train, data.y, data.test, data.y_test
    found = nearest_neighbor_curve(*samples, order, counts), linear, forest
    return [round(100 * float(np.mean(one)), 3) if len(one) else None for one in found]


def accuracies(kind, X, y, draw, labels):
    """Return the accuracy of every method from one kind of supervision."""
    data = split(X, y, draw)
    told = known(kind, data.y, draw)
    on_conflict = "drop" if "wrong" in kind else "raise"
    found = {}
    for label in labels:
        order = order_of(label, data.X, data.train, told, on_conflict)
        found[label] = None if order is None else accuracy(data, order)
    return found


def references(X, y, draw, labels):
    """Return the accuracy of features chosen at random, and of all features."""
    data, every = split(X, y, draw), np.arange(X.shape[1])
    rng = np.random.default_rng([draw, 3])
    some = [accuracy(data, rng.permutation(every)) for _ in range(N_RANDOM)]
    chance = [None if None in one else float(np.mean(one)) for one in zip(*some, strict=True)]
    all_of_them = accuracy(data, every, [len(every)], [len(every)])
    found = {"random features": chance, "all features": all_of_them}
    return {label: found[label] for label in labels}


def agreement(X, first, second):
    """Return the share of features selected again, up to correlated ones, and Jaccard's index.

    A feature is selected again if the other list has it or a highly correlated one.
    """

    def standardized(features):
        columns = X[:, features].astype(float)
        spread = columns.std(axis=0)
        return (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, np.inf)

    same = first[:, None] == second
    r = standardized(first).T @ standardized(second) / len(X)
    alike = same | (abs(r) >= ALIKE)
    found = (alike.any(axis=0).mean() + alike.any(axis=1).mean()) / 2
    return [float(found), float(same.sum() / (2 * len(first) - same.sum()))]


def stability(X, y, draw, labels):
    """Return how well the first features agree between halves of the samples, and of the pairs."""
    if X.shape[1] < FEWEST:  # any selections from few features agree
        return dict.fromkeys(labels)
    data, rng = split(X, y, draw), np.random.default_rng([draw, 5])
    pairs, others = (drawn(half, PAIRS_FOR_STABILITY, draw) for half in (data.y, data.y_test))
    runs = [(data.X, data.train, pairs)]
    runs += [(data.X_test, MinMaxScaler().fit_transform(data.X_test), others)]
    for place in range(2):
        part = ls.Pairs(pairs.must[place::2], pairs.cannot[place::2])
        runs.append((data.X, data.train, part))
    found = {}
    for label in labels:
        if label == "random features":
            tops = [rng.permutation(X.shape[1])[:FIRST] for _ in range(2 * N_RANDOM)]
            chance = [agreement(X, *two) for two in zip(tops[::2], tops[1::2], strict=True)]
            found[label] = np.mean(chance, axis=0).tolist() * 2
            continue
        orders = [order_of(label, *samples, {"pairs": told}) for *samples, told in runs]
        found[label] = None
        if all(order is not None for order in orders):
            tops = [order[:FIRST] for order in orders]
            found[label] = agreement(X, *tops[:2]) + agreement(X, *tops[2:])
    return found


def suspects(X, y, draw, labels):
    """Return the AUC with which wrong pairs are found, by number of pairs."""
    data, found = split(X, y, draw), {}
    for label in labels:
        pairs, wrong = flipped(drawn(data.y, OF_A_DRAW[label][0], draw), draw)
        ranked, wrong = suspect_pairs(data.train, pairs), {frozenset(pair) for pair in wrong}
        is_wrong = np.array([frozenset((one.a, one.b)) in wrong for one in ranked])
        ranks, n_wrong = rankdata([one.suspicion for one in ranked]), int(is_wrong.sum())
        wins = ranks[is_wrong].sum() - n_wrong * (n_wrong + 1) / 2
        found[label] = float(wins / (n_wrong * (len(ranked) - n_wrong)))
    return found


def choices(X, y, draw, labels):
    """Return the AUC of candidates on held-out pairs and on their own, by the number of pairs."""
    data = split(X, y, draw)
    counts = [n for n in COUNTS if n <= X.shape[1]]
    found = {label: {} for label in labels}
    for label, budget in product(labels, BOTH_KINDS):
        pairs, selector = drawn(data.y, OF_A_DRAW[budget][0], draw), methods(X.shape[1])[label]
        try:
            folds = PairKFold(5, random_state=0)
            held_out = pair_auc_curve(selector, data.train, pairs, counts, cv=folds).average.auc
            order = selector.fit(data.train, pairs=pairs).order_
        except ValueError:  # too few pairs for five folds, or an error
            continue
        own = [pair_auc(data.train[:, order[:count]], pairs).auc for count in counts]
        found[label][budget] = [float(held_out), float(np.mean(own))]
    return found


def unit(job):
    """Measure some methods on one draw of one data set, from one kind of supervision."""
    name, draw, kind, labels = job
    warnings.simplefilter("ignore")
    others = {"reference": references, "stability": stability}
    others |= {"suspects": suspects, "choice": choices}
    measure = others.get(kind, partial(accuracies, kind))
    return {"set": name, "draw": draw, "kind": kind, "values": measure(*read(name), draw, labels)}


# -- the run ---------------------------------------------------------------------------------------


def stored(forgotten=()):
    """Return the stored results by data set, draw and kind, without the methods to forget."""
    found = {}
    for line in STORE.read_text().splitlines() if STORE.exists() else ():
        one = json.loads(line)
        before = found.setdefault((one["set"], one["draw"], one["kind"]), one)
        before["values"] |= one["values"]
    if forgotten:
        for one in found.values():
            one["values"] = {k: v for k, v in one["values"].items() if k not in forgotten}
        STORE.write_text("".join(json.dumps(one) + "\n" for one in found.values()))
    return found


def jobs_left(found, options):
    """Return the missing units, draw by draw, with the most important kinds first."""
    wanted = [kind for kind in KINDS if kind == "reference" or kind in options.only]
    jobs = []
    for draw, kind, name in product(range(options.draws), wanted, options.sets):
        done = found.get((name, draw, kind), {"values": {}})["values"]
        labels = [label for label in KINDS[kind] if label not in done]
        if labels and not (draw and kind == "choice"):
            jobs.append((name, draw, kind, labels))
    return jobs


def main():
    sets = [*HELD_OUT, *CHOSEN_ON]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="+", metavar="KIND", default=list(KINDS), choices=KINDS)
    parser.add_argument("--sets", nargs="+", metavar="SET", default=sets, choices=sets)
    parser.add_argument("--forget", nargs="+", metavar="METHOD", default=())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = stored(options.forget)
    jobs, start = jobs_left(found, options), time.perf_counter()
    with STORE.open("a") as store, Pool(options.jobs) as pool:
        for number, one in enumerate(pool.imap_unordered(unit, jobs), start=1):
            store.write(json.dumps(one) + "\n")
            store.flush()
            minutes = (time.perf_counter() - start) / 60
            what = f"{one['set']} {one['draw']} {one['kind']}"
            print(f"{number} of {len(jobs)}, {minutes:.1f} min: {what}", file=sys.stderr)
    units = list(stored().values())
    text = tables(units)
    print(text)
    show({"findings": findings(units)}, PAGE, options.write)
    if options.write:
        write(text)
        show({"headline": headline(units)}, README, True)


# -- the first experiments, at most 800 columns, which asking.py repeats --

BUDGETS = (20, 40, 100)
NUMBERS = np.array([2, 3, 5, 10, 20, 40])


def load(name):
    """Return X scaled to [0, 1] over all rows, with at most 800 random columns, and classes."""
    built_in = {"wine": load_wine, "wdbc": load_breast_cancer, "digits": load_digits}
    X, y = built_in[name](return_X_y=True) if name in built_in else read(name)
    rng = np.random.default_rng(1)
    rows = rng.choice(len(X), 4000, replace=False) if len(X) > 4000 else slice(None)
    X, y = X[rows].astype(float), y[rows]
    if X.shape[1] > 800:
        X = X[:, np.sort(rng.choice(X.shape[1], 800, replace=False))]
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), np.unique(y, return_inverse=True)[1]


def problem(name, seed, budget):
    """Split the rows in halves, and draw equal numbers of both kinds of pairs from one of them."""
    X, y = load(name)
    rng = np.random.default_rng([seed, len(X)])
    rows, half = rng.permutation(len(X)), len(X) // 2
    train, test = np.sort(rows[:half][:300]), np.sort(rows[half:][:300])
    n_must = min(budget // 2, ls.Pairs.from_labels(y[train]).n_must)
    draw = {"n_cannot": budget // 2, "random_state": int(rng.integers(2**31))}
    pairs = ls.Pairs.from_labels(y[train], n_must=n_must, **draw)
    return X[train], y[train], X[test], y[test], pairs


if __name__ == "__main__":
    main()
