"""Conversion of labels and pairs to observations of weighted sums of samples, for LinkSelector."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._supervision import Supervision
from linkselect.pairs._groupings import are_implied
from linkselect.pairs._links import first_of_each, must_components

# All must-links together have at most the weight of this many links. Errors in links do not average
# out: with full weights, a few wrong links among many would do more harm than the others help.
MOST_LINKS = 10
# Samples connected by must-links form a class if they are at least this many and cannot-links
# separate them from another such group.
FEWEST_IN_CLASS = 8


class Observed(NamedTuple):
    """Observed values of weighted sums of the samples."""

    weights: csr_array
    """The weight of each sample in each observation, of shape (n_samples, n_observations)."""
    targets: FloatArray
    """The observed values, with one column per class. The mean squared norm of the rows is 1."""
    labelled: FloatArray
    """The number of labels of each sample. Observations of labels precede those of must-links."""


def observe(known: Supervision) -> Observed:
    """Convert labels and must-links to observations of weighted sums of samples.

    A label is an observation of its class value. Class values are the class indicators, each
    divided by the square root of the class size and centred over the labelled samples. A must-link
    is an observation of a difference of 0, multiplied by the square root of its weight. If the sum
    of weights exceeds `MOST_LINKS`, the weights are scaled down so that they sum to this limit.
    Must-links that are implied by labels are omitted. Large groups of must-linked samples that are
    separated by cannot-links are treated as classes. Other cannot-links have no effect.
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
    """Return the listed must-links that are not implied by labels, and their weights."""
    must = np.empty((0, 2), dtype=np.intp) if known.listed_must is None else known.listed_must
    worth = np.ones(len(must)) if known.must_weights is None else known.must_weights
    told = are_implied(must, known.groupings, alike=True)
    return must[~told], worth[~told]


def _large_groups(must: IntArray, known: Supervision) -> IntArray:
    """Number the large must-linked groups that are separated by cannot-links.

    Samples in other groups have the number -1.

    Two groups without a cannot-link between them may belong to the same class, so only the larger
    group is kept. A group that is contradicted by a cannot-link must contain a wrong link and is
    dropped. Labels also imply cannot-links.
    """
    group = must_components(must, len(known.classes))
    sizes = np.bincount(group)
    if known.contradicted is not None:
        sizes[group[known.contradicted]] = 0
    labels_of: list[IntArray] = []
    for classes, parts in known.groupings:
        rows = np.flatnonzero(classes >= 0)
        # The last label of a group represents it; groups with different labels are dropped.
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
    """Return the last value that is assigned to each position, or -1 if there is none."""
    found = np.full(n_places, -1, dtype=np.intp)
    found[places] = values
    return found


def _targets(labels: IntArray) -> FloatArray:
    """Return the observed values of labels, which are centred and scaled class indicators."""
    codes = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(codes)
    targets = (codes[:, None] == np.arange(len(sizes))) / np.sqrt(sizes)
    targets -= targets.mean(axis=0) if len(codes) else 0.0
    length = np.sqrt((targets**2).sum(axis=1).mean()) if len(codes) else 0.0
    return targets / (length or 1.0)
