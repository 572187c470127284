"""Parquet files and folders, including damaged files."""

import datetime
import decimal
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import linkselect
from linkselect._messages import GuidedError, GuidedTypeError, GuidedValueError
from linkselect._samples.sources import parquet_tables
from linkselect._samples.sources.opening import find_stored
from tests.helpers import stored_samples as given

NAN = np.nan


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch)


@pytest.fixture
def values():
    return given.random_values()


@pytest.fixture
def path(tmp_path, values):
    pq.write_table(given.as_table(values), tmp_path / "X.parquet", row_group_size=37)
    return tmp_path / "X.parquet"


COLUMNS = {
    "nullable int": (pa.array([1, None, 3], pa.int32()), [1, NAN, 3]),
    "int": (pa.array([1, 2, 3], pa.int8()), [1, 2, 3]),
    "unsigned": (pa.array([1, 2, 2**63], pa.uint64()), [1, 2, 2.0**63]),
    "long": (pa.array([1, None, 2**60 + 1], pa.int64()), [1, NAN, 2.0**60]),
    "bool": (pa.array([True, False, True]), [1, 0, 1]),
    "nullable bool": (pa.array([True, None, False]), [1, NAN, 0]),
    "half": (pa.array(np.float16([1, 2.5, 3])), [1, 2.5, 3]),
    "float": (pa.array([1.5, None, NAN], pa.float32()), [1.5, NAN, NAN]),
    "decimal": (pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3")]), [1.25, NAN, -3]),
    "dictionary": (pa.array([2.5, None, 2.5]).dictionary_encode(), [2.5, NAN, 2.5]),
    "dictionary of int": (pa.array([7, 9, 7]).dictionary_encode(), [7, 9, 7]),
    "all missing": (pa.nulls(3), [NAN, NAN, NAN]),
    "a.b": (pa.array([1.0, 2, 3]), [1, 2, 3]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_of_numbers_is_read(name, tmp_path):
    column, expected = COLUMNS[name]
    pq.write_table(pa.table({name: column, "x": [1.0, 2, 3]}), tmp_path / "X.parquet")
    X = find_stored(tmp_path / "X.parquet")
    assert X.dtype == np.float64
    assert_array_equal(np.asarray(X), np.column_stack((expected, [1, 2, 3])))


def test_types_are_no_wider_than_needed(tmp_path):
    def type_of(**columns):
        pq.write_table(pa.table(columns), tmp_path / "X.parquet")
        return find_stored(tmp_path / "X.parquet").dtype

    small, half = pa.array([1, 2], pa.int16()), pa.array(np.float16([1, 2]))
    single, flag = pa.array([1, 2], pa.float32()), pa.array([True, False])
    assert type_of(a=small) == np.int16
    assert type_of(a=flag) == np.bool_
    assert type_of(a=single, b=flag, c=half) == np.float32
    assert type_of(a=small, b=single) == np.float32
    assert type_of(a=pa.array([1, None], pa.int16()), b=single) == np.float64


def test_columns_that_are_not_numeric_are_named(tmp_path, monkeypatch):
    table = pa.table(
        {
            "name": ["a", "b"],
            "x": [1.0, 2.0],
            "day": [datetime.date(2020, 1, 1)] * 2,
            "list": [[1], [2]],
            "code": pa.array(["u", "v"]).dictionary_encode(),
            "nested": [{"x": 1}, {"x": 2}],
        }
    )
    pq.write_table(table, tmp_path / "X.parquet")
    problem = (
        r"X\.parquet has columns that are not numeric: 'name' \(string\), 'day' \(date32\[day\]\), "
        r"'list' .*, 'code' \(dictionary.*\), 'nested' .*\. Exclude them: "
        r"open_stored\('X\.parquet', without=\['name', 'day', 'list', 'code', 'nested'\]\)"
    )
    with pytest.raises(GuidedValueError, match=problem):
        find_stored(tmp_path / "X.parquet")
    X = linkselect.open_stored(
        tmp_path / "X.parquet", without=["name", "day", "list", "code", "nested"]
    )
    assert_array_equal(np.asarray(X), [[1], [2]])
    assert X.column("name").tolist() == ["a", "b"]
    assert X.column("code").tolist() == ["u", "v"]
    assert X.column("day")[0] == np.datetime64("2020-01-01")
    with pytest.raises(GuidedValueError, match=r"X\.parquet has no column 'label'"):
        X.column("label")
    with pytest.raises(GuidedValueError, match=r"no column 'label'; it has 6 columns, from 'name'"):
        linkselect.open_stored(tmp_path / "X.parquet", without=["label"])
    with pytest.raises(GuidedValueError, match=r"no column 6; it has 6"):
        linkselect.open_stored(tmp_path / "X.parquet", columns=[1, 6])


def test_columns_are_chosen_by_name_or_number(path, values):
    X = linkselect.open_stored(path, columns=["f5", 2, "f0"], without=["f0"])
    assert X.names == ["f5", "f2"]
    assert_array_equal(np.asarray(X), values[:, [5, 2]])
    assert_array_equal(np.asarray(linkselect.open_stored(X, columns=["f2"])), values[:, [2]])


def test_the_index_of_a_pandas_table_is_not_a_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}, index=pd.Index([7, 8], name="id"))
    frame.to_parquet(tmp_path / "X.parquet")
    X = find_stored(tmp_path / "X.parquet")
    assert X.names == ["x", "y"]
    assert X.column("id").tolist() == [7, 8]
    frame.reset_index(drop=True)[::-1].to_parquet(tmp_path / "X.parquet")
    assert find_stored(tmp_path / "X.parquet").names == ["x", "y"]


def test_two_columns_of_one_name_are_refused(tmp_path):
    pq.write_table(pa.table([[1.0], [2.0]], names=["x", "x"]), tmp_path / "X.parquet")
    with pytest.raises(GuidedValueError, match=r"X\.parquet has several columns named 'x'"):
        find_stored(tmp_path / "X.parquet")


@pytest.mark.parametrize(
    ("matrix_bytes", "column_bytes"), [(0, 0), (0, 500)], ids=["by rows", "on the disk"]
)
def test_large_row_groups_are_read_in_pieces(matrix_bytes, column_bytes, monkeypatch, tmp_path):
    values = given.random_values((1000, 9))
    pq.write_table(given.as_table(values), tmp_path / "X.parquet", row_group_size=600)
    for name, size in {
        "MATRIX_BYTES": matrix_bytes,
        "COLUMN_BYTES": column_bytes,
        "READER_BYTES": 1000,
        "GROUP_BYTES": 1000,
        "BATCH_BYTES": 700,
    }.items():
        monkeypatch.setattr(parquet_tables, name, size)
    used, disk_usage = [], shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda at: used.append(at) or disk_usage(at))
    X = find_stored(tmp_path / "X.parquet")
    assert len(X.parts) == 2
    assert_array_equal(np.asarray(X), values)
    assert_array_equal(np.asarray(X.choose([8, 1, 8, 3, 4])), values[:, [8, 1, 8, 3, 4]])
    assert_array_equal(X.take([700, 3]), values[[700, 3]])
    assert bool(used) is bool(column_bytes)


