"""Sums over all pairs but one, for every pair at once."""

import numpy as np

from linkselect._arrays import FloatArray, IntArray


def squared_differences(block: FloatArray, links: IntArray) -> FloatArray:
    """Return `(f_i - f_j)^2` of every link (rows) in every feature of a block (columns)."""
    difference: FloatArray = block[links[:, 0]]
    difference -= block[links[:, 1]]
    difference *= difference
    return difference


def sums_without_each(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add up all rows but one, for each row, and all rows.

    The sums are those of the rows before plus those of the rows behind: subtracting a row from the
    total would leave rounding where nothing else is left.

    Examples
    --------
    >>> import numpy as np
    >>> without, total = sums_without_each(np.array([[1e20], [1.0], [2.0]]))
    >>> without.ravel().tolist(), total.tolist()
    ([3.0, 1e+20, 1e+20], [1e+20])
    """
    nothing = np.zeros((1, values.shape[1]))
    before = np.cumsum(np.concatenate([nothing, values]), axis=0)
    behind = np.cumsum(np.concatenate([nothing, values[::-1]]), axis=0)
    return before[:-1] + behind[:-1][::-1], before[-1]
