"""Imports go one way, and the core needs nothing but its three libraries."""

import ast
import subprocess
import sys
from pathlib import Path

import linkselect

ROOT = Path(linkselect.__file__).parent

# A module may import from those above it, never from below.
FLOW = [
    "arrays",
    "messages",
    "files",
    "pairs",
    "supervision",
    "blocks",
    "graphs",
    "forms",
    "checks",
    "scores",
    "search",
    "selectors",
    "cluster",
    "evaluation",
    "plot",
    "report",
    "reproduction",
    "cli",
]


def part_of(name):
    return name.split(".")[1] if name.startswith("linkselect.") else None


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_imports_go_one_way():
    for file in ROOT.rglob("*.py"):
        part = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue
        assert part in FLOW, f"{file} is not in the list of parts"
        for name in imported(file):
            other = part_of(name)
            if other in FLOW:
                assert FLOW.index(other) <= FLOW.index(part), f"{file} imports {name} from below"


def modules_after(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in output.split()}


def test_importing_the_library_loads_no_more_than_scikit_learn_does():
    optional = {"pandas", "polars", "numba", "matplotlib", "rich", "cyclopts", "pyarrow"}
    own = modules_after("import linkselect") - modules_after("import sklearn.feature_selection")
    assert own & optional == set()
