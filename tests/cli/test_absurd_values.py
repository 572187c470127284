"""Absurd option values: each must give a result or an error message."""

import numpy as np
import pytest

from linkselect.cli import run
from tests.helpers import mutated_files

ABSURD = ["", "-1", "nan", "1e400", "9" * 30, "x" * 3000, "\u202e=1+1"]
RANK = ["rank", "t.csv", "--label", "class", "--id-column", "id", "--no-validate"]
OPTIONS = {
    (*RANK, "--method", "fisher"): (
        *("--n-features", "--seed", "--max-memory", "--bins", "--decimal", "--encoding"),
        *("--separator", "--figure-width", "--scale", "--out", "--drop", "--unlabelled"),
    ),
    ("compare", "t.csv", "--label", "class", "--drop", "id", "--methods", "variance"): (
        *("--splits", "--test-size", "--folds", "--repeats", "--top", "--n-features", "--seed"),
    ),
    ("pairs", "make", "t.csv", "--label", "class", "--id-column", "id", "--out", "o.csv"): (
        *("--must", "--cannot", "--seed"),
    ),
    ("pairs", "explain", "p.csv"): ("--limit",),
    ("ask", "t.csv", "--no-browser"): (
        "--port",
        "--seed",
        "--image-shape",
        "--strategy",
        "--scale",
    ),
}
CALLS = [(call, option) for call, options in OPTIONS.items() for option in options]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = mutated_files.table(np.random.default_rng(0))
    (tmp_path / "t.csv").write_bytes(mutated_files.delimited(columns))
    (tmp_path / "p.csv").write_bytes(mutated_files.pairs_csv(columns))
    return tmp_path


@pytest.mark.parametrize(("call", "option"), CALLS, ids=lambda one: str(one)[:30])
def test_absurd_values(folder, capsys, monkeypatch, call, option):
    monkeypatch.setattr("linkselect.labelling._serving.Server.wait", lambda _: None)
    if call[0] == "compare":
        call = (*call, "--splits", "2") if option != "--splits" else call
    for value in ABSURD:
        code = run([*call, option, value])
        told = capsys.readouterr()
        assert code in (0, 1, 2), value
        assert "bug in linkselect" not in told.err, value
        assert code == 0 or told.err + told.out, value


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("compensated_laplacian", "compensation"),
        ("compensated_laplacian", "sigma"),
        ("laplacian", "n_neighbors"),
        ("relieff", "n_neighbors"),
        ("consensus_selector", "estimators"),
        ("consensus_selector", "n_jobs"),
    ],
)
def test_absurd_parameters_of_a_method(folder, capsys, method, name):
    for value in ("-1", "NaN", "1e400", "9" * 30, "9" * 5000, "[" * 5000, "true", "null", "x"):
        code = run([*RANK, "--method", method, "--set", f"{name}={value}"])
        assert code in (0, 1, 2), value
        assert "bug in linkselect" not in capsys.readouterr().err, value


def test_too_many_splits(folder, capsys):
    call = ["compare", "t.csv", "--label", "class", "--drop", "id", "--methods", "variance"]
    assert run([*call, "--splits", "1000000"]) == 2
    assert run([*call, "--folds", "1000", "--repeats", "1000"]) == 2
    assert capsys.readouterr().err.count("at most 10,000") == 2


def test_too_many_runs(folder, capsys):
    assert run(["reproduce", "constraint-score-2008", "--runs", "9" * 30]) == 2
    assert "at most 10,000" in capsys.readouterr().err
