"""Query strategies: choose the next pair of samples to ask about."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect.asking._answers import Known, Rows, SaidAbout
from linkselect.asking._asked_samples import SampleValues
from linkselect.asking._working import best_features

# Number of groups that "grow" compares a sample with before the sample forms a new group.
QUESTIONS = 3
# Number of random samples among which "minmax" looks for the farthest one; more would be slow.
POOL = 1000
# Number of pairs that "random" draws before it searches systematically for an undecided pair.
TRIES = 200
# Only pairs chosen without looking at the samples can validate a ranking. Therefore every strategy
# draws one question in this many at random.
EVERY = 5


@dataclass(frozen=True)
class Situation:
    """The state of a session, which determines the next question.

    A strategy depends only on this object. The same question is therefore asked again after an
    answer is undone or after a stored session is resumed.

    Attributes
    ----------
    samples : SampleValues
        The samples.
    known : Known
        The conclusions from the answers.
    history : tuple of (row, row, answer)
        The answers to questions that were not drawn at random, in chronological order. The first
        row of each answer is the sample that was being assigned to a group.
    n_answers : int
        The number of all answers.
    order : ndarray of int of shape (n_samples,)
        All rows in a random order, which is fixed for the session.
    seed : int
        The seed for other random choices.
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
    """Return a sample to assign to a group and a sample to compare it with, or None.

    A sample is compared with one group after another until the answer is "alike". Each group is
    represented by its member nearest to the sample. Once all samples occur in answers, questions
    are about groups whose relation is unknown.

    Parameters
    ----------
    now : Situation
        The current state of the session.
    nearest : callable
        A function of the situation, a row and other rows, which returns the nearest of the other
        rows.
    choose : callable, optional
        A function of the situation, the rows without answers and the rows in groups, which returns
        the next row to assign. Default: a random row.
    most : int, optional
        The number of questions after which a sample forms a new group. Default: no limit.
    """
    known = now.known
    row = _being_placed(now, most)
    if row is not None:
        others = _groups_left(now, row)
        if len(others):
            return row, nearest(now, row, others)
    linked, unnamed = known.linked, now.order[~known.named[now.order]]
    if not len(linked):  # the first sample forms the first group
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
    """Return the sample of the last question if it is still to be assigned to a group."""
    if not now.history or now.history[-1][2] == "alike":
        return None
    row = now.history[-1][0]
    return row if most is None or len(_partners(now, row)) < most else None


def _groups_left(now: Situation, row: int) -> IntArray:
    """Return the samples of the groups with which the sample has not been compared yet."""
    known = now.known
    asked = known.group[_partners(now, row)]
    return known.open_rows(row, known.linked[~np.isin(known.group[known.linked], asked)])


def _partners(now: Situation, row: int) -> list[int]:
    return [b for a, b, _ in now.history if a == row]


def grow(now: Situation) -> Rows | None:
    """Compare a random sample with the three nearest groups, until an answer is "alike".

    Distances are computed in the features that LinkSelector selects from the answers so far, each
    divided by the square root of twice its variance.
    """
    return place(now, _nearest_by_best, most=QUESTIONS)


def _nearest_by_best(now: Situation, row: int, others: IntArray) -> int:
    """Return the nearest row; if several rows are equally near, return the first of them."""
    features = best_features(now.samples, now.known, now.order)
    return int(others[now.samples.distances(row, others, features).argmin()])


def minmax(now: Situation) -> Rows | None:
    """Compare the farthest sample with all groups, nearest first, until an answer is "alike".

    The farthest of at most 1,000 random samples is the one with the largest distance to its nearest
    sample in earlier questions. Distances are computed in all features, each divided by the square
    root of twice its variance.
    """
    return place(now, _nearest_by_all, _farthest)


def _farthest(now: Situation, unnamed: IntArray, others: IntArray) -> int:
    pool = unnamed[:POOL]
    return int(pool[_distances(now, pool, others).min(axis=1).argmax()])


def _nearest_by_all(now: Situation, row: int, others: IntArray) -> int:
    return int(others[_distances(now, np.array([row]), others).argmin()])


def _distances(now: Situation, rows: IntArray, others: IntArray) -> FloatArray:
    """Return squared distances in features scaled to equal variance."""
    left, right = now.samples.standardized(rows), now.samples.standardized(others)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (left @ right.T), 0.0)


def apart(now: Situation) -> Rows | None:
    """Draw two random samples that are in no pair or, if none are left, whose relation is unknown.

    A pair can only validate a ranking that was learnt from pairs of other samples.
    """
    fresh = np.flatnonzero(~now.known.named)
    if len(fresh) < 2:
        return at_random(now)
    rng = np.random.default_rng([now.seed, now.n_answers])
    a, b = rng.choice(fresh, 2, replace=False).tolist()
    return a, b


def at_random(now: Situation) -> Rows | None:
    """Draw two random samples whose relation is unknown."""
    rng = np.random.default_rng([now.seed, now.n_answers])
    for a, b in rng.integers(now.samples.n_samples, size=(TRIES, 2)).tolist():
        if a != b and not now.known.decided(a, b):
            return a, b
    # Few pairs are left: search for one, starting with a random sample.
    every = np.arange(now.samples.n_samples)
    for row in np.roll(now.order, int(rng.integers(len(every)))).tolist():
        left = now.known.open_rows(row, every)
        if len(left):
            return row, int(rng.choice(left))
    return None


STRATEGIES: dict[str, Strategy] = {"grow": grow, "minmax": minmax, "random": at_random}


def is_drawn(strategy: str, n_answers: int) -> bool:
    """Return whether the question after `n_answers` answers is drawn at random."""
    return strategy == "random" or n_answers % EVERY == EVERY - 1


def next_question(strategy: str, now: Situation, seen: Known) -> Rows | None:
    """Return the next question, or None if no question is left.

    Parameters
    ----------
    strategy : str
        The name of the strategy.
    now : Situation
        The current state of the session.
    seen : Known
        The conclusions that the strategy may use, without answers to randomly drawn questions.
        Otherwise, the strategy would use answers that are meant to validate its choices.
    """
    if is_drawn(strategy, now.n_answers):
        return at_random(now) if strategy == "random" else apart(now)
    found = STRATEGIES[strategy](replace(now, known=seen))
    # Once all samples occur in answers, the strategy may choose a pair that is already decided.
    return STRATEGIES[strategy](now) if found is None or now.known.decided(*found) else found


def check_strategy(name: object) -> str:
    """Return the name of a strategy if it is valid; otherwise raise an error."""
    if not isinstance(name, str) or name not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise GuidedValueError(
            f"strategy={name!r}, but there is no such strategy.",
            f"Choose one of {known}.",
            "strategy",
        )
    return name
