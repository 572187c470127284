"""Dask arrays, read by lines of blocks; never rechunked."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.states import two_dimensional
from linkselect._samples.sources.stored import Columns, Part, Source, numeric_type

Blocks = list[list[NDArray[Any]]]


class DaskSource(Source):
    """A dask array of two dimensions.

    Without an active client, the thread that reads a part computes its blocks. With one, they are
    tasks of the cluster, and `given` takes their results.
    """

    def __init__(self, array: Any) -> None:
        self.label = "the dask array"
        if np.isnan(array.shape).any():
            raise GuidedValueError(
                "The lengths of the chunks of the dask array are unknown.",
                "Make it by to_dask_array(lengths=True) of a DataFrame, or call "
                "compute_chunk_sizes() of the array.",
                "X",
            )
        self.shape = two_dimensional(array.shape, self.label)
        if type(array._meta) is not np.ndarray:
            raise GuidedTypeError(
                f"The blocks of the dask array are of {type(array._meta)}.",
                f"Turn them into NumPy arrays: {to_numpy_blocks(array._meta)}.",
                "X",
            )
        self.dtype = numeric_type(array.dtype, self.label)
        self.array = array
        self.edges = [np.append(0, np.cumsum(lengths)).astype(np.intp) for lengths in array.chunks]
        self.computed: Blocks | None = None

    def row_edges(self) -> IntArray:
        """Return where chunks begin, and the end."""
        return self.edges[0]

    def column_edges(self) -> IntArray:
        """Return where chunks begin, and the end."""
        return self.edges[1]

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Find nothing: what the blocks are made of is known to nobody."""

    def read(
        self, rows: slice, columns: Columns, height: int
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the values of some columns of whole lines of blocks."""
        blocks = self._compute(rows, columns) if self.computed is None else self.computed
        inside = slice(None) if self._must_cut(columns) else self._columns_inside(columns)
        start = rows.start
        for number, line in zip(self._lines(rows), blocks, strict=True):
            self._check_line(number, line, columns)
            for piece in slices(len(line[0]), height):
                values = line[0] if len(line) == 1 else None
                if values is None:
                    values = np.concatenate([block[piece] for block in line], axis=1)
                else:
                    values = values[piece]
                found = slice(start + piece.start, start + piece.stop)
                # Blocks belong to the graph of the user: nobody may write to them.
                yield found, np.array(values[:, inside], dtype=self.dtype, order="C")
            start += len(line[0])

    def blocks(self, rows: slice, columns: Columns) -> Any:
        """Return the blocks of a part as delayed values, for a cluster."""
        if self._must_cut(columns):
            cut = self.array[rows, columns]
            return filled_lines(cut.to_delayed().tolist(), cut)
        lines, needed = self._lines(rows), self._blocks_needed(columns)
        return [[self._delayed[i, j] for j in needed] for i in lines]

    def without_blocks(self) -> DaskSource:
        """Return the same without the graph."""
        light = copy(self)
        for name in ("array", "_delayed", "_graph"):
            light.__dict__.pop(name, None)
        return light

    def given(self, blocks: Blocks) -> DaskSource:
        """Return a source that reads one part from its blocks."""
        filled = copy(self)
        filled.computed = blocks
        return filled

    def held_bytes(self, part: Part) -> int:
        """Return how much of a part is held at once: all of its blocks."""
        columns = part.samples.columns_of(part)
        n_rows = part.rows.stop - part.rows.start
        lengths = np.diff(self.edges[1])[self._blocks_needed(columns)]
        return int(n_rows * lengths.sum() * self.dtype.itemsize)

    def where_failed(self, rows: slice) -> str:
        """Say which rows the blocks hold that could not be computed."""
        return (
            f"This happened in the blocks of the dask array for rows {rows.start:,} to "
            f"{rows.stop:,}. Nothing was fitted."
        )

    def _compute(self, rows: slice, columns: Columns) -> Blocks:
        """Compute the blocks of a part in this thread."""
        import dask
        from dask.optimization import cull

        if self._must_cut(columns):
            cut = self.array[rows, columns]
            graph = dict(dask.optimize(cut)[0].__dask_graph__())
            grid = filled_lines(cut.__dask_keys__(), cut)
        else:
            graph, keys = self._graph
            needed = self._blocks_needed(columns)
            grid = [[keys[i][j] for j in needed] for i in self._lines(rows)]
        wanted = [key for line in grid for key in line]
        try:
            values = iter(dask.get(cull(graph, wanted)[0], wanted))
        except Exception as error:
            error.add_note(self.where_failed(rows))
            raise
        return [[np.asarray(next(values)) for _ in line] for line in grid]

    @cached_property
    def _graph(self) -> tuple[dict[Any, Any], Any]:
        """The optimized graph and the keys of all blocks: once for all parts."""
        import dask

        optimized = dask.optimize(self.array)[0]
        return dict(optimized.__dask_graph__()), optimized.__dask_keys__()

    @cached_property
    def _delayed(self) -> NDArray[np.object_]:
        return np.asarray(self.array.to_delayed(), dtype=object)

    def _lines(self, rows: slice) -> list[int]:
        """Return the numbers of the lines of blocks that hold some rows; blocks may be empty."""
        first, last = np.searchsorted(self.edges[0], (rows.start, rows.stop))
        return [
            line for line in range(first, last) if self.edges[0][line] < self.edges[0][line + 1]
        ]

    def _blocks_needed(self, columns: Columns) -> IntArray:
        """Return the numbers of the blocks in a line that hold some columns."""
        places = np.arange(self.shape[1])[columns]
        return np.unique(np.searchsorted(self.edges[1], places, side="right") - 1)

    def _must_cut(self, columns: Columns) -> bool:
        """Whether a part has only a piece of a block, which dask may read on its own."""
        if not isinstance(columns, slice):
            return False
        return not np.isin((columns.start, columns.stop), self.edges[1]).all()

    def _columns_inside(self, columns: Columns) -> Columns:
        """Return where some columns are in the blocks that hold them, joined."""
        if isinstance(columns, slice):
            return slice(None)
        needed = self._blocks_needed(columns)
        lengths = np.diff(self.edges[1])
        starts = np.zeros(len(lengths), np.intp)
        starts[needed] = np.cumsum(lengths[needed]) - lengths[needed]
        block = np.searchsorted(self.edges[1], columns, side="right") - 1
        return np.asarray(starts[block] + columns - self.edges[1][block], np.intp)

    def _check_line(self, number: int, line: list[NDArray[Any]], columns: Columns) -> None:
        """Refuse blocks that are not what the array says they are."""
        start, stop = self.edges[0][number : number + 2]
        if self._must_cut(columns):
            width = len(range(*columns.indices(self.shape[1]))) if isinstance(columns, slice) else 0
        else:
            width = int(np.diff(self.edges[1])[self._blocks_needed(columns)].sum())
        heights = {len(block) if block.ndim == 2 else -1 for block in line}
        if heights != {stop - start} or sum(block.shape[1] for block in line) != width:
            found = " and ".join(str(block.shape) for block in line)
            what = f"shape {found}, which is not that of its chunks"
        elif not all(np.can_cast(block.dtype, self.dtype, "same_kind") for block in line):
            what = f"type {line[0].dtype}, but the array says {self.dtype}"
        else:
            return
        raise GuidedValueError(
            f"Blocks of the dask array for rows {start:,} to {stop:,} have {what}.",
            "Pass the chunks= and dtype= that the function really returns to map_blocks or "
            "from_delayed.",
            "X",
        )


def to_numpy_blocks(block: Any) -> str:
    """Say how blocks of another kind become arrays of NumPy."""
    if isinstance(block, np.ma.MaskedArray):
        return "dask.array.ma.filled(X, VALUE)"
    ways = ("toarray", "todense", "get")
    way = next((f".{way}()" for way in ways if hasattr(block, way)), ".__array__()")
    # Without meta Dask tries the function on an array of NumPy, which lacks the method.
    return f"X.map_blocks(lambda block: block{way}, meta=numpy.empty((0, 0), X.dtype))"


def filled_lines(grid: list[Any], array: Any) -> list[Any]:
    """Return the lines of blocks that hold a row."""
    return [line for line, length in zip(grid, array.chunks[0], strict=True) if length]
