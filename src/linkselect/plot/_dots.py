"""Draw scores, selection frequencies and distributions of single features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray
from linkselect._display import score_text
from linkselect.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more features than this, there is no room for names.
MOST_NAMED = 60
# The axis is logarithmic if scores differ by more than this factor.
WIDE_RANGE = 100.0
LONGEST_GROUP = 14


def draw_scores(
    ax: Axes,
    names: Sequence[str],
    values: FloatArray,
    selected: BoolArray,
    greater_is_better: bool,
    longest_name: int = 28,
) -> None:
    """Draw the score of each feature as a dot, which is filled if the feature is selected.

    The axis covers the range of the scores, so that similar scores remain distinguishable. The axis
    is reversed if smaller scores are better. Features without a score have no dot, and infinite
    scores are drawn at the edge.
    """
    low, high, is_log = _limits(values)
    better, worse = (high, low) if greater_is_better else (low, high)
    places = np.arange(len(values))
    named = len(values) <= MOST_NAMED
    shown = np.clip(values, low, high)
    dots: dict[str, Any] = {"markersize": 5.5 if named else 2.5, "clip_on": False, "zorder": 3}
    if selected.any():
        ax.plot(shown[selected], places[selected], "o", label="selected", **dots, color=style.FILL)
    if not selected.all():
        hollow: Any = {"color": style.MUTED, "markerfacecolor": "none", "label": "not selected"}
        ax.plot(shown[~selected], places[~selected], "o", **dots, **hollow)
    if is_log:
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", nbins=6)
    ax.set_xlim(worse, better)
    ax.set_ylim(len(values) - 0.4, -0.6)
    _label(ax, names, values, named, longest_name)
    direction = "larger" if greater_is_better else "smaller"
    grid = "both" if named else "x"
    style.calm(ax, grid, x=f"score ({direction} is better: to the right)")
    ax.spines["left"].set_visible(False)
    if selected.any() and not selected.all():
        # The lower right corner is empty if the last dots are in the worse half.
        last = (shown[-3:] - worse) / (better - worse)
        is_free = not np.any(last >= 0.5)  # a missing score is NaN, which has no dot
        where: Any = "lower right" if named and is_free else "best"
        ax.legend(loc=where, handletextpad=0.2, **style.LEGEND)


def draw_frequencies(
    ax: Axes, shares: FloatArray, errors: FloatArray, p_values: Sequence[str] | None = None
) -> None:
    """Draw selection frequencies ± 2 standard errors to the right of the scores.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes that contain the scores.
    shares, errors : ndarray of shape (n_shown,)
        The frequencies and their Monte Carlo standard errors.
    p_values : sequence of str, optional
        The p-values as text, which is written to the right of the frequencies.
    """
    place = ax.get_subplotspec()
    assert place is not None
    grid = place.subgridspec(1, 2, width_ratios=(1.0, 0.36))
    ax.set_subplotspec(grid[0])
    beside = ax.figure.add_subplot(grid[1])
    # The label has to fit the narrower axes.
    ax.set_xlabel(ax.get_xlabel().replace(": to the right", "").replace(" (", "\n("))
    if (legend := ax.get_legend()) is not None:
        legend.remove()
    places = np.arange(len(shares))
    low, high = np.maximum(shares - 2 * errors, 0), np.minimum(shares + 2 * errors, 1)
    beside.hlines(places, low, high, color=style.MUTED, linewidth=1.2)
    beside.plot(shares, places, "o", color=style.FILL, markersize=4, clip_on=False, zorder=3)
    beside.set_xlim(-0.04, 1.04)
    beside.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    beside.set_ylim(*ax.get_ylim())
    beside.set_yticks(places, [""] * len(places))
    beside.tick_params(axis="y", length=0)
    beside.grid(axis="y", color=style.FAINT, linewidth=0.6, linestyle=(0, (1, 2)))
    style.calm(beside, "both", x="selection\nfrequency")
    beside.spines["left"].set_visible(False)
    look: Any = {"color": style.MUTED, "va": "center", "annotation_clip": False}
    for row, text in enumerate(p_values or ()):
        where: Any = ("axes fraction", "data")
        style.note(beside, f"p {text}", (1.0, row), (8, 0), xycoords=where, **look)


def _limits(values: FloatArray) -> tuple[float, float, bool]:
    """Return the axis limits for finite scores, and whether the axis is logarithmic."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return -1.0, 1.0, False
    low, high = float(finite.min()), float(finite.max())
    if low > 0 and high > WIDE_RANGE * low:
        margin = (high / low) ** 0.06
        return low / margin, high * margin, True
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin, False


def _label(
    ax: Axes, names: Sequence[str], values: FloatArray, named: bool, longest_name: int
) -> None:
    """Write feature names on the left and scores on the right, if there is room."""
    ax.tick_params(axis="y", length=0)
    if not named:
        ax.set_ylabel("rank", color=style.INK)
        ax.yaxis.set_major_formatter(lambda place, _: f"{place + 1:.0f}")
        return
    places = range(len(values))
    shown = [style.short_name(name, longest_name) for name in names]
    ax.set_yticks(places, shown, **style.PLAIN_TEXT)
    ax.grid(axis="y", color=style.FAINT, linewidth=0.6, linestyle=(0, (1, 2)))
    for place, value in zip(places, values, strict=True):
        text = score_text(value, 3, padded=True)
        look = {"color": style.MUTED, "va": "center", "annotation_clip": False}
        style.note(ax, text, (1.0, place), (8, 0), xycoords=("axes fraction", "data"), **look)


def draw_groups(ax: Axes, groups: Sequence[Any]) -> None:
    """Draw the quantiles of each group as a thin line, a thick line and a dot.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes to draw into.
    groups : sequence of dict
        The `label` of each group and its 5, 25, 50, 75 and 95 % `quantiles`. The thin line spans
        the 5 to 95 % quantiles, the thick line the 25 to 75 % quantiles, and the dot is the median.
    """
    for place, group in enumerate(groups):
        low, first, middle, third, high = group["quantiles"]
        colour = style.COLOURS[place % (len(style.COLOURS) - 1)]
        ax.plot([low, high], [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
        ax.plot([first, third], [place, place], color=colour, linewidth=7, solid_capstyle="butt")
        dot: Any = {"color": style.INK, "markerfacecolor": "#ffffff", "markersize": 4.5}
        ax.plot([middle], [place], "o", zorder=3, **dot)
    shown = [style.short_name(group["label"], LONGEST_GROUP) for group in groups]
    ax.set_yticks(range(len(groups)), shown, **style.PLAIN_TEXT)
    ax.set_ylim(len(groups) - 0.45, -0.55)
    _settle(ax)


def draw_histogram(ax: Axes, counts: Sequence[int], low: float, high: float) -> None:
    """Draw a histogram from the counts of bins of equal width."""
    edges = np.linspace(low, high, len(counts) + 1)
    ax.stairs(counts, edges, fill=True, color=style.FILL)
    ax.set_yticks([])
    ax.set_ylim(bottom=0)
    _settle(ax)


def _settle(ax: Axes) -> None:
    style.calm(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=4)
    ax.margins(x=0.06)
