import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from linkselect import LinkSelector
from linkselect.cli import run
from linkselect.cli._choices import (
    command_name,
    make_selector,
    method_named,
    methods,
    parts_of,
)
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


RELIEFF = ("--label", "species", "--method", "relieff")


def parameters(text):
    return json.loads(text)["method"]["parameters"]


def test_settings_reach_the_method(rank):
    code, text, _ = rank(*RELIEFF, "--set", "n_neighbors=3", "--no-validate", "--json")
    assert {"name": "n_neighbors", "value": 3, "usual": False} in parameters(text)
    code, text, _ = rank(
        "--label", "species", "--method", "constrained-laplacian", "--set", "variant=2014",
        "--set", "sigma=auto", "--no-validate", "--json",
    )  # fmt: skip
    assert code == 0
    assert {"name": "variant", "value": "2014", "usual": False} in parameters(text)
    code, text, _ = rank(
        "--label", "species", "--method", "stable_selector", "--set", "estimator=fisher",
        "--set", "n_resamples=5", "--no-validate", "--json",
    )  # fmt: skip
    assert code == 0


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_every_method_runs_on_every_scale(scale, rank):
    for name, method in methods().items():
        more = ["--set", "estimator=variance"] if method.needs == "another method" else []
        more += ["--scale", scale, "--no-validate", "--n-features", "2", "--json"]
        code, _, errors = rank("--label", "species", "--method", name, *more)
        assert code == 0, (name, errors)


