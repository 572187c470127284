"""Random draws of samples and features that preserve the supervision."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linkselect._arrays import IntArray
from linkselect._supervision import Supervision
from linkselect.pairs._links import must_components

# Progress is reported after this many draws; it must not depend on the number of threads.
DRAWS_PER_STEP = 8
# Units are sets of samples that stay together. With fewer linked units than this, a random number
# of units is drawn. Otherwise, two units in a cannot-link would never be on the same side.
FEW_UNITS = 8


def seeded(selector: Any, rng: np.random.RandomState, *, only_unset: bool = False) -> Any:
    """Copy a selector, and set random seeds in the copy and in every selector nested in it.

    Parameters
    ----------
    selector : selector
        The selector to copy, which is not changed.
    rng : RandomState
        The random number generator that draws the seeds.
    only_unset : bool, default=False
        Whether to keep each `random_state` that is not None.
    """
    copy = clone(selector)
    unset = [
        name
        for name, value in copy.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and (value is None or not only_unset)
    ]
    # Draw the seed of the selector itself first, independently of the order of its parameters.
    unset.sort(key=lambda name: (name.count("__"), name))
    return copy.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in unset})


def draw_bag(
    known: Supervision, share: float, n_least: int, rng: np.random.RandomState
) -> IntArray:
    """Draw samples for one member of an ensemble, without replacement.

    With pairs, every sample that is in a pair is kept. With labels, the given share of each class
    is drawn, but at least two samples per class, so that each class has a must-link and
    cannot-links. The same share of the unlabelled samples is drawn. In total, at least `n_least`
    samples are drawn.
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


def deal_units(
    known: Supervision,
    share: float,
    n_least: int,
    rng: np.random.RandomState,
    groups: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Split samples randomly into two sides, the first with a given share of the samples.

    Samples that are connected by must-links or belong to the same group stay together. The split is
    stratified by class, and by whether samples are in must-links, in cannot-links, in both or in
    neither. Each side contains at least two samples of every class that has two or more samples,
    and at least `n_least` samples in total. If necessary, samples or, with `groups`, whole groups
    are placed on both sides.

    Parameters
    ----------
    known : Supervision
        The supervision. Labels are taken from its classes or groupings, and must-links from its
        listed links.
    share : float
        The share of samples on the first side.
    n_least : int
        The minimum number of samples on each side.
    rng : RandomState
        The random number generator of the split.
    groups : array of int of shape (n_samples,), optional
        The group of each sample.

    Returns
    -------
    some, others : ndarray of int
        The row numbers of each side, in ascending order.
    """
    unit, labels = _units(known, groups), _labels(known)
    kind = 4 * (labels + 1)
    for code, links in enumerate((known.listed_must, known.listed_cannot), start=1):
        if links is not None:
            kind[np.unique(links)] += code
    kind_of_unit = np.zeros(unit.max() + 1, dtype=np.intp)
    np.maximum.at(kind_of_unit, unit, kind)
    is_drawn = np.zeros(len(kind_of_unit), dtype=bool)
    for code in np.unique(kind_of_unit):
        members = rng.permutation(np.flatnonzero(kind_of_unit == code))
        # Rounding at random keeps the share correct on average over many small classes.
        n_drawn = int(share * len(members) + rng.random_sample())
        if code % 4 and len(members) < FEW_UNITS:
            n_drawn = rng.binomial(len(members), share)
        is_drawn[members[:n_drawn]] = True
    sides = is_drawn[unit], ~is_drawn[unit]
    for side in sides:
        for code in np.unique(labels[labels >= 0]):
            _add(side, np.flatnonzero(labels == code), 2, rng)
        _add(side, np.arange(len(side)), n_least, rng)
        if groups is not None:
            side |= np.isin(unit, unit[side])
    return np.flatnonzero(sides[0]), np.flatnonzero(sides[1])


def _units(known: Supervision, groups: IntArray | None) -> IntArray:
    """Return the unit of each sample, which is a set of samples that stay together."""
    n_samples = len(known.classes)
    links = np.empty((0, 2), dtype=np.intp) if known.listed_must is None else known.listed_must
    if groups is not None:
        first = np.unique(groups, return_index=True, return_inverse=True)[1:]
        joined = np.column_stack([first[0][first[1]], np.arange(n_samples)])
        links = np.concatenate([links, joined])
    return must_components(links, n_samples)


def _labels(known: Supervision) -> IntArray:
    """Return the class of each sample according to its label alone; -1 if unlabelled."""
    if known.listed_must is None:
        return known.classes
    nothing = np.full(len(known.classes), -1, dtype=np.intp)
    return known.groupings[0].classes if known.groupings else nothing


def _add(side: NDArray[np.bool_], rows: IntArray, least: int, rng: np.random.RandomState) -> None:
    """Add random rows to a side until it contains at least `least` of the given rows."""
    others = rows[~side[rows]]
    missing = min(least - (len(rows) - len(others)), len(others))
    if missing > 0:
        side[rng.choice(others, missing, replace=False)] = True


def draw_subspaces(
    n_features: int, size: int, n_subspaces: int, rng: np.random.RandomState
) -> list[IntArray]:
    """Draw subsets of features; how often each feature is drawn differs by at most 1."""
    waiting: NDArray[Any] = np.empty(0, dtype=np.intp)
    subspaces = []
    for _ in range(n_subspaces):
        if len(waiting) < size:
            shuffled = rng.permutation(n_features)
            # Features remaining from the last round come first, and none twice in one subset.
            left_over = np.isin(shuffled, waiting)
            waiting = np.concatenate([waiting, shuffled[~left_over], shuffled[left_over]])
        subspaces.append(np.sort(waiting[:size]))
        waiting = waiting[size:]
    return subspaces
