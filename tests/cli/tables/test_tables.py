"""Tests of valid and invalid tables of every format, read from files."""

import contextlib
import datetime
import gzip
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import io as scipy_io
from scipy.sparse import csr_array, issparse
from sklearn.datasets import dump_svmlight_file

from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._preparation import Preparation, settle_values
from linkselect.cli._tables import Reading, Table, limits, read_rows, read_table
from linkselect.cli._tables.limits import limited_memory, parse_size

VALUES = np.array([[1.0, 2.5], [3.0, -4.0], [5.0, 6.0], [7.0, 8.5]])
LABELS = ["a", "b", "a", "b"]


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def refused(path, *words, error=InputError, **how):
    with pytest.raises(error) as caught:
        read_table(path, Reading(**how))
    for word in words:
        assert word in str(caught.value), str(caught.value)
    return str(caught.value)


CSV = "width,height,kind\n1,2.5,a\n3,-4,b\n5,6,a\n7,8.5,b\n"


def table_of(kind, folder):
    """Write the same table in one of the formats; return the file and the options to read it."""
    path = folder / f"table{kind}"
    by_name = {"label": "kind"}
    if kind == ".csv":
        return write(path, CSV), by_name
    if kind == ".tsv":
        return write(path, CSV.replace(",", "\t")), by_name
    if kind == ".csv.gz":
        path.write_bytes(gzip.compress(CSV.encode()))
        return path, by_name
    if kind in (".parquet", ".feather"):
        frame = pa.table({"kind": LABELS, "width": VALUES[:, 0], "height": VALUES[:, 1]})
        save = pyarrow.parquet.write_table if kind == ".parquet" else pyarrow.feather.write_feather
        save(frame, str(path))
        return path, by_name
    if kind == ".npy":
        np.save(path, np.column_stack([VALUES, [0, 1, 0, 1]]))
        return path, {"label": "-1"}
    if kind == ".npz":
        np.savez_compressed(path, X=VALUES, y=np.array([0, 1, 0, 1]))
        return path, {"label": "y"}
    if kind == ".mat":
        scipy_io.savemat(path, {"X": VALUES, "y": [[0], [1], [0], [1]]}, do_compression=True)
        return path, {"label": "y"}
    if kind == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (["width", "height", "kind"], *zip(*VALUES.T.tolist(), LABELS, strict=True)):
            book.active.append(list(row))
        book.save(path)
        return path, by_name
    if kind == ".arff":
        head = "% made by hand\n@RELATION t\n@attribute width numeric\n"
        head += "@attribute 'height' REAL\n@attribute kind {a, b}\n\n@DATA\n"
        return write(path, head + "1,2.5,a\n% between\n3,-4,b\n5,6,a\n\n7,8.5,'b'\n"), by_name
    dump_svmlight_file(csr_array(VALUES), [0, 1, 0, 1], str(path))
    return path, {"label": "y"}


KINDS = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".npy", ".npz", ".mat", ".arff"]
KINDS += [".xlsx"]


@pytest.mark.parametrize("kind", [*KINDS, ".svmlight"])
def test_every_format_gives_the_same_table(kind, tmp_path):
    path, how = table_of(kind, tmp_path)
    table = read_table(path, Reading(**how))
    X = table.X.toarray() if issparse(table.X) else table.X
    np.testing.assert_array_equal(X, VALUES)
    np.testing.assert_array_equal(table.codes(), [0, 1, 0, 1])
    assert len(table.names) == 2


@pytest.mark.parametrize("kind", [*KINDS, ".svmlight"])
def test_every_format_respects_the_memory_limit(kind, tmp_path):
    path, how = table_of(kind, tmp_path)
    refused(path, "does not fit", "--max-memory", **how, max_memory="40")


