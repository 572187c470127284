"""Run every Python block and command of README and docs; blocks of a page share a namespace."""

import inspect
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import sklearn

import linkselect
from linkselect._callbacks import HAS_CALLBACKS
from linkselect.cli import run
from tests.helpers.annotated import as_scanpy_needs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import outputs  # noqa: E402
import tables  # noqa: E402

BUILT = {"_build", "auto_examples", "generated"}
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
    ),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not BUILT & set(page.parts)),
]
# tests/docs/test_add_a_method.py runs this page in a copy of the repository.
RUN_ELSEWHERE = ROOT / "docs" / "add_a_method.md"
# For each step from data to report, a page and a word in one of its headings.
FLOW = [
    ("guide/supervision", "Supervision"),
    ("building_blocks", "graph"),
    ("building_blocks", "form"),
    ("building_blocks", "score"),
    ("guide/ranking", "order"),
    ("guide/trust", "report"),
]


def blocks(page, language):
    fence = rf"^```{language}\n(.*?)^```"
    return re.findall(fence, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(page):
    """Return the commands of a page that call this tool, each with the output below it."""
    found = outputs.sessions(page.read_text(encoding="utf-8"))
    return [(line, below) for line, below in found if line.startswith(outputs.PROMPT)]


def name_of(page):
    return str(page.relative_to(ROOT))


with_python = pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python") and page != RUN_ELSEWHERE],
    ids=name_of,
)
with_scripts = pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "bash")], ids=name_of
)
with_commands = pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=name_of
)


@with_python
def test_python_blocks_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs.make_tables(tmp_path, page)
    namespace = {}
    before = sklearn.get_config()
    # scanpy and anndata cause warnings in their own dependencies.
    setting = as_scanpy_needs() if page.name == "anndata.md" else nullcontext()
    try:
        with setting:
            for block in blocks(page, "python"):
                if "sklearn.callback" in block and not HAS_CALLBACKS:
                    continue
                exec(compile(block, name_of(page), "exec"), namespace)
    finally:
        sklearn.set_config(**before)
        plt.close("all")


@with_scripts
def test_scripts_run(page, tmp_path):
    outputs.make_tables(tmp_path, page)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for script in blocks(page, "bash"):
        command = ["bash", "-c", script]
        environment = os.environ | {"PATH": path}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=600)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "recipes").glob("*.md")), ids=name_of)
def test_recipes_are_short_enough(page):
    assert len(page.read_text(encoding="utf-8").split()) <= 600


# Pages share commands. No command reads another's output, so each runs once.
PRINTED = {}


