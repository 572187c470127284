"""Cross-validation folds of pairs whose training and held-out parts share no sample."""

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

# The group of each sample, by its ID.
Groups = Mapping[Hashable, Hashable]

# With fewer independent pairs of a kind, an interval of two standard errors would extend from
# chance to 1, which is uninformative.
LEAST_INDEPENDENT = 5

# Pairs implied by labels are listed before they are held out, and their number grows with the
# square of the number of labels. Therefore, at most this many labels, evenly spaced, are used.
MOST_LABELS = 2000

# Number of additional random splits to try if a fold lacks a kind of pairs by chance.
TRIALS = 3

LEAVE_CONFLICTS_OUT = (
    "Correct the pairs (Pairs.conflicts() lists all conflicts), or pass pairs.without_conflicts() "
    "to drop these cannot-links."
)


class Units(NamedTuple):
    """Sets of samples that stay on one side of a split, and the pairs between these sets.

    A unit is a set of samples that are joined by must-links or by a common group.

    Attributes
    ----------
    n_units : int
        The number of units.
    must : ndarray of int of shape (n_must,)
        The unit of each must-link, numbered from 0.
    cannot : ndarray of int of shape (n_cannot, 2)
        The two units of each cannot-link.
    """

    n_units: int
    must: IntArray
    cannot: IntArray

    def keep(self, must: BoolArray, cannot: BoolArray) -> Units:
        """Keep the selected pairs."""
        return self._replace(must=self.must[must], cannot=self.cannot[cannot])

    @property
    def named(self) -> BoolArray:
        """Whether each unit contains a sample of at least one pair."""
        found = np.zeros(self.n_units, dtype=bool)
        found[self.must] = True
        found[self.cannot] = True
        return found

    @property
    def independent(self) -> tuple[int, int]:
        """The numbers of independent must-links and cannot-links, which share no unit.

        Each unit counts for at most one must-link. Cannot-links are chosen greedily, starting with
        those whose units occur in few other cannot-links. A cannot-link inside a unit is not
        counted.
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
    """Combine samples that are connected by must-links or common groups into units.

    If no unit is divided by a split, the two sides share no sample, and no held-out pair is implied
    by training pairs.
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
    """Raise an error if there are too few independent pairs for an estimate.

    Without cannot-links, must-links are compared with random pairs.
    """
    kinds = [(n_must, "must-link")] + ([] if must_only else [(n_cannot, "cannot-link")])
    for found, kind in sorted(kinds, key=lambda one: one[0]):
        if found == 0:
            raise GuidedValueError(
                f"Cannot validate: there are no {what}{kind}s.",
                f"Add at least {LEAST_INDEPENDENT} between samples that are in no other pair.",
            )
        if found < LEAST_INDEPENDENT:
            raise GuidedValueError(
                f"Cannot validate: at least {LEAST_INDEPENDENT} independent {what}{kind}s are "
                f"needed, but there {'is' if found == 1 else 'are'} {found}. Pairs are independent "
                "if they share no sample and no chain of must-links or group connects them.",
                f"Add {kind}s between samples that are in no other pair.",
            )


def check_between(pairs: Pairs, groups: IntArray | None) -> None:
    """Raise an error if every pair of row numbers lies within a single group."""
    if groups is None:
        return
    links = np.concatenate(pairs.rows({row: row for row in range(len(groups))}))
    if (groups[links[:, 0]] == groups[links[:, 1]]).all():
        raise GuidedValueError(
            "Cannot validate: every pair lies within a single group, but groups are held out and "
            "permuted as a whole."
        )


