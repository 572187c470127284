"""The sums of `forms` over stored samples: by parts of columns, or merged over parts of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples.moments import Moments, merged
from linkselect._samples.one_pass import Surveyed, moments_of_part
from linkselect._samples.sources import Part, Stored
from linkselect._samples.sources.running import map_parts, reduce_parts

# Rows of stored samples that are held in memory at a time.
HELD_BYTES = 256 * 2**20


def by_column_parts(
    function: Callable[[Any], FloatArray], X: Stored, n_jobs: int | None = None
) -> FloatArray:
    """Apply a function to parts of the columns with all rows, and join what it returns."""
    return np.concatenate(
        map_parts(X, partial(_on_values, function), n_jobs=n_jobs, what="score"), axis=-1
    )


def _on_values(function: Callable[[Any], FloatArray], part: Part) -> FloatArray:
    ((_, values),) = part.slabs()
    with np.errstate(over="raise"):
        return function(values)


def can_hold(X: Stored, n_rows: int) -> bool:
    """Whether so many rows may be held in memory at a time."""
    return n_rows * X.shape[1] * X.dtype.itemsize <= X.allowed(HELD_BYTES)


def rows_by_columns(function: Callable[[Any], FloatArray], X: Stored, rows: IntArray) -> FloatArray:
    """Apply a function to some rows of X, as many columns at a time as memory is set aside for."""
    if can_hold(X, len(rows)):
        return function(X.take(rows))
    width = max(X.allowed(HELD_BYTES) // (len(rows) * X.dtype.itemsize), 1)
    chosen = (np.arange(columns.start, columns.stop) for columns in slices(X.shape[1], width))
    return np.concatenate([function(X.choose(columns).take(rows)) for columns in chosen], axis=-1)


def moments_of_rows(
    X: Stored, codes: IntArray, weights: FloatArray | None, n_jobs: int | None = None
) -> Moments:
    """Compute the moments of groups over all features of samples that are stored by rows.

    What the survey has told is not computed again.
    """
    if (
        isinstance(X, Surveyed)
        and X.moments is not None
        and (weights is None or _all_ones(weights))
    ):
        if np.array_equal(codes, X.codes):
            return X.moments.of_groups(slice(1, None))
        if not codes.any():
            return X.moments.together()
    work = partial(moments_of_part, n_groups=int(codes.max(initial=0)) + 1)

    def of_part(part: Part) -> tuple[IntArray, FloatArray | None]:
        return codes[part.rows], None if weights is None else weights[part.rows]

    found: Moments = reduce_parts(X, work, merged, per_part=of_part, n_jobs=n_jobs, what="add up")
    return found


def _all_ones(weights: FloatArray) -> bool:
    return bool((weights == 1.0).all())
