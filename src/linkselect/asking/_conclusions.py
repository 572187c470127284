"""What follows from all answers together: drawn anew, or from one more answer than before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from linkselect._arrays import IntArray
from linkselect.asking._answers import ANSWERS, Answer, Known, Rows, Said, SaidAbout, know
from linkselect.asking._asked_samples import SampleNames


@dataclass(frozen=True)
class Conclusions:
    """Hold what questions, rankings and pages need to know of the answers.

    An answer costs the same time however many there are, except for copies of arrays.

    Attributes
    ----------
    known : Known
        What follows from everything that was given or answered.
    seen : Known
        What a strategy may see of it: pairs that were drawn at random are left alone, as if they
        had been answered "unsure".
    placed : tuple of (row, row, answer)
        The answers to questions that were not drawn, in their order.
    adaptive : ndarray of shape (n_pairs, 2)
        The rows of the links that were not drawn.
    counts : dict
        How many answers of each kind there are, without what was given.
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
        """Draw all conclusions anew."""
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
        """Return what `of` would say with one more answer at the end, to a new pair."""
        linked = [key] if _is_adaptive_link(new) else []
        return Conclusions(
            self.known.after(*key, new.answer),
            self.seen.after(*key, new.answer if new.adaptive else "unsure"),
            (*self.placed, (*rows, new.answer)) if new.adaptive else self.placed,
            np.concatenate([self.adaptive, np.array(linked, dtype=np.intp).reshape(-1, 2)]),
            {**self.counts, new.answer: self.counts[new.answer] + 1},
        )

    def leaving_alone(self, pairs: Iterable[Rows]) -> tuple[Known, Known]:
        """Return `known` and `seen` as if some pairs had been answered "unsure"."""
        known, seen = self.known, self.seen
        for key in pairs:
            known, seen = known.after(*key, "unsure"), seen.after(*key, "unsure")
        return known, seen


def known_from(answers: Mapping[Rows, Answer], n_samples: int) -> Known:
    """Collect what answers say."""
    return know(((*key, one.answer) for key, one in answers.items()), n_samples)


def _is_adaptive_link(one: Answer) -> bool:
    return one.adaptive and one.answer != "unsure"
