"""Gaussian weights: their width, their edges, and the complete graph in tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._blocks import map_threads, slices
from linkselect._messages import GuidedValueError
from linkselect._samples.devices import device_of
from linkselect._samples.one_pass import Surveyed
from linkselect._samples.sources import Stored
from linkselect._samples.sources.rows import take_rows
from linkselect.graphs import _device_distances as device_distances
from linkselect.graphs import _device_kernels as device_kernels
from linkselect.graphs import _wide_distances as wide_distances
from linkselect.graphs._distances import pair_distances, products, row_tiles
from linkselect.graphs._graph_types import EXPONENT_ERROR, VANISHED, VANISHED_BEYOND, Edges, Kernel
from linkselect.graphs._neighbors import nearest
from linkselect.pairs._links import links_within, members_of

# The median distance is taken over all pairs of at most this many rows.
SIGMA_ROWS = 2000
# Rows whose distances to all others one thread computes at a time.
ROWS_PER_TASK = 256
# A graph with no larger weight is refused: its sums come near that limit.
FAINT = 1e-100


def gaussian(distances: FloatArray, sigma: float) -> FloatArray:
    """Weigh squared distances by `exp(-distance / (2 sigma^2))`, below 1e-290 by 0."""
    with np.errstate(over="ignore"):  # divided twice, since the square of sigma may be 0
        weights = np.exp(distances / sigma / (-2.0 * sigma))
    weights[weights < VANISHED] = 0.0
    return weights


def resolve_sigma(sigma: float | Literal["auto"], X: Matrix, n_jobs: int | None = None) -> float:
    """Return the width as a number, found in the data for "auto"."""
    return auto_sigma(X, n_jobs) if sigma == "auto" else float(sigma)


def auto_sigma(X: Matrix, n_jobs: int | None = None) -> float:
    """Choose sigma so that `2 sigma^2` is the median squared distance between samples.

    Above 2,000 samples the median runs over 2,000 of them, drawn with a fixed seed. Where
    more than half of the distances are 0, it is the median of the others.
    """
    chosen = np.arange(X.shape[0])
    if X.shape[0] > SIGMA_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(X.shape[0], SIGMA_ROWS, replace=False))
    by_columns = isinstance(X, Stored) and X.by_columns
    if not by_columns and (isinstance(X, Stored) or len(chosen) < X.shape[0]):
        X, chosen = take_rows(X, chosen), np.arange(len(chosen))
    median = _median_distance(X, chosen, n_jobs)
    if median == 0.0:
        left, right = (chosen[ends] for ends in np.triu_indices(len(chosen), k=1))
        distances = pair_distances(X, left, right, n_jobs)
        positive = distances[distances > 0]
        median = float(np.median(positive)) if positive.size else 1.0
    return float(np.sqrt(median / 2.0))


def _median_distance(X: Matrix, chosen: IntArray, n_jobs: int | None) -> float:
    """Find the median squared distance between the chosen samples, to the last digit.

    Products in float32 tell which distances are near the median; only these are computed.
    """
    if (here := device_of(X)) is not None:
        return device_distances.median_distance(here, X)
    # All pairs i < j in one line: those of row i start at starts[i].
    sizes = np.arange(len(chosen) - 1, -1, -1)
    starts = np.cumsum(sizes) - sizes
    if wide_distances.is_wide(X):
        tile, errors = wide_distances.rough_distances(X, n_jobs)
        rough = tile[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), k=1)]
    else:
        rough, errors = _rough_distances(X, starts, sizes, n_jobs)
    middle = np.array([(len(rough) - 1) // 2, len(rough) // 2])
    low, high = np.partition(rough, middle)[middle]
    # Errors of at most `error` move the middle by at most `error`, and the others as much.
    error = 2 * errors.max()
    near = np.flatnonzero((rough >= low - 2 * error) & (rough <= high + 2 * error))
    n_below = np.count_nonzero(rough < low - 2 * error)
    left = np.searchsorted(starts, near, side="right") - 1
    right = near - starts[left] + left + 1
    exact = pair_distances(X, chosen[left], chosen[right], n_jobs)
    return float(np.mean(np.sort(exact)[middle - n_below]))


def _rough_distances(
    X: Matrix, starts: IntArray, sizes: IntArray, n_jobs: int | None
) -> tuple[NDArray[Any], FloatArray]:
    """Compute distances in float32, those of row i from `starts[i]` on, and their errors."""
    rows = products(X, n_jobs=n_jobs)
    rough = np.empty(sizes.sum(), dtype=rows.rows.dtype)
    own = rows.norms.astype(rough.dtype)

    def work(part: slice) -> None:
        tile = rows.distances(part, rows.take(slice(part.start, None)))
        for row in range(part.start, part.stop):
            line = tile[row - part.start, row - part.start + 1 :]
            rough[starts[row] : starts[row] + sizes[row]] = line + own[row]

    map_threads(work, slices(X.shape[0], ROWS_PER_TASK), n_jobs)
    return rough, rows.errors


def gaussian_edges(near: Edges, sigma: float) -> Edges:
    """Turn edges weighted by squared distance into edges weighted by a Gaussian."""
    weighted = near.reweigh(gaussian(near.weights, sigma))
    if weighted.weights.max(initial=0.0) < FAINT:
        raise underflow_error(near.weights.min(initial=np.inf), sigma)
    return weighted


def underflow_error(smallest: float, sigma: float) -> GuidedValueError:
    """Say that a graph has lost all its weights."""
    return GuidedValueError(
        f"Every weight of the graph is 0 or nearly 0 with sigma={sigma:g}, since even the nearest "
        f"samples are {np.sqrt(smallest):g} apart.",
        'Increase sigma, pass sigma="auto", or scale the features (MinMaxScaler).',
        "sigma",
    )


def kernel_graph(
    X: Matrix,
    sigma: float,
    *,
    codes: IntArray | None = None,
    without: csr_array | None = None,
    n_jobs: int | None = None,
) -> Kernel:
    """Weigh all pairs of samples, or all pairs inside groups, by a Gaussian.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples.
    sigma : float
        The width of the Gaussian.
    codes : ndarray of shape (n_samples,), optional
        The group of each sample, -1 for none. Default: the complete graph, whose diagonal of
        ones counts in the degrees, as the papers have it.
    without : csr_array, optional
        Pairs to leave out, as the nonzero entries of a symmetric matrix.
    n_jobs : int, optional
        The number of threads.
    """
    complete = codes is None
    groups = np.zeros(X.shape[0], dtype=np.intp) if codes is None else codes
    X = X.tocsr() if issparse(X) else X
    rows = products(X, np.float64, n_jobs=n_jobs)
    bare = Kernel(X, rows, sigma, groups, without, np.zeros(X.shape[0]))
    degrees = _kernel_degrees(bare, n_jobs)
    if complete and not degrees.any():
        raise underflow_error(nearest(X, 1, n_jobs=n_jobs)[2].min(), sigma)
    return replace(bare, degrees=degrees + complete)


def listed_kernel(
    X: Surveyed, sigma: float, codes: IntArray, without: csr_array, n_jobs: int | None
) -> Edges:
    """Weigh all pairs inside groups by a Gaussian, of few samples that are stored by columns."""
    left, right = links_within(codes).T
    kept = np.asarray(without[left, right]).ravel() == 0
    left, right = left[kept], right[kept]
    tile, errors = wide_distances.rough_distances(X, n_jobs, np.float64)
    scale = np.square(wide_distances.rough_scale(X))
    distances = np.maximum(tile[left, right] * scale, 0.0)
    # If products do not resolve the distance and the weight is not 0 anyway, differences do.
    bound = (errors[left] + errors[right]) * scale
    alive = distances - bound < VANISHED_BEYOND * sigma * sigma
    unsure = np.flatnonzero((bound > EXPONENT_ERROR * 2.0 * sigma * sigma) & alive)
    distances[unsure] = pair_distances(X, left[unsure], right[unsure], n_jobs)
    return Edges(X.shape[0], left, right, gaussian(distances, sigma))


def _kernel_degrees(graph: Kernel, n_jobs: int | None) -> FloatArray:
    """Add up the weights at each node, without the diagonal."""
    if (here := device_of(graph.points)) is not None:
        return device_kernels.kernel_degrees(here, graph)
    degrees = np.zeros(len(graph.codes))

    def work(tile: tuple[IntArray, IntArray]) -> None:
        rows, columns = tile
        degrees[rows] = kernel_weights(graph, rows, columns).sum(axis=1)

    map_threads(work, tile_members(graph.codes), n_jobs)
    return degrees


def tile_members(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows and columns of each tile of the weight matrix."""
    for members in members_of(codes):
        for part in row_tiles(len(members), len(members)):
            yield members[part], members


def kernel_weights(graph: Kernel, rows: IntArray, columns: IntArray) -> FloatArray:
    """Compute the weights between some rows and sorted columns that include them.

    The diagonal is 0: a kernel's ones there count in its degrees, but never in a form.
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
    # Where products do not resolve the distance and the weight is not 0 anyway, differences do.
    resolved = EXPONENT_ERROR * 2.0 * graph.sigma * graph.sigma
    own, other = prepared.errors[rows] * scale, pool.errors * scale
    if own.max() + other.max() > resolved:
        bound = own[:, None] + other
        alive = tile - bound < VANISHED_BEYOND * graph.sigma * graph.sigma
        row, column = np.nonzero((bound > resolved) & alive)
        tile[row, column] = pair_distances(graph.points, rows[row], columns[column], n_jobs=1)
    return np.maximum(tile, 0.0, out=tile)
