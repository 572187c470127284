"""Quadratic forms: a graph seen by every feature at once.

`f'Lf = sum over edges of w_ij (f_i - f_j)^2` is the form that nearly every score is made of.
This is the only module whose mathematics sees both the data and a graph. All of it works in
float64 on column blocks, and on differences or centred values, so that the size of a
feature's offset does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array, issparse

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._blocks import (
    Scratch,
    blockwise,
    column_block,
    column_slices,
    map_threads,
    slices,
    sum_by,
)
from linkselect._samples import device_forms
from linkselect._samples.devices import device_of, namespace_of
from linkselect._samples.moments import Moments, moments, weighted_sum
from linkselect._samples.sources import Part, Stored
from linkselect._samples.sources.running import reduce_parts
from linkselect._samples.stored_forms import by_column_parts, moments_of_rows, rows_by_columns
from linkselect.graphs._graph_types import Edges, Graph, Groups, Kernel
from linkselect.graphs._kernels import kernel_weights, tile_members

EDGE_CHUNK = 512
SPARSE_EDGE_CHUNK = 1 << 14
# Below this share of its parts, a difference of sums is computed again without cancellation.
CANCELLATION = 1e-5
# A reconstruction error below this share of the deviation is rounding.
RECONSTRUCTED_EXACTLY = 1e-9


def laplacian_form(X: Matrix, graph: Graph, n_jobs: int | None = None) -> FloatArray:
    """Compute `f'Lf`, the sum over edges of `w_ij (f_i - f_j)^2`, for every feature.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense, memory-mapped or SciPy sparse, of any numeric type.
    graph : Edges, Groups, Kernel or a tuple of these
        The parts of a tuple add up.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    if isinstance(X, Stored) and X.by_columns:
        return by_column_parts(partial(laplacian_form, graph=graph, n_jobs=1), X, n_jobs)
    match graph:
        case Edges():
            return _edge_form(X, graph, n_jobs)
        case Groups():
            return _group_form(X, graph, n_jobs)
        case Kernel():
            return _kernel_form(X, graph, n_jobs)
        case tuple():
            first, *others = (laplacian_form(X, part, n_jobs) for part in graph)
            return sum(others, start=first)


