"""Samples on a device, in arrays from PyTorch, CuPy or another library with the array API.

The computations are the same as for NumPy arrays but use functions of the array API standard.
Blocks are larger than on the CPU, and input arrays are never modified.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import Scratch, block_width, slices
from linkselect._samples import device_neighbors
from linkselect._samples.device_neighbors import DeviceProducts, products, tile
from linkselect._samples.devices import BLOCK_SIZE, Device, set_by_index, to_numpy
from linkselect._samples.distances import EXPONENT_ERROR, VANISHED, Tile, unresolved
from linkselect._samples.moments import device_moments
from linkselect._samples.neighbors import EVERYTHING, Found, Search
from linkselect._samples.samples import (
    FAINT,
    FIRST_ROWS,
    NO_FEATURES,
    Columns,
    Samples,
    digest,
    shared,
)
from linkselect._samples.scaled_columns import DeviceColumns
from linkselect._samples.scaling import Scaling
from linkselect.pairs._links import members_of

if TYPE_CHECKING:
    from linkselect.graphs._graph_types import Edges, Kernel

# The sum of 10^9 squares of this value is finite.
LARGEST = 1e149


class OnDevice(Samples):
    """Samples in an array from a library other than NumPy.

    Methods that need the values in CPU memory raise an error.

    Parameters
    ----------
    here : Device
        The array library, and the device of the samples.
    values : array of shape (n_samples, n_features)
        The values of the samples, which may have any numeric dtype.
    """

    kind = "device"
    here: Device

    def __init__(self, here: Device, values: Any) -> None:
        super().__init__(values)
        self.here = here
        self._moments = partial(device_moments, here)

    def constant_columns(self) -> BoolArray:
        """Return a mask of the constant features."""
        X, xp = self.values, self.here.xp
        parts = self.column_slices(self.shape[0])
        found = [xp.all(X[:, part] == X[:1, part], axis=0) for part in parts]
        constant: BoolArray = to_numpy(self.joined(found))
        return constant

    def fetched(self, values: Any) -> Any:
        """Copy an array from the device to a NumPy array."""
        return to_numpy(values)

    def faint_columns(self) -> IntArray:
        """List the non-constant features whose squared differences underflow."""
        xp = self.here.xp
        if self.dtype != xp.float64:
            return NO_FEATURES
        blocks = (self.values[:, columns] for columns in self.column_slices(self.shape[0]))
        extent = self.joined([xp.max(some, axis=0) - xp.min(some, axis=0) for some in blocks])
        return np.flatnonzero(to_numpy((extent > 0) & (extent < FAINT)))

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and maximum of each feature."""
        xp = self.here.xp
        low, high = xp.min(self.values, axis=0), xp.max(self.values, axis=0)
        return to_numpy(self.here.float64(low)), to_numpy(self.here.float64(high))

    def count_nonzero(self) -> int:
        """Count the nonzero values."""
        return int(self.here.xp.count_nonzero(self.values))

    def rounded_columns(self) -> IntArray:
        """Return an empty array: rounding of large integers is not checked on devices."""
        return NO_FEATURES

    def overflows(self) -> bool:
        """Return whether squares of values overflow; devices raise no error if this happens."""
        xp = self.here.xp
        if self.dtype != xp.float64:
            return False
        return max(float(xp.max(self.values)), -float(xp.min(self.values))) > LARGEST

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return a key for each feature.

        The key is a hash of all values, computed on the CPU, unless the first values are unique.
        """
        xp, n_rows = self.here.xp, min(FIRST_ROWS, self.shape[0])
        heads = to_numpy(xp.take(self.values[:n_rows, :], self.here.put(features), axis=1))
        rivals = np.flatnonzero(shared(np.column_stack([runs, heads.T])))
        keys: list[Hashable] = features.tolist()
        if len(rivals):
            columns = to_numpy(xp.take(self.values, self.here.put(features[rivals]), axis=1))
            for place, column in zip(rivals, columns.T, strict=True):
                keys[place] = digest(column)
        return keys

    def column_slices(self, n_rows: int) -> list[slice]:
        """Split the columns into slices, one for each block of about BLOCK_SIZE values."""
        return slices(self.shape[1], block_width(BLOCK_SIZE, n_rows))

    def float_block(self, columns: Columns, rows: Any, dense: bool, scratch: Scratch | None) -> Any:
        """Return the given rows and columns as float64, on the device."""
        block = self.values[:, columns]
        if not isinstance(rows, slice):
            block = self.here.xp.take(block, self.here.put(rows), axis=0)
        return self.here.float64(block)

    def centred_block(self, columns: slice, rows: IntArray) -> Any:
        """Return the given rows and columns as float64, with each column centred."""
        some = slice(None) if len(rows) == self.shape[0] else rows
        block = self.float_block(columns, some, True, None)
        block = block - block[:1, :]
        return block - self.here.xp.mean(block, axis=0)[None, :]

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None
    ) -> list[Any]:
        """Apply a function to each item in turn, without threads."""
        return [function(item) for item in items]

    def joined(self, parts: list[Any]) -> Any:
        """Concatenate the results for blocks of columns along the last axis."""
        return parts[0] if len(parts) == 1 else self.here.xp.concat(parts, axis=-1)

    def take(self, rows: IntArray) -> OnDevice:
        """Return the given rows."""
        return OnDevice(self.here, self.here.xp.take(self.values, self.here.put(rows), axis=0))

    def choose(self, columns: Columns) -> OnDevice:
        """Return the given columns."""
        numbers = self.here.put(np.arange(self.shape[1])[columns])
        return OnDevice(self.here, self.here.xp.take(self.values, numbers, axis=1))

    def edge_form(self, graph: Edges, n_jobs: int | None) -> Any:
        """For each feature f, compute the sum of `w_ij (f_i - f_j)^2` over all edges."""
        here, xp, X = self.here, self.here.xp, self.values
        left, right, weights = here.put(graph.left), here.put(graph.right), here.put(graph.totals)
        parts = []
        # A block is so narrow that a chunk below has at least 16 edges.
        for columns in slices(X.shape[1], BLOCK_SIZE // 16):
            block = X[:, columns]
            total = here.zeros(block.shape[1])
            for chunk in slices(len(graph.left), max(BLOCK_SIZE // max(block.shape[1], 1), 1)):
                difference = here.float64(xp.take(block, left[chunk], axis=0))
                difference = difference - here.float64(xp.take(block, right[chunk], axis=0))
                total = total + weights[chunk] @ (difference * difference)
            parts.append(total)
        return self.joined(parts)

    def reduce_rows(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        per_row: tuple[Any, ...],
        n_jobs: int | None,
    ) -> Any:
        """Apply a function to large blocks of rows in turn, and merge the results."""
        blocks = slices(self.shape[0], block_width(BLOCK_SIZE, self.shape[1]))
        found = (function(self.values[some, :], *(one[some] for one in per_row)) for some in blocks)
        return reduce(lambda total, more: merge([total, more]), found)

    def scaled_columns(self, scaling: Scaling, n_jobs: int) -> DeviceColumns:
        """Return all features, scaled and centred, on the device."""
        rows = scaling.rows(self.values)
        return DeviceColumns((rows - self.here.xp.mean(rows, axis=0)[None, :]).T)

    # -- distances ---------------------------------------------------------------------------

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` for the given pairs of rows by subtracting their values."""
        ends = self.here.put(left), self.here.put(right)
        found: FloatArray = to_numpy(device_neighbors.pair_distances(self.here, self.values, *ends))
        return found

    def products(self, dtype: Any, n_jobs: int | None) -> DeviceProducts:
        """Prepare the rows for fast distance computations in the given precision."""
        return products(self.here, self.values, getattr(self.here.xp, np.dtype(dtype).name))

    def nearest(self, n_neighbors: int, n_jobs: int | None, among: Search = EVERYTHING) -> Found:
        """Find the nearest neighbours of each query in a pool of rows."""
        return device_neighbors.nearest(self.here, self.values, n_neighbors, among)

    def median_distance(self, among: IntArray, n_jobs: int | None) -> float:
        """Compute the exact median of the squared distances between all samples on the device."""
        return device_neighbors.median_distance(self.here, self.values)

    def _on_the_cpu(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError("This computation requires X in CPU memory.")

    own_values = cells = block = dense_blocks = _on_the_cpu

    # -- kernels -----------------------------------------------------------------------------

    def kernel_tiles(self, codes: IntArray) -> Iterator[Tile]:
        """Yield the row and column numbers of each tile of a kernel's weight matrix."""
        for members in members_of(codes):
            for part in slices(len(members), max(BLOCK_SIZE // len(members), 1)):
                yield members[part], members

    def kernel_weights(self, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
        """Compute the kernel weights between rows and columns.

        The columns must be sorted and include the rows.
        """
        here, xp = self.here, self.here.xp
        distances = self._kernel_distances(graph, rows, columns)
        sigma = float(graph.sigma)
        weights = xp.exp(distances / sigma / (-2.0 * sigma))
        weights = xp.where(weights < VANISHED, xp.zeros_like(weights), weights)
        row = np.arange(len(rows))
        column = np.searchsorted(columns, rows)
        if graph.without is not None:
            left_out = graph.without[rows][:, columns].tocoo()
            row = np.concatenate([row, left_out.coords[0]])
            column = np.concatenate([column, left_out.coords[1]])
        nothing = here.zeros(len(row))
        return set_by_index(here, weights, here.put(row), here.put(column), nothing)

    def _kernel_distances(self, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
        here, xp = self.here, self.here.xp
        prepared, scale, sigma = graph.rows, graph.rows.scale**2, float(graph.sigma)
        own, all_of_them = here.put(rows), len(columns) == prepared.norms.shape[0]
        others = here.put(columns)
        mine = prepared.take(own)
        pool = prepared if all_of_them else prepared.take(others)
        squared = (tile(here, mine.rows, pool.rows, pool.norms) + mine.norms[:, None]) * scale
        # Distances that products do not resolve are computed directly unless the weight is 0.
        largest = float(xp.max(mine.errors) + xp.max(pool.errors)) * scale
        if largest > EXPONENT_ERROR * 2.0 * sigma * sigma:
            bound = (mine.errors[:, None] + pool.errors[None, :]) * scale
            row, column = xp.nonzero(unresolved(squared, bound, sigma))
            ends = xp.take(own, row), xp.take(others, column)
            exact = device_neighbors.pair_distances(here, graph.points.values, *ends)
            squared = set_by_index(here, squared, row, column, exact)
        return xp.where(squared > 0, squared, xp.zeros_like(squared))
