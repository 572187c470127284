"""Scaling of features by their range, or of counts by square roots and row norms."""

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

# Values are treated as counts if none is negative and more than this share of them is 0.
SHARE_OF_ZEROS = 0.5
# A larger exponent of 2, or its negative, may exceed the range of float64.
LARGEST_POWER = 1000
# Sums of squares below this value have lost digits by underflow.
FAINT = 1e-290


@dataclass(frozen=True)
class Scaling:
    """Parameters of a scaling that makes features independent of their units.

    Scaling by range transforms a value x to `(x * unit - low) * factor`, which is between 0 and 1.
    A count x is transformed to `sqrt(x * unit * factor)` and divided by the norm of its row.
    Constant features become 0. The unit is a power of 2 that prevents overflow of huge values and
    underflow of tiny values.

    Attributes
    ----------
    unit, low, factor : ndarray of shape (n_features,)
        A value is multiplied by `unit`, `low` is subtracted, and the result is multiplied by
        `factor`.
    roots : bool
        Whether values are counts, which are scaled by square roots.
    squares : ndarray of shape (n_samples,) or None
        The squared norm of each row, required if blocks contain only some of the columns.
    """

    unit: FloatArray
    low: FloatArray
    factor: FloatArray
    roots: bool = False
    squares: FloatArray | None = None

    @property
    def weights(self) -> FloatArray:
        """Product of `unit` and `factor` for each feature."""
        return self.unit * self.factor

    def apply(self, block: Any, columns: slice = slice(None)) -> Any:
        """Scale a block of float64 values on its device.

        If `squares` is set, the block must contain all rows.
        """
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
        """Convert some rows to float64 and scale all of their features."""
        if issparse(values):
            return self._sparse_rows(values)
        here = device_of(values)
        return self.apply(values.astype(np.float64) if here is None else here.float64(values))

    def _sparse_rows(self, values: Any) -> csr_array:
        """Scale sparse rows. Zeros remain 0, because only features without zeros are shifted."""
        scaled = csr_array(values, dtype=np.float64, copy=True)
        with np.errstate(divide="ignore"):
            has_zeros = (self.low <= 0) & (self.low + 1.0 / self.factor >= 0)
        scaled.data *= self.unit[scaled.indices]
        scaled.data -= np.where(has_zeros, 0.0, self.low)[scaled.indices]
        scaled.data *= self.factor[scaled.indices]
        if self.roots:
            squares = np.asarray(scaled.sum(axis=1)).ravel()
            # A row may have values of constant features only, which have become 0.
            squares[squares == 0] = 1.0
            scaled.data /= np.repeat(squares, np.diff(scaled.indptr))
            np.sqrt(scaled.data, out=scaled.data)
        return scaled


def find_scaling(X: Samples, constant: BoolArray, scale: Scale, n_jobs: int | None) -> Scaling:
    """Choose the scaling: by square roots for counts, and by range for all other values.

    Parameters
    ----------
    X : Samples
        The validated samples.
    constant : ndarray of bool of shape (n_features,)
        A mask of the constant features.
    scale : {"auto", "range", "counts"}
        With "auto", values are treated as counts if none is negative and more than half of the
        values of non-constant features are 0.
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
    except FloatingPointError:  # values whose squares overflow are not counts
        return by_range
    scatter = scatter[~constant]
    if not ((scatter > FAINT) & np.isfinite(scatter)).all():
        return by_range  # squares underflow, or overflow without an error
    deviation = np.full(len(unit), np.inf)
    deviation[~constant] = np.sqrt(scatter / X.shape[0]) * unit[~constant]
    factor = 1.0 / deviation
    return replace(by_range, low=np.zeros_like(low), factor=factor, roots=True)


def _are_counts(X: Samples, constant: BoolArray, low: FloatArray, scale: Scale) -> bool:
    if n_negative := np.count_nonzero(low < 0):
        if scale == "counts":
            raise GuidedValueError(
                f"scale='counts', but {n_negative} of {len(low)} features "
                f"{'has' if n_negative == 1 else 'have'} negative values.",
                "Use scale='range', or omit scale.",
                "scale",
            )
        return False
    if scale == "counts":
        return True
    n_samples = X.shape[0]
    n_filled = X.count_nonzero() - n_samples * int(np.count_nonzero(constant & (low > 0)))
    return n_filled < (1.0 - SHARE_OF_ZEROS) * n_samples * int(np.count_nonzero(~constant))


def one_group(X: Samples) -> IntArray:
    """Return group numbers that assign all samples to one group."""
    # There may be a billion rows: a broadcast array takes no memory.
    return np.broadcast_to(np.intp(0), X.shape[0])


def _scatter(alone: Moments) -> Any:
    return alone.scatter[0, :]
