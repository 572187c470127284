"""What labels and pairs say about features, as observations of weighted sums of the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._supervision import Supervision
from linkselect.pairs._groupings import are_implied
from linkselect.pairs._links import first_of_each, must_components

# Must-links together weigh at most as much as so many. Errors of people do not average out: if
# every link counted in full, a few wrong ones among many would cost more than the others gain.
MOST_LINKS = 10
# So many samples that must-links join are as good as a class, if cannot-links tell it from others.
FEWEST_IN_CLASS = 8


class Observed(NamedTuple):
    """What is known, as observations of weighted sums of the samples."""

    weights: csr_array
    """The weight of each sample in each observation, of shape (n_samples, n_observations)."""
    targets: FloatArray
    """What was observed, one column for each class; rows have a mean squared length of 1."""
    labelled: FloatArray
    """How many labels each sample has; their observations come first."""


def observe(known: Supervision) -> Observed:
    """List what labels and must-links say about a feature.

    A label is the value of its class: the indicators of the classes, each divided by the root of
    the size of the class, centred over the labelled samples. A must-link is a difference of 0,
    times the root of its weight; if these add up to more than `MOST_LINKS`, they are scaled down
    to it. A link is left out if labels put both ends into one class. Large groups of linked samples
    that cannot-links tell apart count as labelled; other cannot-links say nothing here.
    """
    n_samples = len(known.classes)
    from_labels = known.listed_must is None
    labels = [known.classes] if from_labels else [one.classes for one in known.groupings]
    must, worth = _links_beside_labels(known)
    groups = _large_groups(must, known)
    labels += [groups] if (groups >= 0).any() else []
    alone = groups[must[:, 0]] < 0
    must, worth = must[alone], worth[alone]
    roots = np.sqrt(worth / max(1.0, worth.sum() / MOST_LINKS))
    labelled = [np.flatnonzero(codes >= 0) for codes in labels]
    blocks = [_targets(codes[rows]) for codes, rows in zip(labels, labelled, strict=True)]
    rows = np.concatenate([*labelled, np.empty(0, dtype=np.intp)])
    numbers = np.arange(len(rows) + len(must))
    of_links = numbers[len(rows) :]
    weights = csr_array(
        (
            np.concatenate([np.ones(len(rows)), roots, -roots]),
            (
                np.concatenate([rows, must[:, 0], must[:, 1]]),
                np.concatenate([numbers, of_links]),
            ),
        ),
        shape=(n_samples, len(numbers)),
    )
    targets = block_diag(*blocks, np.zeros((len(must), 0)))
    return Observed(weights, targets, np.bincount(rows, minlength=n_samples).astype(np.float64))


def _links_beside_labels(known: Supervision) -> tuple[IntArray, FloatArray]:
    """Return the listed must-links that no labels imply, and their weights."""
    must = np.empty((0, 2), dtype=np.intp) if known.listed_must is None else known.listed_must
    worth = np.ones(len(must)) if known.must_weights is None else known.must_weights
    told = are_implied(must, known.groupings, alike=True)
    return must[~told], worth[~told]


def _large_groups(must: IntArray, known: Supervision) -> IntArray:
    """Number the large groups that must-links join and cannot-links tell apart; -1 for the rest.

    Groups without a cannot-link between them may be of one class: the larger one stays. Those that
    a cannot-link contradicts join classes, by some wrong link. Labels imply cannot-links, too.
    """
    group = must_components(must, len(known.classes))
    sizes = np.bincount(group)
    if known.contradicted is not None:
        sizes[group[known.contradicted]] = 0
    labels_of: list[IntArray] = []
    for classes, parts in known.groupings:
        rows = np.flatnonzero(classes >= 0)
        # Of several labels in a group the last one stays; those that differ contradict it.
        last = _put_last(group[rows], classes[rows], len(sizes))
        sizes[group[rows[classes[rows] != last[group[rows]]]]] = 0
        labels_of.append(_put_last(group[rows], parts[rows], len(sizes)))
    cannot = np.empty((0, 2), dtype=np.intp)
    if known.listed_cannot is not None:
        cannot = group[known.listed_cannot]
        cannot = first_of_each(cannot[(sizes[cannot] >= FEWEST_IN_CLASS).all(axis=1)], len(sizes))
    apart = set(map(frozenset, cannot.tolist()))

    def differ(one: int, other: int) -> bool:
        ends = [(labels[one], labels[other]) for labels in labels_of]
        return frozenset((one, other)) in apart or any(a != b and min(a, b) >= 0 for a, b in ends)

    kept: list[int] = []
    for one in np.argsort(-sizes, kind="stable")[: (sizes >= FEWEST_IN_CLASS).sum()].tolist():
        if all(differ(one, other) for other in kept):
            kept.append(one)
    return np.where(np.isin(group, kept) & (len(kept) > 1), group, -1)


def _put_last(places: IntArray, values: IntArray, n_places: int) -> IntArray:
    """Put values into places, of several the last one; -1 where there is none."""
    found = np.full(n_places, -1, dtype=np.intp)
    found[places] = values
    return found


def _targets(labels: IntArray) -> FloatArray:
    """Return the value of the class of each label, one column for each class."""
    codes = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(codes)
    targets = (codes[:, None] == np.arange(len(sizes))) / np.sqrt(sizes)
    targets -= targets.mean(axis=0) if len(codes) else 0.0
    length = np.sqrt((targets**2).sum(axis=1).mean()) if len(codes) else 0.0
    return targets / (length or 1.0)
