"""Most candidates are ruled out in single precision before any is evaluated in double."""

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

# Pairs times features from which a search of some dozen steps saves more than compiling takes.
VALUES_WORTH_COMPILING = 1e8
# Candidates in one task, and in the first look at cannot-links.
FEATURES_PER_TASK = 64
FIRST_LOOK = 16
# At most this many remaining candidates are compared directly in float64.
FEW = 4


def compiled_screen(
    columns: FloatArray,
    scaled: FloatArray,
    groups: IntArray,
    sigma: float,
    map_tasks: Callable[..., list[Any]],
) -> Screen | None:
    """Return a screen if it pays and can be compiled, else None.

    Parameters
    ----------
    columns, scaled : ndarray of shape (n_features, n_samples)
        The features, and the features centred and divided by sigma.
    groups : ndarray of int of shape (n_samples,)
        The group of each sample, in ascending order.
    sigma : float
        The width of the kernel.
    map_tasks : callable
        `map_threads` with its number of threads.
    """
    n_features, n_samples = columns.shape
    is_large = n_samples**2 / 2 * n_features >= VALUES_WORTH_COMPILING
    is_narrow = bool(np.ptp(columns, axis=1).max() <= WIDEST * sigma)
    sums = pair_sums() if is_large and is_narrow else None
    return None if sums is None else Screen(scaled, groups, sums, map_tasks)


class Screen:
    """Rule candidates out by compiled sums with a bound on their error.

    Inside groups there are few pairs, so the must-link part is summed for all candidates. The
    cannot-link part of a candidate falls by no more than that of the chosen features does: last
    step's value is a bound, and most candidates need no new one.

    Parameters
    ----------
    scaled, groups, map_tasks
        As in `compiled_screen`; no feature may range over more than WIDEST.
    sums : PairSums
        From `pair_sums`.
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
        # The squared difference of two of these is the exponent; around 0 it keeps its digits.
        self.scaled = (scaled / np.sqrt(2)).astype(np.float32)
        self.group_end = np.searchsorted(groups, groups, side="right")
        self.n_alike = float((self.group_end - np.searchsorted(groups, groups)).sum())
        self.similarity = np.ones((n_samples, n_samples), np.float32)
        self.cannot_lower = np.zeros(n_features)

    def add(self, blocks: Iterable[tuple[slice, FloatArray]], cannot_decrease: float) -> None:
        """Take over the kernel after one more feature was chosen.

        Parameters
        ----------
        blocks : iterable of (rows, similarity)
            The kernel from the first of the rows on, in blocks of rows.
        cannot_decrease : float
            By how much the cannot-link part fell, rounding included.
        """
        for rows, similarity in blocks:
            part = self.similarity[rows, rows.start :]
            part[:] = similarity
            part[part < TINY] = 0.0
        # A candidate's kernel is at most 1: it loses no more than the chosen features did.
        self.cannot_lower -= cannot_decrease

    def not_ruled_out(self, candidates: IntArray, sum_alike: float) -> IntArray:
        """Sum up the most promising candidates until the others cannot be better."""
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
        """Bound the error of must-link parts; `docs/bounds.md` derives it.

        That of `(1 - v)^2` is, to first order, `2 v (1 - v)` times that of v: no more than half,
        and no more than twice the kernel.
        """
        pairs = min(self.n_alike / 2, 2 * sum_alike)
        return MUST_ROUNDING * must + KERNEL_ROUNDING * pairs + 2 * TINY * len(self.similarity) ** 2

    def must_parts(self, candidates: IntArray) -> FloatArray:
        """Sum the squared errors inside groups, both orders of a pair."""

        def work(part: slice) -> FloatArray:
            samples = np.ascontiguousarray(self.scaled[candidates[part]].T)
            return self.sums.must_parts(samples, self.similarity, self.group_end)

        return 2 * np.concatenate(self.map(work, slices(len(candidates), FEATURES_PER_TASK)))

    def cannot_parts(self, candidates: IntArray) -> FloatArray:
        """Sum the squared errors across groups, both orders of a pair."""

        def work(part: slice) -> FloatArray:
            columns: NDArray[Any] = self.scaled[candidates[part]]
            return self.sums.cannot_parts(columns, self.similarity, self.group_end)

        return 2 * np.concatenate(self.map(work, slices(len(candidates), FIRST_LOOK // 2)))
