"""Distances between samples in memory, and Gaussian kernel weights computed tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import Scratch, column_slices, map_threads, slices
from linkselect._samples.neighbors import Products, product_errors, product_length, row_tiles
from linkselect._samples.sources.merging import MergeTree
from linkselect.pairs._links import members_of

if TYPE_CHECKING:
    from linkselect._samples.samples import Samples
    from linkselect.graphs._graph_types import Edges, Kernel

Tile = tuple[IntArray, IntArray]

# Distances from products may change the exponent of a Gaussian by at most this much.
EXPONENT_ERROR = 1e-9
# Smaller weights are set to 0: their products with squared differences would be subnormal numbers,
# which have few digits or none.
VANISHED = 1e-290
# Beyond this squared distance, in units of sigma^2, a weight is certainly below VANISHED: it would
# be exp(-750), and VANISHED is about exp(-668).
VANISHED_BEYOND = 1500.0
# Rows are read in chunks of about this many entries, whose temporaries stay in the cache.
CHUNK_SIZE = 1 << 18
# Longer rows are compared in pieces of columns; with all rows, a piece has about this many entries.
PIECE_SIZE = 1 << 22
EDGE_CHUNK = 512
# The number of rows whose distances to all others one thread computes at a time.
ROWS_PER_TASK = 256
# A difference of sums below this fraction of them is recomputed without cancellation.
CANCELLATION = 1e-5


def gaussian(distances: FloatArray, sigma: float) -> FloatArray:
    """Return the weights `exp(-distance / (2 sigma^2))` of squared distances.

    Weights below 1e-290 are set to 0.
    """
    with np.errstate(over="ignore"):  # two divisions, since sigma^2 may underflow
        weights = np.exp(distances / sigma / (-2.0 * sigma))
    weights[weights < VANISHED] = 0.0
    return weights


def unresolved(distances: Any, bound: Any, sigma: float) -> Any:
    """Return a mask of distances whose error bound is too large and whose weight may be nonzero."""
    alive = distances - bound < VANISHED_BEYOND * sigma * sigma
    return (bound > EXPONENT_ERROR * 2.0 * sigma * sigma) & alive


# -- differences of rows ----------------------------------------------------------------------


def edge_sums(graph: Edges) -> tuple[IntArray, Callable[[FloatArray], FloatArray], bool]:
    """Prepare the computation of the sum of `w_ij (f_i - f_j)^2` over all edges.

    Returns
    -------
    rows : ndarray of int
        The rows that a block must contain. If most samples have at most one edge, these are the
        first samples of all edges, followed by the second samples.
    function : callable
        Function that takes a block of these rows and returns the sum for each column.
    is_unique : bool
        Whether each row occurs only once in `rows`.
    """
    rows, left, right = ends_among(graph.left, graph.right)
    totals, n_edges = graph.totals, len(left)
    one_end, other_end = Scratch(), Scratch()

    def work(block: FloatArray) -> FloatArray:
        total = np.zeros(block.shape[1])
        for chunk in slices(n_edges, EDGE_CHUNK):
            shape = (chunk.stop - chunk.start, block.shape[1])
            own, other = one_end.array(*shape), other_end.array(*shape)
            # With the default mode, NumPy would make an additional copy.
            difference = np.take(block, left[chunk], axis=0, out=own, mode="clip")
            difference -= np.take(block, right[chunk], axis=0, out=other, mode="clip")
            difference *= difference
            total += totals[chunk] @ difference
        return total

    def of_few(block: FloatArray) -> FloatArray:
        difference = block[:n_edges]
        difference -= block[n_edges:]
        difference *= difference
        return totals @ difference

    if n_edges <= EDGE_CHUNK and n_edges < len(rows):
        return np.concatenate([graph.left, graph.right]), of_few, False
    return rows, work, True


def ends_among(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the sorted rows that occur in pairs, and the two positions of each pair among them."""
    rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    return rows, places[: len(left)], places[len(left) :]


