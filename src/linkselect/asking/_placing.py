"""Place one sample after another: ask it against groups of alike samples, nearest first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkselect._arrays import IntArray
from linkselect.asking._known import Rows
from linkselect.asking._situation import Situation

Choose = Callable[[Situation, IntArray, IntArray], int]
Nearest = Callable[[Situation, int, IntArray], int]


def place(
    now: Situation, nearest: Nearest, choose: Choose | None = None, most: int | None = None
) -> Rows | None:
    """Return a sample to place and the sample to ask it against; None if nothing is left.

    A sample is asked against one group after another until it is found alike. Each group is
    represented by its nearest member. Once all samples are named, groups whose relation is not
    known are asked about.

    Parameters
    ----------
    now : Situation
        What is known.
    nearest : callable
        Takes the situation, a row and others; returns the nearest of the others.
    choose : callable, optional
        Takes the situation, the rows that no answer names, and those to compare them with; returns
        the next one to place. Default: at random.
    most : int, optional
        The number of questions after which a sample is a group of its own. Default: no limit.
    """
    known = now.known
    row = _being_placed(now, most)
    if row is not None:
        others = _groups_left(now, row)
        if len(others):
            return row, nearest(now, row, others)
    linked, unnamed = known.linked, now.order[~known.named[now.order]]
    if not len(linked):  # the first sample is the first group
        linked, unnamed = unnamed[:1], unnamed[1:]
    if len(unnamed):
        row = choose(now, unnamed, linked) if choose else int(unnamed[0])
        return row, nearest(now, row, linked)
    every = np.arange(now.samples.n_samples)
    for row in now.order.tolist():
        others = known.open_rows(row, every)
        if len(others):
            return row, nearest(now, row, others)
    return None


def _being_placed(now: Situation, most: int | None) -> int | None:
    """Return the sample that the last answer was about, if it is to be asked again."""
    if not now.history or now.history[-1][2] == "alike":
        return None
    row = now.history[-1][0]
    return row if most is None or len(_partners(now, row)) < most else None


def _groups_left(now: Situation, row: int) -> IntArray:
    """Return the samples of the groups against which the sample was not asked yet."""
    known = now.known
    asked = known.group[_partners(now, row)]
    return known.open_rows(row, known.linked[~np.isin(known.group[known.linked], asked)])


def _partners(now: Situation, row: int) -> list[int]:
    return [b for a, b, _ in now.history if a == row]
