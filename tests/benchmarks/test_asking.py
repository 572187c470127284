"""Tests of the simulated annotator: which results count, stored results, and the tables."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from linkselect import Pairs
from linkselect.asking import PairQueries
from linkselect.asking._strategies import Situation

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def blobs(n_samples=60, n_features=12):
    y = np.arange(n_samples) % 3
    X = np.random.default_rng(0).normal(size=(n_samples, n_features))
    X[:, :3] += 3.0 * y[:, None]
    return X, y


def unit(name, draw, order, gain, person="always right"):
    accuracy = [[50.0 + gain, 60.0 + gain]] * 4
    return ("order", name, draw, person, order), {"accuracy": accuracy, "answers": [[5, 5, 0]] * 4}


def test_draws_count_for_their_data_set_and_only_in_pairs(module):
    tables = module("asking_tables")
    units = [unit("khan", draw, "random", 0.0) for draw in range(3)]
    units += [unit("khan", 0, "grow", 1.0), unit("khan", 1, "grow", 3.0)]
    units += [unit("sonar", 0, "random", 0.0), unit("sonar", 0, "grow", 10.0)]
    units += [unit("su", 0, "grow", 70.0), unit("colon", 0, "random", 70.0)]
    found, n_draws = tables.gains(dict(units), "grow", ("always right",), ("khan", "sonar", "su"))
    np.testing.assert_allclose(found, [[2.0] * 4, [10.0] * 4])
    assert n_draws == 1
    assert tables.with_error(found[:, 0]) == "+6.0 ± 4.0"


@pytest.mark.parametrize("person", ["always right", "10 % wrong", "20 % unsure"])
def test_a_person_errs_and_hesitates_as_specified(module, person):
    X, y = blobs()
    asking = module("asking_person")
    wrong, unsure = asking.PERSONS[person]
    (*_, queries) = asking.answered(X, y, "random", 0, person, 80)
    pairs = queries.pairs
    n_wrong = sum(y[a] != y[b] for a, b in pairs.must) + sum(y[a] == y[b] for a, b in pairs.cannot)
    assert (n_wrong > 0) == (wrong > 0)
    assert (queries.counts["unsure"] > 0) == (unsure > 0)
    assert len(queries.history) == 80


def test_stored_results_are_not_computed_again(module, monkeypatch, tmp_path, capsys):
    asking = module("asking_person")
    monkeypatch.setattr(asking, "STORE", tmp_path / "asking.jsonl")
    asking.run([("twice", 1), ("twice", 2)], {"twice": lambda value: 2 * value})
    asking.run([("twice", 2), ("once", 3)], {"once": lambda value: value})
    assert asking.stored() == {("twice", 1): 2, ("twice", 2): 4, ("once", 3): 3}
    assert "1 of 1" in capsys.readouterr().err


def test_every_strategy_asks_only_undetermined_pairs(module):
    X, y = blobs()
    for strategy in module("asking_orders").TRIED.values():
        queries, history = PairQueries(X, random_state=0), ()
        for _ in range(40):
            order = np.random.default_rng(0).permutation(60)
            now = Situation(queries._samples, queries._all.known, history, len(history), order, 0)
            a, b = strategy(now)
            assert queries.follows((a, b)) is None
            said = "alike" if y[a] == y[b] else "different"
            queries.answer((a, b), said)
            history += ((a, b, said),)


def test_expected_differences_equal_those_of_the_model(module):
    orders = module("asking_orders")
    X, _ = blobs()
    queries = PairQueries(X, Pairs(must=[(0, 3), (1, 4), (4, 7)]), random_state=0)
    F = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    F -= F.mean(axis=0)
    K = F @ F.T
    Q = np.zeros((60, 3))
    for link, (a, b) in enumerate(queries.pairs.must):
        Q[a, link], Q[b, link] = 1.0, -1.0
    noise = 0.03 * np.trace(K) / 60
    T = K - K @ Q @ np.linalg.inv(Q.T @ K @ Q + noise * np.eye(3)) @ Q.T @ K
    rows = np.arange(60)
    expected = np.diag(T)[:, None] + np.diag(T) - 2 * T
    posterior = orders.Posterior(queries._samples)
    np.testing.assert_allclose(posterior.gaps(queries._all.known, rows, rows), expected, atol=1e-9)
    # Without an answer, the posterior equals that of the remaining pairs alone.
    fewer = PairQueries(X, Pairs(must=[(0, 3), (4, 7)]), random_state=0)
    link = np.array([[1, 4]])
    np.testing.assert_allclose(
        posterior.as_before(queries._all.known, link), posterior.gaps_of(fewer._all.known, link)
    )


def course(gains, stayed=1.0, alike=3, n_answers=10):
    """Return states after every ten answers, whose accuracy grows by `gains`."""
    reached = 50.0 + np.cumsum(gains)
    same = {"best": [1.0] * 3, "many": [1.0] * 3, "stayed": stayed, "auc": None, "p": None}
    return [
        {"answers": [alike, n_answers * place - alike, 0], "accuracy": [value, value], **same}
        for place, value in enumerate(reached, start=1)
    ]


def test_states_have_earlier_and_later_results(module):
    states = module("asking_advice").states
    units = {("course", "khan", 0, "always right"): course([0, 1, 2, 4, 8])}
    found = states(units, ("khan",))
    assert [(one.known["answers"], one.gain) for one in found] == [(20, 6.0), (30, 12.0)]
    assert states(units, ("sonar",)) == []
    without = {("course", "khan", 0, "always right"): course([0, 1, 2, 4, 8], alike=0)}
    assert states(without, ("khan",)) == [], "nothing was ranked ten answers ago"
    ended = {("course", "khan", 0, "always right"): course([0, 1, 2, 4, 8], n_answers=9)}
    assert states(ended, ("khan",)) == [], "no question was left"


def test_advice_groups_runs_by_stability(module):
    tables = module("asking_advice")
    units = {}
    for draw in range(10):
        units["course", "khan", draw, "always right"] = course([0, 0, 0, 5.0], stayed=0.3)
        units["course", "sonar", draw, "always right"] = course([0, 0, 0, draw / 4], stayed=0.9)
        units["course", "su", draw, "always right"] = course([0, 0, 0, -3.0], stayed=0.4)
    most, some, least = tables.advice_table(units, ("khan", "sonar", "su"))[2:]
    assert most.startswith("| 70 % or more | 10 | +1.1 [+1.1, +1.1] | 50 % [50, 50] | 10 % | 0 % |")
    assert some == "| 40 % or more | 10 | -3.0 [-3.0, -3.0] | 0 % [0, 0] | 0 % | 100 % |"
    assert least == "| less | 10 | +5.0 [+5.0, +5.0] | 100 % [100, 100] | 100 % | 0 % |"
    share, better = tables.forecast(tables.states(units, ("khan", "sonar")), "answers")
    assert share == pytest.approx(0.0)
    assert len(better) == 2


def test_noise_counts_single_and_consecutive_results(module):
    noise_table = module("asking_advice").noise_table
    p_values = ([0.5, None, 0.025, 0.5], [0.5, 0.02, 0.01, 0.5], [None] * 4, [0.3] * 4)
    units = {("noise", seed, 2, "grow"): found for seed, found in enumerate(p_values)}
    (row,) = noise_table(units)[2:]
    assert row == "| grow | 4 | 2.8 | 27.3 % | 50.0 ± 35.4 % | 25.0 ± 25.0 % |"
