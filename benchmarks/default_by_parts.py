"""Compare the methods that read parts, to choose what `linkselect rank` takes by default then.

Data sets, pairs and accuracy are those of pairs_alone.py; labels are 3 and 5 for each class:

    python benchmarks/default_by_parts.py --seeds 3
"""

import argparse
import warnings

import numpy as np

import linkselect as ls
from linkselect.evaluation import nearest_neighbor_curve
from pairs_alone import BUDGETS, CHOSEN_ON, FRESH, NUMBERS, problem

LABELS = (3, 5)
METHODS = {
    "constraint": ls.ConstraintScore,
    "lsdf": ls.LSDF,
    "compensated_laplacian": ls.CompensatedLaplacianScore,
    "constrained_laplacian": ls.ConstrainedLaplacianScore,
    "laplacian": ls.LaplacianScore,
    "variance": ls.VarianceScore,
}
MEMBERS = ("constraint", "lsdf", "compensated_laplacian")
TOGETHER = "consensus of the first three"
REFERENCE = "constraint"


def some_labels(y, per_class, seed):
    """Keep the labels of a few samples of each class, and -1 for the others."""
    rng = np.random.default_rng([seed, per_class, len(y)])
    kept = np.full(len(y), -1)
    for one in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == one))[:per_class]
        kept[rows] = one
    return kept


def accuracies(samples, known, pairs=None):
    """Return the mean accuracy, in per cent, of the best features by every method.

    Parameters
    ----------
    samples : tuple of array
        Samples and classes to train on, and to test on.
    known, pairs
        What the methods are told: labels, of which -1 are unknown, or pairs.
    """
    X = samples[0]
    counts = NUMBERS[max(2, X.shape[1] // 2) >= NUMBERS]
    ranks = {name: one().fit(X, known, pairs=pairs).ranking_ for name, one in METHODS.items()}
    ranks[TOGETHER] = np.mean([ranks[name] for name in MEMBERS], axis=0)
    orders = {name: np.argsort(one, kind="stable") for name, one in ranks.items()}
    return {
        name: 100 * float(nearest_neighbor_curve(*samples, order, counts).mean())
        for name, order in orders.items()
    }


def measure(name, seeds):
    """Return the accuracies from pairs and from some labels on one data set, over all draws."""
    found = {"pairs": [], "some labels": []}
    for seed in range(seeds):
        for budget in BUDGETS:
            *samples, pairs = problem(name, seed, budget)
            found["pairs"].append(accuracies(samples, None, pairs))
        for per_class in LABELS:
            known = some_labels(samples[1], per_class, seed)
            found["some labels"].append(accuracies(samples, known))
    return {
        kind: {method: float(np.mean([one[method] for one in units])) for method in units[0]}
        for kind, units in found.items()
    }


def table(by_set, kind):
    """Return the mean over data sets, and by how much each method differs from the reference."""
    lines = [f"| from {kind} | mean | minus {REFERENCE} | standard error | sets ahead |"]
    lines.append("|---|---|---|---|---|")
    values = {
        name: np.array([one[kind][name] for one in by_set.values()])
        for name in (*METHODS, TOGETHER)
    }
    for name, own in sorted(values.items(), key=lambda item: -item[1].mean()):
        gap = own - values[REFERENCE]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        ahead = f"{(gap > 0).sum()} of {len(gap)}"
        lines.append(f"| {name} | {own.mean():.1f} | {gap.mean():+.1f} | {error:.1f} | {ahead} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    by_set = {name: measure(name, arguments.seeds) for name in (*CHOSEN_ON, *FRESH)}
    print(table(by_set, "pairs"), table(by_set, "some labels"), sep="\n\n")


if __name__ == "__main__":
    main()
