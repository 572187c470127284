"""Quadratic forms: a graph seen by every feature at once.

`f'Lf = sum over edges of w_ij (f_i - f_j)^2` is the form that nearly every score is made of.
This is the only module whose mathematics sees both the data and a graph. All of it works in
float64 on column blocks, and on differences or centred values, so that the size of a
feature's offset does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from linkselect import device_forms
from linkselect.arrays import FloatArray, IntArray, Matrix
from linkselect.blocks import (
    BLOCK_SIZE,
    blockwise,
    column_block,
    column_slices,
    map_threads,
    slices,
    sum_by,
)
from linkselect.device_forms import heaviest_of_groups
from linkselect.devices import device_of, namespace_of
from linkselect.graphs.kernels import kernel_weights, tile_members
from linkselect.graphs.kinds import Edges, Graph, Groups, Kernel

__all__ = [
    "Moments",
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
    match graph:
        case Edges():
            return _edge_form(X, graph, n_jobs)
        case Groups():
            return blockwise(partial(_group_form, graph), X, n_jobs=n_jobs)
        case Kernel():
            return _kernel_form(X, graph, n_jobs)
        case tuple():
            first, *others = (laplacian_form(X, part, n_jobs) for part in graph)
            return sum(others, start=first)


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
        form = parts.scatter[0, :]
        return form if centred else form + parts.mass[0] * parts.means_minus(0.0)[0, :] ** 2

    return blockwise(work, X, n_jobs=n_jobs)


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


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter (weighted sum of squared deviations) per group and feature.

    A mean is kept as the value of one sample of its group and the offset from it, so that what
    all samples have in common costs no digits. Only differences of means leave this class: what
    counts from different samples cannot be compared by accident.
    """

    mass: FloatArray
    scatter: FloatArray
    _origin: FloatArray
    _offset: FloatArray

    def means_minus(self, value: FloatArray | float) -> FloatArray:
        """Return the mean of each group minus a value, the same one or one per feature."""
        return (self._origin - value) + self._offset

    def means_minus_group(self, other: Moments, group: int) -> FloatArray:
        """Return the mean of each group minus the mean of one group of `other`."""
        origin, offset = other._origin[group, :], other._offset[group, :]
        return (self._origin - origin) + (self._offset - offset)

    def together(self) -> Moments:
        """Return the moments of all groups taken as one."""
        xp = namespace_of(self.mass)
        # The heaviest group is nearest to the overall mean, whatever the others are.
        origin = self._origin[int(xp.argmax(self.mass)), :]
        means = self.means_minus(origin)
        mass = xp.sum(self.mass)
        overall = self._summed(means) / (float(mass) or 1.0)
        scatter = self.within() + self._summed((means - overall) ** 2)
        alone = (part[None, :] for part in (scatter, origin, overall))
        return Moments(xp.reshape(mass, (1,)), *alone)

    def between(self) -> FloatArray:
        """Return the sum over groups of `mass * (mean - overall mean)^2`."""
        whole = self.together()
        gaps = self.means_minus_group(whole, 0)
        # Means that differ in their last digit only are equal: the features whose means all are
        # tie, and rounding must not decide their order.
        xp = namespace_of(gaps)
        means = xp.abs(self.means_minus(whole._origin[0, :])) + xp.abs(whole._offset[0, :])
        equal = xp.abs(gaps) <= 2 * float(np.finfo(np.float64).eps) * means
        return self._summed(xp.where(equal, xp.zeros_like(gaps), gaps) ** 2)

    def within(self) -> FloatArray:
        """Return the scatter inside groups."""
        return namespace_of(self.scatter).sum(self.scatter, axis=0)

    def _summed(self, values: FloatArray) -> FloatArray:
        """Add up values over groups, weighted by mass.

        Not by a matrix product: the last digit of that depends on a column's place.
        """
        return weighted_sum(self.mass, values)


def weighted_sum(weights: Any, values: Any) -> Any:
    """Add up the rows of a matrix, each with its weight."""
    return namespace_of(values).sum(weights[:, None] * values, axis=0)


