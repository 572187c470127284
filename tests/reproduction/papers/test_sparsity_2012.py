from dataclasses import replace

import numpy as np
import pytest

from linkselect.reproduction._paper import Unit
from linkselect.reproduction._papers import sparsity_2012
from linkselect.reproduction._papers.sparsity_2012 import METHODS, PAPER

TABLE, FIGURE = PAPER.tables[2], PAPER.figures[1]


def made_up(accuracy_of):
    """Return results with accuracies given by a function of data set, method and count."""
    results = {}
    for unit in TABLE.units(2):
        counts = [4] if unit.method == "All features" else [1, 2, 3, 4]
        values = [accuracy_of(unit.dataset, unit.method, count) for count in counts]
        results[unit] = {"n_features": counts, "accuracy": values}
    return results


def lead(dataset, method, count):
    return 0.5 + 0.1 * count + 0.05 * (method == "Sparsity Score")


def level(dataset, method, count):
    return 0.5


def verdicts(claims):
    return {claim.text: claim.held for claim in claims}


def test_units():
    units = TABLE.units(3)
    assert len(units) == len(set(units)) == 6 * 6 * 3
    assert set(FIGURE.units(3)) == set(units)


def test_a_cell_is_the_maximum_of_the_mean_curve():
    results = made_up(level)
    first, second = (Unit("svm", "Wine", "Variance", run) for run in (0, 1))
    results[first] = {"n_features": [1, 2], "accuracy": [0.9, 0.5]}
    results[second] = {"n_features": [1, 2], "accuracy": [0.5, 0.8]}
    cells = TABLE.cells(results)
    (cell,) = (c for c in cells if (c.dataset, c.method) == ("Wine", "Variance"))
    assert cell.ours == pytest.approx(70.0)
    assert cell.published == 95.4
    assert cell.n_features == "11"


def test_all_published_numbers_have_a_cell():
    assert len(TABLE.cells(made_up(level))) == 36


def test_claims_hold_if_the_score_leads():
    results = made_up(lead)
    assert all(verdicts([*TABLE.claims(results), *FIGURE.claims(results)]).values())


def test_equal_methods_do_not_lead():
    results = made_up(level)
    assert not any(verdicts([*TABLE.claims(results), *FIGURE.claims(results)]).values())


def test_claims_count_data_sets():
    def ahead_on_four(dataset, method, count):
        behind = dataset in ("Wine", "Hepatitis")
        return 0.5 + 0.1 * (method == "Sparsity Score") * (-1 if behind else 1)

    claims = TABLE.claims(made_up(ahead_on_four))
    held = verdicts(claims)
    assert not held["SS is more accurate than LS"]
    assert held["SS is more accurate than FS in most cases"]
    assert claims[0].found.startswith("on 4 of 6 sets: Ionosphere")


def test_gene_sets_are_evaluated_below_all_features():
    assert sparsity_2012._counts(2000)[-1] == 400
    assert sparsity_2012._counts(13) == list(range(1, 14))


def test_panels():
    results = made_up(level)
    colon = {unit: result for unit, result in results.items() if unit.dataset == "Colon Cancer"}
    (panel,) = FIGURE.panels(colon)
    assert panel.title == "Colon Cancer"
    assert list(panel.series) == list(METHODS)
    assert list(panel.series["Variance"].x) == [1, 2, 3, 4]


def test_a_change_of_the_svm_changes_the_protocol():
    before = PAPER.protocol_text
    changed = replace(PAPER, protocol=PAPER.protocol | {"SVM": {"C": 2.0, "gamma": "scale"}})
    assert changed.protocol_text != before
    assert sparsity_2012.SVM_CURVE.keywords == PAPER.protocol["SVM"]


@pytest.mark.parametrize("method", ["Fisher Score", "Laplacian Score", "All features"])
def test_one_unit_of_wine(method):
    result = PAPER.compute(Unit("svm", "Wine", method, 0), None)
    assert result["n_features"][-1] == 13
    assert result["accuracy"][-1] == pytest.approx(0.98, abs=0.02)
    assert result == PAPER.compute(Unit("svm", "Wine", method, 0), None)


def test_supervised_methods_never_see_labels_of_test_rows(monkeypatch):
    """Random labels must not be learnt, which would happen with a ranking on all rows."""
    random = np.random.default_rng(0)
    X, y = random.random((60, 400)), np.arange(60) % 2
    monkeypatch.setattr(sparsity_2012, "_prepared", lambda dataset, data_dir: (X, y))
    found = [
        PAPER.compute(Unit("svm", "Wine", "Fisher Score", run), None)["accuracy"]
        for run in range(3)
    ]
    assert np.mean(found) < 0.65
