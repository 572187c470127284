"""Leave-one-out sums over pairs, for all pairs at once."""

import numpy as np

from linkselect._arrays import FloatArray, IntArray


def squared_differences(block: FloatArray, links: IntArray) -> FloatArray:
    """Return `(f_i - f_j)^2` for every link (rows) and every feature of a block (columns)."""
    difference: FloatArray = block[links[:, 0]]
    difference -= block[links[:, 1]]
    difference *= difference
    return difference


def sums_without_each(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sum of all other rows, for each row, and the sum of all rows.

    Each result adds the rows before and the rows after. Subtracting a row from the total instead
    would leave rounding errors where the exact result is 0.

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
