"""Total weight, mean and scatter of groups of samples, computed for all features at once.

The mean of a group is stored as a difference from one of its samples, so that a large common offset
of a feature costs no precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import BLOCK_SIZE, Scratch, block_width, slices, sum_by
from linkselect._samples.devices import Device, add_by_index, namespace_of

_deviations, _temporary = Scratch(), Scratch()
# For blocks with at least this many columns and entries per group, summing group by group takes 0.5
# to 0.8 of the time. In smaller blocks, the function calls take longer than the sums.
MANY_COLUMNS, MANY_ENTRIES = 128, 1 << 13


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and scatter (weighted sum of squared deviations) per group and feature.

    A mean is stored as the value of one sample of the group (the origin) and the offset of the mean
    from this value, so that a large common value costs no precision. Methods return only
    differences of means, because offsets from different origins are not comparable.
    """

    mass: FloatArray
    scatter: FloatArray
    _origin: FloatArray
    _offset: FloatArray

    def means_minus(self, value: FloatArray | float) -> FloatArray:
        """Return the mean of each group minus `value`, a scalar or one value per feature."""
        return (self._origin - value) + self._offset

    def means_minus_group(self, other: Moments, group: int) -> FloatArray:
        """Return the mean of each group minus the mean of the given group in `other`."""
        origin, offset = other._origin[group, :], other._offset[group, :]
        return (self._origin - origin) + (self._offset - offset)

    def together(self) -> Moments:
        """Return the moments of the union of all groups."""
        xp = namespace_of(self.mass)
        # The heaviest group has the largest influence on the overall mean, so its origin is used.
        origin = self._origin[int(xp.argmax(self.mass)), :]
        means = self.means_minus(origin)
        mass = xp.sum(self.mass)
        overall = weighted_sum(self.mass, means) / (float(mass) or 1.0)
        scatter = self.within() + weighted_sum(self.mass, (means - overall) ** 2)
        alone = (part[None, :] for part in (scatter, origin, overall))
        return Moments(xp.reshape(mass, (1,)), *alone)

    def between(self) -> FloatArray:
        """Return the sum over groups of `mass * (mean - overall mean)^2`."""
        whole = self.together()
        gaps = self.means_minus_group(whole, 0)
        # Means that differ only in the last digit count as equal: features whose group means are
        # all equal must tie, and rounding must not decide their order.
        xp = namespace_of(gaps)
        means = xp.abs(self.means_minus(whole._origin[0, :])) + xp.abs(whole._offset[0, :])
        equal = xp.abs(gaps) <= 2 * float(np.finfo(np.float64).eps) * means
        return weighted_sum(self.mass, xp.where(equal, xp.zeros_like(gaps), gaps) ** 2)

    def of_groups(self, chosen: slice) -> Moments:
        """Return the moments of the chosen groups."""
        return Moments(
            self.mass[chosen], self.scatter[chosen], self._origin[chosen], self._offset[chosen]
        )

    def within(self) -> FloatArray:
        """Return the scatter within groups for each feature, summed over the groups."""
        return namespace_of(self.scatter).sum(self.scatter, axis=0)


def weighted_sum(weights: Any, values: Any) -> Any:
    """Return the weighted sum of the rows of a matrix.

    Matrix products are avoided because the last digit of their entries depends on the position of
    the column.
    """
    return namespace_of(values).sum(weights[:, None] * values, axis=0)


def merged(parts: Sequence[Moments]) -> Moments:
    """Merge moments of the same groups that were computed on different parts of the samples."""
    return reduce(_merged_pair, parts)


def _merged_pair(one: Moments, other: Moments) -> Moments:
    """Merge two sets of moments.

    Origins are those of `one`, except for groups that are empty in `one`.
    """
    # The update of Chan, Golub & LeVeque (1983).
    mass = one.mass + other.mass
    share = (other.mass / np.where(mass > 0, mass, 1.0))[:, None]
    lacking = (one.mass == 0)[:, None]
    gap = (other._origin - one._origin) + (other._offset - one._offset)
    # An empty group has no mean, so there is no gap.
    gap = np.where(lacking | (other.mass == 0)[:, None], 0.0, gap)
    scatter = one.scatter + other.scatter + one.mass[:, None] * share * gap**2
    origin = np.where(lacking, other._origin, one._origin)
    offset = np.where(lacking, other._offset, one._offset + share * gap)
    return Moments(mass, scatter, origin, offset)


def joined(parts: Sequence[Moments]) -> Moments:
    """Concatenate moments of the same groups that were computed for different features."""
    columns = ([part.scatter, part._origin, part._offset] for part in parts)
    scatter, origin, offset = (np.concatenate(kind, axis=1) for kind in zip(*columns, strict=True))
    return Moments(parts[0].mass, scatter, origin, offset)


