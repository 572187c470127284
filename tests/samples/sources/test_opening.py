"""What counts as stored samples, and how they are opened."""

import os
import sys

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

import linkselect
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.opening import find_stored, select_columns
from linkselect._samples.sources.stored import Stored
from tests.helpers import stored_samples as given


@pytest.mark.parametrize("X", [np.eye(3), [[1, 2]], None, 3, object()])
def test_other_things_are_not_stored_samples(X):
    assert find_stored(X) is None
    with pytest.raises(GuidedTypeError, match=r"not stored data\. Pass the path of a \.npy"):
        linkselect.open_stored(X)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "X.csv").write_text("a,b\n1,2\n")
    for name in (str(tmp_path / "X.csv"), ""):  # an empty name is not the current folder
        with pytest.raises(GuidedTypeError, match=f"'{name}' is not a .npy file, Zarr array, HDF5"):
            linkselect.VarianceScore().fit(name)


def test_a_small_map_is_stored_if_it_is_opened(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert find_stored(X) is None
    assert np.array_equal(linkselect.open_stored(X), np.eye(3))


@pytest.mark.parametrize("name", ["X.npy", "X.parquet", "X.zarr", "X.h5", "X.csv", "X"])
def test_a_path_that_does_not_exist_is_an_error(name, tmp_path):
    with pytest.raises(GuidedValueError, match=rf"{name} was not found at .*{name}"):
        find_stored(str(tmp_path / name))


def test_paths_are_understood_as_by_other_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.save(tmp_path / "X.npy", np.eye(3))
    (tmp_path / "X.npy").rename(tmp_path / "X.NPY")
    for path in ("~/X.NPY", os.fsencode(tmp_path / "X.NPY")):
        assert_array_equal(np.asarray(find_stored(path)), np.eye(3))
    with pytest.raises(
        GuidedTypeError, match="not a path in the file system of this machine.*read_parquet"
    ):
        find_stored("s3://bucket/X.parquet")


@pytest.mark.parametrize("kind", ["npy", "zarr", "hdf5", "dask"])
def test_columns_are_chosen_by_number(kind, tmp_path):
    values = given.random_values()
    given_as = given.store(kind, tmp_path, values)
    X = linkselect.open_stored(given_as, columns=[5, 2, 0], without=[2])
    assert_array_equal(np.asarray(X), values[:, [5, 0]])
    assert_array_equal(np.asarray(linkselect.open_stored(X, without=[0])), values[:, [0]])
    with pytest.raises(GuidedValueError, match="no column 'a'; it has 13"):
        linkselect.open_stored(given_as, without=["a"])
    selected = select_columns(given_as, [5, 2])
    assert_array_equal(np.asarray(selected), values[:, [5, 2]])


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_accepted_types_of_columns(kind, tmp_path):
    values = given.random_values()
    given_as = given.store(kind, tmp_path, values)
    for columns in (np.array([1, 3]), (one for one in (1, 3)), range(1, 5, 2)):
        X = linkselect.open_stored(given_as, columns=columns)
        assert_array_equal(np.asarray(X), values[:, [1, 3]])
    assert linkselect.open_stored(given_as, columns=np.int64(2), without=4).shape[1] == 1
    # A mask would be read as the numbers 0 and 1.
    for mask in ([True, False], np.arange(13) > 5):
        with pytest.raises(GuidedTypeError, match=r"np\.flatnonzero\(mask\)"):
            linkselect.open_stored(given_as, columns=mask)
    with pytest.raises(GuidedValueError, match="columns contains 3 twice"):
        linkselect.open_stored(given_as, columns=[3, 3])


def test_opened_samples_are_returned_unchanged(tmp_path):
    X = given.stored("npy", tmp_path, given.random_values())
    assert isinstance(X, Stored)
    assert find_stored(X) is X
    assert linkselect.open_stored(X) is X
    assert repr(X) == "<X.npy: 200 x 13, float32>"


@pytest.mark.parametrize(
    ("package", "name"), [("zarr", "X.zarr"), ("pyarrow", "X.parquet"), ("h5py", "X.h5")]
)
def test_a_missing_package_is_named(package, name, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.setitem(sys.modules, package, None)
    problem = rf"{name} needs {package}, which is not installed: pip install 'linkselect\[dask\]'"
    with pytest.raises(ImportError, match=problem):
        find_stored(tmp_path / name)


def test_a_group_of_zarr_arrays_is_refused(tmp_path):
    group = zarr.open_group(str(tmp_path / "X.zarr"), mode="w")
    group.create_group("mouse").create_array("counts", shape=(4, 3), dtype="f4")
    listed = r" is a group of Zarr arrays \(mouse/counts\)\. Pass one of them, such as "
    with pytest.raises(GuidedTypeError, match=f"X{listed}X\\['mouse/counts'\\]"):
        linkselect.VarianceScore().fit(group)
    with pytest.raises(
        GuidedTypeError, match=rf"X\.zarr{listed}open_stored\('X\.zarr/mouse/counts"
    ):
        find_stored(tmp_path / "X.zarr")
    assert find_stored(group["mouse/counts"]).shape == (4, 3)


def test_a_dataset_with_a_filter_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        pa.table({"a": np.arange(9.0), "b": np.arange(9.0)}), tmp_path / "X.parquet"
    )
    some = dataset.dataset(tmp_path / "X.parquet").filter(dataset.field("a") > 4)
    with pytest.raises(GuidedTypeError, match="has a filter"):
        linkselect.open_stored(some)


def test_a_dataset_with_columns_from_folders_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pa.table({"a": np.arange(4.0), "year": [1, 1, 2, 2]})
    dataset.write_dataset(
        table, tmp_path / "X", format="parquet", partitioning=["year"], partitioning_flavor="hive"
    )
    with pytest.raises(GuidedTypeError, match="takes columns from folder names"):
        linkselect.open_stored(dataset.dataset(tmp_path / "X", partitioning="hive"))
