"""Grow groups: place random samples by the features that look best so far."""

from __future__ import annotations

from linkselect._arrays import IntArray
from linkselect.asking._known import Rows
from linkselect.asking._placing import place
from linkselect.asking._situation import Situation
from linkselect.asking._working import best_features

QUESTIONS = 3


def grow(now: Situation) -> Rows | None:
    """Ask a random sample against the three nearest groups, until it is found alike.

    Distances are in the features of the best working score, each divided by the square root of
    twice its variance.
    """
    return place(now, _nearest, most=QUESTIONS)


def _nearest(now: Situation, row: int, others: IntArray) -> int:
    """Return the nearest of some rows; of equally near ones the first."""
    features = best_features(now.samples, now.known)
    return int(others[now.samples.distances(row, others, features).argmin()])
