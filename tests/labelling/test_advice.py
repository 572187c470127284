"""Advice on more answers, whose numbers must equal the documented measurements."""

import re
from pathlib import Path

import pytest

from linkselect.labelling._advice import MOST_ANSWERS, N_SETS, STATES, advice

PAGE = Path(__file__).parents[2] / "docs" / "asking_simulation.md"


@pytest.mark.parametrize(
    ("n_kept", "n_best", "begin"),
    [
        (10, 10, "20 more answers are unlikely to improve the ranking much. In"),
        (7, 10, "20 more answers are unlikely to improve the ranking much. In"),
        (6, 10, "20 more answers may improve the ranking slightly. In"),
        (4, 10, "20 more answers may improve the ranking slightly. In"),
        (3, 10, "The best features are still changing: keep answering. In"),
        (2, 3, "20 more answers may improve the ranking slightly. In"),
        (1, 1, "20 more answers are unlikely to improve the ranking much. In"),
        (0, 1, "The best features are still changing: keep answering. In"),
    ],
)
def test_it_depends_on_how_many_features_stayed(n_kept, n_best, begin):
    assert advice(n_kept, n_best, is_trusted=True).startswith(begin)


def test_no_advice_without_an_earlier_ranking():
    assert advice(None, 10, is_trusted=True) == ""


def test_an_unvalidated_ranking_still_needs_answers():
    said = advice(10, 10, is_trusted=False)
    assert said.startswith(
        "20 more answers are unlikely to improve the ranking much. More answers would help to "
        "validate the ranking."
    )
    assert advice(0, 10, is_trusted=False) == advice(0, 10, is_trusted=True)


def test_its_numbers_are_those_of_the_table():
    page = PAGE.read_text(encoding="utf-8")
    table = re.search(r"<!-- measured: advice -->\n(.*?)<!-- end -->", page, re.DOTALL)[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) == len(STATES)
    for state, row in zip(STATES, rows, strict=True):
        assert row[0] == (f"{100 * state.least:.0f} % or more" if state.least else "less")
        assert int(row[3].split()[0]) == state.gained
        assert int(row[5].split()[0]) == state.lost
        said = advice(int(10 * state.least), 10, is_trusted=True)
        assert f"in {state.gained} % of such cases and reduced it" in said
        assert f"percentage point in {state.lost} %." in said
    assert f"{N_SETS} data sets" in page
    assert f"{MOST_ANSWERS} answers" in page
