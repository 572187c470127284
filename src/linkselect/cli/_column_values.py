"""Compute the extremes, missing values and moments of each column, in memory or in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Part, Stored

# Number of values processed at a time, so that no second copy of the table is made.
_BLOCK = 4 << 20


@dataclass(frozen=True)
class ColumnValues:
    """Summary of the known (non-missing) values of each column in some rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    low, high : ndarray
        The smallest and the largest value, or NaN if all values are missing.
    n_missing : ndarray of int
        The number of missing values.
    mean, squares : ndarray
        The mean, or 0 if all values are missing, and the sum of squared differences from the mean.
        Both are 0 if moments were not requested.
    """

    n_rows: int
    low: FloatArray
    high: FloatArray
    n_missing: IntArray
    mean: FloatArray
    squares: FloatArray

    @property
    def extent(self) -> FloatArray:
        """The range of the values, or infinity if the range overflows float64."""
        with np.errstate(over="ignore"):
            return self.high - self.low

    def choose(self, kept: IntArray) -> ColumnValues:
        """Return the summary of some columns."""
        return replace(self, **{name: getattr(self, name)[kept] for name in _BY_COLUMN})


_BY_COLUMN = ("low", "high", "n_missing", "mean", "squares")


def look_at_values(X: Any, moments: bool) -> ColumnValues:
    """Read samples once and compute the statistics that scaling and imputation need.

    If `moments` is true, means and sums of squares are also computed, except for a sparse matrix.
    """
    from linkselect._samples import as_samples

    kind = as_samples(X).kind
    if kind == "sparse":
        from sklearn.utils.sparsefuncs import min_max_axis

        n_missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
        zeros = np.zeros(X.shape[1])
        low, high = min_max_axis(X, 0, ignore_nan=True)
        return ColumnValues(X.shape[0], low, high, n_missing, zeros, zeros)
    if kind == "memory":
        return reduce(_merged, (_of_slab(slab, moments) for _, _, slab in _slabs(X)))
    from linkselect._samples.sources.running import map_parts, reduce_parts

    work, what = partial(_of_part, moments=moments), "reading: missing values and ranges"
    if X.by_columns:
        return _beside(map_parts(X, work, what=what))
    found: ColumnValues = reduce_parts(X, work, partial(reduce, _merged), what=what)
    return found


def _slabs(X: NDArray[Any] | Stored) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield the first row, the first column and the values of each piece."""
    if isinstance(X, np.ndarray):
        n_rows = max(1, _BLOCK // X.shape[1])
        for start in range(0, X.shape[0], n_rows):
            yield start, 0, X[start : start + n_rows]
        return
    for part in X.parts:
        for rows, slab in part.slabs():
            yield rows.start, part.columns.start, slab


def _of_part(part: Part, *, moments: bool) -> ColumnValues:
    return reduce(_merged, [_of_slab(slab, moments) for _, slab in part.slabs()])


def _of_slab(slab: NDArray[Any], moments: bool) -> ColumnValues:
    low, high = slab.min(axis=0).astype(np.float64), slab.max(axis=0).astype(np.float64)
    n_missing = np.zeros(len(low), dtype=np.intp)
    # NaN propagates to the minimum, so complete columns need no second pass.
    some = np.flatnonzero(np.isnan(low))
    if len(some):
        n_missing[some] = np.isnan(slab[:, some]).sum(axis=0)
        low[some] = np.fmin.reduce(slab[:, some], axis=0)
        high[some] = np.fmax.reduce(slab[:, some], axis=0)
    mean = squares = np.zeros(len(low))
    if moments:
        with np.errstate(invalid="ignore"):  # infinite values are refused later
            mean, squares = _moments(slab)
    return ColumnValues(len(slab), low, high, n_missing, mean, squares)


def _moments(slab: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the sum of squared deviations of the known values of each column."""
    from linkselect._blocks import column_slices

    means, squares = np.empty(slab.shape[1]), np.empty(slab.shape[1])
    for columns in column_slices(slab):
        block = slab[:, columns].astype(np.float64)
        gaps = np.isnan(block)
        # Relative to a known value of the column, so that an offset costs no precision.
        origin = np.nan_to_num(block[gaps.argmin(axis=0), np.arange(block.shape[1])])
        block -= origin
        block[gaps] = 0.0
        mean = block.sum(axis=0) / np.maximum(len(block) - gaps.sum(axis=0), 1)
        block -= mean
        block[gaps] = 0.0
        means[columns], squares[columns] = origin + mean, np.einsum("ij,ij->j", block, block)
    return means, squares


def _merged(one: ColumnValues, other: ColumnValues) -> ColumnValues:
    """Merge the summaries of two sets of rows."""
    # Pairwise update of Chan, Golub and LeVeque.
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
    )


def _beside(some: Sequence[ColumnValues]) -> ColumnValues:
    """Concatenate the summaries of adjacent columns."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in some]) for name in _BY_COLUMN
    }
    return replace(some[0], **joined)


def first_place(X: Any, is_odd: Callable[[Any], Any]) -> tuple[int, int]:
    """Find the row and column of the first invalid value, for an error message."""
    if issparse(X):
        stored = X.tocoo()
        at = np.flatnonzero(is_odd(stored.data))[0]
        return int(stored.row[at]), int(stored.col[at])
    places = (
        (row + int(at[0]), column + int(at[1]))
        for row, column, slab in _slabs(X)
        for at in np.argwhere(is_odd(slab))[:1]
    )
    return min(places) if getattr(X, "by_columns", False) else next(places)
