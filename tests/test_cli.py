import subprocess
import sys


def run(*arguments):
    command = [sys.executable, "-m", "linkselect", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_demo():
    result = run("demo", "--draws", "2")
    assert result.returncode == 0, result.stderr
    for words in ("Constraint Score", "LSDF", "random choice", "all features", "mean concavity"):
        assert words in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_demo_with_impossible_numbers():
    result = run("demo", "--n-features", "31")
    assert result.returncode == 1
    assert "choose --n-features from 1 to 30" in result.stderr


def test_help():
    result = run("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout
