"""Measure fits to stored samples: CPU time, anonymous memory, agreement with fits in memory.

    python benchmarks/stored.py --write

writes the files (4 GB each, in a temporary folder), measures everything in separate processes, one
at a time, and deletes the files. Each measurement is kept in stored.json at once, so the same
command resumes after an interruption. `--rows 100000 --queries 1000 --wide 200000` is a trial of
some minutes; name stages to run only these. `--write` puts the tables into docs/scale.md.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import stored_data as data
from measured_pages import show
from stored_tables import TABLES

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
SOURCE = HERE.parent / "src"
STORE = HERE / "stored.json"
N_COLUMNS = 1000
WIDE_ROWS = 500

MOMENTS = [
    ("VarianceScore", None),
    ("FisherScore", "all"),
    ("ConstraintScore", "all"),
    ("ConstraintScore", "pairs"),
]
GRAPHS = ["LaplacianScore", "LSDF", "ConstrainedLaplacianScore", "CompensatedLaplacianScore"]
WIDE = [("FisherScore", "all"), ("ConstraintScore", "pairs"), ("LaplacianScore", None)]
BEFORE = [
    ("VarianceScore", None),
    ("FisherScore", "all"),
    ("LaplacianScore", None),
    ("LSDF", 200),
    ("ConstraintScore", "pairs"),
]
BEFORE_SHAPES = [(5000, 2000), (10000, 500)]
ROUNDS = 5


class Bench:
    """Run the missing measurements, each in a separate process."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.found = kept()

    def wants(self, method, kind):
        methods, kinds = self.options.methods, self.options.kinds
        return (not methods or method in methods) and (not kinds or kind in kinds)

    def measure(self, key, task, settings, python_path=SOURCE):
        """Return a measurement, from the store if available."""
        if key in self.found:
            return self.found[key]
        result = run(task, settings, python_path)
        print(key, result, flush=True)
        if "failed" not in result:
            self.keep(key, result)
        return result

    def keep(self, key, result):
        # Another stage may run at the same time.
        self.found = self.found | kept() | {key: result}
        STORE.write_text(json.dumps(self.found, indent=1) + "\n")

    def file(self, name, write, size):
        """Return a file of the folder; write it if it is missing or incomplete."""
        path, ready = self.folder / name, self.folder / f"{name}.ready"
        if not ready.exists():
            if path.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if shutil.disk_usage(self.folder).free < 2 * size:
                raise SystemExit(
                    f"{self.folder} has too little free space for {size / 1e9:.1f} GB."
                )
            write(path)
            ready.touch()
        return str(path)

    def tall(self, kind, rows):
        write = {"parquet": data.write_parquet, "zarr": data.write_zarr}[kind]
        return self.file(
            f"tall-{rows}.{kind}",
            lambda path: write(path, rows, N_COLUMNS),
            4 * rows * N_COLUMNS,
        )

    def fit(self, key, method, told, kind, shape, settings, python_path=SOURCE):
        """Measure a fit, and its difference from the fit in memory if that is in this folder."""
        scores = self.folder / f"{key}.npy".replace("/", "-")
        *first, _, last = key.split("/")
        in_memory = self.folder / f"{'-'.join([*first, 'memory', last])}.npy"
        settings = {"n_jobs": self.options.threads} | settings
        settings |= {"method": method, "known": told, "X": kind, "shape": shape}
        settings |= {"scores": str(scores), "compare": str(in_memory)}
        found = self.measure(key, "fit", settings, python_path)
        if "difference" not in found and scores.exists() and in_memory.exists():
            # The fit in memory came later.
            found["difference"] = difference(np.load(scores), np.load(in_memory))
            self.keep(key, found)
        return found


def difference(scores, others):
    """Return the largest relative difference."""
    return float(np.nanmax(np.abs(scores - others) / np.abs(others)))


