"""The next pair of each query strategy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linkselect import LinkSelector, Pairs
from linkselect.asking import STRATEGIES, PairQueries
from linkselect.asking._answers import know


def blobs(n_samples=24, n_features=7, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, :2] += 4.0 * y[:, None]
    return X, y


def truth(y, pair):
    return "alike" if y[pair[0]] == y[pair[1]] else "different"


def asked(queries, answer, most=10_000):
    """Answer until no question is left, and return the pairs in their order."""
    pairs = []
    while len(pairs) < most and (pair := queries.next_pair()) is not None:
        pairs.append(pair)
        assert queries.answer(pair, answer(pair)) is None
    return pairs


# -- all strategies -------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_asks_until_everything_is_known_and_nothing_twice(strategy, seed):
    X, y = blobs(16, seed=seed)
    rng = np.random.default_rng(seed)
    queries = PairQueries(X, strategy=strategy, random_state=seed)
    seen = set()
    while (pair := queries.next_pair()) is not None:
        assert queries.next_pair() == pair
        assert queries.follows(pair) is None
        assert frozenset(pair) not in seen
        seen.add(frozenset(pair))
        queries.answer(pair, "unsure" if rng.random() < 0.3 else truth(y, pair))
    closure = queries.pairs.closure()
    known = {frozenset(pair) for pair in closure.must + closure.cannot} | seen
    assert len(known) == 16 * 15 / 2
    assert all(y[a] == y[b] for a, b in closure.must)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_asks_every_pair_once_if_the_person_is_never_sure(strategy):
    X, _ = blobs(7)
    pairs = asked(PairQueries(X, strategy=strategy, random_state=0), lambda pair: "unsure")
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 21


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("said", ["alike", "different"])
def test_two_samples_make_one_question(strategy, said):
    queries = PairQueries([[0.0], [1.0]], strategy=strategy)
    assert len(asked(queries, lambda pair: said)) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_is_asked_if_all_is_given(strategy):
    X, y = blobs(12)
    assert PairQueries(X, Pairs.from_labels(y), strategy=strategy).next_pair() is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_constant_samples_can_be_asked_about(strategy):
    queries = PairQueries(np.ones((6, 3)), strategy=strategy, random_state=0)
    assert len(asked(queries, lambda pair: "different")) == 15


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_kind_of_array_does_not_matter(strategy):
    X, y = blobs()
    X = np.round(20 * X)

    def sequence(X):
        queries = PairQueries(X, strategy=strategy, random_state=1)
        return asked(queries, lambda pair: truth(y, pair), 30)

    expected = sequence(X)
    kinds = [X.astype(np.int16), np.asfortranarray(X), csr_array(X), X.astype(np.float32)]
    for kind in kinds:
        assert sequence(kind) == expected


# -- grow ----------------------------------------


def literal_grow(X, answer, seed, n_questions):
    """Implement the documented strategy literally, with the features of LinkSelector.

    Every fifth question is about two samples without pairs, and its answer is not used.
    """
    n_samples, n_features = X.shape
    order = np.random.default_rng(seed).permutation(n_samples).tolist()
    v = 2 * X.var(axis=0)
    must, cannot, pairs = [], [], []

    def draw_every_fifth():
        if len(pairs) % 5 != 4:
            return
        named = set(np.ravel(pairs).tolist())
        fresh = sorted(set(range(n_samples)) - named)
        draw = np.random.default_rng([seed, len(pairs)])
        pairs.append(tuple(draw.choice(fresh, 2, replace=False).tolist()))

    def best():
        n_best = max(2, min(20, n_features // 3))
        known = Pairs(must, cannot) if must else None
        return LinkSelector(n_best).fit(X, pairs=known).order_[:n_best]

    for sample in order[1:]:
        draw_every_fifth()
        if any(sample in pair for pair in pairs):
            continue
        asked_groups = []
        for _ in range(3):
            T = best()
            draw_every_fifth()
            groups = list(Pairs(must, cannot).components()) or [(order[0],)]
            groups = [g for g in groups if sample not in g and not set(g) & set(asked_groups)]
            if not groups:
                break
            far = np.sum((X[:, T] - X[sample, T]) ** 2 / v[T], axis=1)
            nearest = min(groups, key=lambda group: min(far[m] for m in group))
            partner = min(nearest, key=lambda member: far[member])
            pairs.append((sample, partner))
            if len(pairs) >= n_questions:
                return pairs[:n_questions]
            asked_groups += [partner]
            said = answer((sample, partner))
            (must if said == "alike" else cannot).append((sample, partner))
            if said == "alike":
                break
    return pairs


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_grow_asks_as_its_words_say(seed, offset):
    X, y = blobs(40, n_features=[3, 7, 20][seed % 3], n_classes=[2, 6][seed % 2], seed=seed)
    X = X * np.logspace(-2, 2, X.shape[1]) + offset
    expected = literal_grow(X, lambda pair: truth(y, pair), seed, 25)
    queries = PairQueries(X, random_state=seed)
    assert asked(queries, lambda pair: truth(y, pair), 25) == expected


def test_grow_measures_distances_in_the_features_that_alike_samples_share():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 6))
    X[:, 0] = y + 0.05 * rng.normal(size=100)
    alike = Pairs(must=[(a, a + 2) for a in range(0, 60, 3)])
    for seed in range(10):
        sample, partner = PairQueries(X, alike, random_state=seed).next_pair()
        assert y[sample] == y[partner]
    pairs = [PairQueries(X[:, 1:], alike, random_state=seed).next_pair() for seed in range(10)]
    assert any(y[sample] != y[partner] for sample, partner in pairs)


def test_grow_starts_from_given_pairs():
    X, _ = blobs(30)
    queries = PairQueries(X, Pairs(must=[(0, 1)], cannot=[(0, 2)]), strategy="grow", random_state=3)
    sample, partner = queries.next_pair()
    order = np.random.default_rng(3).permutation(30)
    assert sample == next(row for row in order if row > 2)
    assert partner in (0, 1, 2)


def test_grow_goes_to_the_next_group_after_unsure_and_stops_after_three():
    X, _ = blobs(12)
    # Four groups, so that one of them is never compared.
    given = Pairs(cannot=[(a, b) for a in range(4) for b in range(a)])
    queries = PairQueries(X, given, strategy="grow", random_state=0)
    pairs = asked(queries, lambda pair: "unsure", 4)
    assert len({a for a, _ in pairs[:3]}) == 1
    assert len({b for _, b in pairs[:3]}) == 3
    assert pairs[3][0] != pairs[0][0]


# -- minmax ----------------------------------------


def test_minmax_takes_the_farthest_sample_and_asks_all_groups_nearest_first():
    X = np.array([[0.0], [1.0], [10.0], [4.0], [22.0]])
    queries = PairQueries(X, Pairs(cannot=[(0, 1)]), strategy="minmax", random_state=1)
    pairs = asked(queries, lambda pair: "different", 6)
    del pairs[4]  # this one is drawn at random
    assert pairs == [(4, 1), (4, 0), (2, 1), (2, 0), (2, 4)]


def test_minmax_starts_with_the_farthest_of_a_random_sample():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    for seed in range(4):
        first = np.random.default_rng(seed).permutation(4)[0]
        queries = PairQueries(X, strategy="minmax", random_state=seed)
        assert queries.next_pair() == (3 if first < 3 else 0, first)


# -- random ----------------------------------------


def test_random_draws_all_pairs_alike():
    X, _ = blobs(4)
    counts = np.zeros((4, 4))
    for seed in range(600):
        a, b = PairQueries(X, strategy="random", random_state=seed).next_pair()
        counts[min(a, b), max(a, b)] += 1
    drawn = counts[np.triu_indices(4, k=1)]
    assert drawn.sum() == 600
    assert drawn.min() > 60  # 100 are expected, with a standard deviation of 9


# -- conclusions ------------------------------------------


def test_open_rows_are_those_that_nothing_decides():
    said = [(0, 1, "alike"), (1, 2, "different"), (3, 4, "alike"), (4, 0, "unsure")]
    known = know(said, 6)
    for row in range(6):
        expected = [b for b in range(6) if b != row and not known.decided(row, b)]
        assert known.open_rows(row, np.arange(6)).tolist() == expected
    assert known.follows(0, 2) == "different"
    assert not known.decided(3, 0)
