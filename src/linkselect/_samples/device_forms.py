"""The functions of `forms` that see X, for arrays on a device: the same sums in array API names.

Block sizes are larger than on the CPU, and nothing is written in place that came from outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import block_width, slices
from linkselect._samples.devices import BLOCK_SIZE, Device, to_numpy
from linkselect.graphs._device_kernels import kernel_tiles, tile_weights
from linkselect.graphs._graph_types import Edges, Kernel


def edge_form(here: Device, X: Any, graph: Edges) -> Any:
    """Compute the sum over edges of `w_ij (f_i - f_j)^2`, for every feature."""
    xp = here.xp
    left, right, weights = here.put(graph.left), here.put(graph.right), here.put(graph.totals)
    n_features = X.shape[1]
    parts = []
    # At most so wide that a chunk below has 16 edges or more.
    for columns in slices(n_features, BLOCK_SIZE // 16):
        block = X[:, columns]
        total = here.zeros(block.shape[1])
        for chunk in slices(len(graph.left), max(BLOCK_SIZE // max(block.shape[1], 1), 1)):
            difference = here.float64(xp.take(block, left[chunk], axis=0))
            difference = difference - here.float64(xp.take(block, right[chunk], axis=0))
            total = total + weights[chunk] @ (difference * difference)
        parts.append(total)
    return parts[0] if len(parts) == 1 else xp.concat(parts)


def kernel_form(here: Device, X: Any, graph: Kernel, cancellation: float) -> Any:
    """Compute `f'Lf` tile by tile as `f'Df - f'Wf`, on centred columns."""
    xp = here.xp
    columns = slices(X.shape[1], block_width(BLOCK_SIZE, X.shape[0]))
    centre = _Centre(here, X, len(columns))
    squares, form = here.zeros(X.shape[1]), here.zeros(X.shape[1])
    for rows, members in kernel_tiles(graph.codes):
        weights = tile_weights(here, graph, rows, members)
        row_sums = xp.sum(weights, axis=1)
        place = here.put(np.searchsorted(members, rows))
        shares = []
        for some in columns:
            centred = centre.block(some, members)
            own = xp.take(centred, place, axis=0)
            square = row_sums @ (own * own)
            shares.append(xp.stack([square, square - xp.sum(own * (weights @ centred), axis=0)]))
        both = shares[0] if len(shares) == 1 else xp.concat(shares, axis=1)
        squares, form = squares + both[0, :], form + both[1, :]
    form = xp.where(squares == 0, xp.zeros_like(form), form)
    unsure = np.flatnonzero(to_numpy((form <= cancellation * squares) & (squares > 0)))
    if not len(unsure):
        return form
    exact = np.array(to_numpy(form))
    exact[unsure] = _kernel_form_by_differences(here, X, graph, unsure)
    return here.put(exact)


def _kernel_form_by_differences(
    here: Device, X: Any, graph: Kernel, features: IntArray
) -> FloatArray:
    xp = here.xp
    total = np.zeros(len(features))
    for rows, members in kernel_tiles(graph.codes):
        weights = tile_weights(here, graph, rows, members)
        for position, feature in enumerate(features):
            column = here.float64(X[:, int(feature)])
            own, others = (xp.take(column, here.put(which), axis=0) for which in (rows, members))
            difference = own[:, None] - others[None, :]
            # Every edge stands in two tiles.
            total[position] += float(xp.sum(difference * difference * weights)) / 2.0
    return total


class _Centre:
    """Centred blocks of X; the last one is kept for the next tile if it is the only one."""

    def __init__(self, here: Device, X: Any, n_blocks: int) -> None:
        self.here, self.X = here, X
        self.keeps = n_blocks == 1
        self.last: tuple[Any, Any] = None, None

    def block(self, columns: slice, rows: IntArray) -> Any:
        """Return some rows and columns in float64, whose columns have lost their mean."""
        if self.last[0] is rows:
            return self.last[1]
        here, block = self.here, self.X[:, columns]
        if len(rows) < block.shape[0]:
            block = here.xp.take(block, here.put(rows), axis=0)
        dense = here.float64(block)
        dense = dense - dense[:1, :]
        dense -= here.xp.mean(dense, axis=0)[None, :]
        if self.keeps:
            self.last = rows, dense
        return dense
