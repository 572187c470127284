"""Reader of dask arrays by rows of blocks, without rechunking."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.choosing import Columns, as_numbers
from linkselect._samples.sources.states import two_dimensional
from linkselect._samples.sources.stored import Part, Slabs, Source, numeric_type

Blocks = list[list[NDArray[Any]]]


class DaskSource(Source):
    """Samples in a two-dimensional dask array.

    Without an active client, the thread that reads a part also computes its blocks. With a client,
    the blocks are computed by tasks on the cluster, and their results are passed to `given`.
    """

    def __init__(self, array: Any) -> None:
        self.label = "the dask array"
        if np.isnan(array.shape).any():
            raise GuidedValueError(
                "The chunk sizes of the dask array are unknown.",
                "Create the array with DataFrame.to_dask_array(lengths=True), or call its method "
                "compute_chunk_sizes().",
                "X",
            )
        self.shape = two_dimensional(array.shape, self.label)
        if type(array._meta) is not np.ndarray:
            raise GuidedTypeError(
                f"The blocks of the dask array are of type {type(array._meta).__name__}.",
                f"Convert them to NumPy arrays with {to_numpy_blocks(array._meta)}.",
                "X",
            )
        self.dtype = numeric_type(array.dtype, self.label)
        self.array = array
        self.ends = [np.append(0, np.cumsum(lengths)).astype(np.intp) for lengths in array.chunks]
        self.computed: Blocks | None = None

    def edges(self, axis: int) -> IntArray:
        """Return the first row or column of every chunk, followed by the length of the axis."""
        return self.ends[axis]

    def check_unchanged(self, rows: slice, columns: Columns) -> None:
        """Do nothing, because the files from which blocks are computed are unknown."""

    def read(self, rows: slice, columns: Columns, height: int) -> Slabs:
        """Yield slices of rows and their values in some columns, one row of blocks at a time."""
        blocks = self._compute(rows, columns) if self.computed is None else self.computed
        held = self._columns_held(columns)
        inside = slice(None) if isinstance(columns, slice) else np.searchsorted(held, columns)
        for number, line in zip(self._lines(rows), blocks, strict=True):
            start = int(self.ends[0][number])
            self._check_line(slice(start, int(self.ends[0][number + 1])), line, len(held))
            for piece in slices(len(line[0]), height):
                pieces = [block[piece] for block in line]
                values = pieces[0] if len(line) == 1 else np.concatenate(pieces, axis=1)
                found = slice(start + piece.start, start + piece.stop)
                # A copy, because blocks belong to the user's graph and may be used again.
                yield found, np.array(values[:, inside], dtype=self.dtype, order="C")

    def blocks(self, rows: slice, columns: Columns) -> Any:
        """Return the blocks of a part as delayed values, to be computed by a cluster."""
        array, lines, needed = self._needed(rows, columns)
        delayed = self._delayed if array is self.array else array.to_delayed()
        return [[delayed[i, j] for j in needed] for i in lines]

    def without_blocks(self) -> DaskSource:
        """Return a copy of this source without the task graph."""
        light = copy(self)
        for name in ("array", "_delayed", "_graph"):
            light.__dict__.pop(name, None)
        return light

    def given(self, blocks: Blocks) -> DaskSource:
        """Return a source that reads one part from its computed blocks."""
        filled = copy(self)
        filled.computed = blocks
        return filled

    def held_bytes(self, part: Part) -> int:
        """Return the memory in bytes that all blocks of a part require."""
        width = len(self._columns_held(part.samples.columns_of(part)))
        return (part.rows.stop - part.rows.start) * width * self.dtype.itemsize

    def where_failed(self, rows: slice) -> str:
        """Describe the rows of the blocks that could not be computed."""
        return (
            f"This error occurred in the blocks of the dask array for rows {rows.start:,} to "
            f"{rows.stop:,}. No model was fitted."
        )

    def _compute(self, rows: slice, columns: Columns) -> Blocks:
        """Compute the blocks of a part in this thread."""
        import dask
        from dask.optimization import cull

        array, lines, needed = self._needed(rows, columns)
        graph, keys = self._graph if array is self.array else _optimized(array)
        wanted = [keys[i][j] for i in lines for j in needed]
        try:
            values = iter(dask.get(cull(graph, wanted)[0], wanted))
        except Exception as error:
            error.add_note(self.where_failed(rows))
            raise
        return [[np.asarray(next(values)) for _ in needed] for _ in lines]

    @cached_property
    def _graph(self) -> tuple[dict[Any, Any], Any]:
        """The optimised task graph and the keys of all blocks, computed once for all parts."""
        return _optimized(self.array)

    @cached_property
    def _delayed(self) -> NDArray[np.object_]:
        return np.asarray(self.array.to_delayed(), dtype=object)

    def _needed(self, rows: slice, columns: Columns) -> tuple[Any, Sequence[int], Sequence[int]]:
        """Return an array, and the positions of its blocks that contain the given rows and columns.

        If only a piece of a block is needed, the array is sliced, so that dask may read only this
        piece.
        """
        if self._is_piece(columns):
            cut = self.array[rows, columns]
            lines = np.flatnonzero(cut.chunks[0])
            return cut, lines.tolist(), range(cut.numblocks[1])
        return self.array, self._lines(rows), self._block_numbers(columns).tolist()

    def _lines(self, rows: slice) -> list[int]:
        """Return the numbers of the nonempty rows of blocks that contain the given rows."""
        first, last = np.searchsorted(self.ends[0], (rows.start, rows.stop))
        filled = np.flatnonzero(np.diff(self.ends[0][first : last + 1]))
        return (first + filled).tolist()

    def _block_numbers(self, columns: Columns) -> IntArray:
        """Return the numbers of the columns of blocks that contain the given columns."""
        return np.unique(np.searchsorted(self.ends[1], as_numbers(columns), side="right") - 1)

    def _is_piece(self, columns: Columns) -> bool:
        """Return whether a slice of columns begins or ends within a block."""
        if not isinstance(columns, slice):
            return False
        return not np.isin((columns.start, columns.stop), self.ends[1]).all()

    def _columns_held(self, columns: Columns) -> IntArray:
        """Return the numbers of all columns in the blocks that contain the given columns."""
        if isinstance(columns, slice):
            return as_numbers(columns)
        blocks = self._block_numbers(columns)
        return np.concatenate([np.arange(*self.ends[1][block : block + 2]) for block in blocks])

    def _check_line(self, rows: slice, line: list[NDArray[Any]], width: int) -> None:
        """Raise an error if blocks do not have the shape and dtype declared by the array."""
        heights = {len(block) if block.ndim == 2 else -1 for block in line}
        if heights != {rows.stop - rows.start} or sum(block.shape[1] for block in line) != width:
            found = " and ".join(str(block.shape) for block in line)
            what = f"shape {found}, which differs from the chunks of the array"
        elif not all(np.can_cast(block.dtype, self.dtype, "same_kind") for block in line):
            what = f"dtype {line[0].dtype}, but the array declares {self.dtype}"
        else:
            return
        raise GuidedValueError(
            f"Blocks of the dask array for rows {rows.start:,} to {rows.stop:,} have {what}.",
            "Pass the actual chunks and dtype of the blocks to map_blocks or from_delayed.",
            "X",
        )


def _optimized(array: Any) -> tuple[dict[Any, Any], Any]:
    """Return the optimised task graph of an array and the keys of its blocks."""
    import dask

    optimized = dask.optimize(array)[0]
    return dict(optimized.__dask_graph__()), optimized.__dask_keys__()


def to_numpy_blocks(block: Any) -> str:
    """Return an expression that converts blocks of another type to NumPy arrays."""
    if isinstance(block, np.ma.MaskedArray):
        return "dask.array.ma.filled(X, VALUE)"
    ways = ("toarray", "todense", "get")
    way = next((f".{way}()" for way in ways if hasattr(block, way)), ".__array__()")
    # Without meta, dask would call the function with a NumPy array, which lacks the method.
    return f"X.map_blocks(lambda block: block{way}, meta=numpy.empty((0, 0), X.dtype))"
