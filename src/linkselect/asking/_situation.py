"""What a strategy of asking knows when it chooses the next question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError
from linkselect.asking._geometry import Samples
from linkselect.asking._known import Known, Rows, SaidAbout


@dataclass(frozen=True)
class Situation:
    """Hold everything that the next question may depend on.

    A strategy is a function of this value alone. So the same question comes again after an answer
    was taken back, and after a stored labelling was resumed.

    Attributes
    ----------
    samples : Samples
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

    samples: Samples
    known: Known
    history: tuple[SaidAbout, ...]
    n_answers: int
    order: IntArray
    seed: int


Strategy = Callable[[Situation], Rows | None]


def check_seed(random_state: Any) -> int:
    """Return a number that can be stored and gives the same choices again."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise GuidedValueError(
            f"random_state={random_state!r} cannot seed random choices.",
            "Pass a whole number from 0, a RandomState, or None.",
            "random_state",
        ) from error
