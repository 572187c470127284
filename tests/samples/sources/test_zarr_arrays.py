"""Zarr arrays, including damaged files."""

import os

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources import arrays, zarr_arrays
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
    given.store_zarr(tmp_path, values, chunks=(30, 7))
    return tmp_path / "X.zarr"


def test_an_array_inside_a_group_is_opened_by_its_path(values, tmp_path):
    group = zarr.open_group(str(tmp_path / "all.zarr"), mode="w")
    group.create_array("counts", shape=values.shape, dtype=values.dtype)[:] = values
    X = find_stored(tmp_path / "all.zarr" / "counts")
    assert X.label == "counts"
    assert_array_equal(np.asarray(X), values)
    assert find_stored(group["counts"]).label == "the Zarr array counts"
    with pytest.raises(GuidedTypeError, match=r"group of Zarr arrays \(counts\)"):
        find_stored(tmp_path / "all.zarr")


def test_arrays_in_memory_are_read_too(values):
    array = zarr.create_array(store={}, shape=values.shape, chunks=(30, 7), dtype=values.dtype)
    array[:] = values
    assert_array_equal(np.asarray(find_stored(array)), values)


def test_chunks_that_were_never_written_hold_the_fill_value(tmp_path):
    array = given.store_zarr(tmp_path, np.zeros((100, 5)), chunks=(10, 5), fill_value=2.5)
    (tmp_path / "X.zarr" / "c" / "3" / "0").unlink()
    expected = np.zeros((100, 5))
    expected[30:40] = 2.5
    assert_array_equal(np.asarray(find_stored(array)), expected)


def test_chunks_larger_than_memory_allows_are_read_in_pieces(monkeypatch, values, tmp_path):
    monkeypatch.setattr(arrays, "LINE_BYTES", 1000)
    array = given.store_zarr(tmp_path, values, chunks=(150, 13))
    with pytest.warns(UserWarning, match=r"chunks of .* are tall: 150 rows"):
        X = find_stored(array)
    assert_array_equal(np.asarray(X), values)
    assert_array_equal(X.take([170, 3]), values[[170, 3]])


def test_a_chunk_that_changes_is_an_error(path, values):
    X = find_stored(path)
    zarr.open(str(path), mode="r+")[100:130] = 1
    with pytest.raises(
        GuidedValueError, match=r"X\.zarr, file c/3/0, changed while it was being read"
    ):
        np.asarray(X)
    assert_array_equal(X.take([0, 199]), values[[0, 199]])


@pytest.mark.parametrize("columns", [np.arange(91), np.arange(0, 91, 2)], ids=["all", "some"])
def test_a_part_checks_only_its_own_chunks(columns, values, tmp_path):
    array = given.store_zarr(tmp_path, values[:10].repeat(7, axis=1), chunks=(10, 13))
    X = find_stored(array)
    X = X if len(columns) == 91 else X.choose(columns)
    assert X.by_columns
    assert len(X.parts) > 1
    for chunk in range(7):
        given.touch_later(tmp_path / "X.zarr" / "c" / "0" / str(chunk))
        for part in X.parts:
            if chunk in columns[part.columns] // 13:
                with pytest.raises(GuidedValueError, match=f"file c/0/{chunk}, changed"):
                    list(part.slabs())
            else:
                assert len(list(part.slabs())) == 1
        X = find_stored(array) if len(columns) == 91 else find_stored(array).choose(columns)


def test_a_chunk_that_disappears_is_an_error(path):
    X = find_stored(path)
    (path / "c" / "3" / "1").unlink()
    with pytest.raises(GuidedValueError, match=r"X\.zarr, file c/3/1, was not found at .*c.3.1"):
        X.take([100])


def test_an_array_is_found_from_every_folder(path, values, monkeypatch, tmp_path):
    # Otherwise, all values would be the fill value, which replaces missing chunks.
    monkeypatch.setattr(zarr_arrays, "MANY_FILES", 1)
    monkeypatch.chdir(path.parent)
    opened = [find_stored(path.name), find_stored(zarr.open(path.name, mode="r"))]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for X in opened:
        assert_array_equal(np.asarray(X), values)
    path.rename(tmp_path / "moved.zarr")
    for X in opened:
        with pytest.raises(GuidedValueError, match=r"X\.zarr, file zarr\.json, was not found"):
            np.asarray(X)


@pytest.mark.parametrize("options", [{}, {"compressors": None}], ids=["packed", "plain"])
def test_a_chunk_that_was_cut_short_is_an_error(options, values, tmp_path):
    given.store_zarr(tmp_path, values, chunks=(30, 7), **options)
    os.truncate(tmp_path / "X.zarr" / "c" / "3" / "1", 20)
    X = find_stored(tmp_path / "X.zarr")
    with pytest.raises(GuidedValueError, match=r"X\.zarr cannot be read in rows 90 to 120"):
        np.asarray(X)


def test_folders_that_are_not_arrays_are_refused(tmp_path):
    with pytest.raises(GuidedValueError, match=r"nowhere\.zarr was not found"):
        find_stored(tmp_path / "nowhere.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(GuidedValueError, match=r"empty\.zarr cannot be opened as a Zarr array"):
        find_stored(tmp_path / "empty.zarr")
    (tmp_path / "empty.zarr" / "zarr.json").write_text("{")
    with pytest.raises(GuidedValueError, match=r"empty\.zarr cannot be opened as a Zarr array"):
        find_stored(tmp_path / "empty.zarr")
