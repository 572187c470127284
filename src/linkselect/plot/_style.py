"""Axes, colours, sizes and text styles that are shared by all plots."""

from __future__ import annotations

import io
import textwrap
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import shortened

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

INK, MUTED, FAINT = "#24292f", "#656d76", "#c9d1d9"
FILL, STRESS = "#2a6fa8", "#c2410c"

# Colour, dashes and marker of each line. The colours are safe for colour-blind readers (Okabe and
# Ito, darkened for white), and dashes and markers distinguish the lines in grey.
COLOURS = ("#0072b2", "#c2410c", "#00805c", "#8a5a9e", "#a07800", "#b5306e", "#24292f")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (9, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
LINES = tuple(
    (COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])
    for i in range(len(COLOURS) * len(DASHES) * len(MARKERS))
)

# Names come from data, so dollar signs are not interpreted as formulas.
PLAIN_TEXT: dict[str, Any] = {"parse_math": False, "usetex": False}
# A legend inside the axes.
LEGEND: dict[str, Any] = {"fontsize": "small", "framealpha": 0.9, "edgecolor": "none"}
LONGEST_NAME = 28

# Figures for journals: the width of a column, 8-point text, embedded fonts.
Width = Literal["single", "double"]
# Widths of one and two journal columns in inches.
INCHES: dict[Width, float] = {"single": 3.5, "double": 7.2}

LETTERS = 8
SIZES = ("axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize")
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so that figures look the same everywhere
    **dict.fromkeys(("font.size", "legend.fontsize", *SIZES), LETTERS),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    "lines.linewidth": 1.2,
    "text.color": INK,
    "axes.labelcolor": INK,
    # Text remains text: TrueType fonts in PDF, text elements in SVG.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "linkselect",
    "savefig.dpi": 300,
}


def have_matplotlib() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def check_matplotlib(what: str) -> None:
    """Raise an error with the installation command if matplotlib is missing."""
    if not have_matplotlib():
        raise ImportError(
            f"{what} need matplotlib, which is not installed: pip install 'linkselect[plot]'"
        )


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given Axes, or the Axes of a new figure with this size in inches."""
    check_matplotlib("Plots")
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


@contextmanager
def styled(settings: dict[str, Any]) -> Iterator[None]:
    """Use matplotlib's defaults with these settings, regardless of the user's settings.

    The current backend of matplotlib is kept.
    """
    import matplotlib as mpl

    default: Any = {key: value for key, value in mpl.rcParamsDefault.items() if key != "backend"}
    with mpl.rc_context(default | settings), warnings.catch_warnings():
        # Characters missing from the font are drawn as boxes, or in another font by a browser.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def calm(ax: Axes, grid: str | None = None, *, x: str | None = None, y: str | None = None) -> None:
    """Remove the frame, draw a light grid along "x", "y" or "both", and label the axes."""
    if x is not None:
        ax.set_xlabel(x, color=INK)
    if y is not None:
        ax.set_ylabel(y, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(color=MUTED, labelcolor=INK)
    if grid is not None:
        ax.grid(axis=grid, color=FAINT, linewidth=0.6)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def note(
    ax: Axes, text: str, at: tuple[float, float], shift: tuple[float, float], **look: Any
) -> None:
    """Write small text near a position, shifted right and up by the given numbers of points."""
    settings = {"fontsize": "small", "color": INK, **PLAIN_TEXT, **look}
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **settings)


def short_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """Convert a name to a single line, and shorten it in the middle if it is long."""
    text = "".join(" " if unicodedata.category(sign)[0] == "C" else sign for sign in str(name))
    return shortened(" ".join(text.split()), longest, "…")


def text_width(text: str, size: float) -> float:
    """Return the width in inches of a text with this font size in points."""
    from matplotlib.figure import Figure

    figure = Figure(dpi=300)
    written = figure.text(0, 0, text, fontsize=size, **PLAIN_TEXT)
    return float(written.get_window_extent().width / figure.dpi)


def fitting_name(name: Any, inches: float, size: float, longest: int = LONGEST_NAME) -> str:
    """Shorten a name until it is at most this wide when drawn, because letters differ in width."""
    fitted = short_name(name, longest)
    while longest > 3 and text_width(fitted, size) > inches:
        longest = min(longest, len(fitted)) - 1
        fitted = short_name(name, longest)
    return fitted


def make_plain(texts: Iterable[Text], names: Iterable[str]) -> None:
    """Set text elements to names without interpreting special characters."""
    for text, name in zip(texts, names, strict=True):
        text.set_text(name)
        text.update(PLAIN_TEXT)


def mean_and_spread(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean and standard deviation over runs, ignoring runs without a value."""
    known = np.ma.masked_invalid(values)
    return known.mean(axis=0).filled(np.nan), known.std(axis=0).filled(0.0)


@contextmanager
def paper_style() -> Iterator[None]:
    """Use the style for publications, regardless of the user's settings."""
    check_matplotlib("Figures")
    with styled(SETTINGS):
        yield


def letter(ax: Axes, text: str) -> None:
    """Write the letter of a panel above its left edge."""
    ax.set_title(text, loc="left", fontweight="bold", fontsize=LETTERS + 1, color=INK)


def add_caption(figure: Figure, text: str) -> None:
    """Write a caption below a figure, wrapped to its width."""
    room = 0.98 * figure.get_figwidth() - 0.02
    # Start with slightly too many letters: one of 6.5 points is about 0.049 inches wide.
    n_letters = int(room / 0.047)
    lines = textwrap.wrap(text, n_letters, break_on_hyphens=False)
    while n_letters > 20 and text_width(max(lines, key=len), 6.5) > room:
        n_letters -= 1
        lines = textwrap.wrap(text, n_letters, break_on_hyphens=False)
    caption = figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color=INK)
    caption.set_parse_math(False)


def save_figure(
    figure: Figure, path: str | os.PathLike[str], kind: Literal["pdf", "svg", "png"], title: str
) -> None:
    """Write a figure without a date, so that repeated calls write identical files."""
    metadata: dict[str, Any] = {
        "pdf": {"Title": title, "CreationDate": None, "Creator": "linkselect", "Producer": None},
        "svg": {"Title": title, "Date": None, "Creator": "linkselect"},
        "png": {"Title": title, "Software": None},
    }[kind]
    # Drawing in memory first, because an error of matplotlib would hide that the disk is full.
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, metadata=metadata)
    Path(path).write_bytes(drawn.getbuffer())
