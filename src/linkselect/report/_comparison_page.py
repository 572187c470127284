"""HTML page for a comparison of methods on one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import linkselect
from linkselect._messages import GuidedValueError
from linkselect.evaluation._significance import p_text
from linkselect.plot._comparisons import curves, draw_agreement, legend_below
from linkselect.plot._feature_plots import spread_numbers
from linkselect.plot._style import MUTED, have_matplotlib
from linkselect.report._image_features import draw_both
from linkselect.report._page import render_page, write_page
from linkselect.report._schema import plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkselect.evaluation import Measure
    from linkselect.evaluation._result import Comparison

# The axis is logarithmic if the largest number of features is at least this multiple of the
# smallest.
WIDE_RANGE = 20


def comparison_page(
    comparison: Comparison,
    *,
    names: Sequence[str] | None = None,
    source: str | None = None,
    call: str | None = None,
) -> str:
    """Render a comparison of methods as an HTML page.

    Parameters
    ----------
    comparison : Comparison
        The result of `linkselect.compare`.
    names : sequence of str, optional
        The names of the features. Default: x0, x1, ...
    source : str, optional
        The source of the data, such as the name of a file.
    call : str, optional
        The command or code that reproduces the result.

    Returns
    -------
    str
    """
    named = [f"x{place}" for place in range(comparison.n_features)] if names is None else names
    if len(named) != comparison.n_features:
        raise GuidedValueError(
            f"names has {len(named)} entries, but {comparison.n_features} features were compared.",
            "Pass one name per feature.",
        )
    page = render_page(
        "comparison.html",
        found=comparison,
        names=named,
        source=source,
        call=call,
        p_text=p_text,
        pictures=_pictures(comparison) if have_matplotlib() else None,
        version=linkselect.__version__,
    )
    return plain_text(page)


def write_comparison(
    comparison: Comparison,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    source: str | None = None,
    call: str | None = None,
) -> None:
    """Write the HTML page of a comparison to a file atomically.

    Parameters
    ----------
    comparison : Comparison
        The result of `linkselect.compare`.
    path : str or path
        The output file. An existing file is replaced.
    names, source, call
        Passed to `comparison_page`.
    """
    write_page(comparison_page(comparison, names=names, source=source, call=call), path)


def _pictures(found: Comparison) -> dict[str, str]:
    def draw_heat_map(ax: Axes, slim: bool) -> None:
        correlation, overlap = np.array(found.spearman), np.array(found.overlap)
        draw_agreement(ax, list(found.methods), correlation, overlap, found.top)
        if slim:  # the caption contains this text
            ax.set_title("", loc="left")
            ax.set_xlabel("")

    drawn: dict[str, str] = {measure.name: _draw_curves(measure) for measure in found.measures}
    if len(found.methods) > 1:
        side = min(1.9 + 0.42 * len(found.methods), 6.4)
        drawn["agreement"] = draw_both(
            draw_heat_map, "agreement", "Agreement of the rankings", side, 3.6
        )
    return drawn


def spread_if_wide(ax: Axes, measure: Measure) -> None:
    """Use a logarithmic axis for the number of features if it spans a wide range."""
    counts = measure.curves[measure.leader].n_features.tolist()
    if counts[-1] >= WIDE_RANGE * counts[0] and counts == sorted(counts):
        spread_numbers(ax, counts)


def _draw_curves(measure: Measure) -> str:
    def draw(ax: Axes, slim: bool) -> None:
        curves(measure.curves, ax=ax)
        spread_if_wide(ax, measure)
        ax.set_ylabel(measure.name)
        ax.axhline(measure.with_all, color=MUTED, linewidth=1.0, dashes=(2, 3))
        if slim:
            legend_below(ax)

    title = "Accuracy curves" if measure.name == "accuracy" else "AUC curves of held-out pairs"
    slim_height = 2.6 + 0.2 * len(measure.curves)
    return draw_both(draw, measure.name.lower(), title, 4.0, slim_height)