class PairKFold:
    """Cross-validation splitter that splits pairs but not samples.

    The training and held-out pairs of a fold share no sample and are not connected by a chain of
    must-links. Otherwise, features in which a shared sample is an outlier would predict the
    held-out pair without being informative. Samples connected by must-links are assigned to the
    same fold. A pair between two folds is never held out, and it is used for training only if it
    shares no sample with the held-out pairs. Samples are assigned to folds such that few pairs lie
    between two folds.

    Pairs that were chosen by looking at the samples (`Pairs.adaptive`) are used for training, but
    are never held out.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2. If a fold would have no must-link or no cannot-link for
        training or testing, the number of folds is reduced and a warning is issued.
    n_repeats : int, default=1
        The number of repeats, each with a different random split.
    random_state : int, RandomState instance or None, default=None
        Seed for the random splits.

    See Also
    --------
    pair_auc_curve : Measure the AUC of held-out pairs for several numbers of features.

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
            Pairs of sample IDs or row numbers. No cannot-link may contradict the must-links (see
            `Pairs.without_conflicts`). If there are only must-links, the folds contain only
            must-links.
        groups : mapping of ID to group, optional
            Samples of the same group, such as the same patient, are never split between the two
            sides.

        Yields
        ------
        train, test : Pairs
            The training pairs and the held-out pairs of a fold.
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
                f"Using {n_folds} folds instead of {self.n_splits}: with more folds, some would "
                "contain no independent must-link or cannot-link."
            )
        n_samples = pairs.n_samples
        for train, test in sides:
            yield some_listed(pairs, *train, n_samples), some_listed(pairs, *test, n_samples)


Kept = tuple[BoolArray, BoolArray]


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise an error unless `value` is a whole number of at least `least`."""
    if not isinstance(value, int | np.integer) or value < least:
        raise GuidedValueError(
            f"{name}={value!r}, but it must be a whole number of at least {least}.",
            f"Choose {least} or more.",
            name,
        )


def _deal_often(
    units: Units, may_test: Kept, n_folds: int, n_repeats: int, rng: np.random.RandomState
) -> list[tuple[Kept, Kept]]:
    """Return masks of the training and held-out pairs, for as many folds as possible."""
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
        "Cannot hold out pairs: a split requires two parts without common samples, each with "
        f"{'must-links and cannot-links' if both else 'two independent must-links'}. Given: "
        f"{pairs_text(len(units.must), len(units.cannot))}.",
        "Add pairs between samples that are in no other pair.",
    )


def _sides(units: Units, may_test: Kept, inside: BoolArray) -> tuple[Kept, Kept]:
    """Return masks of the pairs to train on and to hold out, for one fold."""
    test = (inside[units.must] & may_test[0], inside[units.cannot].all(axis=1) & may_test[1])
    tested = units.keep(*test).named
    apart = np.asarray(~tested[units.cannot].any(axis=1))
    return (~tested[units.must], apart), test


def _is_filled(side: Kept, units: Units) -> bool:
    """Return whether a side of a split has enough pairs.

    It needs must-links and cannot-links or, if there are only must-links, two independent ones.
    """
    must, cannot = side
    if len(units.cannot):
        return bool(must.any() and cannot.any())
    return len(np.unique(units.must[must])) > 1


def _fold_of_units(units: Units, n_folds: int, rng: np.random.RandomState) -> IntArray:
    """Assign units to folds with similar numbers of pairs, keeping linked units together.

    Units connected by cannot-links are assigned to the same fold. If these units exceed the size of
    a fold, they are sorted such that linked units are close to each other, and then divided into as
    few pieces as possible.
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
    """Cut connected units into pieces of similar load if they exceed the size of a fold.

    The load of a unit consists of its proportions of the must-links and of the cannot-links.
    """
    load = loads[:, whole].sum(axis=0)
    # Folds of slightly unequal size are better than cutting pairs between folds.
    n_pieces = round(loads[:, whole].sum(axis=1).max() * n_folds)
    if n_pieces < 2:
        return [whole]
    middle = (np.cumsum(load) - load / 2) / load.sum()
    place = np.minimum((middle * n_pieces).astype(np.intp), n_pieces - 1)
    return [whole[place == one] for one in range(n_pieces) if (place == one).any()]
