"""Functions that draw the figures of the papers as panels of lines or bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._files import written_whole
from linkselect.plot._style import INK, LINES, MUTED, PLAIN_TEXT, calm
from linkselect.reproduction._paper import Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

PANEL_WIDTH, PANEL_HEIGHT = 4.3, 3.2
N_COLUMNS = 3
FEW_POINTS = 12
# The approximate width of a name in a legend, by character, and of the line before it.
INCHES_PER_SIGN, INCHES_PER_HANDLE = 0.075, 0.75


def draw_panels(panels: Sequence[Panel], title: str = "") -> Figure:
    """Draw panels in rows of up to three; each name has the same style in all panels.

    Parameters
    ----------
    panels : sequence of Panel
        The panels; at least one is required.
    title : str
        The title above all panels.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    columns = 2 if len(panels) == 4 else min(N_COLUMNS, len(panels))
    rows = ceil(len(panels) / columns)
    size = (PANEL_WIDTH * max(columns, 1.4), PANEL_HEIGHT * rows + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    styles = dict(zip(names, LINES, strict=False))
    for ax, panel in zip(axes, panels, strict=False):
        _draw_panel(ax, panel, styles)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    if title:
        figure.suptitle(title, color=INK, x=0.01, ha="left", fontsize="large", **PLAIN_TEXT)
    _add_legends(figure, axes[: len(panels)], panels)
    return figure


def save_figure(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write a figure as reproducible PNG and SVG files, and return their paths."""
    import matplotlib

    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    with written_whole(png) as part:
        figure.savefig(part, dpi=150, metadata={"Software": None})
    with written_whole(svg) as part, matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(part, metadata={"Date": None, "Creator": None})
    return png, svg


def _draw_panel(ax: Axes, panel: Panel, styles: Mapping[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_title(panel.title, loc="left", fontsize="medium", color=INK, **PLAIN_TEXT)
    calm(ax, grid="y")
    ax.tick_params(labelsize="small")
    ax.set_xlabel(panel.xlabel, color=INK, fontsize="small", **PLAIN_TEXT)
    ax.set_ylabel(panel.ylabel, color=INK, fontsize="small", **PLAIN_TEXT)
    draw = _draw_bars if panel.kind == "bar" else _draw_lines
    draw(ax, panel.series, styles)
    if panel.kind == "line" and all(
        isinstance(x, int) for line in panel.series.values() for x in line.x
    ):
        ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    if panel.logx:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))


def _draw_lines(ax: Axes, series: Mapping[str, Series], styles: Mapping[str, Any]) -> None:
    for name, line in series.items():
        colour, dashes, marker = styles[name]
        drawn: dict[str, Any] = {"ls": dashes, "lw": 1.4, "ms": 3.5}
        if line.drawn == "links":
            drawn = {"ls": "-", "lw": 0.6, "alpha": 0.6, "zorder": 1}
        elif line.drawn == "points":
            drawn = {"ls": "none", "marker": marker, "ms": 6}
        elif len(line.x) <= FEW_POINTS:
            drawn["marker"] = marker
        ax.plot(line.x, line.y, color=colour, label=name, **drawn)
        if line.spread is not None:
            mean, spread = np.asarray(line.y), np.asarray(line.spread)
            ax.fill_between(line.x, mean - spread, mean + spread, color=colour, alpha=0.1, lw=0)


def _draw_bars(ax: Axes, series: Mapping[str, Series], styles: Mapping[str, Any]) -> None:
    places = list(dict.fromkeys(str(x) for bars in series.values() for x in bars.x))
    width = 0.8 / max(len(series), 1)
    for number, (name, bars) in enumerate(series.items()):
        left = [places.index(str(x)) - 0.4 + (number + 0.5) * width for x in bars.x]
        colour = styles[name][0]
        ax.bar(left, bars.y, width, yerr=bars.spread, color=colour, ecolor=MUTED, label=name)
    turned = max(map(len, places), default=0) * len(places) > 45
    ax.set_xticks(
        range(len(places)), places, rotation=35 if turned else 0, ha="right" if turned else "center"
    )


def _add_legends(figure: Figure, axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Add one legend below all panels, or one to each panel if their names differ."""
    drawn = [(ax, panel) for ax, panel in zip(axes, panels, strict=True) if panel.series]
    if not drawn:
        return
    small: dict[str, Any] = {"frameon": False, "fontsize": "small", "labelcolor": INK}
    ax, widest = max(drawn, key=lambda pair: len(pair[1].series))
    if all(set(panel.series) <= set(widest.series) for _, panel in drawn):
        handles, labels = ax.get_legend_handles_labels()
        if len(labels) > 1:
            longest = max(map(len, labels))
            room = figure.get_figwidth() / (INCHES_PER_SIGN * longest + INCHES_PER_HANDLE)
            columns = max(1, min(len(labels), int(room)))
            below = figure.legend(
                handles, labels, loc="outside lower center", ncols=columns, **small
            )
            _make_plain(below)
        return
    for ax, panel in drawn:
        if len(panel.series) > 1:
            _make_plain(ax.legend(**small))


def _make_plain(legend: Legend) -> None:
    """Show names literally, so that a dollar sign does not start a formula."""
    for text in legend.get_texts():
        text.update(PLAIN_TEXT)
