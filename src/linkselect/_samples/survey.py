"""A single pass over stored samples that checks for NaN and computes extremes and moments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import Scratch, column_block, column_slices, slices
from linkselect._messages import GuidedValueError
from linkselect._samples.moments import Moments, joined, merged, moments
from linkselect._samples.sources.running import map_parts, reduce_parts
from linkselect._samples.sources.stored import Part, Stored

# Minima and maxima are computed in pieces that fit into the cache, in 0.8 of the time.
CACHED_BYTES = 2**19
# With fewer rows per piece, merging the extremes costs more than the cache saves.
LEAST_ROWS = 16

Score = Callable[..., FloatArray]


@dataclass(frozen=True)
class Survey:
    """The results of a single pass over stored samples or a part of them.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        The minimum and maximum of each feature.
    moments : Moments or None
        The moments of the samples without a class, followed by the moments of each class. None if
        the samples are read by columns or only some rows are used.
    scores : ndarray of shape (n_features,) or None
        The score of each feature, if it was requested.
    rows : ndarray or None
        The values of the rows that are kept in memory, if any.
    """

    low: FloatArray
    high: FloatArray
    moments: Moments | None = None
    scores: FloatArray | None = None
    rows: NDArray[Any] | None = None


class _NotFiniteError(ValueError):
    """Error for a NaN or infinite value; the arguments are its row, its column and the value."""


def survey(
    X: Stored,
    codes: IntArray,
    n_jobs: int | None = None,
    score: Score | None = None,
    hold: IntArray | None = None,
) -> Survey:
    """Read stored samples once, check that values are finite, and compute extremes and moments.

    Parameters
    ----------
    X : Stored
        The samples.
    codes : ndarray of shape (n_samples,)
        The class of each sample; -1 for samples without a class.
    n_jobs : int, optional
        The number of threads that are used if no Dask client is active.
    score : callable, optional
        Function of the values and `n_jobs` that scores each feature independently of the other
        features. It is applied in the same pass and requires that X is read by columns.
    hold : ndarray of int, optional
        Sorted row numbers, if only some rows are used. These rows are kept in memory, and no
        moments are computed. X must be read by rows.
    """
    try:
        if X.by_columns:
            return _read_by_columns(X, n_jobs, score)
        return _read_by_rows(X, codes, n_jobs, hold)
    except _NotFiniteError as error:
        raise _not_finite(X, *error.args) from None


def _read_by_columns(X: Stored, n_jobs: int | None, score: Score | None) -> Survey:
    parts = map_parts(X, partial(_survey_columns, score=score), n_jobs=n_jobs, what="read")
    low, high, *scores = (np.concatenate(side) for side in zip(*parts, strict=True))
    return Survey(low, high, None, *scores)


def _read_by_rows(X: Stored, codes: IntArray, n_jobs: int | None, hold: IntArray | None) -> Survey:
    n_groups = int(codes.max(initial=-1)) + 2
    # Classes are sent with the tasks of a cluster, so they use the smallest dtype.
    groups = (codes + 1).astype(np.min_scalar_type(n_groups))

    def of_part(part: Part) -> tuple[IntArray]:
        return (groups[part.rows] if hold is None else _among(hold, part.rows),)

    work = partial(_survey_part, n_groups=n_groups) if hold is None else _survey_held_rows
    found: Survey = reduce_parts(
        X, work, merged_surveys, per_part=of_part, n_jobs=n_jobs, what="read"
    )
    return found


def _among(chosen: IntArray, rows: slice) -> IntArray:
    """Return those of the sorted row numbers `chosen` that lie within the slice `rows`."""
    first, last = np.searchsorted(chosen, (rows.start, rows.stop))
    return chosen[first:last]


def _survey_columns(part: Part, *, score: Score | None) -> tuple[FloatArray, ...]:
    ((rows, slab),) = part.slabs()
    extremes = _extremes(slab, rows.start, part.columns.start)
    if score is None:
        return extremes
    with np.errstate(over="raise"):
        return *extremes, score(slab, n_jobs=1)


def _survey_part(part: Part, groups: NDArray[Any], *, n_groups: int) -> Survey:
    found = []
    for rows, own, slab in _placed(part):
        codes = groups[own].astype(np.intp)
        low, high = _extremes(slab, rows.start, 0)
        found.append(Survey(low, high, _moments(slab, codes, None, n_groups)))
    return merged_surveys(found)


def _survey_held_rows(part: Part, hold: IntArray) -> Survey:
    return merged_surveys(
        [
            Survey(*_extremes(slab, rows.start, 0), rows=slab[_among(hold, rows) - rows.start])
            for rows, slab in part.slabs()
        ]
    )


def moments_of_part(
    part: Part, codes: IntArray, weights: FloatArray | None, *, n_groups: int
) -> Moments:
    """Compute the moments of groups in one part of the rows."""
    weight = np.ones(len(codes)) if weights is None else weights
    return merged(
        [_moments(slab, codes[own], weight[own], n_groups) for _, own, slab in _placed(part)]
    )


def _placed(part: Part) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
    """Yield the row range of each slab in the samples and in the part, and its values."""
    for rows, slab in part.slabs():
        start = rows.start - part.rows.start
        yield rows, slice(start, start + len(slab)), slab


def _moments(
    slab: NDArray[Any], codes: IntArray, weights: FloatArray | None, n_groups: int
) -> Moments:
    with np.errstate(over="raise"):
        scratch = Scratch()
        return joined(
            [
                moments(column_block(slab, columns, scratch=scratch), codes, weights, n_groups)
                for columns in column_slices(slab)
            ]
        )


def merged_surveys(parts: Sequence[Survey]) -> Survey:
    """Merge the surveys of several parts of the rows."""
    of_groups = [part.moments for part in parts if part.moments is not None]
    rows = [part.rows for part in parts if part.rows is not None]
    return Survey(
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        merged(of_groups) if of_groups else None,
        rows=np.concatenate(rows) if rows else None,
    )


def _extremes(slab: NDArray[Any], row: int, column: int) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum of each column of a slab that starts at `row` and `column`.

    Raise an error if a value is NaN or infinite.
    """
    low = high = slab[0]
    for piece in slices(len(slab), max(CACHED_BYTES // slab[0].nbytes, LEAST_ROWS)):
        low = np.minimum(low, slab[piece].min(axis=0))
        high = np.maximum(high, slab[piece].max(axis=0))
    # Every value that is not finite shows in the extremes, since minima and maxima propagate NaN.
    odd = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(odd):
        place = int(np.flatnonzero(~np.isfinite(slab[:, odd[0]]))[0])
        raise _NotFiniteError(row + place, column + int(odd[0]), float(slab[place, odd[0]]))
    return low.astype(np.float64), high.astype(np.float64)


def _not_finite(X: Stored, row: int, column: int, value: float) -> GuidedValueError:
    what = "NaN" if np.isnan(value) else "infinity"
    return GuidedValueError(
        f"Input X contains {what}: {X.label} has {what} in {X.name_column(column)}, row {row} "
        "(counted from 0), and possibly elsewhere.",
        "Impute missing values or drop these rows or columns first; "
        "linkselect rank FILE --impute imputes part by part."
        if what == "NaN"
        else "Drop these rows or columns.",
        "X",
    )
