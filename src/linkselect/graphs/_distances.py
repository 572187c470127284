"""Squared Euclidean distances: fast by matrix products, decided by direct differences.

A product finds `|x|^2 - 2 x'y + |y|^2` quickly but loses digits when samples are far from the
origin compared with their distance. So columns are centred first, every product comes with a
bound on its error, and whatever that bound leaves open is settled by `sum((x - y)^2)` in float64.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._blocks import Scratch, column_slices, map_threads, slices
from linkselect._samples.devices import device_of, to_numpy
from linkselect._samples.sources import Part, Stored
from linkselect._samples.sources.merging import MergeTree
from linkselect._samples.sources.running import reduce_parts
from linkselect.graphs import _device_distances as device_distances
from linkselect.graphs._candidates import Found, keep_nearest
from linkselect.graphs._graph_types import edge_numbers
from linkselect.graphs._products import Products, product_errors, product_length

# Entries of a tile of distances between some rows and all others: 32 MB in float32.
TILE_SIZE = 1 << 23
# Rows are read in chunks of about this many entries, whose temporaries stay in the cache.
CHUNK_SIZE = 1 << 18
# Longer rows are compared piece by piece; a piece of all rows has about this many entries.
PIECE_SIZE = 1 << 22


def pair_distances(
    X: Matrix,
    left: IntArray,
    right: IntArray,
    n_jobs: int | None = None,
    *,
    others: Matrix | None = None,
) -> FloatArray:
    """Compute `|x_i - x_j|^2` for listed pairs of rows, by direct differences in float64.

    The right ends are rows of X, or of `others`, which must be dense as X.
    """
    if isinstance(X, Stored):
        return _stored_pair_distances(X, left, right, n_jobs)
    if (device := device_of(X)) is not None:
        ends = device.put(left), device.put(right)
        return to_numpy(device_distances.pair_distances(device, X, *ends))
    if issparse(X):
        X = X.tocsr()
        per_row = max(int(X.nnz // max(X.shape[0], 1)), 1)
    elif X.shape[1] > CHUNK_SIZE and others is None and len(left):
        return _long_pair_distances(X, left, right, n_jobs)
    elif abs(X.strides[0]) < abs(X.strides[1]) and others is None and len(left) > 1:
        return _pair_distances_by_columns(X, left, right, n_jobs)
    else:
        per_row = max(X.shape[1], 1)
    size = max(CHUNK_SIZE // per_row, 1)
    shape = (0, 0) if issparse(X) else (min(size, len(left)), X.shape[1])
    Y = X if others is None else others
    here, there, apart = (_Scratch(shape, kind) for kind in (X.dtype, Y.dtype, np.float64))

    def work(chunk: slice) -> FloatArray:
        if issparse(X):
            difference = X[left[chunk]].astype(np.float64) - X[right[chunk]].astype(np.float64)
            return np.asarray(difference.power(2).sum(axis=1)).ravel()
        n_pairs = chunk.stop - chunk.start
        # Without a mode, NumPy would go through one more copy.
        own = np.take(X, left[chunk], axis=0, out=here.array[:n_pairs], mode="clip")
        other = np.take(Y, right[chunk], axis=0, out=there.array[:n_pairs], mode="clip")
        squares = np.subtract(own, other, out=apart.array[:n_pairs], dtype=np.float64)
        squares *= squares
        return squares.sum(axis=1)

    return np.concatenate([np.empty(0), *map_threads(work, slices(len(left), size), n_jobs)])


def _long_pair_distances(
    X: Matrix, left: IntArray, right: IntArray, n_jobs: int | None
) -> FloatArray:
    """Add up distances over pieces of the columns, so that rows of several pairs stay cached."""
    rows, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    here, there = np.split(ends, 2)
    # Cut by the size of X alone: a distance has the same bits whatever is asked for beside it.
    pieces = slices(X.shape[1], min(max(PIECE_SIZE // X.shape[0], 1), CHUNK_SIZE))
    tree = MergeTree(len(pieces), partial(np.sum, axis=0))

    def compare(place: int) -> None:
        tree.add(place, pair_distances(X[:, pieces[place]][rows], here, there, n_jobs=1))

    map_threads(compare, range(len(pieces)), n_jobs)
    found: FloatArray = tree.top
    return found


def _pair_distances_by_columns(
    X: Matrix, left: IntArray, right: IntArray, n_jobs: int | None
) -> FloatArray:
    """Put rows together first that lie scattered, as in most frames: most serve several pairs."""
    found = np.empty(len(left))
    for part in slices(len(left), max(PIECE_SIZE // X.shape[1], 2)):
        rows, ends = np.unique(np.concatenate([left[part], right[part]]), return_inverse=True)
        here, there = np.split(ends, 2)
        found[part] = pair_distances(np.ascontiguousarray(X[rows]), here, there, n_jobs)
    return found


def _stored_pair_distances(
    X: Stored, left: IntArray, right: IntArray, n_jobs: int | None
) -> FloatArray:
    if X.by_columns:
        work = partial(_pair_distances_of_part, left=left, right=right)
        found: FloatArray = reduce_parts(
            X, work, partial(np.sum, axis=0), n_jobs=n_jobs, what="compare neighbours"
        )
        return found
    rows, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    places = np.split(ends, 2)
    return pair_distances(X.take(rows), places[0], places[1], n_jobs)


def _pair_distances_of_part(part: Part, *, left: IntArray, right: IntArray) -> FloatArray:
    ((_, values),) = part.slabs()
    return pair_distances(values, left, right, n_jobs=1)


def closest(
    X: Matrix, left: IntArray, right: IntArray, n_neighbors: int, n_jobs: int | None
) -> Found:
    """Keep the nearest of each query's candidates; `left` comes in runs of one query."""
    # Two samples that are candidates of each other need one distance.
    numbers, place = np.unique(edge_numbers(left, right, X.shape[0]), return_inverse=True)
    distances = pair_distances(X, *np.divmod(numbers, X.shape[0]), n_jobs)[place]
    query = np.cumsum(np.diff(left, prepend=left[:1]) != 0)
    kept = keep_nearest(query, right, distances, n_neighbors)
    return left[kept], right[kept], distances[kept]


