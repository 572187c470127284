"""What is done to the values of a table that is read by parts, as `preparation` does in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    from linkselect._samples.sources import Part, Stored

Place = tuple[int, int]

# A median is taken over so many rows, and over fewer if that would take more bytes. Its standard
# error is then 1.25 / sqrt(20,000), less than 1 % of the standard deviation of its column.
MOST_ROWS = 20_000
MOST_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Told:
    """What the known values of some rows tell, for each column.

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

    def choose(self, kept: IntArray) -> Told:
        """Return what is told of some columns."""
        names = ("low", "high", "n_missing", "mean", "squares")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})


def tell(X: Stored, moments: bool) -> Told:
    """Read stored samples once, and say what scaling and filling need to know.

    Parameters
    ----------
    X : Stored
        The samples.
    moments : bool
        Whether means and squares are needed.
    """
    from linkselect._samples.sources import map_parts, reduce_parts

    work = partial(_tell_of_part, moments=moments)
    if X.by_columns:
        return _beside(map_parts(X, work, what="look at values"))
    found: Told = reduce_parts(X, work, _below, what="look at values")
    return found


def _tell_of_part(part: Part, *, moments: bool) -> Told:
    place = part.columns.start
    return _below([_tell_of_slab(slab, rows.start, place, moments) for rows, slab in part.slabs()])


def _tell_of_slab(slab: NDArray[Any], row: int, column: int, moments: bool) -> Told:
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
    return Told(len(slab), low, high, n_missing, mean, squares, missing, infinite)


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

    found = []
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
        found.append((origin + mean, np.einsum("ij,ij->j", block, block)))
    means, squares = zip(*found, strict=True)
    return np.concatenate(means), np.concatenate(squares)


def _below(some: Sequence[Told]) -> Told:
    """Merge what is told of rows below each other."""
    first = some[0]
    for other in some[1:]:
        first = _merged(first, other)
    return first


def _merged(one: Told, other: Told) -> Told:
    # The update of Chan, Golub and LeVeque.
    n_one, n_other = one.n_rows - one.n_missing, other.n_rows - other.n_missing
    share = n_other / np.maximum(n_one + n_other, 1)
    gap = other.mean - one.mean
    return Told(
        one.n_rows + other.n_rows,
        np.fmin(one.low, other.low),
        np.fmax(one.high, other.high),
        one.n_missing + other.n_missing,
        one.mean + share * gap,
        one.squares + other.squares + gap**2 * n_one * share,
        _sooner(one.missing, other.missing),
        _sooner(one.infinite, other.infinite),
    )


def _beside(some: Sequence[Told]) -> Told:
    """Join what is told of columns beside each other."""

    def joined(get: Callable[[Told], Any]) -> Any:
        return np.concatenate([get(one) for one in some])

    missing, infinite = None, None
    for one in some:
        missing, infinite = _sooner(missing, one.missing), _sooner(infinite, one.infinite)
    return Told(
        some[0].n_rows,
        joined(lambda one: one.low),
        joined(lambda one: one.high),
        joined(lambda one: one.n_missing),
        joined(lambda one: one.mean),
        joined(lambda one: one.squares),
        missing,
        infinite,
    )


def _sooner(one: Place | None, other: Place | None) -> Place | None:
    found = [place for place in (one, other) if place is not None]
    return min(found) if found else None


# -- filling and scaling ---------------------------------------------------------------------


def settle_stored(
    table: StoredTable, prepare: Preparation, seed: int
) -> tuple[StoredTable, Preparation, list[str], Told]:
    """Refuse infinite values, and missing ones unless they are to be filled; fill and scale.

    Returns the table as the method sees it, without columns that have no value; what was done to
    the others; what should be said; and what is told of the values before.
    """
    from linkselect._samples.samples import LARGEST_EXACT

    with library_errors():
        told = tell(table.X, prepare.scale == "standard" or prepare.impute == "mean")
    if told.infinite is not None:
        raise infinite_value(table, *told.infinite)
    empty = told.n_missing == told.n_rows
    large = np.fmax(-told.low, told.high) > LARGEST_EXACT
    notes = about_rounding(table, np.flatnonzero(large & table.X.whole))
    notes += about_empty(table, np.flatnonzero(empty))
    first = told.missing
    if empty.any():
        kept = np.flatnonzero(~empty)
        first = None if first is None or empty[first[1]] else first
        table, told = table.with_features(kept), told.choose(kept)
    if prepare.scale == "none":
        refuse_faint(table, told.high - told.low)
    X = table.X
    if told.n_missing.any():
        row = None if first is None else first[0]
        notes.append(about_missing(table, told.n_missing, prepare.impute, row))
        values, about = _replacements(X, told, prepare, seed)
        X, notes = X.filled(values), [*notes, *about]
        told = _with_filled(told, values)
    else:
        prepare = replace(prepare, impute="none")
    return replace(table, X=_scaled(X, told, prepare)), prepare, notes, told


def _replacements(
    X: Stored, told: Told, prepare: Preparation, seed: int
) -> tuple[FloatArray, list[str]]:
    """Return what is put where values are missing; of columns without gaps it does not matter."""
    if prepare.impute == "mean":
        return told.mean, []
    columns = np.flatnonzero(told.n_missing)
    n_rows = min(told.n_rows, MOST_ROWS, max(X.allowed(MOST_BYTES) // (8 * len(columns)), 100))
    rows = np.sort(np.random.default_rng(seed).choice(told.n_rows, n_rows, replace=False))
    with library_errors():
        drawn = X.choose(columns).take(rows)
    known = ~np.isnan(drawn).all(axis=0)
    values = np.array(told.low)
    # A column with so few values that none was drawn gets the middle of its range.
    values[columns] = (told.low[columns] + told.high[columns]) / 2
    values[columns[known]] = np.nanmedian(drawn[:, known].astype(np.float64), axis=0)
    if n_rows == told.n_rows:
        return values, []
    return values, [
        f"medians were estimated from {n_rows:,} rows, drawn by --seed, since the table is read by "
        "parts; --impute mean is exact."
    ]


def _with_filled(told: Told, values: FloatArray) -> Told:
    """Return what is told of the values after the missing ones were filled."""
    n_known = told.n_rows - told.n_missing
    gap = values - told.mean
    return replace(
        told,
        mean=told.mean + gap * told.n_missing / told.n_rows,
        squares=told.squares + gap**2 * n_known * told.n_missing / told.n_rows,
    )


def _scaled(X: Stored, told: Told, prepare: Preparation) -> Stored:
    if prepare.scale == "none":
        return X
    constant = told.low == told.high
    with np.errstate(over="ignore"):
        scale = told.high - told.low
    if not np.isfinite(scale).all():
        raise too_large()
    if prepare.scale == "minmax":
        return X.scaled(told.low, np.where(constant, 1.0, scale))
    deviation = np.sqrt(told.squares / told.n_rows)
    return X.scaled(told.mean, np.where(constant, 1.0, deviation))
