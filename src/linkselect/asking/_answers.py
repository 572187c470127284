"""Answers about pairs of samples, the pairs that the answers imply, and contradictory answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from linkselect._arrays import BoolArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect.pairs import Pairs
from linkselect.pairs._conflicts import Conflict, Pair
from linkselect.pairs._links import must_components

Said = Literal["alike", "different", "unsure"]
ANSWERS: tuple[Said, ...] = get_args(Said)
Rows = tuple[int, int]
SaidAbout = tuple[int, int, Said]


@dataclass(frozen=True)
class Answer:
    """An answer about a pair of samples.

    Attributes
    ----------
    pair : tuple of two IDs
        The samples, in the order in which they were shown.
    answer : {"alike", "different", "unsure"}
        The answer.
    adaptive : bool
        Whether the pair was chosen by looking at the samples. Only pairs that were drawn at random
        can be used to validate a ranking.
    """

    pair: Pair
    answer: Said
    adaptive: bool = True


@dataclass(frozen=True)
class Contradiction:
    """An answer that contradicts earlier answers, together with these earlier answers.

    Attributes
    ----------
    pair : tuple of two IDs
        The samples of the pair.
    answer : {"alike", "different"}
        The answer, which was not recorded.
    conflict : Conflict
        A cannot-link and the chain of must-links that connects its samples. The new answer is one
        of these links.
    earlier : tuple of Answer
        The earlier answers among the links of the conflict. Changing any one of them resolves the
        contradiction.

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
    """Return the answer if it is valid; otherwise raise an error."""
    if not isinstance(answer, str) or answer not in ANSWERS:
        raise GuidedValueError(
            f"answer={answer!r}, but it must be 'alike', 'different' or 'unsure'.",
            "Pass one of these three answers.",
            "answer",
        )
    return answer


@dataclass(frozen=True)
class Known:
    """Conclusions from answers, stored without listing all implied pairs.

    Attributes
    ----------
    must, cannot : ndarray of shape (n_pairs, 2)
        The rows of the pairs answered "alike" and "different".
    linked : ndarray of int
        The rows that occur in these pairs, in ascending order.
    group : ndarray of shape (n_samples,)
        The group of alike samples to which each row in `linked` belongs, from 0; -1 for other rows.
    apart : ndarray of shape (n_apart, 2)
        The pairs of groups that are known to differ, each listed once.
    unsure : frozenset of 2-tuples
        The pairs answered "unsure", smaller row first.
    named : ndarray of bool of shape (n_samples,)
        Whether each row occurs in an answer, including "unsure".
    """

    must: IntArray
    cannot: IntArray
    linked: IntArray
    group: IntArray
    apart: IntArray
    unsure: frozenset[Rows]
    named: BoolArray

    def decided(self, a: int, b: int) -> bool:
        """Return whether a question is unnecessary, because the answer is implied or "unsure"."""
        return in_order(a, b) in self.unsure or self.follows(a, b) is not None

    def follows(self, a: int, b: int) -> Said | None:
        """Return the answer that is implied for two rows, or None if no answer is implied."""
        of_a, of_b = int(self.group[a]), int(self.group[b])
        if of_a < 0 or of_b < 0:
            return None
        if of_a == of_b:
            return "alike"
        one, other = in_order(of_a, of_b)
        first, last = np.searchsorted(self.apart[:, 0], (one, one + 1))
        return "different" if other in self.apart[first:last, 1] else None

    def open_rows(self, row: int, among: IntArray) -> IntArray:
        """Return the rows in `among` whose relation to `row` is unknown."""
        undecided = among[among != row]
        own = int(self.group[row])
        if own >= 0:
            n_groups = int(self.group.max()) + 1
            closed = np.zeros(n_groups + 1, dtype=bool)  # the last entry: rows without a group
            closed[own] = True
            closed[self.apart[:, 1][self.apart[:, 0] == own]] = True
            closed[self.apart[:, 0][self.apart[:, 1] == own]] = True
            undecided = undecided[~closed[self.group[undecided]]]
        unsure = [b if a == row else a for a, b in self.unsure if row in (a, b)]
        return undecided[~np.isin(undecided, unsure)] if unsure else undecided

    def after(self, a: int, b: int, said: Said) -> "Known":
        """Return the conclusions after one more answer, which must not contradict the others.

        The run time does not depend on the number of answers, except for copying arrays.
        """
        named = self.named.copy()
        named[[a, b]] = True
        if said == "unsure":
            return replace(self, named=named, unsure=self.unsure | {in_order(a, b)})
        known = self._linking(a)._linking(b)
        one, other = in_order(int(known.group[a]), int(known.group[b]))
        link = np.array([[a, b]], dtype=np.intp)
        if said == "different":
            apart = _each_once(np.concatenate([known.apart, [[one, other]]]))
            cannot = np.concatenate([self.cannot, link])
            return replace(known, named=named, cannot=cannot, apart=apart)
        if one != other:
            known = known._renumbered(
                lambda groups: np.where(groups == other, one, groups - (groups > other))
            )
        return replace(known, named=named, must=np.concatenate([self.must, link]))

    def _linking(self, row: int) -> "Known":
        """Assign a row without a group to a new group; groups are numbered by their first rows."""
        if self.group[row] >= 0:
            return self
        number = int(self.group[:row].max(initial=-1)) + 1
        known = self._renumbered(lambda groups: groups + (groups >= number))
        known.group[row] = number
        linked = np.insert(self.linked, np.searchsorted(self.linked, row), row)
        return replace(known, linked=linked)

    def _renumbered(self, change: Callable[[IntArray], IntArray]) -> "Known":
        return replace(self, group=change(self.group), apart=_each_once(change(self.apart)))


