"""Measure time and memory of LinkSelector by size; writes docs/scale.md.

    python benchmarks/link_speed.py --write       # about 5 minutes and 10 GB of memory
    python benchmarks/link_speed.py --only genes digits
    python benchmarks/link_speed.py --pairs --write       # weighted pairs

Each case runs in its own process with one thread: the fastest of three fits (one if slow), and the
peak memory of the process above that before the fit.
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

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
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
    """Return a fit that also reports its time relative to reading the file."""
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
        return f"{seconds:.1f} s, {seconds / reading:.1f} times the reading ({reading:.1f} s)"

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


# -- weighted pairs and labels ---------------------------------------------------------------------

N_LABELS, N_COLUMNS = 50_000, 50
WAYS = {
    "arrays": "arrays of row numbers",
    "lists": "lists of tuples",
    "frame": "`Pairs.from_frame`, pandas",
    "csv": "`Pairs.from_csv`",
    "command": "`linkselect rank --pairs`, `--label`",
}


def weighted_pairs(n_pairs):
    """Return labels, and weighted must-links and cannot-links that agree with them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, N_LABELS)
    a = rng.integers(0, N_LABELS, n_pairs)
    links = np.column_stack([a, (a + rng.integers(1, N_LABELS, n_pairs)) % N_LABELS])
    same = y[links[:, 0]] == y[links[:, 1]]
    weights = rng.random(n_pairs) + 0.1
    return y, links[same], links[~same], weights[same], weights[~same]


def write_pairs(folder, n_pairs):
    """Write the pairs as CSV and the table as Parquet."""
    import pyarrow
    import pyarrow.parquet

    y, must, cannot, *weights = weighted_pairs(n_pairs)
    with (folder / f"{n_pairs}.csv").open("w") as file:
        file.write("a,b,link,weight\n")
        for links, own, kind in zip((must, cannot), weights, ("must", "cannot"), strict=True):
            for (a, b), weight in zip(links.tolist(), own.tolist(), strict=True):
                file.write(f"{a},{b},{kind},{weight:.3f}\n")
    columns = {f"f{i}": column for i, column in enumerate(noise(N_LABELS, N_COLUMNS).T)}
    pyarrow.parquet.write_table(pyarrow.table({"y": y} | columns), folder / "table.parquet")


def run_pairs(way, n_pairs, folder):
    """Build the pairs in one way, join labels, fit, and print the peak memory."""
    if way == "write":
        write_pairs(folder, n_pairs)
        return
    if way == "command":
        call = [sys.executable, "-m", "linkselect", "rank", "table.parquet", "--label", "y"]
        call += ["--pairs", f"{n_pairs}.csv", "--n-features", "20", "--no-validate"]
        subprocess.run(call, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=2)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{usage.ru_maxrss / 1024:,.0f} MB")
        return
    y, must, cannot, of_must, of_cannot = weighted_pairs(n_pairs)
    given = {"must": must, "cannot": cannot, "must_weights": of_must, "cannot_weights": of_cannot}
    if way == "frame":
        import pandas

        kinds = np.repeat(["must", "cannot"], [len(must), len(cannot)])
        columns = np.concatenate([must, cannot]).T
        weights = np.concatenate([of_must, of_cannot])
        given = pandas.DataFrame({"a": columns[0], "b": columns[1], "link": kinds})
        given["weight"] = weights
    elif way == "lists":
        given = {name: list(map(tuple, given[name].tolist())) for name in ("must", "cannot")}
        given |= {"must_weights": of_must.tolist(), "cannot_weights": of_cannot.tolist()}
    if way == "frame":
        pairs = Pairs.from_frame(given)
    elif way == "csv":
        pairs = Pairs.from_csv(folder / f"{n_pairs}.csv")
    else:
        pairs = Pairs(**given)
    X = noise(N_LABELS, N_COLUMNS)
    LinkSelector(20, n_jobs=1).fit(X, pairs=pairs | Pairs.from_labels(y))
    print(f"{peak():,.0f} MB")


def measure_pairs(write):
    """Measure every way at three sizes, each in its own process."""
    sizes = [500_000, 1_000_000, 2_000_000]
    lines = [
        f"| weighted pairs | {' | '.join(f'{size:,}' for size in sizes)} |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        # A process inherits the peak memory of its parent, so this one stays small.
        for size in sizes:
            call = [sys.executable, __file__, "--pairs", "write", str(size), name]
            subprocess.run(call, check=True)
        for way, shown in WAYS.items():
            cells = []
            for size in sizes:
                call = [sys.executable, __file__, "--pairs", way, str(size), name]
                done = subprocess.run(
                    call, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
                )
                cells.append(done.stdout.strip())
            lines.append(f"| {shown} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr)
    show({"pairs": lines}, PAGE, write)


def peak():
    """Return the peak memory of the process, in MB."""
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
    parser.add_argument("--pairs", nargs="*", metavar="WAY")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.pairs:
        way, size, folder = options.pairs
        run_pairs(way, int(size), Path(folder))
        return
    if options.pairs is not None:
        measure_pairs(options.write)
        return
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
