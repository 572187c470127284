import json

import pytest

from iris_table import write_iris
from linkselect.cli import run


@pytest.fixture
def iris(tmp_path):
    return write_iris(tmp_path)


@pytest.fixture
def rank(iris, capsys):
    """Run `linkselect rank iris.csv --id-column id ...`; return exit code, output and errors."""

    def call(*arguments, path=iris):
        code = run(["rank", str(path), "--id-column", "id", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_missing_and_infinite_values(iris, rank):
    text = iris.read_text()
    iris.write_text(text.replace("5.1,3.5,", ",3.5,"))
    code, _, errors = rank("--label", "species")
    assert (code, "--impute median" in errors, "'sepal length'" in errors) == (1, True, True)
    code, text_out, _ = rank("--label", "species", "--impute", "median")
    assert (code, "filled with its median" in text_out) == (0, True)
    iris.write_text(text.replace("p1,4.9", "p1,inf"))
    code, _, errors = rank("--label", "species", "--impute", "median")
    assert (code, "row 2" in errors, "infinite" in errors) == (1, True, True)


def test_a_column_without_values(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,empty\n1,\n2,\n4,\n")
    assert run(["rank", str(path), "--impute", "mean"]) == 1
    assert "--drop 'empty'" in capsys.readouterr().err


def test_scaling_changes_what_scale_decides(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("small,large\n0,0\n1,10\n1,20\n0,80\n")
    found = {}
    for how in ("none", "minmax", "standard"):
        assert run(["rank", str(path), "--method", "variance", "--scale", how, "--json"]) == 0
        ranking = json.loads(capsys.readouterr().out)["ranking"]
        found[how] = dict(zip(ranking["feature"], ranking["score"], strict=True))
    assert found["none"]["large"] > found["none"]["small"]
    assert found["minmax"]["large"] < found["minmax"]["small"]
    assert found["standard"]["large"] == pytest.approx(found["standard"]["small"])


def test_a_range_that_cannot_be_scaled(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n-1e308,1\n1e308,2\n5,3\n")
    assert run(["rank", str(path), "--method", "variance"]) == 1
    assert "1.8e308" in capsys.readouterr().err
