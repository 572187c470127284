"""All kinds of stored samples: values equal those in memory, and parts cover them once."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import linkselect
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources import stored as kinds
from linkselect._samples.sources.choosing import cut, divide
from tests.helpers import stored_samples as given

SHAPES = ((200, 13), (12, 300))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch)


@pytest.fixture(params=SHAPES, ids=["tall", "wide"])
def values(request):
    return given.random_values(request.param)


@pytest.fixture(params=given.KINDS)
def X(request, tmp_path, values):
    return given.stored(request.param, tmp_path, values)


def test_every_kind_gives_the_values_part_by_part(X, values):
    assert (X.shape, X.dtype, X.ndim, len(X)) == (values.shape, values.dtype, 2, len(values))
    covered = np.zeros(values.shape, int)
    for number, part in enumerate(X.parts):
        assert part.number == number
        for rows, slab in part.slabs():
            assert slab.flags.c_contiguous
            assert_array_equal(slab, values[rows, part.columns])
            covered[rows, part.columns] += 1
    assert (covered == 1).all()
    assert_array_equal(np.asarray(X), values)
    assert_array_equal(np.asarray(X, dtype=np.float64), values.astype(np.float64))


def test_parts_have_all_columns_or_all_rows(X, values):
    is_wide = values.shape[1] > len(values)
    assert X.by_columns is is_wide
    for part in X.parts:
        if is_wide:
            assert part.rows == slice(0, len(values))
            assert len(list(part.slabs())) == 1
        else:
            assert part.columns == slice(0, values.shape[1])


def test_slabs_are_small(X):
    for part in X.parts:
        for _, slab in part.slabs():
            # A slab of columns may be twice as large, so that a chunk is not divided.
            assert slab.nbytes <= kinds.SLAB_BYTES * (2 if X.by_columns else 1)


def test_rows_are_taken_in_any_order(X, values):
    rows = np.random.default_rng(1).integers(0, len(values), 40)
    assert_array_equal(X.take(rows), values[rows])
    assert_array_equal(X.take([-1, 0]), values[[-1, 0]])
    assert X.take([]).shape == (0, values.shape[1])
    with pytest.raises(IndexError, match="Index .* is out of range for the rows of"):
        X.take([len(values)])


def test_columns_are_chosen_and_scaled_lazily(X, values):
    columns = np.array([7, 2, 2, 11])
    shift, scale = np.array([1.0, 2, 3, 4]), np.array([2.0, 4, 8, 16])
    expected = (values[:, columns].astype(np.float64) - shift) / scale
    chosen = X.choose(columns).scaled(shift, scale)
    assert (chosen.shape, chosen.dtype) == (expected.shape, np.float64)
    assert_array_equal(np.asarray(chosen), expected)
    assert_array_equal(chosen.take([3, 1]), expected[[3, 1]])
    assert_array_equal(np.asarray(chosen.choose([3, 0])), expected[:, [3, 0]])
    assert_array_equal(np.asarray(X.scaled(0, 2).choose(columns)), values[:, columns] / 2.0)
    assert_array_equal(np.asarray(chosen.scaled(1, 3)), (expected - 1) / 3)


def test_parts_can_be_read_by_another_process(X, values):
    part = pickle.loads(pickle.dumps(X.parts[-1]))
    for rows, slab in part.slabs():
        assert_array_equal(slab, values[rows, part.columns])


@pytest.fixture(params=given.FILES)
def in_files(request, tmp_path):
    """Return samples in files, and the paths of all these files."""
    X = given.stored(request.param, tmp_path, given.random_values())
    return X, [path for path in tmp_path.rglob("*") if path.is_file()]


def read_all(X):
    return [slab for part in X.parts for _, slab in part.slabs()]


def take_first(X):
    return X.take([0])


@pytest.mark.parametrize("read", [read_all, take_first])
@pytest.mark.parametrize("change", [given.touch_later, given.replace_by_copy])
def test_files_that_change_are_an_error(in_files, read, change):
    X, files = in_files
    for path in files:
        change(path)
    with pytest.raises(
        GuidedValueError, match="changed while it was being read. No model was fitted"
    ):
        read(X)


@pytest.mark.parametrize("read", [read_all, take_first])
def test_files_that_change_after_the_first_look_are_an_error(in_files, read):
    X, files = in_files
    look = X.source.check_unchanged

    def look_and_change(*where):
        X.source.check_unchanged = look
        look(*where)
        for path in files:
            given.touch_later(path)

    X.source.check_unchanged = look_and_change
    with pytest.raises(GuidedValueError, match="changed while it was being read"):
        read(X)


def test_slabs_may_be_written_to(X, values):
    for part in X.parts:
        for _, slab in part.slabs():
            slab[:] = 0
    assert_array_equal(np.asarray(X), values)


def test_columns_are_called_by_their_names(tmp_path):
    values = given.random_values()
    with_names = given.stored("parquet", tmp_path, values)
    assert with_names.names[3] == "f3"
    assert with_names.choose([3, 5]).names == ["f3", "f5"]
    assert with_names.choose([3, 5]).name_column(1) == "column 'f5'"
    without = given.stored("npy", tmp_path, values)
    assert without.names is None
    assert without.choose([3, 5]).name_column(1) == "column 5"


@pytest.mark.parametrize("dtype", [">f8", "<i2", ">u4", "?", "f2", "u1"])
@pytest.mark.parametrize("kind", ["npy", "fortran", "zarr", "hdf5_plain", "dask"])
def test_types_become_those_of_this_machine(kind, dtype, tmp_path):
    values = np.arange(60).reshape(20, 3).astype(dtype)
    X = given.stored(kind, tmp_path, values)
    assert X.dtype == (np.float32 if dtype == "f2" else np.dtype(dtype).newbyteorder("="))
    assert np.asarray(X).dtype == X.dtype
    assert_array_equal(np.asarray(X), values)


@pytest.mark.parametrize("dtype", ["c16", "M8[D]"])
@pytest.mark.parametrize("kind", ["npy", "dask"])
def test_values_that_are_not_real_numbers_are_refused(kind, dtype, tmp_path):
    with pytest.raises(GuidedTypeError, match=r"features must be real numbers"):
        given.stored(kind, tmp_path, np.zeros((4, 2), dtype))


@pytest.mark.parametrize("kind", ["npy", "zarr", "hdf5_plain", "dask_line"])
def test_one_and_three_dimensions_are_refused(kind, tmp_path):
    with pytest.raises(GuidedValueError, match=r"has 3 dimensions, .* reshape"):
        given.stored(kind, tmp_path, np.zeros((4, 2, 2)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
@pytest.mark.parametrize("kind", ["npy", "dask_line"])
def test_empty_arrays_are_refused(kind, shape, tmp_path):
    with pytest.raises(GuidedValueError, match=r"has \d rows and \d columns"):
        given.stored(kind, tmp_path, np.zeros(shape))


def test_cuts_follow_the_edges():
    edges = np.array([0, 3, 6, 20, 22])
    assert cut(22, 7, edges) == [slice(0, 6), slice(6, 20), slice(20, 22)]
    assert cut(22, 1, edges) == [slice(0, 3), slice(3, 6), slice(6, 20), slice(20, 22)]
    assert cut(22, 100, edges) == [slice(0, 22)]
    assert cut(5, 2, None) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert divide([slice(6, 20), slice(20, 24)], 5) == [
        slice(6, 11),
        slice(11, 16),
        slice(16, 20),
        slice(20, 24),
    ]


def test_rows_and_columns_are_chosen_by_numbers_or_masks(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "X.npy", X)
    stored = linkselect.open_stored(tmp_path / "X.npy")
    assert np.array_equal(stored.take(X[:, 0] > 4), X[2:])
    assert np.array_equal(stored.take([-1]), X[-1:])
    assert np.array_equal(np.asarray(stored.choose([True, False, True])), X[:, [0, 2]])
    assert np.array_equal(np.asarray(stored.choose([-1])), X[:, [2]])
    for wrong in ([1.5], [True, False], [[0]], ["a"]):
        with pytest.raises(TypeError, match="Pass integers, or a Boolean mask of length 4"):
            stored.take(wrong)
    with pytest.raises(
        IndexError, match=r"Index 99 is out of range for the columns of X\.npy \(3 in total\)"
    ):
        stored.choose([0, 99])