@pytest.mark.parametrize("kind", [*KINDS, ".svmlight"])
def test_every_format_survives_damage(kind, tmp_path):
    path, how = table_of(kind, tmp_path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in [1, 7, len(content) // 2, len(content) - 3]:
        path.write_bytes(content[:cut])
        with contextlib.suppress(InputError):
            read_table(path, Reading(**how))
    for _ in range(30):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            damaged[place] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(InputError):
            read_table(path, Reading(**how, max_memory="200MB"))


# -- text ------------------------------------------------------------------------------------


def test_labels_ids_and_dropped_columns_by_name(tmp_path):
    path = write(tmp_path / "t.csv", "id,x,note,y\np1,1,hello,0\np2,2,,\np3,3,z,1\np4,4,z,1\n")
    table = read_table(path, Reading(label="y", id_column="id", drop=("note",)))
    assert table.names == ("x",)
    assert table.ids == ("p1", "p2", "p3", "p4")
    assert table.labels.tolist() == ["0", None, "1", "1"]
    np.testing.assert_array_equal(table.codes(), [0, -1, 1, 1])


def test_minus_one_is_a_class_by_default(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,-1\n2,1\n3,1\n4,-1\n")
    assert read_table(path, Reading(label="y")).classes == ["-1", "1"]
    assert read_table(path, Reading(label="y", unlabelled="-1")).classes == ["1"]


def test_classes_are_sorted_as_numbers(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,10\n2,9\n3,10\n")
    assert read_table(path, Reading(label="y")).classes == ["9", "10"]


@pytest.mark.parametrize("text", ["﻿x;y\n1,5;2\n2,5;3\n", "x;y\r\n1,5;2\r\n2,5;3\r\n"])
def test_semicolons_decimal_commas_and_a_byte_order_mark(text, tmp_path):
    table = read_table(write(tmp_path / "t.csv", text), Reading(decimal=","))
    assert table.names == ("x", "y")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [2.5, 3]])


def test_a_decimal_comma_is_recognized(tmp_path):
    path = write(tmp_path / "t.csv", "x;y\n1,5;2\n2,5;3\n")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1.5, 2], [2.5, 3]])
    assert table.notes == ("Commas are read as decimal separators, as in '1,5'.",)
    # Three digits may be thousands, and a decimal point elsewhere contradicts a decimal comma.
    refused(write(path, "x;y\n1,500;2\n2,500;3\n"), "line 2", "'1,500'", "--decimal")
    refused(write(path, "x;y\n1,5;2.5\n2,5;3\n"), "line 2", "'x'", "'1,5'", "--decimal")


def test_a_decimal_comma_inside_quotes_is_recognized(tmp_path):
    path = write(tmp_path / "t.csv", 'x,"y",z\n"1,5","2,75",a\n"-2,5",3,b\n"",4,a\n')
    table = read_table(path, Reading(label="z"))
    np.testing.assert_array_equal(table.X, [[1.5, 2.75], [-2.5, 3], [np.nan, 4]])
    assert table.notes == ("Commas inside quotes are read as decimal separators, as in '-2,5'.",)
    # As above; a quoted value may also be a list.
    refused(write(path, 'x,y\n"1,500",2\n"2,500",3\n'), "line 2", "'1,500'")
    refused(write(path, 'x,y\n"1,5",2.5\n"2,5",3\n'), "line 2", "'x'", "'1,5'")
    refused(write(path, 'x,y\n"1,5,2",2\n1,3\n2,3\n'), "line 2", "'1,5,2'")


def test_missing_values_become_nan(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,\n?,nan\nNA,2\n")
    np.testing.assert_array_equal(read_table(path).X, [[1, np.nan], [np.nan, np.nan], [np.nan, 2]])
    table = read_table(write(path, "x,y\n1,n.d.\n-999,2\n"), Reading(missing=("n.d.", "-999")))
    np.testing.assert_array_equal(table.X, [[1, np.nan], [np.nan, 2]])


def test_empty_rows_at_the_end_are_left_out(tmp_path):
    path = write(tmp_path / "t.csv", "x,y,kind\n1,2,a\n,,\n3,4,a\n,,\n,,\n")
    table = read_table(path, Reading(label="kind"))
    assert (len(table.X), table.labels.tolist()) == (3, ["a", None, "a"])
    assert table.notes == ("Left out 2 empty rows at the end.",)


def test_quoted_names_and_values(tmp_path):
    text = '"a, b","c\nd",y\n"1","2","left, right"\n3,4,"left, right"\n5,6,up\n'
    table = read_table(write(tmp_path / "t.csv", text), Reading(label="y"))
    assert table.names == ("a, b", "c\nd")
    assert table.classes == ["left, right", "up"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])


