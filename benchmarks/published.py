"""Repeat some experiments of the 2020 paper and compare widths; prints tables.

Without arguments it prints the 2020 table of docs/similarity.md, with `sigma RUNS NAME ...` the
comparison of sigma=1 and sigma="target" on the named data sets.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
MODES = {"eps^S": "supervised", "eps^SS": "semi-supervised"}
# The share of each class that the paper trains on, where it is not half.
SHARES = {"wdbc": 0.66, "wbcd_original": 0.6}
SHIPPED = {"wdbc": load_breast_cancer}


def load_raw(name):
    if name in SHIPPED:
        return SHIPPED[name](return_X_y=True)
    with np.load(DATA / f"{name}.npz") as file:
        return file["X"].astype(float), file["y"]


def load(name):
    X, y = load_raw(name)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return MinMaxScaler().fit_transform(X), y


def first_of_each_class(y, share):
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.sort(np.concatenate([m[: int(share * len(m) + 0.5)] for m in members]))


def draw_prototypes(y, seed):
    rng = np.random.default_rng(seed)
    partial = np.full(len(y), -1)
    for label in np.unique(y):
        partial[rng.choice(np.flatnonzero(y == label), 3, replace=False)] = label
    return partial


def accuracy_curve(X, y, reference, test, order):
    """Return the accuracy of 1-NN on the reference rows with 1, 2, ... features, in percent."""
    distances = np.zeros((len(test), len(reference)))
    curve = []
    for feature in order:
        distances += (X[test, None, feature] - X[reference, feature]) ** 2
        curve.append((y[reference[distances.argmin(axis=1)]] == y[test]).mean())
    return 100 * np.array(curve)


def average(X, y, train, selector, n_runs):
    """Return means over draws: accuracy over all m and at the chosen m, chosen m, sigma."""
    test = np.setdiff1d(np.arange(len(y)), train)
    results = []
    for seed in range(n_runs):
        partial = draw_prototypes(y[train], seed)
        fitted = selector.fit(X[train], partial)
        chosen = int(fitted.path_.argmin()) + 1
        order = fitted.order_[: len(fitted.path_)]
        curve = accuracy_curve(X, y, train[partial >= 0], test, order)
        results.append((curve.mean(), curve[chosen - 1], chosen, fitted.sigma_))
    return np.mean(results, axis=0)


def tables():
    print("| data | training rows | score | runs | mean over m | at the chosen m | chosen m |")
    print("|---|---|---|---|---|---|---|")
    X, y = load("wdbc")
    splits = {
        "first 66 % of each class": first_of_each_class(y, 0.66),
        "first rows": np.arange(376),
    }
    for rows, train in splits.items():
        for name, mode in MODES.items():
            selector = ls.SimilarityConstraintScore(X.shape[1], mode=mode)
            mean, at_chosen, chosen, _ = average(X, y, train, selector, 100)
            found = f"{mean:.2f} | {at_chosen:.2f} | {chosen:.1f}"
            print(f"| WDBC | {rows} ({len(train)}) | {name} | 100 | {found} |", flush=True)
    X, y = load("multiple_features")
    train = first_of_each_class(y, 0.5)
    for (name, mode), n_runs in zip(MODES.items(), (20, 5), strict=True):
        selector = ls.SimilarityConstraintScore(mode=mode)
        _, at_chosen, chosen, _ = average(X, y, train, selector, n_runs)
        rows = f"first half of each class ({len(train)})"
        found = f"{at_chosen:.2f} | {chosen:.1f}"
        print(f"| Multiple Features | {rows} | {name} | {n_runs} | | {found} |", flush=True)


def compare_sigma(n_runs, names):
    print("| data | score | sigma=1: m, accuracy | sigma=target: sigma, m, accuracy |")
    print("|---|---|---|---|")
    for name in names:
        X, y = load(name)
        train = first_of_each_class(y, SHARES.get(name, 0.5))
        for score, mode in MODES.items():
            one, matched = (
                average(X, y, train, ls.SimilarityConstraintScore(mode=mode, sigma=sigma), n_runs)
                for sigma in (1.0, "target")
            )
            of_one = f"{one[2]:.1f}, {one[1]:.1f}"
            of_target = f"{matched[3]:.2f}, {matched[2]:.1f}, {matched[1]:.1f}"
            print(f"| {name} | {score} | {of_one} | {of_target} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["sigma"]:
        compare_sigma(int(sys.argv[2]), sys.argv[3:])
    else:
        tables()
