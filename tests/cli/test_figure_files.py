"""Tests of `--figure` in `rank` and `compare`, and of the line that lists written files."""

from pathlib import Path

import numpy as np
import pytest

from linkselect.cli import run as run_command
from tests.helpers.iris_table import write_iris

pytest.importorskip("matplotlib")

BEGINNINGS = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)

    def call(command, *arguments):
        code = run_command(
            [command, "iris.csv", "--id-column", "id", "--label", "species", *arguments]
        )
        text, errors = capsys.readouterr()
        return code, text, errors

    return call


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_extension_determines_the_format(kind, run, tmp_path):
    code, text, _ = run("rank", "--no-validate", "--figure", f"iris.{kind}")
    assert code == 0
    assert text.splitlines()[-1] == f"Written: iris.{kind}"
    assert (tmp_path / f"iris.{kind}").read_bytes().startswith(BEGINNINGS[kind])


def test_every_file_is_named(run):
    wanted = ["--out", "o.csv", "--select", "s.csv", "--report", "r.html", "--figure", "f.svg"]
    code, text, _ = run("rank", "--no-validate", *wanted)
    assert code == 0
    assert text.splitlines()[-1] == "Written: o.csv, s.csv, r.html, f.svg"
    assert "Written" not in run("rank", "--no-validate")[1]
    assert run("rank", "--no-validate", "--quiet", "--out", "o.csv")[1] == ""
    assert "Written" not in run("rank", "--no-validate", "--json", "--out", "o.csv")[1]


def test_a_figure_of_a_comparison(run, tmp_path):
    wanted = ["--methods", "fisher,variance", "--splits", "2", "--figure-width", "double"]
    code, text, _ = run("compare", *wanted, "--figure", "c.svg")
    assert code == 0
    assert text.splitlines()[-1] == "Written: c.svg"
    svg = (tmp_path / "c.svg").read_text()
    assert 'width="518.4pt"' in svg
    assert "fisher" in svg


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--figure", "f.jpg"], ".pdf, .svg, .png"),
        (["--figure", "f.pdf", "--figure-width", "huge"], "double"),
        (["--figure", "iris.csv"], ".pdf"),
    ],
)
def test_mistakes_are_explained(arguments, words, run):
    code, _, errors = run("rank", *arguments)
    assert (code, words in errors) == (2, True), errors


def test_without_matplotlib_the_command_stops_at_once(run, monkeypatch):
    monkeypatch.setattr("linkselect.cli._output.find_spec", lambda name: None)
    code, _, errors = run("rank", "--figure", "f.pdf")
    assert (code, "linkselect[plot]" in errors) == (1, True), errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_a_full_disk_is_reported(kind):
    from matplotlib.figure import Figure

    from linkselect.plot._style import save_figure

    figure = Figure()
    # The figure is larger than the buffer, so writing fails.
    figure.subplots().plot(np.random.default_rng(0).normal(size=20_000))
    with pytest.raises(OSError, match="No space left"):
        save_figure(figure, "/dev/full", kind, "title")
