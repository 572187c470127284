"""Measure what `linkselect rank` takes for tables that it reads by parts, under --max-memory.

Prints the table of docs/scale.md and with `--write` puts it there. Makes its tables in a
temporary folder, about 1 GB in all, and takes a minute or two:

    python benchmarks/command_memory.py --write
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import stored_data as data
from measured_pages import show
from stored import watch

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
N_ROWS, N_COLUMNS, GROUP_ROWS = 200_000, 500, 20_000
N_PAIRS = 200
LABELS = ["tall.parquet", "--id-column", "id", "--label", "class"]
SELECT = ["--select", "small.parquet"]
PAIRS = ["tall.parquet", "--id-column", "id", "--drop", "class", "--pairs", "pairs.csv"]
# What the page says, the limit, and the arguments; a limit that is refused becomes the
# smallest that works.
CASES = [
    ("Parquet, `--label class` (`fisher`)", "", [*LABELS, "--by-parts"]),
    ("Parquet, `--label class` (`fisher`)", "300MB", LABELS),
    ("Parquet, `--label class` (`fisher`)", "96MB", LABELS),
    ("Parquet, `--label class --select small.parquet`", "300MB", [*LABELS, *SELECT]),
    ("Parquet, `--pairs pairs.csv` (`constraint`, 200 pairs)", "200MB", PAIRS),
    ("Zarr, `--method variance`", "250MB", ["tall.zarr", "--method", "variance"]),
    (
        '`.npy`, 6,000 x 5,000, `--method "laplacian(max_queries=600)"`',
        "200MB",
        ["square.npy", "--method", "laplacian(max_queries=600)"],
    ),
]


def make_tables(folder):
    """Write the same rows as Parquet and Zarr, their pairs, and a table with more columns."""
    classes = data.tall_classes(N_ROWS)
    names = [f"f{column}" for column in range(N_COLUMNS)]
    X = data.tall_in_memory(N_ROWS, N_COLUMNS)
    columns = {"id": np.arange(N_ROWS), "class": classes.astype(str)}
    table = pa.table(columns | dict(zip(names, np.ascontiguousarray(X.T), strict=True)))
    pq.write_table(table, folder / "tall.parquet", row_group_size=GROUP_ROWS)
    data.write_zarr(folder / "tall.zarr", N_ROWS, N_COLUMNS)
    ends = np.random.default_rng(0).choice(N_ROWS, (N_PAIRS, 2), replace=False)
    links = ["must" if classes[a] == classes[b] else "cannot" for a, b in ends]
    lines = [f"{a},{b},{link}" for (a, b), link in zip(ends, links, strict=True)]
    (folder / "pairs.csv").write_text("\n".join(["a,b,link", *lines]) + "\n")
    np.save(folder / "square.npy", data.tall_in_memory(6_000, 5_000))


def rank(arguments, folder):
    """Run the command; return its exit code, output, CPU seconds and largest memory in MB."""
    command = [sys.executable, "-m", "linkselect", "rank", *arguments]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        peaks, ended = {}, threading.Event()
        watcher = threading.Thread(target=watch, args=(process.pid, peaks, ended))
        watcher.start()
        said = b"".join(process.communicate()).decode()
        ended.set()
        watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return process.returncode, said, cpu, peaks.get(process.pid, 0)


def measure(folder):
    """Yield a row of the table for each case."""
    for what, limit, arguments in CASES:
        limited = ["--max-memory", limit] if limit else []
        code, said, cpu, memory = rank([*arguments, *limited], folder)
        shown = limit or "none (three quarters of what is free)"
        if code and (smallest := re.search(r"--max-memory (\d+MB)", said)):
            # The message names the smallest limit that works.
            code, said, cpu, memory = rank([*arguments, "--max-memory", smallest[1]], folder)
            shown = f"{smallest[1]}, the smallest"
        if code:
            raise SystemExit(said)
        yield f"| {what} | {shown} | {cpu:.1f} | {memory} MB |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        make_tables(Path(name))
        lines = list(measure(Path(name)))
    head = ["| | `--max-memory` | CPU s | largest anonymous memory |", "|---|---|---|---|"]
    show({"memory": [*head, *lines]}, PAGE, options.write)


if __name__ == "__main__":
    main()
