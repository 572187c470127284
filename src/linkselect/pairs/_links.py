"""Operations on links, which are stored as arrays with one row of two sample codes per link."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, many
from linkselect.pairs._groupings import Groupings, are_implied
from linkselect.pairs._ids import check_row_numbers, plain_id
from linkselect.pairs._labels import is_missing

# Rows of an array of pairs that are converted to Python objects at a time.
ROWS_AT_ONCE = 1 << 14


def encode_links(pairs: Any, kind: str, codes: defaultdict[Any, int]) -> IntArray:
    """Check pairs of ids and return their codes; new ids are added to `codes`.

    Parameters
    ----------
    pairs : array of shape (n_pairs, 2) or iterable of 2-tuples
        The pairs that the user passed.
    kind : {"must", "cannot", "adaptive"}
        The parameter name for error messages.
    codes : dict from `numbering`
        The code of each sample id.
    """
    if hasattr(pairs, "columns"):
        raise GuidedTypeError(
            f"{kind} is a frame, not a list of pairs such as [(0, 3), (1, 4)].",
            "For a frame with the columns a, b and link, use Pairs.from_frame(frame); otherwise "
            "pass frame.to_numpy().",
            kind,
        )
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise TypeError(f"{kind}={pairs!r} is not a list of pairs such as [(0, 3), (1, 4)].")
    ends = _ends_one_by_one(pairs, kind)
    if type(pairs) is np.ndarray and pairs.shape[1:] == (2,) and pairs.dtype.kind != "O":
        ends = _ends_of_array(pairs)
    return np.fromiter(map(codes.__getitem__, ends), dtype=np.intp).reshape(-1, 2)


def _ends_of_array(pairs: NDArray[Any]) -> Iterator[Hashable]:
    """Yield the samples of pairs, converting only a few at a time to Python objects."""
    for start in range(0, len(pairs), ROWS_AT_ONCE):
        yield from pairs[start : start + ROWS_AT_ONCE].ravel().tolist()


def _ends_one_by_one(pairs: Iterable[Any], kind: str) -> Iterator[Hashable]:
    for pair in pairs:
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise GuidedValueError(
                f"{kind} contains {pair!r}, which is not a pair of two samples.",
                f"Write {kind}=[(0, 3), (1, 4)], or {kind}=[(0, 3)] for a single pair.",
                kind,
            )
        ends = plain_id(pair[0]), plain_id(pair[1])
        try:
            hash(ends)
        except TypeError:
            raise TypeError(
                f"{kind} contains the pair {ends!r}, but sample ids must be hashable, such as "
                "numbers, text or tuples."
            ) from None
        yield from ends


def checked(
    ids: tuple[Hashable, ...],
    links: Sequence[IntArray],
    weights: Sequence[Any],
    n_samples: int | None = None,
) -> tuple[Any, ...]:
    """Check pairs and return the arguments of `Pairs._set`.

    Parameters
    ----------
    ids : tuple of hashable
        The sample id of each code.
    links : sequence of ndarray of shape (n_links, 2)
        The must-links, the cannot-links and the adaptive links, as codes.
    weights : sequence of array-like or None
        The weights of must-links and of cannot-links.
    n_samples : int, optional
        The number of rows if ids are row numbers.
    """
    must, cannot, chosen = links
    missing = np.fromiter((is_missing(sample, minus_one=False) for sample in ids), dtype=bool)
    for kind, some in (("must", must), ("cannot", cannot), ("adaptive", chosen)):
        wrong = missing[some].any(axis=1) | (some[:, 0] == some[:, 1])
        for a, b in some[wrong][:1].tolist():
            what = ", which links a sample to itself"
            if missing[a] or missing[b]:
                what = " with a missing sample id"
            raise GuidedValueError(
                f"{kind} contains the pair ({ids[a]!r}, {ids[b]!r}){what}.", "Remove this pair."
            )
    marks = mark_adaptive(chosen, must, cannot, ids)
    own = _check_weights(weights[0], "must", must, ids)
    others = _check_weights(weights[1], "cannot", cannot, ids)
    check_row_numbers(ids, n_samples)
    return ids, must, cannot, n_samples, marks, (), (own, others)


def _check_weights(weights: Any, kind: str, links: IntArray, ids: Sequence[Hashable]) -> FloatArray:
    """Return one positive weight for each link; all weights are 1 if none were passed."""
    if weights is None:
        return np.ones(len(links))
    try:
        found = np.array(weights if hasattr(weights, "__array__") else list(weights), np.float64)
        found = found.ravel()
    except (TypeError, ValueError):
        raise TypeError(
            f"{kind}_weights must be a list of numbers, one for each pair, not {str(weights)[:60]}."
        ) from None
    if len(found) != len(links):
        raise GuidedValueError(
            f"{kind}_weights has {many(len(found), 'weight')} for "
            f"{many(len(links), f'{kind}-link')}.",
            "Pass one weight for each pair, in the same order.",
            f"{kind}_weights",
        )
    wrong = np.flatnonzero(~((found > 0) & np.isfinite(found)))
    if len(wrong):
        a, b = links[wrong[0]].tolist()
        raise GuidedValueError(
            f"{kind}_weights contains {found[wrong[0]]:g} for the pair ({ids[a]!r}, {ids[b]!r}), "
            "but weights must be positive and finite.",
            "Omit pairs that should not be used.",
            f"{kind}_weights",
        )
    return found


def once(
    links: IntArray,
    adaptive: BoolArray | None,
    weights: FloatArray | None,
    n_samples: int,
    groupings: Groupings,
    *,
    alike: bool,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Return the distinct links as read-only arrays, treating reversed links as duplicates.

    The largest weight of duplicate links is kept. A link is adaptive only if all its duplicates are
    adaptive, because a link that was also drawn independently of the data can be used for
    validation. A link that labels imply is kept only if its weight is greater than 1.
    """
    marks = np.zeros(len(links), dtype=bool) if adaptive is None else adaptive
    keys = _keys(links, n_samples)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    largest = np.zeros(len(first))
    np.maximum.at(largest, which, 1.0 if weights is None else weights)
    order = np.argsort(first)
    kept, chosen, largest = links[first[order]], marks[first[order]], largest[order]
    if chosen.any():  # rarely true, and the search is slow for many links
        chosen &= ~np.isin(keys[first[order]], keys[~marks])
    implied = are_implied(kept, groupings, alike=alike)
    needed = ~implied | (largest > 1.0)
    found = kept[needed], (chosen & ~implied)[needed], largest[needed]
    for values in found:
        values.setflags(write=False)
    return found