def test_a_full_disk_is_an_error(monkeypatch):
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(
        GuidedError, match=r"requires 3\.7 GiB of temporary disk space.* smaller row groups"
    ):
        parquet_tables.check_room_on_disk(1_000_000, 1000, 4)


def test_twenty_thousand_columns_are_read(tmp_path, monkeypatch):
    given.make_parts_small(monkeypatch, 2**20)
    values = given.random_values((10, 20_000))
    pq.write_table(given.as_table(values), tmp_path / "X.parquet")
    X = find_stored(tmp_path / "X.parquet")
    assert X.by_columns
    assert_array_equal(np.asarray(X), values)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_one_large_row_group_takes_little_memory(tmp_path):
    # 160 MB; the readers of all its columns together take twice that.
    values = np.broadcast_to(given.random_values((80_000, 1)), (80_000, 500))
    table = given.as_table(values)
    pq.write_table(table, tmp_path / "X.parquet", use_dictionary=False, compression="none")
    statements = [
        "import pyarrow.parquet, json",
        f"X = find_stored({str(tmp_path / 'X.parquet')!r})",
        "before = memory()",
        "assert len(X.parts) == 1",
        "map_parts(X, total, n_jobs=1)",
    ]
    assert given.peak_memory(statements) < 200


def test_folders_are_read_in_the_order_of_names(tmp_path):
    for name, number in {"b": 2, "a": 1, "c/a": 3}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [number] * 2, "y": [0.5] * 2}), tmp_path / f"{name}.parquet")
    pq.write_table(
        pa.table({"x": pa.array([], pa.int64()), "y": [0.5][:0]}), tmp_path / "bb.parquet"
    )
    X = find_stored(tmp_path)
    assert_array_equal(np.asarray(X)[:, 0], [1, 1, 2, 2, 3, 3])
    assert X.column("x").tolist() == [1, 1, 2, 2, 3, 3]
    dataset = pyarrow.dataset.dataset(tmp_path, format="parquet", exclude_invalid_files=True)
    assert_array_equal(np.asarray(find_stored(dataset)), np.asarray(X))


