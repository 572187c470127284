"""Compute every table of the papers from two runs on its smallest data sets."""

import numpy as np
import pytest

from linkselect.reproduction._datasets import DataNotFoundError, load_dataset
from linkselect.reproduction._papers import PAPERS, load_paper
from linkselect.reproduction._published import published
from linkselect.reproduction._runs import run_units
from linkselect.reproduction._store import Store
from tests.conftest import DATA

SMALL_SETS = {
    ("constraint-score-2008", 2): {"Wine", "Soybean"},
    ("constraint-score-2008", 3): {"Wine", "Soybean"},
    ("constraint-score-2008", 4): {"YaleB"},
    ("constraint-score-2008", 5): {"YaleB"},
    ("sparsity-score-2012", 2): {"Wine"},
    ("similarity-constraint-score-2020", 2): {"WBCD"},
    ("similarity-constraint-score-2020", 3): {"WBCD", "Ionosphere"},
    ("similarity-constraint-score-2020", 4): {"WBCD", "Ionosphere"},
    ("similarity-constraint-score-2020", 5): {"Ionosphere"},
    ("similarity-constraint-score-2020", 6): {"Ionosphere"},
    ("similarity-constraint-score-2020", 7): {"ORL"},
    ("similarity-constraint-score-2020", 8): {"WBCD", "Ionosphere"},
}
N_RUNS = 2
# Run times are measured for three numbers of features; the smallest suffices here.
N_TIMED_FEATURES = 20


@pytest.fixture(scope="module")
def store_folder(tmp_path_factory):
    """Return one folder for all tables, since they share results."""
    return tmp_path_factory.mktemp("results")


def test_every_table_has_a_smoke_version():
    tables = {(name, number) for name in PAPERS for number in load_paper(name).tables}
    assert tables == set(SMALL_SETS)


def test_every_published_number_belongs_to_a_table():
    known = {name: set(load_paper(name).tables) for name in PAPERS}
    assert all(published(name, number) for name, numbers in known.items() for number in numbers)
    assert sum(len(published(*table)) for table in SMALL_SETS) == 652


def is_short(unit):
    return unit.experiment != "run time" or dict(unit.parameters)["m"] == N_TIMED_FEATURES


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), SMALL_SETS)
def test_table(name, number, store_folder):
    small = SMALL_SETS[name, number]
    for dataset in small:
        try:
            load_dataset(dataset, DATA, fetch=False)
        except DataNotFoundError as error:
            pytest.skip(str(error))
    paper = load_paper(name)
    table = paper.tables[number]
    units = [unit for unit in table.units(N_RUNS) if unit.dataset in small and is_short(unit)]
    store = Store(store_folder / "results.sqlite", name)
    results = run_units(units, paper.compute, store, data_dir=DATA)
    cells = table.cells(results)
    assert all(claim.found for claim in table.claims(results))
    printed = {
        (row.dataset, row.method, row.setting, row.value)
        for row in published(name, number)
        if number != 7 or row.n_features == str(N_TIMED_FEATURES)
    }
    rows = [cell for cell in cells if cell.dataset in small]
    assert {cell.dataset for cell in rows} == small
    assert np.isfinite([cell.ours for cell in cells]).all()
    shown = {(cell.dataset, cell.method, cell.setting, cell.published) for cell in rows}
    wanted = {row for row in printed if row[0] in small}
    assert wanted <= shown
