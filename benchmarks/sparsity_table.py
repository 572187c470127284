"""The table 2 of the Sparsity Score paper again: best accuracy over the number of features.

`python benchmarks/sparsity_table.py [--repeats 10] [--sets wine colon ...]` prints a Markdown
table, and on how many sets the order of the methods agrees with the published one.

The paper has an RBF-SVM, 10-fold cross-validation and 10 repeats. It does not state how features
are scaled, the parameters of the SVM, nor whether features are ranked inside the folds. Here
features are standardised, except for Variance, which has no order then; missing values are
medians; features are ranked once on the whole set, so accuracies are optimistic; the SVM is
scikit-learn's default; folds are stratified, with the repeat's number as seed.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import minmax_scale, scale
from sklearn.svm import SVC

import linkselect as ls

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = {
    "hepatitis": "hepatitis",
    "ionosphere": "ionosphere",
    "steel": "steel_plates_faults",
    "colon": "colon",
    "prostate": "prostate_singh_train",
}
METHODS = ["Sparsity", "Variance", "Laplacian", "Fisher"]
# Liu, Sun & Zhang 2012, table 2: accuracy and number of features, in the order of METHODS.
PUBLISHED = {
    "wine": [(97.1, 12), (95.4, 11), (95.8, 10), (95.7, 13)],
    "hepatitis": [(70.2, 3), (66.7, 18), (67.4, 15), (73.6, 4)],
    "ionosphere": [(95.0, 16), (94.8, 20), (94.9, 23), (94.7, 25)],
    "steel": [(54.3, 13), (53.5, 21), (53.9, 21), (53.6, 18)],
    "colon": [(85.2, 140), (83.2, 20), (81.4, 50), (85.5, 330)],
    "prostate": [(70.1, 60), (61.3, 40), (61.3, 40), (66.4, 1)],
}


def load(name):
    if name == "wine":
        return load_wine(return_X_y=True)
    with np.load(DATA / f"{FILES[name]}.npz") as content:
        X, y = content["X"].astype(float), content["y"]
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return X[:, np.ptp(X, axis=0) > 0], y


def orders(raw, X, y):
    """Rank the features by every method."""
    sparsity = ls.SparsityScore().fit(X)
    scaled = ls.SparsityScore().fit(minmax_scale(raw))
    for title, fitted in (("standardised", sparsity), ("scaled to [0, 1]", scaled)):
        zeros = int((fitted.scores_ == 0).sum())
        print(f"  Sparsity Score, {title}: {zeros} of {X.shape[1]} scores are 0", file=sys.stderr)
    return {
        "Sparsity": sparsity.order_,
        "Sparsity, [0, 1]": scaled.order_,
        "Variance": ls.VarianceScore().fit(raw).order_,
        "Laplacian": ls.LaplacianScore().fit(X).order_,
        "Fisher": ls.FisherScore().fit(X, y).order_,
    }


def counts(n_features):
    """All numbers of features, or a grid where there are many."""
    if n_features <= 60:
        return range(1, n_features + 1)
    return [1, 2, 5, *range(10, 401, 10), n_features]


def accuracy(X, y, repeats):
    folds = [StratifiedKFold(10, shuffle=True, random_state=seed) for seed in range(repeats)]
    return 100 * np.mean([cross_val_score(SVC(), X, y, cv=fold).mean() for fold in folds])


def best_of(X, y, order, repeats):
    curve = [(accuracy(X[:, order[:count]], y, repeats), -count) for count in counts(X.shape[1])]
    best, count = max(curve)
    return best, -count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", nargs="+", choices=list(PUBLISHED), default=list(PUBLISHED))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    agreements = {"Variance": 0, "Laplacian": 0, "Fisher": 0}
    same_best = 0
    print(f"{options.repeats} repeats of 10 folds; ours, then published\n")
    print("| data | Sparsity | Sparsity, [0, 1] | Variance | Laplacian | Fisher |")
    print("|---|---|---|---|---|---|")
    missing = {name for name, file in FILES.items() if not (DATA / f"{file}.npz").exists()}
    for name in missing.intersection(options.sets):
        print(f"{name}: no {FILES[name]}.npz in the data folder", file=sys.stderr)
    options.sets = [name for name in options.sets if name not in missing]
    for name in options.sets:
        print(name, file=sys.stderr)
        raw, y = load(name)
        X = scale(raw)
        found = {
            method: best_of(X, y, order, options.repeats)
            for method, order in orders(raw, X, y).items()
        }
        published = dict(zip(METHODS, PUBLISHED[name], strict=True))
        cells = []
        for method, (best, count) in found.items():
            told = published.get(method)
            cells.append(f"{best:.1f} ({count})" + (f"; {told[0]} ({told[1]})" if told else ""))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        for other in agreements:
            ours = np.sign(round(found["Sparsity"][0] - found[other][0], 1))
            agreements[other] += ours == np.sign(published["Sparsity"][0] - published[other][0])
        winner = max(METHODS, key=lambda method: found[method][0])
        same_best += winner == max(METHODS, key=lambda method: published[method][0])
    print()
    for other, count in agreements.items():
        print(
            f"Sparsity Score beside {other}: as published on {count} of {len(options.sets)} sets."
        )
    print(f"The best of the four methods is the published one on {same_best} sets.")


if __name__ == "__main__":
    main()