def test_files_with_numbers_of_different_lengths_get_a_warning(tmp_path):
    for number in (1, 2, 10):
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"part.{number}.parquet")
    with pytest.warns(UserWarning, match=r"part\.10\.parquet is read before part\.2\.parquet"):
        X = find_stored(tmp_path)
    assert_array_equal(np.asarray(X)[:, 0], [1, 10, 2])


def test_files_of_a_folder_must_have_the_same_columns(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1.5], "x": [2]}), tmp_path / "b.parquet")
    X = find_stored(tmp_path)
    assert_array_equal(np.asarray(X), [[1, 2], [2, 1.5]])
    for table, problem in (
        (pa.table({"x": [1]}), r"c\.parquet lacks the column 'y', which a\.parquet has"),
        (pa.table({"x": [1], "y": [1], "z": [1]}), r"a\.parquet lacks the column 'z', which c"),
        (pa.table({"x": [1], "y": ["u"]}), r"c\.parquet has columns that are not numeric: 'y'"),
    ):
        pq.write_table(table, tmp_path / "c.parquet")
        with pytest.raises(GuidedValueError, match=problem):
            find_stored(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(GuidedValueError, match="contains no Parquet files"):
        find_stored(tmp_path)
    with pytest.raises(GuidedValueError, match=r"X\.parquet was not found"):
        find_stored(tmp_path / "X.parquet")
    pq.write_table(pa.table({"x": [1.0][:0]}), tmp_path / "X.parquet")
    with pytest.raises(GuidedValueError, match="has 0 rows"):
        find_stored(tmp_path)


def test_an_open_file_is_refused(path):
    with pytest.raises(GuidedTypeError, match="Pass the path"):
        find_stored(pq.ParquetFile(path))
    with pytest.raises(GuidedTypeError, match="must consist of Parquet files"):
        find_stored(pyarrow.dataset.dataset(pa.table({"x": [1]})))


def test_a_file_that_disappears_is_an_error(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / f"{name}.parquet")
    X = find_stored(tmp_path)
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(GuidedValueError, match=r"b\.parquet was not found"):
        np.asarray(X)


@pytest.mark.parametrize("length", [0, 3, 5000, -1])
def test_a_file_that_was_cut_short_is_an_error(path, length):
    os.truncate(path, length if length >= 0 else path.stat().st_size - 1)
    with pytest.raises(GuidedValueError, match=r"X\.parquet cannot be opened as a Parquet file"):
        find_stored(path)


def test_a_damaged_column_is_named(path):
    column = pq.ParquetFile(path).metadata.row_group(2).column(5)
    with path.open("r+b") as file:
        file.seek(column.dictionary_page_offset or column.data_page_offset)
        file.write(b"\xff" * column.total_compressed_size)
    X = find_stored(path)
    with pytest.raises(
        GuidedValueError, match=r"X\.parquet, column 'f5', cannot be read in row group 2"
    ):
        np.asarray(X)


INDEXES = {
    "numbers": [3, 0, 5, 1, 4, 2],
    "text": list("fbadce"),
    "range from 10": range(10, 16),
    "range downwards": range(5, -1, -1),
    "times": pd.to_datetime([f"2020-01-{day:02}" for day in (8, 3, 5, 1, 9, 2)]),
    "two levels": pd.MultiIndex.from_product([["u", "v", "w"], [1, 0]]),
    "row numbers": range(6),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("name", [None, "id"])
def test_pairs_mean_the_same_rows_as_in_a_frame(index, name, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6, 4)), index=index, columns=list("pqrs"))
    if name and frame.index.nlevels == 1:
        frame.index.name = name
    frame.to_parquet(tmp_path / "X.parquet")
    read = pd.read_parquet(tmp_path / "X.parquet")
    a, b, c, d, *_ = read.index
    pairs = linkselect.Pairs(must=[(a, b)], cannot=[(c, d), (a, c)])
    expected = linkselect.ConstraintScore().fit(read, pairs=pairs)
    found = linkselect.ConstraintScore().fit(tmp_path / "X.parquet", pairs=pairs)
    assert_allclose(found.scores_, expected.scores_)
    assert list(found.feature_names_in_) == list("pqrs")


