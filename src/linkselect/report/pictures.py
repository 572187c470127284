"""Pictures inside a page: matplotlib draws, and the page's own colours replace the drawn ones."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from linkselect.arrays import FloatArray
from linkselect.plot.dots import draw_scores
from linkselect.plot.features import draw_mask, draw_path
from linkselect.plot.samples import draw_pairs
from linkselect.plot.style import COLOURS, FAINT, FILL, INK, MUTED, STRESS
from linkselect.report.schema import (
    MaskSummary,
    MethodSummary,
    PathSummary,
    Score,
    Summary,
    ViewSummary,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_svg", "have_matplotlib", "report_pictures"]

MOST_BARS = 20
# Narrower pictures fit the screen of a phone as they are.
NARROW_POINTS = 360

# Drawn colours and what they are called in page.css, where they have a light and a dark value.
VARIABLES = {
    **{colour: f"var(--line-{place})" for place, colour in enumerate(COLOURS)},
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    FAINT: "var(--faint)",
    FILL: "var(--fill)",
    STRESS: "var(--stress)",
    "#ffffff": "var(--surface)",
}


def have_matplotlib() -> bool:
    """Tell whether pictures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw_svg(
    draw: Callable[[Axes], Any], name: str, title: str, width: float, height: float
) -> str:
    """Draw a picture as SVG text that can stand inside a page.

    Parameters
    ----------
    draw : callable
        Draws into the Axes that it is given.
    name : str
        Unlike that of any other picture of the page; it begins every id.
    title : str
        What the picture shows, for readers who cannot see it.
    width, height : float
        Size in inches.

    Returns
    -------
    str
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # From the defaults, so that a page does not depend on the style of a session.
    settings: Any = {key: value for key, value in mpl.rcParamsDefault.items() if key != "backend"}
    settings |= {"svg.fonttype": "none", "svg.hashsalt": name, "svg.id": name}
    settings |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    file = io.StringIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        # The browser draws the text, and it knows more letters than matplotlib's font.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.add_subplot())
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inline(file.getvalue(), name, title)


def _inline(svg: str, name: str, title: str) -> str:
    """Fit an SVG file into a page: own ids, the page's colours, no namespaces."""
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
    root.attrib.update({"role": "img", "aria-label": title, "class": "picture"})
    if float(root.attrib["viewBox"].split()[2]) < NARROW_POINTS:
        root.attrib["class"] = "picture narrow"
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


def report_pictures(summary: Summary) -> dict[str, str]:
    """Draw every picture that a summary has the data for."""
    drawn = {"scores": _scores(summary)}
    if summary["path"] is not None:
        drawn["path"] = _path(summary["path"], summary["method"])
    if summary["view"] is not None:
        drawn["pairs"] = _pairs(summary["view"])
    if summary["mask"] is not None:
        drawn["mask"] = _mask(summary["mask"])
    return drawn


def numbers(values: Sequence[Score]) -> FloatArray:
    """Read back what JSON could not hold: None is no number, "inf" an infinite one."""
    return np.array([np.nan if value is None else float(value) for value in values], dtype=float)


def _scores(summary: Summary) -> str:
    ranking = summary["ranking"]
    names = ranking["feature"][:MOST_BARS]
    values = numbers(ranking["score"][:MOST_BARS])
    selected = np.array(ranking["selected"][:MOST_BARS])
    greater = summary["method"]["greater_is_better"]

    def draw(ax: Axes) -> None:
        draw_scores(ax, names, values, selected, greater)

    title = f"Scores of the best {len(names)} features"
    return draw_svg(draw, "scores", title, 7.2, 0.27 * len(names) + 0.9)


def _path(path: PathSummary, method: MethodSummary) -> str:
    errors = None if path["errors"] is None else numbers(path["errors"])

    def draw(ax: Axes) -> None:
        values = numbers(path["values"])
        mark_best = path["has_optimum"]
        greater, n_selected = method["greater_is_better"], method["n_selected"]
        draw_path(ax, values, greater, n_selected, errors, mark_best=mark_best)

    return draw_svg(draw, "path", "Criterion at each step", 7.2, 3.4)


def _pairs(view: ViewSummary) -> str:
    def draw(ax: Axes) -> None:
        points = np.array(view["points"], dtype=float)
        must, cannot = (
            np.array(links, dtype=np.intp).reshape(-1, 2)
            for links in (view["must"], view["cannot"])
        )
        draw_pairs(ax, points, must, cannot)
        ax.set_xlabel(view["labels"][0])
        ax.set_ylabel(view["labels"][1])

    return draw_svg(draw, "pairs", "Pairs over a view of the samples", 7.2, 4.6)


def _mask(mask: MaskSummary) -> str:
    pixels = np.array(mask["pixels"], dtype=bool)
    height, width = pixels.shape

    def draw(ax: Axes) -> None:
        draw_mask(ax, pixels)

    return draw_svg(draw, "mask", "Selected pixels", 3.6, min(3.6 * height / width, 6.0))