def weights_of(
    links: IntArray, listed: IntArray, weights: FloatArray, n_samples: int
) -> FloatArray:
    """Return the weight of each link in a list of weighted links, or 1 if it is not listed."""
    found = np.ones(len(links))
    keys = _keys(links, n_samples), _keys(listed, n_samples)
    _, here, there = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    found[here] = weights[there]
    return found


def first_of_each(links: IntArray, n_samples: int) -> IntArray:
    """Keep the first link of all duplicate links, treating reversed links as duplicates."""
    return links[np.sort(np.unique(_keys(links, n_samples), return_index=True)[1])]


def is_among(links: IntArray, others: IntArray, n_samples: int) -> BoolArray:
    """Return a mask of the links that are in `others`, in either order of their samples."""
    return np.isin(_keys(links, n_samples), _keys(others, n_samples))


def _keys(links: IntArray, n_samples: int) -> IntArray:
    """Return a unique number for each link, independent of the order of its two samples."""
    ends = np.sort(links, axis=1)
    return ends[:, 0] * max(n_samples, 1) + ends[:, 1]


def must_components(must: IntArray, n_samples: int, groupings: Groupings = ()) -> IntArray:
    """Number the groups of samples connected by must-links, sorted by their first samples.

    A sample without must-links forms its own group.

    Examples
    --------
    >>> must_components(np.array([[3, 1], [3, 4]]), 5).tolist()
    [0, 1, 2, 1, 1]
    """
    graph = _must_graph(must, n_samples, groupings)
    return connected_components(graph, directed=False)[1][:n_samples]


def _must_graph(must: IntArray, n_samples: int, groupings: Groupings) -> csr_array:
    """Return a graph of samples with one additional node per link and per class.

    Each sample is connected to the nodes of its links and classes, so that the size of the graph is
    linear in the number of labels.
    """
    samples, nodes = [must.ravel()], [n_samples + np.repeat(np.arange(len(must)), 2)]
    n_nodes = n_samples + len(must)
    for classes, _ in groupings:
        rows = np.flatnonzero(classes >= 0)
        samples.append(rows)
        nodes.append(n_nodes + classes[rows])
        n_nodes += int(classes.max(initial=-1)) + 1
    ends = np.concatenate(samples), np.concatenate(nodes)
    return coo_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes)).tocsr()


