"""What a strategy of asking knows when it chooses the next question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkselect.arrays import IntArray
from linkselect.asking.known import Known, Rows, SaidAbout
from linkselect.asking.samples import Samples

__all__ = ["Situation", "Strategy"]


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
        The answers in their order; the first row of each is the sample that was being placed.
    order : ndarray of int of shape (n_samples,)
        All rows in a random order, which stays the same.
    seed : int
        What other random choices start from.
    """

    samples: Samples
    known: Known
    history: tuple[SaidAbout, ...]
    order: IntArray
    seed: int


Strategy = Callable[[Situation], Rows | None]
