"""Tests of the tables of docs/which_method.md and of the script that replaces them."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import linkselect as ls


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("which_method")


def test_link_selector_is_listed_first_in_every_table(bench):
    assert {type(methods[0]) for methods in bench.METHODS.values()} == {ls.LinkSelector}


def test_methods_have_the_same_names_as_on_the_page(bench):
    names = [bench.name_of(one) for methods in bench.METHODS.values() for one in methods]
    assert names[0] == "LinkSelector"
    assert {"Redundancy(FisherScore())", "SelectKBest(f_classif)"} < set(names)
    assert 'ConstraintScore(criterion="difference")' in names
    page = bench.PAGE.read_text(encoding="utf-8")
    assert [name for name in names if f"| `{name}` |" not in page] == []


def test_the_page_has_a_place_for_every_table(bench, monkeypatch, tmp_path, capsys):
    copy = tmp_path / "page.md"
    copy.write_text(bench.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(bench, "PAGE", copy)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    case = bench.Case(rng.normal(size=(40, 6)) + y[:, None] * np.arange(6), y, 2)
    monkeypatch.setattr(bench, "CASES", {"made": lambda: case})
    one_each = {kind: methods[:2] for kind, methods in bench.METHODS.items()}
    monkeypatch.setattr(bench, "METHODS", one_each)
    monkeypatch.setattr("sys.argv", ["which_method.py", "--splits", "2", "--write"])
    bench.main()
    text = copy.read_text(encoding="utf-8")
    assert text.count("| method | made |") == len(bench.METHODS) == 4
    assert len(re.findall(r"^\| `LinkSelector` \| [\d.]+ \|$", text, re.MULTILINE)) == 4
    assert text.count("| *random features* |") == text.count("| *all features* |") == 4
    assert "### Without supervision\n\n| method | made |" in text
    assert "# Which method should I use?" in text
    assert "### From all labels" in capsys.readouterr().out


def test_tables_of_some_data_sets_do_not_replace_the_page(bench, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["which_method.py", "--only", "wine", "--write"])
    with pytest.raises(SystemExit):
        bench.main()
    assert "--write needs all data sets" in capsys.readouterr().err
