"""Folds of pairs in which no sample is on both sides."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from sklearn.utils import check_random_state

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import GuidedValueError, pairs_text, warn_user
from linkselect._supervision import check_is_pairs
from linkselect.pairs import PairConflictError, Pairs
from linkselect.pairs._conflicts import describe_conflicts
from linkselect.pairs._consequences import some_listed, with_all_listed
from linkselect.pairs._links import link_graph, must_components

# The group of each sample, by its id.
Groups = Mapping[Hashable, Hashable]

# With fewer links of a kind that share no sample, an interval of two standard errors would reach
# from chance to certainty, and say nothing.
LEAST_INDEPENDENT = 5

# Links that labels imply are listed to be held out, and they grow with the square of these: of more
# labels, so many at equal distances count.
MOST_LABELS = 2000

# How often a fold may lack a kind of pairs by the luck of the draw.
TRIALS = 3

LEAVE_CONFLICTS_OUT = (
    "Correct the pairs (Pairs.conflicts() lists all), or pass pairs.without_conflicts() to leave "
    "these cannot-links out."
)


class Units(NamedTuple):
    """Samples that stay together, numbered from 0, and the pairs between them.

    Attributes
    ----------
    n_units : int
        How many units there are.
    must : ndarray of int of shape (n_must,)
        The unit of every must-link.
    cannot : ndarray of int of shape (n_cannot, 2)
        The two units of every cannot-link.
    """

    n_units: int
    must: IntArray
    cannot: IntArray

    def keep(self, must: BoolArray, cannot: BoolArray) -> Units:
        """Keep some of the pairs."""
        return self._replace(must=self.must[must], cannot=self.cannot[cannot])

    @property
    def named(self) -> BoolArray:
        """Which units some pair names."""
        found = np.zeros(self.n_units, dtype=bool)
        found[self.must] = True
        found[self.cannot] = True
        return found

    @property
    def independent(self) -> tuple[int, int]:
        """How many must-links, and how many cannot-links, share no unit with one another.

        A unit has one such must-link. Cannot-links are taken greedily, those whose ends are in
        few others first; a cannot-link inside a unit does not count.
        """
        ends = self.cannot[self.cannot[:, 0] != self.cannot[:, 1]]
        degree = np.bincount(ends.ravel(), minlength=self.n_units)
        used: set[int] = set()
        n_cannot = 0
        for one, other in ends[np.argsort(degree[ends].sum(axis=1), kind="stable")].tolist():
            if one not in used and other not in used:
                used |= {one, other}
                n_cannot += 1
        return len(np.unique(self.must)), n_cannot


def read_units(pairs: Pairs, groups: Groups | None = None) -> Units:
    """Join samples that a chain of must-links, or a common group, keeps together.

    What follows from the pairs of a unit is about that unit: if no unit is on both sides, neither
    a sample nor anything that follows from its pairs is.
    """
    ids = pairs.ids
    must, cannot = pairs.rows({sample: row for row, sample in enumerate(ids)})
    joined = must
    if groups is not None:
        first: dict[Hashable, int] = {}
        links = [(first.setdefault(groups[sample], row), row) for row, sample in enumerate(ids)]
        joined = np.concatenate([must, np.array(links, dtype=np.intp).reshape(-1, 2)])
    unit = must_components(joined, len(ids)) if ids else np.empty(0, dtype=np.intp)
    unit = np.unique(unit, return_inverse=True)[1].astype(np.intp)
    count = int(unit.max(initial=-1)) + 1
    return Units(count, unit[must[:, 0]], np.sort(unit[cannot], axis=1).reshape(-1, 2))


def check_enough(n_must: int, n_cannot: int, must_only: bool, what: str = "") -> None:
    """Refuse pairs from which nothing can be estimated, by how many are independent.

    Without any cannot-link, must-links are compared with random pairs.
    """
    kinds = [(n_must, "must-link")] + ([] if must_only else [(n_cannot, "cannot-link")])
    for found, kind in sorted(kinds, key=lambda one: one[0]):
        if found == 0:
            raise GuidedValueError(
                f"Cannot validate: there are no {what}{kind}s.",
                f"Add at least {LEAST_INDEPENDENT} between samples that no other pair names.",
            )
        if found < LEAST_INDEPENDENT:
            raise GuidedValueError(
                f"Cannot validate: it takes {LEAST_INDEPENDENT} {what}{kind}s that share no "
                "sample, not even through must-links or groups, and there "
                f"{'is' if found == 1 else 'are'} {found}.",
                f"Add {kind}s between samples that no other pair names.",
            )


def check_between(pairs: Pairs, groups: IntArray | None) -> None:
    """Refuse pairs by row number that all lie inside groups, given the group of each row."""
    if groups is None:
        return
    links = np.concatenate(pairs.rows({row: row for row in range(len(groups))}))
    if (groups[links[:, 0]] == groups[links[:, 1]]).all():
        raise GuidedValueError(
            "Cannot validate: all pairs lie inside groups, which are held out and exchanged as a "
            "whole."
        )


class PairKFold:
    """Split pairs into folds, each held out once; the samples are not split.

    No sample is in a held-out pair and in a training pair of the same fold, nor is one that a
    chain of must-links joins to it: features in which such a sample is an outlier would otherwise
    predict the held-out pair without any knowledge. Samples that must-links join are dealt to one
    fold. A pair between two folds is never held out, and trains only where it shares no sample
    with the held-out pairs; samples are dealt so that there are few such pairs.

    Pairs that were chosen by looking at the samples (`Pairs.adaptive`) train, but are never held
    out.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2. There are fewer, with a warning, if some fold would have
        no must-link or no cannot-link to train or to test.
    n_repeats : int, default=1
        How often all pairs are dealt out anew.
    random_state : int, RandomState instance or None, default=None
        Determines how samples are dealt.

    See Also
    --------
    pair_auc_curve : Judge a selector by held-out pairs.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> pairs = Pairs(must=[(0, 1), (1, 2), (5, 6)], cannot=[(0, 3), (2, 4), (6, 9)])
    >>> for train, test in PairKFold(n_splits=2, random_state=0).split(pairs):
    ...     print(sorted(test.must), sorted(test.cannot))
    [(0, 1), (1, 2)] [(0, 3), (2, 4)]
    [(5, 6)] [(6, 9)]
    """

    def __init__(self, n_splits: int = 5, n_repeats: int = 1, random_state: Any = None) -> None:
        check_whole("n_splits", n_splits, 2)
        check_whole("n_repeats", n_repeats, 1)
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state

    def __repr__(self) -> str:
        return (
            f"PairKFold(n_splits={self.n_splits}, n_repeats={self.n_repeats}, "
            f"random_state={self.random_state})"
        )

    def split(self, pairs: Pairs, groups: Groups | None = None) -> Iterator[tuple[Pairs, Pairs]]:
        """Yield the training pairs and the held-out pairs of every fold.

        Parameters
        ----------
        pairs : Pairs
            By id or by row number; no cannot-link may contradict the must-links, see
            `Pairs.without_conflicts`. With must-links only, folds hold must-links only.
        groups : mapping of id to group, optional
            Samples of one group, such as those of a patient, stay on one side.
        """
        check_is_pairs(pairs)
        if pairs.n_conflicts:
            raise PairConflictError(describe_conflicts(pairs), LEAVE_CONFLICTS_OUT)
        pairs = with_all_listed(pairs)
        units = read_units(pairs, groups)
        must, cannot = pairs._adaptive
        may_test = ~must, ~cannot
        rng = check_random_state(self.random_state)
        sides = _deal_often(units, may_test, self.n_splits, self.n_repeats, rng)
        n_folds = len(sides) // self.n_repeats
        if n_folds < self.n_splits:
            warn_user(
                f"There are {n_folds} folds instead of {self.n_splits}: with more, some would lack "
                "a must-link or a cannot-link that shares no sample with the others."
            )
        n_samples = pairs.n_samples
        for train, test in sides:
            yield some_listed(pairs, *train, n_samples), some_listed(pairs, *test, n_samples)


Kept = tuple[BoolArray, BoolArray]


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number from some least one on."""
    if not isinstance(value, int | np.integer) or value < least:
        raise GuidedValueError(
            f"{name}={value!r}, but it is a whole number from {least} on.",
            f"Choose {least} or more.",
            name,
        )


