"""What answers say about rows: groups of alike samples, and which groups are known to differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from linkselect._arrays import BoolArray, IntArray
from linkselect.asking._answers import Answer, Contradiction, Said, find_contradiction
from linkselect.pairs._links import must_components

Rows = tuple[int, int]
SaidAbout = tuple[int, int, Said]


@dataclass(frozen=True)
class Known:
    """Hold what follows from answers, without listing all pairs that follow.

    Attributes
    ----------
    must, cannot : ndarray of shape (n_pairs, 2)
        The rows of the pairs that were answered "alike" and "different".
    linked : ndarray of int
        The rows that these pairs name, sorted.
    group : ndarray of shape (n_samples,)
        The group of each row that is linked, from 0; -1 for the others.
    apart : ndarray of shape (n_apart, 2)
        The pairs of groups that are known to differ, each once.
    unsure : frozenset of 2-tuples
        The pairs that were answered "unsure", smaller row first.
    named : ndarray of bool of shape (n_samples,)
        Whether any answer names the row, an unsure one included.
    """

    must: IntArray
    cannot: IntArray
    linked: IntArray
    group: IntArray
    apart: IntArray
    unsure: frozenset[Rows]
    named: BoolArray
    _apart: frozenset[Rows] = field(repr=False)

    @property
    def n_groups(self) -> int:
        """The number of groups of linked samples."""
        return int(self.group.max(initial=-1)) + 1

    def decided(self, a: int, b: int) -> bool:
        """Tell whether two rows need not be asked about: that follows, or was unsure."""
        return _sorted(a, b) in self.unsure or self.follows(a, b) is not None

    def follows(self, a: int, b: int) -> Said | None:
        """Return what is known about two rows, if anything is."""
        of_a, of_b = int(self.group[a]), int(self.group[b])
        if of_a < 0 or of_b < 0:
            return None
        if of_a == of_b:
            return "alike"
        return "different" if _sorted(of_a, of_b) in self._apart else None

    def open_rows(self, row: int, among: IntArray) -> IntArray:
        """Return those of some rows about which nothing is known together with `row`."""
        undecided = among[among != row]
        own = int(self.group[row])
        if own >= 0:
            closed = np.zeros(self.n_groups + 1, dtype=bool)  # the last is that of no group
            closed[own] = True
            closed[self.apart[:, 1][self.apart[:, 0] == own]] = True
            closed[self.apart[:, 0][self.apart[:, 1] == own]] = True
            undecided = undecided[~closed[self.group[undecided]]]
        unsure = self.unsure_about(row)
        return undecided[~np.isin(undecided, unsure)] if unsure else undecided

    def unsure_about(self, row: int) -> list[int]:
        """Return the rows that were asked together with `row`, without a clear answer."""
        return [b if a == row else a for a, b in self.unsure if row in (a, b)]


def know(said: Iterable[SaidAbout], n_samples: int) -> Known:
    """Collect what answers about rows say; they must not contradict each other."""
    links: dict[Said, list[Rows]] = {"alike": [], "different": [], "unsure": []}
    for a, b, answer in said:
        links[answer].append((a, b))
    must, cannot, unsure = (
        np.array(links[kind], dtype=np.intp).reshape(-1, 2)
        for kind in ("alike", "different", "unsure")
    )
    linked = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
    group = np.full(n_samples, -1, dtype=np.intp)
    group[linked] = must_components(np.searchsorted(linked, must), len(linked))
    apart = np.unique(np.sort(group[cannot], axis=1), axis=0)
    named = np.zeros(n_samples, dtype=bool)
    named[linked] = True
    named[unsure.ravel()] = True
    return Known(
        must,
        cannot,
        linked,
        group,
        apart,
        frozenset(_sorted(a, b) for a, b in links["unsure"]),
        named,
        frozenset((a, b) for a, b in apart.tolist()),
    )


def speaks_against(
    new: Answer, key: Rows, known: Known, others: dict[Rows, Answer]
) -> Contradiction | None:
    """Return what an answer contradicts among others, which say what is known."""
    if new.answer == "unsure" or known.follows(*key) in (None, new.answer):
        return None
    return find_contradiction(new, list(others.values()))


def _sorted(a: int, b: int) -> Rows:
    return (a, b) if a < b else (b, a)
