"""Notebook output: names are text, and colours are inherited."""

import re

import linkselect as ls
from linkselect._notebook import STYLE, panel, table


def test_everything_is_text():
    html = panel("<i>", table(["<u>"], [["<b>", "'\""]], note="<s>"))
    assert re.findall(r"<(\w+)", html.removeprefix(STYLE)) == [
        "div", "p", "strong", "table", "thead", "tr", "th", "tbody", "tr", "td", "td", "p",
    ]  # fmt: skip
    for text in ("&lt;i&gt;", "&lt;u&gt;", "&lt;b&gt;", "&#x27;&quot;", "&lt;s&gt;"):
        assert text in html


def test_no_colour_is_fixed():
    """A fixed colour would be unreadable in either the light or the dark theme."""
    html = ls.Pairs(must=[(0, 1)])._repr_html_()
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb|hsl|white|black", html)
    for found in re.findall(r"(?<![-\w])(?:color|background): ([^;]*)", html):
        assert found in ("inherit", "transparent")
