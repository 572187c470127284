"""Ensembles: the same score on many bags of samples and random subspaces of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect.arrays import FloatArray, IntArray, Matrix
from linkselect.blocks import map_threads, slices
from linkselect.graphs.kernels import resolve_sigma
from linkselect.graphs.neighbors import nearest_edges
from linkselect.scores.pairwise import constrained_laplacian
from linkselect.supervision import Supervision, restrict

__all__ = ["MEMBERS_PER_STEP", "draw_bag", "draw_subspaces", "ensemble_constrained_laplacian"]

# Progress is reported after so many members; the number must not depend on the threads.
MEMBERS_PER_STEP = 8


def ensemble_constrained_laplacian(
    X: Matrix,
    known: Supervision,
    bags: list[IntArray],
    subspaces: list[IntArray],
    n_neighbors: int,
    sigma: float | Literal["auto"],
    n_jobs: int | None = None,
    track: Callable[[Iterable[slice]], Iterator[slice]] = iter,
) -> FloatArray:
    """Average the constrained Laplacian score of 2014 (C6) over bags and subspaces; small is good.

    A member in which a feature has no score does not count for it; where none counts it is NaN.
    """
    rows = X.tocsr() if issparse(X) else X
    total, n_scores = np.zeros(X.shape[1]), np.zeros(X.shape[1])

    def work(member: int) -> FloatArray:
        bag, subspace = bags[member], subspaces[member]
        some = rows[bag][:, subspace]
        near = nearest_edges(some, n_neighbors, n_jobs=1)
        width = resolve_sigma(sigma, some)
        part = restrict(known, bag)
        found = constrained_laplacian(some, near, part, width, "2014", n_jobs=1)
        # Rounding gives a feature that is constant in the bag a value: it has none.
        lowest, highest = some.min(axis=0), some.max(axis=0)
        if issparse(some):
            lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
        return np.where(lowest < highest, found, np.nan)

    for part in track(slices(len(bags), MEMBERS_PER_STEP)):
        members = range(part.start, part.stop)
        for member, found in zip(members, map_threads(work, members, n_jobs), strict=True):
            defined = ~np.isnan(found)
            total[subspaces[member][defined]] += found[defined]
            n_scores[subspaces[member][defined]] += 1
    return np.where(n_scores > 0, total / np.maximum(n_scores, 1), np.nan)


def draw_bag(
    known: Supervision, share: float, n_least: int, rng: np.random.RandomState
) -> IntArray:
    """Draw samples for one member, without replacement and without losing the supervision.

    With bare pairs, every sample that a pair names stays. With labels, the share is drawn from
    each class, but at least two samples, so that each keeps a must-link and its cannot-links.
    The unlabelled samples are drawn by the share. At least `n_least` samples are drawn in all.
    """
    chosen = np.zeros(len(known.classes), dtype=bool)
    for code in np.unique(known.classes):
        members = np.flatnonzero(known.classes == code)
        if code >= 0 and known.must is not None:
            size = len(members)
        else:
            size = max(round(share * len(members)), min(2, len(members)) if code >= 0 else 0)
        chosen[rng.choice(members, size, replace=False)] = True
    missing = n_least - int(chosen.sum())
    if missing > 0:
        others = np.flatnonzero(~chosen)
        chosen[rng.choice(others, min(missing, len(others)), replace=False)] = True
    return np.flatnonzero(chosen)


def draw_subspaces(
    n_features: int, size: int, n_subspaces: int, rng: np.random.RandomState
) -> list[IntArray]:
    """Deal the features out in shuffled rounds: their numbers of draws differ by at most one."""
    waiting: NDArray[Any] = np.empty(0, dtype=np.intp)
    subspaces = []
    for _ in range(n_subspaces):
        if len(waiting) < size:
            shuffled = rng.permutation(n_features)
            # Those left over from the last round come first, and none twice in one subspace.
            left_over = np.isin(shuffled, waiting)
            waiting = np.concatenate([waiting, shuffled[~left_over], shuffled[left_over]])
        subspaces.append(np.sort(waiting[:size]))
        waiting = waiting[size:]
    return subspaces