def test_no_header(tmp_path):
    path = write(tmp_path / "t.csv", "1.5,2,a\n3,4,b\n5,6,a\n")
    table = read_table(path, Reading(no_header=True, label="2"))
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [5, 6]])
    assert table.names == ("x0", "x1")
    numbers = write(tmp_path / "n.csv", "1.5,2\n3,4\n")
    refused(numbers, "--no-header")
    assert read_table(write(tmp_path / "c.csv", "0,1\n3,4\n")).names == ("0", "1")


def test_latin_1(tmp_path):
    path = write(tmp_path / "t.csv", "größe,y\n1,ä\n2,ä\n3,b\n", "latin-1")
    refused(path, "utf-8", "--encoding latin-1")
    assert read_table(path, Reading(label="y", encoding="latin-1")).classes == ["b", "ä"]
    late = write(tmp_path / "u.csv", "x,y\n1,ä\n2,ä\n3,b\n", "latin-1")
    refused(late, "--encoding latin-1", label="y")
    refused(late, "not a known", error=UsageError, encoding="klingon")


def test_a_wide_table(tmp_path):
    X = np.arange(60_000.0).reshape(2, -1) + 0.123456789012
    lines = [",".join(f"gene{i}" for i in range(X.shape[1]))]
    lines += [",".join(map(str, row)) for row in X.tolist()]
    np.testing.assert_array_equal(read_table(write(tmp_path / "t.csv", "\n".join(lines))).X, X)


def test_many_blocks(tmp_path):
    X = np.random.default_rng(0).normal(size=(30_000, 20))
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    path = write(tmp_path / "t.csv", text)
    assert path.stat().st_size > 2 * (4 << 20)
    np.testing.assert_array_equal(read_table(path, Reading(no_header=True)).X, X)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("\n\n", ["empty"]),
        ("x,y\n", ["2 columns", "no rows"]),
        ("x,y\n1,2\n1,2,3\n", ["line 3", "3 values", "2 columns"]),
        ("x,y\n1,2\n1\n", ["line 3", "1 value"]),
        ("x,y\n1,2\n3,tall\n", ["line 3", "'y'", "'tall'", "--drop"]),
        ("x,y\n1,2\n3,1_000\n", ["line 3", "'1_000'"]),
        (",x\n0,1\n0,2\n", ["column 1 has no name", "--drop ''"]),
        ("x y z\n1 2 3\n", ["--separator space"]),
        ("x,y\n1,2\n3,\0\n", ["line 3"]),
        ('x,y\n1,2\n3,"4\n5,6\n', ["line"]),
    ],
)
def test_bad_text_is_explained(text, words, tmp_path):
    refused(write(tmp_path / "t.csv", text), "t.csv", *words)


def test_text_in_a_late_block_is_found(tmp_path):
    lines = ["x,y", *(["1.25,2.5"] * 500_000), "1.25,oops", *(["1,2"] * 5)]
    refused(write(tmp_path / "t.csv", "\n".join(lines)), "line 500002", "'y'", "'oops'")


def test_errors_for_unknown_columns_suggest_the_nearest(tmp_path):
    path = write(tmp_path / "t.csv", CSV)
    refused(path, "'Kind'", "--label", "Did you mean 'kind'", label="Kind")
    refused(path, "--id-column", "Did you mean 'width'", id_column="widht")
    refused(path, "--drop", "Did you mean 'height'", drop=("heigth",))
    refused(path, "Available: width, height, kind", label="zzz")
    refused(path, "no column is left", drop=("width", "height", "kind"))