def moments(block: Matrix, codes: IntArray, weights: FloatArray | None = None) -> Moments:
    """Compute weight, mean and scatter of each group for the columns of one block.

    Parameters
    ----------
    block : float64 array or CSC matrix of shape (n_samples, n_columns)
        As `blockwise` hands it out.
    codes : ndarray of shape (n_samples,)
        The group of each sample from 0, or -1 for none; at least one group.
    weights : ndarray of shape (n_samples,), optional
        The weight of each sample. Default: 1.
    """
    if (here := device_of(block)) is not None:
        return Moments(*device_forms.moments(here, block, codes, weights))
    weights = np.ones(len(codes)) if weights is None else weights
    n_groups = int(codes.max(initial=0)) + 1
    # Samples without weight have no say, not even as an origin.
    rows = np.flatnonzero((codes >= 0) & (weights > 0))
    if len(rows) < len(codes):
        block, codes, weights = block[rows], codes[rows], weights[rows]
    if not len(rows):
        empty = np.zeros((n_groups, block.shape[1]))
        return Moments(np.zeros(n_groups), empty, empty, empty)
    heaviest = heaviest_of_groups(codes, weights, n_groups)
    if issparse(block):
        return _sparse_moments(block, codes, weights, heaviest)
    origin = block[heaviest]
    member = csr_array((weights, (codes, np.arange(len(codes)))), shape=(n_groups, len(codes)))
    mass = np.asarray(member.sum(axis=1)).ravel()
    per_group = np.where(mass > 0, mass, 1.0)[:, None]
    deviation = block - origin[codes]
    offset = (member @ deviation) / per_group
    deviation -= offset[codes]
    scatter = member @ np.square(deviation)
    if (scatter / per_group < (ROUNDING * offset) ** 2).any():
        # Rounding in the mean shows beside so small a scatter; it is taken out again.
        slip = (member @ deviation) / per_group
        offset += slip
        scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    return Moments(mass, scatter, origin, offset)


def _sparse_moments(
    block: Matrix, codes: IntArray, weights: FloatArray, heaviest: IntArray
) -> Moments:
    """Compute moments from the stored entries; the others are 0."""
    n_groups, width = len(heaviest), block.shape[1]
    entries = block.tocoo()
    rows, columns = entries.coords
    place = codes[rows] * width + columns

    def collect(values: FloatArray) -> FloatArray:
        return sum_by(place, values, n_groups * width).reshape(n_groups, width)

    mass = sum_by(codes, weights, n_groups)
    per_group = np.where(mass > 0, mass, 1.0)[:, None]
    absent = _absent_weight(block, codes, weights, mass, collect(weights[rows]))
    origin = block.tocsr()[heaviest].toarray()
    deviation = entries.data - origin.ravel()[place]
    # An entry that is not stored is 0, so it deviates from the origin by minus the origin.
    offset = (collect(weights[rows] * deviation) - absent * origin) / per_group
    deviation -= offset.ravel()[place]
    of_zero = -origin - offset
    slip = (collect(weights[rows] * deviation) + absent * of_zero) / per_group
    scatter = collect(weights[rows] * deviation**2) + absent * of_zero**2
    scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    return Moments(mass, scatter, origin, offset + slip)


def _absent_weight(
    block: Matrix, codes: IntArray, weights: FloatArray, mass: FloatArray, stored: FloatArray
) -> FloatArray:
    """Add up the weights of samples without an entry, per group and column."""
    absent = mass[:, None] - stored
    # If nearly all weight is stored, a difference of sums says little about the rest.
    nearly_full = np.flatnonzero((absent < 1e-3 * mass[:, None]).any(axis=0))
    member = csr_array((weights, (codes, np.arange(len(codes)))), shape=(len(mass), len(codes)))
    for part in slices(len(nearly_full), max(BLOCK_SIZE // len(codes), 16)):
        columns = nearly_full[part]
        missing = np.ones((len(codes), len(columns)))
        missing[block[:, columns].tocoo().coords] = 0.0
        absent[:, columns] = member @ missing
    return absent


# -- one function per kind of graph ---------------------------------------------------------


def _edge_form(X: Matrix, graph: Edges, n_jobs: int | None) -> FloatArray:
    if (here := device_of(X)) is not None:
        return device_forms.edge_form(here, X, graph)
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
    xp = namespace_of(plain.mass)
    if not graph.across:
        # Inside a group of n, the squared differences add up to n times the scatter.
        return graph.weight * weighted_sum(plain.mass, plain.scatter)
    n_samples = xp.sum(plain.mass)
    if graph.strength is None:
        inside = weighted_sum(n_samples - plain.mass, plain.scatter)
        return graph.weight * (inside + n_samples * plain.between())
    strong = moments(block, graph.codes, graph.strength)
    form = weighted_sum(n_samples - plain.mass, strong.scatter)
    form = form + weighted_sum(xp.sum(strong.mass) - strong.mass, plain.scatter)
    for group in range(strong.mass.shape[0]):
        # The group itself is no other group.
        before, after = plain.mass[:group], plain.mass[group + 1 :]
        others = xp.concat([before, xp.zeros_like(plain.mass[:1]), after])
        gaps = plain.means_minus_group(strong, group)
        form = form + strong.mass[group] * weighted_sum(others, gaps**2)
    return graph.weight * form


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
