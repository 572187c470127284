"""Compare readings of the clustering with table 6 of the similarity score paper.

`python benchmarks/clustering_readings.py [--data-dir DIR] [--runs R] [--jobs J]` prints a Markdown
table: the accuracy of eps^SS, averaged over the numbers of features of table 6, for affinities,
widths, normalisations and assignments that the paper may have used. It names Kamvar et al. (2003)
but states none of these.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from linkselect.reproduction._paper import Unit
from linkselect.reproduction._papers.similarity_2020.clustering import label_by_prototypes, without
from linkselect.reproduction._papers.similarity_2020.methods import ranking_of
from linkselect.reproduction._papers.similarity_2020.problems import SETS as SIZES
from linkselect.reproduction._papers.similarity_2020.problems import n_kept, problem_of
from linkselect.reproduction._published import published

# Sets with small eigenproblems.
SETS = (
    "WBCD",
    "WDBC",
    "Ionosphere",
    "Dermatology",
    "Libras Movement",
    "Yale",
    "ORL",
    "Pie10P",
    "ALLAML",
)
GRAPHS = {"complete": None, "20 neighbours": 20}
# 2 sigma^2, from the squared distances.
WIDTHS = {
    "sigma 1": lambda squared: 2.0,
    "mean square": lambda squared: squared.mean(),
    "3 % of it": lambda squared: 0.03 * squared.mean(),
}


def affinity(squared, labels, n_neighbors, double_variance):
    near = np.ones(squared.shape, dtype=bool)
    if n_neighbors is not None:
        others = squared + np.diag(np.full(len(squared), np.inf))
        nearest = np.argsort(others, axis=1, kind="stable")[:, :n_neighbors]
        near = np.zeros(squared.shape, dtype=bool)
        near[np.arange(len(squared))[:, None], nearest] = True
        near |= near.T
    weights = np.where(near, np.exp(-squared / max(double_variance, 1e-12)), 0.0)
    known = np.flatnonzero(labels >= 0)
    weights[np.ix_(known, known)] = labels[known][:, None] == labels[known]
    np.fill_diagonal(weights, 0.0)
    return weights


def symmetric(weights):
    """Return the normalised affinities, and their trivial eigenvector."""
    root = np.sqrt(np.maximum(weights.sum(axis=1), 1e-12))
    return weights / root / root[:, None], root


def additive(weights):
    degrees = weights.sum(axis=1)
    shifted = (weights + np.diag(degrees.max() - degrees)) / degrees.max()
    return shifted, np.ones(len(weights))


NORMALISATIONS = {"symmetric": symmetric, "additive": additive}
FIRST = {"with the first": False, "without the first": True}


def k_means(points, labels):
    """Label each cluster by the majority of its labels, else by the nearest labelled rows."""
    known = labels >= 0
    n_classes = labels.max() + 1
    clusters = KMeans(n_classes, n_init=3, random_state=0).fit_predict(points)
    found = labels.copy()
    for cluster in range(n_classes):
        inside = labels[known & (clusters == cluster)]
        if len(inside):
            found[(clusters == cluster) & ~known] = np.bincount(inside).argmax()
    return label_by_prototypes(points, found)


ASSIGNMENTS = {"nearest prototype": label_by_prototypes, "k-means": k_means}


def accuracies(dataset, run, data_dir):
    """Return the mean accuracy of each reading."""
    unit = Unit("clustering", dataset, "eps^SS", run, (("p", 3),))
    problem = problem_of(unit, data_dir)
    kept = n_kept(SIZES[dataset].n_features)
    order = ranking_of(unit, problem, kept).order
    counts = np.unique(np.linspace(1, kept, 7).round().astype(int))
    curves = {}
    for count in counts:
        rows, test = (Z[:, order[:count]] for Z in (problem.X, problem.X_test))
        nearest = cdist(test, rows, "sqeuclidean").argmin(axis=1)
        for reading, labels in readings(rows, problem.labels):
            hits = labels[nearest] == problem.y_test
            curves.setdefault(reading, []).append(100 * hits.mean())
    every = np.arange(1, kept + 1)
    return {reading: np.interp(every, counts, c).mean() for reading, c in curves.items()}


def readings(rows, labels):
    """Yield the labels of the rows for each reading; without clustering too."""
    yield ("no clustering",), label_by_prototypes(rows, labels)
    squared = cdist(rows, rows, "sqeuclidean")
    n_classes = labels.max() + 1
    for graph, width, normalisation in product(GRAPHS, WIDTHS, NORMALISATIONS):
        weights = affinity(squared, labels, GRAPHS[graph], WIDTHS[width](squared))
        matrix, trivial = NORMALISATIONS[normalisation](weights)
        vectors = np.linalg.eigh(matrix)[1]
        for first, left_out in FIRST.items():
            points = vectors[:, -n_classes:]
            if left_out:
                points = without(vectors[:, -n_classes - 1 :], trivial)
            points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
            for assignment, assign in ASSIGNMENTS.items():
                yield (graph, width, normalisation, first, assignment), assign(points, labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    means = {
        row.dataset: row.value
        for row in published("similarity-constraint-score-2020", 6)
        if row.method == "eps^SS" and row.dataset in SETS
    }
    work = list(product(SETS, range(options.runs)))
    found = Parallel(options.jobs)(delayed(accuracies)(*unit, options.data_dir) for unit in work)
    table = {
        reading: [
            np.mean(
                [f[reading] for f, (name, _) in zip(found, work, strict=True) if name == dataset]
            )
            for dataset in SETS
        ]
        for reading in found[0]
    }
    wanted = np.array([means[dataset] for dataset in SETS])
    print(
        f"| graph, width, normalisation, eigenvectors, assignment | distance | {' | '.join(SETS)} |"
    )
    print(f"|---|---|{'---|' * len(SETS)}")
    print(f"| **published** | | {' | '.join(f'{value:.1f}' for value in wanted)} |")
    for reading, values in sorted(table.items(), key=lambda pair: np.abs(pair[1] - wanted).mean()):
        distance = np.abs(values - wanted).mean()
        shown = " | ".join(f"{value:.1f}" for value in values)
        print(f"| {', '.join(reading)} | {distance:.1f} | {shown} |")


if __name__ == "__main__":
    main()