def test_labels_that_are_not_classes(tmp_path):
    refused(write(tmp_path / "t.csv", "x,y\n1,\n2,\n"), "is empty", label="y")
    refused(
        write(tmp_path / "u.csv", "x,y\n1,2.5\n2,3.5\n3,1\n"),
        "like an id or a measurement",
        label="y",
    )


def test_missing_and_duplicate_ids(tmp_path):
    refused(write(tmp_path / "t.csv", "x,i\n1,a\n2,a\n"), "'a'", "2 rows", id_column="i")
    refused(write(tmp_path / "u.csv", "x,i\n1,a\n2,\n"), "row 2", "empty", id_column="i")


def test_the_file_cache_of_a_container_counts_as_available(tmp_path, monkeypatch):
    for folder in ("_CGROUP", "_PROC"):
        monkeypatch.setattr(limits, folder, tmp_path)
    (tmp_path / "memory.max").write_text("10000000\n")
    (tmp_path / "memory.current").write_text("9900000\n")
    (tmp_path / "memory.stat").write_text("anon 1000\nactive_file 700000\ninactive_file 5000000\n")
    assert limits.available_memory() == 5_800_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "meminfo").write_text("MemFree: 1 kB\nMemAvailable: 3 kB\n")
    assert limits.available_memory() == 3072, "the memory of the machine"


