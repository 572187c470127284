"""Samples on a device: arrays of torch, cupy and other libraries that follow the array API.

The same sums as in memory, in the names of the standard. Block sizes are larger than on the CPU,
and nothing is written in place that came from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import block_width, slices
from linkselect._samples import device_neighbors
from linkselect._samples.device_neighbors import DeviceProducts, products, tile
from linkselect._samples.devices import BLOCK_SIZE, Device, set_by_index, to_numpy
from linkselect._samples.distances import CANCELLATION, EXPONENT_ERROR, VANISHED, unresolved
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
from linkselect.pairs._links import members_of

if TYPE_CHECKING:
    from linkselect.graphs._graph_types import Edges, Kernel

# Sums of a thousand million squares of this are finite.
LARGEST = 1e149


class OnDevice(Samples):
    """An array of another library than NumPy; methods that need it in memory do not work on it.

    Parameters
    ----------
    here : Device
        The library and the device.
    values : array of shape (n_samples, n_features)
        Any numeric type.
    """

    kind = "device"
    here: Device

    def __init__(self, here: Device, values: Any) -> None:
        super().__init__(values)
        self.here = here
        self._moments = partial(device_moments, here)

    def constant_columns(self) -> BoolArray:
        """Tell which features have one value only."""
        X, xp = self.values, self.here.xp
        parts = [xp.all(X[:, part] == X[:1, part], axis=0) for part in self._slices()]
        constant: BoolArray = to_numpy(self._joined(parts))
        return constant

    def fetched(self, values: Any) -> Any:
        """Copy what was computed from the device."""
        return to_numpy(values)

    def faint_columns(self) -> IntArray:
        """List the features that vary too little."""
        xp = self.here.xp
        if self.dtype != xp.float64:
            return NO_FEATURES
        blocks = (self.values[:, columns] for columns in self._slices())
        extent = self._joined([xp.max(some, axis=0) - xp.min(some, axis=0) for some in blocks])
        return np.flatnonzero(to_numpy((extent > 0) & (extent < FAINT)))

    def rounded_columns(self) -> IntArray:
        """List nothing: a device has computed with what it was given."""
        return NO_FEATURES

    def overflows(self) -> bool:
        """Tell whether squares of values overflow, which a device does without notice."""
        xp = self.here.xp
        if self.dtype != xp.float64:
            return False
        return max(float(xp.max(self.values)), -float(xp.min(self.values))) > LARGEST

    def column_keys(self, features: IntArray, runs: IntArray) -> list[Hashable]:
        """Return digests of the features that agree in the first samples; the CPU makes them."""
        xp, n_rows = self.here.xp, min(FIRST_ROWS, self.shape[0])
        heads = to_numpy(xp.take(self.values[:n_rows, :], self.here.put(features), axis=1))
        rivals = np.flatnonzero(shared(np.column_stack([runs, heads.T])))
        keys: list[Hashable] = features.tolist()
        if len(rivals):
            columns = to_numpy(xp.take(self.values, self.here.put(features[rivals]), axis=1))
            for place, column in zip(rivals, columns.T, strict=True):
                keys[place] = digest(column)
        return keys

    def _slices(self, n_rows: int | None = None) -> list[slice]:
        return slices(self.shape[1], block_width(BLOCK_SIZE, n_rows or self.shape[0]))

    def _joined(self, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else self.here.xp.concat(parts, axis=-1)

    def map_columns(
        self,
        function: Callable[[Any], Any],
        rows: IntArray | None = None,
        n_jobs: int | None = None,
        *,
        dense: bool = False,
    ) -> Any:
        """Apply a function to large column blocks, one after the other."""
        some = self if rows is None else self.take(rows)
        blocks = (some.values[:, columns] for columns in some._slices())
        return self._joined([function(self.here.float64(block)) for block in blocks])

    def take(self, rows: IntArray) -> OnDevice:
        """Return some rows."""
        return OnDevice(self.here, self.here.xp.take(self.values, self.here.put(rows), axis=0))

    def choose(self, columns: Columns) -> OnDevice:
        """Return some columns."""
        numbers = self.here.put(np.arange(self.shape[1])[columns])
        return OnDevice(self.here, self.here.xp.take(self.values, numbers, axis=1))

    def dense(self) -> Any:
        """Return the array."""
        return self.values

    def edge_form(self, graph: Edges, n_jobs: int | None) -> Any:
        """Compute the sum over edges of squared differences."""
        here, xp, X = self.here, self.here.xp, self.values
        left, right, weights = here.put(graph.left), here.put(graph.right), here.put(graph.totals)
        parts = []
        # At most so wide that a chunk below has 16 edges or more.
        for columns in slices(X.shape[1], BLOCK_SIZE // 16):
            block = X[:, columns]
            total = here.zeros(block.shape[1])
            for chunk in slices(len(graph.left), max(BLOCK_SIZE // max(block.shape[1], 1), 1)):
                difference = here.float64(xp.take(block, left[chunk], axis=0))
                difference = difference - here.float64(xp.take(block, right[chunk], axis=0))
                total = total + weights[chunk] @ (difference * difference)
            parts.append(total)
        return self._joined(parts)

    # -- distances ---------------------------------------------------------------------------

    def pair_distances(self, left: IntArray, right: IntArray, n_jobs: int | None) -> FloatArray:
        """Compute `|x_i - x_j|^2` by direct differences."""
        ends = self.here.put(left), self.here.put(right)
        found: FloatArray = to_numpy(device_neighbors.pair_distances(self.here, self.values, *ends))
        return found

    def products(self, dtype: Any, n_jobs: int | None) -> DeviceProducts:
        """Prepare the rows for fast distances."""
        return products(self.here, self.values, getattr(self.here.xp, np.dtype(dtype).name))

    def nearest(self, n_neighbors: int, n_jobs: int | None, among: Search = EVERYTHING) -> Found:
        """Find the nearest rows of a pool for each query."""
        return device_neighbors.nearest(self.here, self.values, n_neighbors, among)

    def pairs_within(self, radius: float, n_jobs: int | None) -> Found:
        """List all pairs of samples at most `radius` apart."""
        return device_neighbors.pairs_within(self.here, self.values, radius)

    def median_distance(self, among: IntArray, n_jobs: int | None) -> float:
        """Find the median squared distance."""
        return device_neighbors.median_distance(self.here, self.values)

    def _on_the_cpu(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError("This computation needs X in the memory of the CPU.")

    own_values = cells = _block = _column_slices = _on_the_cpu

    # -- kernels -----------------------------------------------------------------------------

    def kernel_degrees(self, graph: Kernel, n_jobs: int | None) -> FloatArray:
        """Add up the weights at each node."""
        degrees = np.zeros(len(graph.codes))
        for rows, members in _tiles(graph.codes):
            weights = self._tile_weights(graph, rows, members)
            degrees[rows] = to_numpy(self.here.xp.sum(weights, axis=1))
        return degrees

    def _tile_weights(self, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
        """Compute the weights between some rows and sorted columns that include them."""
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
        # Where products do not resolve the distance and the weight is not 0 anyway, differences do.
        largest = float(xp.max(mine.errors) + xp.max(pool.errors)) * scale
        if largest > EXPONENT_ERROR * 2.0 * sigma * sigma:
            bound = (mine.errors[:, None] + pool.errors[None, :]) * scale
            row, column = xp.nonzero(unresolved(squared, bound, sigma))
            ends = xp.take(own, row), xp.take(others, column)
            exact = device_neighbors.pair_distances(here, graph.points.values, *ends)
            squared = set_by_index(here, squared, row, column, exact)
        return xp.where(squared > 0, squared, xp.zeros_like(squared))

    def kernel_form(self, graph: Kernel, n_jobs: int | None) -> Any:
        """Compute `f'Lf` of a kernel tile by tile."""
        here, xp = self.here, self.here.xp
        columns = self._slices()
        centred_block = _CentredBlocks(self, keeps=len(columns) == 1)
        squares, form = here.zeros(self.shape[1]), here.zeros(self.shape[1])
        for rows, members in _tiles(graph.codes):
            weights = self._tile_weights(graph, rows, members)
            row_sums = xp.sum(weights, axis=1)
            place = here.put(np.searchsorted(members, rows))
            shares = []
            for some in columns:
                centred = centred_block(some, members)
                own = xp.take(centred, place, axis=0)
                square = row_sums @ (own * own)
                change = xp.sum(own * (weights @ centred), axis=0)
                shares.append(xp.stack([square, square - change]))
            both = self._joined(shares)
            squares, form = squares + both[0, :], form + both[1, :]
        form = xp.where(squares == 0, xp.zeros_like(form), form)
        unsure = np.flatnonzero(to_numpy((form <= CANCELLATION * squares) & (squares > 0)))
        if not len(unsure):
            return form
        exact = np.array(to_numpy(form))
        exact[unsure] = self._kernel_form_by_differences(graph, unsure)
        return here.put(exact)

    def _kernel_form_by_differences(self, graph: Kernel, features: IntArray) -> FloatArray:
        here, xp = self.here, self.here.xp
        total = np.zeros(len(features))
        for rows, members in _tiles(graph.codes):
            weights = self._tile_weights(graph, rows, members)
            for position, feature in enumerate(features):
                column = here.float64(self.values[:, int(feature)])
                own, others = (
                    xp.take(column, here.put(which), axis=0) for which in (rows, members)
                )
                difference = own[:, None] - others[None, :]
                # Every edge stands in two tiles.
                total[position] += float(xp.sum(difference * difference * weights)) / 2.0
        return total


class _CentredBlocks:
    """Centred blocks of samples; the last one is kept for the next tile if it is the only one."""

    def __init__(self, X: OnDevice, keeps: bool) -> None:
        self.X, self.keeps = X, keeps
        self.last: tuple[Any, Any] = None, None

    def __call__(self, columns: slice, rows: IntArray) -> Any:
        """Return some rows and columns in float64, whose columns have lost their mean."""
        if self.last[0] is rows:
            return self.last[1]
        here, block = self.X.here, self.X.values[:, columns]
        if len(rows) < block.shape[0]:
            block = here.xp.take(block, here.put(rows), axis=0)
        dense = here.float64(block)
        dense = dense - dense[:1, :]
        dense -= here.xp.mean(dense, axis=0)[None, :]
        if self.keeps:
            self.last = rows, dense
        return dense


def _tiles(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows and columns of each tile of the weight matrix."""
    for members in members_of(codes):
        for part in slices(len(members), max(BLOCK_SIZE // len(members), 1)):
            yield members[part], members
