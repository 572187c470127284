import numpy as np
import pytest

from linkselect.reproduction._paper import Unit
from linkselect.reproduction._papers import frll_2013
from linkselect.reproduction._papers.frll_2013 import COUNTS, METHODS, PAPER, TIMED
from tests.conftest import DATA

CURVES, TIMES = PAPER.figures[1], PAPER.figures[2]


def as_published(unit):
    """Return curves as the paper describes them."""
    n = np.array(COUNTS)
    peak = 0.8 - 0.1 * np.abs(np.log(n / 100))
    if unit.method in ("FRLL-Q", "FRLL-D"):
        leader = "FRLL-D" if unit.dataset == "PIE" else "FRLL-Q"
        nearest = peak + (0.05 if unit.method == leader else 0.02)
    else:
        nearest = peak + 0.1 * (n <= 10) * unit.method.startswith("MRMR") * 1.0
    svm = peak + 0.04 * (unit.dataset == "Yale") * (unit.method == "FRLL-D")
    return {"n_features": list(COUNTS), "nearest": nearest.tolist(), "svm": svm.tolist()}


def verdicts(claims):
    return {claim.text: claim.held for claim in claims}


def test_claims_hold_on_curves_as_published():
    results = {unit: as_published(unit) for unit in CURVES.units(2)}
    held = verdicts(CURVES.claims(results))
    assert len(held) == 15
    assert all(held.values()), held


def test_claims_fail_if_another_method_leads():
    results = {unit: as_published(unit) for unit in CURVES.units(1)}
    for unit, result in results.items():
        if unit.method == "FCBF":
            result["nearest"] = [value + 0.3 for value in result["nearest"]]
    held = verdicts(CURVES.claims(results))
    assert not held["On Yale, 1-NN is most accurate with FRLL-Q"]
    overall = [value for text, value in held.items() if "highest mean" in text]
    assert len(overall) == 3
    assert not any(overall)


def test_a_method_that_never_catches_up_is_named():
    results = {unit: as_published(unit) for unit in CURVES.units(1)}
    for unit, result in results.items():
        if unit.method == "MRMR-Diff":
            result["nearest"] = [value + 0.3 for value in result["nearest"]]
    claims = CURVES.claims(results)
    found = [claim.found for claim in claims if claim.text.startswith("With very few")]
    assert len(found) == 3
    assert all(text.endswith("FRLL never catches up") for text in found)


def test_panels():
    results = {unit: as_published(unit) for unit in CURVES.units(2)}
    panels = CURVES.panels(results)
    assert [panel.title for panel in panels] == [
        f"{dataset}, {classifier}"
        for classifier in ("1-NN", "linear SVM")
        for dataset in ("Yale", "YaleB", "PIE")
    ]
    assert all(set(panel.series) == set(METHODS) for panel in panels)
    assert panels[0].series["FRLL-Q"].y[COUNTS.index(100)] == pytest.approx(85.0)


def test_times():
    def seconds(unit):
        wanted = dict(unit.parameters)
        cost = {"FRLL-Q": 3, "RELIEF-F": wanted["n_classes"], "FCBF": 5}[unit.method]
        return {"seconds": cost * wanted["n_per_class"] / 1000}

    results = {unit: seconds(unit) for unit in TIMES.units(2)}
    assert all(verdicts(TIMES.claims(results)).values())
    two_classes = TIMES.panels(results)[0]
    assert list(two_classes.series) == list(TIMED)
    assert list(two_classes.series["FRLL-Q"].x) == [6, 8, 10, 12, 14]
    assert list(two_classes.series["FRLL-Q"].y) == pytest.approx([9, 12, 15, 18, 21])


@pytest.fixture
def few_faces(load_data, monkeypatch):
    """Use three numbers of features and the available data."""
    load_data("yale_32x32")
    monkeypatch.setattr(frll_2013, "COUNTS", (5, 50, 1024))
    return DATA


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_one_unit_of_yale(method, few_faces):
    result = PAPER.compute(Unit("curves", "Yale", method, 0), few_faces)
    assert result["n_features"] == [5, 50, 1024]
    few, _, all_pixels = result["nearest"]
    assert all_pixels == pytest.approx(0.65, abs=0.06)
    assert 0.15 < few < all_pixels
    assert result["svm"][-1] == pytest.approx(0.75, abs=0.08)


@pytest.mark.filterwarnings("ignore:.*features (is|are) constant:UserWarning")
@pytest.mark.parametrize("method", TIMED)
def test_one_time(method, few_faces):
    parameters = (("n_classes", 2), ("n_per_class", 3))
    result = PAPER.compute(Unit("time", "Yale", method, 0, parameters), few_faces)
    assert result["seconds"] > 0
