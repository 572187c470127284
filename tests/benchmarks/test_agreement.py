"""Tests of the script that writes the results into the pages of docs/reproduction."""

import runpy
import sys
from pathlib import Path

import pytest

from linkselect.reproduction._paper import Cell, Claim
from linkselect.reproduction._results_folder import Record, write_cells, write_records

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "agreement.py"
YEAR_2020 = "similarity-constraint-score-2020"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that runs the script on the 2020 results and returns the written page."""

    def write():
        page = tmp_path / "page.md"
        page.write_text(f"before\n<!-- {YEAR_2020} -->\nold\n<!-- end of {YEAR_2020} -->\nafter\n")
        call = [str(SCRIPT), f"{YEAR_2020}={tmp_path}", "--write", str(page)]
        monkeypatch.setattr(sys, "argv", call)
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return page.read_text()

    return write


def test_tables_have_runs_and_units(tmp_path, written):
    write_cells(
        tmp_path / "table-3.csv",
        [
            Cell("WBCD", "SFS-1NN", "p=3", "", 90.0, 93.1),
            Cell("WBCD", "C1", "p=3", "", 90.0, 92.9),
            Cell("Average rank", "C1", "p=3", "", 2.0, 2.9),
        ],
    )
    write_cells(tmp_path / "table-4.csv", [Cell("WBCD", "|M|", "p=2", "", 4.0, 5.0)])
    claim = Claim("C1 leads", True, "by 1 | point")
    records = [Record("Table 3", 1, 20, 7, claims=(claim,)), Record("Table 4", 5, 5, 0)]
    write_records(tmp_path, records)
    text = written()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "\nold\n" not in text
    for line in (
        "| 3 | 1 to 20 runs, seed 7 | 2 | accuracy, %: within 3 points | 1 (0 within 2 points, 2 within 4 points) |",  # noqa: E501
        "| 3 | 1 to 20 runs, seed 7 | 1 | average rank: within 15 % | 0 |",
        "| 4 | 5 runs, seed 0 | 1 | within 10 % | 0 |",
        "Table 3 (p=3), published → ours (reason):",
        "| data | C1 | SFS-1NN (uses all training labels) |",
        "| WBCD |  | 90.0 → 93.1 (1) |",
        "| Average rank | 2.00 → 2.90 (2) |  |",
        "| data | \\|M\\| |",
        "| WBCD | 4 → 5 (1) |",
        "2. The difference follows from the other rows of the table.",
        "| Table 3 | C1 leads | yes | by 1 \\| point |",
    ):
        assert line in text


def test_rank_sums_are_compared_by_winner(tmp_path, written):
    cells = [
        Cell("WBCD", name, "rank sum over 100 runs, p=2", "5", told, ours)
        for name, told, ours in (("eps^S", 150.0, 200.0), ("C1", 160.0, 140.0))
    ]
    write_cells(tmp_path / "table-2.csv", cells)
    write_records(tmp_path, [Record("Table 2", 3, 3, 0)])
    text = written()
    assert "| 2 | 3 runs, seed 0 | 1 rows | same winner | 0 |" in text
    assert "Table 2 (rank sum over 100 runs, p=2), published → ours (reason):" in text
    assert "| data | winner |" in text
    assert "| WBCD | eps^S → C1 (1) |" in text


def test_columns_are_named_by_method_and_setting(tmp_path, written):
    settings = [("10 links", 5.0), ("4 links", 6.0)]
    cells = [Cell("WBCD", "C1", setting, "", 90.0, 90.0 + gap) for setting, gap in settings]
    write_cells(tmp_path / "table-3.csv", cells)
    claim = Claim("C1 leads", False, "by no point")
    records = [Record("Table 3", 1, 1, 0, claims=(claim,)), Record("Figure 1", 3, 3, 0)]
    write_records(tmp_path, records)
    assert "| data | C1, 4 links | C1, 10 links |" in written()
    assert "Figure 1" not in written()
    write_records(tmp_path, [Record("Figure 1", 3, 3, 0, claims=(claim,))])
    text = written()
    assert "Figure 1 is based on 3 runs with seed 0." in text
    assert "| Figure 1 | C1 leads | no | by no point |" in text
