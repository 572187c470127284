"""Consequences of pairs: links that labels imply, components, conflicts and the closure."""

from __future__ import annotations

from collections.abc import Container, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect.pairs import _groupings, _links
from linkselect.pairs._conflicts import Conflict, Pair

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs


def with_all_listed(pairs: Pairs, limit: int | None = None) -> Pairs:
    """Return pairs in which all links that labels imply are listed after the other links.

    If `limit` is given, the list may end after this number of implied links of each kind.
    """
    if not pairs._groupings:
        return pairs
    must = [_groupings.list_links(one, alike=True, limit=limit) for one, _ in pairs._groupings]
    cannot = [_groupings.list_links(one, alike=False, limit=limit) for _, one in pairs._groupings]
    implied = pairs._from_codes(pairs._ids, np.concatenate(must), np.concatenate(cannot))
    return some_listed(pairs, slice(None), slice(None), pairs.n_samples) | implied


def some_listed(
    pairs: Pairs,
    must: Any,
    cannot: Any,
    n_samples: int | None = None,
    groupings: tuple[_groupings.Grouping, ...] = (),
) -> Pairs:
    """Return pairs with only those listed links that the two masks select."""
    marks = pairs._adaptive[0][must], pairs._adaptive[1][cannot]
    weights = pairs._weights[0][must], pairs._weights[1][cannot]
    links = pairs._must[must], pairs._cannot[cannot]
    return pairs._from_codes(pairs._ids, *links, n_samples, marks, groupings, weights)


def with_fewer_labels(pairs: Pairs, most: int) -> Pairs:
    """Return pairs with all listed links, but at most `most` evenly spaced labels per grouping."""

    def fewer(one: _groupings.Grouping) -> _groupings.Grouping:
        labelled = np.flatnonzero(one.classes >= 0)
        places = np.linspace(0, len(labelled) - 1, min(most, len(labelled))).astype(np.intp)
        rows = np.full(len(one.classes), -1, dtype=np.intp)
        rows[labelled[places]] = labelled[places]
        return one.at(rows, len(rows))

    groupings = tuple(map(fewer, pairs._groupings))
    return some_listed(pairs, slice(None), slice(None), pairs.n_samples, groupings)


def count_links(pairs: Pairs) -> tuple[int, int]:
    """Return the number of must-links and the number of cannot-links."""
    everywhere = np.zeros(len(pairs._ids), dtype=np.intp)
    groupings = pairs._groupings
    # A link with its own weight is listed even if labels imply it, but must count only once.
    must = ~_groupings.are_implied(pairs._must, groupings, alike=True)
    cannot = ~_groupings.are_implied(pairs._cannot, groupings, alike=False)
    return (
        int(must.sum()) + _groupings.count_alike(groupings, everywhere),
        int(cannot.sum()) + _groupings.count_apart(groupings, everywhere),
    )


def named_by(pairs: Pairs) -> IntArray:
    """Return the codes of the samples that are in at least one listed or implied pair."""
    found = _groupings.grouped(pairs._groupings, len(pairs._ids))
    found[pairs._must] = True
    found[pairs._cannot] = True
    return np.flatnonzero(found)


def pair_that_names(pairs: Pairs, samples: Container[Hashable]) -> Pair:
    """Return a pair with at least one of the given samples; raise an error if there is none."""
    ids = pairs._ids
    named = np.array([sample in samples for sample in ids], dtype=bool)
    for links in (pairs._must, pairs._cannot):
        for a, b in links[named[links].any(axis=1)][:1].tolist():
            return ids[a], ids[b]
    for grouping in pairs._groupings:
        linked = _groupings.grouped([grouping], len(ids))
        for row in np.flatnonzero(named & linked)[:1].tolist():
            a, b = sorted((row, int(grouping.linked(row).argmax())))
            return ids[a], ids[b]
    raise LookupError("No pair contains any of these samples.")


def components_of(pairs: Pairs) -> IntArray:
    """Return the group number of each id; must-links connect the samples of a group."""
    return _links.must_components(pairs._must, len(pairs._ids), pairs._groupings)


def count_conflicts(pairs: Pairs) -> int:
    """Return the number of cannot-links whose two samples are connected by must-links."""
    component, groupings = components_of(pairs), pairs._groupings
    listed = pairs._cannot[_links.inside(pairs._cannot, component)]
    n_implied = int(_groupings.are_implied(listed, groupings, alike=False).sum())
    return len(listed) - n_implied + _groupings.count_apart(groupings, component)


def find_conflicts(pairs: Pairs, limit: int | None) -> tuple[Conflict, ...]:
    """Return conflicts with explanations, listed cannot-links first; see `Pairs.conflicts`."""
    component, ids = components_of(pairs), pairs._ids
    ends = [pairs._cannot[_links.inside(pairs._cannot, component)][:limit]]
    ends += [
        _groupings.list_links(parts, alike=False, within=component, limit=limit)
        for _, parts in pairs._groupings
    ]
    distinct = _links.first_of_each(np.concatenate(ends), len(ids))[:limit]
    found = _links.chains(pairs._must, distinct, len(ids), pairs._groupings)
    chains = [tuple(ids[code] for code in chain) for chain in found]
    return tuple(Conflict((chain[0], chain[-1]), chain) for chain in chains)


def leave_conflicts_out(pairs: Pairs) -> Pairs:
    """Return the pairs without the cannot-links that contradict must-links."""
    if not count_conflicts(pairs):
        return pairs
    if any((classes != parts).any() for classes, parts in pairs._groupings):
        # Cannot-links were removed before, because of other must-links: one grouping cannot
        # represent both removals.
        pairs = with_all_listed(pairs)
    component = components_of(pairs)
    groupings = tuple(
        _groupings.Grouping(classes, np.where(classes >= 0, component, -1))
        for classes, _ in pairs._groupings
    )
    kept = ~_links.inside(pairs._cannot, component)
    return some_listed(pairs, slice(None), kept, pairs.n_samples, groupings)


def close(pairs: Pairs) -> Pairs:
    """Return the pairs with all pairs that they imply, provided that there are no conflicts."""
    listed = with_all_listed(pairs)
    links, n_samples = (listed._must, listed._cannot), len(pairs._ids)
    closed = _links.closure_of(*links, n_samples)
    marks = _links.mark_implied(closed, links, listed._adaptive, n_samples)
    weights = [
        _links.weights_of(all_links, some, own, n_samples)
        for all_links, some, own in zip(closed, links, listed._weights, strict=True)
    ]
    parts = pairs._ids, *closed, pairs.n_samples, marks, pairs._groupings, weights
    return pairs._from_codes(*parts)
