"""Test one command on a typical table: 200 patients, thousands of genes, and missing values."""

import json

import pytest

from linkselect.cli import run
from tests.helpers.stranger_table import N_INFORMATIVE, write_stranger


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Write a table of 3,000 genes, 15 of them informative; half of the rows have a label."""
    return write_stranger(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(scope="module")
def ranked(stranger, tmp_path_factory):
    """Return the result of `linkselect rank table.csv --label class` for this table."""
    out = tmp_path_factory.mktemp("ranked") / "ranking.json"
    assert run(["rank", str(stranger[0]), "--label", "class", "--quiet", "--out", str(out)]) == 0
    return json.loads(out.read_text())


def test_informative_genes_come_first(ranked, stranger):
    first = set(ranked["ranking"]["feature"][:20])
    assert N_INFORMATIVE == 15
    assert len(first & set(stranger[1])) >= 6  # 0.1 by chance


@pytest.mark.parametrize(("one_sided", "seed"), [(True, 1), (True, 2), (False, 3)])
def test_informative_genes_come_first_in_other_tables(one_sided, seed, tmp_path, capsys):
    path, informative = write_stranger(tmp_path, seed=seed, one_sided=one_sided)
    assert run(["rank", str(path), "--label", "class", "--no-validate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(set(found["ranking"]["feature"][:20]) & set(informative)) >= 6


def test_ignored_and_imputed_columns_are_reported(ranked):
    left, labels, empty, filled = ranked["notes"][:4]
    assert left.startswith("Left out 6 non-numeric columns: 'patient', 'comment' (different text")
    assert "'sex', 'hospital' (text); 'admitted' (dates); 'smoker' (yes/no). --encode" in left
    assert labels.startswith("100 of 200 labels are missing (")
    assert empty == "Left out 1 column without any value: 'empty'."
    assert " of 600,400 values are missing in " in filled
    assert ranked["data"]["preparation"].endswith("missing values were replaced by the median.")


def test_validation_and_number_of_features(ranked):
    estimate = ranked["validation"]["estimate"]
    # The other genes are independent noise, so explaining 90 % takes many features.
    assert estimate["value"] > max(estimate["all_features"], estimate["random_features"]) + 0.1
    assert ranked["validation"]["n_resamples"] >= 5
    assert 5 <= ranked["method"]["n_selected"] <= 300
    assert ranked["number_of_features"]["reason"]


def test_twenty_genes_are_better_than_chance(stranger, capsys):
    call = ["rank", str(stranger[0]), "--label", "class", "--n-features", "20", "--json", "--quiet"]
    assert run(call) == 0
    assert json.loads(capsys.readouterr().out)["validation"]["better_than_chance"] is True


def test_with_encoded_columns(stranger, capsys):
    call = ["rank", str(stranger[0]), "--label", "class", "--encode", "--no-validate", "--json"]
    assert run([*call, "--drop", "age,batch,empty", "--id-column", "patient"]) == 0
    text, errors = capsys.readouterr()
    found = json.loads(text)
    assert found["data"]["n_features"] == 3000 + 1 + 3 + 2
    assert {"sex=male", "hospital=Arras", "admitted", "smoker"} <= set(found["ranking"]["feature"])
    assert "'admitted' as days since 1970" in errors
    assert "Left out 1 non-numeric column: 'comment'" in errors


def test_no_imputation(stranger, capsys):
    assert run(["rank", str(stranger[0]), "--label", "class", "--impute", "none"]) == 1
    assert "values are missing in" in capsys.readouterr().err


def test_a_comparison(tmp_path, capsys):
    path, _ = write_stranger(tmp_path, n_genes=100)
    call = ["compare", str(path), "--label", "class", "--methods", "fisher,lsdf", "--splits", "3"]
    assert run([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert any(note.startswith("fisher uses only the ") for note in found["notes"])
    assert min(found["mean_accuracy"].values()) > 0.6
