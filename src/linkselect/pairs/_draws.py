"""Random draws from numbered pairs, without listing all pairs."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from linkselect._arrays import IntArray


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator, which can draw from billions of pairs without listing them."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def draw_numbers(n_available: int, size: int, generator: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `n_available`, in ascending order."""
    # Sorted, because neighbouring pairs then share memory pages.
    return np.sort(generator.choice(n_available, size, replace=False, shuffle=False))


def numbered_pairs(number: IntArray, start: IntArray, count: IntArray) -> IntArray:
    """Return pairs by their numbers among all (i, j) with `start[i] <= j < start[i] + count[i]`.

    Examples
    --------
    >>> numbered_pairs(np.arange(3), np.array([1, 2, 3]), np.array([2, 1, 0])).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    last = np.cumsum(count)
    first = np.searchsorted(last, number, side="right")
    return np.column_stack([first, start[first] + number - (last[first] - count[first])])


def by_row(links: IntArray) -> IntArray:
    """Sort the links and the two samples of each link by row number."""
    ends = np.sort(links, axis=1)
    return ends[np.lexsort(ends.T[::-1])]
