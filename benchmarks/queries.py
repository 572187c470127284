"""Compare rankings from the neighbours of sampled rows with those of the whole graph.

Prints the tables of docs/scale.md and with `--write` puts them there. Finished units are kept in a
file, so the same command resumes after an interruption:

    python benchmarks/queries.py --write

The neighbours of all samples are searched once, and draws look theirs up. So edges, scores and
standard errors are those of `max_queries=`, in a fraction of the time.
"""

import argparse
import json
import os
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.preprocessing import normalize

import linkselect as ls
from linkselect.graphs import _neighbors as neighbors
from linkselect.graphs import _sampled as sampled
from linkselect.selectors import _neighbor_graph as neighbor_graph
from measured_pages import show

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
STORE = Path(__file__).parent / "queries.json"

METHODS = {
    "Laplacian": ls.LaplacianScore(n_jobs=1),
    "LSDF": ls.LSDF(n_jobs=1),
    "CCLS": ls.CompensatedLaplacianScore(sigma="auto", n_jobs=1),
}
# Data, queries, number of draws, and number of draws with standard errors.
UNITS = [
    ("lognormal", 160, 40, 40),
    ("lognormal", 400, 40, 40),
    ("its logarithm", 160, 40, 40),
    ("its logarithm", 400, 40, 40),
    ("Classic3", 300, 20, 20),
    ("Classic3", 1000, 20, 20),
    ("its rows of length 1", 300, 20, 20),
    ("its rows of length 1", 1000, 20, 20),
    ("Image segmentation", 300, 100, 100),
    ("Image segmentation", 1000, 100, 100),
    ("USPS", 1000, 30, 30),
    ("USPS", 3000, 30, 30),
    ("MNIST", 1000, 12, 12),
    ("MNIST", 5000, 12, 2),
    ("MNIST", 20000, 4, 1),
]
# Fewer draws give too uncertain a spread to judge a standard error.
ENOUGH_DRAWS = 10
N_LABELLED = {
    "lognormal": 40,
    "its logarithm": 40,
    "Classic3": 100,
    "its rows of length 1": 100,
    "Image segmentation": 100,
    "USPS": 200,
    "MNIST": 1000,
}
# A few samples carry most of the variance of the lognormal data.
MADE = {"lognormal": lambda X: np.exp(1.5 * X), "its logarithm": lambda X: 1.5 * X}
# Counts of words; in the second, long documents are no further apart than short ones.
COUNTS = {"Classic3": csr_array, "its rows of length 1": lambda X: csr_array(normalize(X))}
N_BEST = 50
N_NEIGHBORS = 5


class Kept:
    """Nearest neighbours of all samples, looked up instead of searched."""

    def __init__(self, X):
        right, distances = neighbors.nearest(X, N_NEIGHBORS, n_jobs=1)[1:]
        self.right = right.reshape(X.shape[0], N_NEIGHBORS)
        self.distances = distances.reshape(self.right.shape)
        self.n_searched = 0

    def nearest(self, X, n_neighbors, *, queries=None, n_jobs=None):
        if n_neighbors != N_NEIGHBORS:
            raise ValueError(f"Only {N_NEIGHBORS} neighbours are kept.")
        rows = np.arange(X.shape[0]) if queries is None else queries
        self.n_searched += len(rows)
        return np.repeat(rows, n_neighbors), self.right[rows].ravel(), self.distances[rows].ravel()


def read(name):
    """Return samples and labels, most of which are -1."""
    if name in MADE:
        X, y = made(MADE[name])
    else:
        stored = "classic3" if name in COUNTS else name.lower().replace(" ", "_")
        with np.load(DATA / f"{stored}.npz") as file:
            X, y = file["X"], file["y"]
        if name in COUNTS:
            X = COUNTS[name](X.astype(float))
    labelled = np.random.default_rng(0).choice(len(y), N_LABELLED[name], replace=False)
    known = np.full(len(y), -1)
    known[labelled] = y[labelled]
    return X, known


def made(transform, n_samples=800, n_features=200):
    """Return two classes and features, the first twenty of which differ between the classes."""
    random = np.random.default_rng(0)
    y = np.arange(n_samples) % 2
    X = random.normal(size=(n_samples, n_features))
    X[:, :20] += y[:, None]
    return transform(X), y


