"""A picture of what the best features are worth, over their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import FloatArray
from linkselect.plot._style import FILL, MUTED, STRESS, calm, note

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 6


def draw_number(
    ax: Axes,
    counts: Sequence[int],
    means: ArrayLike,
    errors: ArrayLike,
    n_selected: int,
    measure: str,
    chance: float | None = None,
) -> None:
    """Draw a measure over numbers of features with its standard error, and mark the chosen one.

    Numbers of features grow by factors, so their axis does.
    """
    x = np.asarray(counts, dtype=float)
    mean, error = np.asarray(means, dtype=float), np.asarray(errors, dtype=float)
    ax.fill_between(x, mean - error, mean + error, color=FILL, alpha=0.2, linewidth=0)
    ax.plot(x, mean, color=FILL, marker="o", markersize=3.2, linewidth=1.4)
    if chance is not None:
        ax.axhline(chance, color=MUTED, linewidth=0.8, dashes=(2, 3))
        note(ax, "chance", (x[-1], chance), (0, 3), ha="right", color=MUTED)
    _mark_selected(ax, x[0], x[-1], n_selected)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.1 * (high - low))  # room for the number
    spread_numbers(ax, counts, n_selected)
    calm(ax, "y", x="number of features", y=measure)


def draw_ranked_scores(
    ax: Axes, values: FloatArray, n_selected: int, greater_is_better: bool
) -> None:
    """Draw the scores in the order of their ranks, better upwards, and mark the last one kept."""
    last = len(values)
    # More points than that are not seen.
    ranks = np.unique(np.geomspace(1, last, 400).astype(np.intp))
    ranks = ranks[np.isfinite(values[ranks - 1])]
    ax.plot(ranks, values[ranks - 1], color=FILL, linewidth=1.4)
    _mark_selected(ax, 1, last, n_selected)
    low, high = ax.get_ylim()
    room = 0.1 * (high - low)
    ax.set_ylim((low, high + room) if greater_is_better else (high, low - room))
    ticks = [tick for tick in (1, 10, 100, 1000, 10_000, 100_000) if tick < 0.6 * last] + [last]
    _by_factors(ax, ticks)
    direction = "larger" if greater_is_better else "smaller"
    calm(ax, "y", x="rank", y=f"score ({direction} is better)")


def spread_numbers(ax: Axes, counts: Sequence[int], n_selected: int | None = None) -> None:
    """Let the axis of numbers of features grow by factors, as the numbers do."""
    ticks = number_ticks(counts)
    if n_selected is not None and counts[0] <= n_selected <= counts[-1]:
        ticks = _with_tick(ticks, n_selected)
    _by_factors(ax, ticks)


def _by_factors(ax: Axes, ticks: list[int]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.minorticks_off()


def _with_tick(ticks: list[int], wanted: int) -> list[int]:
    """Add a tick, and leave out those that it would be written over."""
    # As a share of the axis; wider numbers need more of it.
    room = (0.08 + 0.02 * len(f"{ticks[-1]:,}")) * np.log(ticks[-1] / ticks[0])
    others = [tick for tick in ticks if abs(np.log(tick / wanted)) >= room and tick != wanted]
    return sorted([*others, wanted])


def _mark_selected(ax: Axes, first: float, last: float, n_selected: int) -> None:
    ax.axvline(n_selected, color=STRESS, linestyle=":", linewidth=1.2)
    # On the side that has more room.
    right = np.log(n_selected / first) <= 0.5 * np.log(last / first)
    where = {"xycoords": ("data", "axes fraction"), "ha": "left" if right else "right"}
    shift = (4 if right else -4, 0)
    note(ax, f"{n_selected:,} kept", (n_selected, 0.98), shift, va="top", **where)


def number_ticks(counts: Sequence[int]) -> list[int]:
    """Choose a few round numbers of an axis of factors: 1, 3, 10, 30, ... and the last.

    Examples
    --------
    >>> number_ticks([1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500])
    [1, 5, 20, 100, 500]
    >>> number_ticks([1, 2, 3, 5, 6])
    [1, 2, 3, 6]
    """
    every = list(counts)
    if len(every) <= MOST_TICKS:
        return every if len(every) < 5 else [*every[:3], every[-1]]
    wanted = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= every[-1]]
    if len(wanted) > MOST_TICKS:
        wanted = [tick for tick in (1, 5, 20, 100, 500) if tick <= every[-1]]
    # A last number close to a round one would be written over it.
    return wanted if every[-1] < 1.6 * wanted[-1] else [*wanted, every[-1]]
