"""Summarise the answers: groups of samples, the best features, and the samples near each group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._pictures.picture_features import Region
from linkselect._samples import as_samples
from linkselect.labelling._shown_samples import ShownSamples
from linkselect.pairs._links import must_components

# Pairs of rows.
Links = IntArray | Sequence[tuple[int, int]]
# Limits that keep the page readable at a glance.
MOST_GROUPS, MOST_MEMBERS, MOST_OTHERS = 6, 14, 7
SORTED_BY, N_SORTED, MOST_PLACES = 3, 9, 3
# The width of a mark, as a share of the length of its line.
MARK_WIDTH = 0.03


class Group(NamedTuple):
    """Samples that are connected by "alike" answers."""

    members: list[int]
    """The rows of the first samples in the group."""
    n_members: int
    others: list[int]
    """Nearest rows without answers. Distances to the group are computed from the best features."""


class Column(NamedTuple):
    """One of the best features, and its values in the groups."""

    name: str
    share: float
    """Cumulative proportion of the differences explained by this and all better features."""
    means: list[float]
    """The mean of the feature in each group."""
    places: list[float]
    """Positions of the group means, from 0 (smallest value of all samples) to 1 (largest).

    Positions whose marks would overlap are moved apart.
    """
    ordered: list[int]
    """Evenly spaced rows from the smallest to the largest value; empty for later features."""


@dataclass(frozen=True)
class Findings:
    """The content of the page with the results.

    Attributes
    ----------
    groups : list of Group
        The largest groups of at least two samples.
    n_groups : int
        Number of all groups of at least two samples.
    alone : list of int
        The first rows that have answers but belong to no group.
    n_alone : int
        Number of all rows that have answers but belong to no group.
    columns : list of Column
        The best features.
    """

    groups: list[Group]
    n_groups: int
    alone: list[int]
    n_alone: int
    columns: list[Column]


def find(
    samples: ShownSamples,
    X: Any,
    must: Links,
    named: Sequence[int],
    best: IntArray,
    path: Sequence[float],
) -> Findings:
    """Describe the groups of samples in terms of the best features.

    Parameters
    ----------
    samples : ShownSamples
        The samples with their original values.
    X : array or CSR matrix
        The values after preparation, which are used to rank the features.
    must : sequence of (int, int), or array
        The rows of the pairs answered "alike".
    named : sequence of int
        The rows of all samples with answers.
    best : ndarray of int
        The best features, best first.
    path : sequence of float
        Cumulative proportion of the differences explained by the best features.
    """
    every = np.arange(len(samples.ids))
    joined = groups_of(must)
    shown = joined[:MOST_GROUPS]
    scaled = _to_unit(as_samples(X).choose(best).dense().astype(float))
    # Without best features, similarity to a group is undefined.
    free = np.setdiff1d(every, list(named)) if len(best) else every[:0]
    others = _nearest(scaled, shown, free)
    groups = [
        Group(rows[:MOST_MEMBERS].tolist(), len(rows), near.tolist())
        for rows, near in zip(shown, others, strict=True)
    ]
    values = as_samples(samples.X).choose(best).dense().astype(float)
    columns = [
        _column(samples.names[feature], share, values[:, place], shown, place < SORTED_BY)
        for place, (feature, share) in enumerate(zip(best.tolist(), path, strict=False))
    ]
    alone = np.setdiff1d(list(named), np.concatenate([*joined, []])).astype(int).tolist()
    return Findings(groups, len(joined), alone[:MOST_MEMBERS], len(alone), columns)


class Part(NamedTuple):
    """A region of a picture measured by some of the first features."""

    region: Region
    """The position of the region, in per cent of the width and height of the picture."""
    numbers: str
    """The ranks of the features that measure the region, starting at 1."""


class Places(NamedTuple):
    """Example pictures, and the regions that are drawn on them."""

    rows: list[int]
    parts: list[Part]


def places_of(samples: ShownSamples, found: Findings) -> Places | None:
    """Return the regions measured by the first features, and one picture of each group."""
    numbers: dict[Region, list[int]] = {}
    for number, column in enumerate(found.columns[:SORTED_BY], 1):
        if column.name in samples.regions:
            numbers.setdefault(samples.regions[column.name], []).append(number)
    if not numbers:
        return None
    parts = [
        Part(Region(*(round(100 * share, 2) for share in region)), ", ".join(map(str, some)))
        for region, some in numbers.items()
    ]
    rows = [group.members[0] for group in found.groups[:MOST_PLACES]]
    return Places(rows, parts)


def groups_of(must: Links) -> list[IntArray]:
    """Return the groups of rows connected by alike pairs, largest first.

    Examples
    --------
    >>> groups_of([(7, 2), (4, 5), (5, 9)])
    [array([4, 5, 9]), array([2, 7])]
    """
    rows, places = np.unique(np.reshape(must, (-1, 2)).astype(np.intp), return_inverse=True)
    codes = must_components(places.reshape(-1, 2), len(rows))
    order = np.argsort(codes, kind="stable")
    found = np.split(rows[order], np.flatnonzero(np.diff(codes[order])) + 1) if len(rows) else []
    return sorted(found, key=lambda group: (-len(group), group[0]))


def _to_unit(values: FloatArray) -> FloatArray:
    """Scale each column to [0, 1]."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)


def _nearest(values: FloatArray, groups: list[IntArray], free: IntArray) -> list[IntArray]:
    """Assign free rows to the group with the nearest mean; return the nearest rows per group."""
    if not groups:
        return []
    means = np.array([values[rows].mean(axis=0) for rows in groups])
    squares = np.array([((values[free] - mean) ** 2).sum(axis=1) for mean in means])
    own, distance = squares.argmin(axis=0), squares.min(axis=0)
    order = np.argsort(distance, kind="stable")
    return [free[order[own[order] == code]][:MOST_OTHERS] for code in range(len(groups))]


def _column(
    name: str, share: float, values: FloatArray, groups: list[IntArray], is_sorted: bool
) -> Column:
    known = np.flatnonzero(~np.isnan(values))
    low, high = (values[known].min(), values[known].max()) if len(known) else (0.0, 0.0)
    of_groups = [values[rows][~np.isnan(values[rows])] for rows in groups]
    means = [float(some.mean()) if len(some) else np.nan for some in of_groups]
    places = _apart([float((mean - low) / ((high - low) or 1.0)) for mean in means])
    ordered = known[np.argsort(values[known], kind="stable")]
    steps = np.linspace(0, len(ordered) - 1, min(N_SORTED, len(ordered))).round().astype(int)
    rows = ordered[steps].tolist() if is_sorted else []
    return Column(name, share, means, places, rows)


def _apart(places: list[float]) -> list[float]:
    """Move overlapping marks apart: first to the right, then back from the right end.

    Examples
    --------
    >>> [round(place, 3) for place in _apart([0.5, 0.5, 1.0, 0.1])]
    [0.5, 0.53, 1.0, 0.1]
    """
    known = [place for place in range(len(places)) if places[place] == places[place]]
    order = sorted(known, key=lambda place: places[place])
    moved = list(places)
    for before, place in pairwise(order):
        moved[place] = max(moved[place], moved[before] + MARK_WIDTH)
    limit = 1.0
    for place in reversed(order):
        moved[place] = min(moved[place], limit)
        limit = moved[place] - MARK_WIDTH
    return moved
