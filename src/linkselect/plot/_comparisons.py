"""Plots that compare methods: accuracy curves and agreement of rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError
from linkselect.evaluation import Curve
from linkselect.evaluation._significance import rank_correlation, top_overlap
from linkselect.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MARKERS_PER_LINE = 9
# With more methods than this, the legend is outside the axes, or the cells have no numbers.
MOST_IN_LEGEND = 5
MOST_NUMBERED = 16
# The colour scale of a heat map ends above 1, so that no cell has the darkest blue.
TOP_OF_SCALE = 1.15
# The length of lines in a legend, in units of the font size.
HANDLE_LENGTH = 3.2


def curves(curves: Mapping[str, Curve], ax: Axes | None = None) -> Axes:
    """Draw accuracy against the number of features, with one line per method.

    Bands show ± 1 standard deviation over runs. Runs without a value are ignored. Lines differ in
    dash pattern, marker and colour.

    Parameters
    ----------
    curves : mapping of str to Curve
        The accuracy curve of each method, keyed by the name of the method.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect import plot
    >>> from linkselect.evaluation import Curve
    >>> curve = Curve(np.array([1, 2, 3]), np.array([[0.7, 0.8, 0.9], [0.6, 0.8, 0.9]]))
    >>> ax = plot.curves({"Constraint Score": curve})
    >>> ax.get_ylabel()
    'accuracy'
    """
    if not curves:
        raise GuidedValueError("curves is empty.", "Pass at least one method and its Curve.")
    ax = style.axes_or_new(ax, 6.8, 4.0)
    lines = [
        _draw_curve(ax, curve, place, len(curves)) for place, curve in enumerate(curves.values())
    ]
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    where: dict[str, Any] = beside if len(curves) > MOST_IN_LEGEND else {"loc": "best"}
    _add_legend(ax, lines, [style.short_name(name) for name in curves], **where)
    ax.locator_params(axis="x", integer=True)
    style.calm(ax, "y", x="number of features", y="accuracy")
    return ax


def _add_legend(
    where: Axes | Figure | SubFigure, lines: Any, names: list[str], **look: Any
) -> None:
    settings = {"frameon": False, "handlelength": HANDLE_LENGTH, "fontsize": "small", **look}
    # Legends omit labels that start with an underscore, so the names are set afterwards.
    legend = where.legend(lines, ["method"] * len(names), **settings)
    style.make_plain(legend.get_texts(), names)


def legend_below(ax: Axes) -> None:
    """Move the legend below the curves."""
    _add_legend(ax, *_legend_of(ax), loc="upper center", bbox_to_anchor=(0.5, -0.22))


def legend_columns(names: Iterable[str], inches: float, size: float) -> int:
    """Return the number of columns (at most 3) that fit into a legend of this width."""
    # A column contains a line, a name and the gap to the next column.
    widest = max(style.text_width(style.short_name(name), size) for name in names)
    each = widest + (HANDLE_LENGTH + 3.2) * size / 72
    return int(np.clip(inches // each, 1, 3))


def legend_under(part: Figure | SubFigure, ax: Axes, n_columns: int, size: float) -> None:
    """Move the legend below the axes; the constrained layout of the figure makes room for it."""
    lines, names = _legend_of(ax)
    ax.get_legend().remove()  # type: ignore[union-attr]
    place = {"loc": "outside lower center", "ncols": n_columns, "borderpad": 0.1}
    _add_legend(part, lines, names, fontsize=size, **place)


def _legend_of(ax: Axes) -> tuple[Any, list[str]]:
    legend = ax.get_legend()
    assert legend is not None
    return legend.legend_handles, [text.get_text() for text in legend.get_texts()]


def _draw_curve(ax: Axes, curve: Curve, place: int, n_curves: int) -> Any:
    """Draw the curve of one method with its band, and return the line."""
    colour, dashes, marker = style.LINES[place % len(style.LINES)]
    n_features = np.asarray(curve.n_features)
    mean, spread = style.mean_and_spread(np.atleast_2d(np.asarray(curve.values, dtype=float)))
    if np.any(spread > 0):
        # Many overlapping bands need to be more transparent.
        pale = 0.4 / (n_curves + 1)
        low, high = mean - spread, mean + spread
        ax.fill_between(n_features, low, high, color=colour, alpha=pale, linewidth=0)
    # Markers of different lines are at different points, so that they do not overlap.
    step = max(1, round(len(n_features) / MARKERS_PER_LINE))
    start = (place * step) // max(1, n_curves)
    return ax.plot(
        n_features,
        mean,
        color=colour,
        linestyle=dashes,
        marker=marker,
        markersize=5,
        markevery=(start, step),
        linewidth=1.6,
        markeredgecolor="white",
        markeredgewidth=0.6,
    )[0]


def agreement(rankings: Mapping[str, Any], k: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the pairwise agreement of rankings as an annotated heat map.

    Values below the diagonal are Spearman rank correlations over all features. Values above the
    diagonal are the proportions of the `k` best features that two methods have in common.

    Parameters
    ----------
    rankings : mapping of str to fitted selector or array-like
        For each method, a fitted selector or the ranks of all features, where 1 is the best rank.
    k : int, default=10
        The number of best features to compare. If there are fewer features, all of them
        are compared.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from linkselect import plot
    >>> ax = plot.agreement({"first": [1, 2, 3], "second": [3, 2, 1]}, k=2)
    >>> [text.get_text() for text in ax.texts]
    ['0.50', '-1.00']
    """
    if not rankings:
        raise GuidedValueError("rankings is empty.", "Pass at least one method and its ranking.")
    if k < 1:
        raise GuidedValueError(f"k={k} must be at least 1.", "Choose 1 or more.")
    ranks = np.array(_checked_ranks(rankings))
    k = min(k, ranks.shape[1])
    side = min(1.9 + 0.62 * len(ranks), 9.5)
    ax = style.axes_or_new(ax, side + 1.4, side)
    draw_agreement(ax, list(rankings), rank_correlation(ranks), top_overlap(ranks, k), k)
    return ax