def _deal_often(
    units: Units, may_test: Kept, n_folds: int, n_repeats: int, rng: np.random.RandomState
) -> list[tuple[Kept, Kept]]:
    """Return which pairs train and which are held out, in as many folds as can be filled."""
    for count in range(n_folds, 1, -1) if units.n_units else ():
        found: list[tuple[Kept, Kept]] = []
        for _ in range(n_repeats + TRIALS):
            fold = _fold_of_units(units.keep(*may_test), count, rng)
            sides = [_sides(units, may_test, fold == one) for one in range(count)]
            if all(_is_filled(side, units) for both in sides for side in both):
                found += sides
            if len(found) == count * n_repeats:
                return found
    both = len(units.must) > 0 and len(units.cannot) > 0
    raise GuidedValueError(
        f"Cannot hold pairs out: {pairs_text(len(units.must), len(units.cannot))} cannot be "
        "divided into two sides that share no sample and have "
        f"{'both kinds' if both else 'two groups of must-links'} each.",
        "Add pairs between samples that no other pair names.",
    )


def _sides(units: Units, may_test: Kept, inside: BoolArray) -> tuple[Kept, Kept]:
    """Hold out the pairs inside a fold; train on those that share no unit with them."""
    test = (inside[units.must] & may_test[0], inside[units.cannot].all(axis=1) & may_test[1])
    tested = units.keep(*test).named
    apart = np.asarray(~tested[units.cannot].any(axis=1))
    return (~tested[units.must], apart), test


