"""Plots of a fitted selector: scores, search path, selected pixels, number of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from linkselect._arrays import BoolArray, FloatArray
from linkselect._display import check_shape, checked_names
from linkselect._messages import GuidedTypeError, GuidedValueError, many
from linkselect.plot._dots import draw_scores
from linkselect.plot._style import FAINT, FILL, INK, MUTED, STRESS, axes_or_new, calm, note
from linkselect.selectors._method import describe
from linkselect.selectors._ranking import best_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MARKED_STEPS = 40
MOST_TICKS = 6


def scores(
    selector: Any, n: int = 20, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the scores of the best features as dots, with the best at the top.

    Better scores are always to the right. The axis covers the range of the drawn scores and need
    not start at 0. Filled dots mark selected features. Features without a score have no dot, and
    infinite scores are drawn at the edge.

    Parameters
    ----------
    selector : fitted selector
        A selector of this library, or a scikit-learn selector with the attribute `scores_`.
    n : int, default=20
        The maximum number of features to draw. If more than 60 are drawn, names are omitted.
    names : sequence of str, optional
        One name per feature. Default: the column names of the X passed to `fit`, otherwise x0, x1,
        ...
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot.scores(FisherScore().fit(X, y))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x2', 'x3', 'x0', 'x1']
    """
    hint = "Pass a fitted selector, or the fitted step of a Pipeline: pipeline['selector']."
    values = _fitted(selector, "scores_", hint)
    if n < 1:
        raise GuidedValueError(f"n={n} must be at least 1.", "Choose 1 or more.")
    named = checked_names(selector, names)
    greater = describe(selector).greater_is_better
    best = np.asarray(getattr(selector, "order_", best_first(values, greater)))[:n]
    ax = axes_or_new(ax, 6.4, min(0.27 * len(best) + 1.1, 11.0))
    shown = [named[feature] for feature in best]
    draw_scores(ax, shown, values[best], selector.get_support()[best], greater)
    ax.set_title(type(selector).__name__, loc="left", color=INK)
    return ax


def path(selector: Any, ax: Axes | None = None) -> Axes:
    """Draw the criterion after each added feature, and mark its optimum if there is one.

    The optimum is marked only if values for different numbers of features are comparable. The
    optimum is the minimum for `SimilarityConstraintScore` and the maximum for `NearestNeighborSFS`.
    For other selectors, the path contains the value of each feature when it was selected, or
    decreases with every added feature, so the first value is always the best. A dotted line marks
    the number of selected features. If the criterion is estimated, a band shows ± 2 standard
    errors.

    Parameters
    ----------
    selector : fitted selector
        A selector that adds features step by step and has the attribute `path_`.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import TraceRatio, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot.path(TraceRatio().fit(X, y))
    >>> ax.get_xlabel()
    'number of features'
    """
    hint = "Only selectors that search, such as SimilarityConstraintScore, have a path."
    values = _fitted(selector, "path_", hint)
    errors = getattr(selector, "standard_error_", None)
    ax = axes_or_new(ax, 6.4, 3.6)
    greater = bool(selector.greater_is_better)
    n_selected = int(selector.n_features_)
    mark_best = describe(selector).path_has_optimum
    draw_path(ax, values, greater, n_selected, errors, mark_best=mark_best)
    ax.set_title(type(selector).__name__, loc="left", color=INK)
    return ax


def draw_path(
    ax: Axes,
    values: FloatArray,
    greater_is_better: bool,
    n_selected: int,
    errors: FloatArray | None = None,
    *,
    mark_best: bool = True,
) -> None:
    """Draw the criterion for 1, 2, ... features, and mark its optimum if `mark_best` is True."""
    steps = np.arange(1, len(values) + 1)
    if errors is not None and np.any(np.asarray(errors) > 0):
        spread = 2 * np.asarray(errors)
        ax.fill_between(steps, values - spread, values + spread, color=FILL, alpha=0.2, lw=0)
    marker = "o" if len(values) <= MOST_MARKED_STEPS else ""
    ax.plot(steps, values, color=FILL, marker=marker, markersize=3.5, linewidth=1.6)
    ax.axvline(n_selected, color=MUTED, linestyle=":", linewidth=1.2)
    known = np.isfinite(values)
    if mark_best and known.any():
        ranked = np.where(known, values if greater_is_better else -values, -np.inf)
        _mark_best(ax, values, int(ranked.argmax()), greater_is_better)
    ax.locator_params(axis="x", integer=True)
    calm(ax, "y", x="number of features", y="criterion")


def _mark_best(ax: Axes, values: FloatArray, best: int, greater_is_better: bool) -> None:
    kind = "maximum" if greater_is_better else "minimum"
    at = (best + 1.0, float(values[best]))
    ax.plot(*at, marker="D", markersize=9, color=STRESS, markerfacecolor="none", mew=2, zorder=4)
    # Place the text on the side of the point with more room.
    right = best < 0.6 * len(values)
    ax.margins(y=0.34)
    note(
        ax,
        f"{kind} {values[best]:.3g}\nat {many(best + 1, 'feature')}",
        at,
        (9 if right else -9, 9 if greater_is_better else -9),
        ha="left" if right else "right",
        va="bottom" if greater_is_better else "top",
    )


