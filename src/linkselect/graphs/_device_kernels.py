"""The functions of `kernels` that see X, for arrays on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples.devices import BLOCK_SIZE, Device, set_by_index, to_numpy
from linkselect.graphs._device_distances import pair_distances, tile
from linkselect.graphs._graph_types import EXPONENT_ERROR, VANISHED, VANISHED_BEYOND, Kernel
from linkselect.pairs._links import members_of


def kernel_tiles(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows and columns of each tile of the weight matrix."""
    for members in members_of(codes):
        for part in slices(len(members), max(BLOCK_SIZE // len(members), 1)):
            yield members[part], members


def kernel_degrees(here: Device, graph: Kernel) -> FloatArray:
    """Add up the weights at each node, without the diagonal."""
    degrees = np.zeros(len(graph.codes))
    for rows, members in kernel_tiles(graph.codes):
        weights = tile_weights(here, graph, rows, members)
        degrees[rows] = to_numpy(here.xp.sum(weights, axis=1))
    return degrees


def tile_weights(here: Device, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
    """Compute the weights between some rows and sorted columns that include them."""
    xp = here.xp
    distances = _kernel_distances(here, graph, rows, columns)
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


def _kernel_distances(here: Device, graph: Kernel, rows: IntArray, columns: IntArray) -> Any:
    xp = here.xp
    prepared, scale, sigma = graph.rows, graph.rows.scale**2, float(graph.sigma)
    own, all_of_them = here.put(rows), len(columns) == prepared.norms.shape[0]
    others = here.put(columns)
    mine = prepared.take(own)
    pool = prepared if all_of_them else prepared.take(others)
    squared = (tile(here, mine.rows, pool.rows, pool.norms) + mine.norms[:, None]) * scale
    # Where products do not resolve the distance and the weight is not 0 anyway, differences do.
    resolved = EXPONENT_ERROR * 2.0 * sigma * sigma
    if float(xp.max(mine.errors) + xp.max(pool.errors)) * scale > resolved:
        bound = (mine.errors[:, None] + pool.errors[None, :]) * scale
        alive = squared - bound < VANISHED_BEYOND * sigma * sigma
        row, column = xp.nonzero((bound > resolved) & alive)
        exact = pair_distances(here, graph.points, xp.take(own, row), xp.take(others, column))
        squared = set_by_index(here, squared, row, column, exact)
    return xp.where(squared > 0, squared, xp.zeros_like(squared))
