import io
import json
import os
import subprocess
import sys

import pytest

from linkselect.cli import run


def call(*arguments):
    command = [sys.executable, "-m", "linkselect", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    report = tmp_path / "digits.html"
    assert run(["demo", "--draws", "2", "--report", str(report)]) == 0
    text, errors = capsys.readouterr()
    assert errors == ""
    rows = {cells[1].strip(): cells for cells in map(table_cells, text.splitlines()) if cells}
    assert rows["Fisher score"][2].strip() == "all 898 labels"
    accuracy = {name: float(cells[3].split()[0]) for name, cells in rows.items()}
    assert rows["LinkSelector"][2].strip() == "20 pairs"
    assert accuracy["LinkSelector"] > accuracy["random choice"] + 10
    assert accuracy["all pixels"] > 95
    assert rows["all pixels"][0].strip() == "64"
    assert text.count("██") >= 10
    assert f"Report: {report.resolve().as_uri()}" in text
    assert "digits from scikit-learn" in report.read_text(encoding="utf-8")
    assert "linkselect rank my.csv --label class" in text
    assert "LinkSelector().fit(X, pairs=pairs)" in text
    assert max(len(line) for line in text.splitlines() if "file:" not in line) <= 80


def table_cells(line):
    return line.split("│")[1:-1] if line.startswith("│") else []


def test_demo_without_the_packages_of_a_report_names_the_extra(monkeypatch, capsys):
    for name in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(["demo", "--draws", "2", "--n-features", "3"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "requires jinja2 and matplotlib: pip install 'linkselect[report,plot]'" in said


def test_demo_with_invalid_numbers(capsys):
    for option in (["--n-features", "65"], ["--draws", "1"]):
        assert run(["demo", *option]) == 2
        assert "--n-features must be 1 to 64, and --draws at least 2" in capsys.readouterr().err


def test_help():
    result = call("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout


def test_help_names_an_example_and_every_command_has_one(capsys):
    from linkselect.cli import COMMANDS

    for call in map(str.split, COMMANDS):
        assert run([*call, "--help"]) == 0
        assert f"linkselect {' '.join(call)}" in capsys.readouterr().out.split("Example")[1]


def test_examples_in_help_can_be_copied(capsys, monkeypatch):
    from linkselect.cli import COMMANDS

    monkeypatch.setenv("COLUMNS", "80")
    for call, (_, *examples) in COMMANDS.items():
        assert run([*call.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert all(example in text for example in examples), call


def test_help_shows_informative_defaults(capsys):
    assert run(["rank", "--help"]) == 0
    text = capsys.readouterr().out
    assert "[default: minmax]" in text
    assert "[default: ]" not in text
    assert "[default: False]" not in text


def test_help_imports_no_command():
    code = (
        "import sys; from linkselect.cli import run; run(['--help']); "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow') "
        "if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_missing_package_is_reported_as_an_error(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert run(["methods"]) == 1
    assert capsys.readouterr() == (
        "",
        "The command line requires additional packages: pip install 'linkselect[cli]'\n",
    )


@pytest.fixture
def foreign_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("größe,日\x7f\n1,2\n2,3\n4,9\n", encoding="utf-8")
    return ["rank", str(path), "--method", "variance", "--n-features", "2"]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_characters_that_the_terminal_cannot_show(encoding, arguments, foreign_table, monkeypatch):
    written = io.BytesIO()
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    monkeypatch.setattr(sys, "stderr", errors)
    assert run([*foreign_table, *arguments]) == 0
    sys.stdout.flush()
    assert errors.getvalue() == ""
    text = written.getvalue().decode(encoding)
    if arguments:
        assert set(json.loads(text)["ranking"]["feature"]) == {"größe", "日\x7f"}
    else:
        assert "\\u65e5" in text


def test_characters_outside_the_encoding_set_for_python(foreign_table):
    command = [sys.executable, "-m", "linkselect", *foreign_table]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, capture_output=True, env=env)
    assert (result.returncode, result.stderr) == (0, b"")
    assert "\\u65e5" in result.stdout.decode("ascii")


def test_an_interrupted_command_is_reported(monkeypatch, capsys):
    def methods() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linkselect.cli._methods.methods", methods)
    assert run(["methods"]) == 130
    assert capsys.readouterr().err == "linkselect methods: stopped.\n"