def _is_filled(side: Kept, units: Units) -> bool:
    """Tell whether a side has both kinds of pairs, or must-links in two units if there is one."""
    must, cannot = side
    if len(units.cannot):
        return bool(must.any() and cannot.any())
    return len(np.unique(units.must[must])) > 1


def _fold_of_units(units: Units, n_folds: int, rng: np.random.RandomState) -> IntArray:
    """Deal units to folds of about the same numbers of pairs, linked units to one if possible.

    The units that cannot-links join go to one fold together. If they are too many for one, they
    are put in an order in which linked units are close, and cut into as few pieces as fit.
    """
    shuffled = rng.permutation(units.n_units)
    ends = shuffled[units.cannot]
    graph = link_graph(ends, units.n_units)
    graph = (graph + graph.T).tocsr()
    loads = np.stack(
        [
            np.bincount(shuffled[units.must], minlength=units.n_units) / max(1, len(units.must)),
            np.bincount(ends.ravel(), minlength=units.n_units) / max(1, ends.size),
        ]
    )
    part = connected_components(graph, directed=False)[1]
    near = reverse_cuthill_mckee(graph, symmetric_mode=True)
    near = near[np.argsort(part[near], kind="stable")]
    bounds = np.flatnonzero(np.diff(part[near])) + 1
    pieces = [piece for whole in np.split(near, bounds) for piece in _cut(whole, loads, n_folds)]
    filled, fold = np.zeros((2, n_folds)), np.zeros(units.n_units, dtype=np.intp)
    for piece in sorted(pieces, key=lambda one: -loads[:, one].sum()):
        load = loads[:, piece].sum(axis=1, keepdims=True)
        place = int(np.argmin((2 * filled * load).sum(axis=0)))
        fold[piece] = place
        filled[:, [place]] += load
    return fold[shuffled]


def _cut(whole: IntArray, loads: FloatArray, n_folds: int) -> list[IntArray]:
    """Cut linked units into pieces of equal loads, if one fold cannot hold them.

    The loads are shares of the must-links and of the cannot-links.
    """
    load = loads[:, whole].sum(axis=0)
    # A fold that is a little too full is better than pairs that are in none.
    n_pieces = round(loads[:, whole].sum(axis=1).max() * n_folds)
    if n_pieces < 2:
        return [whole]
    middle = (np.cumsum(load) - load / 2) / load.sum()
    place = np.minimum((middle * n_pieces).astype(np.intp), n_pieces - 1)
    return [whole[place == one] for one in range(n_pieces) if (place == one).any()]
