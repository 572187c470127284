"""Measure the two solvers of the Sparsity Score: time by number of samples, and agreement.

    python benchmarks/sparsity_growth.py [--exact 300] [sizes ...]

Rows of Yale B (32 x 32 pixels, scaled to [0, 1]), or generated images of the same shape. Prints for
each size the CPU seconds and wall time of the first-order solver and its largest certified gap, and
the exponent of growth in the number of samples. Up to `--exact` samples the exact solver runs too,
also with samples and features in another order, to compare the rankings.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from linkselect import scores
from linkselect.graphs._reconstruction import reconstruct

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def images(n_samples):
    """Return rows of Yale B in [0, 1], or generated images of that shape, and their name."""
    rng = np.random.default_rng(0)
    file = DATA / "yaleb_32x32.npz"
    if file.exists():
        X = np.load(file)["X"].astype(np.float64)
        X, name = X[np.sort(rng.permutation(len(X))[:n_samples])], "Yale B"
    else:
        X = rng.random((n_samples, 20)) @ rng.random((20, 1024))
        X, name = X + 0.1 * rng.random(X.shape), "generated images"
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), name


def measured(X, solver):
    """Return scores, the largest gap, CPU seconds and wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = reconstruct(X, solver=solver)
    values = scores.sparsity(X, found.weights)
    return values, found.gaps.max(), time.process_time() - cpu, time.perf_counter() - wall


def exact_scores(X):
    """Return exact scores, scores from another order of samples and features, and CPU seconds."""
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    values, _, cpu, _ = measured(X, "exact")
    again = np.empty_like(values)
    again[columns] = measured(np.ascontiguousarray(X[rows][:, columns]), "exact")[0]
    return values, again, cpu


def main():
    """Print one line for each size, and the exponent of growth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=[200, 300, 500, 720])
    parser.add_argument("--exact", type=int, default=0, help="largest size of the exact solver")
    options = parser.parse_args()
    seconds = []
    for size in options.sizes:
        X, name = images(size)
        values, gap, cpu, wall = measured(X, "first_order")
        seconds.append(cpu)
        line = f"{name} {size} x {X.shape[1]}: {cpu:.1f} CPU s, {wall:.1f} s, gap {gap:.4f}"
        if size <= options.exact:
            exact, again, exact_cpu = exact_scores(X)
            line += f"; exact {exact_cpu:.1f} CPU s; rank correlation with the exact ranking "
            line += f"{spearmanr(values, exact).statistic:.5f}, of two exact ones "
            line += f"{spearmanr(exact, again).statistic:.5f}"
        print(line, flush=True)
    if len(seconds) > 1:
        slope = np.polyfit(np.log(options.sizes), np.log(seconds), 1)[0]
        print(f"CPU seconds grow as n^{slope:.2f}")


if __name__ == "__main__":
    main()
