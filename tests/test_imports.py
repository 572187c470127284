"""Imports go in one direction, and the core needs only its three dependencies."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import linkselect

ROOT = Path(linkselect.__file__).parent

# A module may only import from those above it.
FLOW = [
    "_arrays",
    "_messages",
    "_notebook",
    "_files",
    "_bibliography",
    "pairs",
    "_batches",
    "_supervision",
    "_resampling",
    "_blocks",
    "_samples",
    "_solvers",
    "_compiled",
    "graphs",
    "_forms",
    "_callbacks",
    "scores",
    "_search",
    "selectors",
    "cluster",
    "evaluation",
    "asking",
    "_display",
    "plot",
    "report",
    "_pictures",
    "labelling",
    "anndata",
    "reproduction",
    "cli",
]


def part_of(name):
    return name.split(".")[1] if name.startswith("linkselect.") else None


class _WithoutTypeImports(ast.NodeTransformer):
    """Remove imports for type checkers only, which may go in any direction."""

    def visit_If(self, node):
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if is_for_types else self.generic_visit(node)


@cache
def imported(file):
    names = []
    for node in ast.walk(_WithoutTypeImports().visit(ast.parse(file.read_text()))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


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


PACKAGES = sorted({file.parent for file in ROOT.rglob("*.py")} - {ROOT})


def inner_imports(package):
    """Return the imports within a package, and the modules that import the package itself."""
    prefix = ".".join(("linkselect", *package.relative_to(ROOT).parts))
    names = {entry.stem for entry in package.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    graph, through_the_front = {}, []
    for file in package.glob("*.py"):
        if file.name == "__init__.py":
            continue
        graph[file.stem] = set()
        for name in imported(file):
            inner = name.removeprefix(f"{prefix}.").split(".")[0]
            if name.startswith(f"{prefix}.") and inner in names - {file.stem}:
                graph[file.stem].add(inner)
            elif name.startswith(f"{prefix}.") and "." not in name.removeprefix(f"{prefix}."):
                through_the_front.append(f"{file.stem}: {name}")
    return graph, through_the_front


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_imports_inside_a_package_go_one_way(package):
    graph, through_the_front = inner_imports(package)
    # A cycle is an error here, because the modules then have no order.
    list(TopologicalSorter(graph).static_order())
    assert not through_the_front, "import from the module that has it, not from the package"


def test_solvers_import_only_arrays_blocks_and_messages():
    for file in (ROOT / "_solvers").glob("*.py"):
        parts = {part_of(name) for name in imported(file)} - {None}
        assert parts <= {"_solvers", "_arrays", "_blocks", "_messages"}, file


LOADED_BY_US = """
import sys
import sklearn.feature_selection
before = set(sys.modules)
import linkselect
print(*set(sys.modules) - before)
"""


def test_importing_the_library_loads_no_more_than_scikit_learn_does():
    command = [sys.executable, "-c", LOADED_BY_US]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own = {name.split(".")[0] for name in output.split()}
    assert "linkselect" in own
    optional = {"pandas", "polars", "numba", "matplotlib", "rich", "cyclopts", "pyarrow"}
    optional |= {"dask", "distributed", "zarr", "h5py", "anndata", "scanpy"}
    assert own & optional == set()