def memory_held():
    """Return the resident memory of this process in bytes; 0 if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in lines if "VmRSS" in line)


def test_a_large_text_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n" + b"1,2\n" * 300_000)
    with path.open("r+b") as file:
        file.truncate(1 << 30)  # a sparse file, which takes no space on disk
    before = memory_held()
    refused(path, "does not fit", "rows x 2 columns", "1.0 GB", max_memory="1GB")
    assert memory_held() < before + (1 << 28)


def test_a_gzip_bomb_is_stopped(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"x,y\n")
        for _ in range(32):
            file.write(b"1,2\n" * (1 << 18))
    assert path.stat().st_size < 1 << 18
    refused(path, "does not fit", max_memory="20MB")


def test_a_gzip_bomb_of_one_line_is_stopped(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"x,y\n1,")
        for _ in range(32):
            file.write(b"0" * (1 << 20))
    refused(path, "t.csv.gz", max_memory="20MB")


# -- columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columns_of_other_types(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    save = pyarrow.parquet.write_table if kind == "parquet" else pyarrow.feather.write_feather

    def table(column, **how):
        save(pa.table({"x": [1, 2, 3], "odd": column}), str(path))
        return read_table(path, Reading(**how))

    np.testing.assert_array_equal(table([True, None, False], encode=True).X[:, 1], [1, np.nan, 0])
    np.testing.assert_array_equal(table(["1.5", None, " 2"]).X[:, 1], [1.5, np.nan, 2])
    np.testing.assert_array_equal(table(pa.array([1, None, 3])).X[:, 1], [1, np.nan, 3])
    np.testing.assert_array_equal(table(pa.nulls(3)).X[:, 1], [np.nan] * 3)
    day = datetime.date(2024, 2, 29)
    for column, kind in [
        (["a", "b", "c"], "different text in each row"),
        ([None, "b", "b"], "text"),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "text"),
        ([day, None, day], "dates"),
        ([True, None, False], "yes/no"),
        ([[1], [2], [3]], "lists or bytes"),
        ([b"\0", b"1", b"2"], "lists or bytes"),
    ]:
        found = table(column)
        assert (found.names, found.left_out) == (("x",), ("odd",))
        assert f"Left out 1 non-numeric column: 'odd' ({kind})." in found.notes[0]
    with pytest.raises(InputError, match=r"row 2: column 'odd' has the value 'n.d.'"):
        table(["1", "n.d.", "3"])
    assert table(["a", "b", "c"], drop=("odd",)).names == ("x",)


def test_single_precision_stays(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"x": pa.array([1, 2], pa.float32())}), path)
    assert read_table(path).X.dtype == np.float32


def test_duplicate_names_in_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table([[1, 2], [3, 4]], names=["x", "x"]), path)
    refused(path, "'x'", "2 times")


def test_a_parquet_bomb_is_refused_by_its_declared_size(tmp_path):
    path = tmp_path / "t.parquet"
    zeros = pa.array(np.zeros(5_000_000))
    pyarrow.parquet.write_table(pa.table({"x": zeros, "y": zeros}), path)
    assert path.stat().st_size < 200_000
    refused(path, "5,000,000 rows x 2 columns", max_memory="20MB")


def test_a_parquet_bomb_with_a_false_size_is_stopped_during_reading(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    zeros = pa.array(np.zeros(5_000_000))
    pyarrow.parquet.write_table(pa.table({"x": zeros, "y": zeros}), path)
    monkeypatch.setattr("linkselect.cli._tables.columnar.check_declared", lambda *_: None)
    refused(path, "does not fit", max_memory="20MB")


def zigzag(value, n_bytes=0):
    """Encode a number as in the metadata of Parquet, in at least `n_bytes` bytes."""
    value, coded = value << 1, []
    while value or len(coded) < max(n_bytes, 1):
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded[-1] &= 0x7F
    return bytes(coded)


def test_a_parquet_bomb_with_false_metadata(tmp_path):
    path = tmp_path / "t.parquet"
    n_rows = 5_000_000
    pyarrow.parquet.write_table(
        pa.table({"x": np.zeros(n_rows)}), path, row_group_size=n_rows, use_dictionary=False
    )
    size = pyarrow.parquet.read_metadata(path).row_group(0).total_byte_size
    content = path.read_bytes()
    foot = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]

    def falsify(number):
        old = zigzag(number)
        assert old in content[foot:]
        return content[:foot] + content[foot:].replace(old, zigzag(10, len(old)))

    path.write_bytes(content := falsify(size))
    refused(path, "does not fit", max_memory="20MB")
    # If the declared number of rows is false as well, only that many rows are read.
    path.write_bytes(falsify(n_rows))
    assert len(read_table(path, Reading(max_memory="20MB")).X) == 10


def test_a_feather_bomb_is_stopped(tmp_path):
    path = tmp_path / "t.feather"
    frame = pa.table({"x": np.zeros(5_000_000)})
    pyarrow.feather.write_feather(frame, str(path), compression="zstd", chunksize=100_000)
    assert path.stat().st_size < 200_000
    refused(path, "does not fit", max_memory="20MB")


def test_an_excel_bomb_is_stopped(tmp_path):
    path, _ = table_of(".xlsx", tmp_path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b'r="A5"' in parts[sheet]
    parts[sheet] = parts[sheet].replace(b'r="C5"', b'r="XFD1048576"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    refused(path, "does not fit", max_memory="1GB")


def test_the_system_refuses_memory_beyond_the_budget():
    pytest.importorskip("resource")
    with pytest.raises(MemoryError), limited_memory(1 << 20):
        np.ones(1 << 26)
    assert np.empty(1 << 26).nbytes == 1 << 29  # the limit is lifted afterwards


# -- arrays ----------------------------------------------------------------------------------


class Payload:
    """An object that creates a folder if it is ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_in_an_array_is_never_run(tmp_path):
    mark = tmp_path / "was_here"
    objects = np.array([[Payload(mark), 1]], dtype=object)
    np.save(tmp_path / "t.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=objects, y=objects)
    refused(tmp_path / "t.npy", "pickle", "arbitrary code")
    refused(tmp_path / "t.npz", "pickle", "arbitrary code")
    for name in ("bare.npy", "bare.npz", "bare.csv", "bare.parquet", "bare.mat", "bare.feather"):
        (tmp_path / name).write_bytes(pickle.dumps(Payload(mark)))
        refused(tmp_path / name, name)
    assert not mark.exists()


def test_an_array_shorter_than_declared(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((2, 2)))
    path.write_bytes(path.read_bytes().replace(b"(2, 2)", b"(9, 9)"))
    refused(path, "truncated", "648 bytes")
    path.write_bytes(path.read_bytes().replace(b"(9, 9), ", b"(99999999999999999999, 9),"))
    refused(path)


def test_a_zip_bomb_is_stopped(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((1 << 20, 8)))
    assert path.stat().st_size < 1 << 17
    refused(path, "does not fit", max_memory="20MB")


def test_a_zip_bomb_with_a_false_size(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((1 << 20, 8)))
    content = bytearray(path.read_bytes())
    # The size before compression, in the central directory: 24 bytes after its signature.
    place = content.rindex(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 4096)
    path.write_bytes(bytes(content))
    refused(path, max_memory="20MB")
    refused(path, max_memory="400MB")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), ["(3,)"]),
        (np.zeros((2, 2, 2)), ["(2, 2, 2)"]),
        (np.zeros((2, 2), dtype=complex), ["complex"]),
        (np.array([["a", "b"]]), ["U1"]),
        (np.zeros((0, 3)), ["no rows"]),
        (np.zeros((2, 2), dtype=[("a", float)]), ["a"]),
        (np.zeros((2, 2), dtype="M8[s]"), ["datetime"]),
    ],
)
def test_arrays_that_are_not_tables(array, words, tmp_path):
    np.save(tmp_path / "t.npy", array)
    refused(tmp_path / "t.npy", *words)
    np.savez(tmp_path / "t.npz", X=array)
    refused(tmp_path / "t.npz")


