"""Random draws of samples and features that keep what is known about the samples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linkselect._arrays import IntArray
from linkselect._supervision import Supervision
from linkselect.pairs import Pairs

# Progress is reported after this many draws; the number must not depend on the threads.
DRAWS_PER_STEP = 8


def seeded(selector: Any, rng: np.random.RandomState, *, only_unset: bool = False) -> Any:
    """Copy a selector with a `random_state` drawn for it and for every selector inside it.

    Parameters
    ----------
    selector : selector
        It stays as it is.
    rng : RandomState
        Draws the seeds.
    only_unset : bool, default=False
        Whether to keep each `random_state` that is not None.
    """
    copy = clone(selector)
    unset = [
        name
        for name, value in copy.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and (value is None or not only_unset)
    ]
    # The selector's own seed first, in whatever order its parameters are listed.
    unset.sort(key=lambda name: (name.count("__"), name))
    return copy.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in unset})


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
        if code >= 0 and known.listed_must is not None:
            size = len(members)
        else:
            size = max(round(share * len(members)), min(2, len(members)) if code >= 0 else 0)
        chosen[rng.choice(members, size, replace=False)] = True
    missing = n_least - int(chosen.sum())
    if missing > 0:
        others = np.flatnonzero(~chosen)
        chosen[rng.choice(others, min(missing, len(others)), replace=False)] = True
    return np.flatnonzero(chosen)


def draw_together(
    known: Supervision, share: float, n_least: int, rng: np.random.RandomState
) -> tuple[IntArray, Pairs]:
    """Draw labels as `draw_bag` does, and a share of the links that labels do not imply.

    Returns
    -------
    rows : ndarray of int
        The samples that these name, and a share of the others.
    pairs : Pairs
        The drawn links, and those that the drawn labels imply, by row number.
    """
    n_samples = len(known.classes)
    classes, labelled = np.full(n_samples, -1, dtype=np.intp), Pairs()
    for grouping in known.groupings:
        drawn = draw_bag(Supervision(grouping.classes), share, 0, rng)
        kept = np.full(n_samples, -1, dtype=np.intp)
        kept[drawn] = grouping.classes[drawn]
        classes[kept >= 0] = 0
        labelled |= Pairs.from_labels(kept)
    listed: dict[str, Any] = {}
    for kind, links, weights in (
        ("must", known.listed_must, known.must_weights),
        ("cannot", known.listed_cannot, known.cannot_weights),
    ):
        if links is not None:
            some = draw_some(len(links), share, rng)
            classes[links[some]] = 0
            listed[kind] = links[some].tolist()
            listed[f"{kind}_weights"] = None if weights is None else weights[some]
    nothing = np.empty((0, 2), dtype=np.intp)
    rows = draw_bag(Supervision(classes, nothing, nothing), share, n_least, rng)
    return rows, Pairs(**listed) | labelled


def draw_some(n_links: int, share: float, rng: np.random.RandomState) -> IntArray:
    """Draw a share of the links, at least one if there are any."""
    size = min(n_links, max(1, round(share * n_links)))
    return np.sort(rng.choice(n_links, size, replace=False)) if size else np.empty(0, np.intp)


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