def _folder(place, frames):
    place.mkdir()
    for number, frame in enumerate(frames):
        frame.to_parquet(place / f"{number}.parquet")
    return place


def test_the_index_of_a_folder_is_that_of_pandas(tmp_path):
    frame = pd.DataFrame({"x": np.arange(6.0) ** 2}, index=INDEXES["numbers"])
    cut = _folder(tmp_path / "cut", [frame[:0], frame[:2], frame[2:]])
    index = find_stored(cut).index()
    assert index == pd.read_parquet(cut).index.tolist() == frame.index.tolist()
    numbered = frame.reset_index(drop=True)
    for parts in ([numbered[:2], numbered[2:]], [numbered[:2], numbered[:3]]):
        assert find_stored(_folder(tmp_path / str(len(parts[1])), parts)).index() is None
    shifted = numbered.set_index(pd.RangeIndex(10, 16))
    named = frame.rename_axis("id")
    mixed = [named[:3], named[3:].reset_index()]
    for place, parts in enumerate(([shifted[:2], shifted[2:]], mixed)):
        X = find_stored(_folder(tmp_path / f"refused{place}", parts))
        pairs = linkselect.Pairs(must=[(0, 1)], cannot=[(0, 3)])
        with pytest.raises(
            GuidedValueError, match=r"its own index.*sample_ids, such as range\(6\)"
        ):
            linkselect.ConstraintScore().fit(X, pairs=pairs)
        linkselect.ConstraintScore().fit(X, pairs=pairs, sample_ids=range(6))
        linkselect.VarianceScore().fit(X)


def test_an_invalid_index_is_ignored(tmp_path):
    table = pa.table({"x": [1.0, 2.0, 5.0]})
    odd = [{"kind": "range", "start": 0, "stop": 9, "step": 0}, {"kind": "other"}, "gone", 7]
    for one in (*odd, {"kind": "range", "start": 5, "stop": 9, "step": 1}):
        described = {b"pandas": json.dumps({"index_columns": [one]})}
        pq.write_table(table.replace_schema_metadata(described), tmp_path / "X.parquet")
        assert find_stored(tmp_path / "X.parquet").index() is None


@pytest.mark.parametrize("other", [[1.5, 2.5, 4.0], [1, 2, 4]])
def test_integers_that_float64_rounds_are_named(other, tmp_path):
    columns = {"n": [2**60, 2**60 + 301, 2**60 + 903], "x": other}
    pq.write_table(pa.table(columns), tmp_path / "X.parquet")
    with pytest.warns(UserWarning, match=r"1 feature of X has integers above 2\^53.*: 'n'"):
        linkselect.VarianceScore().fit(tmp_path / "X.parquet")
