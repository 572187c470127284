"""Tests of a typical study: groups that are never split, batches, and labels with pairs."""

import json
from importlib.resources import files
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_selection import SelectKBest

from linkselect import FisherScore, center_batches
from linkselect.cli import run
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._preparation import Preparation, settle_values
from linkselect.cli._supervision_input import about_design
from linkselect.cli._tables import Reading, read_table
from linkselect.cli._tables.table import Table
from linkselect.pairs import Pairs

N_PATIENTS, N_GENES, INFORMATIVE = 16, 30, 3
ID = ["--transpose", "--id-column", "sample"]


def write_study(folder, n_diagnosed=N_PATIENTS):
    """Write genes in rows, metadata in another order, and replicates of patients as pairs.

    Two samples of a patient differ only by their batch, so a fold that splits a patient leaks the
    class.
    """
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(N_PATIENTS), 2)
    batch = np.tile([0, 1], N_PATIENTS)
    ill = patient % 2
    X = rng.normal(size=(N_PATIENTS, N_GENES))[patient] + 5.0 * batch[:, None]
    X[:, :INFORMATIVE] += 3 * ill[:, None]
    names = [f"s{i}" for i in range(len(X))]
    rows = [f"g{j},{','.join(map(str, column))}" for j, column in enumerate(X.T.tolist())]
    (folder / "genes.csv").write_text("\n".join([f"gene,{','.join(names)}", *rows, ""]))
    kinds = [
        ("ill" if one else "well") if who < n_diagnosed else ""
        for one, who in zip(ill, patient, strict=True)
    ]
    about = [f"s{i},P{patient[i]},b{batch[i]},{kinds[i]}" for i in range(len(X))]
    (folder / "about.csv").write_text("\n".join(["sample,patient,batch,disease", *about[::-1], ""]))
    links = [f"s{2 * i},s{2 * i + 1},must" for i in range(N_PATIENTS)]
    (folder / "pairs.csv").write_text("\n".join(["a,b,link", *links, ""]))
    return X, patient, batch, ill


