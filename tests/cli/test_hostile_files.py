"""Tests of malicious files: each must end in an error message; some run in a separate process."""

import gzip
import io
import os
import struct
import subprocess
import sys
import time
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
from scipy.sparse import csc_matrix

from linkselect import cli
from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, layout, read_table
from linkselect.cli._tables.features import unique_names
from linkselect.cli._tables.reading import TableFile
from tests.helpers import mutated_files

# Runs all commands in one process, which a crash would end early.
COMMANDS = """
import sys
from linkselect.cli import run

for path, label in zip(sys.argv[1::2], sys.argv[2::2]):
    status = run(["rank", path, "--label", label, "--method", "variance", "--quiet"])
    print(f"{path} ended with {status}.", file=sys.stderr, flush=True)
"""


def write_matlab(path, index, array):
    sparse = csc_matrix(np.eye(20)[:, :4])
    arrays = {"X": sparse, "y": csc_matrix(np.arange(20)[:, None] % 2)}
    arrays[array].indices[0] = index
    scipy.io.savemat(path, arrays)


def write_feather(path, column):
    numbers = pa.array(np.arange(6.0))
    offsets = np.array([0, 1, 2, 2**30, 4, 5, 6], dtype=np.int32)
    text = pa.StringArray.from_buffers(6, pa.py_buffer(offsets), pa.py_buffer(b"abcdef"))
    words = pa.array(["a", "b"])
    codes = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0, 1, 0, 2**30], pa.int32()), words, safe=False
    )
    table = pa.table({"x": numbers, "z": numbers, column: text if column == "text" else codes})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def test_indices_and_offsets_out_of_range(tmp_path):
    """Run in a separate process, so that a crash does not end the tests."""
    files = [tmp_path / name for name in ("far.mat", "minus.mat", "text.feather", "code.feather")]
    write_matlab(files[0], 2**30, "X")
    write_matlab(files[1], -5, "y")
    write_feather(files[2], "text")
    write_feather(files[3], "code")
    labels = ["y", "y", "text", "code"]
    given = [str(item) for pair in zip(files, labels, strict=True) for item in pair]
    command = [sys.executable, "-c", COMMANDS, *given]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended
    assert "Traceback" not in ended.stderr
    assert "bug in linkselect" not in ended.stderr
    said = " ".join(ended.stderr.split())
    for file in files:
        kind = {".mat": "MATLAB", ".feather": "Feather"}[file.suffix]
        assert f"{file.name} is not a readable {kind} file" in said
        assert f"{file.name} ended with 1." in said


def shell(line):
    line = line.replace("linkselect", f"{sys.executable} -m linkselect", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")
@pytest.mark.parametrize(
    "line",
    [
        "linkselect --help | head -1; exit ${PIPESTATUS[0]}",
        "linkselect methods >&-",
        "linkselect schema rank >&- 2>&-",
    ],
)
def test_closed_output_is_not_an_error(line):
    ended = shell(line)
    assert ended.returncode == 0, ended
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("libx.so: failed to map segment from shared object"), "for lack of memory"),
        (ImportError("cannot import name 'a' from 'b'"), "could not be loaded: cannot import"),
        (ImportError("needs jinja2: pip install 'linkselect[report]'"), "pip install"),
        (ModuleNotFoundError("No module named 'a'"), "a package is not installed"),
    ],
)
def test_packages_that_cannot_be_loaded(monkeypatch, capsys, error, words):
    def fail():
        raise error

    monkeypatch.setattr(cli, "make_app", fail)
    assert cli.run(["rank"]) == 1
    assert words in capsys.readouterr().err


# -- limits on work ----------------------------------------------------------------------------


class Counted(io.BytesIO):
    """A stream that counts the bytes and lines read from it."""

    n_bytes = n_lines = 0

    def readline(self, size=-1):
        line = super().readline(size)
        self.n_bytes += len(line)
        self.n_lines += 1
        return line


def header_of(content, monkeypatch):
    """Look for a header; return the stream with its counts, and the error message."""
    stream = Counted(content)
    with pytest.raises(InputError) as caught:
        layout._first_line(stream, TableFile(Path("t.csv")))
    return stream, str(caught.value)


