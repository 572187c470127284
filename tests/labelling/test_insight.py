"""Sentences about the reliability of the ranking."""

import re
from types import SimpleNamespace

import pytest

from linkselect.labelling._background import Found
from tests.helpers.labellings import begun, page_of

GOOD = {"value": 0.9, "margin": 0.12, "low": 0.78, "high": 1.0, "chance": 0.5}
GOOD |= {"better_than_chance": True, "was_better": True}
ONCE = {**GOOD, "was_better": False}
UNTESTED = {**GOOD, "better_than_chance": None}
BAD = {**GOOD, "value": 0.6, "low": 0.3, "better_than_chance": False}


@pytest.fixture
def said():
    """Return the text of the page about a check, without markup."""
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
        ({"estimate": GOOD}, "AUC 0.90 ± 0.12 (2 standard errors) on held-out pairs; chance: 0.50"),
        ({"estimate": GOOD}, "Better than chance on held-out samples in two consecutive checks."),
        ({"estimate": ONCE}, "Better than chance in this check."),
        ({"estimate": ONCE}, "wait for the next one to confirm it."),
        ({"estimate": BAD}, "Not yet shown to be better than chance. Answer more questions"),
        ({"estimate": UNTESTED, "reason": "Too few pairs."}, " Too few pairs. Checked after 20"),
        ({"estimate": UNTESTED}, "The ranking cannot be compared with chance yet."),
        (
            {"reason": "Cannot validate: there is one."},
            "Cannot validate yet: there is one. Checked",
        ),
        ({"reason": "Cannot validate: no must-links."}, "Cannot validate yet: no alike pairs."),
    ],
)
def test_held_out(said, checked, sentence):
    assert sentence in said(**checked)


@pytest.mark.parametrize(
    ("n_kept", "n_best", "sentence"),
    [
        (5, 10, " 5 of the 10 best features are the same as 10 answers ago. Go on. Checked"),
        (1, 1, " The best feature is the same as 10 answers ago. Go on. Checked"),
        (0, 1, " The best feature differs from 10 answers ago. Go on. Checked"),
        (None, 10, "consecutive checks. Checked after 20 answers."),
    ],
)
def test_change(said, n_kept, n_best, sentence):
    assert sentence in said(estimate=GOOD, n_kept=n_kept, n_best=n_best)
