"""Tests of .h5ad files: reading at once and in parts, writing results, and invalid files."""

import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix, csr_matrix

from linkselect import LinkSelector, Pairs
from linkselect.cli import run
from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_table
from tests.helpers.annotated import OF_ANNDATA, TYPES, annotated, counts, text_as_objects
from tests.helpers.stored_samples import store_h5ad

pytestmark = pytest.mark.filterwarnings(OF_ANNDATA)

FORMS = {"dense": np.asarray, "csr": csr_matrix, "csc": csc_matrix}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with text_as_objects():
        yield tmp_path


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def cells(request, folder):
    return write(folder, request.param(counts()))


def write(folder, values=None, **layers):
    adata = annotated(values)
    adata.layers.update(layers)
    adata.raw = adata.copy()
    adata.write_h5ad(folder / "cells.h5ad")
    return adata


def rank(monkeypatch, *words):
    line = ["rank", *words]
    monkeypatch.setattr(sys, "argv", ["linkselect", *line])
    return run(line)


def test_a_file_is_read_as_a_table(cells, folder):
    found = read_table(folder / "cells.h5ad", Reading(label="some"))
    values = found.X.toarray() if found.is_sparse else found.X
    assert_array_equal(values, counts())
    assert found.names == tuple(cells.var_names)
    assert found.ids == tuple(cells.obs_names)
    assert list(found.labels) == [
        one if place % 3 == 0 else None for place, one in enumerate(TYPES)
    ]
    by_donor = read_table(folder / "cells.h5ad", Reading(label="donor", array="raw", bins="all"))
    assert by_donor.labels[5] == "1"
    assert by_donor.X.shape == (60, 12)


def test_results_are_written_into_a_copy(cells, folder, monkeypatch, capsys):
    before = (folder / "cells.h5ad").read_bytes()
    assert rank(monkeypatch, "cells.h5ad", "--label", "type", "--out", "result.h5ad") == 0
    assert "Written: result.h5ad" in capsys.readouterr().out
    assert (folder / "cells.h5ad").read_bytes() == before
    result = anndata.read_h5ad(folder / "result.h5ad")
    expected = LinkSelector().fit(counts(), TYPES)
    assert_array_equal(result.var["linkselect_rank"], expected.ranking_)
    assert_array_equal(result.var["linkselect_selected"], expected.support_)
    assert_allclose(result.var["linkselect_score"], expected.scores_, rtol=1e-6)
    assert result.var["linkselect_frequency"].between(0, 1).all()
    kept = result.uns["linkselect"]
    assert kept["method"] == "LinkSelector"
    assert kept["params"]["call"].startswith("linkselect rank cells.h5ad --label type")
    assert kept["better_than_chance"] is True
    assert_array_equal(result.obs["type"].astype(str), TYPES)
    # Ranking the result again replaces the earlier results.
    words = ("result.h5ad", "--label", "type", "--no-validate", "--out", "again.h5ad")
    assert rank(monkeypatch, *words, "--drop", "g3") == 0
    again = anndata.read_h5ad(folder / "again.h5ad").var
    assert list(again) == ["linkselect_score", "linkselect_rank", "linkselect_selected"]
    assert np.isnan(again.loc["g3", "linkselect_rank"])
    assert not again.loc["g3", "linkselect_selected"]
    assert sorted(again["linkselect_rank"].dropna()) == list(range(1, 12))


def test_layers_and_raw(folder, monkeypatch, capsys):
    write(folder, np.zeros((60, 12), np.float32), counts=counts())
    words = ("cells.h5ad", "--label", "type", "--no-validate", "--quiet")
    assert rank(monkeypatch, *words, "--array", "counts", "--out", "result.h5ad") == 0
    found = anndata.read_h5ad(folder / "result.h5ad")
    assert_array_equal(found.var["linkselect_rank"], LinkSelector().fit(counts(), TYPES).ranking_)
    assert rank(monkeypatch, *words, "--array", "cuonts") == 1
    assert "has no layer 'cuonts' (--array). Did you mean 'counts'?" in capsys.readouterr().err


@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_reading_in_parts_gives_the_same_ranking(form, folder, monkeypatch, capsys):
    write(folder, form(counts()))
    (folder / "pairs.csv").write_text("a,b,link\nc0,c3,must\nc0,c22,cannot\n")
    words = ("cells.h5ad", "--pairs", "pairs.csv", "--no-validate", "--quiet", "--out")
    assert rank(monkeypatch, *words, "whole.csv") == 0
    assert rank(monkeypatch, *words, "parts.csv", "--by-parts") == 0
    assert rank(monkeypatch, *words, "parts.h5ad", "--by-parts") == 0
    whole, parts = (pd.read_csv(folder / name) for name in ("whole.csv", "parts.csv"))
    pd.testing.assert_frame_equal(whole, parts, rtol=1e-6)  # single precision
    assert "linkselect_rank" in anndata.read_h5ad(folder / "parts.h5ad").var


def test_duplicate_feature_names_are_numbered(folder, monkeypatch, capsys):
    adata = annotated()
    adata.var_names = ["a", "a", *adata.var_names[2:]]
    adata.write_h5ad(folder / "cells.h5ad")
    words = ("cells.h5ad", "--label", "type", "--no-validate", "--out", "result.h5ad")
    assert rank(monkeypatch, *words) == 0
    assert "'a'" in capsys.readouterr().err
    with h5py.File(folder / "result.h5ad") as file:
        assert_array_equal(
            file["var/linkselect_rank"][:], LinkSelector().fit(counts(), TYPES).ranking_
        )


