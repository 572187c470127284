"""Folders of Parquet files: which files are read, their order, and columns from folder names."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from linkselect import FisherScore, VarianceScore, open_stored
from linkselect._messages import GuidedValueError
from linkselect._samples.sources.opening import find_stored
from linkselect.cli._tables import Reading, read_table


def put(folder, *names):
    """Write a file for each name, whose only value is the position of the name."""
    for place, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [place]}), path)
    return folder


def test_files_are_found_and_ordered_as_by_pyarrow(tmp_path):
    folder = put(
        tmp_path / "all",
        *("site=A/x.parquet", "site=A-1/x.parquet", "a.parquet", "a/x.parquet", "a b/x.parquet"),
        *("B.PARQUET", "c.pq", "part-00001", "_hidden/x.parquet", ".hidden.parquet", "é.parquet"),
    )
    (folder / "_SUCCESS").touch()
    (folder / "link").symlink_to(put(tmp_path / "elsewhere", "y.parquet"))
    expected = pyarrow.dataset.dataset(folder, format="parquet")
    # Other files, where pyarrow would stop, and links back to the folder are ignored.
    (folder / "README.txt").write_text("read me")
    (folder / "a" / "back").symlink_to(folder)
    for one, other in (("C", "D"), ("D", "C")):  # each contains a link to the other
        (folder / one).mkdir()
        (folder / one / "there").symlink_to(folder / other)
        (folder / one / "here").symlink_to(folder / other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = find_stored(folder)
    assert [state.path for state in X.source.files] == expected.files
    assert_array_equal(np.asarray(X)[:, 0], expected.to_table()["x"])


def test_a_broken_link_is_a_missing_file(tmp_path):
    folder = put(tmp_path, "a.parquet")
    (folder / "README").symlink_to(folder / "README")  # not the name of a Parquet file
    assert find_stored(folder).shape == (1, 1)
    (folder / "b.parquet").symlink_to(folder / "gone.parquet")
    with pytest.raises(GuidedValueError, match=r"b\.parquet was not found"):
        find_stored(folder)


@pytest.mark.parametrize("names", [("a.parquet", "a2.parquet"), ("8f.parquet", "10ab.parquet")])
def test_names_without_a_numeric_order_get_no_warning(names, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_stored(put(tmp_path, *names))


@pytest.fixture
def by_site(tmp_path):
    """Return a folder with two columns from folder names, and its contents as a table."""
    rng = np.random.default_rng(0)
    x, place = rng.normal(size=(60, 2)), np.arange(60) % 3
    sites = [(None, "New York", "a/b")[one] for one in place]
    table = pa.table({"f0": x[:, 0], "f1": x[:, 1], "site": sites, "year": 2020 + place})
    folder = tmp_path / "by_site"
    options = {"partitioning": ["site", "year"], "partitioning_flavor": "hive"}
    pyarrow.dataset.write_dataset(table, folder, format="parquet", **options)
    return folder, pyarrow.dataset.dataset(folder, partitioning="hive").to_table()


def test_columns_from_folder_names_are_read_but_are_not_features(by_site):
    folder, whole = by_site
    X = open_stored(folder, without=["site", "year"])
    assert X.names == ["f0", "f1"]
    assert X.column("site").tolist() == whole["site"].to_pylist()
    year = X.column("year")
    assert (year.dtype.kind, year.tolist()) == ("i", whole["year"].to_pylist())
    features = np.column_stack([whole["f0"], whole["f1"]])
    found, expected = FisherScore().fit(X, year), FisherScore().fit(features, year)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-12)


def test_columns_from_folder_names_get_a_warning(by_site):
    folder, _ = by_site
    with pytest.warns(UserWarning, match=r"not used as features: 'site', 'year'.*column\('site'\)"):
        VarianceScore().fit(folder)
    with pytest.warns(UserWarning, match="as features: 'year'"):
        open_stored(folder, without="site")
    with pytest.raises(GuidedValueError, match="'year' of by_site comes from folder names"):
        open_stored(folder, columns=["f0", "year"])


def test_a_column_of_the_files_counts_more_than_the_name_of_a_folder(tmp_path):
    X = find_stored(put(tmp_path, "x=7/a.parquet"))
    assert (X.names, X.column("x").tolist()) == (["x"], [0])


def test_the_types_of_a_file_without_rows_are_ignored(tmp_path):
    empty = pa.table({"x": pa.array([], pa.string()), "y": pa.array([], pa.null())})
    pq.write_table(empty, tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1, 2], "y": ["u", "v"]}), tmp_path / "b.parquet")
    X = open_stored(tmp_path, without="y")
    assert_array_equal(np.asarray(X), [[1], [2]])
    assert X.column("y").tolist() == ["u", "v"]


def test_a_column_may_have_another_type_in_each_file(tmp_path):
    kinds = (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
    for place, kind in enumerate(kinds):
        table = pa.table({"x": [1.0], "y": pa.array(["u"], kind), "z": [1 if place else 1.5]})
        pq.write_table(table, tmp_path / f"{place}.parquet")
    X = open_stored(tmp_path, columns=["x"])
    assert X.column("y").tolist() == ["u"] * 3
    assert X.column("z").tolist() == [1.5, 1, 1]
    pq.write_table(pa.table({"x": [1.0], "y": [3], "z": [1]}), tmp_path / "3.parquet")
    with pytest.raises(GuidedValueError, match=r"string in 0\.parquet, .*, int64 in 3\.parquet"):
        open_stored(tmp_path, columns=["x"]).column("y")


@pytest.mark.parametrize("empty", [{}, {"y": [], "x": []}, {"other": []}])
def test_columns_go_by_name_whatever_an_empty_first_file_has(empty, tmp_path):
    columns = {name: pa.array(values, pa.float64()) for name, values in empty.items()}
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"y": [7.0, 8.0], "x": [5.0, 6.0]}), tmp_path / "2.parquet")
    X = open_stored(tmp_path)
    assert X.names == ["x", "y"]
    assert_array_equal(np.asarray(X), [[1, 3], [2, 4], [5, 7], [6, 8]])
    assert_array_equal(X.take([3, 0]), [[6, 8], [1, 3]])
    assert_array_equal(X.column("y"), [3, 4, 7, 8])
    found = read_table(tmp_path, Reading())
    assert found.names == ("x", "y")
    assert_array_equal(found.X, np.asarray(X))
