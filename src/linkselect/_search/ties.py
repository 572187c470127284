"""Detection of ties between values with rounding errors.

The rounding error of sums of logarithms or products depends on the order of rows, the numbering of
states and the processor. Rounding to fewer decimals does not solve this problem, because it may
separate two values that differ only in the last digit. Each value therefore has guaranteed lower
and upper bounds, and two values are tied if these intervals overlap. Ties are broken in favour of
the earlier column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkselect._arrays import FloatArray, IntArray

# Unit roundoff: the largest relative error of one operation in float64.
UNIT = 2.0**-53


class Rounded(NamedTuple):
    """Values with bounds on their absolute errors."""

    value: FloatArray
    error: FloatArray

    @property
    def lower(self) -> FloatArray:
        """The lower bound of each value."""
        return self.value - self.error

    @property
    def upper(self) -> FloatArray:
        """The upper bound of each value."""
        return self.value + self.error

    def plus(self, other: Rounded) -> Rounded:
        """Return the sum of non-negative values, with its error bounds."""
        value = self.value + other.value
        return Rounded(value, self.error + other.error + UNIT * value)

    def minus(self, other: Rounded) -> Rounded:
        """Return the difference of values, with its error bounds."""
        value = self.value - other.value
        return Rounded(value, self.error + other.error + UNIT * np.abs(value))

    def over(self, count: int) -> Rounded:
        """Return the quotient of non-negative values and a count, with its error bounds."""
        value = self.value / count
        return Rounded(value, self.error / count + UNIT * value)


def tied_ranks(lower: FloatArray, upper: FloatArray) -> IntArray:
    """Return the ranks of values in descending order, starting at 0; tied values share a rank.

    Two values are tied if their intervals overlap or are connected by a chain of overlapping
    intervals. Values that are equal in exact arithmetic are therefore always tied. NaN ranks last.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_values,)
        The bounds of each value.

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
