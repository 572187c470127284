"""What a person answered about two samples, and what an answer may contradict."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from linkselect._messages import GuidedValueError
from linkselect.pairs import Pairs
from linkselect.pairs._conflicts import Conflict, Pair

Said = Literal["alike", "different", "unsure"]
ANSWERS: tuple[Said, ...] = get_args(Said)


@dataclass(frozen=True)
class Answer:
    """What was said about a pair of samples.

    Attributes
    ----------
    pair : tuple of two ids
        The samples, in the order in which they were asked.
    answer : {"alike", "different", "unsure"}
        What was said.
    adaptive : bool
        Whether the pair was chosen by looking at the samples, so that it cannot validate a ranking;
        not if it was drawn at random.
    """

    pair: Pair
    answer: Said
    adaptive: bool = True


@dataclass(frozen=True)
class Contradiction:
    """An answer that earlier ones do not allow, and which of them.

    Attributes
    ----------
    pair : tuple of two ids
        The pair that was answered.
    answer : {"alike", "different"}
        The answer, which was not recorded.
    conflict : Conflict
        The cannot-link and the chain of must-links between its ends, one of which is this answer.
    earlier : tuple of Answer
        The earlier answers of the chain. Changing any of them resolves this contradiction.

    Examples
    --------
    >>> from linkselect.asking import PairQueries
    >>> queries = PairQueries([[0.0], [1.0], [5.0]])
    >>> queries.answer((0, 1), "alike")
    >>> queries.answer((1, 2), "alike")
    >>> print(queries.answer((0, 2), "different"))
    0 and 2 cannot be different: 0 = 1 = 2.
    """

    pair: Pair
    answer: Said
    conflict: Conflict
    earlier: tuple[Answer, ...]

    def __str__(self) -> str:
        a, b = self.pair
        chain = " = ".join(str(sample) for sample in self.conflict.chain)
        if self.answer == "different":
            return f"{a} and {b} cannot be different: {chain}."
        apart = " and ".join(str(sample) for sample in self.conflict.cannot)
        return f"{a} and {b} cannot be alike: {apart} are different, but then {chain}."


def check_answer(answer: Any) -> Said:
    """Return the answer if it is one."""
    if not isinstance(answer, str) or answer not in ANSWERS:
        raise GuidedValueError(
            f"answer={answer!r}, but an answer is 'alike', 'different' or 'unsure'.",
            "Pass one of them.",
            "answer",
        )
    return answer


def find_contradiction(new: Answer, others: list[Answer]) -> Contradiction:
    """Find the shortest chain of earlier answers that does not allow a new one."""
    all_answers = [*others, new]
    must = [one.pair for one in all_answers if one.answer == "alike"]
    cannot = [one.pair for one in all_answers if one.answer == "different"]
    conflict = min(Pairs(must, cannot).conflicts(), key=lambda one: len(one.chain))
    steps = {frozenset(step) for step in pairwise(conflict.chain)} | {frozenset(conflict.cannot)}
    earlier = tuple(
        one for one in others if one.answer != "unsure" and frozenset(one.pair) in steps
    )
    return Contradiction(new.pair, new.answer, conflict, earlier)
