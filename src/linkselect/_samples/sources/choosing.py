"""Rows and columns: chosen by number, name or mask, and cut into pieces."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import IntArray
from linkselect._blocks import slices
from linkselect._messages import GuidedTypeError, GuidedValueError

Columns = slice | IntArray


def as_numbers(chosen: Columns) -> IntArray:
    """Return the numbers of rows or columns, also of those that are a slice."""
    return np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen


def chosen_numbers(chosen: ArrayLike, total: int, what: str) -> IntArray:
    """Return what is chosen by numbers, from the end if negative, or by a mask."""
    given = np.asarray(chosen)
    if given.dtype == bool and given.shape == (total,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise GuidedTypeError(
            f"The {what} are chosen by an array of type {given.dtype} and shape {given.shape}.",
            f"Pass whole numbers, or {total:,} times True or False.",
        )
    numbers = given.astype(np.intp)
    outside = numbers[(numbers < -total) | (numbers >= total)]
    if len(outside):
        raise IndexError(f"The {what} are {total:,}; there is no number {outside[0]:,}.")
    return numbers % total


def chosen_columns(
    label: str,
    total: int,
    names: Sequence[str] | None,
    columns: Sequence[str | int] | None,
    without: Sequence[str | int],
) -> list[int]:
    """Return the places of the columns to use, which are chosen and left out by name or number."""
    places: dict[str | int, int] = {place: place for place in range(total)}
    places |= {name: place for place, name in enumerate(names or ())}
    for column in (*(columns or ()), *without):
        if column not in places:
            ends = f", from {names[0]!r} to {names[-1]!r}" if names else ""
            raise GuidedValueError(
                f"{label} has no column {column!r}; it has {total:,}{ends}.",
                "Give numbers from 0, or names of its columns if it has any.",
                "columns",
            )
    known = names or range(total)
    left_out = {known[places[column]] for column in without}
    wanted = range(total) if columns is None else [places[column] for column in columns]
    return [place for place in wanted if known[place] not in left_out]


def cut(total: int, size: int, edges: IntArray | None) -> list[slice]:
    """Cut `range(total)` at some of the edges, so that pieces have at most `size` if they can."""
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
    """Divide pieces that are far too large, though reading a part of a chunk decodes all of it."""
    divided = []
    for piece in pieces:
        length = piece.stop - piece.start
        inner = slices(length, size if length > 2 * size else length)
        divided += [slice(piece.start + cut.start, piece.start + cut.stop) for cut in inner]
    return divided


def equal_stretches(values: IntArray) -> list[slice]:
    """Cut an array where its values change.

    Examples
    --------
    >>> equal_stretches(np.array([4, 4, 7]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    cuts = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return [slice(*ends) for ends in pairwise([0, *cuts, len(values)])]
