"""Compare fits of arrays on a GPU with the same fits on the CPU, and with the GPU's limits.

`python benchmarks/gpu.py --library torch TASK ...`, or without names for all tasks. X is on the
device before timing starts, and a fit ends when its scores are available. GPU times are the best of
several fits after a warm-up; CPU times are of one fit on two threads. Without a GPU, `--quick` runs
everything on small data, which only shows that it works.
"""

import argparse
import os
import time
import warnings
from importlib import import_module
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import sklearn
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

import linkselect as ls
from linkselect import scores as score_functions
from linkselect._samples.devices import device_of, to_numpy
from linkselect._search.device_similarity import kernel_terms
from linkselect._supervision import Supervision
from linkselect.graphs import nearest

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
CPU_THREADS = 2


class Machine:
    """The measured library and device."""

    def __init__(self, library, quick, alone=False):
        self.xp, self.library, self.quick = import_module(library), library, quick
        self.alone = alone
        self.on_gpu = library == "cupy" or self.xp.cuda.is_available()
        self.rates = {}

    def put(self, array):
        if self.library == "cupy":
            return self.xp.asarray(array)
        return self.xp.as_tensor(array, device="cuda" if self.on_gpu else "cpu")

    def wait(self):
        if self.library == "cupy":
            self.xp.cuda.Device().synchronize()
        elif self.on_gpu:
            self.xp.cuda.synchronize()

    def best_time(self, function, repeats=3):
        function()
        times = []
        for _ in range(repeats):
            self.wait()
            start = time.perf_counter()
            function()
            self.wait()
            times.append(time.perf_counter() - start)
        return min(times)

    def product_rate(self, dtype):
        """Return the multiplications and additions per second of a large product."""
        if dtype not in self.rates:
            size = 8192 if self.on_gpu else 512
            factor = self.put(np.random.default_rng(0).random((size, size)).astype(dtype))
            self.rates[dtype] = 2 * size**3 / self.best_time(lambda: factor @ factor, 5)
        return self.rates[dtype]

    def copy_rate(self):
        """Return the bytes per second that a copy reads and writes."""
        if "copy" not in self.rates:
            many = self.put(np.ones(1 << (29 if self.on_gpu else 22), dtype=np.float64))
            self.rates["copy"] = 2 * 8 * many.shape[0] / self.best_time(lambda: many + 0.0, 5)
        return self.rates["copy"]

    def peak_memory(self):
        if self.library == "torch" and self.on_gpu:
            return f"{self.xp.cuda.max_memory_allocated() / 1e9:.1f} GB"
        return ""


def report(what, seconds, cpu=None, limit=None, note=""):
    cells = [what, f"{seconds:.4g} s"]
    cells.append("" if cpu is None else f"{cpu:.4g} s ({cpu / seconds:.0f} times)")
    cells.append("" if limit is None else f"{limit:.2g} s ({seconds / limit:.1f} times that)")
    print("|", " | ".join([*cells, note]), "|", flush=True)


def fit_both(machine, what, selector, X, y=None, pairs=None, limit=None, repeats=3, on_cpu=True):
    """Measure a fit on the device and on the CPU; compare scores and orders."""
    on_device = machine.put(X)

    def fit():
        with sklearn.config_context(array_api_dispatch=True):
            return selector.fit(on_device, y, pairs=pairs)

    seconds = machine.best_time(fit, repeats)
    order, scores = to_numpy(selector.order_), to_numpy(selector.scores_)
    note, cpu = machine.peak_memory(), None
    if on_cpu and not machine.alone:
        with threadpool_limits(CPU_THREADS):
            start = time.perf_counter()
            plain = sklearn.clone(selector).set_params(n_jobs=CPU_THREADS).fit(X, y, pairs=pairs)
            cpu = time.perf_counter() - start
        valid = np.isfinite(plain.scores_)
        size = np.abs(plain.scores_[valid])
        # Relative to the score, or to the median score for scores near 0.
        apart = np.abs(scores - plain.scores_)[valid] / np.maximum(size, np.median(size))
        alike = int(np.count_nonzero(order == plain.order_))
        note = (
            f"scores differ by {apart.max():.1e} at most; {alike} of {len(order)} in the same place"
        )
    report(what, seconds, cpu, limit, note)


