import json

import numpy as np
import pyarrow.parquet
import pytest
from sklearn.datasets import load_iris

from linkselect.cli import run
from linkselect.cli._choices import methods
from linkselect.cli._compare import COMPARED
from tests.helpers.iris_table import write_iris


@pytest.fixture
def compare(tmp_path, capsys):
    """Run `linkselect compare` on the iris data; return exit code, output and errors."""
    data = load_iris()
    lines = ["sepal length,sepal width,petal length,petal width,species"]
    for row, target in zip(data.data, data.target, strict=True):
        lines.append(f"{','.join(map(str, row))},{data.target_names[target]}")
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n")

    def call(*arguments):
        code = run(["compare", str(path), "--splits", "4", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


TWO = ("--label", "species", "--methods", "fisher,laplacian")


def test_comparison_as_text(compare):
    code, text, errors = compare(*TWO)
    assert (code, errors) == (0, "Note: laplacian ignores labels.\n")
    for words in (
        "the labels of 150 samples",
        "neither labels nor pairs",
        "highest mean accuracy",
        "Rank correlation",
        "stability",
        "random choice",
    ):
        assert words in text


def test_json(compare):
    code, text, _ = compare(*TWO, "--json", "--n-features", "1,2", "--top", "2")
    found = json.loads(text)
    assert code == 0
    assert found["methods"] == ["fisher", "laplacian"]
    assert found["accuracy"]["fisher"]["n_features"] == [1, 2]
    assert found["rankings"]["fisher"][0].startswith("petal")
    assert found["summary"]


def test_files(compare, tmp_path):
    code, text, _ = compare(*TWO, "--out", tmp_path / "c.json", "--quiet")
    assert (code, text) == (0, "")
    assert json.loads((tmp_path / "c.json").read_text())["n_splits"] == 4
    assert compare(*TWO, "--out", tmp_path / "c.parquet", "--quiet")[0] == 0
    frame = pyarrow.parquet.read_table(tmp_path / "c.parquet")
    assert frame.column_names == ["method", "split", "n_features", "accuracy"]
    assert frame.num_rows == 3 * 4 * 4


def test_report(compare, tmp_path):
    pytest.importorskip("jinja2")
    assert compare(*TWO, "--report", tmp_path / "c.html", "--quiet")[0] == 0
    assert "petal" in (tmp_path / "c.html").read_text()


@pytest.mark.parametrize("classifier", ["5nn", "logistic", "svm", "tree"])
def test_classifiers(classifier, compare):
    assert compare(*TWO, "--classifier", classifier, "--n-features", "2", "--quiet")[0] == 0


def test_pairs(compare, tmp_path):
    path = tmp_path / "p.csv"
    links = [f"{i},{i + 1},must\n{i},{i + 60},cannot\n" for i in range(0, 80, 2)]
    path.write_text("a,b,link\n" + "".join(links))
    arguments = ("--label", "species", "--methods", "constraint,fisher", "--pairs", path)
    code, text, _ = compare(*arguments, "--json")
    assert code == 0
    found = json.loads(text)
    assert found["methods"] == ["constraint", "fisher"]
    assert list(found["held_out_pairs"]["mean_auc"]) == ["constraint"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--label", "species", "--methods", "fisher,relief"], 2, "Did you mean 'relieff'"),
        (["--label", "species", "--methods", ","], 2, "--methods is empty"),
        (["--label", "species", "--methods", "redundancy"], 2, "wraps another method"),
        (["--drop", "species", "--methods", "fisher"], 2, "--label"),
        ([*TWO, "--n-features", "1,9"], 2, "1 to 4"),
        ([*TWO, "--top", "9"], 2, "between 1 and 4"),
        ([*TWO, "--test-size", "2"], 2, "between 0 and 1"),
        ([*TWO, "--test-size", "0.01"], 2, "2 test rows"),
        ([*TWO, "--test-size", "0.99"], 2, "closer to 0.5"),
        ([*TWO, "--out", "c.txt"], 2, ".json"),
        (["--drop", "species"], 2, "--pairs FILE"),
        ([*TWO, "--folds", "1"], 2, "--folds must be at least 2"),
    ],
)
def test_mistakes_are_explained(arguments, code, words, compare):
    found, text, errors = compare(*arguments)
    assert (found, words in errors) == (code, True), errors
    assert "Traceback" not in text + errors


def test_conflicts(compare, tmp_path):
    path = tmp_path / "p.csv"
    links = [f"{i},{i + 1},must\n{i},{i + 60},cannot\n" for i in range(0, 80, 2)]
    path.write_text("a,b,link\n" + "".join(links) + "0,1,cannot\n")
    arguments = ("--label", "species", "--methods", "constraint,fisher", "--pairs", path)
    code, _, errors = compare(*arguments)
    assert (code, "--on-conflict drop" in errors, "--set" in errors) == (1, True, False)
    code, text, errors = compare(*arguments, "--on-conflict", "drop")
    assert code == 0
    assert "fisher ignores pairs." in errors
    assert "the labels of 150 samples" in text
    assert "80 pairs" in text
    assert "Ignored 1 cannot-link in conflict with must-links." in errors


def test_too_few_pairs_for_a_split(tmp_path, capsys):
    """With this many labels, the method uses only pairs, and a split contains few of them."""
    rows = [f"{i % 7},{i % 11},{'ab'[i % 2]}" for i in range(2001)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,k", *rows, ""]))
    (tmp_path / "p.csv").write_text("a,b,link\n0,2,must\n0,1,cannot\n")
    call = ["compare", str(tmp_path / "t.csv"), "--label", "k", "--methods", "constraint"]
    assert run([*call, "--pairs", str(tmp_path / "p.csv"), "--splits", "4"]) == 1
    errors = capsys.readouterr().err
    for words in ("constraint, split", "of 4", "--test-size", "Add pairs"):
        assert words in errors
    assert ".fit(" not in errors


def test_json_is_not_silenced(compare):
    code, text, errors = compare(*TWO, "--json", "--quiet")
    assert (code, errors) == (0, "")
    assert json.loads(text)["notes"] == ["laplacian ignores labels."]


def test_input_files_are_not_overwritten(compare, tmp_path):
    code, _, errors = compare(*TWO, "--out", tmp_path / "iris.csv")
    assert (code, "same file as the table" in errors) == (2, True)


def test_a_file_name_that_is_not_valid_unicode(compare, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["linkselect", "compare", "\udcff.csv"])
    assert compare(*TWO, "--out", tmp_path / "c.json", "--quiet")[0] == 0
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["call"].endswith("'\udcff.csv'")


LINKS = "".join(f"{i},{i + 1},must\n{i},{i + 60},cannot\n" for i in range(0, 80, 2))


@pytest.fixture
def compare_pairs(compare, tmp_path):
    """Run `linkselect compare` on the iris data with pairs and without labels."""

    def call(links, *arguments):
        (tmp_path / "p.csv").write_text(f"a,b,link\n{links}")
        return compare("--drop", "species", "--pairs", tmp_path / "p.csv", *arguments)

    return call


def test_pairs_alone_as_text(compare_pairs):
    code, text, errors = compare_pairs(LINKS, "--methods", "constraint,variance")
    assert (code, errors) == (0, "Note: variance ignores pairs.\n")
    for words in (
        "iris.csv: 150 rows, 4 features. Each",
        "On held-out pairs (40 must-links and 40 cannot-links; 5 folds, repeated 4 times)",
        "0.5 corresponds to chance",
        "cannot determine how many features to keep",
        "mean AUC",
        "standard error",
        "random choice",
        "Rank correlation",
    ):
        assert words in text
    assert "accuracy in %" not in text.lower()


def test_default_methods(compare_pairs, compare):
    code, text, _ = compare_pairs(LINKS, "--json", "--repeats", "1")
    assert code == 0
    assert tuple(json.loads(text)["methods"]) == COMPARED["pairs"]
    code, text, _ = compare("--label", "species", "--json")
    assert (code, tuple(json.loads(text)["methods"])) == (0, COMPARED["all"])


def test_all_default_methods_exist():
    assert {name for names in COMPARED.values() for name in names} <= set(methods())


def test_pairs_alone_in_files(compare_pairs, tmp_path):
    arguments = ("--methods", "constraint,variance", "--repeats", "2", "--quiet")
    assert compare_pairs(LINKS, *arguments, "--out", tmp_path / "c.json")[0] == 0
    found = json.loads((tmp_path / "c.json").read_text())
    assert (found["accuracy"], found["n_splits"], found["classes"]) == (None, None, [])
    assert found["held_out_pairs"]["n_repeats"] == 2
    assert compare_pairs(LINKS, *arguments, "--out", tmp_path / "c.parquet")[0] == 0
    frame = pyarrow.parquet.read_table(tmp_path / "c.parquet")
    assert frame.column_names == ["method", "split", "n_features", "auc"]
    assert frame.num_rows == 3 * 10 * 4
    assert compare_pairs(LINKS, *arguments, "--report", tmp_path / "c.html")[0] == 0
    assert "AUC" in (tmp_path / "c.html").read_text()


def test_both_measures_in_one_table(compare, tmp_path):
    (tmp_path / "p.csv").write_text(f"a,b,link\n{LINKS}")
    arguments = ("--label", "species", "--methods", "constraint,fisher", "--repeats", "1")
    out = tmp_path / "c.parquet"
    code, text, _ = compare(*arguments, "--pairs", tmp_path / "p.csv", "--out", out)
    assert code == 0
    assert "mean accuracy" in text
    assert "mean AUC" in text
    frame = pyarrow.parquet.read_table(out).to_pydict()
    assert list(frame) == ["method", "split", "n_features", "accuracy", "auc"]
    assert sum(value is not None for value in frame["accuracy"]) == 3 * 4 * 4
    assert sum(value is not None for value in frame["auc"]) == 2 * 5 * 4


@pytest.mark.parametrize(
    ("links", "arguments", "code", "words"),
    [
        ("0,1,must\n", [], 1, "there are no cannot-links"),
        ("0,1,must\n0,60,cannot\n", [], 1, "at least 5 independent must-links"),
        ("0,1,must\n2,3,must\n", [], 1, "there are no cannot-links"),
        ("0,60,cannot\n2,70,cannot\n", [], 1, "there are no must-links"),
        ("".join(f"{i},{i + 1},must\n" for i in range(149)), [], 1, "there are no cannot-links"),
        ("0,999,must\n", [], 1, "refers to row 999"),
        (f"{LINKS}0,1,cannot\n", [], 1, "--on-conflict drop"),
        (LINKS, ["--methods", "fisher"], 2, "fisher requires labels"),
        (LINKS, ["--repeats", "0"], 2, "--repeats at least 1"),
    ],
)
def test_mistakes_in_pairs_are_explained(links, arguments, code, words, compare_pairs):
    found, text, errors = compare_pairs(links, *arguments)
    assert (found, words in errors) == (code, True), errors
    assert "Traceback" not in text + errors
    assert "PairKFold" not in errors


def test_contradictions_can_be_left_out_of_pairs_alone(compare_pairs):
    arguments = ("--on-conflict", "drop", "--methods", "variance")
    code, text, errors = compare_pairs(f"{LINKS}0,1,cannot\n", *arguments)
    assert (code, "Ignored 1 cannot-link in conflict with must-links." in errors) == (0, True)
    assert "40 cannot-links" in text


def test_identical_rows(tmp_path, capsys):
    path = tmp_path / "same.csv"
    path.write_text("a,b\n" + "1,2\n" * 150)
    (tmp_path / "p.csv").write_text(f"a,b,link\n{LINKS}")
    code = run(["compare", str(path), "--pairs", str(tmp_path / "p.csv"), "--methods", "variance"])
    text = capsys.readouterr().out
    assert code == 0
    assert "variance was not significantly better than a random choice of features (0.50)" in text


def test_methods_with_parameters_and_of_scikit_learn(compare):
    kbest = "sklearn.feature_selection:SelectKBest"
    rfe = "sklearn.feature_selection:RFE(estimator=sklearn.tree:DecisionTreeClassifier)"
    methods = f"fisher,{kbest},{rfe},relieff(n_neighbors=3),redundancy(estimator=laplacian)"
    code, text, errors = compare("--label", "species", "--methods", methods, "--json")
    assert code == 0, errors
    found = json.loads(text)
    assert found["methods"] == [
        "fisher",
        "SelectKBest",
        "RFE(estimator=DecisionTreeClassifier)",
        "relieff(n_neighbors=3)",
        "redundancy(estimator=laplacian)",
    ]
    # The F statistic and the Fisher score give the same order.
    assert found["rankings"]["SelectKBest"] == found["rankings"]["fisher"]


def test_methods_for_labelled_rows_report_the_rows_used(compare, tmp_path):
    path = tmp_path / "iris.csv"
    lines = path.read_text().splitlines()
    lines[1:] = [
        line if i % 3 else line.rsplit(",", 1)[0] + ",NA" for i, line in enumerate(lines[1:])
    ]
    path.write_text("\n".join(lines) + "\n")
    code, text, errors = compare("--label", "species", "--methods", "fisher,relieff,lsdf", "--json")
    assert code == 0
    assert errors.splitlines() == [
        "Note: 50 of 150 labels are missing (50 'NA'); these rows are treated as unlabelled.",
        "Note: fisher and relieff use only the labelled rows (100 of 150). link_selector, lsdf, "
        "scgs and similarity_constraint use all rows.",
    ]
    assert json.loads(text)["saw"]["fisher"] == "the labels of 100 samples"


def test_the_width_adapts_in_a_comparison(tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "t.npz", X=rng.normal(size=(40, 900)), y=np.arange(40) % 2)
    call = [
        "compare",
        str(tmp_path / "t.npz"),
        "--label",
        "y",
        "--splits",
        "2",
        "--scale",
        "standard",
    ]
    assert run([*call, "--methods", "compensated_laplacian"]) == 0
    assert "sigma is set from the distances between rows" in capsys.readouterr().err
    assert run([*call, "--methods", "compensated_laplacian(sigma=1)"]) == 1
    assert "Set it with METHOD(sigma=auto)." in capsys.readouterr().err


def test_labels_and_pairs_are_used_together(tmp_path, capsys):
    table = write_iris(tmp_path)
    links = [f"p{a},p{a + 1},must\np{a},p{149 - a},cannot" for a in range(0, 40, 4)]
    (tmp_path / "p.csv").write_text("\n".join(["a,b,link", *links, ""]))
    known = ["--label", "species", "--id-column", "id", "--pairs", str(tmp_path / "p.csv")]
    methods = ["--methods", "link_selector,fisher", "--splits", "2", "--json"]
    assert run(["compare", str(table), *known, *methods]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notes"] == ["fisher ignores pairs."]
    assert found["saw"]["link_selector"] == "20 pairs and the labels of 150 samples"
    (tmp_path / "p.csv").write_text("a,b,link\np0,p1,must\np1,p60,must\n")
    assert run(["compare", str(table), *known, *methods]) == 1
    errors = capsys.readouterr().err
    assert "Labels and pairs contradict each other: p1 has the label 'setosa' and p60 " in errors
    assert "must-links join them: p1 = p60." in errors
