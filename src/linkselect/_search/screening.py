"""Screening of candidates in single precision before their evaluation in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._compiled.similarity_sums import (
    CANNOT_ROUNDING,
    KERNEL_ROUNDING,
    MUST_ROUNDING,
    TINY,
    WIDEST,
    PairSums,
    pair_sums,
)

# From this number of pairs times features, compiling pays off in a search of some dozen steps.
VALUES_WORTH_COMPILING = 1e8
# Number of candidates per task, and in the first evaluation of cannot-links.
FEATURES_PER_TASK = 64
FIRST_LOOK = 16
# Up to this many remaining candidates are compared directly in float64.
FEW = 4


def compiled_screen(
    columns: FloatArray,
    scaled: FloatArray,
    groups: IntArray,
    sigma: float,
    map_tasks: Callable[..., list[Any]],
) -> Screen | None:
    """Return a screen if it is applicable, saves time and can be compiled; otherwise None.

    Parameters
    ----------
    columns, scaled : ndarray of shape (n_features, n_samples)
        The original features, and the features after centring and division by sigma.
    groups : ndarray of int of shape (n_samples,)
        The group of each sample, in ascending order.
    sigma : float
        The width of the kernel.
    map_tasks : callable
        The function `map_threads` with a fixed number of threads.
    """
    n_features, n_samples = columns.shape
    is_large = n_samples**2 / 2 * n_features >= VALUES_WORTH_COMPILING
    is_narrow = bool(np.ptp(columns, axis=1).max() <= WIDEST * sigma)
    sums = pair_sums() if is_large and is_narrow else None
    return None if sums is None else Screen(scaled, groups, sums, map_tasks)


class Screen:
    """Screen that excludes candidates by compiled sums with rigorous error bounds.

    The must-link part is computed for all candidates, because there are few pairs within groups.
    The cannot-link part of a candidate decreases by at most as much as that of the selected
    features. The candidate's part at an earlier step therefore yields a lower bound, which is
    sufficient for most candidates.

    Parameters
    ----------
    scaled, groups, map_tasks
        See `compiled_screen`. The range of each scaled feature must be at most WIDEST.
    sums : PairSums
        The compiled functions returned by `pair_sums`.
    """

    def __init__(
        self,
        scaled: FloatArray,
        groups: IntArray,
        sums: PairSums,
        map_tasks: Callable[..., list[Any]],
    ) -> None:
        n_features, n_samples = scaled.shape
        self.sums = sums
        self.map = map_tasks
        # The squared difference of two scaled values is the exponent. Values centred at 0 keep most
        # digits in float32.
        self.scaled = (scaled / np.sqrt(2)).astype(np.float32)
        self.group_end = np.searchsorted(groups, groups, side="right")
        self.n_alike = float((self.group_end - np.searchsorted(groups, groups)).sum())
        self.similarity = np.ones((n_samples, n_samples), np.float32)
        self.cannot_lower = np.zeros(n_features)

    def add(self, blocks: Iterable[tuple[slice, FloatArray]], cannot_decrease: float) -> None:
        """Update the kernel and the bounds after the selection of a feature.

        Parameters
        ----------
        blocks : iterable of (rows, similarity)
            The kernel matrix in blocks of rows; the columns start at the first row of the block.
        cannot_decrease : float
            The decrease of the cannot-link part, including the effect of rounding errors.
        """
        for rows, similarity in blocks:
            part = self.similarity[rows, rows.start :]
            part[:] = similarity
            part[part < TINY] = 0.0
        # The kernel of a candidate is at most 1, so its cannot-link part decreases by no more.
        self.cannot_lower -= cannot_decrease

    def not_ruled_out(self, candidates: IntArray, sum_alike: float) -> IntArray:
        """Return the candidates that may be the best one, evaluating the most promising first."""
        must = self.must_parts(candidates)
        by_bound = np.argsort(must + self.cannot_lower[candidates], kind="stable")
        candidates, must = candidates[by_bound], must[by_bound]
        slack = self.must_slack(must, sum_alike)
        lower = must - slack + self.cannot_lower[candidates]
        cannot = np.full(len(candidates), np.inf)
        n_seen, n_next, best = 0, FIRST_LOOK, np.inf
        while n_seen < len(candidates) and lower[n_seen] <= best:
            part = slice(n_seen, n_seen + n_next)
            cannot[part] = self.cannot_parts(candidates[part])
            best = min(
                best, (must[part] + slack[part] + (1 + CANNOT_ROUNDING) * cannot[part]).min()
            )
            n_seen, n_next = min(part.stop, len(candidates)), 2 * n_next
        seen = candidates[:n_seen]
        self.cannot_lower[seen] = (1 - CANNOT_ROUNDING) * cannot[:n_seen]
        lower = must[:n_seen] - slack[:n_seen] + self.cannot_lower[seen]
        return seen[lower <= best]

    def must_slack(self, must: FloatArray, sum_alike: float) -> FloatArray:
        """Return error bounds for must-link parts, which are derived in docs/bounds.md.

        To first order, the error of `(1 - v)^2` is `2 v (1 - v)` times the relative error of the
        kernel value v. The factor `2 v (1 - v)` is at most 1/2 and at most `2 v`.
        """
        pairs = min(self.n_alike / 2, 2 * sum_alike)
        return MUST_ROUNDING * must + KERNEL_ROUNDING * pairs + 2 * TINY * len(self.similarity) ** 2

    def must_parts(self, candidates: IntArray) -> FloatArray:
        """Compute the sum of squared errors over ordered pairs within groups."""

        def work(part: slice) -> FloatArray:
            samples = np.ascontiguousarray(self.scaled[candidates[part]].T)
            return self.sums.must_parts(samples, self.similarity, self.group_end)

        return 2 * np.concatenate(self.map(work, slices(len(candidates), FEATURES_PER_TASK)))

    def cannot_parts(self, candidates: IntArray) -> FloatArray:
        """Compute the sum of squared errors over ordered pairs between groups."""

        def work(part: slice) -> FloatArray:
            columns: NDArray[Any] = self.scaled[candidates[part]]
            return self.sums.cannot_parts(columns, self.similarity, self.group_end)

        return 2 * np.concatenate(self.map(work, slices(len(candidates), FIRST_LOOK // 2)))