def kept():
    """Return the stored measurements."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def run(task, settings, python_path=SOURCE):
    """Run one measurement in a separate process, and watch its memory."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(python_path))
    command = [sys.executable, str(HERE / "stored_runs.py"), task, json.dumps(settings)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        peaks, ended = {}, threading.Event()
        watcher = threading.Thread(target=watch, args=(process.pid, peaks, ended))
        watcher.start()
        output = process.communicate()[0]
        ended.set()
        watcher.join()
    if process.returncode:
        return {"failed": process.returncode}
    own = peaks.pop(process.pid, 0)
    result = json.loads(output.splitlines()[-1])
    return result | {"anonymous": own} | ({"workers": max(peaks.values())} if peaks else {})


def watch(pid, peaks, ended):
    """Record the largest anonymous memory of a process and of its descendants, in MB."""
    while not ended.wait(0.03):
        for one in family(pid):
            try:
                text = Path(f"/proc/{one}/status").read_text()
            except OSError:
                continue
            found = re.search(r"RssAnon:\s+(\d+) kB", text)
            if found:
                peaks[one] = max(peaks.get(one, 0), round(int(found[1]) * 1024 / 1e6))


def family(pid):
    """Yield a process and its descendants."""
    yield pid
    try:
        listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return
    for child in " ".join(listed).split():
        yield from family(int(child))


# -- stages ------------------------------------------------------------------------------------


def tall(bench):
    """Measure fits by moments, relative to the CPU time of reading."""
    rows = bench.options.rows
    shape = [rows, N_COLUMNS]
    for kind in ("parquet", "zarr"):
        for how in ("library", "slabs"):
            if bench.wants("read", kind):
                settings = {"how": how, "file": bench.tall(kind, rows)}
                bench.measure(f"read/{rows}/{kind}/{how}", "read", settings)
    for method, told in MOMENTS:
        for kind in ("memory", "parquet", "zarr"):
            if bench.wants(method, kind):
                settings = {} if kind == "memory" else {"file": bench.tall(kind, rows)}
                key = f"moments/{rows}/{kind}/{method} {told or 'nothing'}"
                bench.fit(key, method, told, kind, shape, settings)
    if bench.wants("FisherScore", "parquet"):
        settings = {"file": bench.tall("parquet", rows), "n_jobs": 2}
        key = f"threads/{rows}/parquet/FisherScore all"
        bench.fit(key, "FisherScore", "all", "parquet", shape, settings)


def search(bench):
    """Measure fits by graphs, relative to the CPU time of the products."""
    rows, queries = bench.options.rows, bench.options.queries
    n_labelled = min(1000, queries // 5)
    for method in GRAPHS:
        told = None if method == "LaplacianScore" else n_labelled
        for kind in ("memory", "parquet", "zarr"):
            if not bench.wants(method, kind):
                continue
            settings = {} if kind == "memory" else {"file": bench.tall(kind, rows)}
            options = {"max_queries": queries, "random_state": 0}
            if method not in {"LaplacianScore", "LSDF"}:
                options["sigma"] = "auto"
            settings |= {"options": options, "products": True}
            key = f"search/{rows}/{queries}/{kind}/{method}"
            bench.fit(key, method, told, kind, [rows, N_COLUMNS], settings)


def wide(bench):
    """Measure a few rows and many columns, relative to fits in memory."""
    columns = bench.options.wide
    size = 4 * WIDE_ROWS * columns

    def write(path):
        path.mkdir()
        data.write_wide(path, WIDE_ROWS, columns)

    folder = Path(bench.file(f"wide-{columns}", write, 2 * size))
    files = {"memory": "wide.npy", "npy": "wide.npy", "zarr": "wide.zarr"}
    shape = [WIDE_ROWS, columns]
    for kind in ("npy", "zarr"):
        for how in ("library", "slabs"):
            if bench.wants("load", kind):
                settings = {"how": how, "file": str(folder / files[kind])}
                bench.measure(f"load/{columns}/{kind}/{how}", "read", settings)
    for method, told in WIDE:
        for kind, name in files.items():
            if bench.wants(method, kind):
                settings = {"file": str(folder / name), "wide": True}
                bench.fit(f"wide/{columns}/{kind}/{method}", method, told, kind, shape, settings)
        if bench.options.before is not None and bench.wants(method, "before"):
            settings = {"file": str(folder / "wide.npy"), "wide": True}
            key = f"wide/{columns}/before/{method}"
            bench.fit(key, method, told, "memory", shape, settings, bench.options.before)


def clusters(bench):
    """Measure Dask processes of 1 GB each, also with one worker or all workers killed."""
    rows = bench.options.cluster_rows
    file = bench.tall("parquet", rows)
    drawn = {"max_queries": bench.options.cluster_queries, "random_state": 0}
    for method, told, options in [("FisherScore", "all", {}), ("LaplacianScore", None, drawn)]:
        if not bench.wants(method, "parquet"):
            continue
        settings = {"method": method, "known": told, "X": "parquet", "file": file}
        settings |= {"shape": [rows, N_COLUMNS], "options": options}
        key = f"cluster/{rows}/{method}"
        threads = bench.found.get(f"moments/{rows}/parquet/{method} {told}")
        if threads is None:
            bench.measure(f"{key}/threads", "fit", settings)
        else:
            bench.found[f"{key}/threads"] = threads
        for workers in bench.options.workers:
            found = bench.measure(f"{key}/{workers}", "cluster", settings | {"workers": workers})
            if workers == 2:
                usual = found["wall"]
        killed = settings | {"workers": 2, "kill_after": usual / 2, "kill": "one"}
        bench.measure(f"{key}/2 killed", "cluster", killed)
        if method == "LaplacianScore":
            bench.measure(f"{key}/2 gone", "cluster", killed | {"kill": "all"})


def before(bench):
    """Compare fits in memory by an earlier version of the code and by this one, in turns."""
    if bench.options.before is None:
        print("Nothing to compare: --before PATH (the src of an earlier version) is missing.")
        return
    settings = {"shapes": BEFORE_SHAPES, "methods": BEFORE}
    paths = {"before": bench.options.before, "now": SOURCE}
    for number in range(ROUNDS):
        for version in ("before", "now") if number % 2 else ("now", "before"):
            bench.measure(f"before/{number}/{version}", "in_memory", settings, paths[version])


def awkward(bench):
    """Measure files that are hard to read in little memory."""
    rows = bench.options.rows
    one_group = bench.file(
        f"one-group-{rows}.parquet",
        lambda path: data.write_parquet(path, rows, 200, group_rows=rows),
        4 * rows * 200,
    )
    many_columns = bench.file(
        f"many-columns-{rows // 100}.parquet",
        lambda path: data.write_parquet(path, rows // 100, 20_000, group_rows=data.BLOCK),
        4 * rows * 200,
    )
    types = bench.file(f"types-{rows}.parquet", lambda path: data.write_awkward(path, rows), 10**8)
    last = rows * 9 // 10
    missing = bench.file(
        f"missing-{rows}.parquet", lambda path: data.write_awkward(path, rows, last), 10**8
    )
    for name, file, shape in [
        ("200 columns, one row group", one_group, [rows, 200]),
        ("20,000 columns", many_columns, [rows // 100, 20_000]),
        ("nullable, dictionary, half, bool, uint8", types, [rows, 6]),
        ("the same, NaN in nine tenths of the rows down", missing, [rows, 6]),
    ]:
        settings = {"method": "FisherScore", "known": "all", "X": "parquet"}
        settings |= {"file": file, "shape": shape, "may_fail": "NaN" in name}
        bench.measure(f"awkward/{shape[0]}/{name}", "fit", settings)


def client(bench):
    """Measure the memory per row of a fit besides the samples, on narrow tables."""
    for rows in (bench.options.narrow // 4, bench.options.narrow):
        file = bench.file(f"{rows}.npy", lambda path, n=rows: data.write_narrow(path, n), 32 * rows)
        for method, told in [("VarianceScore", None), ("FisherScore", "all")]:
            settings = {"method": method, "known": told, "X": "npy", "file": file}
            settings |= {"shape": [rows, 4]}
            bench.measure(f"client/{rows}/npy/{method}", "fit", settings)


STAGES = {
    "tall": tall,
    "search": search,
    "wide": wide,
    "cluster": clusters,
    "before": before,
    "awkward": awkward,
    "client": client,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("stages", nargs="*", choices=[*STAGES, []], help="default: all")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--wide", type=int, default=2_000_000, help="columns of wide data")
    parser.add_argument("--cluster-rows", type=int, default=1_000_000)
    parser.add_argument("--cluster-queries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1, help="of every fit outside clusters")
    parser.add_argument("--workers", nargs="*", type=int, default=[2, 1, 4])
    parser.add_argument("--narrow", type=int, default=40_000_000, help="rows of narrow tables")
    parser.add_argument("--methods", nargs="*", help="only these methods")
    parser.add_argument("--kinds", nargs="*", help="only these: memory, parquet, zarr, npy, before")
    parser.add_argument("--before", type=Path, help="the src folder of an earlier version")
    parser.add_argument("--folder", type=Path, help="folder of the files; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="do not delete the files")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.gettempdir()) / "linkselect-stored"
    folder.mkdir(exist_ok=True)
    bench = Bench(options, folder)
    if not options.tables:
        for stage in options.stages or STAGES:
            STAGES[stage](bench)
        if not options.keep:
            shutil.rmtree(folder)
    tables = {name: table(bench.found) for name, table in TABLES.items()}
    show(tables, PAGE, options.write)


if __name__ == "__main__":
    main()
