"""Run one measurement of stored.py in its own process: `python stored_runs.py TASK JSON`.

Prints one line of JSON: CPU seconds (user and system, with children that have ended), seconds of
wall time, and a digest of the scores, which are kept in a file if one is named.
"""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.utils import check_random_state

import linkselect as ls
import stored_data as data
from linkselect._messages import GuidedError

N_PAIRS = 100


class Clock:
    """CPU and wall time between two moments."""

    def __enter__(self):
        self.cpu, self.wall = -cpu_seconds(), -time.perf_counter()
        return self

    def __exit__(self, *_):
        self.cpu += cpu_seconds()
        self.wall += time.perf_counter()

    @property
    def times(self):
        return {"cpu": round(self.cpu, 3), "wall": round(self.wall, 3)}


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# -- supervision and samples -------------------------------------------------------------------


def known(kind, classes):
    """Return the supervision of a fit: none, all classes, a number of them, or pairs."""
    rng = check_random_state(0)
    if kind == "all":
        return {"y": classes}
    if isinstance(kind, int):
        y = np.full(len(classes), -1)
        rows = rng.choice(len(classes), kind, replace=False)
        y[rows] = classes[rows]
        return {"y": y}
    if kind == "pairs":
        ends = rng.choice(len(classes), 2 * N_PAIRS, replace=False).reshape(-1, 2)
        alike = classes[ends[:, 0]] == classes[ends[:, 1]]
        return {"pairs": ls.Pairs(must=ends[alike], cannot=ends[~alike])}
    return {}


def samples(task):
    """Return X in the form that the task needs, and the classes."""
    n_rows, n_columns = task["shape"]
    if task.get("wide"):
        classes = data.wide_classes(n_rows)
        return np.load(task["file"]) if task["X"] == "memory" else task["file"], classes
    classes = data.tall_classes(n_rows)
    if task["X"] == "memory":
        return data.tall_in_memory(n_rows, n_columns), classes
    return task["file"], classes


# -- tasks -------------------------------------------------------------------------------------


def read(task):
    """Read a file once: by its library, or as the slabs that a fit reads."""
    with Clock() as clock:
        total = {"library": read_by_library, "slabs": read_slabs}[task["how"]](Path(task["file"]))
    return clock.times | {"total": total}


def read_by_library(path):
    total = 0
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path)
        for number in range(file.num_row_groups):
            total += file.read_row_group(number, use_threads=False).num_rows
    elif path.suffix == ".zarr":
        import zarr

        zarr.config.set({"threading.max_workers": 1})
        array = zarr.open_array(path, mode="r")
        step = array.chunks if array.shape[0] < array.shape[1] else (array.chunks[0], None)
        for start in range(0, array.shape[1] if step[1] else array.shape[0], step[1] or step[0]):
            piece = slice(start, start + (step[1] or step[0]))
            total += len(array[:, piece] if step[1] else array[piece])
    else:
        with path.open("rb") as file:
            while piece := file.read(1 << 26):
                total += len(piece)
    return total


def read_slabs(path):
    total = 0
    for part in ls.open_stored(path).parts:
        for _, slab in part.slabs():
            total += len(slab)
    return total


def fit(task):
    """Fit one method; compare a search for neighbours with its products."""
    X, classes = samples(task)
    told = known(task["known"], classes)
    selector = selector_of(task)
    searched = count_searched()
    is_search = task.get("products", False)
    rates = [product_seconds(task["shape"][1])] if is_search else []
    try:
        with Clock() as clock, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            selector.fit(X, **told)
    except GuidedError as error:
        if not task.get("may_fail"):
            raise
        return clock.times | {"error": str(error)}
    found = clock.times | scores_of(selector, task)
    if is_search:
        rates.append(product_seconds(task["shape"][1]))
        multiplied = sum(searched) * task["shape"][0]
        found |= {"searched": sum(searched), "products": round(np.mean(rates) * multiplied, 3)}
    return found


def selector_of(task):
    options = {"n_jobs": task.get("n_jobs", 1)} | task.get("options", {})
    return getattr(ls, task["method"])(**options)


def scores_of(selector, task):
    scores = np.ascontiguousarray(selector.scores_)
    if task.get("scores"):
        np.save(task["scores"], scores)
    found = {"digest": hashlib.sha256(scores.tobytes()).hexdigest()[:16]}
    if task.get("compare") and Path(task["compare"]).exists():
        found["difference"] = difference(scores, np.load(task["compare"]))
    return found


