import json

import pytest

from iris_table import write_iris
from linkselect.cli import run
from linkselect.cli.choices import command_name, make_selector, methods


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


def test_values_that_look_like_numbers_are_names_if_the_class_says_so():
    constrained = methods()["constrained_laplacian"]
    assert make_selector(constrained, ["variant=2011"]).variant == "2011"
    assert make_selector(constrained, ["sigma=2011"]).sigma == 2011
    assert make_selector(methods()["spectral"], ["style=2"]).style == 2


def test_what_methods_need_and_use():
    found = {name: (one.needs, one.uses) for name, one in methods().items()}
    assert found["variance"] == ("nothing", "nothing")
    assert found["fisher"] == found["nearest_neighbor_sfs"] == ("labels", "labels")
    assert found["constraint"] == ("pairs or labels", "pairs or labels")
    assert found["constrained_laplacian"] == ("nothing", "pairs or labels")
    assert found["redundancy"] == ("another method", "what that method uses")
