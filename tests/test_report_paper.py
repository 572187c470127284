import re

import pytest

from linkselect.experiments.paper import Cell, Claim
from linkselect.report.paper import (
    FigureContent,
    Page,
    TableContent,
    agreement_text,
    paper_page,
    shown,
    shown_difference,
)

CELLS = [
    Cell("Wine", "Variance", "", "12", 90.0, 91.0),
    Cell("Wine", "<Fisher>", "", "11", 90.0, 93.0),
    Cell("Sonar", "Variance", "", "", 90.0, 80.0),
    Cell("Sonar", "<Fisher>", "", "", None, 70.0),
]


@pytest.fixture
def page():
    table = TableContent(2, "Accuracies", "accuracy, %", CELLS, [Claim("A & B", False, "x < y")])
    figure = FigureContent(1, "Curves", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    return paper_page(Page("a-paper", "A <title>", 3, 7, [table, figure]))


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


def test_the_page_needs_nothing_else(page):
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "@import" not in page
    assert page.count("<script") == 1
    assert "data:image/svg+xml;base64," in page


def test_the_page_says_how_it_came_about(page):
    assert re.search(r"a-paper, repeated with linkselect \S+: 3 runs, seed 7\.", page)
    assert "Not held." in page


def test_numbers_of_features_part_rows():
    cells = [Cell("ORL", "A", "seconds", m, 1.0, 2.0) for m in ("20", "50")]
    text = paper_page(Page("p", "t", 1, 0, [TableContent(7, "Times", "seconds", cells)]))
    assert "seconds, 20 features" in text
    assert "seconds, 50 features" in text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(95.04, "accuracy, %", "95.0"), (0.01234, "seconds", "0.0123"), (171.25, "", "171.2")],
)
def test_digits(value, unit, text):
    assert shown(value, unit) == text


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    assert shown_difference(Cell("", "", "", "", 90.0, 89.99), "%") == "0.0"


def test_agreement():
    assert agreement_text(CELLS, "accuracy, %") == "1 of 3 within 2 points, 2 within 4 points"
    assert agreement_text(CELLS[:2], "seconds") == "2 of 2 within 5 %, 2 within 10 %"
    assert "no numbers" in agreement_text(CELLS[3:], "%")


def test_a_table_without_published_numbers_ends_in_one_full_stop():
    cells = [Cell("ORL", "A", "seconds", "", None, 2.0)]
    text = paper_page(Page("p", "t", 1, 0, [TableContent(7, "Times", "seconds", cells)]))
    assert "prints no numbers for this table." in text
    assert "table.." not in text
