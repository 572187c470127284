import itertools
import pickle

import numpy as np
import pytest

from linkselect import Pairs
from linkselect.pairs._groupings import Grouping, needed


def sides(links):
    return {frozenset(link) for link in links}


def drawn_links(rng, n):
    ends = [rng.choice(n, 2, replace=False).tolist() for _ in range(rng.integers(3))]
    return [tuple(pair) for pair in ends]


def drawn(rng, n):
    """Return random pairs that store labels as groups, and the same pairs as a list of links."""
    pairs = Pairs(drawn_links(rng, n), drawn_links(rng, n))
    must, cannot = sides(pairs.must), sides(pairs.cannot)
    for _ in range(rng.integers(1, 4)):
        y = rng.choice([-1, 2, 3, 4], size=n)
        for a, b in itertools.combinations(range(n), 2):
            if y[a] >= 0 and y[b] >= 0:
                (must if y[a] == y[b] else cannot).add(frozenset((a, b)))
        labels = Pairs.from_labels(y)
        pairs = pairs | labels if rng.random() < 0.5 else labels | pairs
    return pairs, Pairs(map(tuple, must), map(tuple, cannot))


def check_same(pairs, listed):
    assert sides(pairs.must) == sides(listed.must)
    assert sides(pairs.cannot) == sides(listed.cannot)
    assert pairs.n_must == len(pairs.must) == listed.n_must
    assert pairs.n_cannot == len(pairs.cannot) == listed.n_cannot
    assert pairs == listed
    assert hash(pairs) == hash(listed)
    assert set(pairs.ids) == set(listed.ids)
    assert sides(pairs.components()) == sides(listed.components())
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert pairs.summary(n_samples=9) == listed.summary(n_samples=9)
    steps = {frozenset(one.cannot): len(one.chain) for one in listed.conflicts()}
    assert {frozenset(one.cannot): len(one.chain) for one in pairs.conflicts()} == steps
    assert pairs.n_conflicts == listed.n_conflicts == len(steps)
    assert len(pairs.conflicts(limit=2)) == min(2, len(steps))
    for conflict in pairs.conflicts(limit=2):
        assert sides(itertools.pairwise(conflict.chain)) <= sides(listed.must)


@pytest.mark.parametrize("seed", range(60))
def test_groups_are_equivalent_to_listed_links(seed):
    rng = np.random.default_rng(seed)
    pairs, listed = drawn(rng, int(rng.integers(3, 9)))
    some = np.flatnonzero(rng.random(9) < 0.7).tolist()
    check_same(pairs, listed)
    check_same(pairs.restrict(some), listed.restrict(some))
    settled, settled_list = pairs.without_conflicts(), listed.without_conflicts()
    check_same(settled, settled_list)
    check_same(settled.restrict(some), settled_list.restrict(some))
    check_same(settled.closure(), settled_list.closure())
    # New labels may imply a removed cannot-link again; it must be removed a second time.
    more = Pairs.from_labels(rng.integers(2, 4, size=9))
    listed_more = Pairs(more.must, more.cannot)
    joined = settled.restrict(some) | more, settled_list.restrict(some) | listed_more
    check_same(*joined)
    check_same(*(one.without_conflicts() for one in joined))


def test_many_labels_are_never_listed():
    y = np.arange(200_000) % 4
    y[:1000] = -1
    size = 199_000 // 4
    pairs = Pairs(must=[(0, 1000), (0, 1)]) | Pairs.from_labels(y)
    assert pairs.n_must == 4 * size * (size - 1) // 2 + 2
    assert pairs.n_cannot == 6 * size**2
    assert [len(group) for group in pairs.components()] == [size + 2, size, size, size]
    assert pairs.restrict(range(1002)).n_cannot == 1
    assert pairs == pickle.loads(pickle.dumps(pairs))
    assert "cannot-links" in pairs._repr_html_()
    wrong = pairs | Pairs(must=[(1, 1001)])
    assert wrong.n_conflicts == size**2
    assert str(wrong.conflicts(limit=1)[0]).endswith("1000 = 0 = 1 = 1001")
    settled = wrong.without_conflicts()
    assert (settled.n_must, settled.n_cannot) == (wrong.n_must, 5 * size**2)
    assert settled.n_conflicts == 0


def test_a_shortest_chain_may_combine_classes_and_links():
    pairs = Pairs(must=[("b", "c")]) | Pairs.from_labels(
        [0, 0, 1, 1], sample_ids=["a", "b", "c", "d"]
    )
    chains = {conflict.cannot: conflict.chain for conflict in pairs.conflicts()}
    assert chains["a", "d"] == ("a", "b", "c", "d")
    assert chains["b", "c"] == ("b", "c")


def test_labels_contained_in_other_labels_are_stored_once():
    some, all_labels = np.array([5, 5, -1, 7]), np.array([0, 0, 0, 1])
    few, many = (Pairs.from_labels(y) for y in (some, all_labels))
    assert len((few | many)._groupings) == 1
    assert (few | many) == many
    other = Pairs.from_labels([0, 1, 1, 1])
    assert len((other | many)._groupings) == 2
    alone = np.array([-1, 3, -1])
    assert needed([Grouping(alone, alone)]) == ()


def test_pickles_of_older_versions_can_be_loaded():
    must, cannot = np.array([[0, 1]]), np.array([[0, 2], [1, 2]])
    marks = np.zeros(1, dtype=bool), np.array([True, False])
    state = ("a", "b", "c"), must, cannot, None, marks, np.array([0, 0, 1])
    for length in (4, 5, 6):
        pairs = Pairs.__new__(Pairs)
        pairs.__setstate__(state[:length])
        assert pairs.cannot == (("a", "c"), ("b", "c"))
        assert pairs.adaptive == ((("a", "c"),) if length > 4 else ())
        assert pairs.must_weights == (1.0,)


def test_links_implied_by_labels_are_not_adaptive():
    pairs = Pairs([(0, 1), (4, 5)], adaptive=[(0, 1), (4, 5)]) | Pairs.from_labels([0, 0, 1])
    assert pairs.adaptive == ((4, 5),)
    assert repr(pairs) == "Pairs(must=2, cannot=2, adaptive=1)"


def test_equal_pairs_in_another_order_are_not_listed():
    """50,000 labels imply 1.25 billion links."""
    y = np.arange(50_000) % 3
    pairs, names = Pairs(must=[(3, 6), (1, 4)], must_weights=[2, 1]), list("bca")
    labels, others = Pairs.from_labels(y), Pairs.from_labels([names[code] for code in y])
    assert pairs | labels == others | pairs
    assert labels != Pairs.from_labels(y, sample_ids=range(1, 50_001))