def test_a_quote_in_the_header_that_never_closes_is_read_once(monkeypatch):
    content = b'a,"b,c\n' + b"1,2,3\n" * 500
    stream, message = header_of(content, monkeypatch)
    assert "line 1: a quote in the header is never closed" in message
    assert stream.n_bytes == len(content)
    stream, message = header_of(b'a,"b,c\n' + b"1,2,3\n" * 100_000, monkeypatch)
    assert "line 1: a quote in the header is never closed" in message
    assert stream.n_lines == 1 + layout._MOST_IN_NAME


@pytest.mark.parametrize("line", [b"\n", b"# a comment\n", b" \t\r\n"])
def test_endless_blank_lines(monkeypatch, line):
    stream, message = header_of(line * 30_000, monkeypatch)
    assert "the first 10,000 lines are blank or comments" in message
    assert stream.n_lines == layout._MOST_SKIPPED
    monkeypatch.setattr(layout, "_LONGEST_HEADER", 100)
    stream, message = header_of(line * 300, monkeypatch)
    assert stream.n_bytes <= 200


@pytest.mark.parametrize("start", [b"", b"a,b,y\n1,2,a\n"])
def test_compressed_endless_blank_lines(tmp_path, start):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(start)
        for _ in range(200):
            file.write(b"\n" * (1 << 20))
    with pytest.raises(InputError, match="blank"):
        read_table(path, Reading(label="y"))


def test_free_names_are_found_quickly():
    n = 30_000
    names = ["a"] * n + [f"a.{i}" for i in range(2, n)]
    found, _ = unique_names(names)
    assert len(set(found)) == len(names)
    assert found[:2] == ("a", f"a.{n}")


@pytest.mark.parametrize("value", ["9" * 60_000 + "x", "9 " + "a" * 60_000 + "!", "9" * 60_000])
def test_very_long_values(tmp_path, value):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c,y\n1,2,3,u\n3,4,{value},v\n" + "1,2,4,u\n" * 3)
    start = time.process_time()
    with pytest.raises(InputError) if value[-1] != "9" else nullcontext():
        read_table(path, Reading(label="y"))
    assert time.process_time() - start < 5  # takes more than a minute with backtracking


# -- archives ----------------------------------------------------------------------------------


def parts_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


COLUMNS = mutated_files.table(np.random.default_rng(0))
SHEET = "xl/worksheets/sheet1.xml"


def with_far_cell(place):
    """Return a spreadsheet with one cell far away, in a form that a simple check overlooks."""
    parts = parts_of(mutated_files.xlsx(COLUMNS))
    return mutated_files.zipped(
        {**parts, SHEET: parts[SHEET].replace(b'r="A2"', f"r='{place}'".encode())}
    )


def with_wrong_size():
    """Return a spreadsheet with a part that is much larger than the archive declares."""
    parts = parts_of(mutated_files.xlsx(COLUMNS))
    place, kind = "xl/_rels/workbook.xml.rels", f"{mutated_files.OFFICE}/sharedStrings"
    link = f'<Relationship Id="r2" Type="{kind}" Target="sharedStrings.xml"/></Relationships>'
    parts[place] = parts[place].replace(b"</Relationships>", link.encode())
    text = b"<sst><si><t>" + b"a" * (260 << 20) + b"</t></si></sst>"
    content = mutated_files.zipped({**parts, "xl/sharedStrings.xml": text})
    return content.replace(len(text).to_bytes(4, "little"), (1000).to_bytes(4, "little"))


@pytest.mark.skipif(sys.platform != "linux", reason="memory cannot be limited on this system")
@pytest.mark.parametrize("make", [lambda: with_far_cell("XFD1048576"), with_wrong_size])
def test_a_spreadsheet_that_would_crash_the_process(tmp_path, make):
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    path.write_bytes(mutated_files.xlsx(COLUMNS))
    assert read_table(path, Reading(label="class", id_column="id")).X.shape[0] > 3
    path.write_bytes(make())
    with pytest.raises(InputError, match="does not fit"):
        read_table(path, Reading(label="class", max_memory="60MB"))


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_damaged_members_of_an_archive(tmp_path, method):
    path = tmp_path / "t.npz"
    good = mutated_files.npz(COLUMNS, method)
    path.write_bytes(good)
    assert read_table(path, Reading(label="class")).X.shape[0] > 3
    refused = 0
    for place in range(40, 200, 20):
        path.write_bytes(good[:place] + bytes(8) + good[place + 8 :])
        try:
            read_table(path, Reading(label="class"))
        except InputError:
            refused += 1
    assert refused > 4


