import json
import subprocess
import sys

from linkselect.cli import run
from linkselect.cli._choices import methods


def test_methods_command(capsys):
    assert run(["methods"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in methods())
    assert run(["methods", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["relieff"]["needs"] == "labels"
    assert listed["constraint"]["needs"] == "pairs or labels"
    assert listed["constrained_laplacian"]["needs"] == "nothing"
    assert run(["methods", "relieff"]) == 0
    assert "n_neighbors" in capsys.readouterr().out
    assert run(["methods", "relief"]) == 2


def test_a_closed_pipe_is_silent():
    command = f"{sys.executable} -m linkselect methods --json | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (result.stdout.strip(), result.stderr) == ("[", "")
