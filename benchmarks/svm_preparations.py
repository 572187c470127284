"""Compare preparations of data and SVM with the baselines of the Sparsity Score paper, table 2.

`python benchmarks/svm_preparations.py [--data-dir DIR]` prints a Markdown table: the accuracy of an
RBF-SVM with all features, in ten stratified folds (one repeat), for scalings, kernel widths and
costs that the paper may have used, because it states none of them.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import normalize, scale
from sklearn.svm import SVC

from linkselect.reproduction import fill_missing, load_dataset, scale_to_unit
from linkselect.reproduction._published import published

SCALINGS = {
    "raw": lambda X: X,
    "[0, 1]": scale_to_unit,
    "[-1, 1]": lambda X: 2 * scale_to_unit(X) - 1,
    "standardised": scale,
    "rows of norm 1": normalize,
}
COSTS = (1.0, 100.0)


def widths(X):
    return {"scale": "scale", "1/d": 1 / X.shape[1], "1": 1.0}


def accuracy(X, y, cost, gamma):
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return 100 * cross_val_score(SVC(C=cost, gamma=gamma), X, y, cv=folds).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    rows = [row for row in published("sparsity-score-2012", 2) if row.method == "All features"]
    print(f"| scaling | gamma | C | {' | '.join(row.dataset for row in rows)} |")
    print(f"|---|---|---|{'---|' * len(rows)}")
    print(f"| **published** | | | {' | '.join(str(row.value) for row in rows)} |")
    sets = []
    for row in rows:
        data = load_dataset(row.dataset, options.data_dir)
        X = fill_missing(data.X, np.arange(len(data.y)))
        sets.append((X[:, np.ptp(X, axis=0) > 0], data.y))
    for scaling, prepare in SCALINGS.items():
        for width in ("scale", "1/d", "1"):
            for cost in COSTS:
                found = []
                for X, y in sets:
                    Z = prepare(X)
                    found.append(f"{accuracy(Z, y, cost, widths(Z)[width]):.1f}")
                print(f"| {scaling} | {width} | {cost:g} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
