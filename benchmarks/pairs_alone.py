"""Rank from pairs alone on many data sets: every method beside the default, and what chooses well.

Prints the tables of docs/pairs_alone.md and with `--write` puts them there. Finished units are kept
in a file, so the same command goes on where it was stopped:

    python benchmarks/pairs_alone.py --seeds 10 --write
"""

import argparse
import json
import os
import re
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import rankdata, wilcoxon
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import linkselect as ls
from linkselect.evaluation import (
    PairKFold,
    holm,
    nearest_neighbor_curve,
    pair_auc,
    pair_auc_curve,
    suspect_pairs,
)

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parents[1] / "docs" / "pairs_alone.md"
STORE = Path(__file__).parent / "pairs_alone.jsonl"

# The default was chosen on these, most of them used in earlier experiments, too.
CHOSEN_ON = [
    "wine",
    "wdbc",
    "ionosphere",
    "dermatology",
    "libras_movement",
    "image_segmentation",
    "multiple_features",
    "yale_32x32",
    "colon",
    "allaml",
    "sonar",
    "cnae_9",
    "isolet_1560",
    "usps",
    "orl_32x32",
    "warp_pie10p",
    "prostate_ge",
    "madelon",
    "steel_plates_faults",
    "hepatitis",
    "soybean_small",
    "mnist",
    "digits",
]
# These were looked at only afterwards.
FRESH = [
    "pie_32x32_first10",
    "pie_pose27_32x32",
    "olivetti_64x64",
    "yaleb_32x32",
    "prostate_singh_train",
    "wbcd_original",
]
BUDGETS = (20, 40, 100)
NUMBERS = np.array([2, 3, 5, 10, 20, 40])
MOST_FEATURES = 800
MOST_ROWS = 300
FLIPPED = 0.1


def load(name):
    """Return X scaled to [0, 1] over all rows, and classes; of many columns a fixed draw."""
    built_in = {"wine": load_wine, "wdbc": load_breast_cancer, "digits": load_digits}
    if name in built_in:
        X, y = built_in[name](return_X_y=True)
    else:
        with np.load(DATA / f"{name}.npz") as content:
            X, y = content["X"], content["y"]
    rng = np.random.default_rng(1)
    if len(X) > 4000:
        rows = rng.choice(len(X), 4000, replace=False)
        X, y = X[rows], y[rows]
    X = X.astype(float)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    if X.shape[1] > MOST_FEATURES:
        X = X[:, np.sort(rng.choice(X.shape[1], MOST_FEATURES, replace=False))]
    low, high = X.min(axis=0), X.max(axis=0)
    varies = high > low
    return ((X - low) / np.where(varies, high - low, 1.0))[:, varies], np.unique(
        y, return_inverse=True
    )[1]


