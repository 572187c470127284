"""Calculate the cost of a billion rows from measured rates, and simulate the merges.

    python benchmarks/billion_rows.py --write

The costs are calculated, not measured: times and memory of stored.json are scaled up. `--simulate`
tries what one machine can try: the tree of merges with the full number of parts and size of
results, the tasks sent to the scheduler, and the broadcast of rows to 32 workers of Dask (in one
process, over TCP, with fewer bytes).
"""

import argparse
import json
import pickle
import time
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np

from linkselect._samples.moments import Moments
from linkselect._samples.part_neighbors import QUERY_BYTES, _nearest_of_all
from linkselect._samples.parts import HELD_BYTES
from linkselect._samples.sources.merging import FAN_IN, MergeTree, level_sizes
from linkselect._samples.sources.stored import MANY_PARTS, PART_BYTES, SLAB_BYTES
from linkselect._samples.survey import Survey, merged_surveys
from measured_pages import show
from stored import PAGE, STORE
from stored_tables import largest, table

SIMULATED = Path(__file__).with_suffix(".json")
GIGA = 1e9
# Workers of Dask in one process; 70 of them did not finish within minutes.
MOST_WORKERS = 32
N_COLUMNS_MEASURED = 1000


@dataclass(frozen=True)
class Setting:
    """The samples and the machines."""

    n_rows: int = 10**9
    n_columns: int = 10_000
    n_classes: int = 4
    max_queries: int = 20_000
    n_neighbors: int = 5
    machines: int = 100
    cores: int = 32
    # 10 Gbit/s to each machine, from shared storage and between machines.
    network: float = 1.25 * GIGA

    @property
    def size(self):
        return 4 * self.n_rows * self.n_columns

    @property
    def n_parts(self):
        return ceil(self.size / max(PART_BYTES, self.size // MANY_PARTS))

    @property
    def searched(self):
        """All queries and at most all their neighbours."""
        return self.max_queries * (self.n_neighbors + 1)

    @property
    def batch(self):
        """Number of queries compared with all parts in one pass."""
        return max(QUERY_BYTES // (4 * self.n_columns), 1)

    @property
    def batches(self):
        queries, neighbors = self.max_queries, self.max_queries * self.n_neighbors
        return ceil(queries / self.batch) + ceil(neighbors / self.batch)


@dataclass(frozen=True)
class Rates:
    """Measured CPU seconds."""

    read: float
    moments: float
    pairs: float
    search: float

    @classmethod
    def of(cls, found):
        """Return the rates of the largest measurements on Parquet."""
        (rows,), slabs = largest(found, "read")["parquet", "slabs"]
        fits = largest(found, "moments")
        (fitted,), fisher = fits["parquet", "FisherScore all"]
        (paired,), constraint = fits["parquet", "ConstraintScore pairs"]
        # The search with the most products, where reading matters least.
        searches = {
            key: one for key, one in found.items() if "/parquet/" in key and "products" in one
        }
        key = max(searches, key=lambda key: searches[key]["products"])
        searched, graph = int(key.split("/")[1]), searches[key]
        per_row = 4 * N_COLUMNS_MEASURED / GIGA
        # Includes the other costs of a search, and the first pass.
        products = graph["searched"] * searched * N_COLUMNS_MEASURED
        return cls(
            read=slabs["cpu"] / (rows * per_row),
            moments=fisher["cpu"] / (fitted * per_row),
            pairs=constraint["cpu"] / (paired * per_row),
            search=graph["cpu"] / products,
        )


# -- calculated --------------------------------------------------------------------------------


def costs(setting, rates):
    """Return for each kind of method: passes, bytes read, CPU hours, hours."""
    size = setting.size / GIGA
    found = {}
    for name, passes, cpu in [
        ("Variance, Fisher, Constraint from labels", 1, size * rates.moments),
        ("Constraint from pairs", 1, size * rates.pairs),
        (
            f"Laplacian, LSDF, CCLS, {setting.max_queries:,} queries",
            # The survey; for each batch, taking its rows and searching; sigma; the last rows; the
            # kurtosis.
            1 + 2 * setting.batches + 3,
            size * (rates.moments + rates.read * (setting.batches + 3))
            + rates.search * setting.searched * setting.n_rows * setting.n_columns,
        ),
    ]:
        workers = setting.machines * setting.cores
        # Parts are not split, so the last round is not full.
        rounds = ceil(setting.n_parts / workers) / (setting.n_parts / workers)
        reading = passes * setting.size / (setting.machines * setting.network)
        found[name] = {
            "passes": passes,
            "read": passes * setting.size,
            "cpu": cpu,
            "computing": cpu / workers * rounds,
            "reading": reading,
        }
    return found


def cost_table(setting, rates):
    rows = []
    for name, cost in costs(setting, rates).items():
        slower = max(cost["computing"], cost["reading"])
        rows.append(
            [
                name,
                f"{cost['passes']}",
                f"{cost['read'] / 1e12:,.0f}",
                f"{cost['cpu'] / 3600:,.0f}",
                hours(cost["computing"]),
                hours(cost["reading"]),
                hours(slower),
            ]
        )
    head = ["method", "passes", "TB read", "CPU hours", "computing", "reading", "together"]
    return table(head, rows)


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def memory_table(setting, per_row, tasks):
    """Return the memory that client, scheduler and workers need."""
    groups = setting.n_classes + 1
    told = (3 * groups + 2) * 8 * setting.n_columns
    queries = setting.batch * setting.n_columns * 4
    lists = setting.batch * setting.n_neighbors * 16
    rows = setting.searched * setting.n_columns * 4
    own = {
        name: mega(per_row[name] * setting.n_rows) if name in per_row else "-"
        for name in ("labels", "none")
    }
    lines = [
        ["worker", "a slab, and its copies in float32 and for the tile", mega(4 * SLAB_BYTES)],
        ["worker", "result of a part: extremes and moments by class", mega(told)],
        ["worker", f"queries of one pass ({setting.batch:,})", mega(queries)],
        ["worker", "nearest neighbours of these in one part", mega(lists)],
        [
            "scheduler",
            "tasks of the first pass, with the class of every row",
            mega(tasks["sent"]) if tasks else "-",
        ],
        ["client", "numbers per row, without labels", own["none"]],
        ["client", "numbers per row, with labels for all", own["labels"]],
        [
            "client",
            f"rows of the final graph (`(n_neighbors + 1) max_queries` = "
            f"{setting.searched:,} rows, {mega(rows)}), by columns",
            mega(min(rows, HELD_BYTES)),
        ],
    ]
    return table(["where", "what", "memory"], lines)


def bytes_per_row(found):
    """Return the measured memory of a fit per row, with and without labels."""
    by_method = {}
    for key, result in found.items():
        stage, rows, *_, method = key.split("/")
        if stage == "client":
            by_method.setdefault(method, []).append((int(rows), 1e6 * result["anonymous"]))
    names = {"VarianceScore": "none", "FisherScore": "labels"}
    return {names[method]: slope(sorted(points)) for method, points in by_method.items()}


def slope(points):
    (few, less), (many, more) = points[0], points[-1]
    return (more - less) / (many - few)


def mega(size):
    if size >= GIGA:
        return f"{size / GIGA:,.1f} GB"
    return f"{size / 1e6:,.0f} MB" if size >= 1e7 else f"{size / 1e6:,.1f} MB"


# -- simulated ---------------------------------------------------------------------------------


def simulate_merges(setting):
    """Merge one result of full size per part, with the real tree."""
    rng = np.random.default_rng(0)
    shape = (setting.n_classes + 1, setting.n_columns)

    def told(number):
        mass = np.full(shape[0], setting.n_rows / setting.n_parts / shape[0])
        # Alternate two sets of numbers: new ones would take longer than merging.
        scatter, origin, offset = base[number % 2]
        return Survey(offset[0], offset[0], Moments(mass, scatter, origin, offset))

    base = [[rng.random(shape) for _ in range(3)] for _ in range(2)]
    n_queries = min(setting.batch, setting.max_queries)
    distances = np.sort(rng.random((2, n_queries, setting.n_neighbors)), axis=2)

    def lists(number):
        start = number * setting.n_neighbors
        rows = np.tile(np.arange(start, start + setting.n_neighbors), (n_queries, 1))
        return rows, distances[number % 2]

    merges = {
        "moments": (told, merged_surveys),
        "nearest": (lists, partial(_nearest_of_all, n_neighbors=setting.n_neighbors)),
    }
    return {name: merged_by_tree(setting.n_parts, *both) for name, both in merges.items()}


def merged_by_tree(n_parts, leaf, merge):
    counted = {"merges": 0, "waiting": 0, "cpu": 0.0}

    def counting(results):
        start = time.process_time()
        found = merge(results)
        counted["cpu"] += time.process_time() - start
        counted["merges"] += 1
        return found

    tree = MergeTree(n_parts, counting)
    # Out of order, as on many workers.
    for number in np.random.default_rng(0).permutation(n_parts):
        tree.add(int(number), leaf(int(number)))
        counted["waiting"] = max(counted["waiting"], sum(map(len, tree.waiting.values())))
    size = len(pickle.dumps(leaf(0), protocol=5))
    moved = size * sum(level_sizes(n_parts)[:-1])
    counted |= {"depth": len(tree.sizes) - 1, "size": size, "moved": moved}
    return counted


def simulate_tasks(setting):
    """Build the tasks of the first pass for the scheduler, from a sparse file."""
    import tempfile

    import cloudpickle

    from linkselect import open_stored
    from linkselect._samples.sources.clusters import Job, task_tree

    scale = 100
    n_rows = setting.n_rows // scale
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        # The file has the right size but no content, and is not read.
        np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, setting.n_columns))
        X = open_stored(path)
        # As the survey sends them.
        codes = np.zeros(n_rows, np.uint8)
        inputs = [(codes[part.rows],) for part in X.parts]
        start = time.process_time()
        job = Job(X, list(range(len(X.parts))), len, len, inputs, "read")
        leaves, top = task_tree(job)
        built = time.process_time() - start
        sent = len(cloudpickle.dumps(dict(top.__dask_graph__())))
    # Only the classes grow with the number of rows.
    others = sent - codes.nbytes
    return {"parts": len(leaves), "cpu": built, "sent": setting.n_rows + others, "others": others}


def simulate_broadcast(setting, n_bytes=8_000_000):
    """Send the same rows to all workers of Dask, and count the bytes that each sends."""
    n_workers = min(setting.machines, MOST_WORKERS)
    import distributed
    from dask import delayed

    options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(
            **options, protocol="tcp://", dashboard_address=None, silence_logs=40
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = delayed(np.ones, pure=False)(n_bytes // 8)
        ask = delayed(_use, pure=False)
        start = time.perf_counter()
        client.gather(client.compute([ask(rows, number) for number in range(2 * n_workers)]))
        wall = time.perf_counter() - start
        workers = list(cluster.workers.values())
        sent = [sum(one["total"] for one in worker.transfer_outgoing_log) for worker in workers]
    copies = np.array(sent) / n_bytes
    return {
        "workers": n_workers,
        "bytes": n_bytes,
        "copies": float(copies.sum()),
        "most": float(copies.max()),
        "senders": int((copies > 0.5).sum()),
        "wall": wall,
    }


def _use(rows, number):
    time.sleep(0.05)
    return float(rows[number])


SIMULATIONS = {
    "merges": simulate_merges,
    "tasks": simulate_tasks,
    "broadcast": simulate_broadcast,
}


def simulation_table(found, setting):
    lines = []
    for name, one in found["merges"].items():
        said = {
            "moments": f"moments of {setting.n_classes + 1} groups, {setting.n_columns:,} columns",
            "nearest": f"{setting.n_neighbors} nearest of {setting.batch:,} queries",
        }[name]
        lines.append(
            [
                said,
                f"{setting.n_parts:,}",
                f"{one['depth']}",
                f"{one['merges']:,}",
                mega(one["size"]),
                mega(one["moved"]),
                f"{1000 * one['cpu'] / one['merges']:.0f} ms",
                f"{one['waiting']:,}",
            ]
        )
    head = ["what is merged", "parts", "levels", "merges", "one result", "all bytes moved"]
    return table([*head, f"CPU time of one merge (of {FAN_IN})", "results waiting at once"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=Setting.n_rows)
    parser.add_argument("--columns", type=int, default=Setting.n_columns)
    parser.add_argument("--machines", type=int, default=Setting.machines)
    parser.add_argument("--cores", type=int, default=Setting.cores)
    parser.add_argument("--queries", type=int, default=Setting.max_queries)
    parser.add_argument("--simulate", action="store_true", help="also merge, send and spread")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    setting = Setting(
        options.rows,
        options.columns,
        max_queries=options.queries,
        machines=options.machines,
        cores=options.cores,
    )
    found = json.loads(STORE.read_text())
    kept = json.loads(SIMULATED.read_text()) if SIMULATED.exists() else {}
    if options.simulate:
        for name, simulation in SIMULATIONS.items():
            kept[name] = simulation(setting)
            SIMULATED.write_text(json.dumps(kept, indent=1) + "\n")
    rates = Rates.of(found)
    print(rates, kept.get("tasks"), kept.get("broadcast"), sep="\n")
    tables = {
        "costs": cost_table(setting, rates),
        "held": memory_table(setting, bytes_per_row(found), kept.get("tasks")),
    }
    if kept:
        tables["simulated"] = simulation_table(kept, setting)
    show(tables, PAGE, options.write)


if __name__ == "__main__":
    main()
