import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler

from linkselect import CompensatedLaplacianScore, FisherScore, Pairs
from linkselect.cli import run
from linkselect.cli.choices import command_name, methods


@pytest.fixture
def iris(tmp_path):
    """Write the iris data as a person would have them."""
    data = load_iris()
    lines = ["id,sepal length,sepal width,petal length,petal width,species"]
    for i, (row, target) in enumerate(zip(data.data, data.target, strict=True)):
        lines.append(f"p{i},{','.join(map(str, row))},{data.target_names[target]}")
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def rank(iris, capsys):
    """Run `linkselect rank iris.csv --id-column id ...`; return exit code, output and errors."""

    def call(*arguments, path=iris):
        code = run(["rank", str(path), "--id-column", "id", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


RELIEFF = ("--label", "species", "--method", "relieff")


def scaled():
    X, y = load_iris(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


def test_ranking_as_text(rank):
    code, text, errors = rank("--label", "species")
    assert (code, errors) == (0, "")
    for words in ("150 rows, 4 features, 3 classes (setosa", "scaled to [0, 1]", "fisher"):
        assert words in text
    assert text.index("petal length") < text.index("petal width")


def test_json_is_what_the_library_finds(rank):
    code, text, _ = rank("--label", "species", "--n-features", "3", "--json")
    found = json.loads(text)
    X, y = scaled()
    expected = FisherScore(3).fit(X, y)
    assert code == 0
    assert found["method"]["name"] == "FisherScore"
    assert [one["label"] for one in found["supervision"]["classes"]] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    scores = [expected.scores_[i] for i in expected.order_]
    np.testing.assert_allclose(found["ranking"]["score"], scores)
    assert found["ranking"]["selected"] == [True, True, True, False]
    assert found["call"].startswith("linkselect")


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_pairs_by_id(kind, rank, tmp_path):
    X, y = scaled()
    pairs = Pairs.from_labels(
        y, sample_ids=[f"p{i}" for i in range(150)], n_must=8, n_cannot=8, random_state=0
    )
    getattr(pairs, f"to_{kind}")(tmp_path / f"pairs.{kind}")
    code, text, _ = rank(
        "--drop", "species", "--pairs", tmp_path / f"pairs.{kind}", "--json", "--scale", "minmax"
    )
    found = json.loads(text)
    assert code == 0
    assert found["method"]["name"] == "CompensatedLaplacianScore"
    assert found["supervision"]["must"] == 8
    ids = [f"p{i}" for i in range(150)]
    expected = CompensatedLaplacianScore().fit(X, pairs=pairs, sample_ids=ids)
    np.testing.assert_allclose(found["ranking"]["score"], expected.scores_[expected.order_])


def test_pairs_by_row_number(iris, tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,link\n0,1,must\n0,99,cannot\n")
    call = ["rank", str(iris), "--drop", "id", "--drop", "species", "--pairs", str(path)]
    assert run(call) == 0
    path.write_text("a,b,link\n0,1,must\n0,150,cannot\n")
    assert run(call) == 1
    assert "names row 150" in capsys.readouterr().err
    path.write_text("a,b,link\np0,p1,must\n")
    assert run(call) == 1
    assert "--id-column" in capsys.readouterr().err


def test_pairs_that_are_wrong(rank, tmp_path):
    def with_pairs(text, name="pairs.csv"):
        (tmp_path / name).write_text(text)
        return rank("--drop", "species", "--pairs", tmp_path / name)

    code, _, errors = with_pairs("a,b,link\np0,p1,must\np1,p2,must\np0,p2,cannot\n")
    assert code == 1
    assert "'p0' = 'p1' = 'p2'" in errors
    assert "--set on_conflict=drop" in errors
    code, _, errors = with_pairs("a,b,link\nq0,q1,must\nq1,q2,cannot\n")
    assert (code, "2 of 2 pairs" in errors) == (1, True)
    code, _, errors = with_pairs("a,b,link\np0,p1,must\np0,p99,cannot\np0,zz,must\n")
    assert (code, "1 of 3 pairs" in errors and "'zz'" in errors) == (0, True)
    code, _, errors = with_pairs("x,y\n1,2\n")
    assert (code, "a,b,link" in errors) == (1, True)
    code, _, errors = with_pairs("{", "pairs.json")
    assert (code, "pairs.json" in errors) == (1, True)
    code, _, errors = with_pairs("[" * 100_000, "pairs.json")
    assert (code, "pairs.json" in errors) == (1, True)
    code, _, errors = rank("--drop", "species", "--pairs", tmp_path / "nowhere.csv")
    assert (code, "no pairs file" in errors) == (1, True)


def test_results_in_every_format(rank, tmp_path):
    def written(name):
        code, *_ = rank(*RELIEFF, "--out", tmp_path / name, "--quiet")
        assert code == 0
        return tmp_path / name

    lines = written("r.csv").read_text().splitlines()
    assert lines[0] == "feature,score,rank,selected"
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
    # What was written can be read again, and the values are those of the table.
    code, text, _ = rank("--label", "species", "--json", path=path)
    assert json.loads(text)["data"]["n_features"] == 1


def test_a_failed_write_leaves_the_old_file(rank, tmp_path, monkeypatch):
    target = tmp_path / "r.parquet"
    target.write_text("old")

    def fail(table, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    code, _, errors = rank("--label", "species", "--out", target)
    assert (code, "No space left" in errors) == (1, True)
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


def test_report(rank, tmp_path):
    pytest.importorskip("jinja2")
    code, *_ = rank("--label", "species", "--report", tmp_path / "r.html", "--quiet")
    assert code == 0
    assert "petal width" in (tmp_path / "r.html").read_text()


def test_some_labels(iris, rank):
    lines = iris.read_text().splitlines()
    partial = [
        line if i % 10 == 1 or i == 0 else line.rsplit(",", 1)[0] + ","
        for i, line in enumerate(lines)
    ]
    iris.write_text("\n".join(partial) + "\n")
    code, text, _ = rank("--label", "species", "--json")
    found = json.loads(text)
    assert (code, found["method"]["name"]) == (0, "CompensatedLaplacianScore")
    assert (found["supervision"]["kind"], found["supervision"]["n_samples"]) == (
        "partial labels",
        15,
    )
    code, _, errors = rank("--label", "species", "--method", "fisher")
    assert (code, "135 of 150 rows have no label" in errors, "lsdf" in errors) == (1, True, True)


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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--label", "spcies"], 1, "Did you mean 'species'"),
        (["--label", "species", "--method", "relief"], 2, "Did you mean 'relieff'"),
        (["--label", "species", "--method", "zzz"], 2, "There are: "),
        (["--drop", "species", "--method", "fisher"], 2, "--label"),
        (["--drop", "species", "--method", "lsdf"], 2, "--pairs"),
        (["--label", "species", "--method", "redundancy"], 2, "--set estimator="),
        ([*RELIEFF, "--set", "neighbors=3"], 2, "Did you mean 'n_neighbors'"),
        ([*RELIEFF, "--set", "n_neighbors"], 2, "NAME=VALUE"),
        ([*RELIEFF, "--set", "n_neighbors=many"], 2, "n_neighbors"),
        (["--label", "species", "--n-features", "5"], 2, "has 4 features"),
        (["--label", "species", "--n-features", "few"], 2, "has 4 features"),
        (["--label", "species", "--n-features", "2.5"], 2, "whole number"),
        (["--label", "species", "--out", "r.xlsx"], 2, ".parquet"),
        (["--label", "species", "--out", "nowhere/r.csv"], 1, "no folder"),
        (["--label", "species", "--max-memory", "lots"], 2, "500MB"),
        (["--label", "species", "--max-memory", "1KB"], 1, "too large"),
        (["--label", "species", "--scale", "maxmin"], 2, "minmax"),
        (["--labl", "species"], 2, "--label"),
        ([], 1, "'species'"),
    ],
)
def test_mistakes_are_answered(arguments, code, words, rank):
    found, text, errors = rank(*arguments)
    assert (found, words in errors) == (code, True), errors
    assert text == ""
    assert "Traceback" not in errors


def parameters(text):
    return json.loads(text)["method"]["parameters"]


def test_settings_reach_the_method(rank):
    code, text, _ = rank(*RELIEFF, "--set", "n_neighbors=3", "--json")
    assert {"name": "n_neighbors", "value": "3", "usual": False} in parameters(text)
    code, text, _ = rank(
        "--label", "species", "--method", "constrained-laplacian", "--set", "variant=2014",
        "--set", "sigma=auto", "--json",
    )  # fmt: skip
    assert code == 0
    assert {"name": "variant", "value": "'2014'", "usual": False} in parameters(text)
    code, text, _ = rank(
        "--label", "species", "--method", "stable_selector", "--set", "estimator=fisher",
        "--set", "n_resamples=5", "--json",
    )  # fmt: skip
    assert code == 0


def test_what_is_not_used_is_said(rank, tmp_path):
    (tmp_path / "p.csv").write_text("a,b,link\np0,p1,must\np0,p99,cannot\n")
    _, _, errors = rank("--label", "species", "--method", "fisher", "--pairs", tmp_path / "p.csv")
    assert "fisher does not look at pairs" in errors
    _, _, errors = rank("--label", "species", "--method", "lsdf", "--pairs", tmp_path / "p.csv")
    assert "labels are not used" in errors
    _, _, errors = rank("--label", "species", "--method", "variance")
    assert "variance does not look at labels" in errors


def test_a_forgotten_label_is_noticed(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,class\n1,0\n2,0\n4,1\n")
    assert run(["rank", str(path), "--method", "variance"]) == 0
    assert "--label 'class'" in capsys.readouterr().err
    assert run(["rank", str(path), "--method", "variance", "--drop", "class"]) == 0
    assert capsys.readouterr().err == ""


def test_warnings_are_one_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,same\n1,5\n2,5\n4,5\n")
    assert run(["rank", str(path), "--method", "variance"]) == 0
    errors = capsys.readouterr().err
    assert errors.startswith("Note: 1 of 2 features are constant")
    assert errors.count("\n") == 1
    assert run(["rank", str(path), "--method", "variance", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_debug_shows_the_traceback(rank):
    assert "Traceback" in rank("--label", "spcies", "--debug")[2]


def test_a_fault_of_ours_has_no_traceback_either(rank, monkeypatch):
    monkeypatch.setattr("linkselect.cli.rank.read_table", lambda *_: 1 / 0)
    code, _, errors = rank("--label", "species")
    assert (code, "ZeroDivisionError" in errors, "Traceback" in errors) == (1, True, False)


def test_odd_names_do_no_harm(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text('"[bold]x[/bold]","\x1b[31mred",y\n1,2,a\n2,3,a\n3,1,b\n')
    assert run(["rank", str(path), "--label", "y", "--method", "variance"]) == 0
    text = capsys.readouterr().out
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text
    assert run(["rank", str(path), "--label", "\x1b[31mrod"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_seed_makes_random_methods_repeat(rank):
    runs = [
        rank("--label", "species", "--method", "ensemble_cls", "--json", "--seed", seed)[1]
        for seed in (1, 1, 2)
    ]
    scores = [json.loads(text)["ranking"]["score"] for text in runs]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_every_method_runs(rank):
    for name, method in methods().items():
        more = ["--set", "estimator=variance"] if method.needs == "another method" else []
        code, _, errors = rank("--label", "species", "--method", name, "--json", *more)
        assert code == 0, (name, errors)


def test_names_of_methods():
    names = {
        "LaplacianScore": "laplacian",
        "SimilarityConstraintScore": "similarity_constraint",
        "ReliefF": "relieff",
        "MRMR": "mrmr",
        "EnsembleCLS": "ensemble_cls",
        "NearestNeighborSFS": "nearest_neighbor_sfs",
        "FisherMarkov": "fisher_markov",
    }
    for class_name, name in names.items():
        assert command_name(class_name) == name
        assert methods()[name].selector.__name__ == class_name
    assert not {"pairs", "copkmeans"} & set(methods())


def test_methods_command(capsys):
    assert run(["methods"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in methods())
    assert run(["methods", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["relieff"]["needs"] == "labels"
    assert listed["constraint"]["needs"] == "pairs or labels"
    assert listed["constrained_laplacian"]["needs"] == "nothing"
    assert run(["methods", "relieff"]) == 0
    assert "n_neighbors" in capsys.readouterr().out
    assert run(["methods", "relief"]) == 2


def test_a_closed_pipe_is_silent(iris):
    command = f"{sys.executable} -m linkselect methods --json | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (result.stdout.strip(), result.stderr) == ("[", "")


def test_progress_is_for_terminals_only(rank):
    code, text, errors = rank("--label", "species", "--method", "mrmr")
    assert code == 0
    assert "━" not in text + errors


def test_help_names_an_example_and_every_command_has_one(capsys):
    from linkselect.cli import COMMANDS, PAIR_COMMANDS

    calls = [[name] for name in COMMANDS] + [["pairs", name] for name in PAIR_COMMANDS]
    for call in calls:
        assert run([*call, "--help"]) == 0
        assert f"linkselect {' '.join(call)}" in capsys.readouterr().out.split("Example")[1]


def test_examples_in_help_can_be_copied(capsys, monkeypatch):
    from linkselect.cli import COMMANDS, PAIR_COMMANDS

    monkeypatch.setenv("COLUMNS", "80")
    calls = {(name,): words for name, words in COMMANDS.items()}
    calls |= {("pairs", name): words for name, words in PAIR_COMMANDS.items()}
    for call, (_, *examples) in calls.items():
        assert run([*call, "--help"]) == 0
        text = capsys.readouterr().out
        assert all(example in text for example in examples), call


def test_help_shows_defaults_that_say_something(capsys):
    assert run(["rank", "--help"]) == 0
    text = capsys.readouterr().out
    assert "[default: minmax]" in text
    assert "[default: ]" not in text
    assert "[default: False]" not in text


def test_help_imports_no_command():
    code = (
        "import sys; from linkselect.cli import run; run(['--help']); "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow') "
        "if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_ranking_imports_no_pandas(iris):
    code = (
        "import sys; from linkselect.cli import run; "
        f"run(['rank', {str(iris)!r}, '--label', 'species', '--drop', 'id', '--quiet']); "
        "print('pandas' in sys.modules); import pandas; print(pandas.DataFrame().shape)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines() == ["False", "(0, 0)"], result.stderr


def test_nothing_is_written_over_what_is_read(rank, iris, tmp_path):
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
    call = ["rank", str(path), "--label", "class", "--json", "--out", str(out), "--quiet"]
    assert run(call) == 0
    text, errors = capsys.readouterr()
    found = json.loads(text)
    assert errors == ""
    assert found["ranking"]["score"] == ["inf", None]
    assert any("constant" in warning for warning in found["warnings"])
    assert json.loads(out.read_text())["ranking"] == found["ranking"]
    assert run(["rank", str(path), "--method", "variance", "--json"]) == 0
    text, errors = capsys.readouterr()
    assert any("--label 'class'" in note for note in json.loads(text)["notes"])
    assert "--label 'class'" in errors


def test_whole_numbers_of_features_may_have_a_point(rank):
    code, text, _ = rank("--label", "species", "--n-features", "2.0", "--json")
    assert (code, json.loads(text)["method"]["n_selected"]) == (0, 2)


def test_a_sparse_selection_that_does_not_fit(tmp_path, capsys):
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


def test_pairs_of_one_kind_do_for_the_default(rank, tmp_path):
    path = tmp_path / "p.csv"
    for links in ("p0,p1,must", "p0,p99,cannot"):
        path.write_text(f"a,b,link\n{links}\n")
        code, text, _ = rank("--drop", "species", "--pairs", path)
        assert (code, "Method: compensated_laplacian" in text) == (0, True)


def test_a_method_for_labels_that_does_with_some(iris, rank):
    lines = iris.read_text().splitlines()
    lines[1:] = [
        line if i % 2 else line.rsplit(",", 1)[0] + "," for i, line in enumerate(lines[1:])
    ]
    iris.write_text("\n".join(lines) + "\n")
    arguments = ("--label", "species", "--method", "nearest_neighbor_sfs", "--json")
    code, text, errors = rank(*arguments)
    assert code == 0, errors
    assert json.loads(text)["supervision"]["n_samples"] == 75
    assert rank("--label", "species", "--method", "relieff")[0] == 1


def test_a_label_like_nothing_is_noticed(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,None\n2,a\n4,a\n5,None\n")
    assert run(["rank", str(path), "--label", "y"]) == 0
    assert "--unlabelled None" in capsys.readouterr().err


def test_a_range_that_cannot_be_scaled(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n-1e308,1\n1e308,2\n5,3\n")
    assert run(["rank", str(path), "--method", "variance"]) == 1
    assert "1.8e308" in capsys.readouterr().err


def test_a_parameter_of_a_method_is_set_by_set(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,1\n2,2\n5,3\n")
    assert run(["rank", str(path)]) == 1
    assert "--set n_neighbors=" in capsys.readouterr().err
    assert run(["rank", str(path), "--set", "n_neighbors=2", "--quiet"]) == 0


@pytest.mark.parametrize("arguments", [[], ["--json"]])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_signs_that_the_terminal_lacks(encoding, arguments, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("größe,日\x7f\n1,2\n2,3\n4,9\n", encoding="utf-8")
    command = [sys.executable, "-m", "linkselect", "rank", str(path), "--method", "variance"]
    result = subprocess.run(
        [*command, "--n-features", "2", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (result.returncode, result.stderr) == (0, b"")
    text = result.stdout.decode(encoding)
    if arguments:
        assert set(json.loads(text)["ranking"]["feature"]) == {"größe", "日\x7f"}
    else:
        assert "\\u65e5" in text


def test_a_missing_package_is_told_as_an_error(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert run(["methods"]) == 1
    assert capsys.readouterr() == (
        "",
        "The command line needs more packages: pip install 'linkselect[cli]'\n",
    )


def test_ranking_imports_neither_matplotlib_nor_jinja2(iris):
    code = (
        "import sys; from linkselect.cli import run; "
        f"run(['rank', {str(iris)!r}, '--label', 'species', '--drop', 'id', '--quiet']); "
        "print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines() == ["[]"], result.stderr