WRONG = {
    ("--label", "typee"): "has no column 'typee' (--label). Did you mean 'type'?",
    ("--transpose",): "The rows of an .h5ad file are already samples",
    ("--out", "cells.h5ad"): "--out cells.h5ad is the same file as the table",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_mistyped_options(words, folder, monkeypatch, capsys):
    write(folder)
    assert rank(monkeypatch, "cells.h5ad", *words) in (1, 2)
    assert WRONG[words] in capsys.readouterr().err


def test_pairs_of_a_design_name_the_rows(folder, monkeypatch, capsys):
    write(folder)
    columns = ["--same", "donor", "--across", "batch"]
    assert run(["pairs", "make", "cells.h5ad", *columns, "--out", "pairs.csv"]) == 0
    assert "60 must-links, 0 cannot-links, by obs_names." in capsys.readouterr().out
    assert Pairs.from_csv(folder / "pairs.csv").must[0] == ("c0", "c1")
    assert rank(monkeypatch, "cells.h5ad", "--pairs", "pairs.csv", "--no-validate") == 0


@pytest.mark.parametrize("index", [None, "sample"])
def test_metadata_are_joined_by_the_names_of_rows(index, folder):
    adata = annotated()
    adata.obs_names.name = index
    adata.write_h5ad(folder / "cells.h5ad")
    about = pd.DataFrame({"sample": adata.obs_names[::-1], "mark": np.arange(60) // 30})
    about.to_csv(folder / "about.csv", index=False)
    how = Reading(label="mark", id_column="sample", metadata=folder / "about.csv")
    found = read_table(folder / "cells.h5ad", how)
    assert found.ids == tuple(adata.obs_names)
    assert found.labels.tolist() == ["1"] * 30 + ["0"] * 30
    # Also with the two files exchanged.
    about.assign(g=1.5).to_csv(folder / "table.csv", index=False)
    how = Reading(label="type", id_column="sample", metadata=folder / "cells.h5ad")
    assert read_table(folder / "table.csv", how).labels.tolist() == TYPES[::-1].tolist()


def test_the_index_is_an_id_column_by_its_own_name_only(folder):
    adata = annotated()
    adata.obs_names.name = "sample"
    adata.write_h5ad(folder / "cells.h5ad")
    found = read_table(folder / "cells.h5ad", Reading(id_column="sample"))
    assert found.ids == tuple(adata.obs_names)
    with pytest.raises(InputError, match="has no column 'smple'"):
        read_table(folder / "cells.h5ad", Reading(id_column="smple"))


def test_only_a_copy_of_an_h5ad_file_is_written(folder, monkeypatch, capsys):
    (folder / "table.csv").write_text("a,b\n1,2\n3,5\n")
    assert rank(monkeypatch, "table.csv", "--out", "result.h5ad") == 2
    assert "table.csv is not an .h5ad file" in capsys.readouterr().err
    assert run(["compare", "table.csv", "--out", "result.h5ad"]) == 2
    assert "Choose .csv" in capsys.readouterr().err


def no_names(file):
    del file["var"].attrs["_index"]


def no_matrix(file):
    del file["X"]


def strange_columns(file):
    file["X/indices"][0] = 10**6


def rows_that_go_back(file):
    file["X/indptr"][1] = 10**6


def old_frames(file):
    del file["obs"]
    file["obs"] = np.array([(b"c0", 1)], dtype=[("index", "S2"), ("n", int)])


def too_few_names(file):
    del file["obs/names"]
    file["obs/names"] = ["c0"]


DAMAGES = [no_names, no_matrix, strange_columns, rows_that_go_back, old_frames, too_few_names]


@pytest.mark.parametrize("by_parts", [False, True], ids=["whole", "by parts"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_error_for_a_damaged_file_is_one_sentence(
    damage, by_parts, folder, monkeypatch, capsys
):
    path = store_h5ad(folder, counts())
    with h5py.File(path, "r+") as file:
        for axis in ("obs", "var"):
            file[axis].attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
    with h5py.File(path, "r+") as file:
        damage(file)
    words = ["--by-parts"] if by_parts else []
    assert rank(monkeypatch, "X.h5ad", "--method", "variance", *words) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "linkselect rank: X.h5ad" in said


def test_other_files_with_this_name(folder, monkeypatch, capsys):
    (folder / "text.h5ad").write_text("a,b\n1,2\n")
    assert rank(monkeypatch, "text.h5ad") == 1
    assert "is not a .h5ad file: its first bytes do not match" in capsys.readouterr().err
    write(folder)
    whole = (folder / "cells.h5ad").read_bytes()
    for length in (100, 5_000, len(whole) - 100):
        (folder / "cut.h5ad").write_bytes(whole[:length])
        assert rank(monkeypatch, "cut.h5ad", "--no-validate") == 1
        assert "cut.h5ad" in capsys.readouterr().err


def test_a_declared_size_is_checked_before_it_is_read(folder, monkeypatch, capsys):
    path = store_h5ad(folder, counts(), None)
    with h5py.File(path, "r+") as file:
        del file["X"]
        file.create_dataset("X", (60, 10**9), "f8", chunks=(1, 1000))
        del file["var/names"]
        file["var/names"] = ["g"]
        for axis in ("obs", "var"):
            file[axis].attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
    assert rank(monkeypatch, "X.h5ad", "--transpose") == 2
    capsys.readouterr()
    assert rank(monkeypatch, "X.h5ad", "--max-memory", "1GB") == 1
    assert "X.h5ad" in capsys.readouterr().err


def test_without_the_extra(folder, monkeypatch, capsys):
    write(folder)
    monkeypatch.setitem(sys.modules, "anndata", None)
    assert rank(monkeypatch, "cells.h5ad") == 1
    assert "pip install 'linkselect[anndata]'" in capsys.readouterr().err
