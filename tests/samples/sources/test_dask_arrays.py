"""Dask arrays without a client: blocks are computed by the thread that reads their part."""

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.opening import find_stored, select_columns
from linkselect._samples.sources.running import map_parts
from tests.helpers import stored_samples as given


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch)


@pytest.fixture
def values():
    return given.random_values()


def test_each_block_is_computed_once_and_only_if_needed(values):
    computed = []

    def note(block, block_info=None):
        computed.append(block_info[0]["chunk-location"])
        return block

    array = da.from_array(values, chunks=(40, 5)).map_blocks(
        note, dtype=values.dtype, meta=np.empty((0, 0), values.dtype)
    )
    X = find_stored(array)
    np.asarray(X)
    assert sorted(computed) == [(i, j) for i in range(5) for j in range(3)]
    computed.clear()
    X.choose([12, 10]).take([45, 70])
    assert computed == [(1, 2)]


def test_columns_of_wide_blocks_are_computed_in_pieces(values):
    wide = values.T.copy()
    given.Watched.read.clear()
    array = da.from_array(given.Watched(wide), chunks=(13, 200), asarray=False, meta=wide[:0, :0])
    X = find_stored(array)
    assert X.by_columns
    assert len(X.parts) > 1
    assert_array_equal(np.asarray(X), wide)
    # Dask reads only the required columns of each block.
    widths = [width for _, width in given.Watched.read]
    assert sum(widths) == 200
    assert max(widths) < 200


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_blocks_may_be_empty(shape, monkeypatch):
    given.make_parts_small(monkeypatch, 200, 200)
    values = given.random_values(shape)
    chunks = [(0, 1, 0, 0, length - 3, 2, 0) for length in shape]
    X = find_stored(da.from_array(values, chunks=chunks))
    assert_array_equal(np.asarray(X), values)
    assert_array_equal(X.take([3, 0, -1]), values[[3, 0, -1]])


def test_no_other_scheduler_is_used(values):
    array = da.from_array(values, chunks=(40, 13)).map_blocks(np.copy)
    with dask.config.set(scheduler=lambda *arguments, **options: 1 / 0):
        assert_array_equal(np.asarray(find_stored(array)), values)


def test_unknown_lengths_are_refused(values):
    array = da.from_array(values, chunks=(40, 13))
    with pytest.raises(GuidedValueError, match=r"to_dask_array\(lengths=True\)"):
        find_stored(array[array[:, 0] > 0])


def test_frames_are_refused_and_their_arrays_read():
    pandas = pytest.importorskip("pandas")
    import dask.dataframe

    frame = dask.dataframe.from_pandas(pandas.DataFrame({"x": [1.0, 2, 3], "y": [4.0, 5, 6]}), 2)
    with pytest.raises(GuidedTypeError, match=r"to_dask_array\(lengths=True\)"):
        find_stored(frame)
    with pytest.raises(GuidedValueError, match=r"to_dask_array\(lengths=True\)"):
        find_stored(frame.to_dask_array())
    X = find_stored(frame.to_dask_array(lengths=True))
    assert_array_equal(np.asarray(X), [[1, 4], [2, 5], [3, 6]])


def test_blocks_that_are_not_numpy_arrays_are_refused():
    from scipy.sparse import csr_array

    array = da.from_array(np.eye(4), chunks=(2, 4)).map_blocks(csr_array)
    with pytest.raises(GuidedTypeError, match=r"blocks of the dask array are of .*csr_array"):
        find_stored(array)


def test_blocks_of_another_shape_than_they_should_have_are_refused(values):
    array = da.from_array(values, chunks=(40, 5)).map_blocks(
        lambda block: block[: 40 if block.shape[1] == 5 else 30], meta=values[:0, :0]
    )
    with pytest.raises(GuidedValueError, match=r"for rows 0 to 40 have shape"):
        map_parts(find_stored(array), given.total)


def test_an_error_inside_a_block_names_the_rows(values, monkeypatch):
    given.make_parts_small(monkeypatch, 600, 1000)
    X = find_stored(given.failing_at_row_50(values))
    with pytest.raises(ZeroDivisionError) as caught:
        map_parts(X, given.total)
    assert caught.value.__notes__ == [given.FAILED_AT_ROW_50]


def test_selected_columns_stay_a_dask_array(values):
    array = da.from_array(values, chunks=(40, 5))
    selected = select_columns(array, [3, 1])
    assert isinstance(selected, da.Array)
    assert_array_equal(selected.compute(), values[:, [3, 1]])


@pytest.mark.parametrize("cut", [np.s_[:3], np.s_[:, :3]])
def test_blocks_of_another_shape_than_their_chunks_are_refused(values, cut):
    array = da.from_array(values, chunks=(40, values.shape[1]))
    wrong = array.map_blocks(lambda block: block[cut], dtype=float, chunks=array.chunks)
    with pytest.raises(GuidedValueError, match="which differs from the chunks of the array"):
        np.asarray(find_stored(wrong))


def test_blocks_of_another_type_are_refused(values):
    wrong = da.from_array(values, chunks=(40, 5)).map_blocks(lambda block: block + 0.5, dtype=int)
    with pytest.raises(GuidedValueError, match="have dtype float32, but the array declares int64"):
        np.asarray(find_stored(wrong))
