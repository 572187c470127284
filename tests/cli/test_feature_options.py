"""Tests of the options for single features, p-values and resamples."""

import csv
import json

import numpy as np
import pytest

from linkselect.cli import run

N_ROWS = 60
COLUMNS = ("gene1", "gene2", "gene3", "temp_mean", "temp_max", "press_mean", "copy", "flat")


@pytest.fixture
def table(tmp_path):
    """Write a table of two classes that gene1 and its copy separate; colour is text."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    X = rng.normal(size=(N_ROWS, len(COLUMNS)))
    X[:, 0] += 4 * y
    X[:, 6] = 7 - 2 * X[:, 0]
    X[:, 7] = 1.0
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow([*COLUMNS, "colour", "class"])
        for row, label in zip(X.tolist(), y, strict=True):
            write.writerow([*row, rng.choice(["red", "green", "blue"]), "ab"[label]])
    return path


@pytest.fixture
def rank(table, capsys):
    def call(*arguments):
        method = [] if "--method" in arguments else ["--method", "fisher"]
        code = run(["rank", str(table), "--label", "class", *method, *arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def ranking(rank):
    """Return a function that ranks and returns the ordered features, and a dict of reasons."""

    def call(*arguments):
        code, out, errors = rank("--json", *arguments)
        assert code == 0, errors
        found = json.loads(out)["ranking"]
        return found["feature"], dict(zip(found["feature"], found["reason"], strict=True))

    return call


def test_copies_do_not_count(ranking, rank):
    order, reasons = ranking("--n-features", "2", "--no-validate")
    assert order[0] == "gene1"
    assert reasons["copy"] == "copy of gene1"
    assert reasons["flat"] == "constant"
    assert sum(reason == "selected" for reason in reasons.values()) == 2
    order, reasons = ranking("--n-features", "2", "--copies", "all", "--no-validate")
    assert order[:2] == ["gene1", "copy"]
    assert "Left out as copies of selected features: 'copy' (copy of 'gene1')" in rank()[2]


def test_every_feature_has_a_reason(ranking):
    _, reasons = ranking("--n-features", "1", "--exclude", "gene2")
    assert reasons["gene2"] == "excluded"
    assert set(reasons.values()) == {
        "selected", "copy of gene1", "constant", "excluded", "below the cut",
    }  # fmt: skip


def test_a_copy_that_is_not_selected_is_named_without_rules(ranking):
    """LinkSelector does not select copies, but they are named as such."""
    _, reasons = ranking("--method", "link_selector", "--n-features", "1")
    assert "copy of" in reasons["copy"] + reasons["gene1"]


def test_kept_and_excluded_features(ranking):
    order, reasons = ranking("--n-features", "3", "--keep", "flat, gene3", "--exclude", "copy")
    assert order[:3] == ["flat", "gene3", "gene1"]
    assert order[-1] == "copy"
    assert reasons["flat"] == "selected"


@pytest.mark.parametrize("kind", ["patterns", "csv", "json"])
def test_groups_are_selected_together(ranking, tmp_path, kind):
    groups = "temp_*,press_*"
    if kind == "csv":
        groups = tmp_path / "groups.csv"
        groups.write_text("feature,group\ntemp_mean,t\ntemp_max,t\npress_mean,p\n")
    elif kind == "json":
        groups = tmp_path / "groups.json"
        groups.write_text('{"t": ["temp_mean", "temp_max"], "p": ["press_mean"]}')
    order, _ = ranking("--n-features", "3", "--groups", str(groups), "--keep", "temp_max")
    assert set(order[:2]) == {"temp_max", "temp_mean"}
    assert order[2] == "gene1"


def test_columns_of_one_text_column_are_a_group(ranking):
    order, reasons = ranking("--encode", "--n-features", "4", "--keep", "colour=red")
    assert set(order[:3]) == {"colour=red", "colour=green", "colour=blue"}
    assert order[3] == "gene1"
    order, reasons = ranking("--encode", "--n-features", "2")
    colours = {reasons[f"colour={name}"] for name in ("red", "green", "blue")}
    assert colours == {"below the cut"}


def test_p_values_and_resamples(rank, tmp_path):
    out = tmp_path / "o.csv"
    code, text, errors = rank(
        "--n-features", "2", "--p-values", "--permutations", "39", "--resamples", "12",
        "--out", str(out),
    )  # fmt: skip
    assert code == 0, errors
    assert "Selection frequency over 12 resamples" in text
    assert "Significant features: 3 of 8 at a family-wise error rate of 5 %" in text
    header = next(row for row in text.splitlines() if row.startswith("rank"))
    assert header.split() == ["rank", "feature", "score", "frequency", "adjusted", "p", "q"]
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "feature", "score", "rank", "selected", "frequency", "frequency_error", "p_value",
        "adjusted", "q_value", "reason",
    ]  # fmt: skip
    assert float(rows[0]["p_value"]) == 1 / 40
    assert rows[0]["reason"] == "selected"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--keep", "gen1"], "--keep: there is no feature 'gen1'."),
        (["--exclude", "nope"], "--exclude: there is no feature 'nope'."),
        (["--groups", "wind_*"], "--groups: no feature matches 'wind_*'."),
        (["--groups", "absent.csv"], "--groups absent.csv: No such file"),
        (["--keep", "gene1", "--exclude", "gene1"], "'gene1' is in both --keep and --exclude"),
        (["--keep", "gene1,gene2", "--n-features", "1"], "keep contains 2 features"),
        (
            ["--p-values", "--method", "variance"],
            "variance uses neither",
        ),
        (["--resamples", "-1"], "--resamples"),
    ],
)
def test_invalid_options(rank, arguments, words):
    code, out, errors = rank(*arguments)
    assert code != 0
    assert words in errors
    assert out == ""


def test_a_file_of_groups_in_another_form(rank, tmp_path):
    for name, text in (("a.csv", "x,y\n1,2\n"), ("b.json", "[1]"), ("c.json", "{")):
        path = tmp_path / name
        path.write_text(text)
        code, _, errors = rank("--groups", str(path))
        assert code != 0
        assert "does not have the form CSV with the columns feature and group" in errors
