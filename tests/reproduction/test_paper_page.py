import re

import pytest

from linkselect.reproduction._paper import Cell, Claim, Figure, Paper, PaperTable
from linkselect.reproduction._paper_page import paper_page, shown, shown_difference
from linkselect.reproduction._results_folder import Record, write_cells, write_records

CELLS = [
    Cell("Wine", "Variance", "", "12", 90.0, 91.0),
    Cell("Wine", "<Fisher>", "", "11", 90.0, 93.0),
    Cell("Sonar", "Variance", "", "", 90.0, 80.0),
    Cell("Sonar", "<Fisher>", "", "", None, 70.0),
]


RECORD = Record("Table 2", 1, 3, 7, claims=(Claim("A & B", False, "x < y"),))


def nothing(*arguments):
    return []


def made_page(folder, cells, records, unit="accuracy, %"):
    """Return the page of a paper with one table and one figure."""
    table = PaperTable(2, "Accuracies", nothing, nothing, unit, marks={"Variance": "sees [more]"})
    figure = Figure(1, "Curves", nothing, nothing)
    write_cells(folder / "table-2.csv", cells)
    (folder / "figure-1.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    write_records(folder, records)
    paper = Paper("a-paper", "A <title>", nothing, {2: table}, {1: figure})
    return paper_page(paper, folder)


@pytest.fixture
def page(tmp_path):
    return made_page(tmp_path, CELLS, [RECORD, Record("Figure 1", 5, 5, 8)])


def test_numbers(page):
    rows = re.findall(r"<tr><th scope=\"row\" class=\"row\">(.*?)</tr>", page, flags=re.DOTALL)
    assert len(rows) == 2
    assert re.findall(r'class="ours">(.*?)<', rows[0]) == ["91.0", "93.0"]
    assert re.findall(r'class="difference (\w+)">(.*?)<', rows[0]) == [
        ("near", "+1.0"),
        ("fair", "+3.0"),
    ]
    assert re.findall(r'class="difference (\w+)">(.*?)<', rows[1]) == [
        ("far", "-10.0"),
        ("unknown", "-"),
    ]


def test_text_is_escaped(page):
    assert "A &lt;title&gt;" in page
    assert "&lt;Fisher&gt;" in page
    assert "A &amp; B" in page


def test_the_page_is_self_contained(page):
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "@import" not in page
    assert page.count("<script") == 1
    assert "data:image/svg+xml;base64," in page


def test_each_part_states_its_runs_seed_and_version(page):
    assert re.search(r"accuracy, %. 1 to 3 runs, seed 7, linkselect \S+\. Each cell", page)
    assert re.search(r"5 runs, seed 8, linkselect \S+\.</p>\n<figure>", page)
    assert "Does not hold." in page
    assert "Variance (sees [more])" in page


def test_only_computed_parts_are_shown(tmp_path):
    text = made_page(tmp_path, CELLS, [RECORD])
    assert "Table 2" in text
    assert "Figure 1" not in text


def test_units_are_not_mixed(tmp_path):
    cells = [
        Cell("Wine", "A", "m: number of features", "", 100.0, 110.0),
        Cell("Average rank", "A", "", "", 2.0, 2.25),
    ]
    text = made_page(tmp_path, cells, [RECORD])
    assert re.findall(r'class="ours">(.*?)<', text) == ["110", "2.25"]
    assert re.findall(r'class="difference (\w+)">(.*?)<', text) == [
        ("near", "+10"),
        ("near", "+0.25"),
    ]


def test_a_setting_common_to_all_rows_has_no_column(tmp_path):
    cells = [Cell(name, "A", "p=3, means", "", 90.0, 91.0) for name in ("Wine", "Sonar")]
    text = made_page(tmp_path, cells, [RECORD])
    assert "accuracy, %; p=3, means. 1 to 3 runs" in text
    assert text.count("p=3, means") == 1
    assert '<th scope="col">setting</th>' not in text
    text = made_page(tmp_path, [*cells, Cell("Wine", "A", "p=4", "", 90.0, 91.0)], [RECORD])
    assert "<td>p=3, means</td>" in text
    assert '<th scope="col">setting</th>' in text


def test_numbers_of_features_are_shown_in_separate_rows(tmp_path):
    cells = [Cell("ORL", "A", "seconds", m, 1.0, 2.0) for m in ("20", "50")]
    text = made_page(tmp_path, cells, [RECORD], "seconds")
    assert "seconds, 20 features" in text
    assert "seconds, 50 features" in text
    assert re.findall(r'class="difference (\w+)"', text) == ["unknown"] * 2


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (95.04, "accuracy, %", "95.0"),
        (0.01234, "seconds", "0.0123"),
        (171.25, "", "171.2"),
        (4.0, "number of links", "4"),
        (24.5, "number of features", "24.5"),
        (0.85961, "share", "0.8596"),
        (24036.96, "ratio", "24037.0"),
        (84.0, "rank sum, scaled", "84.0"),
    ],
)
def test_digits(value, unit, text):
    assert shown(value, unit) == text


def test_a_difference_that_rounds_to_zero_has_no_sign():
    assert shown_difference(Cell("", "", "", "", 90.0, 89.99), "%") == "0.0"
