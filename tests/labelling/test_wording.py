"""Plain sentences after every tenth answer."""

import pytest

from linkselect.labelling._wording import change_sentence, held_out_sentence

GOOD = {"value": 0.9, "low": 0.8, "high": 1.0, "better_than_chance": True}
UNTESTED = {**GOOD, "better_than_chance": None}
BAD = {"value": 0.6, "low": 0.3, "high": 0.9, "better_than_chance": False}


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        ({"estimate": GOOD}, "better than chance on samples that had no part in it"),
        ({"estimate": BAD}, "Not shown to be better than chance yet"),
        ({"estimate": UNTESTED, "reason": "Too few pairs."}, "Too few pairs."),
        ({"estimate": None, "reason": "There is one must-link."}, "There is one must-link."),
        ({"estimate": None, "reason": None}, "Being computed."),
    ],
)
def test_held_out(checked, said):
    assert said in held_out_sentence(checked)


@pytest.mark.parametrize(
    ("n_kept", "estimate", "said"),
    [
        (5, GOOD, "5 of the 10 best features stayed over the last 10 answers: more answers will"),
        (5, BAD, "probably change them"),
        (9, GOOD, "probably change little"),
        (9, None, "probably change little"),
        (9, BAD, "not shown to be better than chance"),
    ],
)
def test_change(n_kept, estimate, said):
    assert said in change_sentence({"n_kept": n_kept, "n_best": 10, "estimate": estimate})


def test_one_feature_and_none():
    one = change_sentence({"n_kept": 1, "n_best": 1, "estimate": GOOD})
    assert one.startswith("The best feature stayed")
    assert change_sentence({"n_kept": None}) is None