def compare(selector, kept, X, y, n_queries, n_draws, n_with_errors):
    """Return how well draws agree with the whole graph, and how accurate their errors are."""
    exact = selector.set_params(max_queries=None).fit(X, y)
    scores, ranks = exact.scores_, exact.ranking_
    defined = np.isfinite(scores)
    found = []
    for draw in range(n_draws):
        kept.n_searched = 0
        neighbor_graph.standard_errors = ERRORS if draw < n_with_errors else no_errors
        selector.set_params(max_queries=n_queries, random_state=draw).fit(X, y)
        found.append((selector.scores_, selector.standard_errors_, selector.ranking_))
    drawn, ranked = (np.array([one[place] for one in found]) for place in (0, 2))
    errors = np.array([one[1] for one in found[:n_with_errors]])
    n_best = min(N_BEST, np.count_nonzero(defined) // 2)
    in_common = (ranks <= n_best) & (ranked <= n_best)
    rho = [spearmanr(one[defined], ranks[defined]).statistic for one in ranked]
    with np.errstate(invalid="ignore"):  # without a score
        off, spread = np.abs(drawn - scores), drawn.std(axis=0, ddof=1)
        bias = np.abs(drawn.mean(axis=0) - scores) / spread
    # A feature that rarely varies has no score in some draws.
    scored = np.isfinite(drawn) & defined
    always = scored.all(axis=0)
    told = np.isfinite(errors) & scored[:n_with_errors]
    covered = off[:n_with_errors] <= 2 * errors
    return {
        "rho": float(np.mean(rho)),
        "best": float(np.mean(in_common.sum(axis=1) / n_best)),
        "error": median(off[:, always] / np.abs(scores[always])),
        "bias": median(bias[always]),
        "stated": median((errors.mean(axis=0) / spread)[told.all(axis=0)]),
        "within_two": float(np.mean(covered[told])) if told.any() else None,
        "told": float(told.sum() / scored[:n_with_errors].sum()),
        "searched": kept.n_searched / X.shape[0],
        "without": float(1 - always.sum() / defined.sum()),
    }


def median(values):
    """Return the median, or None for no values, since JSON has no NaN."""
    return float(np.median(values)) if values.size else None


def no_errors(*_):
    """Skip the most expensive part of a fit."""
    return np.nan


def measure(quick):
    """Yield the results of all units, from the file where available."""
    done = json.loads(STORE.read_text()) if STORE.exists() else {}
    for name in N_LABELLED:
        units = [unit for unit in UNITS if unit[0] == name and not (quick and name == "MNIST")]
        missing = [
            (unit, method) for unit in units for method in METHODS if f"{unit} {method}" not in done
        ]
        if missing:
            X, y = read(name)
            kept = Kept(X)
            sampled.nearest = neighbors.nearest = kept.nearest
        for unit, method in missing:
            done[f"{unit} {method}"] = compare(METHODS[method], kept, X, y, *unit[1:])
            STORE.write_text(json.dumps(done, indent=1) + "\n")
            print(unit, method, done[f"{unit} {method}"], flush=True)
        # Restore the search for the next data.
        sampled.nearest = neighbors.nearest = SEARCH
        for unit in units:
            yield unit, {method: done[f"{unit} {method}"] for method in METHODS}


SEARCH, ERRORS = neighbors.nearest, sampled.standard_errors


def agreement_table(results):
    """Return the table of agreement between rankings."""
    lines = [
        "| data | queries | Laplacian | LSDF | CCLS | error of Laplacian, CCLS | rows searched |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, n_queries, *_), found in results:
        cells = [f"{one['rho']:.4f} / {one['best']:.2f}" for one in found.values()]
        errors = ", ".join(f"{100 * found[one]['error']:.1f} %" for one in ("Laplacian", "CCLS"))
        share = f"{100 * found['CCLS']['searched']:.0f} %"
        lines.append(f"| {name} | {n_queries:,} | {' | '.join(cells)} | {errors} | {share} |")
    return lines


def errors_table(results):
    """Return the table of the accuracy of standard errors."""
    lines = ["| data | queries | draws | Laplacian | LSDF | CCLS |", "|---|---|---|---|---|---|"]
    for (name, n_queries, n_draws, n_with_errors), found in results:
        cells = []
        for one in found.values():
            stated = one["stated"] if n_draws >= ENOUGH_DRAWS else None
            worth = ["-" if x is None else f"{x:.2f}" for x in (stated, one["within_two"])]
            digits = 1 if 0 < one["told"] < 0.01 else 0
            cells.append(" / ".join([*worth, f"{100 * one['told']:.{digits}f} %"]))
        draws = f"{n_with_errors} of {n_draws}"
        lines.append(f"| {name} | {n_queries:,} | {draws} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--quick", action="store_true", help="skip MNIST")
    options = parser.parse_args()
    # About constant features, and those that do not vary in a draw.
    warnings.simplefilter("ignore", UserWarning)
    results = list(measure(options.quick))
    tables = {"agreement": agreement_table(results), "errors": errors_table(results)}
    show(tables, PAGE, options.write)


if __name__ == "__main__":
    main()
