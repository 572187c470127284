"""Types of samples outside memory that are not supported directly."""

import io
from pathlib import Path

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from linkselect import VarianceScore, open_stored
from linkselect._messages import GuidedTypeError
from linkselect._samples.sources.opening import find_stored

FRAME = dask.dataframe.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": 0.0}), npartitions=1)
REFUSED = {
    "a dask DataFrame": (FRAME, r"to_dask_array\(lengths=True\)"),
    "a dask Series": (FRAME["a"], "samples x features"),
    "a delayed value": (dask.delayed(np.eye(2)), "from_delayed"),
    "a LazyFrame": (pl.LazyFrame({"a": [1.0]}), r"collect\(\)"),
    "an open file": (io.BytesIO(b""), "Pass its path"),
    "names of files": ([Path("a.parquet"), "b.parquet"], r"dataset\.dataset\(paths\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_hint_is_named(name):
    X, hint = REFUSED[name]
    for use in (VarianceScore().fit, open_stored):
        with pytest.raises(GuidedTypeError, match=hint):
            use(X)


def test_a_parquet_dataset_is_not_supported(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "X.parquet")
    with pytest.raises(GuidedTypeError, match=r"pyarrow\.dataset\.dataset\(path\)"):
        find_stored(pq.ParquetDataset(tmp_path))


def test_blocks_of_xarray_are_read_by_parts():
    xarray = pytest.importorskip("xarray")
    values = np.arange(12.0).reshape(6, 2)
    X = find_stored(xarray.DataArray(dask.array.from_array(values, chunks=(2, 2))))
    assert len(X.source.edges(0)) == 4
    np.testing.assert_array_equal(np.asarray(X), values)
    assert find_stored(xarray.DataArray(values)) is None


@pytest.mark.parametrize("kind", [sparse.csr_matrix, lambda block: np.ma.masked_equal(block, 0)])
def test_the_recipe_for_other_blocks_works(kind):
    values = np.arange(12.0).reshape(6, 2)
    X = dask.array.from_array(values, chunks=(2, 2)).map_blocks(kind)
    with pytest.raises(GuidedTypeError, match="Convert them to NumPy arrays") as caught:
        find_stored(X)
    call = caught.value.hint.removeprefix("Convert them to NumPy arrays with ").rstrip(".")
    mended = eval(call, {"X": X, "dask": dask, "numpy": np, "VALUE": 0})
    np.testing.assert_array_equal(np.asarray(find_stored(mended)), values)
