"""Check that the links of the built site work and that its pages are accessible.

`make docs` runs this script. Links to other sites are not followed. If Chromium and axe-core are
installed (see `.ci/run`), accessibility is checked on a page of each kind, in light and dark mode.
"""

import shutil
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
AXE = ROOT / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KINDS_OF_PAGES = (
    *("index.html", "start.html", "recipes/genes.html", "methods.html", "command_line.html"),
    *("api/index.html", "api/generated/linkselect.LinkSelector.html", "auto_examples/index.html"),
    *("auto_examples/asking.html", "calibration.html", "search.html"),
)
SEARCHES = {
    "cite": "citing",
    "bibtex": "citing",
    "number of features": "guide/how_many",
    "time series": "recipes/sensors",
    "anndata": "recipes/anndata",
    "genes": "recipes/genes",
    "parquet": "guide/large_data",
    "gpu": "guide/large_data",
    "p-values": "guide/trust",
    "add a method": "add_a_method",
    "which method": "which_method",
}
FAULT = """async () => (await axe.run()).violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.map(node => node.target).slice(0, 3).join(", ")}`)"""
# Pages of the theme, whose anchors are added by scripts.
SKIPPED = {"search.html", "genindex.html"}


class Page(HTMLParser):
    """The anchors and link targets of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect ids, names of anchors, links and sources."""
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.targets.add(value)


@cache
def page(file: Path) -> Page:
    """Parse a page once."""
    return Page(file)


def has_anchor(file: Path, name: str) -> bool:
    """Return whether a page has an anchor; pages of the theme are not checked."""
    return file.name in SKIPPED or unquote(name) in page(file).anchors


def broken(file: Path) -> list[str]:
    """Return the broken links of a page."""
    found = []
    for target in sorted(page(file).targets):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        linked = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not linked.is_file():
            found.append(f"{file.relative_to(SITE)}: {target}")
        elif parts.fragment and linked.suffix == ".html" and not has_anchor(linked, parts.fragment):
            found.append(f"{file.relative_to(SITE)}: {target} (no such anchor)")
    return found


def inaccessible(browser: "Browser") -> list[str]:
    """Return the serious violations that axe finds, page by page."""
    found = []
    for scheme in ("light", "dark"):
        tab = browser.new_context(color_scheme=scheme).new_page()
        for name in KINDS_OF_PAGES:
            tab.goto(f"{SITE.as_uri()}/{name}")
            tab.evaluate(AXE.read_text(encoding="utf-8"))
            found += [f"{name}, {scheme}: {fault}" for fault in tab.evaluate(FAULT)]
    return found


def lost(browser: "Browser") -> list[str]:
    """Return the searches whose first result is another page than it should be."""
    found = []
    tab = browser.new_page()
    for words, page_name in SEARCHES.items():
        tab.goto(f"{SITE.as_uri()}/search.html?q={quote(words)}")
        results = tab.locator("#search-results li a")
        results.first.wait_for()
        first = results.first.get_attribute("href") or ""
        if not first.startswith(f"{page_name}.html"):
            found.append(f"search for {words!r} finds {first} before {page_name}.html")
    return found


def main() -> None:
    """Print all broken links and serious accessibility violations, and fail if there are any."""
    files = [
        file
        for file in sorted(SITE.rglob("*.html"))
        if file.name not in SKIPPED and "_static" not in file.parts
    ]
    if not files:
        sys.exit(f"There are no pages in {SITE.name}: run `make docs`.")
    found = [link for file in files for link in broken(file)]
    print(f"{len(files)} pages, {len(found)} broken links")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program and AXE.is_file():
        from playwright.sync_api import sync_playwright

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=flags)
            violations, missed = inaccessible(browser), lost(browser)
            browser.close()
        print(f"{len(KINDS_OF_PAGES)} pages in light and dark, {len(violations)} violations")
        print(f"{len(SEARCHES)} searches, {len(missed)} with the wrong first result")
        found += violations + missed
    else:
        print("Search and accessibility were not checked: they need Chromium and axe-core.")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
