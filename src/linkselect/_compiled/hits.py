"""Number of queries that a 1-NN classifier classifies correctly with each additional feature."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from linkselect._arrays import IntArray


@cache
def count_hits() -> Callable[..., IntArray] | None:
    """Return a compiled function that counts hits, or None if numba is not installed.

    A hit is a query whose nearest neighbour belongs to the same class. References are sorted by
    distance. An additional feature never decreases a distance, so the search for a neighbour stops
    at the first reference whose previous distance exceeds that of the nearest one found so far.
    """
    try:
        from numba import njit
    except ImportError:
        return None

    @njit(nogil=True)
    def hits(
        columns: Any,
        candidates: Any,
        queries: Any,
        train: Any,
        own: Any,
        theirs: Any,
        nearest: Any,
        ascending: Any,
    ) -> Any:
        counts = np.zeros(candidates.size, np.intp)
        for place in range(candidates.size):
            column = columns[candidates[place]]
            for row in range(queries.size):
                value = column[queries[row]]
                least = np.inf
                found = 0
                for position in range(train.size):
                    if ascending[row, position] > least:
                        break
                    reference = nearest[row, position]
                    difference = value - column[train[reference]]
                    distance = ascending[row, position] + difference * difference
                    if distance < least or (distance == least and reference < found):
                        least = distance
                        found = reference
                counts[place] += theirs[found] == own[row]
        return counts

    return hits
