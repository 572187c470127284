"""Check the built site: links lead somewhere, and pages are accessible.

`make docs` runs it. Links to other sites are not followed. Accessibility is checked on one page of
each kind, in light and dark, if Chromium and axe-core are installed as `.ci/run` installs them.
"""

import shutil
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
AXE = ROOT / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KINDS_OF_PAGES = (
    *("index.html", "start.html", "recipes/genes.html", "methods.html", "command_line.html"),
    *("api/index.html", "api/generated/linkselect.LinkSelector.html", "auto_examples/index.html"),
    *("auto_examples/asking.html", "calibration.html", "search.html"),
)
FAULT = """async () => (await axe.run()).violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.map(node => node.target).slice(0, 3).join(", ")}`)"""
# Made by the theme, with anchors that scripts add.
SKIPPED = {"search.html", "genindex.html"}


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep ids, names of anchors, links and sources."""
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
    """Return whether a page has an anchor, or is made by the theme."""
    return file.name in SKIPPED or unquote(name) in page(file).anchors


def broken(file: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
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


def inaccessible(program: str) -> list[str]:
    """Return the serious faults that axe finds, page by page."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        for scheme in ("light", "dark"):
            tab = browser.new_context(color_scheme=scheme).new_page()
            for name in KINDS_OF_PAGES:
                tab.goto(f"{SITE.as_uri()}/{name}")
                tab.evaluate(AXE.read_text(encoding="utf-8"))
                found += [f"{name}, {scheme}: {fault}" for fault in tab.evaluate(FAULT)]
        browser.close()
    return found


def main() -> None:
    """Name every broken link and every serious fault, and fail if there is one."""
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
        faults = inaccessible(program)
        print(
            f"{len(KINDS_OF_PAGES)} pages in light and dark, {len(faults)} faults of accessibility"
        )
        found += faults
    else:
        print("Accessibility was not checked: it needs Chromium and axe-core.")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
