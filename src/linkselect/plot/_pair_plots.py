"""Plots of pairs of samples, and of their influence on a ranking."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import evenly, pair_rows, two_dimensional_view
from linkselect._messages import GuidedValueError
from linkselect._samples.checks import refuse_stored
from linkselect.evaluation._pair_worth import PairWorth
from linkselect.pairs import Pairs
from linkselect.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points than this are rasterized in vector files.
MOST_VECTOR_POINTS = 2000
# With more bars than this, there is no room for names.
MOST_NAMED_BARS = 60
LONGEST_MOVED = 24


def pairs(
    pairs: Pairs,
    X: Any,
    ax: Axes | None = None,
    *,
    sample_ids: Iterable[Hashable] | None = None,
    max_pairs: int = 1000,
) -> Axes:
    """Draw samples in two dimensions, and pairs as lines between the samples.

    Must-links are solid lines, and cannot-links are dashed lines. Samples without pairs are pale.
    Data with more than two columns are projected onto their first two principal components.

    Parameters
    ----------
    pairs : Pairs
        The must-links and cannot-links.
    X : array-like of shape (n_samples, n_features)
        The samples.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.
    sample_ids : iterable of hashable, optional
        The ID of each row, as used in the pairs. Default: the index of a pandas DataFrame,
        otherwise row numbers.
    max_pairs : int, default=1000
        The approximate maximum number of pairs to draw. The legend reports the number of drawn
        pairs.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import Pairs, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot.pairs(Pairs(must=[(0, 3)], cannot=[(0, 60)]), X)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['must-links (1)', 'cannot-links (1)']
    """
    refuse_stored("This plot", X)
    must, cannot = pair_rows(pairs, X, sample_ids)
    view, labels = two_dimensional_view(X)
    ax = style.axes_or_new(ax, 6.0, 4.6)
    draw_pairs(ax, view, labels, must, cannot, max_pairs)
    return ax


def draw_pairs(
    ax: Axes,
    view: FloatArray,
    labels: Sequence[str],
    must: IntArray,
    cannot: IntArray,
    max_pairs: int = 1000,
) -> None:
    """Draw samples as dots, and pairs as lines between the dots."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    named = np.zeros(len(view), dtype=bool)
    named[np.concatenate([must.ravel(), cannot.ravel()])] = True
    raster = len(view) > MOST_VECTOR_POINTS
    x, y = view.T
    ax.scatter(x[~named], y[~named], s=14, color=style.FAINT, linewidths=0, rasterized=raster)
    ax.scatter(x[named], y[named], s=20, color=style.INK, linewidths=0, zorder=3, rasterized=raster)
    share = min(1.0, max_pairs / max(1, len(must) + len(cannot)))
    kinds: list[tuple[IntArray, str, str, Any]] = [
        (cannot, "cannot-links", style.STRESS, (0, (4, 2.5))),
        (must, "must-links", style.FILL, "solid"),
    ]
    handles = []
    for links, name, colour, dashes in kinds:
        if not len(links):
            continue
        drawn = evenly(links, int(np.ceil(share * len(links))))
        pale = float(np.clip(8 / np.sqrt(len(drawn) + 1), 0.3, 0.9))
        look: dict[str, Any] = {
            "linestyles": [dashes],
            "linewidths": 1.3,
            "alpha": pale,
            "zorder": 2,
        }
        ax.add_collection(LineCollection(list(view[drawn]), colors=colour, **look))
        amount = f"{len(links):,}"
        amount = amount if len(drawn) == len(links) else f"{len(drawn):,} of {amount}"
        handles.append(Line2D([], [], color=colour, linestyle=dashes, label=f"{name} ({amount})"))
    if handles:
        ax.legend(handles=handles[::-1], **style.LEGEND)
    style.calm(ax, x=labels[0], y=labels[1])
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])


def pair_worth(worth: Sequence[PairWorth], n: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the mean change in rank when each pair is left out, with the largest change at the top.

    Bars of must-links are filled, and bars of cannot-links are hatched. The text next to a bar is
    the name of the feature whose rank changes most. Pairs without which the selector cannot be
    fitted come first.

    Parameters
    ----------
    worth : sequence of PairWorth
        The result of `linkselect.evaluation.pair_worth`.
    n : int, default=20
        The maximum number of pairs to draw. If more than 60 are drawn, names are omitted.
    ax : matplotlib Axes, optional
        The axes to draw into. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstraintScore, Pairs, evaluation, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ax = plot.pair_worth(evaluation.pair_worth(ConstraintScore(), X, pairs))
    >>> ax.get_yticklabels()[0].get_text()
    '0 - 60'
    """
    if not worth:
        raise GuidedValueError("worth is empty.", "Pass the result of evaluation.pair_worth.")
    if n < 1:
        raise GuidedValueError(f"n={n} must be at least 1.", "Choose 1 or more.")
    shifts = np.array([one.rank_shift for one in worth], dtype=float)
    needed = np.isnan(shifts)
    best = np.lexsort((-np.where(needed, 0.0, shifts), ~needed))[:n]
    drawn = [worth[place] for place in best]
    ax = style.axes_or_new(ax, 6.4, min(0.27 * len(drawn) + 1.1, 11.0))
    _draw_bars(ax, drawn)
    if len(drawn) <= MOST_NAMED_BARS:
        _name_bars(ax, drawn)
    else:
        ax.set_yticks([])
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    ax.margins(x=0.3)
    ax.set_xlim(left=0)
    ax.legend(loc="lower right", **style.LEGEND)
    style.calm(ax, "x", x="mean change in rank without the pair")
    return ax


def _draw_bars(ax: Axes, drawn: list[PairWorth]) -> None:
    lengths = np.nan_to_num(np.array([one.rank_shift for one in drawn], dtype=float))
    hatched = {"facecolor": "none", "edgecolor": style.STRESS, "hatch": "//////", "linewidth": 0.8}
    looks: dict[str, dict[str, Any]] = {"must": {"color": style.FILL}, "cannot": hatched}
    for kind, look in looks.items():
        places = [place for place, one in enumerate(drawn) if one.link == kind]
        if places:
            ax.barh(places, lengths[places], height=0.72, label=f"{kind}-links", **look)


def _name_bars(ax: Axes, drawn: list[PairWorth]) -> None:
    names = [style.short_name(f"{one.a} - {one.b}") for one in drawn]
    ax.set_yticks(range(len(drawn)), names, fontsize="small", **style.PLAIN_TEXT)
    ax.tick_params(axis="y", length=0)
    for place, one in enumerate(drawn):
        text = style.short_name(one.moved[0], LONGEST_MOVED) if one.moved else "no change"
        if np.isnan(one.rank_shift):
            text = "no ranking without it"
        at = (float(np.nan_to_num(one.rank_shift)), place)
        style.note(ax, text, at, (4, 0), va="center", fontsize="x-small", color=style.MUTED)
