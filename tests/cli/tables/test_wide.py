"""Text tables of very many columns are read as others are, in less memory."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, delimited, read_rows, read_table, wide

ROWS = [
    ["a", "b", "c", "d", "when", "y", "id"],
    ["1", "2.5", "", "red", "2024-01-01", "u", "s1"],
    ["-3", "+4", "NA", "blue", "2024-01-02", "v", "s2"],
    ["1e3", " 5 ", "7", "red", "2024-01-03", "u", "s3"],
    ["-999", "inf", "8", "red", "2024-01-04", "", "s4"],
]


def written(path, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def both_ways(path, monkeypatch, **how):
    """Read a table in the usual way, and as if it had very many columns."""
    usual = read_table(path, Reading(**how))
    monkeypatch.setattr(delimited, "WIDE", 1)
    return usual, read_table(path, Reading(**how))


@pytest.mark.parametrize(
    "how",
    [
        {"label": "y", "id_column": "id"},
        {"label": "y", "drop": ("id", "b"), "encode": True},
        {"label": "y", "id_column": "id", "missing": ("-999", "blue")},
    ],
    ids=str,
)
def test_the_same_table_either_way(tmp_path, monkeypatch, how):
    one, other = both_ways(written(tmp_path / "t.csv", ROWS), monkeypatch, **how)
    np.testing.assert_array_equal(one.X, other.X)
    assert one.names == other.names
    assert list(one.labels) == list(other.labels)
    assert one.ids == other.ids
    assert one.notes == other.notes


def test_decimal_commas_either_way(tmp_path, monkeypatch):
    rows = [["a", "b", "y"], ["1,5", "2", "u"], ["2,25", "3", "v"], ["0", "4", "u"]]
    one, other = both_ways(written(tmp_path / "t.csv", rows, ";"), monkeypatch, label="y")
    np.testing.assert_array_equal(one.X, [[1.5, 2], [2.25, 3], [0, 4]])
    np.testing.assert_array_equal(one.X, other.X)
    assert one.notes == other.notes
    assert "commas" in one.notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,y\n1,2,u\n1,2\n", "line 3: 2 values"),
        ("a,b,y\n", "3 columns, but no rows"),
        ("a,b,y\n1,2,u\n1,two,v\n3,4,u\n", "two"),
        ("a,b,y\n1,2,u\n1,\xff,v\n", "not utf-8"),
        (f"a,b,y\n1,{'2' * 200_000},u\n", "field"),
    ],
)
def test_what_is_wrong_in_a_wide_table(tmp_path, monkeypatch, text, words):
    monkeypatch.setattr(delimited, "WIDE", 1)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_table(path, Reading(label="y"))
    assert words in str(caught.value)


def test_rows_of_a_wide_table(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "WIDE", 1)
    found = read_rows(written(tmp_path / "t.csv", ROWS), Reading(label="y", id_column="id"))
    assert found.ids == ("s1", "s2", "s3", "s4")
    assert list(found.labels) == ["u", "v", "u", None]


def test_a_line_that_does_not_fit(tmp_path):
    names = [f"x{i}" for i in range(wide.WIDE)]
    path = written(tmp_path / "t.csv", [names, ["1"] * len(names)])
    with pytest.raises(InputError, match="a line unpacks to"):
        read_table(path, Reading(max_memory="1MB"))


PEAK = """
import sys
from pathlib import Path
from linkselect.cli._tables import Reading, read_table
found = read_table(Path(sys.argv[1]), Reading(label="y", max_memory="150MB"))
assert found.X.shape == (4, 200_000)
# Not ru_maxrss, which begins with what the process that started this one holds.
status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
print(int(status.split()[0]) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted otherwise")
def test_many_columns_take_little_memory(tmp_path):
    # With Arrow it was more than two gigabytes, and an abort under the limit.
    n = 200_000
    rows = [[*(f"x{i}" for i in range(n)), "y"], *([*["1.5"] * n, one] for one in "abab")]
    path = written(tmp_path / "t.csv", rows)
    command = [sys.executable, "-c", PEAK, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 500
