"""Every Python block of README and guide runs, page by page in one namespace."""

import re
from pathlib import Path

import pytest
import sklearn

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/guide.md"]


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    namespace = {}
    before = sklearn.get_config()
    try:
        for block in blocks:
            exec(compile(block, page, "exec"), namespace)
    finally:
        sklearn.set_config(**before)


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(page):
    file = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
        assert (file.parent / target).exists(), f"{page} links to {target}"