def moments(
    block: Any,
    codes: IntArray,
    weights: FloatArray | None = None,
    n_groups: int | None = None,
) -> Moments:
    """Compute the total weight, mean and scatter of each group for the columns of one block.

    Parameters
    ----------
    block : float64 array or CSC matrix of shape (n_samples, n_columns)
        A block from `Samples.map_columns`.
    codes : ndarray of shape (n_samples,)
        The group number of each sample, counted from 0; -1 for samples without a group.
    weights : ndarray of shape (n_samples,), optional
        The weight of each sample. Default: all weights are 1.
    n_groups : int, optional
        The number of groups, required if some groups may have no samples in this block.
    """
    weights = np.ones(len(codes)) if weights is None else weights
    n_groups = int(codes.max(initial=0)) + 1 if n_groups is None else n_groups
    # Samples with zero weight are dropped, because none of them may be an origin.
    rows = np.flatnonzero((codes >= 0) & (weights > 0))
    if len(rows) < len(codes):
        block, codes, weights = block[rows], codes[rows], weights[rows]
    if not len(rows):
        empty = np.zeros((n_groups, block.shape[1]))
        return Moments(np.zeros(n_groups), empty, empty, empty)
    heaviest = _heaviest_of_groups(codes, weights, n_groups)
    if issparse(block):
        return _sparse_moments(block, codes, weights, heaviest)
    is_large = block.shape[1] >= MANY_COLUMNS and block.size >= MANY_ENTRIES * n_groups
    if is_large and (weights == 1.0).all():
        return _moments_by_group(block, codes, heaviest)
    origin = block[heaviest]
    member = csr_array((weights, (codes, np.arange(len(codes)))), shape=(n_groups, len(codes)))
    mass = np.asarray(member.sum(axis=1)).ravel()
    per_group = np.where(mass > 0, mass, 1.0)[:, None]
    deviation = _minus_own(block, origin, codes, _deviations.array(*block.shape))
    offset = (member @ deviation) / per_group
    _minus_own(deviation, offset, codes, deviation)
    scatter = member @ np.square(deviation, out=_temporary.array(*block.shape))
    return Moments(mass, scatter, origin, offset)


def _moments_by_group(block: FloatArray, codes: IntArray, first: IntArray) -> Moments:
    """Compute the same moments as `moments`, bit for bit, group by group for unweighted samples."""
    n_groups, width = len(first), block.shape[1]
    counts = np.bincount(codes, minlength=n_groups)
    scatter, offset = np.zeros((2, n_groups, width))
    origin = block[first]
    by_group = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    for group, rows in enumerate(by_group):
        if not len(rows):
            continue
        # With the default mode, NumPy would make an additional copy.
        out = _deviations.array(len(rows), width)
        deviation = np.take(block, rows, axis=0, out=out, mode="clip")
        deviation -= origin[group]
        np.divide(deviation.sum(axis=0), len(rows), out=offset[group])
        deviation -= offset[group]
        np.square(deviation, out=deviation).sum(axis=0, out=scatter[group])
    return Moments(counts.astype(np.float64), scatter, origin, offset)


def _minus_own(
    values: FloatArray, of_groups: FloatArray, codes: IntArray, out: FloatArray
) -> FloatArray:
    """Subtract from each sample the values of its group."""
    if len(of_groups) == 1:
        return np.subtract(values, of_groups, out=out)
    own = np.take(of_groups, codes, axis=0, out=_temporary.array(*values.shape), mode="clip")
    return np.subtract(values, own, out=out)


def _sparse_moments(
    block: Any, codes: IntArray, weights: FloatArray, heaviest: IntArray
) -> Moments:
    """Compute moments of a sparse block from its stored entries; all other values are 0."""
    n_groups, width = len(heaviest), block.shape[1]
    entries = block.tocoo()
    rows, columns = entries.coords
    place = codes[rows] * width + columns

    def collect(values: FloatArray) -> FloatArray:
        return sum_by(place, values, n_groups * width).reshape(n_groups, width)

    mass = sum_by(codes, weights, n_groups)
    per_group = np.where(mass > 0, mass, 1.0)[:, None]
    absent = _absent_weight(block, codes, weights, mass, collect(weights[rows]))
    origin = block.tocsr()[heaviest].toarray()
    deviation = entries.data - origin.ravel()[place]
    # A value that is not stored is 0, so its deviation from the origin is -origin.
    offset = (collect(weights[rows] * deviation) - absent * origin) / per_group
    deviation -= offset.ravel()[place]
    of_zero = -origin - offset
    # The rounding error of the mean matters if the scatter is small, so it is corrected.
    slip = (collect(weights[rows] * deviation) + absent * of_zero) / per_group
    scatter = collect(weights[rows] * deviation**2) + absent * of_zero**2
    scatter = np.maximum(scatter - mass[:, None] * slip**2, 0.0)
    return Moments(mass, scatter, origin, offset + slip)


