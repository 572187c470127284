"""A picture of what each pair changes in a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._messages import GuidedValueError
from linkselect.evaluation._pair_worth import PairWorth
from linkselect.plot._style import (
    FILL,
    LEGEND,
    MUTED,
    PLAIN_TEXT,
    STRESS,
    axes_or_new,
    calm,
    note,
    short_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More bars than this have no room for names.
MOST_NAMED_BARS = 60
LONGEST_MOVED = 24


def pair_worth(worth: Sequence[PairWorth], n: int = 20, ax: Axes | None = None) -> Axes:
    """Draw by how many places features would move without each pair, the largest on top.

    Must-links have a full bar, cannot-links a hatched one, with the feature that would move most
    beside it. A pair that the selector cannot be fitted without comes first and says so.

    Parameters
    ----------
    worth : sequence of PairWorth
        What `linkselect.evaluation.pair_worth` returned.
    n : int, default=20
        How many pairs to draw at most. Above 60 there is no room for names.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

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
        raise GuidedValueError("worth is empty.", "Pass what evaluation.pair_worth returned.")
    if n < 1:
        raise GuidedValueError(f"n={n}, but a picture has at least one bar.", "Choose 1 or more.")
    shifts = np.array([one.rank_shift for one in worth], dtype=float)
    needed = np.isnan(shifts)
    best = np.lexsort((-np.where(needed, 0.0, shifts), ~needed))[:n]
    drawn = [worth[place] for place in best]
    ax = axes_or_new(ax, 6.4, min(0.27 * len(drawn) + 1.1, 11.0))
    _draw_bars(ax, drawn)
    if len(drawn) <= MOST_NAMED_BARS:
        _name_bars(ax, drawn)
    else:
        ax.set_yticks([])
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    ax.margins(x=0.3)
    ax.set_xlim(left=0)
    ax.legend(loc="lower right", **LEGEND)
    calm(ax, "x", x="mean change of rank without the pair")
    return ax


def _draw_bars(ax: Axes, drawn: list[PairWorth]) -> None:
    lengths = np.nan_to_num(np.array([one.rank_shift for one in drawn], dtype=float))
    hatched = {"facecolor": "none", "edgecolor": STRESS, "hatch": "//////", "linewidth": 0.8}
    looks: dict[str, dict[str, Any]] = {"must": {"color": FILL}, "cannot": hatched}
    for kind, look in looks.items():
        places = [place for place, one in enumerate(drawn) if one.link == kind]
        if places:
            ax.barh(places, lengths[places], height=0.72, label=f"{kind}-links", **look)


def _name_bars(ax: Axes, drawn: list[PairWorth]) -> None:
    names = [short_name(f"{one.a} - {one.b}") for one in drawn]
    ax.set_yticks(range(len(drawn)), names, fontsize="small", **PLAIN_TEXT)
    ax.tick_params(axis="y", length=0)
    for place, one in enumerate(drawn):
        text = short_name(one.moved[0], LONGEST_MOVED) if one.moved else "none moves"
        if np.isnan(one.rank_shift):
            text = "needed: no ranking without it"
        at = (float(np.nan_to_num(one.rank_shift)), place)
        note(ax, text, at, (4, 0), va="center", fontsize="x-small", color=MUTED)
