"""Tests of the command line search for words, so messages are not wrapped."""

import pytest


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Print each message on one line; `test_terminal.py` has another fixture of this name."""
    monkeypatch.setattr("linkselect.cli._terminal.WIDEST", 10_000)
    monkeypatch.setenv("COLUMNS", "10000")
