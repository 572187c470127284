"""The strategies of asking: which pair of samples to ask about next."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect.asking._answers import Known, Rows, SaidAbout
from linkselect.asking._asked_samples import SampleValues
from linkselect.asking._working import best_features

# How many groups "grow" asks a sample against before it is a group of its own.
QUESTIONS = 3
# For "minmax" the farthest of so many random samples is far enough, and found at once.
POOL = 1000
# How many pairs "random" draws before it looks for one of which nothing is known.
TRIES = 200
# A ranking can be validated only by pairs that were chosen without looking at the samples. So every
# fifth question is drawn at random, whatever the strategy.
EVERY = 5


@dataclass(frozen=True)
class Situation:
    """Hold everything that the next question may depend on.

    A strategy is a function of this value alone. So the same question comes again after an answer
    was taken back, and after a stored labelling was resumed.

    Attributes
    ----------
    samples : SampleValues
        The samples.
    known : Known
        What follows from the answers.
    history : tuple of (row, row, answer)
        The answers to questions that were not drawn at random, in their order; the first row of
        each is the sample that was being placed.
    n_answers : int
        The number of all answers.
    order : ndarray of int of shape (n_samples,)
        All rows in a random order, which stays the same.
    seed : int
        What other random choices start from.
    """

    samples: SampleValues
    known: Known
    history: tuple[SaidAbout, ...]
    n_answers: int
    order: IntArray
    seed: int


Strategy = Callable[[Situation], Rows | None]


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


def grow(now: Situation) -> Rows | None:
    """Ask a random sample against the three nearest groups, until it is found alike.

    Distances are in the features that LinkSelector chooses from the answers so far, each divided
    by the square root of twice its variance.
    """
    return place(now, _nearest_by_best, most=QUESTIONS)


def _nearest_by_best(now: Situation, row: int, others: IntArray) -> int:
    """Return the nearest of some rows; of equally near ones the first."""
    features = best_features(now.samples, now.known, now.order)
    return int(others[now.samples.distances(row, others, features).argmin()])


def minmax(now: Situation) -> Rows | None:
    """Ask the farthest sample against all groups, nearest first, until it is found alike.

    It is the one, of at most 1,000 random samples, whose nearest sample among those that were
    asked about is farthest away. Distances are in all features, each divided by the square root
    of twice its variance.
    """
    return place(now, _nearest_by_all, _farthest)


def _farthest(now: Situation, unnamed: IntArray, others: IntArray) -> int:
    pool = unnamed[:POOL]
    return int(pool[_distances(now, pool, others).min(axis=1).argmax()])


def _nearest_by_all(now: Situation, row: int, others: IntArray) -> int:
    return int(others[_distances(now, np.array([row]), others).argmin()])


def _distances(now: Situation, rows: IntArray, others: IntArray) -> FloatArray:
    """Return squared distances in features of equal variance."""
    left, right = now.samples.standardized(rows), now.samples.standardized(others)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (left @ right.T), 0.0)


def apart(now: Situation) -> Rows | None:
    """Draw two samples that no pair names; if fewer are left, two of which nothing is known.

    A pair validates only what was learnt from pairs of other samples.
    """
    fresh = np.flatnonzero(~now.known.named)
    if len(fresh) < 2:
        return at_random(now)
    rng = np.random.default_rng([now.seed, now.n_answers])
    a, b = rng.choice(fresh, 2, replace=False).tolist()
    return a, b


def at_random(now: Situation) -> Rows | None:
    """Draw two samples until nothing is known about them."""
    rng = np.random.default_rng([now.seed, now.n_answers])
    for a, b in rng.integers(now.samples.n_samples, size=(TRIES, 2)).tolist():
        if a != b and not now.known.decided(a, b):
            return a, b
    # Little is left: look for it, from a random sample on.
    every = np.arange(now.samples.n_samples)
    for row in np.roll(now.order, int(rng.integers(len(every)))).tolist():
        left = now.known.open_rows(row, every)
        if len(left):
            return row, int(rng.choice(left))
    return None


STRATEGIES: dict[str, Strategy] = {"grow": grow, "minmax": minmax, "random": at_random}


def is_drawn(strategy: str, n_answers: int) -> bool:
    """Tell whether the question after so many answers is drawn at random."""
    return strategy == "random" or n_answers % EVERY == EVERY - 1


def next_question(strategy: str, now: Situation, seen: Known) -> Rows | None:
    """Choose the next question; None if nothing is left.

    Parameters
    ----------
    strategy : str
        The name of the strategy.
    now : Situation
        All that is known.
    seen : Known
        What the strategy may see: the answers to drawn questions are missing, and their samples
        are named. It would else choose by what is to validate its choice.
    """
    if is_drawn(strategy, now.n_answers):
        return at_random(now) if strategy == "random" else apart(now)
    found = STRATEGIES[strategy](replace(now, known=seen))
    # Once all samples are named, it may come upon what follows from drawn questions.
    return STRATEGIES[strategy](now) if found is None or now.known.decided(*found) else found


def check_strategy(name: object) -> str:
    """Return the name if it is one of a strategy."""
    if not isinstance(name, str) or name not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise GuidedValueError(
            f"strategy={name!r}, but there is no such strategy.",
            f"Choose one of {known}.",
            "strategy",
        )
    return name