def pair_distances(
    X: NDArray[Any], left: IntArray, right: IntArray, n_jobs: int | None
) -> FloatArray:
    """Compute `|x_i - x_j|^2` for the given pairs of rows of an array."""
    n_samples, n_features = X.shape
    if n_features > CHUNK_SIZE and len(left):
        # Pieces depend on the shape of X alone, so a distance does not depend on the other pairs.
        size = min(max(PIECE_SIZE // n_samples, 1), CHUNK_SIZE)
        return _distances_by_pieces(X, left, right, slices(n_features, size), n_jobs)
    if abs(X.strides[0]) >= abs(X.strides[1]) or len(left) < 2:
        return distances_between(X, left, X, right, n_jobs)
    # Rows that are not contiguous, as in most frames, are copied first: most are in several pairs.
    found = np.empty(len(left))
    for part in slices(len(left), max(PIECE_SIZE // n_features, 2)):
        rows, here, there = ends_among(left[part], right[part])
        together = np.ascontiguousarray(X[rows])
        found[part] = distances_between(together, here, together, there, n_jobs)
    return found


def _distances_by_pieces(
    X: NDArray[Any], left: IntArray, right: IntArray, pieces: list[slice], n_jobs: int | None
) -> FloatArray:
    """Compute distances as sums over groups of columns, so that rows stay in the cache."""
    rows, here, there = ends_among(left, right)
    tree = MergeTree(len(pieces), partial(np.sum, axis=0))

    def compare(place: int) -> None:
        piece = X[:, pieces[place]][rows]
        tree.add(place, distances_between(piece, here, piece, there, n_jobs=1))

    map_threads(compare, range(len(pieces)), n_jobs)
    found: FloatArray = tree.top
    return found


def distances_between(
    X: NDArray[Any], left: IntArray, Y: NDArray[Any], right: IntArray, n_jobs: int | None
) -> FloatArray:
    """Compute `|x_i - y_j|^2` for the given rows of two arrays by subtraction in float64."""
    width = X.shape[1]
    here, there, apart = (Scratch(kind) for kind in (X.dtype, Y.dtype, np.float64))

    def work(chunk: slice) -> FloatArray:
        shape = (chunk.stop - chunk.start, width)
        # With the default mode, NumPy would make an additional copy.
        own = np.take(X, left[chunk], axis=0, out=here.array(*shape), mode="clip")
        other = np.take(Y, right[chunk], axis=0, out=there.array(*shape), mode="clip")
        squares = np.subtract(own, other, out=apart.array(*shape), dtype=np.float64)
        squares *= squares
        return squares.sum(axis=1)

    chunks = slices(len(left), max(CHUNK_SIZE // max(width, 1), 1))
    return np.concatenate([np.empty(0), *map_threads(work, chunks, n_jobs)])


def prepared(
    X: NDArray[Any], mean: FloatArray, scale: float, dtype: Any, n_jobs: int | None
) -> Products:
    """Centre and scale the rows of an array for fast distance computations."""
    rows = np.empty(X.shape, dtype=dtype)
    norms = np.empty(X.shape[0])
    scratch = Scratch()

    def work(chunk: slice) -> None:
        block = scratch.array(chunk.stop - chunk.start, X.shape[1])
        np.subtract(X[chunk], mean, out=block, dtype=np.float64)
        block /= scale
        rows[chunk] = block
        norms[chunk] = np.square(rows[chunk], out=block, dtype=np.float64).sum(axis=1)

    map_threads(work, _chunks(X), n_jobs)
    return Products(rows, norms, scale, product_errors(norms, product_length(X.shape[1]), dtype))


def _chunks(X: NDArray[Any]) -> list[slice]:
    return slices(X.shape[0], max(CHUNK_SIZE // max(X.shape[1], 1), 1))


def centre_of(X: NDArray[Any], n_jobs: int | None) -> tuple[FloatArray, float]:
    """Return the column means of an array, and an upper bound on absolute values after centring."""
    first = np.array(X[0], dtype=np.float64)
    everything = slice(None)
    # Each piece returns sums of its columns. For wide X, pieces of rows would return too many.
    is_wide = X.shape[0] < X.shape[1]
    if is_wide:
        pieces = [(everything, columns) for columns in column_slices(X)]
    else:
        pieces = [(rows, everything) for rows in _chunks(X)]
    scratch = Scratch()

    def work(piece: tuple[slice, slice]) -> tuple[FloatArray, float]:
        # Differences from the first sample are used, so that a large offset costs no precision.
        values = X[piece]
        deviation = scratch.array(*values.shape)
        np.subtract(values, first[piece[1]], out=deviation, dtype=np.float64)
        return deviation.sum(axis=0), float(max(deviation.max(), -deviation.min()))

    sums, largest = zip(*map_threads(work, pieces, n_jobs), strict=True)
    # Differences from the mean are at most twice the largest difference from the first sample.
    total = np.concatenate(sums) if is_wide else np.sum(sums, axis=0)
    return first + total / X.shape[0], 2.0 * max(largest)


# -- the median distance ---------------------------------------------------------------------


def median_distance(
    X: Samples, rough: NDArray[Any], errors: FloatArray, among: IntArray, n_jobs: int | None
) -> float:
    """Compute the exact median of the squared distances between the given samples.

    Approximate distances identify the pairs near the median. Only the distances of these pairs are
    computed exactly.

    Parameters
    ----------
    X : Samples
        All samples.
    rough : ndarray
        Approximate squared distances of all pairs i < j of the given samples, ordered by i.
    errors : ndarray
        Error bounds: the error of the distance between samples i and j is at most
        `errors[i] + errors[j]`.
    among : ndarray of int
        The row numbers of the given samples.
    n_jobs : int, optional
        The number of threads.
    """
    middle = np.array([(len(rough) - 1) // 2, len(rough) // 2])
    low, high = np.partition(rough, middle)[middle]
    # Errors of at most `error` shift the median, and every other distance, by at most `error`.
    error = 2 * errors.max()
    near = np.flatnonzero((rough >= low - 2 * error) & (rough <= high + 2 * error))
    n_below = np.count_nonzero(rough < low - 2 * error)
    starts, _ = _lines(len(among))
    left = np.searchsorted(starts, near, side="right") - 1
    right = near - starts[left] + left + 1
    exact = X.pair_distances(among[left], among[right], n_jobs)
    return float(np.mean(np.sort(exact)[middle - n_below]))


def _lines(n_samples: int) -> tuple[IntArray, IntArray]:
    """For each row i, return the start and number of its pairs i < j in a list of all pairs."""
    sizes = np.arange(n_samples - 1, -1, -1)
    return np.cumsum(sizes) - sizes, sizes


def rough_pairs(rows: Products, n_jobs: int | None) -> tuple[NDArray[Any], FloatArray]:
    """Compute approximate squared distances of all pairs i < j, and their error bounds."""
    starts, sizes = _lines(len(rows.norms))
    rough = np.empty(sizes.sum(), dtype=rows.rows.dtype)
    own = rows.norms.astype(rough.dtype)

    def work(part: slice) -> None:
        tile = rows.distances(part, rows.take(slice(part.start, None)))
        for row in range(part.start, part.stop):
            line = tile[row - part.start, row - part.start + 1 :]
            rough[starts[row] : starts[row] + sizes[row]] = line + own[row]

    map_threads(work, slices(len(rows.norms), ROWS_PER_TASK), n_jobs)
    return rough, rows.errors


# -- kernels with too many edges to list -----------------------------------------------------


def kernel_degrees(X: Samples, graph: Kernel, n_jobs: int | None) -> FloatArray:
    """Compute the degree of each sample in a kernel graph, excluding the diagonal."""
    degrees = np.zeros(len(graph.codes))

    def work(tile: Tile) -> None:
        degrees[tile[0]] = X.fetched(X.xp.sum(X.kernel_weights(graph, *tile), axis=1))

    X.map(work, X.kernel_tiles(graph.codes), n_jobs)
    return degrees


def kernel_tiles(codes: IntArray) -> Iterator[Tile]:
    """Yield the row and column numbers of each tile of a kernel's weight matrix."""
    for members in members_of(codes):
        for part in row_tiles(len(members), len(members)):
            yield members[part], members


def kernel_weights(graph: Kernel, rows: IntArray, columns: IntArray) -> FloatArray:
    """Compute the kernel weights between rows and columns.

    The columns must be sorted and include the rows.

    The diagonal is set to 0, because its ones contribute to the degrees of a kernel but cancel in
    `f'Lf`.
    """
    tile = gaussian(_kernel_distances(graph, rows, columns), graph.sigma)
    tile[np.arange(len(rows)), np.searchsorted(columns, rows)] = 0.0
    if graph.without is not None:
        left_out = graph.without[rows][:, columns].tocoo()
        tile[left_out.coords] = 0.0
    return tile


def _kernel_distances(graph: Kernel, rows: IntArray, columns: IntArray) -> FloatArray:
    prepared, scale = graph.rows, np.square(graph.rows.scale)
    pool = prepared if len(columns) == len(prepared.norms) else prepared.take(columns)
    tile = prepared.distances(rows, pool)
    tile += prepared.norms[rows, None]
    tile *= scale
    # Distances that products do not resolve are computed by differences, unless the weight is 0.
    own, other = prepared.errors[rows] * scale, pool.errors * scale
    if own.max() + other.max() > EXPONENT_ERROR * 2.0 * graph.sigma * graph.sigma:
        row, column = np.nonzero(unresolved(tile, own[:, None] + other, graph.sigma))
        tile[row, column] = graph.points.pair_distances(rows[row], columns[column], 1)
    return np.maximum(tile, 0.0, out=tile)


def kernel_form(X: Samples, graph: Kernel, n_jobs: int | None) -> FloatArray:
    """Compute `f'Lf` for each feature f as `f'Df - f'Wf` from centred columns, tile by tile."""
    xp, columns = X.xp, X.column_slices(X.shape[0])

    def work(tile: Tile) -> FloatArray:
        weights = X.kernel_weights(graph, *tile)
        row_sums = xp.sum(weights, axis=1)
        place = X.placed(np.searchsorted(tile[1], tile[0]))
        parts = []
        for some in columns:
            centred = X.centred_block(some, tile[1])
            own = xp.take(centred, place, axis=0)
            squares = row_sums @ (own * own)
            change = xp.sum(own * (weights @ centred), axis=0)
            parts.append(X.fetched(xp.stack([squares, squares - change])))
        return np.concatenate(parts, axis=1)

    tiles = list(X.kernel_tiles(graph.codes))
    squares, form = np.sum(X.map(work, tiles, n_jobs), axis=0)
    unsure = np.flatnonzero(form <= CANCELLATION * squares)
    unsure = unsure[squares[unsure] > 0]
    form[squares == 0] = 0.0
    form[unsure] = _form_by_differences(X, graph, tiles, unsure, n_jobs)
    return form


def _form_by_differences(
    X: Samples, graph: Kernel, tiles: list[Tile], features: IntArray, n_jobs: int | None
) -> FloatArray:
    def work(tile: Tile) -> FloatArray:
        weights = X.kernel_weights(graph, *tile)
        rows, members = map(X.placed, tile)
        total = np.empty(len(features))
        for position, feature in enumerate(features):
            one = slice(int(feature), int(feature) + 1)
            column = X.float_block(one, slice(None), True, None)[:, 0]
            difference = X.xp.take(column, rows)[:, None] - X.xp.take(column, members)[None, :]
            difference *= difference
            difference *= weights
            total[position] = float(X.xp.sum(difference)) / 2.0  # every edge is in two tiles
        return total

    return np.sum(X.map(work, tiles, n_jobs), axis=0) if len(features) else np.empty(0)
