import json

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer

from linkselect.cli import run
from tests.helpers.iris_table import write_iris


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
    code, _, errors = rank("--label", "species", "--impute", "none")
    assert (code, "--impute median" in errors, "'sepal length'" in errors) == (1, True, True)
    code, text_out, errors = rank("--label", "species")
    assert (code, "missing values were replaced by the median" in text_out) == (0, True)
    assert errors == (
        "Note: 2 of 600 values are missing in 1 of 4 columns ('sepal length'). With --impute none, "
        "missing values raise an error.\n"
    )
    iris.write_text(text.replace("p1,4.9", "p1,inf"))
    code, _, errors = rank("--label", "species", "--impute", "median")
    assert (code, "row 2" in errors, "infinite" in errors) == (1, True, True)


def test_a_column_without_values(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,empty\n1,\n2,\n4,\n")
    assert run(["rank", str(path), "--method", "variance", "--impute", "none"]) == 0
    assert capsys.readouterr().err == "Note: Left out 1 column without any value: 'empty'.\n"
    path.write_text("x,empty,none\n1,,?\n2,,?\n4,,?\n")
    assert run(["rank", str(path), "--method", "variance"]) == 0
    assert "Left out 2 columns without any value: 'empty', 'none'." in capsys.readouterr().err
    path.write_text("empty,class\n,1\n?,1\n,2\n,2\n")
    assert run(["rank", str(path), "--label", "class"]) == 1
    assert "all values of all features are missing" in capsys.readouterr().err


def test_a_column_that_lacks_most_values_is_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,gaps,class\n1,,a\n2,,a\n4,,b\n5,3,b\n")
    assert run(["rank", str(path), "--label", "class", "--no-validate"]) == 0
    assert "'gaps' has 75% missing values." in capsys.readouterr().err


def test_a_comparison_imputes_from_the_training_rows(tmp_path, capsys):
    """Check the rows on which the imputer is fitted, since scores would hardly differ."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    seen = []

    class Spy(SimpleImputer):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X, y)

    rows = [
        f"{a},{'' if i % 5 == 0 else b},{label}"
        for i, (a, b, label) in enumerate(
            zip(rng.normal(size=40), rng.normal(size=40), y, strict=True)
        )
    ]
    path = tmp_path / "t.csv"
    path.write_text("a,b,class\n" + "\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn.impute.SimpleImputer", Spy)
        call = ["compare", str(path), "--label", "class", "--methods", "fisher", "--splits", "3"]
        assert run([*call, "--quiet"]) == 0
    # Once on all rows, for the ranking that is shown; otherwise on the 32 training rows of a split.
    assert seen.count(40) == 1
    assert set(seen) == {40, 32}


def test_a_selection_keeps_unlabelled_rows(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,empty,z,class\n1,,9,a\n2,,1,\n4,,2,b\n5,,3,b\n1,,1,a\n")
    small = tmp_path / "small.csv"
    call = ["rank", str(path), "--label", "class", "--method", "fisher", "--select", str(small)]
    assert run([*call, "--n-features", "1", "--no-validate"]) == 0
    assert small.read_text() == "x,class\n1.0,a\n2.0,\n4.0,b\n5.0,b\n1.0,a\n"


def test_scaling_changes_scores_that_depend_on_scale(tmp_path, capsys):
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


def test_a_huge_range_can_be_imputed_only_after_scaling(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n-1e308,1\n1e308,2\n,3\n1.5e308,4\n1.5e308,4\n")
    call = ["rank", str(path), "--method", "variance", "--impute", "mean", "--no-validate"]
    assert run(call) == 0
    assert "scaled to [0, 1]" in capsys.readouterr().out
    assert run([*call, "--scale", "none"]) == 1
    assert "1.8e308" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "options"), [("csv", ()), ("parquet", ()), ("parquet", ("--by-parts",))]
)
def test_whole_numbers_that_floats_round_are_noted(ending, options, tmp_path, capsys):
    path = tmp_path / f"t.{ending}"
    table = pd.DataFrame({"n": [2**60 + i for i in range(6)], "x": [1.5, 2, 4, 8, 9, 7]})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    assert run(["rank", str(path), "--method", "variance", *options]) == 0
    assert "Integers above 2^53 lose precision in 1 column" in capsys.readouterr().err
