"""Follow docs/add_a_method.md step by step in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add_a_method.md"
BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# The largest number of files to edit, not counting tests.
MOST_FILES = 6

CHECKS = """
from pathlib import Path

import linkselect
from linkselect import scores, selectors
from linkselect.cli import run
from linkselect.cli._choices import methods
from linkselect.selectors._method import describe

assert Path(linkselect.__file__).is_relative_to(Path.cwd()), linkselect.__file__
assert "MustLinkScore" in linkselect.__all__
assert "MustLinkScore" in selectors.__all__
assert "must_link" in scores.__all__
assert describe(MustLinkScore).sees == "pairs"
assert describe(MustLinkScore).needs == ("a must-link",)
assert not describe(MustLinkScore).greater_is_better
assert describe(MustLinkScore).references == ("zhang2008",)
assert set(describe(MustLinkScore).works_on) == {"memory", "sparse", "device", "parts"}
assert "References" in MustLinkScore.__doc__
assert "scores_ : " in MustLinkScore.__doc__
assert methods()["must_link"].selector is MustLinkScore
assert run(["methods", "must_link"]) == 0

import doctest
import linkselect.selectors._must_link_score as module

from importlib.util import find_spec
from sklearn import config_context
from linkselect._samples.devices import to_numpy

wide = dask.array.from_array(np.hstack([X] * 20), chunks=(-1, 50))
assert wide.shape[0] < wide.shape[1]
np.testing.assert_allclose(MustLinkScore().fit(wide, pairs=pairs).scores_[:13], selector.scores_)
library = __import__("torch" if find_spec("torch") else "array_api_strict")
with config_context(array_api_dispatch=True):
    there = MustLinkScore().fit(library.asarray(X), pairs=pairs)
assert type(there.scores_) is type(library.asarray(X))
np.testing.assert_allclose(to_numpy(there.scores_), selector.scores_)

found = doctest.testmod(module)
assert found.attempted > 0 and found.failed == 0, found
"""


def steps():
    """Return file, language and text of every code block; the file may be empty."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def with_hunks(text, diff):
    """Add the lines of a diff to a text.

    Every hunk has exactly one line of the text as context.
    """
    lines = text.splitlines()
    for hunk in diff.split("@@\n"):
        marked = hunk.splitlines()
        [known] = [line[1:] for line in marked if line[0] == " "]
        assert lines.count(known) == 1, f"{lines.count(known)} lines are {known!r}"
        place = lines.index(known)
        lines[place : place + 1] = [line[1:] for line in marked]
    return "\n".join([*lines, ""])


def apply(folder, file, language, text):
    path = folder / file
    if language == "diff":
        path.write_text(with_hunks(path.read_text(), text))
    elif path.exists():
        path.write_text(f"{path.read_text()}\n\n{text}")
    else:
        path.write_text(text)


def run_python(folder, *arguments):
    paths = [str(folder / "src"), str(folder)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the repository with every step of the page done."""
    folder = tmp_path_factory.mktemp("copy")
    unwanted = shutil.ignore_patterns("__pycache__", "_build", "auto_examples", "generated")
    for part in ("src", "docs", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    for file, language, text in steps():
        if file:
            apply(folder, file, language, text)
    return folder


def test_few_files_need_editing():
    touched = {file for file, _, _ in steps() if file and not file.startswith("tests/")}
    assert len(touched) <= MOST_FILES, touched
    assert {"src/linkselect/__init__.py", "CHANGELOG.md"} < touched


def test_the_new_method_works_and_its_docstring_runs(copy):
    code = [text for file, language, text in steps() if language == "python" and not file]
    assert code
    done = run_python(copy, "-W", "error", "-c", "\n".join([*code, CHECKS]))
    assert done.returncode == 0, done.stderr
    assert "must_link (MustLinkScore)" in done.stdout


def test_the_tables_of_the_documentation_list_the_new_method(copy):
    done = run_python(copy, copy / "docs" / "tables.py", "--write")
    assert done.returncode == 0, done.stderr
    for page in ("methods.md", "guide/supervision.md", "api/index.rst"):
        assert "MustLinkScore" in (copy / "docs" / page).read_text(), page