def test_fortran_order_and_whole_numbers(tmp_path):
    X = np.asfortranarray(np.arange(6).reshape(3, 2))
    np.save(tmp_path / "t.npy", X)
    np.testing.assert_array_equal(read_table(tmp_path / "t.npy").X, X)


def test_names_and_ids_of_an_npz(tmp_path):
    names = np.array(["width", "height"])
    np.savez(tmp_path / "t.npz", X=VALUES, who=np.array(list("pqrs")), feature_names=names)
    table = read_table(tmp_path / "t.npz", Reading(id_column="who", drop=("height",)))
    assert table.names == ("width",)
    assert table.ids == ("p", "q", "r", "s")


def test_which_array_holds_the_features(tmp_path):
    np.savez(tmp_path / "t.npz", left=VALUES, right=2 * VALUES, y=[0, 1, 1])
    refused(tmp_path / "t.npz", "left (4, 2)", "--array")
    refused(tmp_path / "t.npz", "Did you mean 'right'", array="rigth")
    table = read_table(tmp_path / "t.npz", Reading(array="right"))
    np.testing.assert_array_equal(table.X, 2 * VALUES)
    refused(tmp_path / "t.npz", "shape (3,)", "4 rows", array="right", label="y")


def test_matlab_files(tmp_path):
    path = tmp_path / "t.mat"
    names = np.array([["width"], ["height"]], dtype=object)
    scipy_io.savemat(path, {"fea": csr_array(VALUES), "gnd": [[1], [2], [1], [2]], "names": names})
    table = read_table(path, Reading(label="gnd"))
    assert issparse(table.X)
    assert table.names == ("width", "height")
    assert table.classes == ["1", "2"]
    scipy_io.savemat(path, {"X": VALUES + 1j})
    refused(path, "complex")
    scipy_io.savemat(path, {"X": np.array([[1, "a"]], dtype=object)})
    refused(path, "cell")
    write(path, "MATLAB 7.3 MAT-file, Platform: GLNXA64" + " " * 128)
    refused(path, "7.3", "-v7")


def test_svmlight_with_a_huge_feature_number(tmp_path):
    path = write(tmp_path / "t.svmlight", "1 1:1\n0 2000000000:1\n")
    refused(path, "does not fit", max_memory="100MB")
    refused(write(tmp_path / "u.svmlight", "hello\n"), "SVMlight")
    refused(write(tmp_path / "v.svmlight", "1 1:1\n0 1:2\n"), "--label y", label="kind")


