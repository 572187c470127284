"""What is done to the values of a table that is read by parts, as `preparation` does in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect.cli._preparation import (
    Preparation,
    about_empty,
    about_missing,
    about_rounding,
    infinite_value,
    refuse_faint,
    too_large,
)
from linkselect.cli._tables.parts import StoredTable, library_errors

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Part, Stored

Place = tuple[int, int]

# A median is taken over so many rows, and over fewer if that would take more bytes. Its standard
# error is then 1.25 / sqrt(20,000), less than 1 % of the standard deviation of its column.
MOST_ROWS = 20_000
MOST_BYTES = 128 * 2**20


@dataclass(frozen=True)
class ColumnValues:
    """What the values of some rows that are not missing are, for each column.

    Attributes
    ----------
    n_rows : int
        How many rows.
    low, high : ndarray
        The least and the largest value, NaN if there is none.
    n_missing : ndarray of int
        How many values are missing.
    mean, squares : ndarray
        The mean, 0 if there is no value, and the sum of squared differences from it. Both 0 if
        they were not asked for.
    missing, infinite : tuple of int, or None
        Row and column of the first such value.
    """

    n_rows: int
    low: FloatArray
    high: FloatArray
    n_missing: IntArray
    mean: FloatArray
    squares: FloatArray
    missing: Place | None = None
    infinite: Place | None = None

    def choose(self, kept: IntArray) -> ColumnValues:
        """Return the same of some columns."""
        return replace(self, **{name: getattr(self, name)[kept] for name in _BY_COLUMN})


_BY_COLUMN = ("low", "high", "n_missing", "mean", "squares")


def look_at_values(X: Stored, moments: bool) -> ColumnValues:
    """Read stored samples once for what scaling and filling need to know.

    `moments` tells whether means and squares are needed.
    """
    from linkselect._samples.sources.running import map_parts, reduce_parts

    work = partial(_of_part, moments=moments)
    if X.by_columns:
        return _beside(map_parts(X, work, what="look at values"))
    found: ColumnValues = reduce_parts(X, work, partial(reduce, _merged), what="look at values")
    return found


def _of_part(part: Part, *, moments: bool) -> ColumnValues:
    place = part.columns.start
    return reduce(
        _merged, [_of_slab(slab, rows.start, place, moments) for rows, slab in part.slabs()]
    )


def _of_slab(slab: NDArray[Any], row: int, column: int, moments: bool) -> ColumnValues:
    low, high = slab.min(axis=0).astype(np.float64), slab.max(axis=0).astype(np.float64)
    n_missing = np.zeros(len(low), dtype=np.intp)
    # NaN takes part in every comparison, so that whole columns need no second look.
    some = np.flatnonzero(np.isnan(low))
    if len(some):
        n_missing[some] = np.isnan(slab[:, some]).sum(axis=0)
        low[some] = np.fmin.reduce(slab[:, some], axis=0)
        high[some] = np.fmax.reduce(slab[:, some], axis=0)
    missing = _first(np.isnan, slab, some, row, column)
    endless = np.flatnonzero(np.isinf(low) | np.isinf(high))
    infinite = _first(np.isinf, slab, endless, row, column)
    mean = squares = np.zeros(len(low))
    if moments and infinite is None:
        mean, squares = _moments(slab)
    return ColumnValues(len(slab), low, high, n_missing, mean, squares, missing, infinite)


def _first(
    is_odd: Callable[[Any], Any], slab: NDArray[Any], columns: IntArray, row: int, column: int
) -> Place | None:
    """Return the first place of an odd value among some columns of a slab that begins there."""
    if not len(columns):
        return None
    found, place = np.argwhere(is_odd(slab[:, columns]))[0].tolist()
    return row + found, column + int(columns[place])


def _moments(slab: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return mean and sum of squared differences of the known values of each column."""
    from linkselect._blocks import column_slices

    means, squares = np.empty(slab.shape[1]), np.empty(slab.shape[1])
    for columns in column_slices(slab):
        block = slab[:, columns].astype(np.float64)
        gaps = np.isnan(block)
        # Counted from a known value of the column, so that an offset costs no digits.
        origin = np.nan_to_num(block[gaps.argmin(axis=0), np.arange(block.shape[1])])
        block -= origin
        block[gaps] = 0.0
        mean = block.sum(axis=0) / np.maximum(len(block) - gaps.sum(axis=0), 1)
        block -= mean
        block[gaps] = 0.0
        means[columns], squares[columns] = origin + mean, np.einsum("ij,ij->j", block, block)
    return means, squares