def difference(scores, others):
    """Return the largest relative difference."""
    return float(np.nanmax(np.abs(scores - others) / np.abs(others)))


def count_searched():
    """Record the number of samples in each search for neighbours."""
    try:
        from linkselect.graphs import _sampled as sampled
    except ImportError:
        return []
    numbers, search = [], sampled.nearest

    def counting(X, n_neighbors, *, queries=None, n_jobs=None):
        numbers.append(X.shape[0] if queries is None else len(queries))
        return search(X, n_neighbors, queries=queries, n_jobs=n_jobs)

    sampled.nearest = counting
    return numbers


def product_seconds(n_columns, seconds=4.0):
    """Return the CPU time of one product of two samples by BLAS, in tiles of the search."""
    from linkselect._samples.part_neighbors import TILE_SIZE
    from linkselect._samples.sources.stored import SLAB_BYTES

    height = SLAB_BYTES // (4 * n_columns)
    rng = np.random.default_rng(0)
    slab = rng.standard_normal((height, n_columns), dtype=np.float32)
    queries = rng.standard_normal((TILE_SIZE // height, n_columns), dtype=np.float32)
    tile = np.empty((len(queries), height), np.float32)
    np.matmul(queries, slab.T, out=tile)
    count, start = 0, cpu_seconds()
    while cpu_seconds() - start < seconds:
        np.matmul(queries, slab.T, out=tile)
        count += 1
    return (cpu_seconds() - start) / (count * tile.size)


def in_memory(task):
    """Fit several methods to arrays in memory, for two versions of the code."""
    found = {}
    for shape in task["shapes"]:
        X = data.tall_in_memory(*shape)
        classes = data.tall_classes(shape[0])
        for method, kind in task["methods"]:
            selector, told = getattr(ls, method)(n_jobs=1), known(kind, classes)
            small = {key: value[:500] if key == "y" else value for key, value in told.items()}
            if "pairs" not in told:
                selector.fit(X[:500, :50], **small)
            with Clock() as clock, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                selector.fit(X, **told)
            found[f"{method} {shape[0]} x {shape[1]}"] = round(clock.cpu, 3)
    return found


def cluster(task):
    """Fit by processes of Dask, of which one may be killed, or all permanently."""
    import distributed

    X, classes = samples(task)
    selector, told = selector_of(task), known(task["known"], classes)
    # A nanny restarts a killed worker, so permanently killed workers have none.
    own = task.get("kill") == "all"
    options = {"n_workers": 0 if own else task["workers"], "threads_per_worker": 1}
    with (
        distributed.LocalCluster(
            **options, memory_limit="1GB", dashboard_address="127.0.0.1:0"
        ) as workers,
        distributed.Client(workers) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        started = [bare_worker(client) for _ in range(task["workers"])] if own else []
        client.wait_for_workers(task["workers"])
        pids = [one.pid for one in started] or list(client.run(os.getpid).values())
        running, killed = threading.Event(), []
        running.set()
        if task.get("kill_after"):
            doomed = pids if own else pids[:1]
            arguments = (doomed, task["kill_after"], running, killed)
            threading.Thread(target=kill, args=arguments, daemon=True).start()
        error, start = "", time.perf_counter()
        try:
            selector.fit(X, **told)
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
        running.clear()
        found = {"wall": round(time.perf_counter() - start, 1), "error": error}
        found["killed"] = [round(moment - start, 1) for moment in killed]
        found["left"] = len(client.nthreads())
        for one in started:
            one.kill()
            one.wait()
    return found | (scores_of(selector, task) if not error else {})


def bare_worker(client):
    """Start a worker that is not restarted."""
    options = ["--no-nanny", "--nthreads", "1", "--memory-limit", "1GB", "--no-dashboard"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
    return subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)


def kill(pids, seconds, running, killed):
    """Send SIGKILL to some workers after a delay, if the fit is still running."""
    time.sleep(seconds)
    if running.is_set():
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            killed.append(time.perf_counter())


TASKS = {"read": read, "fit": fit, "in_memory": in_memory, "cluster": cluster}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](json.loads(sys.argv[2]))))