@with_commands
def test_commands_print_what_the_page_shows(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    outputs.make_tables(tmp_path, page)
    for line, below in commands(page):
        if line not in PRINTED:
            monkeypatch.setattr(sys, "argv", ["linkselect", *outputs.arguments(line)])
            code = run(sys.argv[1:])
            PRINTED[line] = code, *capsys.readouterr()
        code, out, errors = PRINTED[line]
        assert code == 0, f"{line}\n{errors}"
        if page.name == "README.md":  # shows only parts of the output
            found = outputs.skeleton(out.splitlines())
            for row in outputs.skeleton(row for row in below if row != outputs.MORE):
                assert any(text.startswith(row) for text in found), f"{line} prints no {row}"
            continue
        found = outputs.skeleton(outputs.shown(out.splitlines()))
        assert found == outputs.skeleton(outputs.shown(below)), (
            f"{line}: run `python docs/outputs.py --write`"
        )


@pytest.mark.parametrize(("page", "step"), FLOW)
def test_every_step_from_data_to_report_has_a_heading(page, step):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert any(step in heading for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_link_targets_exist(page):
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    for target, anchor in links:
        made = target.split("/")[-2:-1] == ["auto_examples"]
        if made or target.startswith("https:"):
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{name_of(page)} links to {target}#{anchor}"


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and Sphinx make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = (re.sub(r"\[(.*)\]\(.*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def test_a_newcomer_finds_the_tasks_first():
    """The navigation bar links to the main pages, and the guide lists one page per task."""
    bar = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split(":hidden:")[1]
    for page in ("start", "install", "guide/index", "which_method", "command_line", "api/index"):
        assert re.search(rf"^({page}|.*<{page}>)$", bar, flags=re.MULTILINE), page
    guide = (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\((\w+)\.md\)", guide)
    pages = (ROOT / "docs" / "guide").glob("[!i]*.md")
    assert sorted(listed) == sorted(page.stem for page in pages)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("cite", "citing"),
        ("bibtex", "citing"),
        ("anndata", "recipes/anndata"),
        ("time series", "recipes/sensors"),
        ("few labels", "recipes/few_labels"),
        ("getting started", "start"),
        ("install", "install"),
        ("conflicts", "guide/supervision"),
        ("cross-validation", "guide/pipelines"),
        ("reliability", "guide/trust"),
        ("gpu", "guide/large_data"),
        ("number of features", "guide/how_many"),
        ("number of features", "number_of_features"),
        ("public", "public"),
    ],
)
def test_search_finds_the_page(words, page):
    """Sphinx ranks pages first if the words are in their title."""
    title = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()[0]
    assert words in title.lower()


def test_the_picture_of_a_report_is_current():
    """Compare its headings with the template; `python docs/images/page.py` stores them in it."""
    image = pytest.importorskip("PIL.Image")
    with image.open(ROOT / "docs" / "images" / "report.png") as picture:
        headings = picture.text["Headings"].splitlines()
    template = ROOT / "src" / "linkselect" / "report" / "templates" / "report.html"
    text = template.read_text(encoding="utf-8")
    assert len(headings) >= 5
    assert [heading for heading in headings if heading not in text] == []


def test_every_measurement_is_listed():
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    files = sorted(path.name for path in (ROOT / "benchmarks").glob("*.py"))
    assert [name for name in files if f"`{name}`" not in listed] == []


def test_every_public_name_is_in_the_reference():
    reference = (ROOT / "docs" / "api" / "index.rst").read_text()
    for name in linkselect.__all__:
        assert re.search(rf"^ +{name}$", reference, flags=re.MULTILINE), name


def test_the_reference_shows_public_names_only():
    reference = (ROOT / "docs" / "api" / "index.rst").read_text()
    shown = re.findall(r"^   ([\w.]+)$", reference, flags=re.MULTILINE)
    assert len(shown) > len(linkselect.__all__)
    for name in shown:
        part, _, inside = name.rpartition(".")
        public = import_module(f"linkselect.{part}").__all__ if part else linkselect.__all__
        assert inside in public or name in tables.PUBLIC, name


def shown_modules():
    """Return the public modules whose names are not available from the package itself."""
    return {*tables.PUBLIC} - {"selectors", "cluster"}


def test_every_public_module_is_in_the_reference():
    """Check modules only; the names in `__all__` are listed on the page of a module."""
    reference = (ROOT / "docs" / "api" / "index.rst").read_text()
    assert all(re.search(rf"^   {part}(\.|$)", reference, re.MULTILINE) for part in shown_modules())
    modules = (ROOT / "src" / "linkselect").glob("[a-z]*")
    assert {module.stem for module in modules if module.suffix in ("", ".py")} == {*tables.PUBLIC}


PUBLIC_CLASSES = [
    name for name in linkselect.__all__ if isinstance(getattr(linkselect, name), type)
]


@pytest.mark.parametrize("name", PUBLIC_CLASSES)
def test_every_class_has_the_required_sections(name):
    cls = getattr(linkselect, name)
    text = inspect.getdoc(cls)
    sections = set(re.findall(r"^(\w[\w ]*)\n-+$", text, flags=re.MULTILINE))
    wanted = {"Parameters", "See Also", "Examples"}
    if name != "AsScoreFunction":  # a function, without `fit`
        wanted.add("Attributes")
    if name == "Pairs" or getattr(cls, "references", ()):
        wanted.add("References")
    assert wanted <= sections


def test_every_method_has_an_entry_on_the_page_of_methods():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    entries = re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)
    names = {*import_module("linkselect.selectors").__all__} - {"AsScoreFunction"}
    assert sorted(entries) == sorted(names)


def test_generated_tables_are_fresh():
    stale = [str(page) for page in tables.stale()]
    assert not stale, f"{stale}: run `python docs/tables.py --write` and commit the pages."


def test_every_subpackage_is_described():
    table = (ROOT / "CONTRIBUTING.md").read_text()
    for part in sorted(Path(linkselect.__file__).parent.iterdir()):
        package = part.is_dir() and (part / "__init__.py").exists()
        module = part.suffix == ".py" and not part.name.startswith("__")
        name = f"{part.name}/" if package else part.name
        if package or (module and part.stem != "bibliography"):
            assert re.search(rf"^\|.*`{name}`.*\|$", table, flags=re.MULTILINE), name


def test_pages_need_no_network():
    """Pages load no scripts, styles or images from other sites."""
    for page in [*PAGES, ROOT / "docs" / "conf.py"]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(src|href)=.?https?:|!\[[^]]*\]\(https?:|intersphinx", text), page


def test_the_published_verification_has_no_failure():
    page = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
    table = page.split("<!-- thorough: start -->")[1].split("<!-- thorough: end -->")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("|")]
    failures = [cell.strip() for cell in rows[0]].index("failures")
    assert {row[failures].strip(" *") for row in rows[2:]} <= {"0", ""}
