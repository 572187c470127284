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
from linkselect.graphs.kernels import kernel_weights, tile_members
from linkselect.graphs.kinds import Edges, FloatArray, Graph, Groups, IntArray, Kernel

__all__ = [
    "Moments",
    "constant_columns",
    "degree_form",
    "laplacian_form",
    "laplacian_product",
    "moments",
    "reconstruction_form",
]

EDGE_CHUNK = 512
SPARSE_EDGE_CHUNK = 1 << 14
# Below this share of its parts, a difference of sums is computed again without cancellation.
CANCELLATION = 1e-5
# A mean is trusted to this share of its size, well above the rounding of long sums.
ROUNDING = 1e-8
# An error of a rebuilt value that is smaller, in units of the deviation, is rounding.
REBUILT_EXACTLY = 1e-9


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


def reconstruction_form(X: Matrix, weights: csr_array, n_jobs: int | None = None) -> FloatArray:
    """Compute `|f - S f|^2`, the squared error of rebuilding, for every feature.

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
        # Many features may be rebuilt exactly; rounding must not decide their order.
        deviation = np.sqrt(np.square(centred).mean(axis=0))
        error[np.abs(error) <= REBUILT_EXACTLY * deviation] = 0.0
        return np.square(error).sum(axis=0)

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
    n_groups = int(codes.max(initial=-1)) + 1
    # Samples without weight have no say, not even as an origin.
    rows = np.flatnonzero((codes >= 0) & (weights > 0))
    if len(rows) < len(codes):
        block, codes, weights = block[rows], codes[rows], weights[rows]
    if issparse(block):
        return _sparse_moments(block, codes, weights, n_groups)
    if not len(rows):
        empty = np.zeros((n_groups, block.shape[1]))
        return Moments(np.zeros(n_groups), empty, empty, np.zeros(block.shape[1]))
    member = csr_array((weights, (codes, np.arange(len(codes)))), shape=(n_groups, len(codes)))
    mass = np.asarray(member.sum(axis=1)).ravel()
    per_mass = 1.0 / np.where(mass > 0, mass, 1.0)[:, None]
    # Each group counts from its own first sample, so that one far from the others costs no digits.
    first = np.zeros(n_groups, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    own_origin = block[first]
    deviation = block - own_origin[codes]
    mean = (member @ deviation) * per_mass
    deviation -= mean[codes]
    scatter = member @ np.square(deviation)
    if (scatter * per_mass < (ROUNDING * mean) ** 2).any():
        # Rounding in the mean shows beside so small a scatter; it is taken out again.
        slip = (member @ deviation) * per_mass
        mean += slip
        scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    origin = block[0].copy()
    return Moments(mass, mean + (own_origin - origin), scatter, origin)


def _sparse_moments(block: Matrix, codes: IntArray, weights: FloatArray, n_groups: int) -> Moments:
    """Compute moments from the stored entries; the others are 0.

    An origin other than 0 is only possible where every sample of a group has an entry.
    """
    width = block.shape[1]
    rows, columns = block.tocoo().coords
    values = block.tocoo().data.astype(np.float64)
    place = codes[rows] * width + columns

    def collect(entries: FloatArray) -> FloatArray:
        return sum_by(place, entries, n_groups * width).reshape(n_groups, width)

    n_samples = np.bincount(codes, minlength=n_groups)[:, None]
    n_stored = np.bincount(place, minlength=n_groups * width).reshape(n_groups, width)
    first = np.zeros(n_groups * width)
    first[place[::-1]] = values[::-1]
    own_origin = np.where(n_stored == n_samples, first.reshape(n_groups, width), 0.0)
    deviation = values - own_origin.ravel()[place]
    mass = sum_by(codes, weights, n_groups)
    per_mass = 1.0 / np.where(mass > 0, mass, 1.0)[:, None]
    mean = collect(weights[rows] * deviation) * per_mass
    deviation -= mean.ravel()[place]
    absent = _absent_weight(block, codes, weights, mass, collect(weights[rows]), n_stored)
    # An entry that is not stored deviates by the mean.
    slip = (collect(weights[rows] * deviation) - absent * mean) * per_mass
    scatter = collect(weights[rows] * deviation**2) + absent * mean**2
    scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    full = (n_stored == n_samples).all(axis=0)
    origin = np.where(full, own_origin[0] if n_groups else 0.0, 0.0)
    return Moments(mass, mean + slip + (own_origin - origin), scatter, origin)


def _absent_weight(
    block: Matrix,
    codes: IntArray,
    weights: FloatArray,
    mass: FloatArray,
    stored: FloatArray,
    n_stored: NDArray[np.intp],
) -> FloatArray:
    """Add up the weights of samples without an entry, per group and column."""
    n_samples = np.bincount(codes, minlength=len(mass))[:, None]
    absent = np.where(n_stored == n_samples, 0.0, mass[:, None] - stored)
    # Where nearly all weight is stored, a difference of sums says little about the rest.
    for group, column in np.argwhere((absent < 1e-6 * mass[:, None]) & (n_stored < n_samples)):
        missing = codes == group
        missing[block[:, [column]].tocoo().coords[0]] = False
        absent[group, column] = weights[missing].sum()
    return absent


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
    dense: FloatArray = block.toarray().astype(np.float64) if issparse(block) else block
    dense -= dense[0].copy()
    dense -= dense.mean(axis=0)
    return dense