def link_graph(links: IntArray, n_samples: int) -> csr_array:
    """Return a sparse matrix with the number of links from each sample to each other sample."""
    ones = np.ones(len(links))
    return coo_array((ones, (links[:, 0], links[:, 1])), shape=(n_samples, n_samples)).tocsr()


def members_of(codes: IntArray) -> list[IntArray]:
    """Return the samples of each group, sorted by group code; negative codes mean no group.

    Examples
    --------
    >>> [group.tolist() for group in members_of(np.array([1, 0, -1, 1]))]
    [[1], [0, 3]]
    """
    by_code = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    return np.split(by_code, np.flatnonzero(np.diff(codes[by_code])) + 1) if len(by_code) else []


def inside(links: IntArray, groups: IntArray) -> BoolArray:
    """Return a mask of the links whose two samples are in the same group."""
    return groups[links[:, 0]] == groups[links[:, 1]]


def chains(
    must: IntArray, ends: IntArray, n_samples: int, groupings: Groupings = ()
) -> list[list[int]]:
    """Find a shortest chain of must-links between the two samples of each pair."""
    graph = _must_graph(must, n_samples, groupings)
    found: dict[int, list[int]] = {}
    searched = -1
    # Pairs with the same first sample share one search.
    for place in np.argsort(ends[:, 0], kind="stable").tolist():
        start, end = ends[place].tolist()
        if start != searched:
            parents = breadth_first_order(graph, start, directed=False)[1]
            searched = start
        chain = [end]
        while chain[-1] != start:
            chain.append(int(parents[parents[chain[-1]]]))
        found[place] = chain[::-1]
    return [found[place] for place in range(len(ends))]


def closure_of(must: IntArray, cannot: IntArray, n_samples: int) -> tuple[IntArray, IntArray]:
    """Return all links that the given links imply, provided that there are no conflicts."""
    component = must_components(must, n_samples)
    members = members_of(component)
    apart = np.unique(np.sort(component[cannot], axis=1), axis=0)
    groups = [(members[a], members[b]) for a, b in apart.tolist()]
    between = [np.column_stack([np.repeat(a, len(b)), np.tile(b, len(a))]) for a, b in groups]
    return links_within(component), _stack(between)


def links_within(codes: IntArray) -> IntArray:
    """Return all pairs of samples within groups; negative codes mean no group.

    Examples
    --------
    >>> links_within(np.array([1, 0, -1, 1, 1])).tolist()
    [[0, 3], [0, 4], [3, 4]]
    """
    groups = members_of(codes)
    return _stack([group[np.column_stack(np.triu_indices(len(group), k=1))] for group in groups])


def _stack(links: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty((0, 2), dtype=np.intp), *links])


# -- adaptive links: chosen by looking at the samples, so that they cannot be used for validation --

# Whether each must-link and each cannot-link is adaptive.
Adaptive = tuple[BoolArray, BoolArray]


def mark_adaptive(
    chosen: IntArray, must: IntArray, cannot: IntArray, ids: tuple[Hashable, ...]
) -> Adaptive:
    """Return masks of the adaptive links; raise an error if an adaptive pair is not a link."""
    if not len(chosen):
        return np.zeros(len(must), dtype=bool), np.zeros(len(cannot), dtype=bool)
    unknown = chosen[~is_among(chosen, np.concatenate([must, cannot]), len(ids))]
    if len(unknown):
        a, b = unknown[0].tolist()
        raise GuidedValueError(
            f"adaptive contains the pair ({ids[a]!r}, {ids[b]!r}), which is neither a must-link "
            "nor a cannot-link.",
            "In adaptive, pass only pairs that are also in must or cannot.",
            "adaptive",
        )
    return is_among(must, chosen, len(ids)), is_among(cannot, chosen, len(ids))


def mark_implied(
    closed: tuple[IntArray, IntArray],
    links: tuple[IntArray, IntArray],
    adaptive: Adaptive,
    n_samples: int,
) -> Adaptive:
    """Return masks of the adaptive links of a closure: all except listed non-adaptive links.

    If no listed link is adaptive, no link of the closure is marked as adaptive.
    """
    if not any(marks.any() for marks in adaptive):
        return np.zeros(len(closed[0]), dtype=bool), np.zeros(len(closed[1]), dtype=bool)
    must, cannot = (
        ~is_among(implied, listed[~marks], n_samples)
        for implied, listed, marks in zip(closed, links, adaptive, strict=True)
    )
    return must, cannot
