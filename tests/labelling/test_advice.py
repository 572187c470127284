"""What is said about more answers, and that its numbers are those that were measured."""

import re
from pathlib import Path

import pytest

from linkselect.labelling._advice import MOST_ANSWERS, N_SETS, STATES, advice

PAGE = Path(__file__).parents[2] / "docs" / "asking_simulation.md"


@pytest.mark.parametrize(
    ("n_kept", "n_best", "begin"),
    [
        (10, 10, "20 more answers would probably improve the features little. In"),
        (7, 10, "20 more answers would probably improve the features little. In"),
        (6, 10, "20 more answers may improve the features a little. In"),
        (4, 10, "20 more answers may improve the features a little. In"),
        (3, 10, "The features still change: go on. In"),
        (2, 3, "20 more answers may improve the features a little. In"),
        (1, 1, "20 more answers would probably improve the features little. In"),
        (0, 1, "The features still change: go on. In"),
    ],
)
def test_it_depends_on_how_many_features_stayed(n_kept, n_best, begin):
    assert advice(n_kept, n_best, is_trusted=True).startswith(begin)


def test_nothing_is_said_without_an_earlier_list():
    assert advice(None, 10, is_trusted=True) == ""


def test_a_list_that_may_be_chance_still_needs_answers():
    said = advice(10, 10, is_trusted=False)
    assert said.startswith(
        "20 more answers would probably improve the features little, but help to"
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
        assert f" in {state.gained} of 100 runs and lost more than one in {state.lost}." in said
    assert f"{N_SETS} data sets" in page
    assert f"{MOST_ANSWERS} answers" in page
