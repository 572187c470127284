"""Every example of the gallery runs, with the papers' data where they are and without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DATA

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run(example, data, folder, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("LINKSELECT_DATA", str(data))
    call = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(call, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_run_everywhere(example, tmp_path, monkeypatch):
    run(example, tmp_path, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["faces", "genes"])
def test_examples_run_with_the_papers_data(name, tmp_path, monkeypatch, load_data):
    load_data({"faces": "orl_32x32", "genes": "colon"}[name])
    run(EXAMPLES[0].with_name(f"{name}.py"), DATA, tmp_path, monkeypatch)


def test_the_wrong_way_looks_better_than_it_is(tmp_path, monkeypatch):
    """The page on genes says so; its own numbers must show it."""
    output = run(EXAMPLES[0].with_name("genes.py"), tmp_path, tmp_path, monkeypatch)
    found = dict(line.rsplit(": ", 1) for line in output.splitlines()[:6])
    assert float(found["chosen in sight of the test samples"]) > float(found["Fisher"])
