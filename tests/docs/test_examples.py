"""Run every example of the gallery, with the papers' data if available, and without them."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import sklearn

from tests.conftest import DATA

EXAMPLES = {
    file.stem: file for file in sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs an example in this process, which saves the time for imports."""
    monkeypatch.chdir(tmp_path)
    before = sklearn.get_config()

    def call(name, data=tmp_path):
        monkeypatch.setenv("LINKSELECT_DATA", str(data))
        runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        return capsys.readouterr().out

    with mpl.rc_context(mpl.rcParamsDefault | {"backend": "agg"}):
        yield call
    plt.close("all")
    sklearn.set_config(**before)


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"few_samples", "pairs_only"}))
def test_examples_run_everywhere(name, run):
    run(name)


def test_an_example_runs_in_its_own_process(tmp_path):
    command = [sys.executable, "-W", "error", str(EXAMPLES["pairs_only"])]
    env = {**os.environ, "MPLBACKEND": "agg", "LINKSELECT_DATA": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["pictures", "few_samples"])
def test_examples_run_with_the_papers_data(name, run, load_data):
    load_data({"pictures": "orl_32x32", "few_samples": "colon"}[name])
    run(name, DATA)


def test_selection_on_test_samples_looks_better_than_it_is(run):
    """The example claims this, so its output must show it even without the papers' data."""
    found = dict(line.rsplit(": ", 1) for line in run("few_samples").splitlines()[:6])
    assert float(found["selected with the test samples included"]) > float(found["Fisher"])