def problem(name, seed, budget):
    """Split the rows in halves, and draw as many must-links as cannot-links from one of them."""
    X, y = load(name)
    rng = np.random.default_rng([seed, len(X)])
    rows, half = rng.permutation(len(X)), len(X) // 2
    train, test = np.sort(rows[:half][:MOST_ROWS]), np.sort(rows[half:][:MOST_ROWS])
    n_each = min(budget // 2, ls.Pairs.from_labels(y[train]).n_must)
    seed_of_pairs = int(rng.integers(2**31))
    pairs = ls.Pairs.from_labels(
        y[train], n_must=n_each, n_cannot=budget // 2, random_state=seed_of_pairs
    )
    return X[train], y[train], X[test], y[test], pairs


def methods(n_features):
    """Return the methods by name; searches take 50 steps if there are many features."""
    steps = n_features if n_features <= 200 else 50
    similarity = ls.SimilarityConstraintScore
    semi = {"mode": "semi-supervised", "max_pairs": 1000, "random_state": 0}
    return {
        "consensus": ls.ConsensusSelector(random_state=0),
        "similarity, semi-supervised": similarity(steps, **semi),
        "similarity": similarity(steps),
        "scgs": ls.SCGS(tol=1e-2),
        "lsdf": ls.LSDF(),
        "constraint": ls.ConstraintScore(),
        "compensated_laplacian": ls.CompensatedLaplacianScore(),
        "laplacian_constraint": ls.LaplacianConstraintScore(),
        "constrained_laplacian": ls.ConstrainedLaplacianScore(),
        "variance": ls.VarianceScore(),
        "laplacian": ls.LaplacianScore(),
        "redundancy(laplacian)": ls.Redundancy(ls.LaplacianScore(), steps),
    }


# What the choice by held-out pairs chooses from: methods that look at pairs, one by one.
CANDIDATES = [
    "similarity, semi-supervised",
    "similarity",
    "scgs",
    "lsdf",
    "constraint",
    "compensated_laplacian",
    "laplacian_constraint",
    "constrained_laplacian",
]


def unit(job):
    """Measure everything for one data set, budget and seed."""
    name, seed, budget = job
    warnings.simplefilter("ignore")
    X, y, X_test, y_test, pairs = problem(name, seed, budget)
    counts = NUMBERS[max(2, X.shape[1] // 2) >= NUMBERS]
    found = {"set": name, "seed": seed, "budget": budget, "accuracy": {}, "held_out": {}}
    found["resubstitution"] = {}
    for label, selector in methods(X.shape[1]).items():
        order = selector.fit(X, pairs=pairs).order_
        curve = nearest_neighbor_curve(X, y, X_test, y_test, order, counts)
        found["accuracy"][label] = 100 * float(curve.mean())
        if label in CANDIDATES:
            in_sample = [pair_auc(X[:, order[:count]], pairs).auc for count in counts]
            found["resubstitution"][label] = float(np.mean(in_sample))
    every = np.arange(X.shape[1])
    all_features = nearest_neighbor_curve(X, y, X_test, y_test, every, [len(every)])
    found["accuracy"]["all features"] = 100 * float(all_features[0])
    if seed < 3:  # five fits of every method
        try:
            for label in CANDIDATES:
                folds = PairKFold(5, random_state=0)
                curve = pair_auc_curve(methods(X.shape[1])[label], X, pairs, counts, cv=folds)
                found["held_out"][label] = curve.average.auc
        except ValueError:
            found["held_out"] = {}
    found["suspects"] = detected(X, pairs, seed)
    return found


def detected(X, pairs, seed):
    """Flip some pairs of each kind, and return the AUC with which they are found."""
    rng = np.random.default_rng([seed, 7])
    n_must, n_cannot = (max(1, round(FLIPPED * n)) for n in (pairs.n_must, pairs.n_cannot))
    flip = (
        set(rng.choice(pairs.n_must, n_must, replace=False).tolist()),
        set(rng.choice(pairs.n_cannot, n_cannot, replace=False).tolist()),
    )
    must = [pair for place, pair in enumerate(pairs.must) if place not in flip[0]]
    cannot = [pair for place, pair in enumerate(pairs.cannot) if place not in flip[1]]
    wrong_must = [pairs.cannot[place] for place in sorted(flip[1])]
    wrong_cannot = [pairs.must[place] for place in sorted(flip[0])]
    ranked = suspect_pairs(X, ls.Pairs(must + wrong_must, cannot + wrong_cannot))
    wrong = {frozenset(pair) for pair in wrong_must + wrong_cannot}
    is_wrong = np.array([frozenset((one.a, one.b)) in wrong for one in ranked])
    ranks = rankdata([one.suspicion for one in ranked])
    n_wrong = int(is_wrong.sum())
    wins = ranks[is_wrong].sum() - n_wrong * (n_wrong + 1) / 2
    return float(wins / (n_wrong * (len(ranked) - n_wrong)))


# -- tables -----------------------------------------------------------------------------------


def mean_by_set(units, label):
    """Return the mean accuracy of a method on each data set, over budgets and seeds."""
    names = sorted({one["set"] for one in units})
    return np.array(
        [np.mean([one["accuracy"][label] for one in units if one["set"] == name]) for name in names]
    )


def accuracy_table(units, sets):
    chosen = [one for one in units if one["set"] in sets]
    labels = list(chosen[0]["accuracy"])
    lines = ["| method | 20 pairs | 40 pairs | 100 pairs | mean |", "|---|---|---|---|---|"]
    rows = []
    for label in labels:
        means = []
        for budget in BUDGETS:
            some = [one for one in chosen if one["budget"] == budget]
            means.append(float(mean_by_set(some, label).mean()))
        rows.append((np.mean(means), label, means))
    for mean, label, means in sorted(rows, reverse=True):
        lines.append(f"| {label} | {' | '.join(f'{one:.1f}' for one in means)} | {mean:.1f} |")
    return "\n".join(lines)


def test_table(units, sets):
    chosen = [one for one in units if one["set"] in sets]
    own = mean_by_set(chosen, "consensus")
    others = [name for name in chosen[0]["accuracy"] if name not in ("consensus", "all features")]
    gaps = {name: own - mean_by_set(chosen, name) for name in others}
    adjusted = holm([wilcoxon(gap).pvalue for gap in gaps.values()])
    lines = ["| consensus minus | mean | standard error | sets ahead | largest loss | p (Holm) |"]
    lines.append("|---|---|---|---|---|---|")
    for (name, gap), p in zip(gaps.items(), adjusted, strict=True):
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        lines.append(
            f"| {name} | {gap.mean():+.1f} | {error:.1f} | {(gap > 0).sum()} of {len(gap)} | "
            f"{gap.min():+.1f} | {p:.2g} |"
        )
    return "\n".join(lines)


def set_table(units):
    names = [name for name in (*CHOSEN_ON, *FRESH) if any(one["set"] == name for one in units)]
    shown = ["consensus", "similarity, semi-supervised", "scgs", "compensated_laplacian"]
    shown += ["constraint", "redundancy(laplacian)", "all features"]
    lines = [f"| data set | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for name in names:
        some = [one for one in units if one["set"] == name]
        values = [np.mean([one["accuracy"][label] for one in some]) for label in shown]
        mark = "" if name in CHOSEN_ON else " (fresh)"
        lines.append(f"| {name}{mark} | {' | '.join(f'{value:.1f}' for value in values)} |")
    return "\n".join(lines)


def regret_table(units):
    """Compare ways to choose a method by what they lose against the best of the candidates."""
    judged = [one for one in units if one["held_out"]]
    lines = ["| choose the method by | 20 pairs | 40 pairs | 100 pairs |", "|---|---|---|---|"]

    def regret(one, accuracy):
        return max(one["accuracy"][name] for name in CANDIDATES) - accuracy

    def by(key):
        return lambda one: one["accuracy"][max(CANDIDATES, key=lambda name: one[key][name])]

    ways = {
        "held-out pairs": by("held_out"),
        "the pairs it was fitted on": by("resubstitution"),
        "a random method": lambda one: np.mean([one["accuracy"][name] for name in CANDIDATES]),
        "always the consensus": lambda one: one["accuracy"]["consensus"],
    }
    for label, way in ways.items():
        means = [
            np.mean([regret(one, way(one)) for one in judged if one["budget"] == budget])
            for budget in BUDGETS
        ]
        lines.append(f"| {label} | {' | '.join(f'{mean:.1f}' for mean in means)} |")
    return "\n".join(lines)


def suspect_table(units):
    lines = ["| data set | 20 pairs | 40 pairs | 100 pairs |", "|---|---|---|---|"]
    names = [name for name in (*CHOSEN_ON, *FRESH) if any(one["set"] == name for one in units)]
    table = np.array(
        [
            [
                np.mean(
                    [u["suspects"] for u in units if u["set"] == name and u["budget"] == budget]
                )
                for budget in BUDGETS
            ]
            for name in names
        ]
    )
    for name, row in zip(names, table, strict=True):
        lines.append(f"| {name} | {' | '.join(f'{value:.2f}' for value in row)} |")
    lines.append(f"| **mean** | {' | '.join(f'{value:.2f}' for value in table.mean(axis=0))} |")
    return "\n".join(lines)


def tables(units):
    n_seeds = len({one["seed"] for one in units})
    fresh = [name for name in FRESH if any(one["set"] == name for one in units)]
    known = [name for name in CHOSEN_ON if any(one["set"] == name for one in units)]
    return "\n\n".join(
        [
            f"{len(known)} data sets on which the default was chosen, {n_seeds} draws each:",
            accuracy_table(units, known),
            f"{len(fresh)} data sets that were looked at only afterwards:",
            accuracy_table(units, fresh),
            "The consensus against every other method, over all data sets (mean over the numbers "
            "of pairs; Wilcoxon signed-rank test over data sets, Holm's correction):",
            test_table(units, {*known, *fresh}),
            "Every data set, mean over the numbers of pairs:",
            set_table(units),
            "What is lost, in points, against the best of eight methods on the same draw "
            "(3 draws per data set):",
            regret_table(units),
            "How well wrong pairs are found, 10 % of each kind flipped (AUC; 0.5 is chance):",
            suspect_table(units),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    units = [json.loads(line) for line in lines]
    done = {(one["set"], one["seed"], one["budget"]) for one in units}
    names = (*CHOSEN_ON, *FRESH)
    jobs = [job for job in product(names, range(options.seeds), BUDGETS) if job not in done]
    with STORE.open("a") as store, ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(unit, jobs):
            units.append(found)
            store.write(json.dumps(found) + "\n")
            store.flush()
            print(
                f"{len(units)}: {found['set']} {found['seed']} {found['budget']}", file=sys.stderr
            )
    text = tables(units)
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- measured -->).*?(<!-- end -->)"
        page = re.sub(marked, lambda m: f"{m[1]}\n\n{text}\n\n{m[2]}", page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
