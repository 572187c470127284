"""The similarity criterion over a list of pairs, evaluated for each pair in float64."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._search.criterion import (
    PRODUCT_ROUNDING,
    SimilarityCriterion,
    lowest_of_ties,
    one_feature_kernel,
)
from linkselect._search.targets import PairTarget

# Number of kernel values per block: 256 kB fit into the processor's cache.
VALUES_PER_BLOCK = 2**15
# Error bound of four sums over pairs together, relative to the criterion (docs/bounds.md).
CARRIED_ROUNDING = 256 * 2.0**-53


class PairCriterion(SimilarityCriterion):
    """Base class for the criterion over listed pairs, each of which is counted in both directions.

    Parameters
    ----------
    n_features : int
        The number of features.
    target : PairTarget
        The pairs, given by row numbers.
    sigma : float
        The width of the kernel.
    """

    def __init__(self, n_features: int, target: PairTarget, sigma: float) -> None:
        self.n_features, self.target, self.sigma = n_features, target, sigma
        self.similarity = np.ones(len(target.first))
        self.kinds = slice(0, target.n_must), slice(target.n_must, len(target.first))

    def _weighted(self, must: FloatArray, cannot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Multiply one value per pair by the weights of the pairs, if weights were given."""
        if self.target.own is None:
            return must, cannot
        of_must, of_cannot = (self.target.own[kind] for kind in self.kinds)
        return of_must * must, of_cannot * cannot

    def _squared_errors(self) -> tuple[FloatArray, FloatArray]:
        """Return the weighted squared error of every must-link and of every cannot-link."""
        must, cannot = (self.similarity[kind] for kind in self.kinds)
        return self._weighted((must - 1.0) ** 2, cannot**2)

    def must_part(self) -> float:
        """Return the must-link part of the criterion, which additional features never decrease."""
        return float(self.target.weights[0] * self._squared_errors()[0].sum())

    def _cannot_part(self) -> float:
        return float(self.target.weights[1] * self._squared_errors()[1].sum())

    def criterion(self) -> float:
        """Return the value of the criterion for the features selected so far."""
        return self.must_part() + self._cannot_part()

    def standard_error(self) -> float:
        """Return the standard error of the criterion, estimated from the sampled pairs.

        The estimate assumes a stratified sample of pairs drawn without replacement.
        """
        variance = 0.0
        for errors, available in zip(self._squared_errors(), self.target.n_available, strict=True):
            if 1 < len(errors) < available:
                left_out = 1 - len(errors) / available
                variance += left_out * (2 * available) ** 2 * errors.var(ddof=1) / len(errors)
        return float(np.sqrt(variance))

    def magnitude(self) -> float:
        """Return an upper bound on the change of the criterion that any candidate causes."""
        must, cannot = (self.similarity[kind] for kind in self.kinds)
        must, cannot = self._weighted(must * (must + 2), cannot * cannot)
        of_must, of_cannot = self.target.weights
        return float(of_must * must.sum() + of_cannot * cannot.sum())

    def rounding(self) -> float:
        """Return the difference below which two values of the criterion count as equal."""
        return self.tie()


class ListedPairs(PairCriterion):
    """The criterion over listed pairs of samples in memory.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples, which may have any real dtype; columns are converted to float64 when needed.
    target : PairTarget
        The pairs, given by rows of X.
    sigma : float
        The width of the kernel.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(
        self, X: NDArray[Any], target: PairTarget, sigma: float, n_jobs: int | None
    ) -> None:
        super().__init__(X.shape[1], target, sigma)
        self.columns = np.ascontiguousarray(X.T)
        self.map = partial(map_threads, n_jobs=n_jobs)
        # Lower bounds of each candidate's change of the current criterion.
        self.lower = np.full(self.n_features, -np.inf)

    def add(self, feature: int) -> None:
        """Select a feature and update the kernel by one elementwise multiplication."""
        before, cannot_before = self.criterion(), self._cannot_part()
        column = self.columns[[feature]].astype(np.float64)

        def multiply(block: tuple[slice, float]) -> None:
            self.similarity[block[0]] *= self._kernel(column, block[0])[0]

        self.map(multiply, self._pair_blocks())
        # Must-link terms never decrease, so no value decreases by more than the cannot-link part.
        after = self.criterion()
        self.lower -= after - before + (cannot_before - self._cannot_part())
        self.lower -= CARRIED_ROUNDING * max(before, after)

    def values(self, candidates: IntArray) -> FloatArray:
        """Return, for each candidate, the value of the criterion after adding it."""
        return self.criterion() + self._changes(candidates)

    def best(self, candidates: IntArray, values: FloatArray | None = None) -> int:
        """Return the candidate that minimises the criterion, or the first one if several tie."""
        tie = self.tie()
        if values is not None:
            self.lower[candidates] = values - self.criterion() - self._value_rounding()
            return lowest_of_ties(candidates, values, tie)
        if self.magnitude() <= tie:
            return int(candidates.min())
        rounding = self._value_rounding()
        promising_first = candidates[np.argsort(self.lower[candidates], kind="stable")]
        changes = np.full(len(candidates), np.inf)
        # Evaluate several blocks between two checks of the bounds, so that all threads have work.
        for part in slices(len(candidates), 8 * self._features_per_block()):
            block = promising_first[part]
            if self.lower[block[0]] > changes.min() + rounding:
                break
            changes[part] = self._changes(block)
            self.lower[block] = changes[part] - rounding
        return lowest_of_ties(promising_first, changes, tie)

    def _value_rounding(self) -> float:
        """Return a generous bound on the rounding error of a change, which also covers ties."""
        return PRODUCT_ROUNDING * self.magnitude() + 100 * self.tie()

    def _features_per_block(self) -> int:
        return max(1, VALUES_PER_BLOCK // max(1, len(self.similarity)))

    def _pair_blocks(self) -> Iterator[tuple[slice, float]]:
        """Yield blocks of must-links or of cannot-links, each with its target similarity."""
        for kind, wanted in zip(self.kinds, (1.0, 0.0), strict=True):
            for part in slices(kind.stop - kind.start, VALUES_PER_BLOCK):
                yield slice(kind.start + part.start, kind.start + part.stop), wanted

    def _changes(self, features: IntArray) -> FloatArray:
        parts = slices(len(features), self._features_per_block())
        return np.concatenate(self.map(lambda part: self._changes_of(features[part]), parts))

    def _changes_of(self, features: IntArray) -> FloatArray:
        columns = self.columns[features].astype(np.float64)
        changes = np.zeros(len(features))
        for block, wanted in self._pair_blocks():
            before = self.similarity[block]
            after = self._kernel(columns, block)
            after *= before
            decrease = before - after
            after += before
            np.subtract(2 * wanted, after, out=after)
            if self.target.own is not None:
                after *= self.target.own[block]
            weight = self.target.weights[0 if wanted else 1]
            changes += weight * np.einsum("ij,ij->i", decrease, after)
        return changes

    def _kernel(self, columns: FloatArray, block: slice) -> FloatArray:
        # `take` releases the GIL; indexing does not.
        difference = columns.take(self.target.first[block], axis=1)
        difference -= columns.take(self.target.second[block], axis=1)
        return one_feature_kernel(difference, self.sigma)
