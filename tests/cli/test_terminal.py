"""Tests of terminal output: short lines, warnings first, no repeated notes, as in the report."""

import html
import re
from itertools import takewhile

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from linkselect import Pairs
from linkselect.cli import run
from linkselect.cli._choices import methods
from linkselect.cli._terminal import say, text_table, wrapped

LONG = "a_very_long_name_of_a_measured_quantity_" * 4
MANY = ",".join(name for name, one in methods().items() if not one.method.wraps)
WITH_PAIRS = ("--id-column", "patient", "--pairs", "pairs.csv")
UNKNOWN = ("--drop", "patient,batch,class")


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Wrap lines as outside a terminal; this replaces the fixture in `conftest.py`."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write pairs, and tables with long names, missing values, copies, constants and text."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 8))
    X[:, :2] += 2 * y[:, None]
    columns = {f"{LONG}{place}": X[:, place] for place in range(6)}
    columns |= {"名前の長い特徴" * 12: X[:, 6], "=sum": X[:, 7], "copy": X[:, 0]}
    columns |= {"constant": np.ones(60), "zero": np.zeros(60), f"{LONG}text": ["red", "blue"] * 30}
    columns["gaps"] = np.where(rng.random(60) < 0.6, np.nan, rng.normal(size=60))
    columns["patient"] = [f"patient-{place}" for place in range(60)]
    columns["batch"] = np.array(["a", "b"])[np.arange(60) // 2 % 2]
    columns["class"] = np.array([f"{LONG}ill", "well"])[y]
    frame = pd.DataFrame(columns)
    frame.to_csv(folder / "long.csv", index=False)
    frame.assign(**{"class": frame["class"].where(np.arange(60) % 3 > 0)}).to_csv(
        folder / "some.csv", index=False
    )
    noise = pd.DataFrame(rng.normal(size=(60, 30)), columns=[f"{LONG}{n}" for n in range(30)])
    noise.assign(**{"class": rng.integers(0, 2, 60)}).to_csv(folder / "noise.csv", index=False)
    drawn = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    links = [(a, b, "must") for a, b in drawn.must] + [(a, b, "cannot") for a, b in drawn.cannot]
    lines = [f"patient-{a},patient-{b},{kind}" for a, b, kind in links]
    lost = "patient-0,somebody-else,must"
    (folder / "pairs.csv").write_text("\n".join(["a,b,link", *lines, lost, ""]))
    chain = [f"patient-{row},patient-{row + 1},must" for row in range(40)]
    contradicted = [*chain, "patient-0,patient-40,cannot", ""]
    (folder / "conflicts.csv").write_text("\n".join(["a,b,link", *contradicted]))
    return folder


@pytest.fixture
def call(tables, capsys, monkeypatch):
    """Run a command in the folder of these tables; return code, output and errors."""
    monkeypatch.chdir(tables)

    def run_it(*arguments):
        code = run([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run_it


def longest(*texts):
    return max(cell_len(line) for text in texts for line in text.splitlines() or [""])


PRINTED = [
    ("rank", "long.csv", "--label", "class", "--p-values", "--permutations", 19, "--out", "o.csv"),
    ("rank", "long.csv", "--label", "class", "--id-column", "patient", "--batch", "batch"),
    ("rank", "some.csv", "--label", "class", "--method", "fisher", "--group", "patient"),
    ("rank", "long.csv", *WITH_PAIRS, "--label", "class"),
    ("rank", "long.csv", *WITH_PAIRS, "--drop", "class,batch", "--method", "constraint"),
    ("rank", "long.csv", *UNKNOWN, "--copies", "all", "--n-features", 10),
    ("rank", "noise.csv", "--label", "class"),
    ("rank", "noise.csv"),
    ("compare", "long.csv", "--label", "class", "--methods", MANY, "--splits", 2),
    ("compare", "some.csv", "--label", "class", "--scale", "standard", "--splits", 2),
    ("compare", "long.csv", *WITH_PAIRS, "--label", "class", "--splits", 2, "--repeats", 1),
    ("compare", "long.csv", *WITH_PAIRS, "--drop", "class,batch", "--repeats", 1),
    ("pairs", "worth", "pairs.csv", "long.csv", "--id-column", "patient", "--drop", "batch"),
    ("pairs", "suspects", "pairs.csv", "long.csv", "--id-column", "patient", "--drop", "batch"),
    ("pairs", "explain", "conflicts.csv"),
    ("pairs", "make", "long.csv", "--label", "class", "--must", 5, "--out", "made.csv"),
    ("pairs", "convert", "pairs.csv", "made.json"),
    ("methods",),
    ("methods", "link_selector"),
    ("demo", "--draws", 2),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", PRINTED, ids=lambda command: " ".join(map(str, command))[:60])
def test_lines_are_short_and_notes_are_unique(command, call):
    code, text, errors = call(*command)
    assert code == 0, errors
    assert longest(text, errors) <= 100
    notes = [one for one in errors.replace("\n      ", " ").splitlines() if one]
    assert all(note.startswith("Note: ") for note in notes)
    subjects = ("constant", "missing in", "ignores? ", "labelled rows", "copies of", "sigma is")
    for subject in subjects:
        assert sum(re.search(subject, note) is not None for note in notes) <= 1, notes
    lines = text.splitlines()
    n_alarms = len(list(takewhile(lambda line: line.startswith(("Warning: ", " " * 9)), lines)))
    assert not any("Warning:" in line for line in lines[n_alarms:])
    # With --quiet the same command prints nothing.
    assert call(*command, "--quiet") == (0, "", "")


def test_warnings_come_first(call):
    _, text, errors = call("rank", "noise.csv", "--label", "class")
    assert text.startswith("Warning: The selection is unstable: over ")
    assert errors == ""
    _, _, errors = call("rank", "noise.csv", "--label", "class", "--json")
    assert errors.startswith("Warning: The selection is unstable: over ")


def test_quiet_prints_errors(call):
    code, text, errors = call("rank", "nowhere.csv", "--quiet")
    assert (code, text, "nowhere.csv" in errors) == (1, "", True)
    code, text, errors = call("pairs", "check", "conflicts.csv", "--quiet")
    assert (code, text, "conflicts.csv" in errors) == (1, "", True)
    assert "--quiet" in call("methods", "--help")[1]


@pytest.mark.parametrize("columns", [50, 80])
def test_a_narrow_terminal(columns, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    known = ("--label", "class", "--drop", "patient,batch")
    for command in (
        ("rank", "long.csv", *known, "--p-values", "--permutations", 19),
        ("compare", "long.csv", *known, "--splits", 2),
        ("methods",),
    ):
        _, text, errors = call(*command)
        assert longest(text, errors) <= columns
    assert longest(call("demo", "--draws", 2)[1]) <= max(columns, 80)


def test_lines_are_short_on_a_wide_terminal(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    ranking = ("rank", "noise.csv", "--label", "class")
    for command in (ranking, ("rank", "--help"), ("rank", "--no")):
        assert 60 < longest(*call(*command)[1:]) <= 100


def test_paths_and_numbers_are_not_broken(call, capsys):
    path = "/".join(["folder"] * 30)
    code, _, errors = call("rank", path)
    assert (code, path in errors) == (1, True)
    say(f"Written: {path}", error=True)
    assert capsys.readouterr().err.splitlines() == ["Written:", path]
    assert wrapped("Note: better than chance (p = 0.03) at 5 %.", 32) == [
        "Note: better than chance",
        "      (p = 0.03) at 5 %.",
    ]


def test_a_wide_table_is_cut_into_blocks(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    header = ["rank", "feature", *(f"column {number}" for number in range(4))]
    rows = [[str(row), f"{LONG}{row}名前", *["0.25"] * 4] for row in (1, 2)]
    text = text_table(header, rows, left=[1])
    assert longest(text) <= 40
    blocks = text.split("\n\n")
    assert len(blocks) == 4
    for block in blocks:
        assert block.splitlines()[1].split()[1].endswith("1名前"), "both ends of a name are shown"
        assert len({cell_len(line) for line in block.splitlines()}) == 1, "aligned"


@pytest.mark.parametrize("supervision", [("--label", "class"), ("--pairs", "pairs.csv")])
def test_the_report_has_the_same_sentences(supervision, call, tables):
    pytest.importorskip("jinja2")
    options = ("--id-column", "patient", "--drop", "batch,class", "--p-values", "--permutations")
    if "--label" in supervision:
        options = ("--drop", "patient,batch", "--p-values", "--permutations")
    report = ("--n-features", 3, "--report", "r.html")
    _, text, errors = call("rank", "long.csv", *supervision, *options, 19, *report)
    page = re.sub(r"<[^>]*>", "", (tables / "r.html").read_text("utf-8"))
    page = " ".join(html.unescape(page).split())
    parts = text.split("\n\n")
    for part in (*parts[2:4], *errors.split("Note: ")):
        for sentence in " ".join(part.split("--out FILE")[0].split()).split(". "):
            assert sentence.rstrip(".") in page, sentence
