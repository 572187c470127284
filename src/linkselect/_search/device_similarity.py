"""The similarity criterion on a GPU, evaluated for all candidates at every step.

On the CPU, most candidates are excluded by bounds. A GPU evaluates all candidates in less time than
the computation of these bounds would take. As on the CPU, candidates that agree with the best one
up to rounding error are evaluated pair by pair.
"""

from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples.devices import BLOCK_SIZE, Device, to_numpy
from linkselect._search.all_pairs import INPUT_ROUNDING, GroupCriterion
from linkselect._search.criterion import lowest_of_ties
from linkselect._search.kernel_terms import MAX_TERMS, TOLERANCE
from linkselect._search.listed_pairs import PairCriterion
from linkselect._search.targets import PairTarget

# Largest number of float64 values in the kernel terms: 2 GB each for `k` and `k^2`.
TERMS_SIZE = 1 << 28


class AllPairsOnDevice(GroupCriterion):
    """The criterion over all ordered pairs of grouped samples on a device.

    Parameters
    ----------
    here : Device
        The device of X.
    X : array of shape (n_samples, n_features)
        The samples that have a group, sorted by group.
    groups : ndarray of int of shape (n_samples,)
        The group of each sample, in ascending order.
    sigma : float
        The width of the kernel.
    """

    def __init__(self, here: Device, X: Any, groups: IntArray, sigma: float) -> None:
        super().__init__(X.shape, float(sigma))
        self.here, xp = here, here.xp
        self.xp = xp
        self.values_of = xp.permute_dims(here.float64(X), (1, 0)) + 0.0
        codes = here.put(groups)
        self.target = here.float64(codes[:, None] == codes[None, :])
        self.across = 1.0 - self.target
        self.identity = xp.eye(self.n_samples, dtype=xp.float64, device=here.device)
        self.similarity = xp.ones_like(self.target)
        low, high = (end(self.values_of, axis=1) for end in (xp.min, xp.max))
        scaled = (self.values_of - (high / 2 + low / 2)[:, None]) / self.sigma
        self.squared, self.squared_remainder = kernel_terms(here, scaled * np.sqrt(2.0).item())
        self.plain, self.plain_remainder = kernel_terms(here, scaled)
        self.n_terms = max(self.squared.shape[1], self.plain.shape[1])
        extent = to_numpy((high - low) / self.sigma)
        self.input_rounding = INPUT_ROUNDING * extent
        self._measure()

    def _measure(self) -> None:
        """Compute the sums of squared errors, the sums of A and B, and the change per feature.

        All results are transferred in one step, because waiting for the device takes as long as
        computing the sums.
        """
        xp = self.xp
        # Launch the products first: the device computes them while the rest is being queued.
        squared = self.similarity * self.similarity
        of_squared = self._forms(self.squared, squared)
        alike = self.similarity * self.target
        laplacian = self.identity * xp.sum(alike, axis=0)[None, :] - alike
        of_plain = self._forms(self.plain, laplacian)
        missing = self.target - alike
        parts = xp.stack([missing * missing, squared * self.across, alike, squared])
        found = to_numpy(xp.concat([xp.sum(parts, axis=(1, 2)), of_squared + 2.0 * of_plain]))
        self.must, self.cannot, self.sum_alike, self.sum_squared = found[:4].tolist()
        self.changes = found[4:] - self.sum_squared

    def add(self, feature: int) -> None:
        """Select a feature and update the kernel by one elementwise multiplication."""
        column = self.values_of[feature : feature + 1, :]
        self.similarity = self.similarity * self._kernels(column)[0, :, :]
        self._measure()

    def values(self, candidates: IntArray) -> FloatArray:
        """Return, for each candidate, the value of the criterion after adding it."""
        changes = self.changes[candidates]
        unsure = np.flatnonzero(self._truncation(candidates) > self.rounding())
        if len(unsure):
            changes[unsure] = self._direct_changes(candidates[unsure])
        return self.criterion() + changes

    def best(self, candidates: IntArray, values: FloatArray | None = None) -> int:
        """Return the candidate that minimises the criterion, or the first one if several tie."""
        if self.magnitude() <= self.tie():
            return int(candidates.min())
        values = self.values(candidates) if values is None else values
        # Twice the rounding, because the least value may be too small by truncation as well.
        near = candidates[values <= values.min() + 2 * self.rounding()]
        if len(near) == 1:
            return int(near[0])
        return lowest_of_ties(near, self._direct_changes(near), self.tie())

    def _forms(self, terms: Any, matrix: Any) -> Any:
        """Compute the sum of `t' M t` over the kernel terms t of each feature."""
        n_terms = terms.shape[1]
        parts = []
        for some in slices(self.n_features, max(BLOCK_SIZE // (n_terms * self.n_samples), 1)):
            vectors = self.xp.reshape(terms[some, :, :], (-1, self.n_samples))
            products = vectors @ matrix
            products *= vectors
            parts.append(
                self.xp.sum(self.xp.reshape(products, (-1, n_terms * self.n_samples)), axis=1)
            )
        return parts[0] if len(parts) == 1 else self.xp.concat(parts)

    def _kernels(self, chosen: Any) -> Any:
        """Compute the kernel matrices of single features."""
        difference = (chosen[:, :, None] - chosen[:, None, :]) / self.sigma
        return self.xp.exp(difference * difference * -0.5)

    def _direct_changes(self, features: IntArray) -> FloatArray:
        """Compute directly, pair by pair, how each of some features changes the criterion."""
        before = self.similarity[None, :, :]
        found = []
        for some in slices(len(features), max(BLOCK_SIZE // self.n_samples**2, 1)):
            chosen = self.xp.take(self.values_of, self.here.put(features[some]), axis=0)
            after = self._kernels(chosen) * before
            change = (after - before) * (after + before - 2.0 * self.target[None, :, :])
            found.append(to_numpy(self.xp.sum(change, axis=(1, 2))))
        return np.concatenate(found)


class ListedPairsOnDevice(PairCriterion):
    """The criterion over listed pairs on a device; similarities of pairs are stored on the CPU."""

    def __init__(self, here: Device, X: Any, target: PairTarget, sigma: float) -> None:
        super().__init__(X.shape[1], target, float(sigma))
        self.here, self.X = here, X
        self.ends = here.put(target.first), here.put(target.second)
        counts = (kind.stop - kind.start for kind in self.kinds)
        of_kind = [np.full(count, value) for count, value in zip(counts, (1.0, 0.0), strict=True)]
        self.wanted = here.put(2.0 * np.concatenate(of_kind))
        of_kind = [np.full(len(kind), w) for kind, w in zip(of_kind, target.weights, strict=True)]
        own = 1.0 if target.own is None else target.own
        self.weight = here.put(np.concatenate(of_kind) * own)

    def add(self, feature: int) -> None:
        """Select a feature and update the kernel by one elementwise multiplication."""
        self.similarity = self.similarity * to_numpy(self._kernels(np.array([feature])))[:, 0]

    def values(self, candidates: IntArray) -> FloatArray:
        """Return, for each candidate, the value of the criterion after adding it."""
        before = self.here.put(self.similarity)[:, None]
        changes = []
        for some in slices(len(candidates), max(BLOCK_SIZE // max(len(self.similarity), 1), 1)):
            after = self._kernels(candidates[some]) * before
            change = (before - after) * (self.wanted[:, None] - after - before)
            changes.append(to_numpy(self.weight @ change))
        return self.criterion() + np.concatenate(changes)

    def best(self, candidates: IntArray, values: FloatArray | None = None) -> int:
        """Return the candidate that minimises the criterion, or the first one if several tie."""
        if self.magnitude() <= self.tie():
            return int(candidates.min())
        values = self.values(candidates) if values is None else values
        return lowest_of_ties(candidates, values, self.tie())

    def _kernels(self, features: IntArray) -> Any:
        xp = self.here.xp
        chosen = self.here.float64(xp.take(self.X, self.here.put(features), axis=1))
        first, second = (xp.take(chosen, end, axis=0) for end in self.ends)
        difference = (first - second) / self.sigma
        return xp.exp(difference * difference * -0.5)


def kernel_terms(here: Device, columns: Any) -> tuple[Any, FloatArray]:
    """Split the Gaussian kernel of each feature into terms by a pivoted Cholesky factorisation.

    The results are the terms, of shape (n_features, n_terms, n_samples), and the largest diagonal
    entry of the remainder for each feature.
    """
    xp = here.xp
    n_features, n_samples = columns.shape
    diagonal = xp.ones_like(columns)
    # The diagonal is constant initially; a central sample is the best first pivot.
    pivot = xp.argmin(xp.abs(columns), axis=1)[:, None]
    rows: list[Any] = []
    most = min(MAX_TERMS, n_samples, max(TERMS_SIZE // (n_features * n_samples), 1))
    while len(rows) < most:
        row = columns - xp.take_along_axis(columns, pivot, axis=1)
        row = xp.exp(row * row * -0.5)
        if rows:
            earlier = xp.stack(rows, axis=1)
            places = xp.broadcast_to(pivot[:, :, None], (n_features, len(rows), 1))
            row -= xp.sum(earlier * xp.take_along_axis(earlier, places, axis=2), axis=1)
        height = xp.take_along_axis(diagonal, pivot, axis=1)
        unfinished = height > TOLERANCE
        safe = xp.where(unfinished, height, xp.ones_like(height))
        row *= xp.where(unfinished, 1.0 / xp.sqrt(safe), xp.zeros_like(height))
        rows.append(row)
        diagonal = diagonal - row * row
        pivot = xp.argmax(diagonal, axis=1)[:, None]
        left = xp.max(diagonal, axis=1)
        if float(xp.max(left)) <= TOLERANCE:
            break
    return xp.stack(rows, axis=1), np.maximum(to_numpy(left), 0.0)
