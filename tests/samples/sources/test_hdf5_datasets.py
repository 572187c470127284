"""HDF5 files and datasets, including damaged files."""

import io
import os
import pickle

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import linkselect
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.opening import find_stored
from tests.helpers import stored_samples as given


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch)


@pytest.fixture
def values():
    return given.random_values()


LAYOUTS = {
    "plain": {},
    "chunks": {"chunks": (30, 7)},
    "packed": {"chunks": (64, 2), "shuffle": True},
}


@pytest.mark.parametrize("shape", [(200, 13), (12, 300)], ids=["by rows", "by columns"])
@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
def test_some_rows_and_columns_are_read(options, shape, tmp_path):
    values = given.random_values(shape)
    if options:
        options = options | {"chunks": tuple(map(min, options["chunks"], shape))}
    X = linkselect.open_stored(given.store_hdf5(tmp_path, values, **options))
    rng = np.random.default_rng(0)
    columns, rows = rng.permutation(shape[1])[:9], rng.integers(0, shape[0], 30)
    assert len(X.parts) > 1
    assert_array_equal(np.asarray(X), values)
    assert_array_equal(X.take(rows), values[rows])
    assert_array_equal(np.asarray(X.choose(columns)), values[:, columns])
    assert_array_equal(X.choose(columns).take(rows), values[rows][:, columns])


def test_an_open_dataset_is_read_from_its_file(tmp_path, values):
    with h5py.File(given.store_hdf5(tmp_path, values), "r") as file:
        X = linkselect.open_stored(file["group/X"])
        assert X.label == "X.h5::/group/X"
        assert_array_equal(np.asarray(X), values)
    # The open file is no longer needed, here or in another process.
    assert_array_equal(np.asarray(pickle.loads(pickle.dumps(X))), values)


def test_what_was_written_to_an_open_dataset_counts(tmp_path, values):
    with h5py.File(given.store_hdf5(tmp_path, values), "r+") as file:
        file["group/X"][0] = 7  # not yet written to the file
        X = linkselect.open_stored(file["group/X"])
        assert_array_equal(np.asarray(X), file["group/X"])
        file["group/X"][1] = 7
        file.flush()
        given.touch_later(tmp_path / "X.h5")
        with pytest.raises(GuidedValueError, match="changed while it was being read"):
            np.asarray(X)


def test_only_large_datasets_are_stored_samples(tmp_path, values):
    expected = linkselect.VarianceScore().fit(values).scores_
    with h5py.File(given.store_hdf5(tmp_path, values), "r") as file:
        X = file["group/X"]
        assert find_stored(X) is None
        assert_array_equal(linkselect.VarianceScore().fit(X).scores_, expected)
    with h5py.File(tmp_path / "large.h5", "w") as file:
        # No chunk has been written, so the file is small.
        large = file.create_dataset("X", (125_000_001, 1), "f8", chunks=(2**20, 1))
        assert find_stored(large).shape == large.shape


def test_a_dataset_is_named_if_there_are_several(tmp_path, values):
    path = given.store_hdf5(tmp_path, values)
    with h5py.File(path, "r+") as file:
        file["y"] = np.arange(200)  # not a matrix
        assert linkselect.open_stored(path).shape == values.shape
        file["other"] = values[:5]
    several = r" is a group of HDF5 datasets \(group/X, other\)\. Pass one of them, such as "
    for wrong in ("", "::", "::group", "::gone"):
        with pytest.raises(
            GuidedTypeError, match=rf"X\.h5{several}open_stored\('X\.h5::group/X'\)"
        ):
            linkselect.open_stored(f"{path}{wrong}")
    assert linkselect.open_stored(f"{path}::/other").shape == (5, 13)
    with pytest.raises(GuidedValueError, match=r"X\.h5::y has 1 dimension"):
        linkselect.open_stored(f"{path}::y")
    with h5py.File(path) as file, pytest.raises(GuidedTypeError, match=rf"{several}X\['group/X'\]"):
        linkselect.VarianceScore().fit(file)


def test_a_dataset_in_no_file_is_refused(values):
    with h5py.File(io.BytesIO(), "w") as file:
        file["X"] = values
        with pytest.raises(GuidedTypeError, match=r"cannot be reopened .* Pass X\[:\]"):
            linkselect.open_stored(file["X"])


def test_a_damaged_file_is_an_error(tmp_path, values):
    path = given.store_hdf5(tmp_path, values, chunks=(30, 7), fletcher32=True)
    with h5py.File(path) as file:
        place = file["group/X"].id.get_chunk_info_by_coord((90, 7)).byte_offset
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"damaged")
    with pytest.raises(GuidedValueError, match=r"X\.h5 cannot be read in rows 90 to 120"):
        np.asarray(linkselect.open_stored(path))
    os.truncate(path, 1000)
    with pytest.raises(GuidedValueError, match=r"X\.h5 cannot be opened as an HDF5 file"):
        linkselect.open_stored(path)