def know(said: Iterable[SaidAbout], n_samples: int) -> Known:
    """Draw conclusions from answers about rows; the answers must not contradict each other."""
    links: dict[Said, list[Rows]] = {kind: [] for kind in ANSWERS}
    for a, b, answer in said:
        links[answer].append((a, b))
    must, cannot, unsure = (np.array(links[kind], dtype=np.intp).reshape(-1, 2) for kind in ANSWERS)
    linked = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
    group = np.full(n_samples, -1, dtype=np.intp)
    group[linked] = must_components(np.searchsorted(linked, must), len(linked))
    apart = _each_once(group[cannot])
    named = np.zeros(n_samples, dtype=bool)
    named[linked] = True
    named[unsure.ravel()] = True
    return Known(
        must,
        cannot,
        linked,
        group,
        apart,
        frozenset(in_order(a, b) for a, b in links["unsure"]),
        named,
    )


def _each_once(pairs: IntArray) -> IntArray:
    """Sort the two groups in each pair and then all pairs, and remove duplicates."""
    low, high = np.sort(pairs, axis=1).T
    size = int(pairs.max(initial=0)) + 1
    return np.stack(np.divmod(np.unique(low * size + high), size), axis=1)


def contradiction_of(
    new: Answer, rows: Rows, known: Known, others: Iterable[Answer]
) -> Contradiction | None:
    """Find the shortest chain of other answers that contradicts a new answer, if there is one.

    Parameters
    ----------
    new : Answer
        The new answer.
    rows : tuple of two int
        The rows of the pair in the new answer.
    known : Known
        The conclusions from the other answers.
    others : iterable of Answer
        The other answers.

    Returns
    -------
    Contradiction or None
    """
    if new.answer == "unsure" or known.follows(*rows) in (None, new.answer):
        return None
    others = [one for one in others if one.answer != "unsure"]
    links: dict[str, list[Pair]] = {"alike": [], "different": []}
    for one in (*others, new):
        links[one.answer].append(one.pair)
    conflicts = Pairs(links["alike"], links["different"]).conflicts()
    conflict = min(conflicts, key=lambda one: len(one.chain))
    steps = {frozenset(step) for step in pairwise(conflict.chain)} | {frozenset(conflict.cannot)}
    earlier = tuple(one for one in others if frozenset(one.pair) in steps)
    return Contradiction(new.pair, new.answer, conflict, earlier)


def in_order(a: int, b: int) -> Rows:
    """Return two numbers, the smaller first."""
    return (a, b) if a < b else (b, a)
