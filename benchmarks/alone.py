"""Compare methods that no other library has with a plain implementation, on the same data.

`python benchmarks/alone.py NAME ...`, or without names for all. Times are the best of several runs;
the ratios matter, since machines differ. Peak memory is measured in a separate process. `make
bench` compares methods that other libraries have too.
"""

import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.preprocessing import MinMaxScaler, scale
from sklearn.utils import check_array

import linkselect as ls
import plain
from linkselect import scores
from linkselect._search import nearest_neighbor as nearest_neighbor_search
from linkselect._search import screening
from linkselect._search.targets import nearest_prototypes
from linkselect._search.trace_ratio import between_and_within
from linkselect._supervision import from_pairs
from linkselect.graphs import reconstruction_weights

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def best_time(function, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def laplacian():
    """Compare the Laplacian Score of 5,000 x 2,000 with the dense weight matrix."""
    X = np.random.default_rng(0).normal(size=(5000, 2000))
    ours = best_time(lambda: ls.LaplacianScore().fit(X))
    yield "Laplacian Score, 5,000 x 2,000", "linkselect", ours, None, None
    dense = best_time(lambda: plain.dense_laplacian_score(X))
    yield "", "dense n x n in NumPy", dense, dense / ours, 4


def by_columns():
    """Compare 2,000 x 5,000 float32 stored by columns, like most frames, with stored by rows."""
    X = np.random.default_rng(0).normal(size=(2000, 5000)).astype(np.float32)
    scattered = np.asfortranarray(X)
    ours = best_time(lambda: ls.LaplacianScore().fit(scattered))
    yield "Laplacian Score, 2,000 x 5,000", "stored by columns", ours, None, None
    rows = best_time(lambda: ls.LaplacianScore().fit(X))
    yield "", "stored by rows", rows, rows / ours, None


def constraint():
    """Compare scoring 200 x 1,000,000 float32 with reading it, and a fit with `check_array`."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 1_000_000), dtype=np.float32)
    pairs = ls.Pairs.from_labels(np.arange(200) % 2, n_must=5, n_cannot=5, random_state=0)
    rows = np.array(sorted(pairs.ids))
    known = from_pairs(pairs, 200)
    score = best_time(lambda: scores.constraint_ratio(X, known), 7)
    reading = best_time(lambda: X[rows].sum(), 7)
    yield "Constraint Score, 200 x 1,000,000", "scoring function", score, None, None
    yield "", "reading the rows of the pairs", reading, reading / score, 1 / 3
    fit = best_time(lambda: ls.ConstraintScore().fit(X, pairs=pairs), 5)
    check = best_time(lambda: check_array(X), 5)
    yield "", "whole fit", fit, None, None
    yield "", "scikit-learn's check_array", check, check / fit, 1 / 3


MNIST_RUN = """
import resource, sys, time, warnings
import numpy as np
import linkselect as ls
with np.load(sys.argv[1]) as content:
    X, y = content["X"], content["y"]
# One label in ten, and those of images with a rare pixel: a pixel that is equal within every
# cannot-link has an infinite LSDF.
rare = X[:, np.count_nonzero(X, axis=0) <= 20].any(axis=1)
partial = np.where(rare | (np.arange(len(y)) % 10 == 0), y, -1)
selector = getattr(ls, sys.argv[2])()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
warnings.simplefilter("ignore")
selector.fit(X, partial)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
varies = X.max(axis=0) > X.min(axis=0)
assert np.isfinite(selector.scores_[varies]).all(), "a pixel that varies has no finite score"
print(seconds, peak / 2**20)
"""


def mnist():
    """Measure MNIST, 70,000 x 784, as bytes: dense weights alone would need 39 GB."""
    file = DATA / "mnist.npz"
    if not file.exists():
        yield f"MNIST (no {file.name} in the data folder)", "", np.nan, None, None
        return
    for name in ("LaplacianScore", "LSDF"):
        command = [sys.executable, "-c", MNIST_RUN, str(file), name]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, peak = map(float, output.split())
        yield f"{name}, MNIST 70,000 x 784", f"peak memory {peak:.2f} GB", seconds, 2 / peak, 1


def draw_prototypes(y, per_class=3):
    rng = np.random.default_rng(0)
    partial = np.full(len(y), -1)
    for label in np.unique(y):
        partial[rng.choice(np.flatnonzero(y == label), per_class, replace=False)] = label
    return partial


def similarity():
    """Compare eps^SS on half of Multiple Features with one kernel update per candidate."""
    file = DATA / "multiple_features.npz"
    if not file.exists():
        yield f"Similarity (no {file.name} in the data folder)", "", np.nan, None, None
        return
    with np.load(file) as content:
        X, y = MinMaxScaler().fit_transform(content["X"].astype(float)), content["y"]
    train = np.sort(np.concatenate([np.flatnonzero(y == c)[:100] for c in range(10)]))
    X, partial = X[train], draw_prototypes(y[train])
    selector = ls.SimilarityConstraintScore(100, mode="semi-supervised")
    what = "eps^SS, 1,000 x 649, 100 features"
    first_fit = best_time(lambda: selector.fit(X, partial), 1)
    yield what, "linkselect, first fit (imports and compiles)", first_fit, 4 / first_fit, 1
    ours = best_time(lambda: selector.fit(X, partial))
    yield "", "linkselect", ours, 4 / ours, 1
    with patch.object(screening, "VALUES_WORTH_COMPILING", np.inf):
        products = best_time(lambda: selector.fit(X, partial), 2)
    yield "", "linkselect without numba", products, 20 / products, 1
    groups = nearest_prototypes(X, partial)
    target = (groups[:, None] == groups) * 1.0
    first = range(X.shape[1])
    step = best_time(lambda: plain.similarity_step(X, np.ones_like(target), target, first), 1)
    # 649, 648, ..., 550 candidates, each with the same cost in every step.
    whole = step * sum(range(550, 650)) / 649
    yield "", "one kernel update per candidate (from its first step)", whole, whole / ours, 100
    selector.set_params(n_features_to_select="auto")
    auto = best_time(lambda: selector.fit(X, partial), 1)
    steps = len(selector.path_)
    yield "", f"until the minimum is certain ({steps} steps)", auto, None, None
    tracemalloc.start()
    selector.set_params(n_features_to_select=3).fit(X, partial)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    yield "", f"peak memory above the data {peak:.0f} MB", np.nan, 200 / peak, 1
    selector = ls.SimilarityConstraintScore(100)
    pairs = best_time(lambda: selector.fit(X, partial))
    yield "eps^S, 30 prototypes x 649, 100 features", "linkselect", pairs, None, None


def nearest_neighbor():
    """Measure ten features of 500 x 50 by leave-one-out 1-NN accuracy."""
    X, y = make_classification(500, 50, n_informative=8, n_classes=3, random_state=0)
    alone = best_time(lambda: ls.NearestNeighborSFS(10).fit(X, y), 5)
    yield "SFS-1NN, 500 x 50, 10 features, leave one out", "linkselect", alone, None, None


def compiled_nearest_neighbor():
    """Compare 1-NN searches with and without numba: 1,000 x 600 with 30 prototypes."""
    X, y = make_classification(1000, 600, n_informative=20, n_classes=10, random_state=0)
    rows = np.arange(1000)
    prototypes = np.concatenate([np.flatnonzero(y == label)[:3] for label in range(10)])
    selector = ls.NearestNeighborSFS(100, cv=[(prototypes, rows)], n_jobs=1)
    ours = best_time(lambda: selector.fit(X, y), 2)
    yield "SFS-1NN, 30 prototypes, 1,000 x 600, 100 features", "linkselect, numba", ours, None, None
    with patch.object(nearest_neighbor_search, "count_hits", lambda: None):
        plainly = best_time(lambda: selector.fit(X, y), 1)
    yield "", "linkselect without numba", plainly, plainly / ours, None
    selector = ls.NearestNeighborSFS(30, n_jobs=1)
    ours = best_time(lambda: selector.fit(X[:, :300], y), 1)
    yield "SFS-1NN, 1,000 x 300, 30 features, leave one out", "linkselect, numba", ours, None, None
    with patch.object(nearest_neighbor_search, "count_hits", lambda: None):
        plainly = best_time(lambda: selector.fit(X[:, :300], y), 1)
    yield "", "linkselect without numba", plainly, plainly / ours, None


def trace_ratio():
    """Compare the best subset of 8 out of 20 features with trying all subsets."""
    rng = np.random.default_rng(0)
    few, y = rng.normal(size=(200, 20)), rng.integers(0, 5, 200)
    between, within = between_and_within(few, y)
    ours = best_time(lambda: ls.TraceRatio(8).fit(few, y))
    peer = best_time(lambda: plain.best_of_all_subsets(between, within, 8), 1)
    yield "Trace ratio, 8 of 20 features", "linkselect, whole fit", ours, None, None
    yield "", "all subsets in NumPy", peer, peer / ours, 1


SIMILARITY_MNIST_RUN = """
import resource, sys, time, warnings
import numpy as np
import linkselect as ls
with np.load(sys.argv[1]) as content:
    X, y = content["X"], content["y"]
rng = np.random.default_rng(0)
partial = np.full(len(y), -1)
for label in range(10):
    partial[rng.choice(np.flatnonzero(y == label), 3, replace=False)] = label
# Pixels stay bytes: sigma=255 equals sigma=1 on [0, 1].
selector = ls.SimilarityConstraintScore(
    50, mode="semi-supervised", sigma=255.0, max_pairs=1_000_000, random_state=0
)
start, start_of_work = time.perf_counter(), time.process_time()
warnings.simplefilter("ignore")
selector.fit(X, partial)
seconds, work = time.perf_counter() - start, time.process_time() - start_of_work
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, work, peak / 2**20, selector.path_[-1], selector.standard_error_[-1])
"""


def similarity_mnist():
    """Measure 50 features of MNIST, 70,000 x 784, from a million of 2.4 billion pairs."""
    file = DATA / "mnist.npz"
    if not file.exists():
        yield f"Similarity, MNIST (no {file.name} in the data folder)", "", np.nan, None, None
        return
    command = [sys.executable, "-c", SIMILARITY_MNIST_RUN, str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, work, peak, score, error = map(float, output.split())
    by = f"score {score:.4g} +- {error:.1g}, {work:.0f} s of CPU, peak memory {peak:.2f} GB"
    yield "eps^SS, MNIST, a million pairs, 50 features", by, seconds, 3 / peak, 1


LASSO_SAMPLES = 2
LASSO_PATIENCE = 2.0


def sparsity():
    """Compare the weights of the Sparsity Score (eq. 8) with one scikit-learn Lasso per sample.

    Lasso has no constraints, so it gets eq. 8 as a penalised problem, see `plain.lasso_weights`;
    its Gram matrix is computed beforehand. The number of iterations grows until the objective is
    within 1e-6 of the known optimum, or until a run takes LASSO_PATIENCE seconds; then the ratio is
    a lower bound, and the accuracy reached is shown. Lasso is timed on LASSO_SAMPLES samples, and
    the time is scaled to all. Both use one thread; times are CPU seconds.
    """
    for n_samples, n_features in ((200, 2000), (1000, 27)):
        X = np.random.default_rng(0).normal(size=(n_samples, n_features))
        start = time.process_time()
        weights = reconstruction_weights(X, n_jobs=1)
        ours = time.process_time() - start
        norms = np.asarray(abs(weights).sum(axis=1)).ravel()
        optimum = norms + np.abs(X - weights @ X).sum(axis=1)
        yield f"Sparsity weights, {n_samples:,} x {n_features:,}", "linkselect", ours, None, None
        samples = range(LASSO_SAMPLES)
        runs = plain.lasso_weights(X, samples, optimum, LASSO_PATIENCE)
        seconds = np.mean([taken for _, taken in runs]) * n_samples
        accuracy = max(reached for reached, _ in runs)
        yield "", f"Lasso per sample, accuracy {accuracy:.0e}", seconds, seconds / ours, 10


def sparsity_data():
    """Measure whole fits on the standardised data of the paper: at most a minute on 2 cores."""
    for name in ("steel_plates_faults", "colon", "prostate_singh_train"):
        file = DATA / f"{name}.npz"
        if not file.exists():
            yield f"SparsityScore (no {file.name} in the data folder)", "", np.nan, None, None
            continue
        with np.load(file) as content:
            X = scale(content["X"])
        start = time.perf_counter()
        ls.SparsityScore().fit(X)
        seconds = time.perf_counter() - start
        shape = f"{X.shape[0]:,} x {X.shape[1]:,}"
        yield f"SparsityScore, {name} {shape}", "of 60 seconds", seconds, 60 / seconds, 1


CASES = {
    case.__name__: case
    for case in (
        laplacian,
        by_columns,
        constraint,
        mnist,
        similarity,
        nearest_neighbor,
        compiled_nearest_neighbor,
        trace_ratio,
        similarity_mnist,
        sparsity,
        sparsity_data,
    )
}


def main():
    warnings.simplefilter("ignore")
    names = sys.argv[1:] or list(CASES)
    unknown = set(names) - set(CASES)
    if unknown:
        sys.exit(
            f"Unknown benchmark: {', '.join(sorted(unknown))}. Choose from {', '.join(CASES)}."
        )
    table = Table("what", "by", "seconds", "ratio", "goal", title="linkselect alone")
    for name in names:
        for what, by, seconds, ratio, goal in CASES[name]():
            shown = "" if ratio is None else f"{ratio:.2f}"
            met = "" if goal is None else f"{goal:.2f}"
            style = None if goal is None else "green" if ratio >= goal else "red"
            table.add_row(what, by, f"{seconds:.3f}", shown, met, style=style)
        table.add_section()
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
