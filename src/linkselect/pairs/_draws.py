"""Pairs that are one range of partners for each row: numbered, drawn, without listing all."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from linkselect._arrays import IntArray


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator, which draws from billions of pairs without listing them."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def draw_numbers(n_available: int, size: int, generator: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `n_available`, in ascending order."""
    # Sorted: neighbouring pairs then share memory pages.
    return np.sort(generator.choice(n_available, size, replace=False, shuffle=False))


def numbered_pairs(number: IntArray, start: IntArray, count: IntArray) -> IntArray:
    """Return some of the pairs (i, j) with `start[i] <= j < start[i] + count[i]`, by number.

    Examples
    --------
    >>> numbered_pairs(np.arange(3), np.array([1, 2, 3]), np.array([2, 1, 0])).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    last = np.cumsum(count)
    first = np.searchsorted(last, number, side="right")
    return np.column_stack([first, start[first] + number - (last[first] - count[first])])


def by_row(links: IntArray) -> IntArray:
    """Sort links and the ends of each."""
    ends = np.sort(links, axis=1)
    return ends[np.lexsort(ends.T[::-1])]