def mask(
    selector: Any,
    shape: tuple[int, int],
    ax: Axes | None = None,
    image: ArrayLike | None = None,
    order: Literal["C", "F"] = "C",
) -> Axes:
    """Draw the selected pixels, either alone or over an image.

    Without an image, selected pixels are dark. Over an image, selected pixels are outlined and the
    other pixels are faded.

    Parameters
    ----------
    selector : fitted selector
        A selector that was fitted on images, with one feature per pixel.
    shape : (int, int)
        Height and width in pixels.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.
    image : array-like, optional
        Grey values of one image, either with this shape or flattened like a row of X.
    order : {"C", "F"}, default="C"
        Whether pixels are ordered by rows ("C") or by columns ("F", as in MATLAB).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from linkselect import VarianceScore, plot
    >>> X, y = load_digits(return_X_y=True)
    >>> selector = VarianceScore(n_features_to_select=20).set_params(n_jobs=1)
    >>> ax = plot.mask(selector.fit(X[:, X.std(axis=0) > 0][:, :60]), (6, 10))
    """
    check_is_fitted(selector)
    selected = np.asarray(selector.get_support())
    height, width = check_shape(shape, len(selected))
    pixels = selected.reshape((height, width), order=order)
    grey = None
    if image is not None:
        grey = np.asarray(image, dtype=float)
        if grey.size != len(selected):
            raise GuidedValueError(
                f"image has {grey.size} values, but there are {len(selected)} features.",
                f"Pass one grey image of {height} x {width} pixels.",
            )
        grey = grey.reshape((height, width), order=order) if grey.ndim == 1 else grey
    ax = axes_or_new(ax, 4.0, min(4.0 * height / width + 0.4, 8.0))
    draw_mask(ax, pixels, grey)
    ax.set_title(f"{int(selected.sum()):,} of {len(selected):,} pixels", loc="left", color=INK)
    return ax


def draw_mask(ax: Axes, selected: BoolArray, image: FloatArray | None = None) -> None:
    """Draw selected pixels as dark cells, or an image in which the other pixels are faded."""
    if image is None:
        shades = np.where(selected, 0.18, 0.93)
    else:
        low, high = np.nanmin(image), np.nanmax(image)
        shades = (image - low) / ((high - low) or 1.0)
        shades = np.where(selected, shades, 0.72 + 0.28 * shades)
        ax.add_collection(_outline(selected))
    ax.imshow(shades, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_color(FAINT)


def _outline(selected: BoolArray) -> Any:
    """Return the boundary lines between selected and unselected pixels."""
    from matplotlib.collections import LineCollection

    padded = np.pad(selected, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    across = np.stack([columns - 0.5, rows - 0.5, columns + 0.5, rows - 0.5], axis=1)
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    down = np.stack([columns - 0.5, rows - 0.5, columns - 0.5, rows + 0.5], axis=1)
    lines = np.concatenate([across, down]).reshape(-1, 2, 2)
    return LineCollection(list(lines), colors=STRESS, linewidths=1.1, capstyle="round", zorder=3)


def _fitted(selector: Any, attribute: str, hint: str) -> FloatArray:
    """Return an attribute of a fitted selector as an array; raise an error if it is missing."""
    check_is_fitted(selector)
    found = getattr(selector, attribute, None)
    if found is None:
        raise GuidedTypeError(f"{type(selector).__name__} has no {attribute}.", hint)
    return np.asarray(found, dtype=float)


def draw_number(
    ax: Axes,
    counts: Sequence[int],
    means: ArrayLike,
    errors: ArrayLike,
    n_selected: int,
    measure: str,
    chance: float | None = None,
) -> None:
    """Draw a measure ± its standard error by number of features, and mark the selected number.

    The axis of the number of features is logarithmic.
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
    """Draw scores by rank, and mark the number of selected features; better scores are higher."""
    last = len(values)
    # More points would not be visible.
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
    """Use a logarithmic axis for the number of features."""
    ticks = number_ticks(counts)
    if n_selected is not None and counts[0] <= n_selected <= counts[-1]:
        ticks = _with_tick(ticks, n_selected)
    _by_factors(ax, ticks)


def _by_factors(ax: Axes, ticks: list[int]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.minorticks_off()


def _with_tick(ticks: list[int], wanted: int) -> list[int]:
    """Add a tick, and remove the ticks that its label would overlap."""
    # As a proportion of the axis; wider numbers need more room.
    room = (0.08 + 0.02 * len(f"{ticks[-1]:,}")) * np.log(ticks[-1] / ticks[0])
    others = [tick for tick in ticks if abs(np.log(tick / wanted)) >= room and tick != wanted]
    return sorted([*others, wanted])


def _mark_selected(ax: Axes, first: float, last: float, n_selected: int) -> None:
    ax.axvline(n_selected, color=STRESS, linestyle=":", linewidth=1.2)
    # Place the text on the side with more room.
    right = np.log(n_selected / first) <= 0.5 * np.log(last / first)
    where = {"xycoords": ("data", "axes fraction"), "ha": "left" if right else "right"}
    shift = (4 if right else -4, 0)
    note(ax, f"{n_selected:,} selected", (n_selected, 0.98), shift, va="top", **where)


def number_ticks(counts: Sequence[int]) -> list[int]:
    """Choose a few ticks for a logarithmic axis: round numbers and the largest number.

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
    # A last number close to a round one would overlap it.
    return wanted if every[-1] < 1.6 * wanted[-1] else [*wanted, every[-1]]
