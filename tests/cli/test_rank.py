import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler

from linkselect import LinkSelector, Pairs
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


ENSEMBLE = ("--label", "species", "--method", "ensemble_cls(n_estimators=10)", "--no-validate")
RELIEFF = ("--label", "species", "--method", "relieff")


def scaled():
    X, y = load_iris(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


def test_ranking_as_text(rank):
    code, text, errors = rank("--label", "species", "--method", "fisher")
    assert (code, errors) == (0, "")
    for words in ("150 rows, 4 features, 3 classes (setosa", "scaled to [0, 1]", "fisher"):
        assert words in text
    assert text.index("petal length") < text.index("petal width")
    # Compare everything below the table, except for the time.
    assert text.split("\n\n")[2].splitlines() == [
        "Held-out labels: 1-NN accuracy 0.96 ± 0.05 (2 standard errors; chance 0.34, random "
        "features 0.89, all features 0.96).",
        # There are six ways to choose two of four features.
        "The selection performs significantly better than chance (p = 0.025), but not "
        "significantly better than the same number of random features (p = 0.17).",
        "Selection frequency over 50 resamples: mean 1.00 (1.00 if highly correlated features "
        "count as one).",
        "Highly correlated: petal length and petal width (r = 0.96).",
    ]
    assert text.split("\n\n")[3].startswith("Selected 2 of 4 features in ")


def test_a_table_of_one_row(iris, rank):
    iris.write_text("\n".join(iris.read_text().splitlines()[:2]) + "\n")
    code, _, errors = rank("--drop", "species")
    assert (code, "has one row, but a ranking requires at least two" in errors) == (1, True)


def test_json_equals_the_result_of_the_library(rank):
    code, text, _ = rank("--label", "species", "--n-features", "3", "--json")
    found = json.loads(text)
    X, y = scaled()
    expected = LinkSelector(3).fit(X, y)
    assert code == 0
    assert found["method"]["name"] == "LinkSelector"
    assert [one["label"] for one in found["supervision"]["classes"]] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    scores = [expected.scores_[i] for i in expected.order_]
    np.testing.assert_allclose(found["ranking"]["score"], scores)
    assert found["ranking"]["selected"] == [True, True, True, False]
    assert found["call"].startswith("linkselect")


@pytest.fixture
def noise(tmp_path):
    """Write features that are independent of the label, and pairs."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 8)), np.arange(40) % 2
    X[:, 7] = 3 * X[:, 2] + 0.01 * rng.normal(size=40)
    path = tmp_path / "noise.npz"
    np.savez(path, X=X, y=y)
    pairs = tmp_path / "pairs.csv"
    Pairs.from_labels(y, n_must=12, n_cannot=12, random_state=0).to_csv(pairs)
    return ["rank", str(path), "--array", "X", "--pairs", str(pairs), "--method", "constraint"]


def test_warnings_about_a_ranking_come_first(noise, capsys, tmp_path):
    assert run([*noise, "--n-features", "3", "--report", str(tmp_path / "r.html")]) == 0
    text, errors = capsys.readouterr()
    assert errors.startswith("Note: Left out as copies of selected features: 'x")
    warning = "On held-out pairs, the selected features did not perform significantly better than "
    assert text.startswith(f"Warning: {warning}")
    assert "not significantly better than chance (p = " in text
    assert "x2 and x7 (r = 1.00)" in text or "x7 and x2 (r = 1.00)" in text
    page = (tmp_path / "r.html").read_text()
    assert page.index(warning) < page.index("<h1")


def test_validation_in_json(noise, capsys):
    assert run([*noise, "--n-features", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    validation = found["validation"]
    assert (validation["better_than_chance"], validation["n_resamples"]) == (False, 50)
    assert validation["selected"] == found["ranking"]["feature"][:3]
    assert len(validation["selected_again"]) == len(validation["twins"]) == 3
    assert abs(validation["estimate"]["chance"] - 0.5) < 0.1
    assert found["alarms"][0].startswith("On held-out pairs, the selected features did not")
    assert run([*noise, "--n-features", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["validation"] == validation
    assert run([*noise, "--n-features", "3", "--json", "--seed", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["validation"] != validation


def test_no_validation(noise, capsys):
    assert run([*noise, "--no-validate", "--copies", "all"]) == 0
    text, errors = capsys.readouterr()
    assert errors == ""
    assert "chance" not in text
    assert "Selection frequency" not in text
    assert run([*noise, "--no-validate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["validation"] is None


def test_too_few_pairs_to_hold_any_out(rank, tmp_path):
    pairs = tmp_path / "p.csv"
    pairs.write_text("a,b,link\np0,p1,must\np0,p60,cannot\n")
    code, text, errors = rank("--drop", "species", "--pairs", pairs)
    assert code == 0
    assert errors == "Note: Only 2.0% of the samples have a label or occur in a pair.\n"
    assert "Cannot validate: at least 5 independent must-links" in text


def test_validation_shows_progress_on_a_terminal(noise, capsys, monkeypatch):
    shown = []

    def track(steps, show, doing):
        steps = list(steps)
        shown.append((show, doing(steps[0]), len(steps)))
        return steps

    monkeypatch.setattr("linkselect.cli._rank.tracked", track)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run([*noise, "--copies", "all"]) == 0
    # Folds, permutations, resamples.
    assert shown == [(True, "validating", count) for count in (2, 10, 7)]


def test_results_in_every_format(rank, tmp_path):
    def written(name):
        code, *_ = rank(*RELIEFF, "--out", tmp_path / name, "--quiet")
        assert code == 0
        return tmp_path / name

    lines = written("r.csv").read_text().splitlines()
    assert lines[0] == "feature,score,rank,selected,frequency,frequency_error,reason"
    assert lines[1].startswith("petal width,")
    assert len(lines) == 5
    assert json.loads(written("r.json").read_text())["ranking"]["feature"][0] == "petal width"
    frame = pyarrow.parquet.read_table(written("r.parquet"))
    assert frame.column("rank").to_pylist() == [1, 2, 3, 4]
    assert pyarrow.feather.read_table(written("r.feather")).equals(frame)
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_selected_table(kind, rank, tmp_path):
    path = tmp_path / f"small.{kind}"
    code, *_ = rank(*RELIEFF, "--n-features", 1, "--select", path, "--quiet")
    assert code == 0
    if kind == "csv":
        assert path.read_text().splitlines()[:2] == ["id,petal width,species", "p0,0.2,setosa"]
    else:
        assert pyarrow.parquet.read_table(path).column_names == ["id", "petal width", "species"]
    # The written table can be read again, with the same values.
    code, text, _ = rank("--label", "species", "--json", path=path)
    assert json.loads(text)["data"]["n_features"] == 1


def test_a_failed_write_leaves_the_old_file(rank, tmp_path, monkeypatch):
    target = tmp_path / "r.parquet"
    target.write_text("old")

    def fail(path, schema):
        Path(path).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter", fail)
    code, _, errors = rank("--label", "species", "--out", target)
    assert (code, "No space left" in errors) == (1, True)
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


def test_report(rank, tmp_path):
    pytest.importorskip("jinja2")
    code, *_ = rank("--label", "species", "--report", tmp_path / "r.html", "--quiet")
    assert code == 0
    assert "petal width" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--label", "spcies"], 1, "Did you mean 'species'"),
        (["--label", "species", "--method", "relief"], 2, "Did you mean 'relieff'"),
        (["--label", "species", "--method", "zzz"], 2, "Available: "),
        (["--drop", "species", "--method", "fisher"], 2, "--label"),
        (["--drop", "species", "--method", "lsdf"], 2, "--pairs"),
        (["--label", "species", "--method", "redundancy"], 2, "(estimator=laplacian)"),
        ([*RELIEFF, "--set", "neighbors=3"], 2, "Did you mean 'n_neighbors'"),
        ([*RELIEFF, "--set", "n_neighbors"], 2, "NAME=VALUE"),
        ([*RELIEFF, "--set", "n_neighbors=many"], 2, "n_neighbors"),
        (["--label", "species", "--n-features", "5"], 2, "has 4 features"),
        (["--label", "species", "--n-features", "few"], 2, "has 4 features"),
        (["--label", "species", "--n-features", "2.5"], 2, "whole number"),
        (["--label", "species", "--out", "r.xlsx"], 2, ".parquet"),
        (["--label", "species", "--out", "nowhere/r.csv"], 1, "folder nowhere does not exist"),
        (["--label", "species", "--max-memory", "lots"], 2, "500MB"),
        (["--label", "species", "--max-memory", "1KB"], 1, "memory limit"),
        (["--label", "species", "--scale", "maxmin"], 2, "minmax"),
        (["--labl", "species"], 2, "--label"),
    ],
)
def test_mistakes_are_explained(arguments, code, words, rank):
    found, text, errors = rank(*arguments)
    assert (found, words in errors) == (code, True), errors
    assert text == ""
    assert "Traceback" not in errors


def test_warnings_are_one_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,same\n1,5\n2,5\n4,5\n")
    assert run(["rank", str(path), "--method", "variance"]) == 0
    # Hints for Python are omitted on the command line.
    errors = capsys.readouterr().err
    assert errors == "Note: 1 of 2 features is constant and carries no information.\n"
    assert run(["rank", str(path), "--method", "variance", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_warnings_suggest_options(rank, tmp_path):
    options = ("--label", "species", "--no-validate", "--scale", "none")
    code, _, errors = rank(*options, "--method", "scgs", "--set", "max_iter=1")
    assert code == 0
    assert "Try --scale standard or --set max_iter=VALUE or --set tol=VALUE." in errors
    table = tmp_path / "wide.csv"
    rows = [f"r{i},{i % 2},{1000 * i * 7 % 9001},5" for i in range(30)]
    table.write_text("\n".join(["id,species,x,k", *rows]))
    narrow = ("--method", "similarity_constraint", "--set", "sigma=1")
    code, _, errors = rank(*options, *narrow, path=table)
    assert code == 0
    assert "Try --scale minmax or --set sigma=auto." in errors
    assert "1 of 2 features is constant" in errors
    assert "sklearn" not in errors
    assert "MinMaxScaler" not in errors


def test_debug_shows_the_traceback(rank):
    assert "Traceback" in rank("--label", "spcies", "--debug")[2]


def test_an_internal_error_has_no_traceback(rank, monkeypatch):
    monkeypatch.setattr("linkselect.cli._by_parts.read_table", lambda *_: 1 / 0)
    code, _, errors = rank("--label", "species")
    assert (code, "ZeroDivisionError" in errors, "Traceback" in errors) == (1, True, False)


def test_unusual_names_are_escaped(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text('"[bold]x[/bold]","\x1b[31mred",y\n1,2,a\n2,3,a\n3,1,b\n')
    assert run(["rank", str(path), "--label", "y", "--method", "variance"]) == 0
    text = capsys.readouterr().out
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text
    assert run(["rank", str(path), "--label", "\x1b[31mrod"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_seed_makes_random_methods_reproducible(rank):
    runs = [rank(*ENSEMBLE, "--json", "--seed", seed)[1] for seed in (1, 1, 2)]
    scores = [json.loads(text)["ranking"]["score"] for text in runs]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_progress_is_for_terminals_only(rank):
    code, text, errors = rank("--label", "species", "--method", "mrmr")
    assert code == 0
    assert "━" not in text + errors


def test_ranking_imports_only_required_packages(iris):
    code = (
        "import sys; from linkselect.cli import run; "
        f"run(['rank', {str(iris)!r}, '--label', 'species', '--drop', 'id', '--quiet']); "
        "print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines() == ["[]"], result.stderr


def test_input_files_are_not_overwritten(rank, iris, tmp_path):
    before = iris.read_text()
    for option in ("--out", "--select"):
        code, _, errors = rank("--label", "species", option, iris)
        assert (code, f"{option} {iris} is the same file as the table" in errors) == (2, True)
    both = ("--out", tmp_path / "r.csv", "--select", tmp_path / ".." / tmp_path.name / "r.csv")
    code, _, errors = rank("--label", "species", *both)
    assert (code, "same file as --out" in errors) == (2, True)
    pairs = tmp_path / "p.csv"
    pairs.write_text("a,b,link\np0,p1,must\n")
    code, _, errors = rank("--drop", "species", "--pairs", pairs, "--out", pairs)
    assert (code, "same file as --pairs" in errors) == (2, True)
    assert (iris.read_text(), pairs.read_text()) == (before, "a,b,link\np0,p1,must\n")


def test_infinite_scores_and_notes_are_in_json(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,same,class\n0,5,1\n0,5,1\n1,5,2\n1,5,2\n")
    out = tmp_path / "r.json"
    by_fisher = ["rank", str(path), "--label", "class", "--method", "fisher", "--json"]
    assert run([*by_fisher, "--out", str(out), "--quiet"]) == 0
    text, errors = capsys.readouterr()
    found = json.loads(text)
    assert errors == ""
    assert found["ranking"]["score"] == ["inf", None]
    assert found["notes"] == ["1 of 2 features is constant and carries no information."]
    assert json.loads(out.read_text())["ranking"] == found["ranking"]
    assert run(["rank", str(path), "--method", "variance", "--json"]) == 0
    text, errors = capsys.readouterr()
    assert any("--label 'class'" in note for note in json.loads(text)["notes"])
    assert "--label 'class'" in errors


def test_whole_numbers_of_features_may_have_a_decimal_point(rank):
    code, text, _ = rank("--label", "species", "--n-features", "2.0", "--json")
    assert (code, json.loads(text)["method"]["n_selected"]) == (0, 2)


def test_a_sparse_selection_that_exceeds_the_memory_limit(tmp_path, capsys):
    path = tmp_path / "t.svm"
    path.write_text("".join(f"{i % 2} {i + 1}:1 3000:{i}\n" for i in range(2000)))
    out = tmp_path / "s.csv"
    call = ["rank", str(path), "--label", "y", "--method", "variance", "--quiet"]
    call += ["--n-features", "2900", "--select", str(out), "--max-memory", "60MB"]
    assert run(call) == 1
    errors = capsys.readouterr().err
    assert "2,000 rows x 2,900 selected features" in errors
    assert "--n-features" in errors
    assert not out.exists()


def test_a_tie_at_the_cut_is_reported(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,z,w\n0,1,0\n1,0,0\n0,1,1\n")
    call = ["rank", str(path), "--method", "variance", "--no-validate", "--n-features"]
    assert run([*call, "2"]) == 0
    assert "have the same score, so the choice between them is arbitrary" in capsys.readouterr().err
    assert run([*call, "3"]) == 0
    assert capsys.readouterr().err == ""


def test_names_that_a_spreadsheet_would_execute(tmp_path, capsys):
    path = tmp_path / "t.csv"
    names = ["=1+1", "@SUM(A1)", "-1", "+cmd|' /C calc'!A0", "plain"]
    rows = [[str(i * j % 5) for j in range(1, 6)] + ["ab"[i % 2]] for i in range(8)]
    path.write_text("\n".join(",".join(row) for row in [[*names, "y"], *rows]))
    call = ["rank", str(path), "--label", "y", "--method", "fisher", "--no-validate"]
    out, small = tmp_path / "r.csv", tmp_path / "s.csv"
    assert run([*call, "--n-features", "5", "--out", str(out), "--select", str(small)]) == 0
    assert "evaluate 3 names, such as '=1+1', as a formula" in capsys.readouterr().err
    assert "'=1+1" not in out.read_text()
    escaped = [*call, "--n-features", "5", "--escape-formulas", "--select", str(small)]
    assert run([*escaped, "--out", str(out)]) == 0
    assert "formula" not in capsys.readouterr().err
    found = {line.split(",")[0] for line in out.read_text().splitlines()[1:]}
    assert found == {"'=1+1", "'@SUM(A1)", "-1", "'+cmd|' /C calc'!A0", "plain"}
    assert small.read_text().splitlines()[0] == ",".join([*names, "y"])
    assert run([*escaped, "--out", str(tmp_path / "r.json")]) == 0
    ranking = json.loads((tmp_path / "r.json").read_text())["ranking"]
    assert set(ranking["feature"]) == set(names)
    assert run([*call, "--out", str(tmp_path / "r.parquet")]) == 0
    assert "formula" not in capsys.readouterr().err
