import csv
import os
import pty
import re
import subprocess
import sys
from typing import NamedTuple

import pytest

from linkselect import cli
from tests.helpers.toy_paper import TOY_PAPER, add_toy_paper

RUN = """
import sys
import toy_paper
from linkselect.reproduction import _papers as papers
papers.PAPERS["toy"] = "toy"
sys.modules["linkselect.reproduction._papers.toy"] = toy_paper
from linkselect.cli import main
main()
"""


@pytest.fixture
def environment(tmp_path):
    """Return environment variables with which a process finds the toy paper, but no other data."""
    (tmp_path / "toy_paper.py").write_text(TOY_PAPER)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "LINKSELECT_DATA": str(tmp_path),
        "COLUMNS": "160",
        # Block downloads.
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }


class Ended(NamedTuple):
    """Outcome of a command, like `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in this process, which is faster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LINKSELECT_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    add_toy_paper(monkeypatch)

    def call(*arguments):
        return Ended(cli.run(["reproduce", *arguments]), *capsys.readouterr())

    return call


def test_everything_of_a_paper(run, tmp_path):
    result = run("toy", "--table", "2", "--out", "found", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    assert "Table 2. Accuracies (accuracy, %)" in result.stdout
    assert re.search(r"Wine .*Variance .*\[best\] .*3 .*91\.0 .*90\.\d .*-0\.\d", result.stdout)
    assert "held: Variance [leads] (by 1 point)" in result.stdout
    assert "not held: It rains (it shines)" in result.stdout
    with (tmp_path / "found" / "table-2.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "dataset",
        "method",
        "setting",
        "n_features",
        "published",
        "ours",
        "difference",
    ]
    assert [row["dataset"] for row in rows] == ["Wine", "WDBC"]
    for row in rows:
        gap = float(row["ours"]) - float(row["published"])
        assert float(row["difference"]) == pytest.approx(gap, abs=1e-4)
    page = (tmp_path / "found" / "index.html").read_text()
    assert "A toy paper" in page
    assert not re.search(r"(src|href)=.https?://", page)
    assert (tmp_path / "found" / "results.sqlite").exists()


def test_a_figure(run, tmp_path):
    result = run("toy", "--figure", "1", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "reproduction" / "toy"
    assert (folder / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "figure-1.svg").read_text()
    assert not list(folder.glob("table-*"))


def test_parts_can_be_made_separately(run, tmp_path):
    folder = tmp_path / "found"
    for part in (("--table", "2", "--runs", "3"), ("--figure", "1", "--runs", "1")):
        result = run("toy", *part, "--out", "found", "--jobs", "1")
        assert result.returncode == 0, result.stderr
    page = (folder / "index.html").read_text()
    assert "Table 2. Accuracies" in page
    assert "Figure 1. A curve" in page
    assert "3 runs, seed 0" in page
    assert "1 run, seed 0" in page
    assert "It rains" in (folder / "claims.csv").read_text()
    lines = (folder / "runs.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in lines[1:]] == ["Table 2,3,3,0", "Figure 1,1,1,0"]


def test_the_same_seed_gives_the_same_numbers_whatever_the_number_of_jobs(
    run, tmp_path, environment
):
    part = ("toy", "--table", "2", "--runs", "3")
    for out, options in {"one": (), "other": ("--seed", "5")}.items():
        result = run(*part, "--jobs", "1", "--out", out, *options)
        assert result.returncode == 0, result.stderr
    command = [sys.executable, "-c", RUN, "reproduce", *part, "--jobs", "2", "--out", "two"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environment)
    one, two, other = (
        (tmp_path / out / "table-2.csv").read_text() for out in ("one", "two", "other")
    )
    assert one == two
    assert one != other


@pytest.fixture
def call(run):
    """Return a function that takes options as keywords, and returns the exit code and message."""

    def typed(paper, **options):
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        ended = run(paper, *arguments)
        return ended.returncode, " ".join(ended.stderr.split())

    return typed


def test_missing_data(call):
    status, message = call("toy", table=5, jobs=1)
    assert status == 1
    assert "toy, Sonar, Variance, run 0" in message


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        ("sparsity-2012", {}, "Did you mean 'sparsity-score-2012'?"),
        ("toy", {"table": 3}, "toy has no table 3 with results. Available tables: 2, 5."),
        ("toy", {"figure": 9}, "toy has no figure 9 with results. Available figures: 1."),
        ("toy", {"table": 2, "figure": 1}, "Give --table or --figure, not both"),
        ("toy", {"runs": 0}, "runs=0, but it must be a whole number of at least 1"),
        ("toy", {"jobs": -1}, "jobs=-1, but it must be a whole number of at least 1"),
        ("toy", {"seed": -1}, "--seed. Must be >= 0"),
    ],
)
def test_wrong_usage(call, paper, options, message):
    status, errors = call(paper, **options)
    assert status == 2
    assert message in errors


def test_a_value_that_is_not_a_number(run):
    result = run("toy", "--table", "two")
    assert result.returncode == 2
    assert "--table" in result.stderr + result.stdout
    assert "Traceback" not in result.stderr


def test_a_store_that_is_not_a_database(call, tmp_path):
    (tmp_path / "results.sqlite").write_text("no database " * 100)
    status, message = call("toy", table=2, out=tmp_path)
    assert status == 1
    assert "is damaged or is not a store" in message


def test_a_folder_that_cannot_be_created(call, tmp_path):
    (tmp_path / "file").write_text("")
    status, message = call("toy", table=2, out=tmp_path / "file")
    assert status == 1
    assert "Results are stored in a folder, but" in message
    assert "file is a file. Choose another folder with --out." in message
    assert "out=" not in message
    status, message = call("toy", table=2, out=tmp_path / "file" / "below")
    assert status == 1
    assert "cannot be created (Not a directory). Choose another folder with --out" in message


def test_a_mistyped_data_folder(call, monkeypatch):
    status, message = call("toy", table=2, data_dir="dta")
    assert status == 1
    assert "There is no folder 'dta' (--data-dir)" in message
    monkeypatch.setenv("LINKSELECT_DATA", "nowhere")
    status, message = call("toy", table=2)
    assert status == 1
    assert "'nowhere' (LINKSELECT_DATA)" in message


def test_a_progress_bar_on_a_terminal_only(run, tmp_path, environment):
    in_a_pipe = run("toy", "--table", "2", "--out", "first", "--jobs", "1")
    assert in_a_pipe.stderr == ""
    master, terminal = pty.openpty()
    command = [sys.executable, "-c", RUN, "reproduce", "toy", "--table", "2", "--jobs", "1"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        cwd=tmp_path,
        env={**environment, "TERM": "xterm"},
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # raised on Linux once the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(master)
    assert process.wait() == 0
    assert b"4/4" in seen
    assert b"left" in seen


def test_help_names_the_papers(run):
    result = run("--help")
    assert result.returncode == 0
    for words in ("constraint-score-2008", "--data-dir", "--runs", "--jobs", "--out", "--seed"):
        assert words in result.stdout