def _absent_weight(
    block: Any, codes: IntArray, weights: FloatArray, mass: FloatArray, stored: FloatArray
) -> FloatArray:
    """Sum the weights of samples without a stored entry, for each group and column."""
    absent = mass[:, None] - stored
    # If nearly all entries are stored, the difference is inaccurate, so it is summed directly.
    nearly_full = np.flatnonzero((absent < 1e-3 * mass[:, None]).any(axis=0))
    member = csr_array((weights, (codes, np.arange(len(codes)))), shape=(len(mass), len(codes)))
    for part in slices(len(nearly_full), block_width(BLOCK_SIZE, len(codes))):
        columns = nearly_full[part]
        missing = np.ones((len(codes), len(columns)))
        missing[block[:, columns].tocoo().coords] = 0.0
        absent[:, columns] = member @ missing
    return absent


def _heaviest_of_groups(codes: IntArray, weights: FloatArray, n_groups: int) -> IntArray:
    """Return the sample with the largest weight in each group; the first one in case of ties.

    This sample becomes the origin of the group. A sample with a small weight may be far from the
    mean, so the rounding error of differences from it could exceed the scatter.
    """
    if n_groups == 1:
        return np.array([weights.argmax()])
    light_first = np.arange(len(codes))[::-1]
    if (weights != weights[0]).any():
        light_first = light_first[np.argsort(weights[::-1], kind="stable")]
    heaviest = np.zeros(n_groups, dtype=np.intp)
    heaviest[codes[light_first]] = light_first
    return heaviest


def device_moments(
    here: Device, block: Any, codes: IntArray, weights: FloatArray | None = None
) -> Moments:
    """Compute the same moments as `moments` on a device."""
    xp = here.xp
    weights = np.ones(len(codes)) if weights is None else weights
    n_groups = int(codes.max(initial=0)) + 1
    # Samples with zero weight are dropped, because none of them may be an origin.
    rows = np.flatnonzero((codes >= 0) & (weights > 0))
    if len(rows) < len(codes):
        block = xp.take(block, here.put(rows), axis=0)
        codes, weights = codes[rows], weights[rows]
    if not len(rows):
        empty = here.zeros(n_groups, block.shape[1])
        return Moments(here.zeros(n_groups), empty, empty, empty)
    origin = xp.take(block, here.put(_heaviest_of_groups(codes, weights, n_groups)), axis=0)
    mass = here.put(sum_by(codes, weights, n_groups))
    per_group = xp.where(mass > 0, mass, xp.ones_like(mass))[:, None]
    group, weight = here.put(codes), here.put(weights)

    def of_samples(values: Any) -> Any:
        return values if n_groups == 1 else xp.take(values, group, axis=0)

    def mean(values: Any) -> Any:
        return add_by_index(here, group, weight, values, n_groups) / per_group

    deviation = block - of_samples(origin)
    offset = mean(deviation)
    deviation -= of_samples(offset)
    # The rounding error of the mean matters if the scatter is small, so it is corrected.
    slip = mean(deviation)
    deviation *= deviation
    scatter = mass[:, None] * (mean(deviation) - slip * slip)
    scatter = xp.where(scatter > 0, scatter, xp.zeros_like(scatter))
    return Moments(mass, scatter, origin, offset + slip)


def kurtosis(block: Any, moments: Callable[..., Moments] = moments) -> Any:
    """Compute the mean of `((f_i - mean) / std)^4` for each column of a block; NaN if constant."""
    alone = moments(block, np.zeros(block.shape[0], dtype=np.intp))
    return fourth_powers(block, *mean_and_deviation(alone)) / block.shape[0]


def mean_and_deviation(alone: Moments) -> tuple[Any, Any]:
    """Return the mean and standard deviation of each column, given the moments of all samples."""
    variance = alone.scatter[0, :] / alone.mass[0]
    return alone.means_minus(0.0)[0, :], namespace_of(variance).sqrt(variance)


def fourth_powers(block: Any, mean: Any, deviation: Any) -> Any:
    """For each column, compute the sum of `((f_i - mean) / std)^4` over the samples of a block."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 for constant features
        if not issparse(block):
            return namespace_of(block).sum(_fourth_power((block - mean) / deviation), axis=0)
        entries = block.tocoo()
        columns, width = entries.coords[1], block.shape[1]
        stored = _fourth_power((entries.data - mean[columns]) / deviation[columns])
        n_zeros = block.shape[0] - np.bincount(columns, minlength=width)
        return sum_by(columns, stored, width) + n_zeros * _fourth_power(mean / deviation)


def _fourth_power(values: Any) -> Any:
    # NumPy's `** 4` takes thirty times as long.
    values *= values
    values *= values
    return values
