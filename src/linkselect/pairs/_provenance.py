"""Which links are adaptive: chosen by looking at the samples, so that they cannot validate."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from linkselect._arrays import BoolArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect.pairs._links import is_among

# One mark for each must-link, and one for each cannot-link.
Adaptive = tuple[BoolArray, BoolArray]


def unmarked(must: IntArray, cannot: IntArray) -> Adaptive:
    """Mark no link."""
    return np.zeros(len(must), dtype=bool), np.zeros(len(cannot), dtype=bool)


def marked(
    chosen: IntArray, must: IntArray, cannot: IntArray, ids: tuple[Hashable, ...]
) -> Adaptive:
    """Mark the links that were chosen by looking at the samples; all of these must be there."""
    unknown = chosen[~is_among(chosen, np.concatenate([must, cannot]), len(ids))]
    if len(unknown):
        a, b = unknown[0].tolist()
        raise GuidedValueError(
            f"adaptive has the pair ({ids[a]!r}, {ids[b]!r}), which is neither a must-link nor a "
            "cannot-link.",
            "Name pairs of must and cannot only.",
            "adaptive",
        )
    return is_among(must, chosen, len(ids)), is_among(cannot, chosen, len(ids))


def joined(one: Adaptive, other: Adaptive) -> Adaptive:
    """Return the marks of links that follow each other."""
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])


def of_closure(
    closed: tuple[IntArray, IntArray],
    links: tuple[IntArray, IntArray],
    adaptive: Adaptive,
    n_samples: int,
) -> Adaptive:
    """Mark what may follow from adaptive links: all that is not listed as drawn without looking."""
    if not any(marks.any() for marks in adaptive):
        return unmarked(*closed)
    must, cannot = (
        ~is_among(implied, listed[~marks], n_samples)
        for implied, listed, marks in zip(closed, links, adaptive, strict=True)
    )
    return must, cannot
