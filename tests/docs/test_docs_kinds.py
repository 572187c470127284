"""Test every entry of the table in the guide that lists the kinds of X each method accepts."""

import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

import linkselect as ls
from linkselect._samples import checks
from linkselect._samples.devices import to_numpy
from tests.helpers.estimators import COMBINED, SELECTORS, WRAPPERS
from tests.helpers.sizes import shrink_parts

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "large_data.md"
ESTIMATED = "neighbours of `max_queries` rows"
STORED = ["parquet", "zarr", "hdf5", "npy", "map", "dask"]


def rows_of_table():
    text = PAGE.read_text(encoding="utf-8")
    table = re.search(r"<!-- generated: kinds -->\n(.*?)<!-- end -->", text, re.DOTALL)[1]
    lines = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    return {name.strip("`"): cells for name, *cells in lines}


TABLE = rows_of_table()


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    X = 0.5 * rng.random((40, 6)) + 0.5 * np.outer(classes, np.linspace(0, 1, 6))
    return X.round(3), classes


def put_outside(X, kind, folder, monkeypatch):
    """Store X in one of the formats in the header of the table, in several parts."""
    shrink_parts(monkeypatch, 800)
    if kind == "parquet":
        pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
        table = pa.table({f"f{column}": values for column, values in enumerate(X.T)})
        pq.write_table(table, folder / "X.parquet", row_group_size=15)
        return folder / "X.parquet"
    if kind == "zarr":
        array = pytest.importorskip("zarr").create_array(
            folder / "X.zarr", shape=X.shape, chunks=(15, 4), dtype=X.dtype
        )
        array[:] = X
        return array
    if kind == "hdf5":
        with pytest.importorskip("h5py").File(folder / "X.h5", "w") as file:
            file.create_dataset("X", data=X, chunks=(15, 4))
        return folder / "X.h5"
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(15, 4))
    np.save(folder / "X.npy", X)
    if kind == "map":
        return ls.open_stored(np.load(folder / "X.npy", mmap_mode="r"))
    return folder / "X.npy"


def fit(selector, X, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(selector).fit(X, classes).scores_


def test_every_selector_has_a_row():
    tried = {type(each).__name__ for each in [*SELECTORS, *WRAPPERS, *COMBINED]}
    assert tried == set(TABLE)


@pytest.mark.parametrize("selector", [*SELECTORS, *WRAPPERS, *COMBINED], ids=repr)
def test_the_column_on_arrays(selector, problem):
    X, classes = problem
    here = fit(selector, X, classes)
    assert_allclose(fit(selector, sparse.csr_array(X), classes), here, rtol=1e-9, atol=1e-12)
    strict = importlib.import_module("array_api_strict").asarray(X)
    on_device = TABLE[type(selector).__name__][0]
    with config_context(array_api_dispatch=True):
        if on_device == "yes":
            assert_allclose(to_numpy(fit(selector, strict, classes)), here, rtol=1e-9)
        else:
            with pytest.raises(TypeError) as caught:
                fit(selector, strict, classes)
            assert checks.TO_THE_CPU in str(caught.value)


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("selector", [*SELECTORS, *WRAPPERS, *COMBINED], ids=repr)
def test_the_column_on_samples_outside_memory(selector, kind, problem, tmp_path, monkeypatch):
    X, classes = problem
    says = TABLE[type(selector).__name__][1]
    outside = put_outside(X, kind, tmp_path, monkeypatch)
    works = says in {"exact", ESTIMATED}
    if says == "if all its members do":
        works = not isinstance(selector.estimators, str) and all(
            TABLE[type(member).__name__][1] != "no" for _, member in selector.estimators
        )
    if not works:
        with pytest.raises(TypeError, match="requires all samples in memory"):
            fit(selector, outside, classes)
        return
    assert_allclose(fit(selector, outside, classes), fit(selector, X, classes), rtol=1e-9)
    if says == ESTIMATED:
        drawn = clone(selector).set_params(max_queries=30, random_state=0)
        known = np.where(np.arange(len(classes)) < 12, classes, -1)
        assert_allclose(fit(drawn, outside, known), fit(drawn, X, known), rtol=1e-9)
        assert ls.open_stored(outside).by_columns is False
