"""Tests of the number of features that `linkselect rank` keeps, and of its explanation."""

import json

import numpy as np
import pytest

from linkselect.cli import run as run_command

N_FEATURES, N_INFORMATIVE = 800, 10


@pytest.fixture
def table(tmp_path):
    """Write 80 rows of two classes that differ in the first features."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, N_FEATURES))
    X[:, :N_INFORMATIVE] += 1.6 * y[:, None]
    names = [f"g{i}" for i in range(N_FEATURES)]
    rows = [
        ",".join([*(f"{value:.4f}" for value in row), "ab"[label]])
        for row, label in zip(X, y, strict=True)
    ]
    path = tmp_path / "genes.csv"
    path.write_text("\n".join([",".join([*names, "class"]), *rows]) + "\n")
    return path


@pytest.fixture
def rank(table, capsys):
    def run(*arguments):
        code = run_command(["rank", str(table), "--no-validate", *arguments])
        text, errors = capsys.readouterr()
        assert code == 0, errors
        return text

    return run


def test_labels_determine_the_number_and_every_output_explains_it(rank, tmp_path):
    by_fisher = ("--label", "class", "--method", "fisher")
    text = rank(*by_fisher, "--report", str(tmp_path / "r.html"))
    found = json.loads(rank(*by_fisher, "--json"))
    number = found["number_of_features"]
    assert number["rule"] == "held-out accuracy"
    assert 5 <= number["n_features"] <= 50
    assert sum(found["ranking"]["selected"]) == number["n_features"]
    chosen = found["ranking"]["feature"][: number["n_features"]]
    assert sum(int(name[1:]) < N_INFORMATIVE for name in chosen) >= 5
    assert len(number["curve"]["n_features"]) == len(number["curve"]["mean"])
    assert number["reason"] in text
    assert number["reason"] in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("method", ["mrmr", "trace_ratio", "fcbf"])
def test_search_methods_keep_feature_names_and_number(method, rank):
    found = json.loads(rank("--label", "class", "--method", method, "--json"))
    assert found["number_of_features"]["n_features"] == sum(found["ranking"]["selected"])
    assert found["number_of_features"]["n_features"] < 100
    assert found["ranking"]["feature"][0].startswith("g")


def test_a_wrapped_method_has_its_own_number(rank):
    options = ["--method", "stable_selector", "--set", "estimator=fisher", "--set", "n_resamples=5"]
    found = json.loads(rank("--label", "class", *options, "--json"))
    assert found["number_of_features"]["rule"] == "own optimum"
    assert found["method"]["n_selected"] <= 500


@pytest.mark.parametrize("known", ["--label", "--drop"])
def test_the_default_keeps_its_own_number(known, rank, table):
    found = json.loads(rank(known, "class", "--json"))
    number = found["number_of_features"]
    assert (number["rule"], number["curve"]) == ("own optimum", None)
    assert number["reason"] == (
        "The fewest features that together explain 90 % of what all explain, at most 300."
    )
    path = found["path"]["values"]
    assert len(path) == number["n_features"] == found["method"]["n_selected"]
    assert path[-2] < 0.9
    assert path[-1] >= 0.9 or len(path) == 300


def test_without_labels_half_of_the_features_are_kept(rank):
    found = json.loads(rank("--drop", "class", "--method", "laplacian", "--json"))
    assert found["method"]["n_selected"] == 300
    assert found["number_of_features"]["rule"] == "half, at most 300"
    assert "Half of the features, at most 300" in rank("--drop", "class", "--method", "laplacian")


def test_a_given_number_is_used(rank):
    found = json.loads(rank("--label", "class", "--n-features", "0.5", "--json"))
    assert found["method"]["n_selected"] == N_FEATURES // 2
    assert found["number_of_features"] == {
        "n_features": N_FEATURES // 2,
        "rule": "given",
        "reason": "The number of features was set by --n-features.",
        "curve": None,
    }
