"""Split the labelled samples into training and test samples."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError, many

Split = tuple[IntArray, IntArray]

# Number of times a split is drawn again if a class is missing from one of its sides.
TRIALS = 200


def split_rows(
    codes: IntArray,
    n_splits: int,
    test_size: float,
    random_state: int,
    groups: IntArray | None,
    names: NDArray[np.object_],
) -> Iterator[Split]:
    """Yield random splits of the labelled samples, stratified by class.

    Parameters
    ----------
    codes : array of int of shape (n_samples,)
        The class code of each sample; -1 if unlabelled.
    n_splits : int
        The number of splits.
    test_size : float
        The fraction of the samples, or of the groups, that are used for testing.
    random_state : int
        Determines the splits.
    groups : array of int of shape (n_samples,) or None
        The group of each sample. Groups are never split.
    names : array of shape (n_classes,)
        The label of each class, used in error messages.
    """
    labelled = np.flatnonzero(codes >= 0)
    known = codes[labelled]
    if groups is None:
        draw = StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=random_state)
        places: Iterable[Split] = draw.split(labelled, known)
    else:
        group = np.unique(groups[labelled], return_inverse=True)[1]
        places = _split_groups(known, group, n_splits, test_size, random_state, names)
    for train, test in places:
        yield labelled[train], labelled[test]


def _split_groups(
    codes: IntArray,
    group: IntArray,
    n_splits: int,
    test_size: float,
    random_state: int,
    names: NDArray[np.object_],
) -> list[Split]:
    """Draw random test groups from each class; training and test samples contain every class.

    Each group is assigned to its most frequent class.
    """
    counts = np.zeros((group.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (group, codes), 1)
    n_holding = np.count_nonzero(counts, axis=0)
    if n_holding.min() < 2:
        raise GuidedValueError(
            f"All labelled samples of class {str(names[n_holding.argmin()])!r} are in one group. "
            "Every class must be represented in both the training and the test samples, and "
            "groups are never split between them.",
            "Label samples of a second group, or remove the class.",
            "groups",
        )
    kind = counts.argmax(axis=1)
    n_alike = np.bincount(kind)
    kind[n_alike[kind] < 2] = n_alike.argmax()
    rng, deals = np.random.RandomState(random_state), []
    for one in np.unique(kind):
        alike = np.flatnonzero(kind == one)
        n_test = min(max(1, round(test_size * len(alike))), len(alike) - 1)
        draw = ShuffleSplit(n_splits * TRIALS, test_size=n_test, random_state=rng)
        deals.append(map(alike.take, (test for _, test in draw.split(alike))))
    held_out = (np.isin(group, np.concatenate(parts)) for parts in zip(*deals, strict=True))
    splits = ((np.flatnonzero(~held), np.flatnonzero(held)) for held in held_out)
    whole = (
        split
        for split in splits
        if all(len(np.unique(codes[side])) == len(n_holding) for side in split)
    )
    found = list(islice(whole, n_splits))
    if len(found) == n_splits:
        return found
    raise GuidedValueError(
        f"{many(len(kind), 'group')} of labelled samples could not be split such that all "
        f"{len(n_holding)} classes have training and test samples. {TRIALS} random draws were "
        "tried for each split.",
        "Choose a test_size closer to 0.5, label samples of more groups, or remove rare classes.",
        "groups",
    )
