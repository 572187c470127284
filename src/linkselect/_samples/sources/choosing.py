"""Selection of rows and columns by number, name or mask, and division of ranges into slices."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError, many

Columns = slice | IntArray


def as_numbers(chosen: Columns) -> IntArray:
    """Convert row or column numbers, or a slice, to an array of numbers."""
    return np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen


def chosen_numbers(chosen: ArrayLike, total: int, what: str) -> IntArray:
    """Convert a Boolean mask or numbers, which may be negative, to an array of row numbers."""
    given = np.asarray(chosen)
    if given.dtype == bool and given.shape == (total,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise GuidedTypeError(
            f"An array of dtype {given.dtype} and shape {given.shape} cannot select {what}.",
            f"Pass integers, or a Boolean mask of length {total:,}.",
        )
    numbers = given.astype(np.intp)
    outside = numbers[(numbers < -total) | (numbers >= total)]
    if len(outside):
        raise IndexError(
            f"Index {outside[0]:,} is out of range for the {what} ({total:,} in total)."
        )
    return numbers % total


def chosen_columns(
    label: str,
    total: int,
    names: Sequence[str] | None,
    columns: Sequence[str | int] | None,
    without: Sequence[str | int],
) -> list[int]:
    """Return the numbers of the columns to use, given columns to include and to exclude."""
    places: dict[str | int, int] = {place: place for place in range(total)}
    places |= {name: place for place, name in enumerate(names or ())}
    for column in (*(columns or ()), *without):
        if column not in places:
            ends = f", from {names[0]!r} to {names[-1]!r}" if names else ""
            raise GuidedValueError(
                f"{label} has no column {column!r}; it has {many(total, 'column')}{ends}.",
                "Pass column names, if there are any, or column numbers counted from 0.",
                "columns",
            )
    known = names or range(total)
    left_out = {known[places[column]] for column in without}
    wanted = range(total) if columns is None else [places[column] for column in columns]
    return [place for place in wanted if known[place] not in left_out]


def cut(total: int, size: int, edges: IntArray | None) -> list[slice]:
    """Split `range(total)` at some of the edges into pieces of at most `size`, if possible."""
    if edges is None:
        return slices(total, size)
    pieces, start = [], 0
    while start < total:
        furthest = int(np.searchsorted(edges, start + size, side="right")) - 1
        stop = int(edges[max(furthest, int(np.searchsorted(edges, start, side="right")))])
        pieces.append(slice(start, stop))
        start = stop
    return pieces


def divide(pieces: list[slice], size: int) -> list[slice]:
    """Divide pieces larger than twice `size`, although their chunks are then decoded repeatedly."""
    divided = []
    for piece in pieces:
        length = piece.stop - piece.start
        inner = slices(length, size if length > 2 * size else length)
        divided += [slice(piece.start + cut.start, piece.start + cut.stop) for cut in inner]
    return divided


def equal_stretches(values: IntArray) -> list[slice]:
    """Return slices for the runs of equal values in an array.

    Examples
    --------
    >>> equal_stretches(np.array([4, 4, 7]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    cuts = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return [slice(*ends) for ends in pairwise([0, *cuts, len(values)])]
