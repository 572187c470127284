"""Scores and values of features along one axis, which need not begin at 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray
from linkselect._display import score_text
from linkselect.plot._style import (
    COLOURS,
    FAINT,
    FILL,
    INK,
    LEGEND,
    MUTED,
    PLAIN_TEXT,
    calm,
    note,
    short_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More features than this have no room for names.
MOST_NAMED = 60
# Scores that differ by more than this factor are drawn by their order of magnitude.
WIDE_RANGE = 100.0
LONGEST_GROUP = 14
SELECTED: dict[str, Any] = {"color": FILL, "markerfacecolor": FILL, "markeredgecolor": FILL}
OTHER: dict[str, Any] = {"color": MUTED, "markerfacecolor": "none", "markeredgecolor": MUTED}


def draw_scores(
    ax: Axes,
    names: Sequence[str],
    values: FloatArray,
    selected: BoolArray,
    greater_is_better: bool,
    longest_name: int = 28,
) -> None:
    """Draw one dot for each value, the first on top: full if selected, else hollow.

    The axis spans the values that are shown, so that close ones can be told apart. It is reversed
    if smaller is better. A feature without a score has no dot; an infinite one is at the edge.
    """
    is_log = _is_wide(values)
    low, high = _limits(values, is_log)
    better, worse = (high, low) if greater_is_better else (low, high)
    places = np.arange(len(values))
    named = len(values) <= MOST_NAMED
    shown = np.clip(values, low, high)
    dots: dict[str, Any] = {"markersize": 5.5 if named else 2.5, "clip_on": False, "zorder": 3}
    if selected.any():
        ax.plot(shown[selected], places[selected], "o", label="selected", **dots, **SELECTED)
    if not selected.all():
        ax.plot(shown[~selected], places[~selected], "o", label="not selected", **dots, **OTHER)
    if is_log:
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", nbins=6)
    ax.set_xlim(worse, better)
    ax.set_ylim(len(values) - 0.4, -0.6)
    _label(ax, names, values, named, longest_name)
    direction = "larger" if greater_is_better else "smaller"
    grid = "both" if named else "x"
    calm(ax, grid, x=f"score ({direction} is better: to the right)")
    ax.spines["left"].set_visible(False)
    if selected.any() and not selected.all():
        where: Any = "lower right" if named and _is_free(shown[-3:], worse, better) else "best"
        ax.legend(loc=where, handletextpad=0.2, **LEGEND)


def _is_free(values: FloatArray, worse: float, better: float) -> bool:
    """Tell whether the lower right corner is free: the last dots are in the worse half."""
    known = values[np.isfinite(values)]
    return bool(np.all((known - worse) / (better - worse) < 0.5))


def _is_wide(values: FloatArray) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() > WIDE_RANGE * finite.min())


def _limits(values: FloatArray, is_log: bool) -> tuple[float, float]:
    """Return the ends of the axis: a little more than the finite values, infinite ones beyond."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if is_log:
        margin = (high / low) ** 0.06
        return low / margin, high * margin
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _label(
    ax: Axes, names: Sequence[str], values: FloatArray, named: bool, longest_name: int
) -> None:
    """Write names on the left and values on the right, if there is room."""
    ax.tick_params(axis="y", length=0)
    if not named:
        ax.set_ylabel("rank", color=INK)
        ax.yaxis.set_major_formatter(lambda place, _: f"{place + 1:.0f}")
        return
    places = range(len(values))
    shown = [short_name(name, longest_name) for name in names]
    ax.set_yticks(places, shown, **PLAIN_TEXT)
    ax.grid(axis="y", color=FAINT, linewidth=0.6, linestyle=(0, (1, 2)))
    for place, value in zip(places, values, strict=True):
        text = score_text(value, 3, padded=True)
        look = {"color": MUTED, "va": "center", "annotation_clip": False}
        note(ax, text, (1.0, place), (8, 0), xycoords=("axes fraction", "data"), **look)


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
