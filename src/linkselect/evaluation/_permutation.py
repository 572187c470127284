"""Which row could as well be which sample, if what is known had nothing to do with X."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils.validation import check_consistent_length

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError

# How often a ranking that knows nothing is called better than chance, at most; one-sided.
LEVEL = 0.025
# Equal values may differ in the last digits.
ROUNDING = 1e-9


def p_value(observed: float, null: FloatArray) -> float:
    """Return how likely a value as large as the observed one is, which counts as one of them.

    Examples
    --------
    >>> p_value(0.9, np.array([0.5, 0.6, 0.95]))
    0.5
    """
    return float((1 + np.count_nonzero(null >= observed - ROUNDING)) / (1 + len(null)))


def twice_the_mean(p_values: Sequence[float]) -> float:
    """Combine p-values that may depend on each other in any way (Vovk & Wang, 2020).

    Examples
    --------
    >>> twice_the_mean([0.01, 0.03]), twice_the_mean([0.01])
    (0.04, 0.01)
    """
    if len(p_values) == 1:
        return p_values[0]
    return min(1.0, 2 * float(np.mean(p_values)))


def log_ways(counts: IntArray) -> float:
    """Return the logarithm of the number of ways to arrange things of several kinds."""
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())


@dataclass(frozen=True)
class Arrangements:
    """Permutations of rows under which nothing would change if X knew nothing.

    Rows move inside their batch. The rows of a group move together, to the place of a group of
    the same size.

    Attributes
    ----------
    n_samples : int
        How many rows there are.
    blocks : tuple of ndarray of int of shape (n_groups, size)
        The rows of groups that may change places.
    """

    n_samples: int
    blocks: tuple[IntArray, ...]

    @classmethod
    def of(
        cls,
        n_samples: int,
        groups: Any = None,
        batches: Any = None,
        rows: IntArray | None = None,
    ) -> Arrangements:
        """Say which rows may change places; all that are named in `rows`, or all.

        Parameters
        ----------
        n_samples : int
            How many rows there are.
        groups, batches : array-like of shape (n_samples,), optional
            The group and the batch of each row.
        rows : array of int, optional
            The rows that move. Default: all.
        """
        moving = np.arange(n_samples) if rows is None else np.asarray(rows)
        group = moving if groups is None else row_codes(groups, n_samples, "groups")[moving]
        batch = np.zeros(n_samples, dtype=np.intp)
        if batches is not None:
            batch = row_codes(batches, n_samples, "batches")
        # By group, and inside it by batch, so that rows of one batch take each other's places.
        order = moving[np.lexsort((moving, batch[moving], group))]
        sorted_group = np.sort(group)
        alike: dict[Hashable, list[IntArray]] = {}
        for members in np.split(order, np.flatnonzero(np.diff(sorted_group)) + 1):
            alike.setdefault(tuple(batch[members].tolist()), []).append(members)
        return cls(n_samples, tuple(np.stack(some) for some in alike.values()))

    def among(self, rows: IntArray) -> Arrangements:
        """Move only groups that have one of these rows."""
        wanted = np.zeros(self.n_samples, dtype=bool)
        wanted[rows] = True
        kept = (block[wanted[block].any(axis=1)] for block in self.blocks)
        return Arrangements(self.n_samples, tuple(block for block in kept if len(block)))

    @property
    def rows(self) -> IntArray:
        """All rows that move, in order."""
        return np.sort(np.concatenate([block.ravel() for block in self.blocks]))

    @property
    def group(self) -> IntArray:
        """The group of each row, from 0; rows that do not move are in groups of their own."""
        found = np.arange(self.n_samples)
        for block in self.blocks:
            found[block] = block[:, :1]
        return found

    def count(self, rows: IntArray) -> float:
        """Return how many ways there are to place the groups of some rows."""
        wanted = np.zeros(self.n_samples, dtype=bool)
        wanted[rows] = True
        found = 0.0
        for block in self.blocks:
            n_all, n_named = len(block), int(wanted[block].any(axis=1).sum())
            found += gammaln(n_all + 1) - gammaln(n_all - n_named + 1)
        return float(np.exp(min(found, 700.0)))

    def draw(self, rng: np.random.RandomState) -> IntArray:
        """Return the row that takes the place of each row."""
        to = np.arange(self.n_samples)
        for block in self.blocks:
            to[block] = block[rng.permutation(len(block))]
        return to


def row_codes(values: Any, n_samples: int, name: str) -> IntArray:
    """Number the groups or batches of the rows, from 0."""
    found = np.asarray(values, dtype=object).ravel()
    check_consistent_length(found, np.empty(n_samples))
    missing = [value is None or value != value for value in found]
    if any(missing):
        raise GuidedValueError(
            f"{name} has {sum(missing)} missing values, but every row needs one.",
            "Give rows without one a value of their own.",
            name,
        )
    place: dict[Hashable, int] = {}
    return np.array([place.setdefault(value, len(place)) for value in found], dtype=np.intp)
