"""Embed matplotlib figures in an HTML page as SVG with the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from linkselect.plot._style import COLOURS, FAINT, FILL, INK, MUTED, STRESS, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Widths in inches on screens and on phones, where a separate version keeps the text readable.
WIDE, SLIM = 7.2, 3.5

# Colours of figures and their variables in page.css, which defines light and dark values.
VARIABLES = {
    **{colour: f"var(--line-{place})" for place, colour in enumerate(COLOURS)},
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    FAINT: "var(--faint)",
    FILL: "var(--fill)",
    STRESS: "var(--stress)",
    "#ffffff": "var(--surface)",
}


def picture_colours() -> dict[str, str]:
    """Return the light value of each figure colour, keyed by its variable in page.css."""
    return {name[4:-1]: colour for colour, name in VARIABLES.items()}


def draw_both(
    draw: Callable[[Axes, bool], Any],
    name: str,
    title: str,
    height: float,
    slim_height: float | None = None,
) -> str:
    """Draw a figure in two versions, one for wide pages and one for phones.

    Parameters
    ----------
    draw : callable
        Function that draws into the given Axes. Its second argument is True for phones.
    name, title
        Passed to `draw_svg`.
    height, slim_height : float
        Heights of the two versions in inches. By default, both have the same height.
    """
    wide = draw_svg(lambda ax: draw(ax, False), name, title, WIDE, height)
    slim = draw_svg(
        lambda ax: draw(ax, True), f"{name}-slim", title, SLIM, slim_height or height, letters=9
    )
    return f'<div class="wide">{wide}</div><div class="slim">{slim}</div>'


def draw_svg(
    draw: Callable[[Axes], Any],
    name: str,
    title: str,
    width: float,
    height: float,
    letters: float = 10,
) -> str:
    """Draw a figure and return it as SVG text for embedding in a page.

    Parameters
    ----------
    draw : callable
        Function that draws into the given Axes.
    name : str
        Prefix of all element IDs, which must be unique on the page.
    title : str
        Description of the figure for screen readers.
    width, height : float
        Size in inches.
    letters : float, default=10
        Font size in points.

    Returns
    -------
    str
    """
    from matplotlib.figure import Figure

    settings = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    settings |= {"svg.fonttype": "none", "svg.hashsalt": name, "svg.id": name}
    file = io.StringIO()
    with styled({**settings, "font.size": letters}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.add_subplot())
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inline(file.getvalue(), name, title)


def _inline(svg: str, name: str, title: str) -> str:
    """Adapt SVG text to a page: make IDs unique, use the page's colours, remove namespaces."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        attributes = {key.split("}")[-1]: value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({key: _fit(key, attributes[key], name) for key in attributes})
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    # The limit on the width keeps the text of the figure no larger than that of the page.
    width = float(root.attrib["viewBox"].split()[2])
    style = f"max-width:{width / 72:.4g}in"
    root.attrib.update({"role": "img", "aria-label": title, "class": "picture", "style": style})
    return ElementTree.tostring(root, encoding="unicode")


def _fit(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    if key in ("style", "fill", "stroke"):
        value = re.sub(r"#[0-9a-f]{6}\b", lambda found: VARIABLES.get(found[0], found[0]), value)
    return value
