"""Figures as journals want them: the width of a column, 8-point letters, fonts inside the file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from linkselect.plot._style import INK, check_matplotlib, styled, text_width

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Width = Literal["single", "double"]
# One column and both columns of a journal, in inches.
INCHES: dict[Width, float] = {"single": 3.5, "double": 7.2}

LETTERS = 8
SIZES = ("axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize")
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that a figure is the same everywhere
    **dict.fromkeys(("font.size", "legend.fontsize", *SIZES), LETTERS),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    "lines.linewidth": 1.2,
    "text.color": INK,
    "axes.labelcolor": INK,
    # Letters stay letters: TrueType fonts in PDF, text in SVG.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "linkselect",
    "savefig.dpi": 300,
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw as for a paper, whatever the style of the session."""
    check_matplotlib("Figures")
    with styled(SETTINGS):
        yield


def letter(ax: Axes, text: str) -> None:
    """Write the letter of a panel above its left edge."""
    ax.set_title(text, loc="left", fontweight="bold", fontsize=LETTERS + 1, color=INK)


def add_caption(figure: Figure, text: str) -> None:
    """Write what a figure shows below it, in lines as wide as the figure."""
    import textwrap

    room = 0.98 * figure.get_figwidth() - 0.02
    # A letter of 6.5 points is about 0.049 inches wide.
    n_letters = int(room / 0.047)
    lines = textwrap.wrap(text, n_letters)
    while n_letters > 20 and text_width(max(lines, key=len), 6.5) > room:
        n_letters -= 1
        lines = textwrap.wrap(text, n_letters)
    caption = figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color=INK)
    caption.set_parse_math(False)


def save_figure(
    figure: Figure, path: str | os.PathLike[str], kind: Literal["pdf", "svg", "png"], title: str
) -> None:
    """Write a figure without the time and the place, so that the same call writes the same file."""
    metadata: dict[str, Any] = {
        "pdf": {"Title": title, "CreationDate": None, "Creator": "linkselect", "Producer": None},
        "svg": {"Title": title, "Date": None, "Creator": "linkselect"},
        "png": {"Title": title, "Software": None},
    }[kind]
    # In memory first: on a full disk, what matplotlib says while it writes a PDF hides the reason.
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, metadata=metadata)
    Path(path).write_bytes(drawn.getbuffer())
