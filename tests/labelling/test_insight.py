"""Plain sentences about what the background found."""

import re
from types import SimpleNamespace

import pytest

from linkselect.labelling._background import Found
from tests.helpers.labellings import begun, page_of

GOOD = {"value": 0.9, "low": 0.8, "high": 1.0, "chance": 0.5, "better_than_chance": True}
UNTESTED = {**GOOD, "better_than_chance": None}
BAD = {**GOOD, "value": 0.6, "low": 0.3, "better_than_chance": False}


@pytest.fixture
def said():
    """Return what the page says about a check, without its markup."""
    labelling = begun()

    def said(**checked):
        nothing = {"estimate": None, "reason": None, "n_kept": None, "n_answers": 20}
        found = Found(checked={**nothing, **checked})
        labelling.background = SimpleNamespace(found=found, busy=False, close=lambda: None)
        text = re.sub(r"<[^>]*>", " ", page_of(labelling, "/insight"))
        return " ".join(text.split())

    yield said
    labelling.close()


@pytest.mark.parametrize(
    ("checked", "sentence"),
    [
        ({"estimate": GOOD}, "better than chance on samples that had no part in it."),
        ({"estimate": BAD}, "Not shown to be better than chance yet. Answer more before"),
        ({"estimate": UNTESTED, "reason": "Too few pairs."}, " Too few pairs. After 20"),
        ({"estimate": UNTESTED}, "Whether it is better than chance is not known."),
        ({"reason": "Cannot validate: there is one."}, "Not known yet: there is one. After 20"),
        ({}, "trusted? Being computed. After 20 answers."),
    ],
)
def test_held_out(said, checked, sentence):
    assert sentence in said(**checked)


@pytest.mark.parametrize(
    ("n_kept", "mostly", "estimate", "sentence"),
    [
        (
            5,
            False,
            GOOD,
            " 5 of the 10 best features stayed over the last 10 answers: more answers",
        ),
        (5, False, BAD, "answers: more answers will probably change them."),
        (9, True, GOOD, "answers: more answers will probably change little."),
        (9, True, None, "answers: more answers will probably change little."),
        (9, True, BAD, "answers, but they are not shown to be better than chance."),
    ],
)
def test_change(said, n_kept, mostly, estimate, sentence):
    text = said(n_kept=n_kept, n_best=10, mostly_kept=mostly, estimate=estimate)
    assert sentence in text


def test_one_feature_and_none(said):
    one = said(n_kept=1, n_best=1, mostly_kept=True, estimate=GOOD)
    assert "no part in it. The best feature stayed the same over the last 10 answers: more" in one
    assert "stayed" not in said(estimate=GOOD)
