"""Farthest first: place the sample that is least like all samples that were asked about."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from linkselect.arrays import FloatArray, IntArray
from linkselect.asking.known import Rows
from linkselect.asking.situation import Situation

__all__ = ["minmax"]

# The farthest of so many random samples is far enough, and found at once.
POOL = 1000


def minmax(now: Situation) -> Rows | None:
    """Ask about a sample against every group, nearest first, until it is found alike.

    The next one is the sample, of at most 1,000 random ones, whose nearest neighbour among the
    samples that were asked about is farthest away. Distances are in all features, each divided by
    its standard deviation. Once all samples are named, groups whose relation is not known are
    asked about.
    """
    known = now.known
    row = _being_placed(now)
    unnamed = now.order[~known.named[now.order]]
    if row is not None:
        partner = _nearest(now, row, _groups_left(now, row))
        if partner is not None:
            return row, partner
    if len(unnamed) and len(known.linked):
        row = _farthest(now, unnamed[:POOL])
        return row, int(known.linked[_distances(now, np.array([row]), known.linked).argmin()])
    if len(unnamed) > 1:
        first = unnamed[:1]
        others = unnamed[1 : POOL + 1]
        return int(others[_distances(now, first, others).argmax()]), int(first[0])
    return _anything_left(now)


def _being_placed(now: Situation) -> int | None:
    """Return the sample that the last answer was about, unless it found a group."""
    if not now.history or now.history[-1][2] == "alike":
        return None
    return now.history[-1][0]


def _groups_left(now: Situation, row: int) -> IntArray:
    """Return the samples of all groups that the sample was not asked against."""
    known = now.known
    asked = [b for a, b, _ in now.history if a == row]
    left = known.linked[~np.isin(known.group[known.linked], known.group[asked])]
    return known.open_rows(row, left)


def _farthest(now: Situation, pool: IntArray) -> int:
    nearest = _distances(now, pool, now.known.linked).min(axis=1)
    return int(pool[nearest.argmax()])


def _nearest(now: Situation, row: int, others: IntArray) -> int | None:
    if not len(others):
        return None
    return int(others[_distances(now, np.array([row]), others).argmin()])


def _distances(now: Situation, rows: IntArray, others: IntArray) -> FloatArray:
    return euclidean_distances(now.samples.standardized(rows), now.samples.standardized(others))


def _anything_left(now: Situation) -> Rows | None:
    every = np.arange(now.samples.n_samples)
    for row in now.order.tolist():
        partner = _nearest(now, row, now.known.open_rows(row, every))
        if partner is not None:
            return row, partner
    return None
