"""Pictures of samples: which pairs join them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._checks import refuse_stored
from linkselect._display import pair_rows, two_dimensional_view
from linkselect.pairs import Pairs
from linkselect.plot._style import FAINT, FILL, INK, MUTED, STRESS, axes_or_new, calm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points than this are stored as dots of an image in vector files.
MOST_VECTOR_POINTS = 2000


def pairs(
    pairs: Pairs,
    X: Any,
    ax: Axes | None = None,
    *,
    sample_ids: Iterable[Hashable] | None = None,
    max_pairs: int = 1000,
) -> Axes:
    """Draw pairs as lines over a view of the samples in two dimensions.

    Must-links are full lines, cannot-links dashed ones. Samples in a pair are full dots, others
    pale ones. More than two columns are shown by their first two principal components.

    Parameters
    ----------
    pairs : Pairs
        Which samples belong together and which do not.
    X : array-like of shape (n_samples, n_features)
        The samples.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    sample_ids : iterable of hashable, optional
        One id per row, by which the pairs name samples. Default: the index of a pandas frame,
        else row numbers.
    max_pairs : int, default=1000
        If there are more pairs, draw about that many, evenly taken; the legend says so.

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
    refuse_stored("This picture", X)
    must, cannot = pair_rows(pairs, X, sample_ids)
    view, labels = two_dimensional_view(X)
    ax = axes_or_new(ax, 6.0, 4.6)
    draw_pairs(ax, view, must, cannot, max_pairs)
    ax.set_xlabel(labels[0], color=INK)
    ax.set_ylabel(labels[1], color=INK)
    return ax


def draw_pairs(
    ax: Axes,
    view: FloatArray,
    must: IntArray,
    cannot: IntArray,
    max_pairs: int = 1000,
) -> None:
    """Draw samples as dots and pairs as lines between them."""
    named = np.zeros(len(view), dtype=bool)
    named[np.concatenate([must.ravel(), cannot.ravel()])] = True
    raster = len(view) > MOST_VECTOR_POINTS
    x, y = view.T
    ax.scatter(x[~named], y[~named], s=14, color=FAINT, linewidths=0, rasterized=raster)
    ax.scatter(x[named], y[named], s=20, color=INK, linewidths=0, zorder=3, rasterized=raster)
    share = min(1.0, max_pairs / max(1, len(must) + len(cannot)))
    kinds: list[tuple[IntArray, str, str, Any]] = [
        (cannot, "cannot-links", STRESS, (0, (4, 2.5))),
        (must, "must-links", FILL, "solid"),
    ]
    lines = [
        _draw_links(ax, view, links, share, name, colour, dashes)
        for links, name, colour, dashes in kinds
        if len(links)
    ]
    if lines:
        ax.legend(handles=lines[::-1], fontsize="small", framealpha=0.9, edgecolor="none")
    calm(ax)
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])
    ax.tick_params(color=MUTED)


def _draw_links(
    ax: Axes,
    view: FloatArray,
    links: IntArray,
    share: float,
    name: str,
    colour: str,
    dashes: Any,
) -> Any:
    """Draw a share of the links, evenly taken, and return what stands for them in a legend."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    n_drawn = len(links) if share == 1 else int(np.ceil(share * len(links)))
    drawn = links[np.linspace(0, len(links) - 1, n_drawn).astype(np.intp)] if n_drawn else links
    strength = float(np.clip(8 / np.sqrt(len(drawn) + 1), 0.3, 0.9))
    ax.add_collection(
        LineCollection(
            list(view[drawn]),
            colors=colour,
            linestyles=[dashes],
            linewidths=1.3,
            alpha=strength,
            zorder=2,
        )
    )
    amount = f"{len(links):,}" if n_drawn == len(links) else f"{n_drawn:,} of {len(links):,}"
    return Line2D([], [], color=colour, linestyle=dashes, label=f"{name} ({amount})")
