"""Which samples can be among the nearest, and which of these are: shared by all searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray

# Queries, their neighbours and the squared distances.
Found = tuple[IntArray, IntArray, FloatArray]

# A tile that leaves more candidates per row than this is done again in float64.
MANY_CANDIDATES = 64
# With so many groups two of the nearest seldom share one, which would make a reach larger.
GROUPS_PER_NEIGHBOR = 16


def possible(
    tile: NDArray[Any],
    own: FloatArray,
    others: FloatArray,
    n_neighbors: int,
    reach: FloatArray | None = None,
) -> BoolArray:
    """Tell which entries of a tile can be among the nearest of their row.

    Parameters
    ----------
    tile : ndarray of shape (n_queries, n_others)
        Rough squared distances, up to a constant for each row; infinite where there is none.
        It is written to.
    own, others : ndarray of float
        A distance is wrong by at most the sum of the errors of its two ends.
    n_neighbors : int
        How many nearest.
    reach : ndarray of shape (n_queries,), optional
        What other tiles of the same queries leave possible; becomes less if this tile says so.
    """
    if tile.shape[1] <= n_neighbors:
        return np.isfinite(tile)
    errors = others.astype(tile.dtype)
    tile += errors
    # The tile now holds upper bounds, so the n-th smallest of a row bounds its n-th nearest.
    # Whatever is farther by its lower bound is out.
    own_reach = first_reach(tile, n_neighbors) + 2 * own
    reach = own_reach if reach is None else np.minimum(reach, own_reach, out=reach)
    tile -= 2 * errors
    return tile <= np.nextafter(reach.astype(tile.dtype), np.inf)[:, None]


def first_reach(tile: NDArray[Any], n_neighbors: int) -> NDArray[Any]:
    """Return a number for each row that is at least its n-th smallest entry, and hardly more.

    The smallest entries of groups of columns are found much faster than those of a row.
    """
    n_rows, n_columns = tile.shape
    n_groups = min(n_columns, GROUPS_PER_NEIGHBOR * n_neighbors)
    size = n_columns // n_groups
    grouped = tile[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    last = n_neighbors - 1
    return np.partition(grouped, last, axis=1)[:, last]


def keep_nearest(
    query: IntArray, right: IntArray, distances: FloatArray, n_neighbors: int
) -> IntArray:
    """List the nearest of each query, queries in order; equally near ones by number."""
    by_query = np.lexsort((right, distances, query))
    return by_query[place_in_run(query[by_query]) < n_neighbors]


def place_in_run(values: IntArray) -> IntArray:
    """Count within each run of equal values: 0, 1, 2, ..."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)
