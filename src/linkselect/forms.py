"""Quadratic forms: a graph seen by every feature at once.

`f'Lf = sum over edges of w_ij (f_i - f_j)^2` is the form that nearly every score is made of.
This is the only module whose mathematics sees both the data and a graph. All of it works in
float64 on column blocks, and on differences or centred values, so that the size of a
feature's offset does not matter.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from linkselect.blocks import (
    BLOCK_SIZE,
    Matrix,
    blockwise,
    column_block,
    column_slices,
    map_threads,
    slices,
    sum_by,
)
from linkselect.graphs.kernels import KernelTiles, tile_members
from linkselect.graphs.kinds import Edges, FloatArray, Graph, Groups, IntArray, Kernel

__all__ = [
    "Moments",
    "constant_columns",
    "degree_form",
    "laplacian_form",
    "laplacian_product",
    "moments",
]

EDGE_CHUNK = 512
SPARSE_EDGE_CHUNK = 1 << 14
# Below this share of its parts, a difference of sums is computed again without cancellation.
CANCELLATION = 1e-5
# A mean is trusted to this share of its size, well above the rounding of long sums.
ROUNDING = 1e-8


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
    match graph:
        case Edges():
            return _edge_form(X, graph, n_jobs)
        case Groups():
            return blockwise(partial(_group_form, graph), X, n_jobs=n_jobs)
        case Kernel():
            return _kernel_form(X, graph, n_jobs)
        case tuple():
            return np.sum([laplacian_form(X, part, n_jobs) for part in graph], axis=0)


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
    one_group = np.zeros(len(degrees), dtype=np.intp)

    def work(block: Matrix) -> FloatArray:
        parts = moments(block, one_group, degrees)
        form = parts.scatter[0]
        return form if centred else form + parts.mass[0] * (parts.origin + parts.mean[0]) ** 2

    return blockwise(work, X, n_jobs=n_jobs)


class Moments(NamedTuple):
    """Weight, mean and scatter (weighted sum of squared deviations) per group and feature.

    Means count from `origin`, a value of each feature near its others, so that a large offset
    costs no digits where means are compared.
    """

    mass: FloatArray
    mean: FloatArray
    scatter: FloatArray
    origin: FloatArray

    def between(self) -> FloatArray:
        """Return the sum over groups of `mass * (mean - overall mean)^2`."""
        return (self.mass[:, None] * (self.mean - self.overall()) ** 2).sum(axis=0)

    def within(self) -> FloatArray:
        """Return the scatter inside groups."""
        return self.scatter.sum(axis=0)

    def overall(self) -> FloatArray:
        """Return the mean over all groups, counted from the origin."""
        return (self.mass[:, None] * self.mean).sum(axis=0) / (self.mass.sum() or 1.0)


def moments(block: Matrix, codes: IntArray, weights: FloatArray | None = None) -> Moments:
    """Compute weight, mean and scatter of each group for the columns of one block.

    Parameters
    ----------
    block : float64 array or CSC matrix of shape (n_samples, n_columns)
        As `blockwise` hands it out.
    codes : ndarray of shape (n_samples,)
        The group of each sample from 0, or -1 for none.
    weights : ndarray of shape (n_samples,), optional
        The weight of each sample. Default: 1.
    """
    weights = np.ones(len(codes)) if weights is None else weights
    if issparse(block):
        return _sparse_moments(block, codes, weights)
    rows = np.flatnonzero(codes >= 0)
    if len(rows) < len(codes):
        block, codes, weights = block[rows], codes[rows], weights[rows]
    member = csr_array((weights, (codes, np.arange(len(codes)))))
    mass = np.asarray(member.sum(axis=1)).ravel()
    per_mass = 1.0 / np.where(mass > 0, mass, 1.0)[:, None]
    origin = block[0].copy()
    deviation = block - origin
    mean = (member @ deviation) * per_mass
    deviation -= mean[codes]
    scatter = member @ np.square(deviation)
    if (scatter * per_mass < (ROUNDING * mean) ** 2).any():
        # Rounding in the mean shows beside so small a scatter; it is taken out again.
        slip = (member @ deviation) * per_mass
        mean += slip
        scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    return Moments(mass, mean, scatter, origin)


def _sparse_moments(block: Matrix, codes: IntArray, weights: FloatArray) -> Moments:
    block = block.tocoo()
    rows, columns = block.coords
    known = codes[rows] >= 0
    rows, columns = rows[known], columns[known]
    values = block.data[known].astype(np.float64)
    n_groups, width = int(codes.max(initial=-1)) + 1, block.shape[1]
    grouped = codes >= 0
    # A column without zeros may have an offset; one with zeros has its origin there.
    first = np.zeros(width)
    first[columns[::-1]] = values[::-1]
    full = np.bincount(columns, minlength=width) == np.count_nonzero(grouped)
    origin = np.where(full, first, 0.0)
    values -= origin[columns]
    place = codes[rows] * width + columns

    def collect(entries: FloatArray) -> FloatArray:
        return sum_by(place, entries, n_groups * width).reshape(n_groups, width)

    mass = sum_by(codes[grouped], weights[grouped], n_groups)
    mean = collect(weights[rows] * values) / np.where(mass > 0, mass, 1.0)[:, None]
    scatter = collect(weights[rows] * (values - mean.ravel()[place]) ** 2)
    # The entries that are not stored are 0, so each deviates by the mean.
    n_stored, n_all = collect(np.ones(len(rows))), np.bincount(codes[grouped])[:, None]
    absent = np.where(n_stored < n_all, mass[:, None] - collect(weights[rows]), 0.0)
    scatter += np.maximum(absent, 0.0) * mean**2
    return Moments(mass, mean, scatter, origin)


def constant_columns(X: Matrix) -> NDArray[np.bool_]:
    """Tell which features have one value only, by comparing the values themselves."""
    if issparse(X):
        X = X.tocsc()
        low = X.min(axis=0).toarray().ravel()
        return low == X.max(axis=0).toarray().ravel()
    # Most features that vary show it in a few rows, so only the others are read to the end.
    constant = (X[: min(8, X.shape[0])] == X[0]).all(axis=0)
    left = np.flatnonzero(constant)
    for part in slices(len(left), max(BLOCK_SIZE // X.shape[0], 16)):
        constant[left[part]] = (X[:, left[part]] == X[0, left[part]]).all(axis=0)
    return constant


# -- one function per kind of graph ---------------------------------------------------------


def _edge_form(X: Matrix, graph: Edges, n_jobs: int | None) -> FloatArray:
    if issparse(X):
        return _sparse_edge_form(X, graph, n_jobs)
    rows, ends = np.unique(np.concatenate([graph.left, graph.right]), return_inverse=True)
    left, right = np.split(ends, 2)

    def work(block: FloatArray) -> FloatArray:
        total = np.zeros(block.shape[1])
        for chunk in slices(len(left), EDGE_CHUNK):
            difference = block[left[chunk]]
            difference -= block[right[chunk]]
            difference *= difference
            total += graph.weights[chunk] @ difference
        return total

    return blockwise(work, X, rows=None if len(rows) == X.shape[0] else rows, n_jobs=n_jobs)


def _sparse_edge_form(X: Matrix, graph: Edges, n_jobs: int | None) -> FloatArray:
    X = X.tocsr()

    def work(chunk: slice) -> FloatArray:
        left, right = X[graph.left[chunk]], X[graph.right[chunk]]
        difference = (left.astype(np.float64) - right.astype(np.float64)).tocsr()
        weights = np.repeat(graph.weights[chunk], np.diff(difference.indptr))
        return sum_by(difference.indices, weights * difference.data**2, X.shape[1])

    parts = map_threads(work, slices(len(graph.left), SPARSE_EDGE_CHUNK), n_jobs)
    return np.sum(parts, axis=0) if parts else np.zeros(X.shape[1])


def _group_form(graph: Groups, block: Matrix) -> FloatArray:
    plain = moments(block, graph.codes)
    if not graph.across:
        # Inside a group of n, the squared differences add up to n times the scatter.
        return graph.weight * (plain.mass[:, None] * plain.scatter).sum(axis=0)
    n_samples = plain.mass.sum()
    if graph.strength is None:
        inside = ((n_samples - plain.mass)[:, None] * plain.scatter).sum(axis=0)
        return graph.weight * (inside + n_samples * plain.between())
    strong = moments(block, graph.codes, graph.strength)
    form = ((n_samples - plain.mass)[:, None] * strong.scatter).sum(axis=0)
    form += ((strong.mass.sum() - strong.mass)[:, None] * plain.scatter).sum(axis=0)
    for group, (mass, mean) in enumerate(zip(strong.mass, strong.mean, strict=True)):
        others = np.where(np.arange(len(plain.mass)) == group, 0.0, plain.mass)
        form += mass * (others[:, None] * (mean - plain.mean) ** 2).sum(axis=0)
    return graph.weight * form


def _kernel_form(X: Matrix, graph: Kernel, n_jobs: int | None) -> FloatArray:
    """Compute `f'Lf` tile by tile as `f'Df - f'Wf`, on centred columns."""
    if issparse(X):
        X = X.tocsc()
    kernel = KernelTiles(graph)
    columns = column_slices(X)

    def work(tile: tuple[IntArray, IntArray]) -> FloatArray:
        weights = kernel.weights(*tile)
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
    form[unsure] = _kernel_form_by_differences(X, kernel, tiles, unsure, n_jobs)
    return form


def _kernel_form_by_differences(
    X: Matrix,
    kernel: KernelTiles,
    tiles: list[tuple[IntArray, IntArray]],
    features: IntArray,
    n_jobs: int | None,
) -> FloatArray:
    def work(tile: tuple[IntArray, IntArray]) -> FloatArray:
        weights = kernel.weights(*tile)
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
    block = column_block(X, columns, rows)
    dense: FloatArray = block.toarray().astype(np.float64) if issparse(block) else block
    dense -= dense[0].copy()
    dense -= dense.mean(axis=0)
    return dense
