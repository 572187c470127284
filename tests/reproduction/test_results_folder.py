import pytest

import linkselect
from linkselect.reproduction._paper import Cell, Claim, Unit
from linkselect.reproduction._results_folder import (
    Record,
    made_of,
    read_cells,
    read_records,
    write_cells,
    write_records,
)

CELLS = [
    Cell("Wine", "Variance", "p=2, r=5", "12", 90.0, 92.04),
    Cell("Wine", "Fisher, Score", "", "", 50.0, 46.0),
    Cell("Sonar", "Variance", "", "", None, 70.123456789),
]
CLAIM = Claim("A, and B", True, "by 1 point")


def test_written_results_can_be_read(tmp_path):
    write_cells(tmp_path / "table.csv", CELLS)
    found = read_cells(tmp_path / "table.csv")
    assert found[:2] == CELLS[:2]
    assert found[2].published is None
    assert found[2].ours == pytest.approx(70.1235)
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0] == "dataset,method,setting,n_features,published,ours,difference"
    assert lines[1] == 'Wine,Variance,"p=2, r=5",12,90.0,92.04,2.04'
    assert lines[3] == "Sonar,Variance,,,,70.1235,"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_other_parts_are_kept(tmp_path):
    write_records(tmp_path, [Record("Figure 1", 3, 3, 0), Record("Table 10", 1, 20, 5, "0.1")])
    write_records(tmp_path, [Record("Table 2", 100, 100, 0, claims=(CLAIM,))])
    found = read_records(tmp_path)
    assert list(found) == ["Table 2", "Table 10", "Figure 1"]
    assert found["Table 2"].claims == (CLAIM,)
    assert found["Table 10"] == Record("Table 10", 1, 20, 5, "0.1")
    write_records(tmp_path, [Record("Table 2", 5, 5, 0)])
    assert read_records(tmp_path)["Table 2"] == Record("Table 2", 5, 5, 0)


def test_an_empty_folder(tmp_path):
    assert read_records(tmp_path) == {}


def units(n_runs, method="A"):
    return [Unit("curve", "Wine", method, run) for run in range(n_runs)]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ([], "no random draws"),
        (units(1), "1 run"),
        (units(3) * 2, "3 runs"),
        ([*units(3), *units(20, "B")], "3 to 20 runs"),
    ],
)
def test_runs_are_counted_from_units(made, text):
    record = made_of("Table 2", made, 7)
    assert record.runs == text
    assert str(record) == f"{text}, seed 7, linkselect {linkselect.__version__}"