def _merged(one: ColumnValues, other: ColumnValues) -> ColumnValues:
    """Merge what is known of rows below each other."""
    # The update of Chan, Golub and LeVeque.
    n_one, n_other = one.n_rows - one.n_missing, other.n_rows - other.n_missing
    share = n_other / np.maximum(n_one + n_other, 1)
    gap = other.mean - one.mean
    return ColumnValues(
        one.n_rows + other.n_rows,
        np.fmin(one.low, other.low),
        np.fmax(one.high, other.high),
        one.n_missing + other.n_missing,
        one.mean + share * gap,
        one.squares + other.squares + gap**2 * n_one * share,
        _soonest([one.missing, other.missing]),
        _soonest([one.infinite, other.infinite]),
    )


def _beside(some: Sequence[ColumnValues]) -> ColumnValues:
    """Join what is known of columns beside each other."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in some]) for name in _BY_COLUMN
    }
    return replace(
        some[0],
        **joined,
        missing=_soonest(one.missing for one in some),
        infinite=_soonest(one.infinite for one in some),
    )


def _soonest(places: Iterable[Place | None]) -> Place | None:
    return min((place for place in places if place is not None), default=None)


# -- filling and scaling ---------------------------------------------------------------------


def settle_stored(
    table: StoredTable, prepare: Preparation, seed: int
) -> tuple[StoredTable, Preparation, list[str], ColumnValues]:
    """Refuse infinite values, and missing ones unless they are to be filled; fill and scale.

    Returns the table as the method sees it, without columns that have no value; what was done to
    the others; what should be said; and what the values were before.
    """
    from linkselect._samples.samples import LARGEST_EXACT

    with library_errors():
        seen = look_at_values(table.X, prepare.scale == "standard" or prepare.impute == "mean")
    if seen.infinite is not None:
        raise infinite_value(table, *seen.infinite)
    empty = seen.n_missing == seen.n_rows
    large = np.fmax(-seen.low, seen.high) > LARGEST_EXACT
    notes = about_rounding(table, np.flatnonzero(large & table.X.whole))
    notes += about_empty(table, np.flatnonzero(empty))
    first = seen.missing
    if empty.any():
        kept = np.flatnonzero(~empty)
        first = None if first is None or empty[first[1]] else first
        table, seen = table.with_features(kept), seen.choose(kept)
    if prepare.scale == "none":
        refuse_faint(table, seen.high - seen.low)
    X = table.X
    if seen.n_missing.any():
        row = None if first is None else first[0]
        notes.append(about_missing(table, seen.n_missing, prepare.impute, row))
        values, about = _replacements(X, seen, prepare, seed)
        X, notes = X.filled(values), [*notes, *about]
        seen = _with_filled(seen, values)
    else:
        prepare = replace(prepare, impute="none")
    return replace(table, X=_scaled(X, seen, prepare)), prepare, notes, seen


def _replacements(
    X: Stored, seen: ColumnValues, prepare: Preparation, seed: int
) -> tuple[FloatArray, list[str]]:
    """Return what is put where values are missing; of columns without gaps it does not matter."""
    if prepare.impute == "mean":
        return seen.mean, []
    columns = np.flatnonzero(seen.n_missing)
    n_rows = min(seen.n_rows, MOST_ROWS, max(X.allowed(MOST_BYTES) // (8 * len(columns)), 100))
    rows = np.sort(np.random.default_rng(seed).choice(seen.n_rows, n_rows, replace=False))
    with library_errors():
        drawn = X.choose(columns).take(rows)
    known = ~np.isnan(drawn).all(axis=0)
    values = np.array(seen.low)
    # A column with so few values that none was drawn gets the middle of its range.
    values[columns] = (seen.low[columns] + seen.high[columns]) / 2
    values[columns[known]] = np.nanmedian(drawn[:, known].astype(np.float64), axis=0)
    if n_rows == seen.n_rows:
        return values, []
    return values, [
        f"medians were estimated from {n_rows:,} rows, drawn by --seed, since the table is read by "
        "parts; --impute mean is exact."
    ]


def _with_filled(seen: ColumnValues, values: FloatArray) -> ColumnValues:
    """Return what is seen of the values after the missing ones were filled."""
    n_known = seen.n_rows - seen.n_missing
    gap = values - seen.mean
    return replace(
        seen,
        mean=seen.mean + gap * seen.n_missing / seen.n_rows,
        squares=seen.squares + gap**2 * n_known * seen.n_missing / seen.n_rows,
    )


def _scaled(X: Stored, seen: ColumnValues, prepare: Preparation) -> Stored:
    if prepare.scale == "none":
        return X
    constant = seen.low == seen.high
    with np.errstate(over="ignore"):
        scale = seen.high - seen.low
    if not np.isfinite(scale).all():
        raise too_large()
    if prepare.scale == "minmax":
        return X.scaled(seen.low, np.where(constant, 1.0, scale))
    deviation = np.sqrt(seen.squares / seen.n_rows)
    return X.scaled(seen.mean, np.where(constant, 1.0, deviation))
