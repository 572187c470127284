"""Labels, must-links and their weights as observations of LinkSelector."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from linkselect import LinkSelector, Pairs
from linkselect._samples import as_samples
from linkselect._samples.scaling import find_scaling
from linkselect._search import explained
from linkselect._search.explained import by_features, by_samples
from linkselect._search.observations import observe
from linkselect._supervision import from_labels, from_pairs

NOISE = 0.05


def some_data(n_samples=30, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)) @ rng.normal(size=(n_features, n_features))


def posed(X, known, kind):
    """Return the features, expressed in sample space or in feature space, and the problem."""
    samples = as_samples(X)
    scaling = find_scaling(samples, np.zeros(X.shape[1], dtype=bool), "range", 1)
    if kind == "features":
        problem = by_features(samples, scaling, observe(known), NOISE, 1)
    else:
        problem = by_samples(samples.scaled_columns(scaling, 1), observe(known), NOISE)
    columns = np.column_stack([problem.columns.column(j) for j in range(X.shape[1])])
    return columns, problem


def scaled(X):
    F = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return F - F.mean(axis=0)


def literal(F, Q):
    """Return T = K - KQ (Q'KQ + tau m I)^-1 Q'K; each column of Q is an observation of 0."""
    K = F @ F.T
    variance = NOISE * np.trace(K) / len(K)
    return K - K @ Q @ np.linalg.solve(Q.T @ K @ Q + variance * np.eye(Q.shape[1]), Q.T @ K)


def differences(n_samples, links):
    Q = np.zeros((n_samples, len(links)))
    for place, (a, b) in enumerate(links):
        Q[a, place], Q[b, place] = 1.0, -1.0
    return Q


@pytest.mark.parametrize("n_links", [3, 15])  # both versions of the formula
def test_a_link_of_weight_2_counts_twice(n_links):
    X = some_data()
    links = [(2 * i, 2 * i + 1) for i in range(n_links)]
    weights = [2.0] + [1.0] * (n_links - 1)
    known = from_pairs(Pairs(links, must_weights=weights), len(X))
    _, problem = posed(X, known, "samples")
    root = min(1.0, 10 / (n_links + 1)) ** 0.5  # the total weight of all links is at most 10
    twice = literal(scaled(X), root * differences(len(X), [links[0], *links]))
    once = literal(scaled(X), root * differences(len(X), links))
    np.testing.assert_allclose(problem.moment, twice, atol=1e-10)
    assert np.abs(twice - once).max() > 1e-4


def chain(rows):
    return list(pairwise(rows))


def test_eight_linked_samples_form_a_class_if_a_cannot_link_separates_two_such_groups():
    X, y = some_data(40), np.full(40, -1)
    y[:8], y[10:25] = 0, 1
    must = chain(range(8)) + chain(range(10, 25)) + [(25, 26)]
    linked = LinkSelector(8).fit(X, pairs=Pairs(must, [(3, 20)]))
    labelled = LinkSelector(8).fit(X, pairs=Pairs([(25, 26)]) | Pairs.from_labels(y))
    np.testing.assert_array_equal(linked.scores_, labelled.scores_)
    # Smaller groups, groups without a cannot-link between them and single groups remain links.
    for some, cannot in (
        (chain(range(7)) + chain(range(10, 25)), [(3, 20)]),
        (chain(range(8)) + chain(range(10, 25)), [(3, 30)]),
        (chain(range(10, 25)), [(3, 20)]),
    ):
        seen = observe(from_pairs(Pairs(some, cannot), 40))
        assert not seen.labelled.any()
        assert seen.weights.shape[1] == len(some)


def test_the_largest_of_groups_without_cannot_links_between_them_is_a_class():
    must = chain(range(8)) + chain(range(8, 18)) + chain(range(18, 27))
    seen = observe(from_pairs(Pairs(must, [(0, 8), (0, 18)]), 40))
    assert np.flatnonzero(seen.labelled).tolist() == list(range(18))
    assert seen.weights.shape[1] == 18 + 8


def test_a_group_with_a_contradicting_cannot_link_is_not_a_class():
    must = chain(range(10)) + chain(range(10, 20)) + chain(range(20, 30))
    pairs = Pairs(must, [(0, 12), (0, 5), (0, 21), (12, 21), (21, 35)])
    seen = observe(from_pairs(pairs, 40, on_conflict="drop"))
    assert np.flatnonzero(seen.labelled).tolist() == list(range(10, 30))
    assert seen.weights.shape[1] == 20 + 9


def test_labels_separate_groups_like_cannot_links():
    must = chain(range(8)) + chain(range(10, 18)) + chain(range(20, 28))
    y = np.full(40, -1)
    y[[3, 14, 30]] = 0, 1, 1
    # The labels imply the cannot-link, so it is no longer listed.
    for cannot in ([], [(3, 14)]):
        seen = observe(from_pairs(Pairs(must, cannot) | Pairs.from_labels(y), 40))
        in_groups = np.flatnonzero(seen.labelled - (y >= 0)).tolist()
        assert in_groups == [*range(8), *range(10, 18)]
        assert seen.weights.shape[1] == 3 + 16 + 7


def test_a_group_with_contradicting_labels_is_not_a_class():
    must = chain(range(10)) + chain(range(10, 20)) + chain(range(20, 30))
    y = np.full(40, -1)
    y[[2, 5]] = 0, 1
    pairs = Pairs(must, [(0, 12), (0, 21), (12, 21)]) | Pairs.from_labels(y)
    seen = observe(from_pairs(pairs, 40, on_conflict="drop"))
    assert np.flatnonzero(seen.labelled).tolist() == [2, 5, *range(10, 30)]


def mixed_pairs(rng, n_samples):
    y, groups = rng.integers(0, 3, n_samples), rng.integers(0, 2, n_samples)
    y[rng.random(n_samples) < 0.4] = -1
    groups[rng.random(n_samples) < 0.6] = -1
    links = [tuple(rng.choice(n_samples, 2, replace=False).tolist()) for _ in range(12)]
    listed = Pairs(links, must_weights=rng.random(12) * 3 + 0.1)
    return listed, Pairs.from_labels(y, sample_ids=range(n_samples)), Pairs.from_labels(groups)


@pytest.mark.parametrize("which", ["weights", "labels", "both labels", "all", "same for all"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("links_size", [1, 1 << 22])  # several passes over the links, or one
def test_both_spaces_give_the_same(which, kind, links_size, monkeypatch):
    monkeypatch.setattr(explained, "LINKS_SIZE", links_size)
    X = some_data()
    listed, one, other = mixed_pairs(np.random.default_rng(3), len(X))
    pairs = {
        "weights": listed,
        "labels": one,
        "both labels": one | other,
        "all": listed | one | other,
        "same for all": Pairs.from_labels(np.arange(30) % 2) | Pairs.from_labels(np.arange(30) % 3),
    }[which]
    known = from_pairs(pairs, len(X), on_conflict="drop")
    products = []
    for space in ("samples", "features"):
        columns, problem = posed(X if space == "samples" else kind(X), known, space)
        products.append(columns.T @ problem.moment @ columns)
    np.testing.assert_allclose(*products, rtol=1e-6, atol=1e-6 * np.abs(products[0]).max())


def test_a_sample_in_two_groupings_has_two_observations():
    pairs = Pairs.from_labels([0, 0, 1, -1]) | Pairs.from_labels([-1, 2, 3, 3])
    seen = observe(from_pairs(pairs, 4))
    assert seen.labelled.tolist() == [1, 2, 2, 1]
    assert seen.targets.shape == (6, 4)
    np.testing.assert_allclose((seen.targets**2).sum(axis=1).mean(), 1.0)
    np.testing.assert_allclose(seen.targets[:3, 2:], 0.0)
    np.testing.assert_allclose(seen.targets[3:, :2], 0.0)


def test_a_must_link_is_omitted_only_if_labels_imply_it():
    labels = Pairs.from_labels([0, 0, 1, 1, -1])
    pairs = Pairs([(0, 1), (1, 2), (3, 4)], must_weights=[4, 1, 4]) | labels
    seen = observe(from_pairs(pairs, 5, on_conflict="drop"))
    links = seen.weights.toarray()[:, 4:]
    assert links.T.tolist() == [[0, 1, -1, 0, 0], [0, 0, 0, 2, -2]]
    assert seen.labelled.tolist() == [1, 1, 1, 1, 0]


def test_labels_as_pairs_are_equivalent_to_labels():
    y = np.array([0, 1, 1, -1, 0, 2])
    as_pairs, as_labels = from_pairs(Pairs.from_labels(y), 6), from_labels(y, 6)
    for some, others in zip(observe(as_pairs), observe(as_labels), strict=True):
        np.testing.assert_array_equal(*(getattr(a, "toarray", a.copy)() for a in (some, others)))


def test_weights_change_the_choice():
    X = some_data()
    links = [(0, 1), (2, 3), (4, 5)]
    scores = [
        LinkSelector(3).fit(X, pairs=Pairs(links, must_weights=weights)).scores_
        for weights in (None, [1, 1, 1], [50, 1, 1])
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 1e-3
