"""Grow groups: place one random sample after another among the groups that it is most like."""

from __future__ import annotations

import numpy as np

from linkselect.arrays import IntArray
from linkselect.asking.known import Rows
from linkselect.asking.situation import Situation
from linkselect.asking.working import best_features

__all__ = ["grow"]

QUESTIONS = 3


def grow(now: Situation) -> Rows | None:
    """Ask about a sample until it is found alike, at most three times, nearest group first.

    Distances are in the features of the best working score, each divided by the square root of
    `v`. Once all samples are named, groups whose relation is not known are asked about.
    """
    known = now.known
    row, asked = _being_placed(now)
    if row is not None:
        other = known.group[known.linked]
        left = known.linked[~np.isin(other, known.group[asked])] if asked else known.linked
        partner = _nearest(now, row, known.open_rows(row, left))
        if partner is not None:
            return row, partner
    unnamed = now.order[~known.named[now.order]]
    if len(unnamed) and len(known.linked):
        partner = _nearest(now, int(unnamed[0]), known.linked)
        if partner is not None:
            return int(unnamed[0]), partner
    if len(unnamed) > 1:
        return int(unnamed[1]), int(unnamed[0])
    return _anything_left(now)


def _being_placed(now: Situation) -> tuple[int | None, list[int]]:
    """Return the sample that the last answer was about if it has no group yet, and its partners."""
    if not now.history or now.history[-1][2] == "alike":
        return None, []
    row = now.history[-1][0]
    asked = [b for a, b, _ in now.history if a == row]
    return (row, asked) if len(asked) < QUESTIONS else (None, [])


def _nearest(now: Situation, row: int, others: IntArray) -> int | None:
    """Return the nearest of some rows; of equally near ones the first."""
    if not len(others):
        return None
    distances = now.samples.distances(row, others, best_features(now.samples, now.known))
    return int(others[distances.argmin()])


def _anything_left(now: Situation) -> Rows | None:
    every = np.arange(now.samples.n_samples)
    for row in now.order.tolist():
        partner = _nearest(now, row, now.known.open_rows(row, every))
        if partner is not None:
            return row, partner
    return None
