"""Leave-one-out sums over pairs, computed for all pairs at once."""

import numpy as np

from linkselect._arrays import FloatArray, IntArray


def squared_differences(block: FloatArray, links: IntArray) -> FloatArray:
    """Return `(f_i - f_j)^2`, with one row per link and one column per feature of a block."""
    difference: FloatArray = block[links[:, 0]]
    difference -= block[links[:, 1]]
    difference *= difference
    return difference


def sums_without_each(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each row, the sum of all other rows.

    Also return the sum of all rows.

    Each result is the sum of the preceding rows plus the sum of the following rows. If a row were
    subtracted from the total instead, rounding errors would remain where the exact result is 0.

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
