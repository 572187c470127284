"""The similarity criterion over all pairs of grouped samples, with loops that numba compiles.

Only the comparison of candidates differs from `AllPairs`: it proposes in float32 with an error
bound, and what it cannot tell apart is decided there, so the result is the same without numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from linkselect.arrays import FloatArray, IntArray
from linkselect.blocks import slices
from linkselect.search.all_pairs import AllPairs

__all__ = ["CompiledPairs", "all_pairs"]

# Pairs times features from which a search of some dozen steps saves more than compiling takes.
VALUES_WORTH_COMPILING = 1e8
# Where the polynomial for the kernel holds: differences of at most sigma, and a little more, since
# scaling to [0, 1] rounds.
WIDEST = 1.01
LARGEST_EXPONENT = WIDEST**2 / 2
# Values that one float32 sum adds up at most; the sums themselves are added in float64. Must-links
# are summed for features side by side, where short sums cost nothing.
MUST_LINKS_PER_SUM = 32
CANNOT_LINKS_PER_SUM = 256
# Bounds of relative errors. For a kernel value, in units of 2^-24: 3 for the difference, which is
# off by 1.5 and at most 1; 7 for the polynomial; 2 for its product with the other features' kernel.
KERNEL_ROUNDING = 16 * 2.0**-24
MUST_ROUNDING = (MUST_LINKS_PER_SUM + 4) * 2.0**-24
CANNOT_ROUNDING = 2 * KERNEL_ROUNDING + (CANNOT_LINKS_PER_SUM + 4) * 2.0**-24
# Smaller kernel values count as 0: their squares would be subnormal numbers, which are slow.
TINY = 1e-16
# Candidates in one task, and in the first look at cannot-links.
FEATURES_PER_TASK = 64
FIRST_LOOK = 16
# So many are evaluated pair by pair in float64.
FEW = 4


class Loops(NamedTuple):
    """The compiled sums over pairs i < j of samples that are sorted by group."""

    must_parts: Callable[..., FloatArray]
    """Sum `(1 - w k)^2` inside groups, for several features side by side."""
    cannot_parts: Callable[..., FloatArray]
    """Sum `(w k)^2` across groups, for several features."""


def all_pairs(X: NDArray[Any], groups: IntArray, sigma: float, n_jobs: int | None) -> AllPairs:
    """Choose the way that is faster here; arguments as for `AllPairs`."""
    n_samples, n_features = X.shape
    is_large = n_samples**2 / 2 * n_features >= VALUES_WORTH_COMPILING
    # In float64, since the range of narrow integers may exceed their own type.
    widest = X.max(axis=0).astype(np.float64) - X.min(axis=0).astype(np.float64)
    is_narrow = bool(widest.max() <= WIDEST * sigma)
    loops = compiled_loops() if is_large and is_narrow else None
    if loops is None:
        return AllPairs(X, groups, sigma, n_jobs)
    return CompiledPairs(X, groups, sigma, n_jobs, loops)


class CompiledPairs(AllPairs):
    """The criterion over all ordered pairs of samples that have a group.

    Inside groups there are few pairs, so the must-link part is summed for all candidates. The
    cannot-link part of a candidate falls by no more than that of the chosen features does: last
    step's value is a bound, and most candidates need no new one.

    Parameters
    ----------
    X, groups, sigma, n_jobs
        As for `AllPairs`; no feature may range over more than WIDEST sigma.
    loops : Loops
        From `compiled_loops`.
    """

    def __init__(
        self, X: NDArray[Any], groups: IntArray, sigma: float, n_jobs: int | None, loops: Loops
    ) -> None:
        super().__init__(X, groups, sigma, n_jobs)
        self.loops = loops
        # The squared difference of two of these is the exponent; around 0 it keeps its digits.
        self.scaled = (self._centred() / np.sqrt(2)).astype(np.float32)
        self.group_end = np.searchsorted(groups, groups, side="right")
        self.n_alike = float((self.group_end - np.searchsorted(groups, groups)).sum())
        self.single = np.ones((self.n_samples, self.n_samples), np.float32)
        self.cannot_lower = np.zeros(self.n_features)

    def _prepare_step(self) -> None:
        self._measure()
        self.upper = np.full(self.n_features, np.inf)

    def values(self, candidates: IntArray) -> FloatArray:
        """Evaluate the criterion with each of the candidates added."""
        self._build_matrices()
        return super().values(candidates)

    def add(self, feature: int) -> None:
        """Choose a feature: one multiplication updates the kernel."""
        cannot_before = self.cannot
        super().add(feature)
        for rows, _, similarity, _ in self.blocks:
            part = self.single[rows, rows.start :]
            part[:] = similarity
            part[part < TINY] = 0.0
        # A candidate's kernel is at most 1: it loses no more than the chosen features did.
        self.cannot_lower -= cannot_before - self.cannot + self.rounding()

    def _not_ruled_out(self, candidates: IntArray) -> IntArray:
        """Sum up the most promising candidates until the others cannot be better."""
        must = self._must_parts(candidates)
        by_bound = np.argsort(must + self.cannot_lower[candidates], kind="stable")
        candidates, must = candidates[by_bound], must[by_bound]
        slack = self._must_slack(must)
        lower = must - slack + self.cannot_lower[candidates]
        cannot = np.full(len(candidates), np.inf)
        n_seen, n_next, best = 0, FIRST_LOOK, np.inf
        while n_seen < len(candidates) and lower[n_seen] <= best:
            part = slice(n_seen, n_seen + n_next)
            cannot[part] = self._cannot_parts(candidates[part])
            best = min(
                best, (must[part] + slack[part] + (1 + CANNOT_ROUNDING) * cannot[part]).min()
            )
            n_seen, n_next = min(part.stop, len(candidates)), 2 * n_next
        seen = candidates[:n_seen]
        self.cannot_lower[seen] = (1 - CANNOT_ROUNDING) * cannot[:n_seen]
        lower = must[:n_seen] - slack[:n_seen] + self.cannot_lower[seen]
        near = seen[lower <= best]
        if len(near) <= FEW:
            return near
        # Where the kernel has all but vanished, single precision tells few candidates apart.
        self._build_matrices()
        return super()._not_ruled_out(near)

    def _must_slack(self, must: FloatArray) -> FloatArray:
        """Bound the error of must-link parts.

        That of `(1 - v)^2` is, to first order, `2 v (1 - v)` times that of v: no more than half,
        and no more than twice the kernel.
        """
        pairs = min(self.n_alike / 2, 2 * self.sum_alike)
        return MUST_ROUNDING * must + KERNEL_ROUNDING * pairs + 2 * TINY * self.n_samples**2

    def _must_parts(self, candidates: IntArray) -> FloatArray:
        def work(part: slice) -> FloatArray:
            samples = np.ascontiguousarray(self.scaled[candidates[part]].T)
            return self.loops.must_parts(samples, self.single, self.group_end)

        parts = slices(len(candidates), FEATURES_PER_TASK)
        # Both orders of a pair count.
        return 2 * np.concatenate(self.map(work, parts))

    def _cannot_parts(self, candidates: IntArray) -> FloatArray:
        def work(part: slice) -> FloatArray:
            columns = self.scaled[candidates[part]]
            return self.loops.cannot_parts(columns, self.single, self.group_end)

        return 2 * np.concatenate(self.map(work, slices(len(candidates), FIRST_LOOK // 2)))


@cache
def compiled_loops() -> Loops | None:
    """Compile the loops; None without numba."""
    try:
        from numba import njit
    except ImportError:
        return None

    # Its error is below 2^-26 of the value.
    fitted = Chebyshev.interpolate(lambda x: np.exp(-x), 5, domain=[0, LARGEST_EXPONENT])
    c0, c1, c2, c3, c4, c5 = fitted.convert(kind=Polynomial).coef.astype(np.float32)
    one = np.float32(1)

    @njit(inline="always")
    def kernel(difference: Any) -> Any:
        x = difference * difference
        return c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))

    # Sums may be reordered, or they would not be vectorised; the error bound holds for any order.
    compiled = njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})

    @compiled
    def must_parts(samples: Any, similarity: Any, group_end: Any) -> Any:
        totals = np.zeros(samples.shape[1])
        part = np.zeros(samples.shape[1], np.float32)
        for i in range(samples.shape[0]):
            for start in range(i + 1, group_end[i], MUST_LINKS_PER_SUM):
                part[:] = 0
                for j in range(start, min(start + MUST_LINKS_PER_SUM, group_end[i])):
                    a, b, weight = samples[i], samples[j], similarity[i, j]
                    for feature in range(part.size):
                        error = one - weight * kernel(a[feature] - b[feature])
                        part[feature] += error * error
                totals += part
        return totals

    @compiled
    def cannot_parts(columns: Any, similarity: Any, group_end: Any) -> Any:
        totals = np.zeros(columns.shape[0])
        for i in range(columns.shape[1]):
            for start in range(group_end[i], columns.shape[1], CANNOT_LINKS_PER_SUM):
                # Slices, since an index that starts at 0 lets the loop be vectorised.
                weights = similarity[i, start : start + CANNOT_LINKS_PER_SUM]
                for feature in range(columns.shape[0]):
                    others = columns[feature, start : start + CANNOT_LINKS_PER_SUM]
                    own = columns[feature, i]
                    part = np.float32(0)
                    for j in range(others.size):
                        error = weights[j] * kernel(own - others[j])
                        part += error * error
                    totals[feature] += part
        return totals

    return Loops(must_parts, cannot_parts)
