"""Tests of a few mutated files of `make fuzz`, with fixed seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.mutated_files import KINDS, mutated

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def test_the_same_seed_gives_the_same_files():
    for kind in KINDS:
        assert mutated(kind, 3)[1] == mutated(kind, 3)[1]
        assert len({mutated(kind, seed)[1] for seed in range(8)}) > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each file")
def test_mutated_files_end_in_a_ranking_or_a_message():
    command = [sys.executable, str(FUZZ), "--trial", "--files", "36", "--minutes", "60"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "36 files, 0 failed" in ended.stdout