@pytest.mark.parametrize("method", ["compensated_laplacian", "similarity_constraint"])
def test_the_width_adapts_to_another_scale(method, tmp_path, capsys):
    """With 800 features of variance 1, samples are too far apart for a width of 1."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 800)), np.arange(30) % 2
    X[:, :3] += 4 * y[:, None]
    np.savez(tmp_path / "t.npz", X=X, y=y)
    call = ["rank", str(tmp_path / "t.npz"), "--label", "y", "--scale", "standard", "--n-features"]
    call += ["3", "--no-validate", "--json", "--method", method]
    assert run(call) == 0
    text, errors = capsys.readouterr()
    assert f"Note: {method}: sigma is set from the distances between rows" in errors
    assert set(json.loads(text)["ranking"]["feature"][:3]) == {"x0", "x1", "x2"}
    if method == "compensated_laplacian":
        assert run([*call, "--set", "sigma=1"]) == 1
        assert "Set it with --set sigma=auto." in capsys.readouterr().err


def test_variance_cannot_rank_standardised_features(rank):
    code, _, errors = rank("--drop", "species", "--method", "variance", "--scale", "standard")
    assert (code, "all features have variance 1" in errors) == (0, True)


OWN = '''
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

class Widest(SelectorMixin, BaseEstimator):
    """Keep the feature with the largest values."""

    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y=None):
        self.scores_ = (X ** self.power).sum(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return self.scores_ == self.scores_.max()

class Broken(Widest):
    """Fail."""

    def fit(self, X, y=None):
        return self.nothing

no_class = Widest()
'''


def test_a_user_defined_method(rank, tmp_path, monkeypatch):
    (tmp_path / "own_methods_16.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    own = ("--label", "species", "--method", "own_methods_16:Widest", "--scale", "none", "--json")
    code, text, errors = rank(*own, "--set", "power=2")
    assert (code, "Warning: All 4 features (0.9" in errors) == (0, True)
    found = json.loads(text)
    assert found["method"]["name"] == "Widest"
    assert found["method"]["about"] == "Keep the feature with the largest values."
    assert {"name": "power", "value": 2, "usual": False} in parameters(text)
    X = load_iris().data
    scores = sorted((X**2).sum(axis=0), reverse=True)
    np.testing.assert_allclose(found["ranking"]["score"], scores)
    code, _, errors = rank("--label", "species", "--method", "own_methods_16:Broken")
    assert code == 1
    assert "Broken, which is not a method of linkselect, failed: AttributeError" in errors
    for name, words in (
        ("own_methods_16:Narrowest", "own_methods_16 has no 'Narrowest'."),
        ("own_methods_16:no_class", "not a selector class"),
        ("no_such_module_16:Widest", "place it in the current folder"),
        ("sklearn.svm:LinearSVC", "a selector must implement fit and get_support"),
        ("sklearn.feature_selection:SelectKBst", "Did you mean 'SelectKBest'?"),
        ("relieff(n_neighbors=3", "bracket is not closed"),
    ):
        code, _, errors = rank("--label", "species", "--method", name)
        assert (code, words in errors) == (2, True), errors


def test_methods_of_scikit_learn(rank):
    known = ("--label", "species", "--json", "--n-features", "2", "--no-validate", "--method")
    code, text, _ = rank(*known, "sklearn.feature_selection:SelectKBest")
    assert code == 0
    assert json.loads(text)["ranking"]["feature"][:2] == ["petal length", "petal width"]
    rfe = "sklearn.feature_selection:RFE"
    code, _, errors = rank(*known, rfe)
    assert code == 2
    assert "RFE needs estimator. For example, write 'RFE(estimator=sklearn.linear_model:" in errors
    code, text, _ = rank(*known, "RFE(estimator=sklearn.tree:DecisionTreeClassifier)")
    assert code == 0
    assert "petal width" in json.loads(text)["ranking"]["feature"][:2]
    code, _, errors = rank("--drop", "species", "--method", "sklearn.feature_selection:SelectKBest")
    assert code == 1
    assert "--label" in errors


def test_parameters_after_the_name():
    choice = method_named("relieff(n_neighbors=3, n_jobs=1)")
    assert choice.name == "relieff(n_neighbors=3, n_jobs=1)"
    assert make_selector(choice, ()).n_neighbors == 3
    assert make_selector(choice, ["n_neighbors=4"]).n_neighbors == 4
    assert parts_of("a(b=1,c=2),d") == ["a(b=1,c=2)", "d"]


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


def test_numeric_values_are_text_if_the_class_requires_it():
    constrained = methods()["constrained_laplacian"]
    assert make_selector(constrained, ["variant=2011"]).variant == "2011"
    assert make_selector(constrained, ["sigma=2011"]).sigma == 2011
    assert make_selector(methods()["spectral"], ["style=2"]).style == 2


def test_the_supervision_that_methods_need_and_use():
    found = {name: (one.needs, one.uses) for name, one in methods().items()}
    assert found["variance"] == ("nothing", "nothing")
    assert found["fisher"] == found["nearest_neighbor_sfs"] == ("labels", "labels")
    assert found["constraint"] == ("pairs or labels", "pairs or labels")
    assert found["constrained_laplacian"] == ("nothing", "pairs or labels")
    assert found["redundancy"] == ("another method", "what that method uses")


def test_the_default_is_one_method_also_for_small_tables(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n3,5,\n4,4,\n", encoding="utf-8")
    (tmp_path / "two.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("a,b,link\n0,1,must\n", encoding="utf-8")
    path, two, pairs = (str(tmp_path / name) for name in ("t.csv", "two.csv", "p.csv"))
    for asked in (
        [path, "--drop", "kind"],
        [path, "--label", "kind"],
        [path, "--drop", "kind", "--pairs", pairs],
        [two, "--drop", "kind"],
        [two, "--label", "kind"],
        [two, "--drop", "kind", "--pairs", pairs],
    ):
        assert run(["rank", *asked]) == 0
        assert "Method: link_selector; larger scores are better." in capsys.readouterr().out


@pytest.fixture
def wide(tmp_path):
    """Write a table whose samples are so far apart that the weights of neighbours underflow."""
    X = np.random.default_rng(0).integers(0, 2, (24, 1400))
    header = ",".join(f"f{column}" for column in range(X.shape[1]))
    np.savetxt(tmp_path / "t.csv", X, "%d", ",", header=header, comments="")
    return tmp_path / "t.csv"


@pytest.mark.parametrize("pairs", ["1,3,must\n2,4,must\n1,2,cannot\n", "1,3,must\n2,4,must\n", ""])
def test_the_default_ranks_a_wide_table(pairs, wide, capsys):
    links = wide.with_name("p.csv")
    links.write_text("a,b,link\n" + pairs, encoding="utf-8")
    given = ["--pairs", str(links)] if pairs else []
    assert run(["rank", str(wide), *given, "--no-validate"]) == 0
    assert capsys.readouterr().err == ""


def test_a_member_that_cannot_rank_a_table_is_named(wide, capsys):
    links = wide.with_name("p.csv")
    links.write_text("a,b,link\n1,3,must\n2,4,must\n1,2,cannot\n", encoding="utf-8")
    call = ["rank", str(wide), "--pairs", str(links), "--no-validate"]
    assert run([*call, "--method", "consensus_selector"]) == 0
    errors = capsys.readouterr().err
    assert (
        "Note: Member 'compensated_laplacian' cannot rank these data and is replaced by "
        "ConstraintScore." in errors
    )
    assert "named_estimators_" not in errors


def test_negative_values_are_not_treated_as_counts(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 12)) < 0.7, -1.0, rng.random((40, 12)))
    for name, values in (("signed", X), ("shifted", X + 1)):
        header = ",".join(f"f{column}" for column in range(12))
        np.savetxt(tmp_path / f"{name}.csv", values, delimiter=",", header=header, comments="")
        assert run(["rank", str(tmp_path / f"{name}.csv"), "--json", "--no-validate"]) == 0
        found = json.loads(capsys.readouterr().out)
        expected = LinkSelector().fit(values)
        features = [f"f{feature}" for feature in expected.order_]
        assert found["ranking"]["feature"] == features
        np.testing.assert_allclose(
            found["ranking"]["score"], expected.scores_[expected.order_], rtol=1e-9
        )


def test_hints_name_only_parameters_of_the_method(wide, capsys):
    links = wide.with_name("p.csv")
    links.write_text("a,b,link\n1,3,must\n1,2,cannot\n", encoding="utf-8")
    call = ["rank", str(wide), "--pairs", str(links), "--no-validate", "--method"]
    assert run([*call, "compensated_laplacian"]) == 1
    assert "--set sigma=auto" in capsys.readouterr().err
    assert run([*call, "stable_selector(estimator=compensated_laplacian)"]) == 1
    errors = capsys.readouterr().err
    assert "all weights of the graph" in errors
    assert "--set" not in errors