def mnist_pixels(machine):
    file = DATA / "mnist.npz"
    if file.exists():
        with np.load(file) as content:
            X, y, name = content["X"], content["y"], "MNIST"
    else:
        random = np.random.default_rng(0)
        X, y, name = (
            random.integers(0, 256, (70_000, 784), np.uint8),
            np.arange(70_000) % 10,
            "generated",
        )
    X = X[:2000] if machine.quick else X
    return X.astype(np.float32) / np.float32(255), y[: len(X)], f"{name} {len(X):,} x {X.shape[1]}"


def laplacian(machine):
    X, _, name = mnist_pixels(machine)
    products = 2 * len(X) ** 2 * X.shape[1]
    limit = products / machine.product_rate("float32")
    fit_both(machine, f"LaplacianScore, {name}", ls.LaplacianScore(), X, limit=limit)


def constrained(machine):
    X, y, name = mnist_pixels(machine)
    limit = 2 * len(X) ** 2 * X.shape[1] / machine.product_rate("float32")
    pairs = ls.Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    for selector in (ls.LSDF(), ls.ConstrainedLaplacianScore(sigma="auto")):
        what = f"{type(selector).__name__}, {name}"
        fit_both(machine, what, selector, X, None, pairs, limit)


def link(machine):
    X, y, name = mnist_pixels(machine)
    limit = 2 * len(X) * X.shape[1] ** 2 / machine.product_rate("float64")
    pairs = ls.Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    fit_both(
        machine, f"LinkSelector, 50 features, {name}", ls.LinkSelector(50), X, None, pairs, limit
    )
    what = f"LinkSelector, 50 features, all labels, {name}"
    fit_both(machine, what, ls.LinkSelector(50), X, y, None, limit)
    n_features = 2000 if machine.quick else 500_000
    X = np.random.default_rng(0).random((200, n_features), dtype=np.float32)
    pairs = ls.Pairs.from_labels(np.arange(200) % 2, n_must=10, n_cannot=10, random_state=0)
    what = f"LinkSelector, 50 features, 200 x {n_features:,} float32"
    fit_both(machine, what, ls.LinkSelector(50), X, None, pairs)


def complete(machine):
    X, y, name = mnist_pixels(machine)
    # Distances are computed twice, once for the degrees, plus one product with the features.
    limit = 3 * 2 * len(X) ** 2 * X.shape[1] / machine.product_rate("float64")
    pairs = ls.Pairs.from_labels(y, n_must=50, n_cannot=50, random_state=0)
    selector = ls.LaplacianConstraintScore(sigma="auto")
    what = f"LaplacianConstraintScore, {name}"
    fit_both(machine, what, selector, X, None, pairs, limit, on_cpu=machine.quick)


def similarity(machine):
    file = DATA / "multiple_features.npz"
    if file.exists():
        with np.load(file) as content:
            X, y = MinMaxScaler().fit_transform(content["X"].astype(float)), content["y"]
        rows = np.sort(np.concatenate([np.flatnonzero(y == c)[:100] for c in range(10)]))
        X, y, name = X[rows], y[rows], "Multiple Features"
    else:
        X, y = np.random.default_rng(0).random((1000, 649)), np.arange(1000) % 10
        name = "generated"
    if machine.quick:
        X, y = X[::5, :50], y[::5]
    random, partial = np.random.default_rng(0), np.full(len(y), -1)
    for label in np.unique(y):
        partial[random.choice(np.flatnonzero(y == label), 3, replace=False)] = label
    selector = ls.SimilarityConstraintScore(min(100, X.shape[1] - 1), mode="semi-supervised")
    what = f"eps^SS, {selector.n_features_to_select} of {X.shape[1]}, {len(X):,} samples, {name}"
    columns = machine.put(np.ascontiguousarray(X.T) - 0.5)
    here = device_of(columns)
    n_terms = sum(kernel_terms(here, columns * width)[0].shape[1] for width in (1.0, 2**0.5))
    products = 2 * len(X) ** 2 * X.shape[1] * n_terms * selector.n_features_to_select
    limit = products / machine.product_rate("float64")
    fit_both(machine, what, selector, X, partial, limit=limit)


