"""Files that describe the library agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest

import linkselect

ROOT = Path(__file__).parents[1]
PACKAGE = Path(linkselect.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_CONTRIBUTORS = {"test", "docs"}


def extras_in(text):
    """Return the extras that a text names: `linkselect[a,b]` names a and b."""
    return {
        name for names in re.findall(r"linkselect\[([a-z,]+)\]", text) for name in names.split(",")
    }


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_holds_every_extra_for_users():
    assert extras_in(" ".join(EXTRAS["all"])) == EXTRAS.keys() - FOR_CONTRIBUTORS - {"all"}


def test_messages_and_pages_name_extras_that_exist():
    files = [
        *(file for file in PACKAGE.rglob("*") if file.suffix in {".py", ".html"}),
        ROOT / "README.md",
        *(file for file in (ROOT / "docs").rglob("*.md") if "_build" not in file.parts),
    ]
    named = {file.name: extras_in(file.read_text(encoding="utf-8")) for file in files}
    assert {
        name: extras - EXTRAS.keys() for name, extras in named.items() if extras - EXTRAS.keys()
    } == {}


def test_every_dependency_is_pinned_for_ci():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {normal(line.split("==")[0]) for line in lines if "==" in line}
    wanted = [*PROJECT["dependencies"], *(name for names in EXTRAS.values() for name in names)]
    names = {normal(re.match(r"[\w.-]+", name).group()) for name in wanted}
    assert names - {"linkselect"} <= pinned


def test_citation_is_of_this_version_and_names_the_papers():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {linkselect.__version__}\n" in citation
    papers = tomllib.loads((PACKAGE / "bibliography.toml").read_text(encoding="utf-8"))
    for key in ("zhang2008", "liu2012", "pan2013", "salmi2020"):
        assert papers[key]["title"] in citation
        assert papers[key].get("doi", "") in citation


def test_ci_runs_every_python_that_is_promised():
    workflow = ROOT / ".github" / "workflows" / "ci.yml"
    if not workflow.exists():
        pytest.skip("a source distribution has no workflows")
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert f"python: {promised}".replace("'", '"') in workflow.read_text(encoding="utf-8")
