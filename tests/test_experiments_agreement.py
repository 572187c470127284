import pytest

from linkselect.experiments.agreement import compared, difference, n_within, read_cells, write_cells
from linkselect.experiments.paper import Cell
from linkselect.experiments.published import published

CELLS = [
    Cell("Wine", "Variance", "p=2, r=5", "12", 90.0, 92.04),
    Cell("Wine", "Fisher, Score", "", "", 50.0, 46.0),
    Cell("Sonar", "Variance", "", "", None, 70.123456789),
]


def test_differences():
    assert [difference(cell) for cell in CELLS] == [pytest.approx(2.04), -4.0, None]


def test_numbers_are_compared_as_they_are_printed():
    assert n_within(CELLS, 2.0) == 1
    assert n_within(CELLS, 1.9) == 0
    assert n_within(CELLS, 4.0) == 2


def test_relative_differences():
    assert n_within(CELLS, 0.05, relative=True) == 1
    assert n_within(CELLS, 0.08, relative=True) == 2


def test_what_is_written_is_read(tmp_path):
    write_cells(tmp_path / "table.csv", CELLS)
    found = read_cells(tmp_path / "table.csv")
    assert found[:2] == CELLS[:2]
    assert found[2].published is None
    assert found[2].ours == pytest.approx(70.1235)
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0] == "dataset,method,setting,n_features,published,ours,difference"
    assert lines[1] == 'Wine,Variance,"p=2, r=5",12,90.0,92.04,2.04'
    assert lines[3] == "Sonar,Variance,,,,70.1235,"


def test_only_published_numbers_are_compared():
    assert compared(CELLS) == CELLS[:2]


def test_published_numbers():
    rows = published("sparsity-score-2012", 2)
    assert len(rows) == 36
    assert rows[0].dataset == "Wine"
    assert rows[0].method == "Sparsity Score"
    assert (rows[0].value, rows[0].n_features, rows[0].std) == (97.1, "12", None)
    assert published("sparsity-score-2012", 3) == []
