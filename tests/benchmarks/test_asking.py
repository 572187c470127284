"""The simulation of a person who is asked: what is counted, and that it can be stopped."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def asking(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("asking")
    monkeypatch.setattr(module, "STORE", tmp_path / "asking.jsonl")
    return module


def unit(name, seed, grow, method="constraint"):
    found = {"method": method, "person": "always right", "set": name, "seed": seed}
    return found | {"random": [50.0] * 4, "grow": grow, "minmax": [50.0] * 4}


def test_only_seeds_that_were_run_on_all_sets_count(asking):
    units = [unit(name, 0, [51.0, 52.0, 50.0, 40.0]) for name in asking.SETS]
    units += [unit(name, 1, [90.0] * 4) for name in asking.SETS[1:]]
    seeds = asking.whole_seeds(units, "constraint", "always right")
    np.testing.assert_allclose(asking.mean_over_sets(seeds, "grow"), [[51.0, 52.0, 50.0, 40.0]])
    text = asking.tables(units)
    assert "| +1.0 | +2.0 | +0.0 | -10.0 | 1 |" in text
    assert "| wine | 50.0 | 52.0 | 50.0 | +2.0 | +0.0 | 1 |" in text


def test_a_person_answers_as_often_as_it_says(asking):
    X, y = asking.prepared("wine")
    for person, (wrong, unsure) in asking.PERSONS.items():
        after = list(asking.pairs_after(X, y, "random", 0, person))
        last = after[-1]
        n_wrong = sum(y[a] != y[b] for a, b in last.must) + sum(
            y[a] == y[b] for a, b in last.cannot
        )
        assert (n_wrong > 0) == (wrong > 0)
        assert (last.n_must + last.n_cannot < 80) == (unsure > 0)
        assert after[0].n_must + after[0].n_cannot <= 10


def test_what_was_run_is_not_run_again(asking, monkeypatch):
    options = SimpleNamespace(
        methods=["constraint"], persons=["always right"], sets=["wine"], seeds=1
    )
    first = asking.simulated(options)
    assert [json.loads(line) for line in asking.STORE.read_text().splitlines()] == first
    monkeypatch.setattr(asking, "units_of", None)
    assert asking.simulated(options) == first
