"""Files that were made to do harm: each ends in a message, in another process."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from scipy import io
from scipy.sparse import csc_matrix

from linkselect import cli

# Each command after the other, in one process that a crash would end early.
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
    io.savemat(path, arrays)


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


def test_indices_and_offsets_that_point_outside(tmp_path):
    """What crashes must not take the tests with it."""
    files = [tmp_path / name for name in ("far.mat", "minus.mat", "text.feather", "code.feather")]
    write_matlab(files[0], 2**30, "X")
    write_matlab(files[1], -5, "y")
    write_feather(files[2], "text")
    write_feather(files[3], "code")
    labels = ["y", "y", "text", "code"]
    given = [str(item) for pair in zip(files, labels, strict=True) for item in pair]
    command = [sys.executable, "-c", COMMANDS, *given]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended
    assert "Traceback" not in ended.stderr
    assert "fault of linkselect" not in ended.stderr
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
