"""Tests of `make mutants`: the choice of tests, the outcome of a mutant, and the report."""

import signal
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = "src/linkselect/graphs/_graph_types.py"


@pytest.fixture
def part(monkeypatch):
    """Import a benchmark module, which is not part of the library."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


@pytest.fixture
def cover(part):
    seconds = {
        "tests/all_selectors/test_broad.py::test_a[1]": 0.1,
        "tests/all_selectors/test_broad.py::test_a[2]": 0.2,
        "tests/all_selectors/test_broad.py::test_b": 0.3,
        "tests/graphs/test_graph_types.py::test_c": 9.0,
    }
    lines = {"1": [], "5": [0, 1, 2], "7": [3]}
    return part("mutation.covering").Cover([{"seconds": seconds, "lines": {SOURCE: lines}}])


def test_tests_that_cover_a_line(cover):
    code = "def f(a=1):\n  if a:\n    a = [\n      1,\n      2,\n    ]\n  g()\n"
    assert cover.reaching(SOURCE, code, 7) == {"tests/graphs/test_graph_types.py::test_c"}
    assert len(cover.reaching(SOURCE, code, 4)) == 3, "a statement is reached as a whole"
    assert len(cover.reaching(SOURCE, code, 1)) == 4, "what runs at import concerns the whole file"
    assert cover.reaching(SOURCE, code, 2) == set(), "nothing reaches it"


def test_the_test_file_of_a_module_comes_first(cover):
    names = [test.split("::")[1] for test in cover.in_order(cover.seconds, SOURCE, 60)]
    assert names == ["test_c", "test_a[1]", "test_b", "test_a[2]"]
    names = [test.split("::")[1] for test in cover.in_order(cover.seconds, SOURCE, 9.25)]
    assert names == ["test_c", "test_a[1]"]
    assert len(cover.in_order(cover.seconds, SOURCE, 0)) == 1, "never none"


def test_lines_of_the_statement_around_a_line(part):
    lines = part("mutation.covering").statement_lines
    code = "x = [\n    1,\n    2,\n]\nif (\n    x\n):\n    y = 3\n"
    assert list(lines(code, 3)) == [1, 2, 3, 4]
    assert list(lines(code, 6)) == [5, 6, 7]
    assert list(lines(code, 8)) == [8]


def test_outcomes_by_exit_status(part):
    outcome = part("mutation.trying").outcome
    assert [outcome(code) for code in (0, 1, 2)] == ["survived", "killed", "killed"]
    assert outcome(-signal.SIGPROF) == "hangs"
    assert outcome(-signal.SIGSEGV) == "crashes"
    with pytest.raises(SystemExit, match="says nothing"):
        outcome(3)


def test_the_share_ignores_equivalent_mutants(part):
    mutants = part("mutants")
    ends = ["killed", "hangs", "crashes", "survived", "survived"]
    lines = [
        {"path": SOURCE, "function": "f", "before": str(n), "after": "", "outcome": end}
        for n, end in enumerate(ends)
    ]
    said, *table = mutants.table_of(lines, {mutants.key_of(lines[3]): "only faster"}, 70, 9)
    assert "| `graphs` | 5 | 3 | 1 | 1 | 75.0 % |" in table
    assert "Of 5 mutants (seed 9, 70 places)" in said


def test_a_report_replaces_only_the_table_of_its_seed(part, tmp_path, monkeypatch, capsys):
    mutants = part("mutants")
    monkeypatch.setattr(mutants, "PAGE", tmp_path / "page.md")
    places = [mutants.place_of(seed, is_first) for seed in (8, 9) for is_first in (True, False)]
    page = "\n".join(f"<!-- measured: {place} -->\nold\n<!-- end -->" for place in places[1:])
    mutants.PAGE.write_text(page)
    line = {"path": SOURCE, "function": "f", "before": "", "after": "", "outcome": "killed"}
    mutant = SimpleNamespace(key=mutants.key_of(line))

    def report(seed, is_first):
        options = SimpleNamespace(seed=seed, first=is_first)
        assert not mutants.report([mutant], {mutant.key: line}, 70, options)
        return mutants.PAGE.read_text()

    assert report(8, True) == page, "there is no place for it"
    assert "Of 1 mutants (seed 8," in capsys.readouterr().out
    written = report(9, True).split("<!-- end -->")
    assert [("(seed 9," in part, "old" in part) for part in written[:3]] == [
        (False, True),
        (True, False),
        (False, True),
    ]


def test_survivors_are_tried_again_with_different_or_more_tests(part):
    mutants = part("mutants")
    tests = ["tests/graphs/test_graph_types.py::test_a", "tests/graphs/test_graph_types.py::test_b"]
    survived = {"outcome": "survived", "tests": mutants.hash_of_tests(tests), "budget": 5}
    assert mutants.needs_trial(None, tests, 5)
    assert not mutants.needs_trial(survived, tests, 5)
    assert mutants.needs_trial(survived, tests, 30)
    assert mutants.needs_trial(survived, tests[:1], 5)
    assert mutants.needs_trial({**survived, "tests": "of a file as it was"}, tests, 5)
    assert not mutants.needs_trial({**survived, "outcome": "killed"}, tests, 30)


def test_every_equivalent_mutant_has_a_reason(part):
    given = tomllib.loads((BENCHMARKS / "mutants_equivalent.toml").read_text())["equivalent"]
    assert len(part("mutants").read_equivalent()) == len(given), "one is named twice"
    package = BENCHMARKS.parent / "src" / "linkselect"
    for one in given:
        assert (package / one["file"]).exists(), one
        assert len(one["why"].split()) > 3, one
