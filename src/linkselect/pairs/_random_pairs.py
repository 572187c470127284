"""Links that labels imply: all of them, or a random number of each kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_random_state

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError
from linkselect.pairs._ids import check_ids
from linkselect.pairs._labels import LoneClass, encode_labels, warn_of_text


def links_of_labels(
    y: Any,
    sample_ids: Iterable[Hashable] | None,
    n_must: int | None,
    n_cannot: int | None,
    random_state: Any,
) -> tuple[tuple[Hashable, ...], IntArray, IntArray, int | None]:
    """Return ids, must-links, cannot-links, and `n_samples` if ids are row numbers.

    The parameters are those of `Pairs.from_labels`.
    """
    warn_of_text(y)
    codes, classes = encode_labels(y)
    lone = LoneClass.find(y, codes, classes)
    if lone is not None and (lone.is_one or n_cannot):
        raise lone.error()
    if sample_ids is None and hasattr(y, "index") and not callable(y.index):
        sample_ids = y.index
    ids = check_ids(range(len(codes)) if sample_ids is None else sample_ids, len(codes))
    numbered = ids == tuple(range(len(codes)))
    must, cannot = draw_links(codes, n_must, n_cannot, check_random_state(random_state))
    return ids, must, cannot, len(codes) if numbered else None


def draw_links(
    codes: IntArray, n_must: int | None, n_cannot: int | None, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Draw must-links inside classes and cannot-links across them, without listing all.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The class of each sample, from 0, or -1 for none.
    n_must, n_cannot : int or None
        How many links to draw without replacement; None for all.
    rng : RandomState
        Determines the draw.

    Returns
    -------
    must, cannot : ndarray of shape (n_links, 2)
        Row numbers, the smaller one first, in ascending order.
    """
    by_class = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    sizes = np.bincount(codes[by_class]) if by_class.size else np.zeros(0, dtype=np.intp)
    must = by_class[_draw_within(sizes, n_must, rng)]
    cannot = by_class[_draw_between(sizes, n_cannot, rng)]
    return _by_row(must), _by_row(cannot)


def _by_row(links: IntArray) -> IntArray:
    ends = np.sort(links, axis=1)
    return ends[np.lexsort(ends.T[::-1])]


def _draw(total: int, wanted: Any, kind: str, rng: np.random.RandomState) -> IntArray:
    """Draw numbers of pairs out of `total`, without listing all of them."""
    if wanted is None:
        return np.arange(total)
    if not isinstance(wanted, int | np.integer) or not 0 <= wanted <= total:
        raise GuidedValueError(
            f"n_{kind}={wanted!r} {kind}-links were asked for, but the labels imply {total}.",
            f"Ask for 0 to {total}, or None for all.",
            f"n_{kind}",
        )
    if wanted == 0:
        return np.empty(0, dtype=np.intp)
    return np.sort(sample_without_replacement(total, wanted, random_state=rng))


def _draw_within(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions inside consecutive classes of the given sizes."""
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    number = _draw(int(ends[-1]) if len(ends) else 0, wanted, "must", rng)
    group = np.searchsorted(ends, number, side="right")
    # Inside a class the pairs are numbered along the lower triangle: pair t lies in the row b
    # with b (b - 1) / 2 <= t. The square root may be off by one for large t; mend that.
    t = number - (ends - sizes * (sizes - 1) // 2)[group]
    b = ((1 + np.sqrt(8.0 * t + 1)) // 2).astype(np.intp)
    b -= b * (b - 1) // 2 > t
    b += b * (b + 1) // 2 <= t
    start = (np.cumsum(sizes) - sizes)[group]
    return np.column_stack([start + t - b * (b - 1) // 2, start + b])


def _draw_between(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions across consecutive classes of the given sizes."""
    later = sizes.sum() - np.cumsum(sizes)
    ends = np.cumsum(sizes * later)
    number = _draw(int(ends[-1]) if len(ends) else 0, wanted, "cannot", rng)
    group = np.searchsorted(ends, number, side="right")
    # The pairs of a class are numbered along its samples: each with all samples of later classes.
    t = number - (ends - sizes * later)[group]
    n_later = later[group]
    stop = np.cumsum(sizes)[group]
    return np.column_stack([stop - sizes[group] + t // n_later, stop + t % n_later])
