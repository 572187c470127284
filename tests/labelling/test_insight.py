"""Plain sentences about what the background found."""

import re
from types import SimpleNamespace

import pytest

from linkselect.labelling._background import Found
from tests.helpers.labellings import begun, page_of

GOOD = {"value": 0.9, "low": 0.8, "high": 1.0, "chance": 0.5}
GOOD |= {"better_than_chance": True, "was_better": True}
ONCE = {**GOOD, "was_better": False}
UNTESTED = {**GOOD, "better_than_chance": None}
BAD = {**GOOD, "value": 0.6, "low": 0.3, "better_than_chance": False}


@pytest.fixture
def said():
    """Return what the page says about a check, without its markup."""
    labelling = begun()

    def said(**checked):
        nothing = {"estimate": None, "reason": "", "n_kept": None, "n_best": 10, "n_answers": 20}
        nothing["advice"] = "Go on."
        found = Found(checked={**nothing, **checked})
        labelling.background = SimpleNamespace(found=found, busy=False, close=lambda: None)
        text = re.sub(r"<[^>]*>", " ", page_of(labelling, "/insight"))
        return " ".join(text.split())

    yield said
    labelling.close()


@pytest.mark.parametrize(
    ("checked", "sentence"),
    [
        ({"estimate": GOOD}, "that had no part in it, in two checks in a row."),
        ({"estimate": ONCE}, "Better than chance in this check."),
        ({"estimate": ONCE}, "it counts if the next one agrees."),
        ({"estimate": BAD}, "Not shown to be better than chance yet. Answer more before"),
        ({"estimate": UNTESTED, "reason": "Too few pairs."}, " Too few pairs. After 20"),
        ({"estimate": UNTESTED}, "Whether it is better than chance is not known."),
        ({"reason": "Cannot validate: there is one."}, "Not known yet: there is one. After 20"),
    ],
)
def test_held_out(said, checked, sentence):
    assert sentence in said(**checked)


@pytest.mark.parametrize(
    ("n_kept", "n_best", "sentence"),
    [
        (5, 10, " 5 of the 10 best features stayed over the last 10 answers. Go on. After"),
        (1, 1, " The best feature stayed the same over the last 10 answers. Go on. After"),
        (0, 1, " The best feature changed over the last 10 answers. Go on. After"),
        (None, 10, "in a row. After 20 answers."),
    ],
)
def test_change(said, n_kept, n_best, sentence):
    assert sentence in said(estimate=GOOD, n_kept=n_kept, n_best=n_best)
