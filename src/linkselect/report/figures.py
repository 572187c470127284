"""Figures for a paper, from a summary or a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkselect.plot.dots import draw_scores
from linkselect.plot.features import draw_path
from linkselect.plot.methods import curves, draw_agreement, legend_below
from linkselect.plot.number import draw_number
from linkselect.plot.paper import INCHES, Width, add_caption, letter, paper_style
from linkselect.report.comparison import spread_if_wide
from linkselect.report.report_pictures import numbers
from linkselect.report.schema import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from linkselect.evaluation.measure import Measure
    from linkselect.evaluation.result import Comparison

__all__ = ["comparison_caption", "comparison_figure", "figure_caption", "ranking_figure"]

MOST_FEATURES = 20
INCHES_PER_FEATURE = 0.155
LONGEST_NAME = {"single": 18, "double": 24}


def figure_caption(summary: Summary) -> str:
    """Say what the figure of a summary shows, and by which rule the number was chosen."""
    method, data = summary["method"], summary["data"]
    n_shown = min(MOST_FEATURES, len(summary["ranking"]["feature"]))
    text = (
        f"The best {n_shown} features by {method['name']}, of which full dots are selected; "
        f"{method['n_selected']:,} of {data['n_features']:,} are. "
        f"{summary['number_of_features']['reason']}"
    )
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
    ranking = summary["ranking"]
    names = ranking["feature"][:MOST_FEATURES]
    second = _has_second(summary)
    tall = INCHES_PER_FEATURE * len(names) + 0.55
    with paper_style():
        axes = _panels(width, tall, 1.65 if second else 0.0)
        draw_scores(
            axes[0],
            names,
            numbers(ranking["score"][:MOST_FEATURES]),
            np.array(ranking["selected"][:MOST_FEATURES]),
            summary["method"]["greater_is_better"],
            LONGEST_NAME[width],
        )
        if second:
            _draw_second(axes[1], summary)
        _finish(axes, figure_caption(summary))
    return _figure_of(axes[0])


def _has_second(summary: Summary) -> bool:
    path = summary["path"]
    return summary["number_of_features"]["curve"] is not None or (
        path is not None and path["has_optimum"]
    )


def _draw_second(ax: Axes, summary: Summary) -> None:
    n_selected = summary["method"]["n_selected"]
    curve = summary["number_of_features"]["curve"]
    if curve is not None:
        draw_number(
            ax,
            curve["n_features"],
            curve["mean"],
            curve["standard_error"],
            n_selected,
            f"held-out {curve['measure'].removeprefix('1-NN ')}",
        )
        return
    path = summary["path"]
    assert path is not None
    errors = None if path["errors"] is None else numbers(path["errors"])
    greater = summary["method"]["greater_is_better"]
    draw_path(ax, numbers(path["values"]), greater, n_selected, errors)


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
    second = len(found.methods) > 1
    side = 1.1 + 0.24 * len(found.methods)
    with paper_style():
        axes = _panels(width, 2.4 + 0.09 * len(found.methods), side if second else 0.0)
        _draw_measure(axes[0], found.measures[0])
        if second:
            correlation, overlap = np.array(found.spearman), np.array(found.overlap)
            draw_agreement(axes[1], list(found.methods), correlation, overlap, found.top)
            axes[1].set_xlabel("")  # the caption says it
        _finish(axes, comparison_caption(found))
    return _figure_of(axes[0])


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
            "features in common, below it Spearman's rank correlation."
        )
    return text


def _draw_measure(ax: Axes, measure: Measure) -> None:
    curves(measure.curves, ax=ax)
    legend_below(ax, 2)
    spread_if_wide(ax, measure)
    ax.set_ylabel("test accuracy" if measure.name == "accuracy" else "AUC of held-out pairs")


def _panels(width: Width, first: float, second: float) -> list[Axes]:
    """Make one or two panels: above each other in one column, side by side in both."""
    from matplotlib.figure import Figure

    caption = 0.5 if width == "single" else 0.3
    if not second:
        figure = Figure(figsize=(INCHES[width], first + caption), layout="constrained")
        return [figure.add_subplot()]
    if width == "single":
        size = (INCHES[width], first + second + caption + 0.25)
        figure = Figure(figsize=size, layout="constrained")
        return list(figure.subplots(2, 1, height_ratios=[first, second]))
    size = (INCHES[width], max(first, second, 2.4) + caption)
    figure = Figure(figsize=size, layout="constrained")
    return list(figure.subplots(1, 2, width_ratios=[1.1, 1]))


def _finish(axes: list[Axes], caption: str) -> None:
    if len(axes) > 1:
        for ax, text in zip(axes, "ab", strict=False):
            letter(ax, text)
    add_caption(_figure_of(axes[0]), caption)


def _figure_of(ax: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = ax.figure
    assert isinstance(figure, Figure)
    return figure
