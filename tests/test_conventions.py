"""What the project keeps to and no tool checks: the sizes of parts, and what files may name."""

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("src", "tests", "benchmarks", "examples", "docs", ".ci")
BUILT = {"_build", "auto_examples", "generated", "__pycache__"}
SOURCE = [
    file
    for part in PARTS
    for file in sorted((ROOT / part).rglob("*.py"))
    if not BUILT & set(file.parts)
]
PAGES = [*(ROOT / "src").rglob("*.html"), *(ROOT / "src").rglob("*.js")]
LINES_IN_FILE = 450
LINES_IN_FUNCTION = 50
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (*FUNCTION, ast.ClassDef, ast.Module)

# An address of a package index, or the setting that names one; a path of somebody's machine.
REGISTRY = re.compile(r"(?:index-url|find-links)\s*=|://[^\s/]*(?:pypi|registry|nexus)|/simple/\s")
MACHINE_PATH = re.compile(r"(?<![\w.}>~])(?:/(?:home|root|Users|work|opt|mnt)/\w|[A-Z]:\\Users)")


def name_of(file):
    return str(file.relative_to(ROOT))


def parsed(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def docstring_lines(tree):
    """Return the numbers of all lines that docstrings cover."""
    first = (
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    )
    return {line for text in first for line in range(text.lineno, text.end_lineno + 1)}


def code_lines(text):
    """Return the numbers of the lines that hold code: no comment, no docstring, not blank."""
    covered = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            covered.update(range(token.start[0], token.end[0] + 1))
    return covered - docstring_lines(ast.parse(text))


def functions_of(node):
    """Yield the functions below a node; no expression holds one, so none is looked into."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTION):
            yield child
        if not isinstance(child, ast.expr):
            yield from functions_of(child)


def long_functions(file):
    functions = functions_of(parsed(file))
    # Only a function that is long with all its comments can be long without.
    functions = [node for node in functions if node.end_lineno - node.lineno >= LINES_IN_FUNCTION]
    code = code_lines(file.read_text(encoding="utf-8")) if functions else set()
    for node in functions:
        count = sum(node.lineno <= line <= node.end_lineno for line in code)
        if count > LINES_IN_FUNCTION:
            yield f"{name_of(file)}: {node.name} has {count} lines of code"


def imported(file):
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom):
            yield from [node.module or "", *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def tracked_files():
    command = ["git", "ls-files", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a checkout that git can list")
    names = done.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_code_is_counted_without_comments_and_docstrings():
    text = 'def f():\n    """Say\n    it."""\n    # why\n\n    a = """x\n    y"""\n    return a\n'
    assert code_lines(text) == {1, 6, 7, 8}


def test_no_test_imports_another_test():
    modules = {file.stem for file in SOURCE if file.stem.startswith("test_")}
    naming = [
        file
        for file in SOURCE
        if modules.intersection(re.findall(r"\btest_\w+", file.read_text(encoding="utf-8")))
    ]
    found = [
        f"{name_of(file)} imports {name}"
        for file in naming
        for name in imported(file)
        if name.removeprefix("tests.") in modules
    ]
    assert not found, "\n".join(found)


def test_no_source_file_is_long():
    files = [file for file in SOURCE + PAGES if (ROOT / "tests") not in file.parents]
    counts = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    found = [
        f"{name_of(file)} has {count} lines"
        for file, count in counts.items()
        if count > LINES_IN_FILE
    ]
    assert not found, "\n".join(found)


def test_no_function_is_long():
    found = [text for file in SOURCE for text in long_functions(file)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["registry", "machine path"])
def test_no_file_names_a_place_of_one_machine(pattern):
    found = []
    for file in tracked_files():
        text = file.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{name_of(file)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_patterns_find_what_they_should():
    assert REGISTRY.search("pip install --index-url" + "=https://example.org")
    assert REGISTRY.search("https://" + "my-pypi.example.org/")
    assert MACHINE_PATH.search("open('/" + "home/me/x.csv')")
    assert not MACHINE_PATH.search("docs/home/page, ~/work/here, ${ROOT}/opt/x")
