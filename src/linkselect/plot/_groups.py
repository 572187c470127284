"""One feature in a small picture: by class, between must-links and cannot-links, or as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkselect.plot._style import (
    COLOURS,
    FILL,
    INK,
    PLAIN_TEXT,
    calm,
    short_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_GROUP = 14


def draw_groups(ax: Axes, labels: Sequence[str], quantiles: Sequence[Sequence[float]]) -> None:
    """Draw one strip for each group, the first on top.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    labels : sequence of str
        The name of each group.
    quantiles : sequence of five floats each
        The 5, 25, 50, 75 and 95 % quantiles: ends of a thin line, ends of a thick one, and a dot.
    """
    for place, (low, first, middle, third, high) in enumerate(quantiles):
        colour = COLOURS[place % (len(COLOURS) - 1)]
        ax.plot([low, high], [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
        ax.plot([first, third], [place, place], color=colour, linewidth=7, solid_capstyle="butt")
        ax.plot(
            [middle], [place], "o", color=INK, markerfacecolor="#ffffff", markersize=4.5, zorder=3
        )
    shown = [short_name(label, LONGEST_GROUP) for label in labels]
    ax.set_yticks(range(len(labels)), shown, **PLAIN_TEXT)
    ax.set_ylim(len(labels) - 0.45, -0.55)
    _settle(ax)


def draw_histogram(ax: Axes, counts: Sequence[int], low: float, high: float) -> None:
    """Draw how often values occur between the lowest and the highest."""
    edges = np.linspace(low, high, len(counts) + 1)
    ax.stairs(counts, edges, fill=True, color=FILL)
    ax.set_yticks([])
    ax.set_ylim(bottom=0)
    _settle(ax)


def _settle(ax: Axes) -> None:
    calm(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=4)
    ax.margins(x=0.06)
