"""Tests of the benchmark that kills the server: no answer is lost."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "asking_kills.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("asking_kills", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_answer_is_lost_when_the_server_is_killed(script, tmp_path):
    n_confirmed, lost, left_over = script.kill_often(tmp_path, 2, seed=1)
    assert (lost, left_over) == ([], [])
    assert n_confirmed > 0


def test_two_windows_at_once(script, tmp_path):
    n_all, n_once, lost = script.answer_twice(tmp_path, 15)
    assert lost == []
    assert n_all == 30
    assert n_once > 15, "they ask different questions"


def test_lost_answers_are_found(script, tmp_path):
    out = tmp_path / "pairs.csv"
    out.write_text("a,b,link\n0,1,must\n2,3,cannot\n")
    there = [(1, 0, "alike"), (2, 3, "different")]
    assert script.lost(out, there) == []
    assert script.lost(out, [*there, (0, 3, "alike"), (0, 1, "different")]) == [
        (0, 3, "alike"),
        (0, 1, "different"),
    ]
