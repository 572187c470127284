"""Tests that the published JSON schemas are current and valid, and that outputs conform."""

import json
import sys
from pathlib import Path

import pytest

from linkselect.cli import run
from tests.helpers.iris_table import write_iris

jsonschema = pytest.importorskip("jsonschema")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def call(tmp_path, capsys):
    """Run a command on the iris data with some labels missing; return the JSON it prints."""
    path = write_iris(tmp_path)
    lines = path.read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ",NA"
    path.write_text("\n".join(lines) + "\n")

    def run_it(command, *arguments):
        code = run([command, str(path), "--id-column", "id", "--json", *map(str, arguments)])
        text, errors = capsys.readouterr()
        assert code == 0, errors
        return json.loads(text)

    return run_it


@pytest.fixture
def validator(capsys):
    """Return a validator for the schema that `linkselect schema COMMAND` prints."""

    def make(command):
        assert run(["schema", command]) == 0
        found = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator.check_schema(found)
        return jsonschema.Draft202012Validator(found)

    return make


def test_the_schema_files_match_the_types(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    sys.modules.pop("schemas", None)
    import schemas

    assert list(schemas.stale()) == [], "run `python docs/schemas.py --write`"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--label", "species"),
        ("--label", "species", "--method", "mrmr", "--no-validate"),
        ("--label", "species", "--method", "sklearn.feature_selection:SelectKBest"),
        ("--drop", "species"),
        ("--drop", "species", "--pairs"),
    ],
)
def test_rankings_conform_to_the_schema(arguments, call, validator, tmp_path):
    pairs = tmp_path / "p.csv"
    links = "".join(f"p{i},p{i + 1},must\np{i},p{i + 60},cannot\n" for i in range(0, 40, 2))
    pairs.write_text("a,b,link\n" + links)
    if "--pairs" in arguments:
        arguments = (*arguments, pairs, "--method", "constraint", "--report", tmp_path / "r.html")
    found = call("rank", *arguments)
    validator("rank").validate(found)
    ranking = found["ranking"]
    assert found["schema_version"] == 1
    assert [type(one) for one in ranking["selected"]] == [bool] * 4
    assert all(isinstance(one, str) for one in ranking["feature"])
    assert all(isinstance(one, float | int) for one in ranking["score"])
    values = {one["name"]: one["value"] for one in found["method"]["parameters"]}
    assert all(isinstance(one, float | int | bool | str | None) for one in values.values())


def test_parameters_keep_their_types(call):
    found = call("rank", "--label", "species", "--method", "relieff", "--set", "n_neighbors=3")
    values = {one["name"]: one["value"] for one in found["method"]["parameters"]}
    assert (values["n_neighbors"], values["n_jobs"]) == (3, None)


def test_comparisons_conform_to_the_schema(call, validator, tmp_path):
    pairs = tmp_path / "p.csv"
    links = "".join(f"p{i},p{i + 1},must\np{i},p{i + 60},cannot\n" for i in range(0, 40, 2))
    pairs.write_text("a,b,link\n" + links)
    check = validator("compare")
    two = ("--methods", "constraint,variance", "--splits", "3")
    for known in (["--label", "species"], ["--drop", "species", "--pairs", pairs]):
        check.validate(call("compare", *two, *known))
    both = call("compare", *two, "--label", "species", "--pairs", pairs)
    check.validate(both)
    assert (both["schema_version"], both["held_out_pairs"]["n_must"]) == (1, 20)
    assert isinstance(both["accuracy"]["variance"]["values"][0][0], float)


def test_wrong_types_are_found(call, validator):
    found = call("rank", "--label", "species", "--no-validate")
    for key, wrong in (("selected", "yes"), ("score", "large"), ("rank", 1.5)):
        broken = json.loads(json.dumps(found))
        broken["ranking"][key][0] = wrong
        with pytest.raises(jsonschema.ValidationError):
            validator("rank").validate(broken)
    del found["notes"]
    with pytest.raises(jsonschema.ValidationError, match="'notes' is a required property"):
        validator("rank").validate(found)


def test_infinite_and_missing_scores_conform_to_the_schema(tmp_path, capsys, validator):
    path = tmp_path / "t.csv"
    path.write_text("x,same,class\n0,5,1\n0,5,1\n1,5,2\n1,5,2\n")
    by_fisher = ["--label", "class", "--method", "fisher"]
    assert run(["rank", str(path), *by_fisher, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranking"]["score"] == ["inf", None]
    validator("rank").validate(found)