class _Scratch(threading.local):
    """Memory that a thread uses for one chunk after another.

    Fresh memory for each of them costs several times as much as the arithmetic in it.
    """

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self.array = np.empty(shape, dtype)


def products(X: Matrix, dtype: Any = np.float32, *, n_jobs: int | None) -> Products:
    """Prepare the rows of X for fast distances in the given precision."""
    if (here := device_of(X)) is not None:
        return device_distances.products(here, X, getattr(here.xp, np.dtype(dtype).name))
    if issparse(X):
        # Centring would fill a sparse matrix, so it keeps full precision instead.
        rows = X.tocsr().astype(np.float64)
        norms = np.asarray(rows.power(2).sum(axis=1)).ravel()
        longest = int(np.diff(rows.indptr).max(initial=1))
        return Products(rows, norms, 1.0, product_errors(norms, longest, np.float64))
    mean, largest = _centre(X, n_jobs)
    return prepared(X, mean, largest or 1.0, dtype, n_jobs)


def prepared(X: Matrix, mean: FloatArray, scale: float, dtype: Any, n_jobs: int | None) -> Products:
    """Prepare the rows of a dense X for distances, given the centre and a bound of the rest."""
    chunks = _chunks(X)
    rows = np.empty(X.shape, dtype=dtype)
    norms = np.empty(X.shape[0])
    scratch = _Scratch((len(X[chunks[0]]), X.shape[1]), np.float64)

    def work(chunk: slice) -> None:
        block = scratch.array[: chunk.stop - chunk.start]
        np.subtract(X[chunk], mean, out=block, dtype=np.float64)
        block /= scale
        rows[chunk] = block
        norms[chunk] = np.square(rows[chunk], out=block, dtype=np.float64).sum(axis=1)

    map_threads(work, chunks, n_jobs)
    return Products(rows, norms, scale, product_errors(norms, product_length(X.shape[1]), dtype))


def _chunks(X: Matrix) -> list[slice]:
    return slices(X.shape[0], max(CHUNK_SIZE // max(X.shape[1], 1), 1))


def _centre(X: Matrix, n_jobs: int | None) -> tuple[FloatArray, float]:
    """Find the column means of a dense X, and a bound of what is left without them."""
    first = np.array(X[0], dtype=np.float64)
    # Every piece leaves sums of its columns: of wide data pieces of rows would leave as much as X.
    is_wide = X.shape[0] < X.shape[1]
    pieces = [(slice(None), some) for some in column_slices(X)] if is_wide else _row_pieces(X)
    scratch = Scratch()

    def work(piece: tuple[slice, slice]) -> tuple[FloatArray, float]:
        # Counted from the first sample, so that an offset of any size costs no digits.
        values = X[piece]
        deviation = scratch.array(*values.shape)
        np.subtract(values, first[piece[1]], out=deviation, dtype=np.float64)
        return deviation.sum(axis=0), float(max(deviation.max(), -deviation.min()))

    sums, largest = zip(*map_threads(work, pieces, n_jobs), strict=True)
    # No sample is farther from the mean than twice what some sample is from the first one.
    total = np.concatenate(sums) if is_wide else np.sum(sums, axis=0)
    return first + total / X.shape[0], 2.0 * max(largest)


def _row_pieces(X: Matrix) -> list[tuple[slice, slice]]:
    return [(rows, slice(None)) for rows in _chunks(X)]


def row_tiles(n_rows: int, n_columns: int, least: int = 1) -> Iterator[slice]:
    """Cut rows so that a tile of them against all columns has about TILE_SIZE entries.

    However many columns there are, a tile has `least` rows.
    """
    yield from slices(n_rows, max(TILE_SIZE // max(n_columns, 1), least))
