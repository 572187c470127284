"""Small samples in every kind of storage, divided into many parts."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import dask.array
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from scipy.sparse import csr_array
from tests.helpers.sizes import shrink_parts

from linkselect._samples.sources.opening import find_stored
from linkselect._samples.sources.running import map_parts

FILES = (
    "npy",
    "fortran",
    "zarr",
    "zarr_2",
    "sharded",
    "hdf5",
    "hdf5_plain",
    "h5ad",
    "h5ad_rows",
    "parquet",
    "folder",
)
KINDS = (*FILES, "dask", "dask_line")


def make_parts_small(monkeypatch, slab_bytes=2000, part_bytes=4000):
    shrink_parts(monkeypatch, slab_bytes, part_bytes)


def touch_later(path):
    """Set the modification time a second later; some systems round it to hundredths of a second."""
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))


def replace_by_copy(path):
    """Replace a file by a copy with the same size and modification time."""
    copy = path.with_name(f"{path.name}.copy")
    shutil.copy2(path, copy)
    copy.replace(path)


def as_table(values):
    return pa.table(
        [np.ascontiguousarray(column) for column in values.T],
        names=[f"f{place}" for place in range(values.shape[1])],
    )


def store_zarr(folder, values, **options):
    array = zarr.create_array(
        store=str(folder / "X.zarr"), shape=values.shape, dtype=values.dtype, **options
    )
    array[:] = values
    return array


def _npy(folder, values):
    np.save(folder / "X.npy", values)
    return folder / "X.npy"


def _fortran(folder, values):
    return str(_npy(folder, np.asfortranarray(values)))


def _zarr(folder, values):
    return store_zarr(folder, values, chunks=(30, 7, 1)[: values.ndim])


def _zarr_2(folder, values):
    store_zarr(folder, values, chunks=(30, 7), zarr_format=2)
    return folder / "X.zarr"


def _sharded(folder, values):
    store_zarr(folder, values, chunks=(30, 7), shards=(60, 14))
    return folder / "X.zarr"


def store_hdf5(folder, values, **options):
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("group/X", data=values, **options)
    return folder / "X.h5"


def _hdf5(folder, values):
    return store_hdf5(folder, values, chunks=(min(30, len(values)), 7), compression="gzip")


def _hdf5_plain(folder, values):
    return f"{store_hdf5(folder, values)}::group/X"


def store_h5ad(folder, values, matrix=csr_array, name="X", **options):
    """Write values as anndata does, by rows (CSR), by columns (CSC) or dense (None)."""
    with h5py.File(folder / "X.h5ad", "a") as file:
        if matrix is None:
            file.create_dataset(name, data=values, **options)
        else:
            packed, group = matrix(values), file.create_group(name)
            group.attrs.update({"encoding-type": f"{packed.format}_matrix", "shape": values.shape})
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(packed, part), **options)
        for axis, letter, length in zip(("obs", "var"), "cg", values.shape, strict=True):
            if axis not in file:
                file[f"{axis}/names"] = [f"{letter}{place}" for place in range(length)]
                file[axis].attrs["_index"] = "names"
    return folder / "X.h5ad"


def _h5ad(folder, values):
    return store_h5ad(folder, values, None)


def _h5ad_rows(folder, values):
    return store_h5ad(folder, values, chunks=True, compression="gzip")


def _parquet(folder, values):
    pq.write_table(as_table(values), folder / "X.parquet", row_group_size=37)
    return folder / "X.parquet"


def _folder(folder, values):
    (folder / "X").mkdir()
    middle = len(values) // 3
    pq.write_table(as_table(values[:middle]), folder / "X" / "a.parquet", row_group_size=11)
    pq.write_table(as_table(values[middle:]), folder / "X" / "b.parquet")
    Path(folder / "X" / "_metadata").write_text("not to be read")
    return folder / "X"


def _dask(folder, values):
    return dask.array.from_array(values, chunks=(25, 6)).map_blocks(np.copy)


def _dask_line(folder, values):
    return dask.array.from_array(values, chunks=-1)


def store(kind, folder, values):
    """Store values and return what a user passes as X."""
    return globals()[f"_{kind}"](folder, values)


def stored(kind, folder, values):
    return find_stored(store(kind, folder, values))


def random_values(shape=(200, 13), dtype=np.float32):
    values = np.random.default_rng(0).normal(scale=50, size=shape)
    return values.astype(dtype)


def peak_memory(statements):
    """Return the peak of additional anonymous memory, in MB, of statements in a new process."""
    code = """
    import threading, time
    import numpy as np
    from linkselect._samples.sources.opening import find_stored
    from linkselect._samples.sources.running import map_parts

    def memory():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if "RssAnon" in line)

    def watch():
        global peak
        while True:
            peak = max(peak, memory())
            time.sleep(0.01)

    def total(part):
        return sum(values[:, 0].sum(dtype=np.float64) for _, values in part.slabs())

    np.ones(4)
    before = peak = memory()
    """
    threading = "threading.Thread(target=watch, daemon=True).start()"
    lines = [*textwrap.dedent(code).splitlines(), threading, *statements, "print(peak - before)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _fail_at_row_50(block, block_info=None):
    (start, _), _ = block_info[0]["array-location"]
    return block / (1 if start != 50 else 1 // 0)


def failing_at_row_50(values):
    """Return a dask array in which one row of blocks cannot be computed."""
    X = dask.array.from_array(values, chunks=(25, 6))
    return X.map_blocks(_fail_at_row_50, dtype=values.dtype)


FAILED_AT_ROW_50 = (
    "This error occurred in the blocks of the dask array for rows 50 to 75. No model was fitted."
)


# Functions of parts, defined here so that worker processes can import them.
def total(part):
    return sum(values.sum(dtype=np.float64) for _, values in part.slabs())


def first_row(part):
    return part.rows.start


def rounding(part):
    return np.float32(total(part) * 1.1)


def join(results):
    return np.float32(sum(results, np.float32(0)) * np.float32(1.0001))


def inputs(part, labels, taken):
    assert len(labels) == part.rows.stop - part.rows.start
    return labels, taken


class Gate:
    """Let some tasks pass and make all others wait until it is opened, across processes.

    A test can thus inspect a job that has begun but not ended, however slow the machine is.
    """

    def __init__(self, folder, n_free):
        self.folder, self.n_free = folder, n_free

    def open(self):
        (self.folder / "open").touch()

    def pass_through(self):
        if not any(self._is_first(place) for place in range(self.n_free)):
            wait_until((self.folder / "open").exists)

    def _is_first(self, place):
        try:
            (self.folder / f"passed-{place}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def held_rounding(part, gate):
    gate.pass_through()
    return rounding(part)


def weighted(part, labels, taken):
    return rounding(part) * labels.sum() + taken.sum(dtype=np.float64)


def held_weighted(part, taken, gate):
    gate.pass_through()
    return rounding(part) + taken.sum(dtype=np.float64)


def die(part):
    os._exit(1)


def sum_of(path):
    return sum(map_parts(find_stored(path), total))


class Watched:
    """An array that records the shapes read from it; copies share the record."""

    read = []
    ndim = 2

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, key):
        Watched.read.append(self.values[key].shape)
        return self.values[key]
