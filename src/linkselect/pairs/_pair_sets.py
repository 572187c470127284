"""Unions, subsets and equality of `Pairs`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError
from linkselect.pairs._consequences import some_listed, with_all_listed
from linkselect.pairs._groupings import are_same
from linkselect.pairs._ids import renamed
from linkselect.pairs._links import checked

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs


def union(ours: Pairs, theirs: Pairs) -> Pairs:
    """Return the union of two sets of pairs; see `Pairs.__or__`."""
    if ours.n_samples and theirs.n_samples and ours.n_samples != theirs.n_samples:
        raise GuidedValueError(
            f"Cannot join pairs with n_samples={ours.n_samples} and pairs with "
            f"n_samples={theirs.n_samples}: their row numbers refer to different samples.",
            "Use sample ids to join the pairs.",
        )
    ids, stay, moved = _joined_ids(ours, theirs)
    return ours._from_codes(
        ids,
        np.concatenate([ours._must, moved[theirs._must]]),
        np.concatenate([ours._cannot, moved[theirs._cannot]]),
        ours.n_samples or theirs.n_samples,
        tuple(map(np.concatenate, zip(ours._adaptive, theirs._adaptive, strict=True))),
        (
            *(one.at(stay, len(ids)) for one in ours._groupings),
            *(one.at(moved, len(ids)) for one in theirs._groupings),
        ),
        tuple(map(np.concatenate, zip(ours._weights, theirs._weights, strict=True))),
    )


def _joined_ids(ours: Pairs, theirs: Pairs) -> tuple[tuple[Hashable, ...], IntArray, IntArray]:
    """Return the union of the ids in `ours` and `theirs`, and both sets' positions in the union."""
    codes = {sample: code for code, sample in enumerate(ours._ids)}
    moved = np.array([codes.setdefault(one, len(codes)) for one in theirs._ids], dtype=np.intp)
    return tuple(codes), np.arange(len(ours._ids)), moved


def among(pairs: Pairs, sample_ids: Iterable[Hashable]) -> Pairs:
    """Return only the pairs and labels of the given samples; see `Pairs.restrict`."""
    present = sample_ids if isinstance(sample_ids, Mapping) else set(sample_ids)
    kept = np.array([sample in present for sample in pairs._ids], dtype=bool)
    rows = np.where(kept, np.arange(len(kept)), -1)
    groupings = tuple(one.at(rows, len(rows)) for one in pairs._groupings)
    links = kept[pairs._must].all(axis=1), kept[pairs._cannot].all(axis=1)
    return some_listed(pairs, *links, None, groupings)


def renamed_pairs(pairs: Pairs, name: Callable[[Any], Hashable]) -> Pairs:
    """Rename the samples of listed pairs; samples with the same new name are merged."""
    ids, became = renamed(pairs._ids, name)
    must, cannot = became[pairs._must], became[pairs._cannot]
    both = np.concatenate([must[pairs._adaptive[0]], cannot[pairs._adaptive[1]]])
    return pairs._from_codes(*checked(ids, (must, cannot, both), pairs._weights))


def are_equal(ours: Pairs, theirs: Pairs) -> bool:
    """Return whether two sets of pairs are equal, without listing pairs that equal labels imply."""
    if hash(ours) != hash(theirs):
        return False
    ids, stay, moved = _joined_ids(ours, theirs)
    some = [one.at(stay, len(ids)) for one in ours._groupings]
    others = [one.at(moved, len(ids)) for one in theirs._groupings]
    if len(some) == len(others) and all(any(are_same(a, b) for b in others) for a in some):
        return _contents(ours) == _contents(theirs)
    return _contents(with_all_listed(ours)) == _contents(with_all_listed(theirs))


def _contents(pairs: Pairs) -> tuple[Any, ...]:
    """Return the listed pairs as sets, so that comparisons ignore their order."""
    kinds = []
    for codes, weights in zip((pairs._must, pairs._cannot), pairs._weights, strict=True):
        ends = map(frozenset, pairs._decode(codes))
        kinds.append(frozenset(zip(ends, weights.tolist(), strict=True)))
    return *kinds, frozenset(map(frozenset, pairs.adaptive))