def _checked_ranks(rankings: Mapping[str, Any]) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    for name, ranking in rankings.items():
        if hasattr(ranking, "fit"):
            check_is_fitted(ranking)
        ranks = np.asarray(getattr(ranking, "ranking_", ranking))
        if ranks.ndim != 1 or ranks.size == 0 or ranks.min() < 1:
            raise GuidedValueError(
                f"The ranking {name!r} does not contain ranks that start at 1.",
                "Pass selector.ranking_ (not order_).",
            )
        if found and ranks.size != found[0].size:
            raise GuidedValueError(
                f"{name!r} ranks {ranks.size} features, but {next(iter(rankings))!r} ranks "
                f"{found[0].size}.",
                "Compare rankings of the same features.",
            )
        found.append(ranks)
    return found


def draw_agreement(
    ax: Axes,
    names: list[str],
    correlation: FloatArray,
    overlap: FloatArray,
    k: int,
) -> None:
    """Draw rank correlations below the diagonal, and overlaps of the `k` best features above."""
    n_methods = len(names)
    shown = np.where(np.tri(n_methods, k=-1, dtype=bool), correlation, overlap)
    np.fill_diagonal(shown, np.nan)
    # Both halves share one scale from light to dark, which also works in grey.
    low = min(0.0, float(np.nanmin(shown))) if n_methods > 1 else 0.0
    ax.imshow(shown, cmap="Blues", vmin=low, vmax=TOP_OF_SCALE, interpolation="nearest")
    labels = [style.short_name(name, 22) for name in names]
    ax.set_xticks(range(n_methods), labels, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n_methods), labels)
    style.make_plain([*ax.get_xticklabels(), *ax.get_yticklabels()], labels * 2)
    ax.tick_params(length=0, labelcolor=style.INK)
    ax.spines[:].set_visible(False)
    if 1 < n_methods <= MOST_NUMBERED:
        _write_numbers(ax, shown, low)
    look: dict[str, Any] = {"loc": "left", "color": style.INK}
    ax.set_title(f"above: proportion of the best {k} in common", fontsize="medium", **look)
    ax.set_xlabel("below: Spearman rank correlation", **look)


def _write_numbers(ax: Axes, shown: FloatArray, low: float) -> None:
    size = "medium" if len(shown) <= 5 else "small" if len(shown) <= 8 else "x-small"
    for (row, column), value in np.ndenumerate(shown):
        if row == column:
            continue
        dark = (value - low) / (TOP_OF_SCALE - low) > 0.55
        # Fixed colours, because cells look the same on light and dark pages.
        colour = "#fefefe" if dark else "#111111"
        number = f"{value:.2f}".replace("-0.00", "0.00")
        ax.text(column, row, number, ha="center", va="center", color=colour, fontsize=size)
