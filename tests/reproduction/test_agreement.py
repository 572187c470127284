import pytest

from linkselect.reproduction._agreement import (
    Tolerance,
    agreement_text,
    compared,
    difference,
    same_winners,
    unit_of,
)
from linkselect.reproduction._paper import Cell
from linkselect.reproduction._published import published

CELLS = [
    Cell("Wine", "Variance", "p=2, r=5", "12", 90.0, 92.04),
    Cell("Wine", "Fisher, Score", "", "", 50.0, 46.0),
    Cell("Sonar", "Variance", "", "", None, 70.123456789),
]
RANK = Cell("Average rank", "C1", "", "", 2.0, 4.5)
NUMBER = Cell("Wine", "eps^S", "chosen m: number of features", "", 100.0, 102.0)


def n_within(distance, **options):
    return sum(Tolerance(distance, **options).agrees(cell) for cell in CELLS)


def test_differences():
    assert [difference(cell) for cell in CELLS] == [pytest.approx(2.04), -4.0, None]


def test_numbers_are_compared_without_scaling():
    assert n_within(2.0) == 0
    assert n_within(2.05) == 1
    assert n_within(4.0) == 2


def test_relative_differences():
    assert n_within(0.05, relative=True) == 1
    assert n_within(0.08, relative=True) == 2


def test_equal_up_to_rounding():
    assert Tolerance(2.0).agrees(Cell("", "", "", "", 0.1, 2.1))


def test_only_published_numbers_are_compared():
    assert compared(CELLS) == CELLS[:2]


def test_units_of_single_cells():
    found = [unit_of(cell, "accuracy, %") for cell in (CELLS[0], RANK, NUMBER)]
    assert found == ["accuracy, %", "average rank", "number of features"]
    links = [unit_of(Cell("", name, "", "", 1, 1), "") for name in ("|M|", "NML", "CNML")]
    assert links == ["number of links", "ratio", "share"]


def test_units_are_not_mixed():
    text = agreement_text([*CELLS, RANK, NUMBER], "accuracy, %")
    assert text == (
        "accuracy, %: 0 of 2 within 2 points, 2 within 4 points; average rank: 0 of 1 within 15 %; "
        "number of features: 1 of 1 within 15 %"
    )


def test_texts_of_other_units():
    ratios = [Cell("Wine", name, "", "", 90.0, ours) for name, ours in (("A", 91), ("B", 98))]
    assert agreement_text(ratios, "ratio") == "1 of 2 within 5 %, 2 within 10 %"
    assert "machines differ" in agreement_text(ratios, "seconds")
    assert "no numbers" in agreement_text(CELLS[2:], "%")


def test_winners():
    def row(dataset, *pairs):
        return [Cell(dataset, "", "p=2", "", told, ours) for told, ours in pairs]

    cells = [
        *row("same", (100, 110), (200, 180)),
        *row("other", (100, 180), (200, 110)),
        *row("tie", (100, 180), (100, 110), (200, 190)),
    ]
    rows = same_winners(cells)
    assert rows == {("same", "p=2"): True, ("other", "p=2"): False, ("tie", "p=2"): True}
    assert agreement_text(cells, "rank sum") == "the published winner wins in 2 of 3 rows"


def test_published_numbers():
    rows = published("sparsity-score-2012", 2)
    assert len(rows) == 36
    assert rows[0].dataset == "Wine"
    assert rows[0].method == "Sparsity Score"
    assert (rows[0].value, rows[0].n_features, rows[0].std) == (97.1, "12", None)
    assert published("sparsity-score-2012", 3) == []
