"""Measure time and memory of LinkSelector by size; writes docs/guide/link_selector.md.

    python benchmarks/link_speed.py --write       # about 5 minutes and 10 GB of memory
    python benchmarks/link_speed.py --only genes digits

Each case runs in a process of its own with one thread: the fastest of three fits (one fit where it
takes long), and the largest memory that the process ever had beyond what it had before the fit.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from linkselect import LinkSelector, Pairs
from measured_pages import show

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "link_selector.md"
DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
N_FEATURES = 50
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def noise(n_samples, n_features, dtype=np.float64):
    return np.random.default_rng(0).random((n_samples, n_features), dtype=dtype)


def twenty_pairs(n_samples):
    y = np.random.default_rng(1).integers(0, 5, n_samples)
    return {"pairs": Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)}


def digits():
    with np.load(DATA / "mnist.npz") as content:
        return content["X"], content["y"]


def fit(X, times=3, **known):
    """Return the seconds of the fastest fit."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        LinkSelector(N_FEATURES, n_jobs=1).fit(X, **known)
        found.append(time.perf_counter() - start)
    return min(found)


def in_memory(n_samples, n_features, dtype=np.float64, times=3):
    X = noise(n_samples, n_features, dtype)
    return partial(fit, X, times, **twenty_pairs(n_samples))


def mnist(labels):
    X, y = digits()
    known = {"y": y} if labels else twenty_pairs(len(X))
    return partial(fit, X, **known)


def sparse_text():
    from scipy.sparse import random_array

    X = random_array((20_000, 50_000), density=0.002, rng=np.random.default_rng(0), format="csr")
    return partial(fit, X, 1, **twenty_pairs(20_000))


def both_large():
    return in_memory(12_000, 12_000, np.float32, times=1)


def from_parquet(n_samples=1_000_000, n_features=500):
    """Return a fit that also measures how long reading alone takes, and how often that is."""
    import pyarrow
    import pyarrow.parquet

    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "table.parquet"
    names = [f"f{number}" for number in range(n_features)]
    rng, writer = np.random.default_rng(0), None
    for _ in range(0, n_samples, 100_000):
        columns = [rng.random(100_000, dtype=np.float32) for _ in names]
        part = pyarrow.table(columns, names=names)
        writer = writer or pyarrow.parquet.ParquetWriter(file, part.schema, compression="none")
        writer.write_table(part, row_group_size=20_000)
    writer.close()

    def measure():
        start = time.perf_counter()
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(20_000, use_threads=False):
            np.column_stack([one.to_numpy() for one in batch.columns])
        reading = time.perf_counter() - start
        seconds = fit(file, 1, **twenty_pairs(n_samples))
        folder.cleanup()
        return f"{seconds:.1f} s, {seconds / reading:.1f} times reading it ({reading:.1f} s)"

    return measure


CASES = {
    "genes": ("100 x 10,000", lambda: in_memory(100, 10_000)),
    "square": ("2,000 x 2,000", lambda: in_memory(2000, 2000)),
    "digits": ("MNIST, 70,000 x 784 bytes, 20 pairs", lambda: mnist(labels=False)),
    "labels": ("MNIST, all labels", lambda: mnist(labels=True)),
    "wide": ("500 x 2,000,000 float32", lambda: in_memory(500, 2_000_000, np.float32, 1)),
    "text": ("20,000 x 50,000 sparse, 0.2 % filled", sparse_text),
    "both": ("12,000 x 12,000 float32, by random sums", both_large),
    "parquet": ("1,000,000 x 500 float32 from Parquet", from_parquet),
}


def peak():
    """Return the largest memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_here(name):
    """Measure one case in this process."""
    warnings.simplefilter("ignore")
    work = CASES[name][1]()
    before = peak()
    seconds = work()
    found = seconds if isinstance(seconds, str) else f"{seconds:.2f} s"
    print(f"{found} | {before:,.0f} MB | {peak() - before:,.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--case", choices=list(CASES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.case:
        run_here(options.case)
        return
    lines = ["| samples | 50 features | memory before | added by the fit |", "|---|---|---|---|"]
    for name in options.only:
        call = [sys.executable, __file__, "--case", name]
        alone = subprocess.run(
            call, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
        )
        lines.append(f"| {CASES[name][0]} | {alone.stdout.strip()} |")
        print(lines[-1], file=sys.stderr)
    show({"speed": lines}, PAGE, options.write and options.only == list(CASES))


if __name__ == "__main__":
    main()
