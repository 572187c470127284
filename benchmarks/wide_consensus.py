"""Compare replacements for CompensatedLaplacianScore in the consensus on wide tables.

The consensus from pairs has three members. On wide tables the second, CompensatedLaplacianScore
with sigma=1, may find no neighbours. This script fits the other two with several candidates for its
place: on the original tables, and on gene tables split at the median into 0 and 1. The split moves
samples so far apart that the weights of most neighbours vanish. With `--write` the table goes into
docs/pairs_alone.md:

    python benchmarks/wide_consensus.py --seeds 6 --write
"""

import argparse
import os
import sys
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import linkselect as ls
from linkselect._samples.unit_scaling import scaled_to_one
from linkselect.evaluation import nearest_neighbor_curve
from measured_pages import show

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parents[1] / "docs" / "pairs_alone.md"
GENES = ["khan", "colon", "lung_bhattacharjee", "allaml", "prostate_ge", "su", "chowdary"]
GENES += ["prostate_singh_train"]
FACES = ["orl_32x32", "umist_28x23", "olivetti_64x64", "warp_pie10p", "yale_32x32"]
BUDGETS = (20, 40)
NUMBERS = np.array([5, 10, 20, 30, 40, 50])
MOST_ROWS = 200
OF_ALL = "CompensatedLaplacianScore, sigma=1"
LEFT_OUT = "none: two members"
AS_IS, SPLIT = "original", "binary"


def candidates():
    """Return candidates for the second member, next to SimilarityConstraintScore and SCGS."""
    return {
        OF_ALL: ls.CompensatedLaplacianScore(),
        "CompensatedLaplacianScore, sigma auto": ls.CompensatedLaplacianScore(sigma="auto"),
        "ConstrainedLaplacianScore, sigma auto": ls.ConstrainedLaplacianScore(sigma="auto"),
        "ConstraintScore": ls.ConstraintScore(),
        "LSDF": ls.LSDF(),
    }


def accuracies(X, y, seed, budget):
    """Return the accuracy of the mean rank with each candidate, and of random features."""
    rng = np.random.default_rng([seed, budget, len(X)])
    rows, half = rng.permutation(len(X)), len(X) // 2
    train, test = rows[:half][:MOST_ROWS], rows[half:][:MOST_ROWS]
    pairs = ls.Pairs.from_labels(
        y[train], n_must=budget // 2, n_cannot=budget // 2, random_state=seed
    )
    options = {"mode": "semi-supervised", "max_pairs": 1000, "random_state": seed}
    two = [ls.SimilarityConstraintScore(50, **options), ls.SCGS(tol=1e-2)]
    ranks = [one.fit(X[train], pairs=pairs).ranking_ for one in two]

    def accuracy(order):
        samples = X[train], y[train], X[test], y[test]
        return 100 * float(np.mean(nearest_neighbor_curve(*samples, order, NUMBERS)))

    found = {LEFT_OUT: accuracy(np.argsort(np.mean(ranks, axis=0), kind="stable"))}
    for name, third in candidates().items():
        try:
            own = third.fit(X[train], pairs=pairs).ranking_
        except ValueError:
            continue
        found[name] = accuracy(np.argsort(np.mean([*ranks, own], axis=0), kind="stable"))
    found["random features"] = np.mean([accuracy(rng.permutation(X.shape[1])) for _ in range(5)])
    return found


def measured(seeds):
    """Return accuracies by kind of table, budget, candidate and data set."""
    found = {kind: defaultdict(list) for kind in product((AS_IS, SPLIT), BUDGETS)}
    for name in (*GENES, *FACES):
        with np.load(DATA / f"{name}.npz") as content:
            X, y = content["X"].astype(float), content["y"]
        tables = {AS_IS: scaled_to_one(X)}
        if name in GENES:
            tables[SPLIT] = (np.median(X, axis=0) < X).astype(float)
        for kind, table in tables.items():
            for budget in BUDGETS:
                draws = [accuracies(table, y, seed, budget) for seed in range(seeds)]
                if kind == SPLIT and any(OF_ALL in draw for draw in draws):
                    continue  # it can rank this table, so no replacement is needed
                for one in draws[0]:
                    values = [draw[one] for draw in draws]
                    found[kind, budget][one].append(np.mean(values))
                print(name, kind, budget, file=sys.stderr)
    return found


def table(found, seeds):
    kinds = list(found)
    sizes = [len(found[kind][LEFT_OUT]) for kind in kinds]
    titles = [
        f"{kind}, {budget} pairs ({size} sets)"
        for (kind, budget), size in zip(kinds, sizes, strict=True)
    ]
    lines = [f"1-NN accuracy (%) over 5 to 50 features and {seeds} draws, with the gain over two "]
    lines[0] += "members ± its standard error over data sets in parentheses:"
    lines += ["", f"| second member | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for name in (OF_ALL, LEFT_OUT, *list(candidates())[1:], "random features"):
        cells = []
        for kind in kinds:
            if name not in found[kind]:
                cells.append("cannot rank")
                continue
            values = np.array(found[kind][name])
            lead = values - np.array(found[kind][LEFT_OUT])
            error = lead.std(ddof=1) / np.sqrt(len(lead))
            more = "" if name == LEFT_OUT else f" ({lead.mean():+.1f} ± {error:.1f})"
            cells.append(f"{values.mean():.1f}{more}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {"wide": table(measured(options.seeds), options.seeds)}
    show(tables, PAGE, options.write)


if __name__ == "__main__":
    main()
