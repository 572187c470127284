import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler

from linkselect import ConstraintScore, FisherScore, LinkSelector, Pairs
from linkselect._messages import GuidedValueError
from linkselect.cli import run
from linkselect.cli._errors import InputError
from linkselect.cli._supervision_input import explained
from linkselect.cli._tables.label_column import make_labels
from linkselect.cli._tables.reading import Reading, TableFile
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


def scaled():
    X, y = load_iris(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


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
    assert found["method"]["name"] == "LinkSelector"
    assert found["supervision"]["must"] == 8
    ids = [f"p{i}" for i in range(150)]
    expected = LinkSelector().fit(X, pairs=pairs, sample_ids=ids)
    np.testing.assert_allclose(found["ranking"]["score"], expected.scores_[expected.order_])


def test_pairs_by_row_number(iris, tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,link\n0,1,must\n0,99,cannot\n")
    call = ["rank", str(iris), "--drop", "id", "--drop", "species", "--pairs", str(path)]
    assert run(call) == 0
    path.write_text("a,b,link\n0,1,must\n0,150,cannot\n")
    assert run(call) == 1
    assert "refers to row 150" in capsys.readouterr().err
    path.write_text("a,b,link\np0,p1,must\n")
    assert run(call) == 1
    assert "--id-column" in capsys.readouterr().err


def test_invalid_pairs(rank, tmp_path):
    def with_pairs(text, name="pairs.csv"):
        (tmp_path / name).write_text(text)
        return rank("--drop", "species", "--pairs", tmp_path / name)

    code, _, errors = with_pairs("a,b,link\np0,p1,must\np1,p2,must\np0,p2,cannot\n")
    assert code == 1
    assert "'p0' = 'p1' = 'p2'" in errors
    assert "--set on_conflict=drop" in errors
    code, _, errors = with_pairs("a,b,link\nq0,q1,must\nq1,q2,cannot\n")
    assert (code, "2 of 2 pairs" in errors) == (1, True)
    code, text, errors = with_pairs("a,b,link\np0,p1,must\np0,p99,cannot\np0,zz,must\n")
    assert (code, "1 of 3 pairs" in errors and "'zz'" in errors) == (0, True)
    assert "1 must-link and 1 cannot-link\n" in text
    code, _, errors = with_pairs("a,b,link\n")
    assert (code, "The pairs file is empty" in errors) == (1, True)
    code, _, errors = with_pairs("x,y\n1,2\n")
    assert (code, "a,b,link" in errors) == (1, True)
    code, _, errors = with_pairs("{", "pairs.json")
    assert (code, "pairs.json" in errors) == (1, True)
    code, _, errors = with_pairs("[" * 100_000, "pairs.json")
    assert (code, "pairs.json" in errors) == (1, True)
    code, _, errors = rank("--drop", "species", "--pairs", tmp_path / "nowhere.csv")
    assert (code, "does not exist" in errors) == (1, True)


def test_some_labels(iris, rank):
    lines = iris.read_text().splitlines()
    partial = [
        line if i % 10 == 1 or i == 0 else line.rsplit(",", 1)[0] + ","
        for i, line in enumerate(lines)
    ]
    iris.write_text("\n".join(partial) + "\n")
    code, text, _ = rank("--label", "species", "--json")
    found = json.loads(text)
    assert (code, found["method"]["name"]) == (0, "LinkSelector")
    assert (found["supervision"]["kind"], found["supervision"]["n_samples"]) == (
        "partial labels",
        15,
    )
    code, text, errors = rank("--label", "species", "--method", "fisher", "--json")
    assert code == 0
    assert (
        "Note: fisher uses only the labelled rows (15 of 150). link_selector, lsdf, scgs and "
        "similarity_constraint use all rows."
    ) in errors
    # The unlabelled rows do not affect the range or the median.
    X, y = load_iris(return_X_y=True)
    few = np.arange(150) % 10 == 0
    expected = FisherScore().fit(MinMaxScaler().fit_transform(X[few]), y[few])
    found = json.loads(text)
    np.testing.assert_allclose(found["ranking"]["score"], expected.scores_[expected.order_])
    assert (found["data"]["n_samples"], found["supervision"]["n_samples"]) == (15, 15)


def test_unused_supervision_is_reported(rank, tmp_path):
    (tmp_path / "p.csv").write_text("a,b,link\np0,p1,must\np0,p99,cannot\n")
    _, _, errors = rank("--label", "species", "--method", "fisher", "--pairs", tmp_path / "p.csv")
    assert "fisher ignores pairs" in errors
    _, _, errors = rank("--label", "species", "--method", "variance")
    assert "variance ignores labels" in errors


def some_labels(iris, kept):
    """Remove the labels of all rows except `kept`."""
    header, *lines = iris.read_text().splitlines()
    lines = [
        line if row in kept else line.rsplit(",", 1)[0] + "," for row, line in enumerate(lines)
    ]
    iris.write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize("method", ["link_selector", "constraint", "stable_selector"])
def test_labels_and_pairs_are_used_together(method, iris, rank, tmp_path):
    X, y = scaled()
    kept = range(0, 150, 3)
    some_labels(iris, kept)
    ids = [f"p{row}" for row in range(150)]
    pairs = Pairs.from_labels(y, sample_ids=ids, n_must=8, n_cannot=8, random_state=0)
    pairs.to_csv(tmp_path / "p.csv", id_type=str)
    asked = ("--label", "species", "--pairs", tmp_path / "p.csv", "--n-features", "2")
    around = ()
    if method == "stable_selector":
        around = ("--set", "estimator=link_selector", "--set", "n_resamples=2")
    code, text, errors = rank(*asked, "--method", method, *around, "--json")
    assert code == 0
    assert "Note: 16 pairs and 50 labels are used together." in errors
    found = json.loads(text)
    assert found["validation"]["estimate"]["measure"] == "1-NN accuracy"
    assert found["validation"]["estimate"]["n_held_out"] == 50
    if method != "stable_selector":
        labels = np.where(np.isin(np.arange(150), kept), y, -1)
        both = pairs | Pairs.from_labels(labels, sample_ids=ids)
        kind = LinkSelector if method == "link_selector" else ConstraintScore
        expected = kind(2).fit(X, pairs=both, sample_ids=ids)
        np.testing.assert_allclose(found["ranking"]["score"], expected.scores_[expected.order_])


def test_with_few_labels_pairs_are_held_out(iris, rank, tmp_path):
    _, y = scaled()
    some_labels(iris, (0, 60, 120, 130))
    ids = [f"p{row}" for row in range(150)]
    pairs = Pairs.from_labels(y, sample_ids=ids, n_must=12, n_cannot=12, random_state=0)
    pairs.to_csv(tmp_path / "p.csv", id_type=str)
    _, text, errors = rank("--label", "species", "--pairs", tmp_path / "p.csv", "--json")
    assert "24 pairs and 4 labels are used together." in errors
    assert json.loads(text)["validation"]["estimate"]["measure"] == "pair AUC"


def test_labels_that_contradict_pairs_are_named(rank, tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("a,b,link\np1,p99,must\n")
    code, _, errors = rank("--label", "species", "--pairs", path)
    assert code == 1
    assert (
        "Labels and pairs contradict each other: p1 has the label 'setosa' and p99 has the label "
        "'versicolor', but must-links join them: p1 = p99." in errors
    )
    path.write_text("a,b,link\np0,p1,cannot\n")
    code, _, errors = rank("--label", "species", "--pairs", path)
    assert (code, "must-links connect its samples: 'p0' = 'p1'" in errors) == (1, True)
    dropping = ("--set", "on_conflict=drop")
    assert rank("--label", "species", "--pairs", path, *dropping)[0] == 0


def test_methods_that_list_pairs_ignore_given_pairs_if_there_are_many_labels(tmp_path, capsys):
    lines = [f"{row % 7},{row % 3 + row % 7},{'xyz'[row % 3]}" for row in range(2001)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,kind", *lines, ""]))
    (tmp_path / "p.csv").write_text("a,b,link\n0,3,must\n0,1,cannot\n")
    call = ["rank", str(tmp_path / "t.csv"), "--label", "kind", "--no-validate", "--json"]
    assert run([*call, "--pairs", str(tmp_path / "p.csv")]) == 0
    assert "2 pairs and 2,001 labels are used together." in capsys.readouterr().err
    call += ["--method", "constraint"]
    assert run([*call, "--pairs", str(tmp_path / "p.csv")]) == 0
    both, errors = capsys.readouterr()
    assert "Ignored 2 pairs: ConstraintScore can combine pairs with at most 2,000 labels" in errors
    assert run(call) == 0
    assert json.loads(both)["ranking"] == json.loads(capsys.readouterr().out)["ranking"]


def test_a_possible_label_column_is_reported(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,class\n1,0\n2,0\n4,1\n")
    assert run(["rank", str(path), "--method", "variance"]) == 0
    assert "--label 'class'" in capsys.readouterr().err
    assert run(["rank", str(path), "--method", "variance", "--drop", "class"]) == 0
    assert capsys.readouterr().err == ""


def test_pairs_of_one_kind_suffice_for_the_default(rank, tmp_path):
    path = tmp_path / "p.csv"
    for links in ("p0,p1,must", "p0,p99,cannot"):
        path.write_text(f"a,b,link\n{links}\n")
        code, text, _ = rank("--drop", "species", "--pairs", path)
        assert (code, "Method: link_selector" in text) == (0, True)


def test_a_method_for_labels_that_works_with_some(iris, rank):
    lines = iris.read_text().splitlines()
    lines[1:] = [
        line if i % 2 else line.rsplit(",", 1)[0] + "," for i, line in enumerate(lines[1:])
    ]
    iris.write_text("\n".join(lines) + "\n")
    arguments = ("--label", "species", "--method", "nearest_neighbor_sfs", "--json")
    code, text, errors = rank(*arguments)
    assert code == 0, errors
    assert json.loads(text)["supervision"]["n_samples"] == 75
    code, text, errors = rank("--label", "species", "--method", "relieff")
    assert (code, "labelled rows (75 of 150)" in errors) == (0, True)


def test_labels_that_look_missing_are_reported(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,None\n2,a\n4,a\n5,None\n6,b\n7,b\n")
    assert run(["rank", str(path), "--label", "y", "--method", "fisher"]) == 0
    assert "2 of 6 labels are missing (2 'None')" in capsys.readouterr().err
    path.write_text("x,y\n1,-1\n2,0\n4,0\n5,-1\n6,1\n7,1\n")
    assert run(["rank", str(path), "--label", "y"]) == 0
    assert "--unlabelled -1" in capsys.readouterr().err


def test_numbers_as_labels_are_cut_into_classes(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,age\n" + "".join(f"{i % 9},{20 + i % 68}\n" for i in range(200)))
    call = ["rank", str(path), "--label", "age", "--no-validate"]
    assert run(call) == 1
    assert "like a measurement" in capsys.readouterr().err
    assert run([*call, "--bins", "3", "--json"]) == 0
    classes = json.loads(capsys.readouterr().out)["supervision"]["classes"]
    assert [one["label"] for one in classes] == ["<= 42", "> 42 to 64", "> 64"]
    assert max(one["count"] for one in classes) - min(one["count"] for one in classes) <= 5
    assert run([*call, "--bins", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["supervision"]["n_classes"] == 68
    assert run([*call, "--bins", "one"]) == 2
    assert "--bins one must be a number of classes" in capsys.readouterr().err


def test_classes_of_large_numbers_stay_apart():
    """With six digits, 100,000,001 and 100,000,002 would be equal."""
    values = [str(10**8 + i) for i in range(12)]
    labels, _ = make_labels(values, TableFile(Path("t.csv"), Reading(label="when", bins="4")))
    assert len(set(labels)) == 4
    assert labels[3] == "> 100000002 to 100000005"


def test_a_parameter_of_a_method_is_set_by_set(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,1\n2,2\n5,3\n")
    assert run(["rank", str(path), "--method", "laplacian"]) == 1
    assert "--set n_neighbors=" in capsys.readouterr().err
    by_two = ["--method", "laplacian", "--set", "n_neighbors=2"]
    assert run(["rank", str(path), *by_two, "--quiet"]) == 0


def test_a_wrapper_uses_the_supervision_of_its_method(iris, rank, tmp_path):
    (tmp_path / "p.csv").write_text("a,b,link\np0,p1,must\np0,p99,cannot\n")
    around = ("--method", "stable_selector", "--set", "n_resamples=2")
    fisher, constraint = (("--set", f"estimator={name}") for name in ("fisher", "constraint"))
    code, _, errors = rank("--drop", "species", *around, *fisher)
    assert (code, "requires labels" in errors) == (2, True)
    code, _, errors = rank("--drop", "species", *around, *constraint)
    assert (code, "requires pairs or labels" in errors) == (2, True)
    pairs = ("--label", "species", "--pairs", tmp_path / "p.csv")
    _, _, errors = rank(*pairs, *around, *fisher)
    assert "stable_selector ignores pairs" in errors
    _, _, errors = rank(*pairs, *around, "--set", "estimator=compensated_laplacian")
    assert "2 pairs and 150 labels are used together." in errors
    iris.write_text(iris.read_text().replace("2,setosa", "2,"))
    code, _, errors = rank("--label", "species", *around, *fisher)
    assert (code, "stable_selector uses only the " in errors) == (0, True)


def test_hints_are_adapted_to_the_command_line():
    with pytest.raises(InputError) as plain, explained({}):
        raise ValueError("Something is wrong. Write it in Python.")
    assert str(plain.value) == "Something is wrong. Write it in Python."
    with pytest.raises(InputError) as guided, explained({}):
        raise GuidedValueError("Something is wrong.", "Write it in Python.")
    assert str(guided.value) == "Something is wrong."
    with pytest.raises(InputError) as option, explained({"n": "--number"}):
        raise GuidedValueError("n=5, but there are 3.", "Choose 1 to 3.", "n")
    assert str(option.value) == "n=5, but there are 3. Set it with --number."
    with pytest.raises(InputError) as scaling, explained({}):
        raise GuidedValueError("X is too large.", "Use StandardScaler().", "X")
    assert str(scaling.value).startswith("X is too large. Scale the features with --scale")


@pytest.mark.parametrize(("other", "options"), [("NA", []), ("-1", ["--unlabelled=-1"])])
def test_a_single_class_is_refused(other, options, tmp_path, capsys):
    path = tmp_path / "one.csv"
    rows = "".join(f"{i % 7},{i % 5},{'1' if i % 2 else other}\n" for i in range(30))
    path.write_text(f"x,z,class\n{rows}")
    assert run(["rank", str(path), "--label", "class", *options]) == 1
    said = capsys.readouterr().err
    assert "the only label is '1' (unlabelled: 15 rows), but link_selector needs two" in said
    assert "If NA, -1 or an empty cell denotes a class" in said


def test_names_do_not_break_lines(tmp_path, capsys):
    path = tmp_path / "names.csv"
    rows = "".join(f"{i % 7},{i % 5},{i % 3},{'ab'[i % 2]}\n" for i in range(30))
    path.write_text(f'"two\nlines",abc\u202edef,{"n" * 80},class\n{rows}', encoding="utf-8")
    call = ["rank", str(path), "--label", "class", "--no-validate", "--n-features", "3"]
    assert run(call) == 0
    said = capsys.readouterr().out
    assert "\u202e" not in said
    assert "abc\\u202edef" in said
    assert "two\\nlines" in said
    assert f" {'n' * 30}...{'n' * 27}  " in said
