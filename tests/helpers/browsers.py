"""Start a browser for tests of pages."""

import os
import shutil
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROOT = Path(__file__).parents[2]
AXE = [
    Path(os.environ.get("LINKSELECT_AXE", "")),
    *(folder / "node_modules" / "axe-core" / "axe.min.js" for folder in (ROOT, ROOT / ".venv")),
]


def started_browser(driver):
    """Start the first browser that is installed, or skip the test."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    return driver.chromium.launch(executable_path=program, args=FLAGS)


def axe_source():
    """Return the script that checks accessibility, or skip the test."""
    found = next((path for path in AXE if path.is_file()), None)
    if found is None:
        pytest.skip("needs axe-core: npm install axe-core, or LINKSELECT_AXE=.../axe.min.js")
    return found.read_text(encoding="utf-8")