def test_an_archive_with_an_unknown_compression_method(tmp_path):
    path = tmp_path / "t.npz"
    content = bytearray(mutated_files.npz(COLUMNS))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        start = archive.start_dir
    content[start + 10] = 97  # the method of the first member in the directory
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable NPZ"):
        read_table(path, Reading(label="class"))


@pytest.mark.parametrize("ending", [".csv.GZ", ".CSV.gz", ".TSV", ".NPZ", ".Mat", ".XLSX", ".PQ"])
def test_endings_in_capitals(tmp_path, ending):
    kind = ending.lower().replace(".pq", ".parquet")
    if kind == ".xlsx":
        pytest.importorskip("python_calamine")
    path = tmp_path / f"t{ending}"
    path.write_bytes(mutated_files.MAKERS[kind](COLUMNS))
    assert read_table(path, Reading(label="class")).X.shape[0] == len(COLUMNS["id"])


@pytest.mark.parametrize("kind", ["feather", "parquet"])
@pytest.mark.parametrize("option", ["--label", "--id-column"])
def test_dates_that_python_cannot_hold(tmp_path, kind, option):
    path = tmp_path / f"t.{kind}"
    far = pa.array([2**30, 2**30 + 1, 5], pa.date32())
    table = pa.table({"x": [1.0, 2, 3], "z": [3.0, 1, 2], "when": far})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, str(path))
    how = {"label": "when"} if option == "--label" else {"id_column": "when"}
    with pytest.raises(InputError, match=f"not a readable {kind.title()} file"):
        read_table(path, Reading(**how))
    assert read_table(path, Reading(drop=("when",))).X.shape == (3, 2)


@pytest.mark.parametrize("shape", ["(True, 2)", "(2.0, 2)", "(-1, 2)", "(99999999999999999999, 2)"])
def test_impossible_shapes(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode()
    path = tmp_path / "t.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(32))
    with pytest.raises(InputError):
        read_table(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_a_link_to_itself(tmp_path, capsys):
    loop, good = tmp_path / "loop.csv", tmp_path / "good.csv"
    loop.symlink_to("loop.csv")
    good.write_bytes(mutated_files.delimited(COLUMNS))
    assert cli.run(["rank", str(loop), "--out", str(tmp_path / "r.csv")]) == 1
    call = ["rank", str(good), "--label", "class", "--no-validate", "--method", "fisher"]
    assert cli.run([*call, "--out", str(loop)]) in (0, 1)
    assert "fault" not in capsys.readouterr().err


@pytest.mark.parametrize("columns", [20_000, 200])
def test_a_list_of_columns_that_exceeds_the_memory_limit(tmp_path, columns):
    table = pa.table({f"x{i}": [1.0, 2.0] for i in range(columns)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "t.feather"))
    for kind in ("parquet", "feather"):
        with pytest.raises(InputError, match="column") if columns > 1000 else nullcontext():
            read_table(tmp_path / f"t.{kind}", Reading(max_memory="7MB"))


def test_invalid_characters(tmp_path):
    path = tmp_path / "t.npz"
    labels = np.array(["a", "b", "a"]).view(np.uint32).copy()
    arrays = {"X": np.eye(3)[:, :2], "y": labels.view("U1")}
    np.savez(path, **arrays)
    assert read_table(path, Reading(label="y")).classes == ["a", "b"]
    labels[1] = 2**31
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="characters"):
        read_table(path, Reading(label="y"))


def test_an_archive_with_an_empty_array(tmp_path):
    path = tmp_path / "t.npz"
    content = bytearray(mutated_files.npz(COLUMNS, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        start = archive.start_dir
    content[start + 20 : start + 24] = bytes(4)  # the first member has a size of zero
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable"):
        read_table(path, Reading(label="class"))


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_files_are_written_if_the_output_is_closed(name, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("id,width,class\n" + "1,2,a\n2,5,b\n3,2,a\n4,6,b\n")
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.chdir(tmp_path)
    with os.fdopen(writer, "w", buffering=1) as closed:
        monkeypatch.setattr(sys, name, closed)
        # The column "id" causes a note.
        assert (
            cli.run(["rank", "t.csv", "--label", "class", "--no-validate", "--out", "r.csv"]) == 0
        )
    assert (tmp_path / "r.csv").read_text().startswith("feature,")
