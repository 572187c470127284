"""Features brought to one scale: by their range, or counts by square roots in rows of length 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect._samples.devices import device_of

if TYPE_CHECKING:
    from linkselect._samples.moments import Moments
    from linkselect._samples.samples import Samples

Scale = Literal["auto", "range", "counts"]

# Values are counts if none is negative and at least this share of them is 0.
SHARE_OF_ZEROS = 0.5
# A power of 2 beyond this, or its inverse, may leave the range of float64.
LARGEST_POWER = 1000
# Sums of squares below this have lost digits.
FAINT = 1e-290


@dataclass(frozen=True)
class Scaling:
    """How features are scaled, whatever their units.

    By range, a value x becomes `(x * unit - low) * factor`, which is between 0 and 1. A count
    becomes `sqrt(x * unit * factor)`, divided by the length of its row. Constant features become
    0. The unit is a power of 2, so that huge and tiny values neither overflow nor vanish.

    Attributes
    ----------
    unit, low, factor : ndarray of shape (n_features,)
        What values are multiplied by, what is subtracted, and what they are multiplied by then.
    roots : bool
        Whether values are counts.
    squares : ndarray of shape (n_samples,) or None
        The squared length of each row, if blocks have only some of the columns.
    """

    unit: FloatArray
    low: FloatArray
    factor: FloatArray
    roots: bool = False
    squares: FloatArray | None = None

    @property
    def weights(self) -> FloatArray:
        """What values are multiplied by, in total."""
        return self.unit * self.factor

    def apply(self, block: Any, columns: slice = slice(None)) -> Any:
        """Scale a block of float64 values, on its device; all rows if `squares` are known."""
        here = device_of(block)

        def put(values: FloatArray) -> Any:
            return values if here is None else here.put(values)

        if not self.roots:
            block = block * put(self.unit[columns])
            block -= put(self.low[columns])
            block *= put(self.factor[columns])
            return block
        xp = np if here is None else here.xp
        block = block * put(self.weights[columns])
        squares = xp.sum(block, axis=1) if self.squares is None else put(self.squares)
        lengths = xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))
        return xp.sqrt(block) / lengths[:, None]

    def rows(self, values: Any) -> Any:
        """Scale all features of some rows, dense, sparse or on a device, as float64."""
        if issparse(values):
            return self._sparse_rows(values)
        here = device_of(values)
        return self.apply(values.astype(np.float64) if here is None else here.float64(values))

    def _sparse_rows(self, values: Any) -> csr_array:
        """Scale sparse rows; zeros stay zeros, since only features without any are shifted."""
        scaled = csr_array(values, dtype=np.float64, copy=True)
        with np.errstate(divide="ignore"):
            has_zeros = (self.low <= 0) & (self.low + 1.0 / self.factor >= 0)
        scaled.data *= self.unit[scaled.indices]
        scaled.data -= np.where(has_zeros, 0.0, self.low)[scaled.indices]
        scaled.data *= self.factor[scaled.indices]
        if self.roots:
            squares = np.asarray(scaled.sum(axis=1)).ravel()
            # A row may have values of constant features only, which became 0.
            squares[squares == 0] = 1.0
            scaled.data /= np.repeat(squares, np.diff(scaled.indptr))
            np.sqrt(scaled.data, out=scaled.data)
        return scaled


def find_scaling(X: Samples, constant: BoolArray, scale: Scale, n_jobs: int | None) -> Scaling:
    """Scale counts by roots, and everything else by range.

    Parameters
    ----------
    X : Samples
        Checked samples.
    constant : ndarray of bool of shape (n_features,)
        Which features have one value only.
    scale : {"auto", "range", "counts"}
        "auto": counts are what has no negative value and more zeros than other values, not counting
        constant features.
    n_jobs : int or None
        The number of threads.
    """
    low, high = X.extremes()
    exponents = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
    unit = np.ldexp(1.0, -np.clip(exponents, -LARGEST_POWER, LARGEST_POWER))
    low, high = low * unit, high * unit
    width = np.where(constant, np.inf, high - low)
    by_range = Scaling(unit, low, 1.0 / width)
    if scale == "range" or not _are_counts(X, constant, low, scale):
        return by_range
    try:
        scatter = X.fetched(X.from_moments(_scatter, ((one_group(X), None),), n_jobs))
    except FloatingPointError:  # squares overflow, so these are no counts of anything
        return by_range
    scatter = scatter[~constant]
    if not ((scatter > FAINT) & np.isfinite(scatter)).all():
        return by_range  # squares vanish, or overflow without notice
    deviation = np.full(len(unit), np.inf)
    deviation[~constant] = np.sqrt(scatter / X.shape[0]) * unit[~constant]
    factor = 1.0 / deviation
    return replace(by_range, low=np.zeros_like(low), factor=factor, roots=True)


def _are_counts(X: Samples, constant: BoolArray, low: FloatArray, scale: Scale) -> bool:
    if (low < 0).any():
        if scale == "counts":
            raise GuidedValueError(
                f"scale='counts', but {np.count_nonzero(low < 0)} of {len(low)} features have "
                "negative values.",
                "Use scale='range', or leave scale out.",
                "scale",
            )
        return False
    if scale == "counts":
        return True
    n_samples = X.shape[0]
    n_filled = X.count_nonzero() - n_samples * int(np.count_nonzero(constant & (low > 0)))
    return n_filled < (1.0 - SHARE_OF_ZEROS) * n_samples * int(np.count_nonzero(~constant))


def one_group(X: Samples) -> IntArray:
    """Put all samples into one group."""
    # The rows may be a billion: one number in all places takes no memory.
    return np.broadcast_to(np.intp(0), X.shape[0])


def _scatter(alone: Moments) -> Any:
    return alone.scatter[0, :]