def test_sparse_arff_is_refused(tmp_path):
    path = write(tmp_path / "t.arff", "@relation r\n@attribute a numeric\n@data\n{0 1}\n")
    refused(path, "sparse")
    refused(write(tmp_path / "u.arff", "hello\n"), "not an ARFF")
    refused(write(tmp_path / "v.arff", "@relation r\n"), "@data")
    head = "@attribute a numeric\n@attribute b {x,y}\n@data\n"
    refused(write(tmp_path / "w.arff", head + "1,x\n2\n"), "line 5", "1 value,", label="b")
    refused(write(tmp_path / "z.arff", head), "no rows")


# -- files that are not what they seem -------------------------------------------------------


def test_misleading_file_names(tmp_path):
    pyarrow.parquet.write_table(pa.table({"x": [1, 2]}), tmp_path / "t.csv")
    refused(tmp_path / "t.csv", ".parquet")
    write(tmp_path / "t.parquet", CSV)
    refused(tmp_path / "t.parquet", "not a .parquet file")
    write(tmp_path / "t.csv.gz", CSV)
    refused(tmp_path / "t.csv.gz", "gzip")
    with zipfile.ZipFile(tmp_path / "u.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(tmp_path / "u.npz", "contains no arrays")


def test_paths_that_are_not_tables(tmp_path):
    refused(tmp_path, "folder")
    write(tmp_path / "iris.csv", CSV)
    refused(tmp_path / "irsi.csv", "no file", "Did you mean 'iris.csv'")
    refused(tmp_path / "nowhere" / "t.csv", "no file")
    refused(write(tmp_path / "t.xlsx", "x"), "not a .xlsx file")
    refused(write(tmp_path / "t.xyz", "x"), ".parquet")
    refused(write(tmp_path / "e.csv", ""), "empty")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "not a regular file")


@pytest.mark.parametrize(("text", "size"), [("10", 10), ("1.5KB", 1536), ("2gb", 2 << 30)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-1", "0", "1.2.3GB", "1e999"])
def test_invalid_sizes(text):
    with pytest.raises(UsageError, match="500MB"):
        parse_size(text)


# -- unusual but valid files, and invalid ones ---------------------------------------------------


def test_blank_lines_before_the_header(tmp_path):
    path = write(tmp_path / "t.csv", "\n \nx,y\n1,2\n3,4\n")
    np.testing.assert_array_equal(read_table(path).X, [[1, 2], [3, 4]])
    refused(write(tmp_path / "u.csv", "\nx,y\n1,2\n3,tall\n"), "line 4", "'tall'")
    zipped = tmp_path / "t.csv.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read_table(zipped).X, [[1, 2], [3, 4]])


def test_lines_that_end_in_cr(tmp_path):
    refused(write(tmp_path / "t.csv", "x,y\r1,2\r3,4\r"), "CR alone")


def test_a_header_that_cannot_be_split(tmp_path):
    refused(write(tmp_path / "t.csv", "x" * 140_000 + ",y\n1,2\n"), "--separator")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"decimal": "xx"}, "one punctuation mark"),
        ({"decimal": "5"}, "one punctuation mark"),
        ({"decimal": ","}, "--separator"),
        ({"encoding": "hex"}, "not a known text encoding"),
        ({"encoding": "utf-16"}, "save the table as UTF-8"),
    ],
)
def test_invalid_options(how, words, tmp_path):
    refused(write(tmp_path / "t.csv", "x,y\n1,2\n"), words, error=UsageError, **how)


def test_a_decimal_comma_in_one_column(tmp_path):
    path = write(tmp_path / "t.csv", "x\n1,5\n2\n")
    np.testing.assert_array_equal(read_table(path, Reading(decimal=",")).X, [[1.5], [2]])


def test_a_comma_between_thousands(tmp_path):
    message = refused(write(tmp_path / "t.csv", 'x,y\n"1,000",2\n'), "thousands")
    assert "--decimal" not in message


def test_numbers_do_not_name_columns_that_have_names(tmp_path):
    path = write(tmp_path / "t.csv", "5.1,3.5,setosa\n4,3,setosa\n1,2,other\n")
    refused(path, "--no-header", label="-1")