@pytest.fixture
def study(tmp_path, monkeypatch, capsys):
    """Write the study, and return a function that runs a command on it."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(*arguments, command="rank", code=0):
        given = [command, "genes.csv", *ID, "--metadata", "about.csv", *arguments]
        assert run([*given, "--json"]) == code
        text, errors = capsys.readouterr()
        return json.loads(text) if text else errors

    return call


LABELS = ("--label", "disease")


def keeps_to_schema(found, command):
    jsonschema = pytest.importorskip("jsonschema")
    schema = files("linkselect.cli") / "schemas" / f"{command}.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(found)


class Recorder(SelectKBest):
    """Rank as scikit-learn does, and record the rows of every fit."""

    fits: ClassVar[list] = []

    def fit(self, X, y):
        self.fits.append(np.round(X, 6))
        return super().fit(X, y)


@pytest.fixture
def fits():
    """Return a function that checks every fit for incomplete patients, and clears the record."""

    def are_whole():
        seen = [np.unique(X, axis=0, return_counts=True)[1] for X in Recorder.fits]
        Recorder.fits.clear()
        return [set(counts.tolist()) == {2} for counts in seen]

    Recorder.fits.clear()
    return are_whole


# After centring, the two samples of a patient are equal.
RECORDED = ("--batch", "batch", "--center-batches", "--scale", "none")


def test_no_group_is_split_when_a_ranking_is_validated(study, fits):
    """If a patient is split, its other sample reveals the class."""
    options = (*LABELS, *RECORDED, "--drop", "g0,g1,g2", "--resamples", "10")
    options += ("--method", "tests.cli.test_study:Recorder(k=27)", "--n-features", "27")
    split = study(*options)
    assert not all(fits())
    whole = study(*options, "--group", "patient")
    seen = fits()
    assert (all(seen), len(seen) > 10) == (True, True)
    assert split["validation"]["estimate"]["value"] > 0.9
    assert whole["validation"]["estimate"]["value"] < 0.8
    note = "Rows with the same 'patient' are kept together in every split and resample (16 groups)."
    assert note in whole["notes"]
    assert note not in split["notes"]


def test_no_group_is_split_in_a_comparison(study, fits):
    options = (*LABELS, *RECORDED, "--splits", "4", "--n-features", "3")
    options += ("--methods", "tests.cli.test_study:Recorder(k=3)")
    study(*options, command="compare")
    assert not all(fits())
    study(*options, "--group", "patient", command="compare")
    seen = fits()
    assert (all(seen), len(seen)) == (True, 5)


def test_choosing_a_number_splits_no_group(study, fits):
    options = (*LABELS, *RECORDED, "--no-validate", "--method", "tests.cli.test_study:Recorder")
    found = study(*options, "--group", "patient")
    assert found["number_of_features"]["rule"] == "held-out accuracy"
    seen = fits()
    assert (all(seen), len(seen) > 3) == (True, True)


def test_a_resampling_method_is_given_the_groups(study):
    """Resamples must contain both samples of a patient or neither."""
    options = (*LABELS, "--method", "stable_selector(estimator=fisher)", "--n-features", "3")
    options += ("--no-validate",)
    split, whole = study(*options), study(*options, "--group", "patient")
    assert split["ranking"]["score"] != whole["ranking"]["score"]


def test_a_method_with_its_own_number_splits_no_group(study):
    options = (*LABELS, "--method", "nearest_neighbor_sfs", "--resamples", "0")
    found = study(*options, "--group", "patient")
    assert found["number_of_features"]["rule"] == "own optimum"
    assert 0.5 < found["validation"]["estimate"]["value"] <= 1


def test_p_values_exchange_patients_inside_batches(study):
    options = (*LABELS, "--method", "fisher", "--p-values", "--no-validate", "--n-features", "3")
    found = study(*options, "--group", "patient", "--batch", "batch", "--permutations", "99")
    assert set(found["ranking"]["feature"][:3]) == {"g0", "g1", "g2"}
    assert max(found["ranking"]["p_value"][:3]) <= 0.02
    assert (
        "'batch' has 2 batches: tests against chance permute rows only within a batch."
        in found["notes"]
    )
    keeps_to_schema(found, "rank")


def test_unused_batches_are_reported(study):
    found = study(*LABELS, "--batch", "batch", "--no-validate")
    nothing = "pass --center-batches to use them."
    assert f"'batch' has 2 batches: {nothing}" in found["notes"]
    options = (*LABELS, "--batch", "batch", "--center-batches", "--no-validate")
    centred = "'batch' has 2 batches: the mean of each batch is subtracted."
    assert centred in study(*options)["notes"]


def test_a_single_batch_has_no_effect(study, tmp_path):
    about = (tmp_path / "about.csv").read_text()
    (tmp_path / "about.csv").write_text(about.replace("b1", "b0"))
    found = study(*LABELS, "--batch", "batch", "--no-validate")
    assert "All rows have the same 'batch', so --batch has no effect." in found["notes"]


def test_classes_as_groups_are_refused(study):
    errors = study(*LABELS, "--group", "disease", code=2)
    assert "--group disease is the label column" in errors


# -- centring ----------------------------------------------------------------------------------


def test_centring_by_hand(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,b\n1,10,u\n3,,u\n5,2,v\n9,8,v\n4,4,\n6,4,NA\n")
    table = read_table(tmp_path / "t.csv", Reading(batch="b"))
    data, prepare, _, seen = settle_values(table, Preparation("none", center_batches=True))
    nan = np.nan
    by_hand = [[-1, 0], [1, nan], [-2, -3], [2, 3], [-1, 0], [1, 0]]
    np.testing.assert_array_equal(data.X, by_hand)
    assert (seen.low.tolist(), seen.high.tolist()) == ([-2, -3], [2, 3])
    assert prepare.applied(data)[1, 1] == 0  # the median after centring
    assert prepare.describe(False) == (
        "Each feature was centred within each batch but not scaled; missing values were replaced "
        "by the median."
    )
    assert table.notes[-1] == ("2 rows without a batch ('b'): treated as one separate batch.")
    assert table.X[0, 0] == 1  # the table is not changed


def test_centred_values_are_ranked(study, tmp_path):
    X, _, batch, ill = write_study(tmp_path)
    options = (*LABELS, "--batch", "batch", "--center-batches", "--method", "fisher")
    found = study(*options, "--no-validate", "--scale", "none", "--report", "r.html")
    expected = FisherScore().fit(center_batches(X, batch), ill)
    np.testing.assert_allclose(found["ranking"]["score"], expected.scores_[expected.order_])
    sentence = "Each feature was centred within each batch but not scaled."
    assert found["data"]["preparation"] == sentence
    assert sentence in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ("x\n1\n2\n", UsageError, "--center-batches subtracts the mean of each batch"),
        ("x,b\n1,u\ninf,u\n3,v\n", InputError, "row 2: the value of 'x' is infinite"),
    ],
)
def test_invalid_centring(rows, error, words, tmp_path):
    (tmp_path / "t.csv").write_text(rows)
    table = read_table(tmp_path / "t.csv", Reading(batch="b" if "b" in rows else None))
    with pytest.raises(error, match=words):
        settle_values(table, Preparation(center_batches=True))


def test_a_batch_of_one_row_is_reported(tmp_path):
    (tmp_path / "t.csv").write_text("x,b\n1,u\n2,u\n3,w\n")
    table = read_table(tmp_path / "t.csv", Reading(batch="b"))
    data, _, notes, _ = settle_values(table, Preparation(center_batches=True))
    assert notes[0].startswith("1 batch has only one sample, so all features of this sample")
    assert data.X[2, 0] == 0


def test_a_sparse_table_becomes_dense_if_it_fits():
    batches = np.array(["u", "v"] * 50, dtype=object)
    X = csr_array(np.eye(100))
    names = tuple(f"x{i}" for i in range(100))
    table = Table(X, names, None, None, "t.svm", batches=batches)
    how = Preparation("none", center_batches=True)
    data, _, notes, _ = settle_values(table, how)
    np.testing.assert_array_equal(data.X, center_batches(X, batches))
    assert notes == ["Centring within batches converted the sparse table to a dense array."]
    with pytest.raises(InputError, match="sparse, but --center-batches requires a dense array"):
        settle_values(table, how, max_memory="50KB")


# -- confounded batches --------------------------------------------------------------------------


def design(batches, labels=None, pairs=None):
    n = len(batches)
    some = None if labels is None else np.array(labels, dtype=object)
    table = Table(
        np.zeros((n, 1)), ("x",), some, None, "t.csv", batches=np.array(batches, dtype=object)
    )
    return about_design(table, pairs, Reading(batch="plate"), Preparation(), tests=False)[1:]


def test_batches_confounded_with_classes_or_pairs_are_reported():
    assert "Every batch contains only one class" in design(list("uuvv") * 2, list("aabb") * 2)[0]
    assert design(list("uvuv") * 2, list("aabb") * 2) == []
    # Five must-links are within batches, five cannot-links between them.
    batches = ["u"] * 10 + ["v"] * 10
    must, cannot = [(i, i + 1) for i in range(0, 10, 2)], [(i, i + 10) for i in range(5)]
    found = design(batches, pairs=Pairs(must, cannot))
    assert found[0].startswith("Every must-link is within a batch and every cannot-link is between")
    assert design(batches, pairs=Pairs(must[1:], cannot)) == []
    assert design(batches, pairs=Pairs([*must, (0, 12)], cannot)) == []
    assert design(batches, pairs=Pairs(must, [*cannot, (6, 9)])) == []
    # Rows without a batch are ignored.
    assert design([*batches, None], pairs=Pairs([*must, (0, 20)], cannot)) == found


# -- labels and pairs ----------------------------------------------------------------------------


def test_replicates_of_patients_and_a_few_labels(study, tmp_path):
    """The method needs both kinds of pairs; the labels imply cannot-links."""
    write_study(tmp_path, n_diagnosed=6)
    both = (*LABELS, "--pairs", "pairs.csv", "--group", "patient")
    found = study(*both, "--method", "constraint", "--n-features", "3", "--resamples", "0")
    assert "16 pairs and 12 labels are used together." in found["notes"]
    assert len({"g0", "g1", "g2"} & set(found["ranking"]["feature"][:4])) == 3
    options = ("--methods", "constraint,fisher", "--splits", "2", "--test-size", "0.4")
    compared = study(*both, *options, command="compare")
    assert compared["saw"] == {
        "constraint": "16 pairs and the labels of 12 samples",
        "fisher": "the labels of 12 samples",
    }
    keeps_to_schema(compared, "compare")


@pytest.mark.parametrize("command", ["rank", "compare"])
def test_a_contradiction_is_explained_by_its_chain(command, study, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,link\ns0,s5,must\ns5,s2,must\n")
    options = ("--splits", "2") if command == "compare" else ("--no-validate",)
    errors = study(*LABELS, "--pairs", "bad.csv", *options, command=command, code=1)
    assert "Labels and pairs contradict each other: s" in errors
    assert "has the label 'ill'" in errors
    assert "must-links join them: s" in errors


def test_a_sparse_table_has_no_ids_to_join_by(tmp_path, capsys):
    dump_svmlight_file(np.eye(4), [0, 1, 0, 1], str(tmp_path / "t.svm"))
    (tmp_path / "m.csv").write_text("sample,k\n1,a\n")
    call = ["rank", str(tmp_path / "t.svm"), "--metadata", str(tmp_path / "m.csv")]
    assert run([*call, "--id-column", "sample", "--group", "k"]) == 1
    assert "t.svm has no sample ids, so m.csv cannot be joined to it." in capsys.readouterr().err
