"""The one rule by which searches tell a tie from a difference.

Sums of logarithms or products are known up to rounding, and rounding depends on the order of rows,
on how states are numbered and on the processor. Comparing decimals does not help: two values that
are equal but for the last digit may lie on both sides of where decimals are cut. So every value
comes with two ends between which it lies for certain, and values tie if these overlap. Ties go to
the earlier column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray

# The most by which one operation in float64 is off, relative to its result.
UNIT = 2.0**-53


class Rounded(NamedTuple):
    """Values, and by how much each of them may be off."""

    value: FloatArray
    error: FloatArray

    @property
    def lower(self) -> FloatArray:
        """The least that each value may be."""
        return self.value - self.error

    @property
    def upper(self) -> FloatArray:
        """The most that each value may be."""
        return self.value + self.error

    def plus(self, other: Rounded) -> Rounded:
        """Add what is not negative."""
        value = self.value + other.value
        return Rounded(value, self.error + other.error + UNIT * value)

    def minus(self, other: Rounded) -> Rounded:
        """Subtract."""
        value = self.value - other.value
        return Rounded(value, self.error + other.error + UNIT * np.abs(value))

    def over(self, count: int) -> Rounded:
        """Divide what is not negative."""
        value = self.value / count
        return Rounded(value, self.error / count + UNIT * value)


def tied_ranks(lower: FloatArray, upper: FloatArray) -> IntArray:
    """Number values from the largest, 0, on; those that tie have the same number.

    Two values tie if what they may be overlaps, or if others join them. So values that are equal in
    exact arithmetic always tie. NaN comes last.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_values,)
        The ends between which each value lies.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.5, 0.1 + 0.2, 0.3, np.nan])
    >>> tied_ranks(values - 1e-15, values + 1e-15)
    array([0, 1, 1, 2])
    """
    lower, upper = (np.where(np.isnan(ends), -np.inf, ends) for ends in (lower, upper))
    from_top = np.argsort(-upper)
    reached = np.minimum.accumulate(lower[from_top])
    ranks = np.zeros(len(upper), dtype=np.intp)
    ranks[from_top[1:]] = np.cumsum(upper[from_top[1:]] < reached[:-1])
    return ranks
