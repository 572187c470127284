"""Figures for publications, drawn from a summary or a comparison."""

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
# The curves of a comparison take this proportion of the width, the heat map the rest.
CURVES_SHARE = 0.53
# The maximum width of names next to the heat map, in inches.
LABEL_ROOM = 1.45
# Font sizes in points: the legend, and the smallest readable numbers.
LEGEND_LETTERS, SMALLEST_LETTERS = 6.7, 4.5


def figure_caption(summary: Summary) -> str:
    """Return the caption of the figure that `ranking_figure` draws."""
    method, data = summary["method"], summary["data"]
    n_shown = min(MOST_DOTS, len(summary["ranking"]["feature"]))
    text = (
        f"The best {n_shown} features according to {method['name']}. Filled dots mark selected "
        f"features ({method['n_selected']:,} of {data['n_features']:,})."
    )
    number = summary["number_of_features"]
    if number["rule"] != "given":  # readers do not know the options of the call
        text += f" {number['reason']}"
    found = summary["validation"]
    if found is not None and "frequency" in summary["ranking"]:
        text += (
            f" Selection frequencies were measured on {many(found['n_resamples'], 'resample')} of "
            "half the samples and are shown ± 2 standard errors."
        )
    if "adjusted" in summary["ranking"]:
        text += " p-values are adjusted for the number of features (step-down max-T)."
    if summary["number_of_features"]["curve"] is not None:
        text += " The band shows ± 1 standard error."
    return text


def ranking_figure(summary: Summary, width: Width = "single") -> Figure:
    """Draw the scores of the best features and, if known, performance by number of features.

    Parameters
    ----------
    summary : dict
        The result of `summarize`.
    width : {"single", "double"}, default="single"
        The width of one journal column (3.5 inches) or two (7.2 inches).

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
    """Draw the performance of each method by number of features, and the agreement of rankings.

    Parameters
    ----------
    found : Comparison
        The result of `linkselect.compare`.
    width : {"single", "double"}, default="single"
        The width of one journal column (3.5 inches) or two (7.2 inches).

    Returns
    -------
    matplotlib Figure
    """
    # `paper_style` explains a missing matplotlib, so the import comes after it.
    with style.paper_style():
        from matplotlib.figure import Figure

        names = list(found.methods)
        curves_room = INCHES[width] * (1.0 if width == "single" else CURVES_SHARE)
        drawn_names = list(found.measures[0].curves)
        n_columns = legend_columns(drawn_names, curves_room - 0.1, LEGEND_LETTERS)
        first = 2.2 + 0.14 * -(-len(drawn_names) // n_columns)
        if len(names) == 1:
            figure = Figure(figsize=(INCHES[width], first + 0.3), layout="constrained")
            # A separate subfigure keeps the caption below the legend.
            parts = [figure.add_subfigure(figure.add_gridspec()[0])]
        else:
            room = INCHES[width] - (0.0 if width == "single" else curves_room)
            labels = [
                f"{style.fitting_name(name, LABEL_ROOM, LETTERS, 24)}  {place + 1}"
                for place, name in enumerate(names)
            ]
            # Cells shrink to leave room for the names.
            widest = max(style.text_width(label, LETTERS) for label in labels)
            cell = min(0.42, (room - widest - 0.45) / len(labels))
            heights, shares = (first, cell * len(names) + 0.5), (CURVES_SHARE, 1 - CURVES_SHARE)
            figure, grid = _divided(width, heights, shares, 0.6 if width == "single" else 0.4)
            # With separate subfigures, long names in one do not narrow the other.
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
    """Draw the heat map of agreement, with numbers instead of names below its columns."""
    n_methods = len(labels)
    draw_agreement(ax, labels, np.array(found.spearman), np.array(found.overlap), found.top)
    columns = [str(place + 1) for place in range(n_methods)]  # as at the end of each label
    ax.set_xticks(range(n_methods), columns, rotation=0, ha="center", rotation_mode="default")
    ax.set_yticks(range(n_methods), labels)
    style.make_plain(ax.get_yticklabels(), labels)
    ax.set_xlabel("")  # the caption contains this text
    # Align the heat map with the letter of its panel.
    ax.set_anchor("NW")
    size = min(LETTERS, cell * 72 / 2.7)  # so that "-0.12" fits
    for text in list(ax.texts):
        text.set_fontsize(size)
        if size < SMALLEST_LETTERS:
            text.remove()


def comparison_caption(found: Comparison) -> str:
    """Return the caption of the figure that `comparison_figure` draws."""
    measure = found.measures[0]
    what = "Test accuracy" if measure.name == "accuracy" else "AUC of held-out pairs"
    text = (
        f"{what} by number of features (mean ± standard deviation over "
        f"{many(len(measure.all_features), 'run')})."
    )
    if len(found.methods) > 1:
        text += (
            f" The heat map shows the proportion of the best {found.top} features that two methods "
            "have in common (above the diagonal) and the Spearman rank correlation of their "
            "rankings (below the diagonal). Columns have the same numbers as rows."
        )
    return text


def _divided(
    width: Width, heights: tuple[float, float], shares: tuple[float, float], caption: float
) -> tuple[Figure, GridSpec]:
    """Create a figure with two panels, stacked for one column or side by side for two."""
    from matplotlib.figure import Figure

    is_single = width == "single"
    height = sum(heights) if is_single else max(*heights, 2.4)
    figure = Figure(figsize=(INCHES[width], height + caption), layout="constrained")
    if is_single:
        return figure, figure.add_gridspec(2, 1, height_ratios=heights)
    return figure, figure.add_gridspec(1, 2, width_ratios=shares)


def _finished(axes: list[Axes], caption: str) -> Figure:
    """Add the caption and, if there are two panels, their letters."""
    if len(axes) > 1:
        for ax, text in zip(axes, "ab", strict=True):
            style.letter(ax, text)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    style.add_caption(figure, caption)
    return figure
