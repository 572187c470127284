"""Tests of text tables: blocks of lines, late quotes, and very many columns."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_rows, read_table

ROWS = [
    ["a", "b", "c", "d", "when", "y", "id"],
    ["1", "2.5", "", "red", "2024-01-01", "u", "s1"],
    ["-3", "+4", "NA", "blue", "2024-01-02", "v", "s2"],
    ["1e3", " 5 ", "7", "red", "2024-01-03", "u", "s3"],
    ["-999", "inf", "8", "red", "2024-01-04", "", "s4"],
]


def written(path, rows, separator=",", quoting=csv.QUOTE_MINIMAL):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator, quoting=quoting).writerows(rows)
    return path


@pytest.mark.parametrize(
    "how",
    [
        {"label": "y", "id_column": "id"},
        {"label": "y", "drop": ("id", "b"), "encode": True},
        {"label": "y", "id_column": "id", "missing": ("-999", "blue")},
    ],
    ids=str,
)
def test_the_same_table_with_and_without_quotes(tmp_path, how):
    plain = read_table(written(tmp_path / "t.csv", ROWS), Reading(**how))
    quoted = written(tmp_path / "t.csv", ROWS, quoting=csv.QUOTE_ALL)
    found = read_table(quoted, Reading(**how))
    np.testing.assert_array_equal(plain.X, found.X)
    assert plain.names == found.names
    assert list(plain.labels) == list(found.labels)
    assert (plain.ids, plain.notes) == (found.ids, found.notes)
    assert read_rows(quoted, Reading(label="y", id_column="id")).ids == ("s1", "s2", "s3", "s4")


def test_a_quote_after_many_lines(tmp_path):
    lines = ["x,y,note", *(f"{i},{i / 3!r},a" for i in range(300_000)), '7,8,"b, c\nd"']
    path = tmp_path / "t.csv"
    path.write_text("\n".join([*lines, "9,10,a"]) + "\n")
    table = read_table(path, Reading(label="note"))
    np.testing.assert_array_equal(table.X[-3:], [[299_999, 299_999 / 3], [7, 8], [9, 10]])
    assert table.classes == ["a", "b, c\nd"]
    path.write_text("\n".join([*lines, "9,10"]) + "\n")
    with pytest.raises(InputError, match="line 300004 has 2 values"):
        read_table(path, Reading(label="note"))
    path.write_bytes("\n".join([*lines, "9,10,ä"]).encode("latin-1"))
    with pytest.raises(InputError, match="line 300004: byte 0xe4"):
        read_table(path, Reading(label="note"))


def test_text_in_later_blocks(tmp_path):
    """A column that is numeric in the first block may be text further down."""
    lines = ["x,y,z", *(["1,2,3"] * 800_000), *(["1,a,3"] * 800_001)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    table = read_table(path)
    assert (table.names, table.left_out) == (("x", "z"), ("y",))
    np.testing.assert_array_equal(table.X, np.tile([1.0, 3.0], (1_600_001, 1)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,y\n1,2,u\n\n1,2\n", "line 4 has 2 values"),
        ("a,b,y\n1,2,u\n1,2\n1,2,u,3\n", "line 3 has 2 values"),
        ('a,b,y\n1,"2",u\n\n1,2\n', "line 4 has 2 values"),
        ("a,b,y\n\n\n", "3 columns, but no rows"),
        ("a,b,y\n1,2,u\n\n1,two,v\n3,4,u\n", "line 4: column 'b' has the value 'two'"),
        ("a,b,y\n1,2,u\n1,\xff,v\n", "line 3: byte 0xff"),
        (f'a,b,y\n1,2,u\n1,"{"2" * 200_000}",u\n1,2,u\n', "line 3: field larger"),
    ],
)
def test_errors_name_the_line(tmp_path, text, words):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_table(path, Reading(label="y"))
    assert words in str(caught.value)


def test_a_separator_that_is_not_ascii(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a§b\n1§2\n3§4\n", "utf-8")
    np.testing.assert_array_equal(read_table(path, Reading(separator="§")).X, [[1, 2], [3, 4]])


def test_a_line_that_exceeds_the_memory_limit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3," + b"0" * (6 << 20) + b"\n")
    with pytest.raises(InputError, match="does not fit"):
        read_table(path, Reading(max_memory="20MB"))


PEAK = """
import sys
from pathlib import Path
from linkselect.cli._tables import Reading, read_table
found = read_table(Path(sys.argv[1]), Reading(label="y", max_memory="150MB"))
assert found.X.shape == (4, 200_000)
# Not ru_maxrss, which starts at the memory of the parent process.
status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
print(int(status.split()[0]) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_columns_take_little_memory(tmp_path):
    # With one Arrow column each, it would take over 2 GB, and abort under the limit.
    n = 200_000
    rows = [[*(f"x{i}" for i in range(n)), "y"], *([*["1.5"] * n, one] for one in "abab")]
    path = written(tmp_path / "t.csv", rows)
    command = [sys.executable, "-c", PEAK, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 500
