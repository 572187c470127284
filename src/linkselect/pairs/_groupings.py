"""Groups of samples defined by labels, and operations on the links that the groups imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkselect._arrays import BoolArray, IntArray


class Grouping(NamedTuple):
    """Labels that imply must-links within classes and cannot-links between parts."""

    classes: IntArray
    """Class number of each sample, from 0, or -1 if it has no class."""
    parts: IntArray
    """The class of each sample, or its group of must-links if conflicts were removed."""

    def at(self, rows: IntArray, n_samples: int) -> Grouping:
        """Return the grouping with samples moved to other rows; a negative row removes a sample."""
        placed = np.full((2, n_samples), -1, dtype=np.intp)
        placed[:, rows[rows >= 0]] = np.stack(self)[:, rows >= 0]
        return Grouping(*placed)

    def linked(self, row: int) -> BoolArray:
        """Return a mask of the samples linked to the given sample, which must have a class."""
        others = (self.classes == self.classes[row]) | (self.parts != self.parts[row])
        others[row] = False
        return others & (self.classes >= 0)


Groupings = Sequence[Grouping]


def meet(some: IntArray, others: IntArray) -> IntArray:
    """Number the intersections of two groupings; samples that lack a group in one of them get -1.

    Examples
    --------
    >>> meet(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, -1]
    """
    found = np.full(len(some), -1, dtype=np.intp)
    known = (some >= 0) & (others >= 0)
    keys = some[known] * (others.max(initial=0) + 1) + others[known]
    found[known] = np.unique(keys, return_inverse=True)[1]
    return found


def group_sizes(codes: IntArray) -> IntArray:
    """Return the size of each sample's group, or 0 if the sample has no group."""
    return np.where(codes >= 0, np.bincount(codes[codes >= 0], minlength=1)[codes], 0)


def _n_within(codes: IntArray) -> int:
    sizes = np.bincount(codes[codes >= 0])
    return int((sizes * (sizes - 1) // 2).sum())


def count_alike(groupings: Groupings, within: IntArray) -> int:
    """Count the pairs in the groups `within` that are must-links in at least one grouping."""
    if not groupings or not _n_within(within):
        return 0
    first, *others = groupings
    shared = meet(first.classes, within)
    return _n_within(shared) + count_alike(others, within) - count_alike(others, shared)


def count_apart(groupings: Groupings, within: IntArray) -> int:
    """Count the pairs in the groups `within` that are cannot-links in at least one grouping."""
    if not groupings or not _n_within(within):
        return 0
    first, *others = groupings
    # The cannot-links of a grouping are all pairs of labelled samples, except those within a part.
    labelled, shared = np.where(first.classes >= 0, within, -1), meet(first.parts, within)
    own = _n_within(labelled) - _n_within(shared)
    both = count_apart(others, labelled) - count_apart(others, shared)
    return own + count_apart(others, within) - both


def are_implied(links: IntArray, groupings: Groupings, *, alike: bool) -> BoolArray:
    """Return a mask of the links that any grouping implies as must-links or as cannot-links."""
    found = np.zeros(len(links), dtype=bool)
    for classes, parts in groupings:
        ends = (classes if alike else parts)[links]
        found |= (ends >= 0).all(axis=1) & ((ends[:, 0] == ends[:, 1]) == alike)
    return found


def grouped(groupings: Groupings, n_samples: int) -> BoolArray:
    """Return a mask of the samples that have a link in at least one grouping."""
    found = np.zeros(n_samples, dtype=bool)
    for classes, parts in groupings:
        n_labelled = int(np.count_nonzero(classes >= 0))
        linked = (group_sizes(classes) > 1) | (group_sizes(parts) < n_labelled)
        found |= (classes >= 0) & linked
    return found


def list_links(
    codes: IntArray, *, alike: bool, within: IntArray | None = None, limit: int | None = None
) -> IntArray:
    """Return the links within or between classes, sorted by row.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of each sample, or -1 if it has no class.
    alike : bool
        Whether to return the links within classes; otherwise, the links between classes.
    within : ndarray of shape (n_samples,), optional
        Group of each sample. Only links within these groups are returned. Default: all links.
    limit : int, optional
        The maximum number of links to return. Default: all links.

    Examples
    --------
    >>> list_links(np.array([1, 0, -1, 1]), alike=False).tolist()
    [[0, 1], [1, 3]]
    """
    within = np.where(codes >= 0, 0 if within is None else within, -1)
    shared = meet(codes, within)
    sizes = group_sizes(shared)
    rows = np.flatnonzero(sizes > 1 if alike else group_sizes(within) > sizes)
    found = [np.empty((0, 2), dtype=np.intp)]
    n_found = 0
    for place, row in enumerate(rows):
        later = rows[place + 1 :]
        ends = later[(within[later] == within[row]) & ((shared[later] == shared[row]) == alike)]
        found.append(np.column_stack([np.full(len(ends), row), ends]))
        n_found += len(ends)
        if limit is not None and n_found >= limit:
            break
    return np.concatenate(found)[:limit]


def needed(groupings: Groupings) -> tuple[Grouping, ...]:
    """Remove groupings without links and groupings whose links are implied by another grouping."""
    kept: list[Grouping] = []
    for one in sorted(groupings, key=lambda some: -np.count_nonzero(some.classes >= 0)):
        if np.count_nonzero(one.classes >= 0) > 1 and not any(_holds(other, one) for other in kept):
            kept.append(one)
    return tuple(kept)


def are_same(one: Grouping, other: Grouping) -> bool:
    """Return whether two groupings imply the same links, regardless of class numbers."""
    return _holds(one, other) and _holds(other, one)


def _holds(larger: Grouping, smaller: Grouping) -> bool:
    """Return whether `larger` contains all samples of `smaller` in the same classes."""
    known = smaller.classes >= 0
    if (larger.classes[known] < 0).any():
        return False
    return all(
        len(np.unique(a[known])) == len(np.unique(b[known])) == meet(a, b).max(initial=-1) + 1
        for a, b in zip(larger, smaller, strict=True)
    )
