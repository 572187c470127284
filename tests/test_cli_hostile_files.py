"""Files that were made to do harm: each ends in a message, in a process of its own."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from scipy import io
from scipy.sparse import csc_matrix

from linkselect import cli


def rank(path, *options, seconds=60):
    """Run the command as a person would; what crashes must not take the tests with it."""
    command = [sys.executable, "-m", "linkselect", "rank", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


def refused(ended, *words):
    assert ended.returncode == 1, ended
    assert "Traceback" not in ended.stderr
    assert "fault of linkselect" not in ended.stderr
    for word in words:
        assert word in ended.stderr
    return True


@pytest.mark.parametrize(("index", "array"), [(2**30, "X"), (-5, "y")])
def test_indices_of_a_matlab_file_that_point_outside(tmp_path, index, array):
    sparse = csc_matrix(np.eye(20)[:, :4])
    arrays = {"X": sparse, "y": csc_matrix(np.arange(20)[:, None] % 2)}
    arrays[array].indices[0] = index
    path = tmp_path / "bad.mat"
    io.savemat(path, arrays)
    ended = rank(path, "--label", "y", "--method", "fisher")
    assert refused(ended, "bad.mat is not a readable MATLAB file")


@pytest.mark.parametrize("column", ["text", "code"])
def test_offsets_of_a_feather_file_that_point_outside(tmp_path, column):
    numbers = pa.array(np.arange(6.0))
    offsets = np.array([0, 1, 2, 2**30, 4, 5, 6], dtype=np.int32)
    text = pa.StringArray.from_buffers(6, pa.py_buffer(offsets), pa.py_buffer(b"abcdef"))
    words = pa.array(["a", "b"])
    codes = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0, 1, 0, 2**30], pa.int32()), words, safe=False
    )
    table = pa.table({"x": numbers, "z": numbers, column: text if column == "text" else codes})
    path = tmp_path / "bad.feather"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    ended = rank(path, "--label", column, "--method", "variance")
    assert refused(ended, "bad.feather is not a readable Feather file")


def shell(line):
    line = line.replace("linkselect", f"{sys.executable} -m linkselect", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")
@pytest.mark.parametrize(
    "line",
    [
        "linkselect --help | head -1; exit ${PIPESTATUS[0]}",
        "linkselect methods >&-",
        "linkselect methods >&- 2>&-",
    ],
)
def test_output_that_nobody_reads_ends_quietly(line):
    ended = shell(line)
    assert ended.returncode == 0, ended
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("libx.so: failed to map segment from shared object"), "memory is limited"),
        (ImportError("cannot import name 'a' from 'b'"), "could not be loaded: cannot import"),
        (ImportError("needs jinja2: pip install 'linkselect[report]'"), "pip install"),
        (ModuleNotFoundError("No module named 'a'"), "a package that is not there"),
    ],
)
def test_packages_that_cannot_be_loaded(monkeypatch, capsys, error, words):
    def fail():
        raise error

    monkeypatch.setattr(cli, "make_app", fail)
    assert cli.run(["rank"]) == 1
    assert words in capsys.readouterr().err