def wide(machine):
    n_features = 2000 if machine.quick else 1_000_000
    X = np.random.default_rng(0).random((200, n_features), dtype=np.float32)
    y = np.arange(200) % 2
    limit = 2 * X.nbytes / machine.copy_rate()
    pairs = ls.Pairs.from_labels(y, n_must=5, n_cannot=5, random_state=0)
    size = f"200 x {n_features:,} float32, whole fit"
    fit_both(machine, f"FisherScore, {size}", ls.FisherScore(), X, y, None, limit)
    fit_both(machine, f"ConstraintScore, 5 + 5 pairs, {size}", ls.ConstraintScore(), X, None, pairs)
    on_device, classes = machine.put(X), y.astype(np.intp)
    seconds = machine.best_time(lambda: score_functions.fisher(on_device, classes), 5)
    report(f"scores.fisher, 200 x {n_features:,} float32", seconds, None, limit)
    known = Supervision(classes)
    seconds = machine.best_time(lambda: score_functions.constraint_ratio(on_device, known), 5)
    report(f"scores.constraint_ratio from labels, 200 x {n_features:,}", seconds, None, limit)


def tall(machine):
    """Search the neighbours of a million samples, and compare some with those of the CPU."""
    n_samples, n_features = (5000, 100) if machine.quick else (1_000_000, 1_000)
    random = np.random.default_rng(0)
    centres = random.normal(size=(100, n_features)).astype(np.float32)
    X = np.empty((n_samples, n_features), dtype=np.float32)
    for start in range(0, n_samples, 50_000):
        part = X[start : start + 50_000]
        random.standard_normal(part.shape, dtype=np.float32, out=part)
        part += centres[random.integers(0, 100, len(part))]
    on_device = machine.put(X)
    y = random.integers(0, 10, n_samples)
    start = time.perf_counter()
    _, right, _ = nearest(on_device, 5)
    seconds = time.perf_counter() - start
    limit = 2 * n_samples**2 * n_features / machine.product_rate("float32")
    some = np.sort(random.choice(n_samples, 32, replace=False))
    with threadpool_limits(CPU_THREADS):
        expected = nearest(X, 5, queries=some, n_jobs=CPU_THREADS)
    same = np.array_equal(expected[1], right.reshape(-1, 5)[some].ravel())
    note = f"{len(some)} rows equal to the CPU: {same}; {machine.peak_memory()}"
    report(f"5 neighbours, {n_samples:,} x {n_features:,} float32", seconds, None, limit, note)
    what = f"FisherScore, {n_samples:,} x {n_features:,} float32, whole fit"
    selector = ls.FisherScore()
    with sklearn.config_context(array_api_dispatch=True):
        seconds = machine.best_time(lambda: selector.fit(on_device, y), 2)
    report(what, seconds, None, 2 * X.nbytes / machine.copy_rate())


TASKS = {
    "link": link,
    "laplacian": laplacian,
    "similarity": similarity,
    "wide": wide,
    "constrained": constrained,
    "complete": complete,
    "tall": tall,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--library", choices=["torch", "cupy"], default="torch")
    parser.add_argument("--quick", action="store_true", help="small data, to check that it works")
    parser.add_argument("--alone", action="store_true", help="do not fit on the CPU")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # about the constant pixels at the edges
    machine = Machine(chosen.library, chosen.quick, chosen.alone)
    name = "CPU"
    if machine.on_gpu and chosen.library == "torch":
        name = machine.xp.cuda.get_device_name()
    print(f"{name}, {chosen.library} {machine.xp.__version__}, NumPy {np.__version__}; ", end="")
    print(f"CPU: {CPU_THREADS} of {os.cpu_count()} cores")
    for kind in ("float32", "float64"):
        print(f"{kind} products: {machine.product_rate(kind) / 1e12:.3g} TFLOP/s")
    print(f"copies: {machine.copy_rate() / 1e12:.3g} TB/s")
    print("| what | on the device | on the CPU | limit of the device | |\n|---|---|---|---|---|")
    for task in chosen.tasks or TASKS:
        TASKS[task](machine)


if __name__ == "__main__":
    main()
