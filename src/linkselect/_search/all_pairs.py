"""The similarity criterion over all pairs of grouped samples, evaluated by matrix products.

Let `A = w^2` and `B = T w`, which are positive semidefinite and non-negative. Adding feature r
changes the criterion by `sum A k_r^2 - sum A + 2 (sum B - sum B k_r)`. The term `sum B (1 - k_r)`
equals `sum_p t_p' L t_p`, with the terms t of `k_r` (see `kernel_terms`) and the Laplacian L of B.
The change is therefore a sum of quadratic forms, one per term. The sum over the first terms is a
lower bound, which excludes most candidates before the remaining terms are computed.
"""

from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._search.criterion import (
    SimilarityCriterion,
    form_rounding,
    lowest_of_ties,
    one_feature_kernel,
)
from linkselect._search.kernel_terms import MAX_TERMS, kernel_terms
from linkselect._search.screening import FEW, compiled_screen

Blocks = list[NDArray[Any]]
Matrices = tuple[Blocks, Blocks]
Terms = list[FloatArray]

# Products of two values above this are normal numbers in float32.
TINY = 1e-18
# Rows of the kernel matrix per block, fixed so that no sum depends on the number of threads.
ROWS_PER_BLOCK = 128
FEATURES_PER_BLOCK = 64
# A rigorous bound for forms in float32, in any order of summation: one rounding of 2^-24 for each
# value in a sum, and a few for the conversions. Longer sums are split. docs/bounds.md derives this
# bound and those below.
VALUES_PER_COARSE_SUM = 256
COARSE_ROUNDING = (VALUES_PER_COARSE_SUM + ROWS_PER_BLOCK + 16) * 2.0**-24
# Times the range of a scaled feature, this bounds the error of a kernel value due to rounding of
# the scaled values, because a Gaussian changes by less than its argument.
INPUT_ROUNDING = 8 * 2.0**-53
# Memory limit for all kernel terms. With fewer terms, the bounds are looser but still valid.
MAX_BYTES_FOR_TERMS = 2**28
# Half a matrix each: kernel, target, A and B in float64, and A and B in float32.
BYTES_PER_PAIR = 4 * 8 + 2 * 4


def memory_needed(n_samples: int) -> int:
    """Return the approximate memory in bytes that all n_samples x n_samples matrices require."""
    return BYTES_PER_PAIR * n_samples * n_samples // 2


class _Rows(NamedTuple):
    """A block of rows of the kernel matrix, with the columns from the diagonal onwards."""

    rows: slice
    alike: slice
    """The columns up to the end of the last group of these rows.

    The target T is 0 in all later columns.
    """
    similarity: FloatArray
    target: FloatArray


class GroupCriterion(SimilarityCriterion):
    """Base class for the criterion over all ordered pairs of samples with a group.

    Attributes
    ----------
    must, cannot : float
        The sums of squared errors over pairs within groups and between groups.
    sum_squared, sum_alike : float
        The sums over all entries of the matrices A and B.
    squared_remainder, plain_remainder : ndarray of shape (n_features,)
        Bounds on the truncation error of the kernel terms for `k^2` and for `k`.
    input_rounding : ndarray of shape (n_features,)
        Bounds on the error caused by rounding the scaled values.
    n_terms : int
        The largest number of terms into which a kernel is split.
    """

    must: float
    cannot: float
    sum_squared: float
    sum_alike: float
    squared_remainder: FloatArray
    plain_remainder: FloatArray
    input_rounding: FloatArray
    n_terms: int

    def __init__(self, shape: tuple[int, ...], sigma: float) -> None:
        self.n_samples, self.n_features = shape
        self.sigma = sigma

    def must_part(self) -> float:
        """Return the must-link part of the criterion, which additional features never decrease."""
        return float(self.must)

    def criterion(self) -> float:
        """Return the value of the criterion for the features selected so far."""
        return float(self.must + self.cannot)

    def standard_error(self) -> float:
        """Return a standard error of 0, because no pairs are sampled."""
        return 0.0

    def magnitude(self) -> float:
        """Return an upper bound on the change of the criterion that any candidate causes."""
        return float(self.sum_squared + 2 * self.sum_alike - 3 * self.n_samples)

    def rounding(self) -> float:
        """Return the difference below which values computed by matrix products count as equal."""
        products = form_rounding(self.n_samples, self.n_terms)
        return products * float(self.sum_squared + 2 * self.sum_alike) + self.tie()

    def _truncation(self, features: Any) -> Any:
        """Return a bound on the effect of truncated terms and rounded inputs on the change."""
        squared = self.squared_remainder[features] * self.sum_squared
        plain = 4 * self.plain_remainder[features] * self.sum_alike
        return squared + plain + self._rounding_of_inputs(features)

    def _rounding_of_inputs(self, features: Any) -> Any:
        """Return a bound on the effect of rounding the scaled values."""
        return self.input_rounding[features] * (2 * self.sum_squared + 4 * self.sum_alike)


