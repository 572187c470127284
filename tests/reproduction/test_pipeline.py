"""Tests of `make`, which computes the tables and figures of a paper."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkselect._messages import GuidedValueError
from linkselect.reproduction import DataNotFoundError, make
from linkselect.reproduction._results_folder import FolderError, read_cells, read_records
from linkselect.reproduction._runs import UnitError
from linkselect.reproduction._store import StoreError
from tests.helpers.toy_paper import add_toy_paper


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Add a paper that records its computed units, and work in an empty folder without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINKSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    module = add_toy_paper(monkeypatch)
    module.computed = []
    compute = module.PAPER.compute

    def counted(unit, data_dir):
        module.computed.append(unit)
        return compute(unit, data_dir)

    module.PAPER = dataclasses.replace(module.PAPER, compute=counted)
    return module


def test_a_table_is_returned_as_values(toy):
    made = make("toy", tables=[2], figures=[], runs=3, out="found")
    assert (made.paper, made.folder) == ("toy", Path("found"))
    assert [(cell.dataset, cell.published) for cell in made.cells[2]] == [
        ("Wine", 91.0),
        ("WDBC", 91.0),
    ]
    drawn = [unit.random().random() for unit in toy.units(3) if unit.dataset == "Wine"]
    assert made.cells[2][0].ours == pytest.approx(90 + np.mean(drawn))
    record = made.records["Table 2"]
    assert (record.fewest_runs, record.most_runs, record.seed) == (3, 3, 0)
    assert [claim.held for claim in record.claims] == [True, False]
    assert made.pictures == {}


def test_files_have_the_same_values(toy):
    made = make("toy", tables=[2], figures=[], runs=2, out="found")
    assert read_records(made.folder) == made.records
    for kept, cell in zip(read_cells(made.folder / "table-2.csv"), made.cells[2], strict=True):
        assert kept.ours == pytest.approx(cell.ours, rel=1e-5)
    assert "A toy paper" in made.page.read_text()
    names = sorted(path.name for path in made.folder.iterdir())
    assert names == ["claims.csv", "index.html", "results.sqlite", "runs.csv", "table-2.csv"]


def test_the_result_is_immutable(toy):
    made = make("toy", tables=[2], figures=[], runs=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.page = Path("other")


def test_everything_is_made_by_default(toy):
    made = make("toy", tables=[2], runs=1)
    assert list(made.records) == ["Table 2", "Figure 1"]
    assert made.folder == Path("reproduction") / "toy"
    assert [path.suffix for path in made.pictures[1]] == [".png", ".svg"]
    assert all(path.exists() for path in made.pictures[1])


def test_the_default_number_of_runs_is_that_of_the_paper(toy):
    made = make("toy", tables=[], figures=[1])
    assert made.records["Figure 1"].most_runs == toy.PAPER.default_runs == 2
    assert made.cells == {}


def test_a_call_without_parts_keeps_the_page(toy):
    before = make("toy", tables=[2], figures=[], runs=1)
    computed = len(toy.computed)
    made = make("toy", tables=[], figures=[])
    assert (made.records, made.cells, made.pictures) == ({}, {}, {})
    assert len(toy.computed) == computed
    assert "Table 2. Accuracies" in before.page.read_text() == made.page.read_text()


def test_work_is_resumed(toy):
    first = make("toy", tables=[2], figures=[], runs=2)
    assert len(toy.computed) == 4
    steps = []
    again = make("toy", tables=[2], figures=[1], runs=3, progress=steps.append)
    assert [unit.run for unit in toy.computed[4:]] == [2, 2]
    assert (steps[0].found, steps[0].done, steps[0].total) == (4, 4, 6)
    assert steps[-1].done == 6
    assert make("toy", tables=[2], figures=[], runs=2).cells == first.cells != again.cells
    assert len(toy.computed) == 6


def test_another_seed_gives_other_results(toy):
    first = make("toy", tables=[2], figures=[], runs=1)
    other = make("toy", tables=[2], figures=[], runs=1, seed=5)
    assert len(toy.computed) == 4
    assert other.records["Table 2"].seed == 5
    assert other.cells != first.cells


def test_a_part_named_twice_is_made_once(toy):
    assert list(make("toy", tables=[2, 2], figures=[], runs=1).cells) == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paper": "toys"}, "There is no paper 'toys'. Choose one of: constraint-score-2008, "),
        (
            {"tables": [2, 3]},
            "Available tables: 2, 5. Choose from these, or omit tables to create all.",
        ),
        ({"figures": [9]}, "toy has no figure 9 with results. Available figures: 1."),
        ({"tables": 2}, r"tables=2, but tables must be a list of numbers. Write tables=\[2\]"),
        ({"runs": 0}, "runs=0, but it must be a whole number of at least 1. Choose 1 or more."),
        ({"runs": 2.5}, "runs=2.5, but it must be a whole number of at least 1. Choose 1 or more."),
        ({"jobs": -1}, "jobs=-1, but it must be a whole number of at least 1."),
        ({"jobs": None}, "jobs=None, but it must be a whole number of at least 1."),
        ({"seed": -1}, "seed=-1, but it must be a whole number of at least 0."),
    ],
)
def test_errors_state_value_and_rule(toy, tmp_path, options, message):
    with pytest.raises(GuidedValueError, match=message):
        make(**({"paper": "toy"} | options))
    assert not (tmp_path / "reproduction").exists()


def test_a_folder_that_cannot_be_created(toy, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="but file is a file. Pass another folder as out=."):
        make("toy", out="file")
    with pytest.raises(FolderError, match=r"file/below cannot be created \(Not a directory\)"):
        make("toy", out="file/below")


def test_a_data_folder_that_does_not_exist(toy):
    with pytest.raises(DataNotFoundError, match="There is no folder 'dta' .data_dir."):
        make("toy", data_dir="dta")


def test_the_error_for_missing_data_names_the_unit(toy, monkeypatch):
    monkeypatch.setenv("LINKSELECT_UCI", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(UnitError, match="toy, Sonar, Variance, run 0: .*sonar.npz"):
        make("toy", tables=[5], figures=[])


def test_a_store_that_is_not_a_database(toy, tmp_path):
    (tmp_path / "results.sqlite").write_text("no database " * 100)
    with pytest.raises(StoreError, match="is damaged or is not a store"):
        make("toy", tables=[2], out=tmp_path)


@pytest.mark.parametrize(("package", "figures"), [("jinja2", []), ("matplotlib", [1])])
def test_a_missing_package_is_reported_before_the_work(toy, monkeypatch, package, figures):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"require {package}, which is not installed: pip"):
        make("toy", tables=[2], figures=figures)
    assert not toy.computed


def test_tables_need_no_matplotlib(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert make("toy", tables=[2], figures=[], runs=1).page.exists()


def test_importing_the_package_imports_no_large_dependencies():
    code = (
        "import sys, linkselect.reproduction as r; r.make; "
        "print(*{'matplotlib', 'jinja2', 'rich', 'pandas', 'sklearn.svm'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_every_public_name_exists():
    import linkselect.reproduction as package

    assert set(package.__all__) <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
