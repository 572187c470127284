"""Conclusions from all answers; they are recomputed or updated after each answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from linkselect._arrays import IntArray
from linkselect.asking._answers import ANSWERS, Answer, Known, Rows, Said, SaidAbout, know
from linkselect.asking._asked_samples import SampleNames


@dataclass(frozen=True)
class Conclusions:
    """Conclusions from the answers, as needed for questions, rankings and the web page.

    Except for copying arrays, the time to add an answer does not depend on the number of answers.

    Attributes
    ----------
    known : Known
        Conclusions from all given pairs and answers.
    seen : Known
        The part of these conclusions that a query strategy may use. Pairs that were drawn at random
        are treated as if they had been answered "unsure".
    placed : tuple of (row, row, answer)
        The answers to questions that were not drawn at random, in chronological order.
    adaptive : ndarray of shape (n_pairs, 2)
        The rows of the must-links and cannot-links that were not drawn at random.
    counts : dict
        The number of answers of each kind, excluding given pairs.
    """

    known: Known
    seen: Known
    placed: tuple[SaidAbout, ...] = ()
    adaptive: IntArray = field(default_factory=lambda: np.empty((0, 2), dtype=np.intp))
    counts: Mapping[Said, int] = field(default_factory=lambda: dict.fromkeys(ANSWERS, 0))

    @classmethod
    def of(
        cls, given: Mapping[Rows, Answer], answers: Mapping[Rows, Answer], names: SampleNames
    ) -> Self:
        """Compute all conclusions from given pairs and answers."""
        everything = {**given, **answers}
        placed = [one for one in answers.values() if one.adaptive]
        adaptive = [key for key, one in everything.items() if _is_adaptive_link(one)]
        seen = {
            key: "unsure" if key in answers and not one.adaptive else one.answer
            for key, one in everything.items()
        }
        said = [one.answer for one in answers.values()]
        return cls(
            known_from(everything, len(names.ids)),
            know(((*key, answer) for key, answer in seen.items()), len(names.ids)),
            tuple((*names.rows(one.pair), one.answer) for one in placed),
            np.array(adaptive, dtype=np.intp).reshape(-1, 2),
            {kind: said.count(kind) for kind in ANSWERS},
        )

    def after(self, key: Rows, rows: Rows, new: Answer) -> "Conclusions":
        """Return the conclusions after an answer about a pair that had no answer before."""
        linked = [key] if _is_adaptive_link(new) else []
        return Conclusions(
            self.known.after(*key, new.answer),
            self.seen.after(*key, new.answer if new.adaptive else "unsure"),
            (*self.placed, (*rows, new.answer)) if new.adaptive else self.placed,
            np.concatenate([self.adaptive, np.array(linked, dtype=np.intp).reshape(-1, 2)]),
            {**self.counts, new.answer: self.counts[new.answer] + 1},
        )

    def leaving_alone(self, pairs: Iterable[Rows]) -> tuple[Known, Known]:
        """Return `known` and `seen` as if these pairs had been answered "unsure"."""
        known, seen = self.known, self.seen
        for key in pairs:
            known, seen = known.after(*key, "unsure"), seen.after(*key, "unsure")
        return known, seen


def known_from(answers: Mapping[Rows, Answer], n_samples: int) -> Known:
    """Draw conclusions from answers that are indexed by rows."""
    return know(((*key, one.answer) for key, one in answers.items()), n_samples)


def _is_adaptive_link(one: Answer) -> bool:
    return one.adaptive and one.answer != "unsure"
