"""Folds of pairs in which nothing held out follows from the pairs that are left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from linkselect.arrays import IntArray
from linkselect.messages import GuidedValueError, many, warn_user
from linkselect.pairs import PairConflictError, Pairs, describe_conflicts, must_components
from linkselect.supervision import check_is_pairs

__all__ = ["LEAVE_CONFLICTS_OUT", "PairKFold"]

# With fewer groups of either kind there is nothing to train on or nothing to test.
LEAST_GROUPS = 2

LEAVE_CONFLICTS_OUT = (
    "Correct the pairs (Pairs.conflicts() lists all), or pass pairs.without_conflicts() to leave "
    "these cannot-links out."
)


class PairKFold:
    """Split pairs into folds, each held out once; the samples are not split.

    Two must-links that a chain of must-links joins stay in one fold, and so do two cannot-links
    between the same two groups of must-linked samples. Otherwise the pairs left for training would
    imply some of those held out. Must-links and cannot-links are dealt out separately, the largest
    groups first, each to the fold with the fewest pairs of its kind so far, so that every fold has
    both kinds.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2. There are fewer, with a warning, if there are fewer groups
        of must-links or of cannot-links than that.
    n_repeats : int, default=1
        How often all pairs are dealt out anew.
    random_state : int, RandomState instance or None, default=None
        Determines which of equally large groups is dealt out first.

    See Also
    --------
    pair_auc_curve : Judge a selector by held-out pairs.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> pairs = Pairs(must=[(0, 1), (1, 2), (5, 6)], cannot=[(0, 5), (2, 6), (0, 9)])
    >>> for train, test in PairKFold(n_splits=2, random_state=0).split(pairs):
    ...     print(sorted(test.must), sorted(test.cannot))
    [(0, 1), (1, 2)] [(0, 5), (2, 6)]
    [(5, 6)] [(0, 9)]
    """

    def __init__(self, n_splits: int = 5, n_repeats: int = 1, random_state: Any = None) -> None:
        _check_number("n_splits", n_splits, 2)
        _check_number("n_repeats", n_repeats, 1)
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state

    def __repr__(self) -> str:
        return (
            f"PairKFold(n_splits={self.n_splits}, n_repeats={self.n_repeats}, "
            f"random_state={self.random_state})"
        )

    def split(self, pairs: Pairs) -> Iterator[tuple[Pairs, Pairs]]:
        """Yield the training pairs and the held-out pairs of every fold.

        Parameters
        ----------
        pairs : Pairs
            By id or by row number; no cannot-link may contradict the must-links, see
            `Pairs.without_conflicts`.
        """
        must, cannot = _groups(pairs)
        n_folds = self._count(int(must.max(initial=-1)) + 1, int(cannot.max(initial=-1)) + 1)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            must_folds, cannot_folds = _dealt(must, n_folds, rng), _dealt(cannot, n_folds, rng)
            for fold in range(n_folds):
                held = must_folds == fold, cannot_folds == fold
                yield _chosen(pairs, ~held[0], ~held[1]), _chosen(pairs, *held)

    def _count(self, n_must: int, n_cannot: int) -> int:
        fewest = min(n_must, n_cannot)
        if fewest < LEAST_GROUPS:
            raise GuidedValueError(
                f"The pairs form {many(n_must, 'group')} of must-links and "
                f"{many(n_cannot, 'group')} of cannot-links that do not follow from each other, "
                f"but holding some out needs at least {LEAST_GROUPS} of each.",
                "Add pairs that name other samples.",
            )
        if fewest < self.n_splits:
            warn_user(
                f"There are only {fewest} groups of "
                f"{'must-links' if n_must == fewest else 'cannot-links'} that do not follow from "
                f"each other, so there are {fewest} folds instead of {self.n_splits}."
            )
        return min(self.n_splits, fewest)


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise GuidedValueError(
            f"{name}={value!r}, but it is a whole number.", f"Choose {least} or more.", name
        )


def _groups(pairs: Pairs) -> tuple[IntArray, IntArray]:
    """Return the group of every must-link and of every cannot-link, from 0."""
    check_is_pairs(pairs)
    if pairs.n_conflicts:
        raise PairConflictError(describe_conflicts(pairs), LEAVE_CONFLICTS_OUT)
    row_of = {sample: row for row, sample in enumerate(pairs.ids)}
    must, cannot = pairs.rows(row_of)
    component = must_components(must, len(row_of))
    of_must = np.unique(component[must[:, 0]], return_inverse=True)[1]
    ends = np.sort(component[cannot], axis=1)
    of_cannot = np.unique(ends, axis=0, return_inverse=True)[1]
    return of_must.astype(np.intp), of_cannot.ravel().astype(np.intp)


def _dealt(groups: IntArray, n_folds: int, rng: np.random.RandomState) -> IntArray:
    """Return the fold of every pair: the largest groups first, each to the smallest fold."""
    sizes = np.bincount(groups)
    shuffled = rng.permutation(len(sizes))
    fold_of = np.empty(len(sizes), dtype=np.intp)
    filled = np.zeros(n_folds, dtype=np.intp)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[groups]


def _chosen(pairs: Pairs, must: Any, cannot: Any) -> Pairs:
    return Pairs(
        [pair for pair, kept in zip(pairs.must, must, strict=True) if kept],
        [pair for pair, kept in zip(pairs.cannot, cannot, strict=True) if kept],
        n_samples=pairs.n_samples,
    )
