"""Tests of a folder of pictures as a table."""

import csv
import json
import sys

import numpy as np
import pytest

from linkselect import Pairs
from linkselect.cli import run
from tests.helpers.made_pictures import make_pictures


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_pictures(tmp_path / "photos", 30)


def test_the_table_of_a_folder(photos, tmp_path, capsys):
    assert run(["features", "photos", "--out", "table.csv"]) == 0
    assert "30 pictures x 99 features written to table.csv." in capsys.readouterr().out
    with (tmp_path / "table.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:2] == ["picture", "brightness, upper left"]
    assert [row[0] for row in rows] == sorted(photos)
    assert max(len(cell) for row in rows for cell in row[1:]) <= 8  # 25.9 instead of 25.899999618
    assert run(["features", "photos", "--out", "t.parquet", "--features", "pixels, color"]) == 0
    assert "30 pictures x 292 features" in capsys.readouterr().out


def test_a_folder_and_its_table_have_the_same_ranking(photos, tmp_path):
    names = sorted(photos)
    pairs = Pairs.from_labels([photos[one] for one in names], n_must=6, n_cannot=6, random_state=0)
    named = [[(names[a], names[b]) for a, b in some] for some in (pairs.must, pairs.cannot)]
    Pairs(*named).to_csv("pairs.csv")
    plain = ["--pairs", "pairs.csv", "--no-validate", "--quiet"]
    assert run(["features", "photos", "--out", "table.csv"]) == 0
    assert run(["rank", "photos", *plain, "--out", "a.json"]) == 0
    assert run(["rank", "table.csv", "--id-column", "picture", *plain, "--out", "b.json"]) == 0
    found, expected = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert found["ranking"]["feature"] == expected["ranking"]["feature"]
    np.testing.assert_allclose(found["ranking"]["score"], expected["ranking"]["score"])
    assert not list(tmp_path.glob("*.sqlite"))


def test_names_of_subfolders_may_be_labels(photos, tmp_path, capsys):
    for name, kind in photos.items():
        (tmp_path / "sorted" / kind).mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / name).rename(tmp_path / "sorted" / kind / name.replace("/", "-"))
    assert run(["rank", "sorted", "--label", "folder", "--n-features", "2", "--out", "a.csv"]) == 0
    with (tmp_path / "a.csv").open(newline="") as file:
        best = [row["feature"] for row in csv.DictReader(file)][:2]
    assert {name.partition(", ")[2] for name in best} == {"upper left", "lower right"}
    assert run(["rank", "sorted", "--label", "kind", "--no-validate"]) == 1
    assert "sorted has no column 'kind' (--label)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["features", "nowhere", "--out", "b.csv"], 1, "There is no folder nowhere."),
        (["features", "empty", "--out", "b.csv"], 1, "The folder empty contains no pictures"),
        (["features", "photos/photo 000.png", "--out", "b.csv"], 1, "Pass its folder instead"),
        (["ask", "photos/photo 000.png", "--no-browser"], 1, "Pass its folder instead: photos"),
        (["ask", "photo", "--no-browser"], 1, "Did you mean"),
        (["ask", "one", "--no-browser"], 1, "one has only one sample, but a pair needs two."),
        (["ask", "iphone", "--no-browser"], 1, "a.HEIC has an unsupported format; save it"),
        (["rank", "empty"], 1, "The folder empty contains no pictures or Parquet files."),
        (["ask", "empty", "--no-browser"], 1, "The folder empty contains no pictures"),
        (
            ["rank", "photos", "--features", "sift"],
            2,
            "Choose one or more of color, texture, hog, pixels",
        ),
        (["rank", "a.csv", "--features", "hog"], 2, "needs a folder of pictures, and a.csv"),
        (["rank", "photos", "--transpose"], 2, "Each picture of a folder is already one row"),
        (["rank", "photos", "--by-parts"], 1, "only folders of Parquet files can be read in parts"),
        (["features", "photos", "--out", "a.png"], 2, "Choose .csv, .tsv, .json"),
    ],
)
def test_mistakes_are_explained(photos, tmp_path, capsys, arguments, code, said):
    for name in ("empty", "one", "iphone"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "a.png").write_bytes((tmp_path / "photos" / "photo 000.png").read_bytes())
    (tmp_path / "iphone" / "a.HEIC").write_bytes(b"")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    assert run(arguments) == code
    assert said in capsys.readouterr().err


def test_a_missing_extra_is_named(photos, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    assert run(["rank", "photos"]) == 1
    assert "pip install 'linkselect[pictures]'" in capsys.readouterr().err
