"""Memory maps and .npy files, including damaged files."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from linkselect import open_stored
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.opening import find_stored
from tests.helpers import stored_samples as given


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch)


@pytest.fixture
def values():
    return given.random_values()


@pytest.fixture
def path(tmp_path, values):
    np.save(tmp_path / "X.npy", values)
    return tmp_path / "X.npy"


VIEWS = {
    "whole": lambda X: X,
    "some rows": lambda X: X[20:150],
    "some columns": lambda X: X[:, 2:9],
    "every third line": lambda X: X[::3] if X.flags.c_contiguous else X[:, ::3],
    "backwards": lambda X: X[::-1] if X.flags.c_contiguous else X[:, ::-1],
    "transposed": lambda X: X[:50].T,
    "a corner of a corner": lambda X: X[10:, 3:][5:90, 1:4],
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_maps_are_read_from_the_file(name, order, values, tmp_path):
    values = np.asarray(values, order=order)
    np.save(tmp_path / "X.npy", values)
    view = VIEWS[name](np.load(tmp_path / "X.npy", mmap_mode="r"))
    # Another process can only read it from the file.
    X = pickle.loads(pickle.dumps(open_stored(view)))
    assert_array_equal(np.asarray(X), VIEWS[name](values))
    assert_array_equal(X.take([5, 2]), VIEWS[name](values)[[5, 2]])


def test_maps_without_a_header_are_read_from_their_place(values, tmp_path):
    path = tmp_path / "X.bin"
    path.write_bytes(b"x" * 5000 + values.tobytes())
    mapped = np.memmap(path, values.dtype, "r", offset=5000, shape=values.shape)
    X = pickle.loads(pickle.dumps(open_stored(mapped)))
    assert X.label == "the memory map X.bin"
    assert_array_equal(np.asarray(X), values)


def test_irregular_views_are_read_through_the_map(path, values):
    view = np.load(path, mmap_mode="r")[:, ::2]
    X = open_stored(view)
    assert_array_equal(np.asarray(X), values[:, ::2])
    assert_array_equal(X.take([7, 3]), values[[7, 3], ::2])
    with pytest.raises(GuidedTypeError, match="cannot be opened by other processes"):
        pickle.dumps(X)


def test_changes_to_a_private_map_count(path, values):
    view = np.load(path, mmap_mode="c")
    view[3, 4] = 77
    assert np.asarray(open_stored(view))[3, 4] == 77


@pytest.mark.parametrize("row", [0, -1])
def test_a_map_of_a_file_that_was_replaced_keeps_its_values(row, path, values):
    view = np.load(path, mmap_mode="r")
    other = values.copy()
    other[row] += 1
    np.save(path.with_name("other.npy"), other)
    path.with_name("other.npy").replace(path)
    assert_array_equal(np.asarray(open_stored(view)), values)


@pytest.mark.parametrize("shape", [(200, 13), (12, 300)])
def test_chosen_columns_are_taken_from_few_rows_at_a_time(shape, tmp_path):
    values = given.random_values(shape)
    np.save(tmp_path / "X.npy", values)
    chosen = np.random.default_rng(0).permutation(shape[1])[: shape[1] - 2]
    X = find_stored(tmp_path / "X.npy").choose(chosen)
    assert_array_equal(np.asarray(X), values[:, chosen])
    assert_array_equal(X.take([3, 1]), values[[3, 1]][:, chosen])


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_are_consecutive_only_if_all_of_them_are(order, tmp_path):
    values = np.asarray(given.random_values((10, 30)), order=order)
    np.save(tmp_path / "X.npy", values)
    # The first and last number are those of the range from 0 to 11.
    columns = [0, 20, *range(2, 12)]
    X = open_stored(tmp_path / "X.npy", columns=columns)
    assert X.by_columns
    assert_array_equal(np.asarray(X), values[:, columns])


def test_only_large_maps_are_stored_samples(path):
    assert find_stored(np.load(path, mmap_mode="r")) is None
    # A sparse file of 1 GB takes no disk space.
    os.truncate(path, 10**9 + 8)
    view = np.memmap(path, np.float64, "r", shape=(125_000_001, 1))
    assert find_stored(view).label == "the memory map X.npy"
    assert find_stored(np.asarray(view)) is None


def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(path):
    X = find_stored(path)
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(GuidedValueError, match=r"X\.npy changed while it was being read"):
        X.take([199])


def test_a_file_that_disappears_is_an_error(path):
    X = find_stored(path)
    path.unlink()
    with pytest.raises(GuidedValueError, match=r"X\.npy was not found"):
        np.asarray(X)


@pytest.mark.parametrize("length", [0, 7, 100, 5000])
def test_a_file_that_was_cut_short_before_is_an_error(path, length):
    os.truncate(path, length)
    with pytest.raises(GuidedValueError, match=r"X\.npy cannot be opened as a \.npy file"):
        find_stored(path)


# The shape as written in the header.
SHAPES = {
    "no end": "(3, 2, ",
    "no end of a text": "'''(3, 2)",
    "no end of a bracket": "((3, 2)",
    "a sum": "(2**70, 2)",
    "larger than any file": f"({2**70}, 2)",
    "negative": "(-3, 2)",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_damaged_header_is_an_error(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + bytes([len(header), 0])
    (tmp_path / "X.npy").write_bytes(start + header.encode() + np.zeros((3, 2)).tobytes())
    with pytest.raises(GuidedValueError, match=r"X\.npy (cannot be opened|cannot be read)"):
        np.asarray(find_stored(tmp_path / "X.npy"))


def test_a_file_of_objects_is_an_error(tmp_path):
    np.save(tmp_path / "X.npy", np.array([[1, "a"], [2, "b"]], dtype=object))
    with pytest.raises(GuidedValueError, match=r"X\.npy cannot be opened"):
        find_stored(tmp_path / "X.npy")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_large_files_take_little_memory(tmp_path):
    statements = ["import sys"]
    for name, shape in {"C": (50_000, 1000), "F": (200, 250_000)}.items():
        path = tmp_path / f"{name}.npy"
        # A sparse file takes no disk space.
        mapped = np.lib.format.open_memmap(path, "w+", np.float32, shape, fortran_order=name == "F")
        mapped[5, 0] = 3
        del mapped
        assert path.stat().st_size > 200e6
        statements += [
            f"X = find_stored({str(path)!r})",
            "assert sum(map_parts(X, total, n_jobs=1)) == 3",
        ]
    statements += ["assert not {'dask', 'distributed', 'zarr'} & set(sys.modules)"]
    assert given.peak_memory(statements) < 150