class AllPairs(GroupCriterion):
    """The criterion over all ordered pairs of grouped samples that are in memory.

    Only blocks on and above the diagonal are stored. The contribution of a block to the full sum is
    twice its sum minus the sum of its square diagonal part. The diagonal itself has no error.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples that have a group, sorted by group.
    groups : ndarray of int of shape (n_samples,)
        The group of each sample, in ascending order.
    sigma : float
        The width of the kernel.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(self, X: NDArray[Any], groups: IntArray, sigma: float, n_jobs: int | None) -> None:
        super().__init__(X.shape, sigma)
        self.columns = np.ascontiguousarray(X.T, dtype=np.float64)
        self.map = partial(map_threads, n_jobs=n_jobs)
        scaled = self._centred()
        self.screen = compiled_screen(self.columns, scaled, groups, sigma, self.map)
        group_end = np.searchsorted(groups, groups, side="right")
        self.blocks = []
        for rows in slices(self.n_samples, ROWS_PER_BLOCK):
            target = (groups[rows, None] == groups[rows.start :]) * 1.0
            alike = slice(rows.start, int(group_end[rows.stop - 1]))
            self.blocks.append(_Rows(rows, alike, np.ones_like(target), target))
        self.squared_terms, self.squared_remainder = self._all_terms(np.sqrt(2.0) * scaled)
        self.plain_terms, self.plain_remainder = self._all_terms(scaled)
        n_kept = max(len(self.squared_terms), len(self.plain_terms))
        # Terms beyond the memory limit were computed as well, so their rounding counts.
        self.n_terms = n_kept if n_kept < self._room() else MAX_TERMS
        self.input_rounding = INPUT_ROUNDING * np.ptp(scaled, axis=1)
        # Lower bounds of each candidate's change of the current criterion.
        self.lower = np.full(self.n_features, -np.inf)
        self._prepare_step()

    def _centred(self) -> FloatArray:
        """Subtract the midrange from each feature, and divide the result by sigma."""
        middle = self.columns.max(axis=1) / 2 + self.columns.min(axis=1) / 2
        return (self.columns - middle[:, None]) / self.sigma

    def _room(self) -> int:
        """Return the number of terms per kernel that fit into memory."""
        return max(2, MAX_BYTES_FOR_TERMS // (2 * 8 * self.columns.size))

    def _all_terms(self, scaled: FloatArray) -> tuple[Terms, FloatArray]:
        """Compute the kernel terms of all features, and bounds on their truncation errors."""
        room = self._room()
        parts = slices(self.n_features, FEATURES_PER_BLOCK)
        found = self.map(lambda part: kernel_terms(scaled[part], room), parts)
        remainder = np.concatenate([part_remainder for _, part_remainder in found])
        terms = []
        # Copy term by term, so that at most one term is in memory twice.
        for position in range(max(len(part_terms) for part_terms, _ in found)):
            term = np.zeros_like(self.columns)
            for part, (part_terms, _) in zip(parts, found, strict=True):
                if position < len(part_terms):
                    term[part] = part_terms[position]
                    part_terms[position] = np.empty(0)
            term[np.abs(term) < TINY] = 0.0
            terms.append(term)
        return terms, remainder

    def _prepare_step(self) -> None:
        self._measure()
        # Built only when needed: the screen may leave too few candidates to require them.
        self.matrices: Matrices | None = None
        self.upper = np.full(self.n_features, np.inf)

    def _measure(self) -> None:
        """Compute the sums of squared errors within and between groups, and the sums of A and B."""
        sums = np.sum(self.map(_sums_of_block, self.blocks), axis=0)
        self.must, self.cannot, sum_inside, self.sum_alike = sums
        self.sum_squared = sum_inside + self.cannot

    def _matrices(self) -> Matrices:
        """Return the matrix A and the Laplacian of the matrix B."""
        if self.matrices is None:
            prepared = self.map(_matrices_of_block, self.blocks)
            laplacian = [part for _, part in prepared]
            degree = np.zeros(self.n_samples)
            for part, block in zip(laplacian, self.blocks, strict=True):
                degree[block.rows] -= part.sum(axis=1) / 2
                degree[block.alike] -= part.sum(axis=0) / 2
            for part, block in zip(laplacian, self.blocks, strict=True):
                part[np.diag_indices(len(part))] += degree[block.rows]
            self.matrices = [squared for squared, _ in prepared], laplacian
        return self.matrices

    def add(self, feature: int) -> None:
        """Select a feature and update the kernel by one elementwise multiplication."""
        # The rounding error of the previous sums, which may be much larger than the new ones.
        rounding = self.rounding()
        cannot_before = self.cannot
        constant_before = self.sum_squared - 2 * self.sum_alike
        column = self.columns[feature]

        def multiply(block: _Rows) -> None:
            block.similarity[:] *= self._kernel_of(column, block.rows)

        self.map(multiply, self.blocks)
        self._prepare_step()
        # `lower` bounds changes of the current criterion, which has just changed itself. Must-link
        # terms never decrease, so no value decreases by more than the cannot-link part did.
        change = self.sum_squared - 2 * self.sum_alike - constant_before
        self.lower -= change + (cannot_before - self.cannot) + rounding
        if self.screen is not None:
            kernel = ((block.rows, block.similarity) for block in self.blocks)
            self.screen.add(kernel, cannot_before - self.cannot + rounding)

    def values(self, candidates: IntArray) -> FloatArray:
        """Return, for each candidate, the value of the criterion after adding it."""
        changes = self._changes_by_terms(candidates)
        for position in np.flatnonzero(self._truncation(candidates) > self.rounding()):
            changes[position] = self._direct_change(candidates[position])
        return self.criterion() + changes

    def best(self, candidates: IntArray, values: FloatArray | None = None) -> int:
        """Return the candidate that minimises the criterion, or the first one if several tie."""
        if self.magnitude() <= self.tie():
            return int(candidates.min())
        if values is None:
            near = self._not_ruled_out(candidates)
        else:
            self.lower[candidates] = values - self.criterion() - self.rounding()
            # Twice the rounding, because the least value may be too small by truncation as well.
            near = candidates[values <= values.min() + 2 * self.rounding()]
        if len(near) > 1:
            # Equal columns change the criterion equally, and the lowest index wins. With few
            # samples and many zeros there may be hundreds of them.
            near = np.sort(near)
            near = near[np.unique(self.columns[near], axis=0, return_index=True)[1]]
        if len(near) == 1:
            return int(near[0])
        changes = np.array([self._direct_change(feature) for feature in near])
        return lowest_of_ties(near, changes, self.tie())

    def _not_ruled_out(self, candidates: IntArray) -> IntArray:
        """Return the candidates that may be the best one, given bounds and rounding errors."""
        if self.screen is not None:
            candidates = self.screen.not_ruled_out(candidates, self.sum_alike)
            # If the kernel has nearly vanished, single precision separates few candidates.
            if len(candidates) <= FEW:
                return candidates
        self.lower[candidates] -= self.rounding()
        # Evaluate the most promising candidate first, usually the runner-up of the last step: its
        # value excludes others.
        self._bound_from_above(candidates[self.lower[candidates].argmin()])
        alive = candidates[self.lower[candidates] <= self.upper.min()]
        slack = COARSE_ROUNDING * float(self.sum_squared + 4 * self.sum_alike)
        squared, laplacian = self._matrices()
        alive = self._rule_out(alive, (_coarse(squared), _coarse(laplacian)), slack)
        return self._rule_out(alive, (squared, laplacian), self.rounding())

    def _rule_out(self, alive: IntArray, matrices: Matrices, slack: float) -> IntArray:
        """Return candidates whose lower bound, refined term by term, is below the best value."""
        lower = -self.sum_squared - slack - self._rounding_of_inputs(alive)
        for position, pair_of_terms in enumerate(zip_longest(self.squared_terms, self.plain_terms)):
            forms = self._forms_of_terms(pair_of_terms, matrices, alive)
            lower += forms
            self.lower[alive] = np.maximum(self.lower[alive], lower)
            # One term is too inaccurate to identify the most promising candidate.
            if position > 0:
                self._bound_from_above(alive[lower.argmin()])
            keep = lower <= self.upper.min()
            alive, lower = alive[keep], lower[keep]
            # Terms are sorted by size, so all further ones are below the slack as well.
            if len(alive) == 1 or forms.max() <= slack:
                break
        return alive

    def _forms_of_terms(
        self,
        pair_of_terms: tuple[FloatArray | None, FloatArray | None],
        matrices: Matrices,
        features: IntArray,
    ) -> FloatArray:
        """Compute the contribution of one kernel term to the change for the given features."""
        squared_term, plain_term = pair_of_terms
        squared, laplacian = matrices
        dtype = squared[0].dtype
        forms = np.zeros(len(features))
        if squared_term is not None:
            forms += self._forms(squared_term[features].astype(dtype, copy=False), squared)
        if plain_term is not None:
            forms += 2 * self._forms(plain_term[features].astype(dtype, copy=False), laplacian)
        return forms

    def _changes_by_terms(self, features: IntArray) -> FloatArray:
        matrices = self._matrices()
        forms = np.zeros(len(features))
        for pair_of_terms in zip_longest(self.squared_terms, self.plain_terms):
            forms += self._forms_of_terms(pair_of_terms, matrices, features)
        return forms - self.sum_squared

    def _bound_from_above(self, feature: int) -> None:
        if np.isfinite(self.upper[feature]):
            return
        # One product for all terms of the feature reads the matrix only once.
        squared = np.array([term[feature] for term in self.squared_terms])
        plain = np.array([term[feature] for term in self.plain_terms])
        matrix, laplacian = self._matrices()
        change = self._forms(squared, matrix).sum() - self.sum_squared
        change += 2 * self._forms(plain, laplacian).sum()
        self.upper[feature] = change + self._truncation(feature) + self.rounding()

    def _forms(self, vectors: NDArray[Any], matrix: Blocks) -> FloatArray:
        """Compute `v' M v` for each row v; the blocks of M account for both triangles."""

        def block_forms(block: tuple[_Rows, NDArray[Any]]) -> FloatArray:
            (rows, *_), part = block
            step = VALUES_PER_COARSE_SUM if part.dtype == np.float32 else part.shape[1]
            forms = np.zeros(len(vectors))
            for columns in slices(part.shape[1], step):
                others = slice(rows.start + columns.start, rows.start + columns.stop)
                product = vectors[:, others] @ part[:, columns].T
                forms += np.einsum("ij,ij->i", product, vectors[:, rows])
            return forms

        return np.sum(self.map(block_forms, zip(self.blocks, matrix, strict=True)), axis=0)

    def _kernel_of(self, column: FloatArray, rows: slice) -> FloatArray:
        return one_feature_kernel(column[rows, None] - column[rows.start :], self.sigma)

    def _direct_change(self, feature: int) -> float:
        column = self.columns[feature]

        def block_change(block: _Rows) -> float:
            after = self._kernel_of(column, block.rows)
            after *= block.similarity
            decrease = block.similarity - after
            after += block.similarity
            after -= 2 * block.target
            after *= decrease
            return -_sum_both_sides(after, block.rows)

        return sum(self.map(block_change, self.blocks))


def _coarse(matrix: Blocks) -> Blocks:
    """Convert a matrix to float32; values whose products would be subnormal are set to 0.

    Subnormal numbers make products a hundred times slower, and they are negligible compared with
    the entries of 1 on the diagonal.
    """
    return [np.where(np.abs(part) < TINY, 0.0, part).astype(np.float32) for part in matrix]


def _sums_of_block(block: _Rows) -> tuple[float, float, float, float]:
    n_alike = block.alike.stop - block.alike.start
    near, target = block.similarity[:, :n_alike], block.target[:, :n_alike]
    far = block.similarity[:, n_alike:]
    alike = near * target
    squared = near * near
    inside = squared * target
    must = (target - alike) ** 2
    squared -= inside
    cannot = _sum_both_sides(squared, block.rows) + 2 * float(np.einsum("ij,ij->", far, far))
    return (
        _sum_both_sides(must, block.rows),
        cannot,
        _sum_both_sides(inside, block.rows),
        _sum_both_sides(alike, block.rows),
    )


def _matrices_of_block(block: _Rows) -> tuple[FloatArray, FloatArray]:
    """Compute a block of the matrix A and of the matrix -B."""
    n_alike = block.alike.stop - block.alike.start
    squared = block.similarity * block.similarity
    laplacian = block.similarity[:, :n_alike] * -block.target[:, :n_alike]
    _count_both_sides(squared, block.rows)
    _count_both_sides(laplacian, block.rows)
    return squared, laplacian


def _count_both_sides(part: FloatArray, rows: slice) -> None:
    """Double the entries outside the square diagonal part of a block to count both triangles."""
    part[:, rows.stop - rows.start :] *= 2


def _sum_both_sides(part: FloatArray, rows: slice) -> float:
    return float(2 * part.sum() - part[:, : rows.stop - rows.start].sum())
