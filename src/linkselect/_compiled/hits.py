"""Count queries whose nearest neighbour has their class, for each additional feature."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from linkselect._arrays import IntArray


@cache
def count_hits() -> Callable[..., IntArray] | None:
    """Compile the count of hits over references sorted by distance; return None without numba.

    A hit is a query whose nearest neighbour has its class. An additional feature never decreases a
    distance, so the search for a neighbour stops at the first reference that was already farther
    away than the nearest one found.
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