def laplacian_forms(
    X: Matrix, one: Graph, other: Graph, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute `laplacian_form` of two graphs; groups of the same samples cost one pass over X."""
    match one, other:
        case Groups(strength=None), Groups(strength=None) if one.codes is other.codes:
            forms = from_moments(
                partial(_plain_forms, (one, other)), X, (one.codes, None), n_jobs=n_jobs
            )
            return forms[0, :], forms[1, :]
    return laplacian_form(X, one, n_jobs), laplacian_form(X, other, n_jobs)


def laplacian_product(graph: Edges | Groups, values: FloatArray) -> FloatArray:
    """Compute `L values`, where the columns of `values` run over the samples.

    Groups cost as much as one pass over the values, however many edges they stand for.
    """
    if isinstance(graph, Edges):
        return graph.degrees[:, None] * values - graph.to_csr() @ values
    if graph.strength is not None:
        raise NotImplementedError("Edges of different strength have no product here.")
    rows = np.flatnonzero(graph.codes >= 0)
    codes = graph.codes[rows]
    member = csr_array((np.ones(len(rows)), (codes, np.arange(len(rows)))))
    of_group = member @ values[rows]
    partners = of_group.sum(axis=0) - of_group if graph.across else of_group
    partners = partners[codes] if graph.across else partners[codes] - values[rows]
    product = np.zeros(values.shape)
    product[rows] = graph.degrees[rows, None] * values[rows] - graph.weight * partners
    return product


def degree_form(
    X: Matrix, degrees: FloatArray, *, centred: bool = True, n_jobs: int | None = None
) -> FloatArray:
    """Compute `f'Df`, the sum of `degrees[i] * f_i^2`, for every feature.

    If `centred`, each feature first loses its mean under the weights `degrees`.
    """

    def form(parts: Moments) -> FloatArray:
        scatter = parts.scatter[0, :]
        return scatter if centred else scatter + parts.mass[0] * parts.means_minus(0.0)[0, :] ** 2

    return from_moments(form, X, (np.zeros(len(degrees), dtype=np.intp), degrees), n_jobs=n_jobs)


def from_moments(
    function: Callable[..., FloatArray],
    X: Matrix,
    *groupings: tuple[IntArray, FloatArray | None],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute what a function makes of the moments of groups, for every feature.

    Parameters
    ----------
    function : callable
        Takes a `Moments` for each grouping, over some features, and returns an array whose last
        axis runs over these.
    X : matrix of shape (n_samples, n_features)
        Any that `laplacian_form` takes.
    *groupings : tuple of (codes, weights)
        The group of each sample, -1 for none, and its weight; None: all weigh 1.
    n_jobs : int, optional
        The number of threads.
    """

    def work(block: Matrix) -> FloatArray:
        return function(*(moments(block, codes, weights) for codes, weights in groupings))

    if not isinstance(X, Stored):
        return blockwise(work, X, n_jobs=n_jobs)
    if X.by_columns:
        return by_column_parts(partial(blockwise, work, n_jobs=1), X, n_jobs)
    return function(*(moments_of_rows(X, codes, weights, n_jobs) for codes, weights in groupings))


def kurtosis(X: Matrix, n_jobs: int | None = None) -> FloatArray:
    """Average `((f_i - mean) / deviation)^4` for every feature; NaN if it is constant.

    It is 3 for a normal distribution. If a share p of the samples has another value than all
    others, it is about 1 / p.
    """

    def work(block: Matrix) -> FloatArray:
        alone = moments(block, np.zeros(block.shape[0], dtype=np.intp))
        return _fourth_powers(block, *_mean_and_deviation(alone)) / block.shape[0]

    if not isinstance(X, Stored):
        return blockwise(work, X, n_jobs=n_jobs)
    if X.by_columns:
        return by_column_parts(partial(blockwise, work, n_jobs=1), X, n_jobs)
    # The rows may be a billion: one group takes no memory.
    alone = moments_of_rows(X, np.broadcast_to(np.intp(0), X.shape[0]), None, n_jobs)
    mean, deviation = _mean_and_deviation(alone)
    add_up = partial(_fourth_powers_of_part, mean=mean, deviation=deviation)
    total: FloatArray = reduce_parts(X, add_up, sum, n_jobs=n_jobs, what="add up")
    return total / X.shape[0]


def reconstruction_form(X: Matrix, weights: csr_array, n_jobs: int | None = None) -> FloatArray:
    """Compute `|f - S f|^2`, the squared reconstruction error, for every feature.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense, memory-mapped or SciPy sparse, of any numeric type.
    weights : csr_array of shape (n_samples, n_samples)
        S. Its rows sum to 1, so that an offset of the feature does not matter.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
    """

    def work(block: Matrix) -> FloatArray:
        centred = _without_mean(block)
        error = centred - weights @ centred
        # Many features may be reconstructed exactly; rounding must not decide their order.
        deviation = np.sqrt(np.square(centred).mean(axis=0))
        error[np.abs(error) <= RECONSTRUCTED_EXACTLY * deviation] = 0.0
        return np.square(error).sum(axis=0)

    return blockwise(work, X, n_jobs=n_jobs)


def _mean_and_deviation(alone: Moments) -> tuple[FloatArray, FloatArray]:
    variance = alone.scatter[0, :] / alone.mass[0]
    return alone.means_minus(0.0)[0, :], namespace_of(variance).sqrt(variance)


def _fourth_powers(block: Matrix, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant feature is 0 / 0
        if not issparse(block):
            return namespace_of(block).sum(_fourth_power((block - mean) / deviation), axis=0)
        entries = block.tocoo()
        columns, width = entries.coords[1], block.shape[1]
        stored = _fourth_power((entries.data - mean[columns]) / deviation[columns])
        n_zeros = block.shape[0] - np.bincount(columns, minlength=width)
        return sum_by(columns, stored, width) + n_zeros * _fourth_power(mean / deviation)


def _fourth_power(values: FloatArray) -> FloatArray:
    # NumPy's `** 4` takes thirty times as long.
    values *= values
    values *= values
    return values


def _fourth_powers_of_part(part: Part, *, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    total = np.zeros(len(mean))
    for _, slab in part.slabs():
        for columns in column_slices(slab):
            block = column_block(slab, columns)
            total[columns] += _fourth_powers(block, mean[columns], deviation[columns])
    return total


# -- one function per kind of graph ---------------------------------------------------------


def _edge_form(X: Matrix, graph: Edges, n_jobs: int | None) -> FloatArray:
    if (here := device_of(X)) is not None:
        return device_forms.edge_form(here, X, graph)
    if issparse(X):
        return _sparse_edge_form(X, graph, n_jobs)
    ends = np.concatenate([graph.left, graph.right])
    rows, places = np.unique(ends, return_inverse=True)
    left, right = np.split(places, 2)
    totals, n_edges = graph.totals, len(left)
    one_end, other_end = Scratch(), Scratch()

    def work(block: FloatArray) -> FloatArray:
        total = np.zeros(block.shape[1])
        for chunk in slices(n_edges, EDGE_CHUNK):
            shape = (chunk.stop - chunk.start, block.shape[1])
            own, other = one_end.array(*shape), other_end.array(*shape)
            # Without a mode, NumPy would go through one more copy.
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
        # Hardly a sample has two edges: the ends are copied once, one below the other.
        rows, work = ends, of_few
    if isinstance(X, Stored):
        return rows_by_columns(partial(blockwise, work, n_jobs=n_jobs), X, rows)
    is_all = rows is not ends and len(rows) == X.shape[0]
    return blockwise(work, X, rows=None if is_all else rows, n_jobs=n_jobs)


def _sparse_edge_form(X: Matrix, graph: Edges, n_jobs: int | None) -> FloatArray:
    X = X.tocsr()
    totals = graph.totals

    def work(chunk: slice) -> FloatArray:
        left, right = X[graph.left[chunk]], X[graph.right[chunk]]
        difference = (left.astype(np.float64) - right.astype(np.float64)).tocsr()
        weights = np.repeat(totals[chunk], np.diff(difference.indptr))
        return sum_by(difference.indices, weights * difference.data**2, X.shape[1])

    parts = map_threads(work, slices(len(graph.left), SPARSE_EDGE_CHUNK), n_jobs)
    return np.sum(parts, axis=0) if parts else np.zeros(X.shape[1])


def _group_form(X: Matrix, graph: Groups, n_jobs: int | None) -> FloatArray:
    plain = (graph.codes, None)
    if graph.strength is None:
        return from_moments(partial(_plain_form, graph), X, plain, n_jobs=n_jobs)
    work = partial(_across_groups, graph.weight)
    return from_moments(work, X, plain, (graph.codes, graph.strength), n_jobs=n_jobs)


def _plain_form(graph: Groups, plain: Moments) -> FloatArray:
    form = _across_groups if graph.across else _inside_groups
    return form(graph.weight, plain)


def _plain_forms(graphs: tuple[Groups, ...], plain: Moments) -> FloatArray:
    return namespace_of(plain.mass).stack([_plain_form(graph, plain) for graph in graphs])


def _inside_groups(weight: float, plain: Moments) -> FloatArray:
    # Inside a group of n, the squared differences add up to n times the scatter.
    return weight * weighted_sum(plain.mass, plain.scatter)


def _across_groups(weight: float, plain: Moments, strong: Moments | None = None) -> FloatArray:
    xp = namespace_of(plain.mass)
    n_samples = xp.sum(plain.mass)
    if strong is None:
        # All pairs of n samples add up to `n (within + between)`, those inside group c to
        # `n_c scatter_c`; what is left are the pairs across.
        inside = weighted_sum(n_samples - plain.mass, plain.scatter)
        return weight * (inside + n_samples * plain.between())
    # One end has its strength s, the other one counts once; with groups a and b of the two ends:
    # `n_b scatter_a(s) + s_a scatter_b + s_a n_b (mean_a(s) - mean_b)^2`, summed over a != b.
    form = weighted_sum(n_samples - plain.mass, strong.scatter)
    form = form + weighted_sum(xp.sum(strong.mass) - strong.mass, plain.scatter)
    for group in range(strong.mass.shape[0]):
        # The group itself is no other group.
        before, after = plain.mass[:group], plain.mass[group + 1 :]
        others = xp.concat([before, xp.zeros_like(plain.mass[:1]), after])
        gaps = plain.means_minus_group(strong, group)
        form = form + strong.mass[group] * weighted_sum(others, gaps**2)
    return weight * form


def _kernel_form(X: Matrix, graph: Kernel, n_jobs: int | None) -> FloatArray:
    """Compute `f'Lf` tile by tile as `f'Df - f'Wf`, on centred columns."""
    if (here := device_of(X)) is not None:
        return device_forms.kernel_form(here, X, graph, CANCELLATION)
    if issparse(X):
        X = X.tocsc()
    columns = column_slices(X)

    def work(tile: tuple[IntArray, IntArray]) -> FloatArray:
        weights = kernel_weights(graph, *tile)
        row_sums = weights.sum(axis=1)
        place = np.searchsorted(tile[1], tile[0])
        parts = []
        for some in columns:
            centred = _centred(X, some, tile[1])
            own = centred[place]
            squares = row_sums @ own**2
            parts.append([squares, squares - (own * (weights @ centred)).sum(axis=0)])
        return np.concatenate(parts, axis=1)

    tiles = list(tile_members(graph.codes))
    squares, form = np.sum(map_threads(work, tiles, n_jobs), axis=0)
    unsure = np.flatnonzero(form <= CANCELLATION * squares)
    unsure = unsure[squares[unsure] > 0]
    form[squares == 0] = 0.0
    form[unsure] = _kernel_form_by_differences(X, graph, tiles, unsure, n_jobs)
    return form


def _kernel_form_by_differences(
    X: Matrix,
    graph: Kernel,
    tiles: list[tuple[IntArray, IntArray]],
    features: IntArray,
    n_jobs: int | None,
) -> FloatArray:
    def work(tile: tuple[IntArray, IntArray]) -> FloatArray:
        weights = kernel_weights(graph, *tile)
        total = np.empty(len(features))
        for position, feature in enumerate(features):
            values = column_block(X, slice(feature, feature + 1))
            column = values.toarray().ravel() if issparse(values) else values.ravel()
            difference = column[tile[0], None] - column[tile[1]]
            difference *= difference
            difference *= weights
            total[position] = difference.sum() / 2.0  # every edge stands in two tiles
        return total

    return np.sum(map_threads(work, tiles, n_jobs), axis=0) if len(features) else np.empty(0)


def _centred(X: Matrix, columns: slice, rows: IntArray) -> FloatArray:
    """Copy a dense block whose columns have lost their mean."""
    return _without_mean(column_block(X, columns, rows))


def _without_mean(block: Matrix) -> FloatArray:
    """Subtract the mean of each column from a block, which may be written to; dense."""
    dense: FloatArray = block.toarray() if issparse(block) else block
    dense -= dense[0].copy()
    dense -= dense.mean(axis=0)
    return dense
