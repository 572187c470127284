"""Conventions that no tool checks: limits on the size of the project, and names in files."""

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

import pytest

import linkselect

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
LIBRARY = ROOT / "src" / "linkselect"
LINES_IN_FILE = 450
LINES_IN_FUNCTION = 50

# Limits on what one person can maintain. A change that needs more raises a limit deliberately and
# gives the reason here. `LinkSelector`, for every size and storage of X, took 900 lines; weights of
# pairs, labels stored as classes, and combined labels and pairs 400. Evidence per feature took
# 1,200: resumable p-values, selection frequencies, reasons, and feature rules with their options on
# the command line. Studies took 2,000: pairs from a design and files of two million pairs 400;
# metadata, transposed tables, groups and batches on the command line 500; groups in every
# resampling 250; AnnData in memory, backed and as files 700. Asking about pictures took 1,450:
# pictures as a table 500; the result page 180; curves and sorted values 290; an answer file of
# constant cost per answer that survives kills, and watched files 450; advice on when to stop 30.
LINES_OF_CODE = 29_500  # without the code for the papers
LINES_WITH_PAPERS = 32_700
PUBLIC_NAMES = 350  # in every public `__all__`, including re-exports
REPEATED_MODULE_NAMES = 12
QUESTIONS_ABOUT_KINDS = 15  # outside _samples, the only part that knows how X is stored
PATCHES = 80  # of the library by tests

# Calls that ask how X is stored, in addition to `isinstance` with a class of _samples.
ASKING = {"issparse", "isspmatrix", "device_of", "find_stored", "as_parts"}
NAMES_OF_SAMPLES = {"X", "samples", "data"}
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

# The address of a package index or its setting, and paths of a particular machine.
REGISTRY = re.compile(r"(?:index-url|find-links)\s*=|://[^\s/]*(?:pypi|registry|nexus)|/simple/\s")
MACHINE_PATH = re.compile(r"(?<![\w.}>~])(?:/(?:home|root|Users|work|opt|mnt)/\w|[A-Z]:\\Users)")


def name_of(file):
    return str(file.relative_to(ROOT))


def parsed(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def docstring_lines(tree):
    """Return the numbers of all lines of docstrings."""
    first = (
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    )
    return {line for text in first for line in range(text.lineno, text.end_lineno + 1)}


def code_lines(text):
    """Return the numbers of lines with code: not blank, no comments or docstrings."""
    covered = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            covered.update(range(token.start[0], token.end[0] + 1))
    return covered - docstring_lines(ast.parse(text))


def functions_of(node):
    """Yield the functions below a node, without searching expressions, which contain none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTION):
            yield child
        if not isinstance(child, ast.expr):
            yield from functions_of(child)


def long_functions(file):
    functions = functions_of(parsed(file))
    # Only a function that is long including comments can be long without them.
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


def name_called(node):
    """Return the last part of the called name, or an empty string."""
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", ""))


def asks_about_kind(node, kinds):
    """Return whether a call asks how samples are stored."""
    name = name_called(node)
    if name in ASKING:
        return True
    if name not in ("isinstance", "hasattr"):
        return False
    known = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}
    return getattr(node.args[0], "id", "") in NAMES_OF_SAMPLES or bool(known & kinds)


def shown(file, nodes):
    return [f"{name_of(file)}:{node.lineno}: {ast.unparse(node)}" for node in nodes]


def questions(tree, kinds):
    """Return the calls that ask how samples are stored."""
    return [node for node in ast.walk(tree) if asks_about_kind(node, kinds)]


def own_names(tree):
    """Return the names that a test defines, or imports from outside the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                origin = getattr(node, "module", None) or alias.name
                if not origin.startswith("linkselect"):
                    yield (alias.asname or alias.name).split(".")[0]


def patches(tree):
    """Yield the calls of a test that replace parts of the library.

    A call of `sizes` counts as one, as does a loop.
    """
    own = set(own_names(tree))
    for node in ast.walk(tree):
        name = name_called(node)
        if name in ("sizes", "set_sizes"):
            yield node
        elif name in ("setattr", "setitem", "delattr") and isinstance(node.func, ast.Attribute):
            target = node.args[0]
            if isinstance(target, ast.Constant):
                is_ours = str(target.value).startswith("linkselect")
            else:
                first = next(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
                is_ours = first not in own
            if is_ours:
                yield node


def exported(file):
    """Return the names in a module's `__all__`."""
    for node in parsed(file).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            if isinstance(node.value, ast.List):
                return [item.value for item in node.value.elts]
            return list(linkselect.__all__)
    return []


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


def library(*, papers=True):
    files = sorted(LIBRARY.rglob("*.py"))
    return [file for file in files if papers or "reproduction" not in file.parts]


@pytest.mark.parametrize(("papers", "limit"), [(False, LINES_OF_CODE), (True, LINES_WITH_PAPERS)])
def test_the_library_is_no_larger_than_one_person_can_hold(papers, limit):
    files = library(papers=papers)
    assert sum(len(code_lines(file.read_text(encoding="utf-8"))) for file in files) <= limit


def test_public_names_are_few():
    places = [(file, file.relative_to(LIBRARY).parts) for file in library()]
    public = [
        file
        for file, parts in places
        if not any(part.startswith("_") and part != "__init__.py" for part in parts)
    ]
    counts = {name_of(file): len(exported(file)) for file in public}
    assert counts["src/linkselect/__init__.py"] > 20
    assert sum(counts.values()) <= PUBLIC_NAMES, counts


def test_few_module_names_occur_twice():
    counts = Counter(file.stem.lstrip("_") for file in library() if file.stem != "__init__")
    repeated = [name for name, count in counts.items() if count > 1]
    assert len(repeated) <= REPEATED_MODULE_NAMES, repeated


def test_samples_alone_know_how_they_are_stored():
    inside = [file for file in library() if "_samples" in file.parts]
    kinds = {
        node.name
        for file in inside
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.ClassDef)
    }
    outside = [file for file in library() if file not in inside]
    found = [text for file in outside for text in shown(file, questions(parsed(file), kinds))]
    assert len(found) <= QUESTIONS_ABOUT_KINDS, "\n".join(found)


def test_few_tests_patch_the_library():
    """Patched parts cannot be moved, whereas a result can be tested wherever it is computed."""
    files = [
        file
        for file in (ROOT / "tests").rglob("*.py")
        if "benchmarks" not in file.parts  # these patch scripts
    ]
    found = [text for file in files for text in shown(file, patches(parsed(file)))]
    assert len(found) <= PATCHES, "\n".join(found)


def test_what_counts_as_a_question_about_the_kind_of_samples():
    asking = "sparse.issparse(W); isinstance(X, list); isinstance(W, (Stored, int))"
    assert len(questions(ast.parse(asking), {"Stored"})) == 3
    others = "isinstance(W, list); len(X); hasattr(W, 'shape')"
    assert questions(ast.parse(others), {"Stored"}) == []


def test_what_counts_as_a_patch_of_the_library():
    text = "import sys\nfrom linkselect import _forms\npatch.setattr("
    for target, n_patches in [
        ("_forms, 'CHUNK', 1)", 1),
        ("_forms.Form, 'sum', None)", 1),
        ("'linkselect._forms.CHUNK', 1)", 1),
        ("sys, 'argv', [])", 0),
        ("'threading.Thread.start', None)", 0),
        ("sys.stdout, 'write', sizes(CHUNK=1))", 1),
    ]:
        assert len(list(patches(ast.parse(text + target)))) == n_patches, target


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
