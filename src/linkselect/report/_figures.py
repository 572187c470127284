"""Figures for a paper, from a summary or a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkselect._messages import many
from linkselect.plot import _style as style
from linkselect.plot._comparisons import curves, draw_agreement, legend_columns, legend_under
from linkselect.plot._style import INCHES, LETTERS, Width
from linkselect.report._comparison_page import spread_if_wide
from linkselect.report._report_pictures import MOST_DOTS, draw_best, draw_criterion, draw_held_out
from linkselect.report._schema import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from linkselect.evaluation._result import Comparison

INCHES_PER_FEATURE = 0.155
LONGEST_NAME = {"single": 18, "double": 24}
# The part of both columns that the curves of a comparison take; the heat map has the rest.
CURVES_SHARE = 0.53
# Names beside the heat map are no wider, in inches.
LABEL_ROOM = 1.45
# In points: of the legend, and of the smallest numbers that can be read.
LEGEND_LETTERS, SMALLEST_LETTERS = 6.7, 4.5


def figure_caption(summary: Summary) -> str:
    """Say what the figure of a summary shows, and by which rule the number was chosen."""
    method, data = summary["method"], summary["data"]
    n_shown = min(MOST_DOTS, len(summary["ranking"]["feature"]))
    text = (
        f"The best {n_shown} features by {method['name']}; full dots are selected "
        f"({method['n_selected']:,} of {data['n_features']:,})."
    )
    number = summary["number_of_features"]
    if number["rule"] != "given":  # a reader of the paper does not know the options
        text += f" {number['reason']}"
    found = summary["validation"]
    if found is not None and "frequency" in summary["ranking"]:
        text += (
            f" Selection frequency over {many(found['n_resamples'], 'resample')} of half the "
            "samples, with two standard errors to either side."
        )
    if "adjusted" in summary["ranking"]:
        text += " p: adjusted for all features by step-down max-T."
    if summary["number_of_features"]["curve"] is not None:
        text += " The band is one standard error to either side."
    return text


def ranking_figure(summary: Summary, width: Width = "single") -> Figure:
    """Draw the best features, and what they are worth over their number if that was measured.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    width : {"single", "double"}, default="single"
        One column of a journal (3.5 inches) or both (7.2 inches).

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore
    >>> from linkselect.report import ranking_figure, summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = ranking_figure(summarize(FisherScore().fit(X, y), X, y))
    >>> float(figure.get_figwidth())
    3.5
    """
    n_shown = min(MOST_DOTS, len(summary["ranking"]["feature"]))
    curve, path = summary["number_of_features"]["curve"], summary["path"]
    has_second = curve is not None or (path is not None and path["has_optimum"])
    with style.paper_style():
        from matplotlib.figure import Figure

        height, is_single = INCHES_PER_FEATURE * n_shown + 0.55, width == "single"
        if has_second:
            room = 0.75 if is_single else 0.3
            figure, grid = _divided(width, (height, 1.65), (1.1, 1.0), room)
            axes = [figure.add_subplot(grid[place]) for place in range(2)]
        else:
            size = (INCHES[width], height + (0.5 if is_single else 0.3))
            axes = [Figure(figsize=size, layout="constrained").add_subplot()]
        draw_best(summary, axes[0], False, LONGEST_NAME[width])
        if curve is not None:
            measure = f"held-out {curve['measure'].removeprefix('1-NN ')}"
            draw_held_out(summary, axes[1], measure)
        elif has_second:
            draw_criterion(summary, axes[1], False)
        return _finished(axes, figure_caption(summary))


def comparison_figure(found: Comparison, width: Width = "single") -> Figure:
    """Draw what the methods are worth over the number of features, and how far they agree.

    Parameters
    ----------
    found : Comparison
        What `linkselect.compare` returned.
    width : {"single", "double"}, default="single"
        One column of a journal (3.5 inches) or both (7.2 inches).

    Returns
    -------
    matplotlib Figure
    """
    # matplotlib is loaded here only, so that its absence is explained.
    with style.paper_style():
        from matplotlib.figure import Figure

        names = list(found.methods)
        curves_room = INCHES[width] * (1.0 if width == "single" else CURVES_SHARE)
        drawn_names = list(found.measures[0].curves)
        n_columns = legend_columns(drawn_names, curves_room - 0.1, LEGEND_LETTERS)
        first = 2.2 + 0.14 * -(-len(drawn_names) // n_columns)
        if len(names) == 1:
            figure = Figure(figsize=(INCHES[width], first + 0.3), layout="constrained")
            # A part of its own, so that the caption stands below the legend.
            parts = [figure.add_subfigure(figure.add_gridspec()[0])]
        else:
            room = INCHES[width] - (0.0 if width == "single" else curves_room)
            labels = [
                f"{style.fitting_name(name, LABEL_ROOM, LETTERS, 24)}  {place + 1}"
                for place, name in enumerate(names)
            ]
            # Cells leave room for the names.
            widest = max(style.text_width(label, LETTERS) for label in labels)
            cell = min(0.42, (room - widest - 0.45) / len(labels))
            heights, shares = (first, cell * len(names) + 0.5), (CURVES_SHARE, 1 - CURVES_SHARE)
            figure, grid = _divided(width, heights, shares, 0.6 if width == "single" else 0.4)
            # Laid out apart: long names in one do not narrow the other.
            parts = [figure.add_subfigure(grid[place]) for place in range(2)]
        axes = [part.add_subplot() for part in parts]
        measure = found.measures[0]
        curves(measure.curves, ax=axes[0])
        legend_under(parts[0], axes[0], n_columns, LEGEND_LETTERS)
        spread_if_wide(axes[0], measure)
        axes[0].set_ylabel(
            "test accuracy" if measure.name == "accuracy" else "AUC of held-out pairs"
        )
        if len(names) > 1:
            _draw_agreement(axes[1], found, labels, cell)
        return _finished(axes, comparison_caption(found))


def _draw_agreement(ax: Axes, found: Comparison, labels: list[str], cell: float) -> None:
    """Draw the heat map with numbers in place of the names below it, which would lie slanted."""
    n_methods = len(labels)
    draw_agreement(ax, labels, np.array(found.spearman), np.array(found.overlap), found.top)
    columns = [str(place + 1) for place in range(n_methods)]  # as at the end of each label
    ax.set_xticks(range(n_methods), columns, rotation=0, ha="center", rotation_mode="default")
    ax.set_yticks(range(n_methods), labels)
    style.make_plain(ax.get_yticklabels(), labels)
    ax.set_xlabel("")  # the caption says it
    # Beside its names and below its letter: the layout makes room as if it filled its place.
    ax.set_anchor("NW")
    size = min(LETTERS, cell * 72 / 2.7)  # as wide as "-0.12"
    for text in list(ax.texts):
        text.set_fontsize(size)
        if size < SMALLEST_LETTERS:
            text.remove()


def comparison_caption(found: Comparison) -> str:
    """Say what the figure of a comparison shows."""
    measure = found.measures[0]
    what = "Test accuracy" if measure.name == "accuracy" else "AUC of held-out pairs"
    text = (
        f"{what} by the number of features, mean over {len(measure.all_features)} runs; a band is "
        "one standard deviation to either side."
    )
    if len(found.methods) > 1:
        text += (
            f" Agreement of the rankings: above the diagonal the share of the best {found.top} "
            "features in common, below it Spearman's rank correlation; columns are numbered as "
            "rows."
        )
    return text


def _divided(
    width: Width, heights: tuple[float, float], shares: tuple[float, float], caption: float
) -> tuple[Figure, GridSpec]:
    """Make room for two panels: above each other in one column, side by side in both."""
    from matplotlib.figure import Figure

    is_single = width == "single"
    height = sum(heights) if is_single else max(*heights, 2.4)
    figure = Figure(figsize=(INCHES[width], height + caption), layout="constrained")
    if is_single:
        return figure, figure.add_gridspec(2, 1, height_ratios=heights)
    return figure, figure.add_gridspec(1, 2, width_ratios=shares)


def _finished(axes: list[Axes], caption: str) -> Figure:
    """Add the letters of two panels and the caption."""
    if len(axes) > 1:
        for ax, text in zip(axes, "ab", strict=True):
            style.letter(ax, text)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    style.add_caption(figure, caption)
    return figure
