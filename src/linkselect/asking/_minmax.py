"""Farthest first: place the sample that is least like all samples that were asked about."""

from __future__ import annotations

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect.asking._known import Rows
from linkselect.asking._placing import place
from linkselect.asking._situation import Situation

# The farthest of so many random samples is far enough, and found at once.
POOL = 1000


def minmax(now: Situation) -> Rows | None:
    """Ask the farthest sample against all groups, nearest first, until it is found alike.

    It is the one, of at most 1,000 random samples, whose nearest sample among those that were
    asked about is farthest away. Distances are in all features, each divided by the square root
    of twice its variance.
    """
    return place(now, _nearest, _farthest)


def _farthest(now: Situation, unnamed: IntArray, others: IntArray) -> int:
    pool = unnamed[:POOL]
    return int(pool[_distances(now, pool, others).min(axis=1).argmax()])


def _nearest(now: Situation, row: int, others: IntArray) -> int:
    return int(others[_distances(now, np.array([row]), others).argmin()])


def _distances(now: Situation, rows: IntArray, others: IntArray) -> FloatArray:
    """Return squared distances in features of equal variance."""
    left, right = now.samples.standardized(rows), now.samples.standardized(others)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (left @ right.T), 0.0)