@pytest.mark.parametrize("kind", ["V0", "S0"])
def test_values_without_a_size(kind, tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((3, 2), dtype="S1"))
    path.write_bytes(path.read_bytes().replace(b"'|S1'", f"'|{kind}'".encode()))
    refused(path, "of size zero")


def test_an_array_without_a_shape(tmp_path):
    np.save(tmp_path / "t.npy", np.float64(3))
    refused(tmp_path / "t.npy", "shape ()")


@pytest.mark.parametrize("shape", [b"(-2, 2), ", b"(-1, 2), ", b"(2, -9), "])
def test_an_array_of_negative_size(shape, tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((2, 2)))
    path.write_bytes(
        path.read_bytes().replace(b"(2, 2), }", shape + b"}", 1).replace(b" \n", b"\n")
    )
    refused(path, "its header states the shape")


def test_the_error_for_an_unknown_label_lists_arrays(tmp_path):
    np.savez(tmp_path / "t.npz", X=VALUES, labels=[0, 1, 0, 1])
    refused(tmp_path / "t.npz", "Did you mean 'labels'", label="lables")
    refused(tmp_path / "t.npz", "Available: X, labels, x0", label="zzz")


def test_numeric_labels_and_ids_are_written_without_decimals(tmp_path):
    frame = pa.table({"x": [1.0, 2.0, 3.0], "y": [0.1, 2.0, 0.1], "i": [0.0, 1.0, 2.5]})
    pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", Reading(label="y", id_column="i"))
    assert table.classes == ["0.1", "2"]
    assert table.ids == ("0", "1", "2.5")
    frame = pa.table({"x": [1.0, 2.0], "i": [0.0, np.nan]})
    pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "row 2", "empty", id_column="i")


def test_missing_labels_are_marked_like_missing_values(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,a\n2,NA\n3,a\n4,\n5,?\n6,NaN\n7,-1\n8,b\n")
    table = read_table(path, Reading(label="y", unlabelled="-1"))
    assert table.labels.tolist() == ["a", None, "a", None, None, None, None, "b"]
    assert table.notes == (
        "5 of 8 labels are missing (1 'NA', 1 empty, 1 '?', 1 'NaN', 1 '-1'); these rows are "
        "treated as unlabelled.",
    )
    # A value that --unlabelled names, or an empty cell, needs no note.
    path = write(tmp_path / "t.csv", "x,y\n1,a\n2,\n3,a\n7,-1\n8,b\n")
    assert read_table(path, Reading(label="y", unlabelled="-1")).notes == ()
    head = "@attribute x numeric\n@attribute y {a,None}\n@data\n"
    path = write(tmp_path / "t.arff", head + "1,a\n?,None\n3,?\n4,a\n")
    table = read_table(path, Reading(label="y"))
    assert table.labels.tolist() == ["a", "None", None, "a"]
    assert np.isnan(table.X[1, 0])


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".feather", ".arff"])
def test_rows_are_read_whatever_other_columns_contain(kind, tmp_path):
    path, how = table_of(kind, tmp_path)
    assert read_table(path).left_out == ("kind",)
    table = read_rows(path, Reading())
    assert (table.X.shape, table.labels) == ((4, 0), None)
    assert read_rows(path, Reading(**how)).classes == ["a", "b"]


def test_a_wide_sparse_table_is_checked_without_conversion():
    X = csr_array((np.array([1.0, np.nan, np.inf]), ([0, 1, 4000], [0, 7, 9])), (5000, 200_000))
    table = Table(X, tuple(map(str, range(200_000))), None, None, "t.svm")
    tracemalloc.start()
    with pytest.raises(InputError, match=r"row 4001: the value of '9' is infinite"):
        settle_values(table, Preparation())
    X.data[2] = 1.0
    with pytest.raises(InputError, match=r"values is missing in 1 of 200,000 columns \('7'\)"):
        settle_values(table, Preparation(impute="none"))
    same, _, notes, _ = settle_values(table, Preparation())
    assert same is table
    assert notes[0].startswith("1 of 1,000,000,000 values is missing")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
