"""The features used for distances between questions: those of LinkSelector, on few samples."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from linkselect import LinkSelector, Pairs
from linkselect.asking._answers import know
from linkselect.asking._asked_samples import SampleValues
from linkselect.asking._working import best_features

RIGHT = [(0, 1, "alike"), (1, 2, "alike"), (3, 4, "alike"), (0, 3, "different")]


def best(X, said, seed=0):
    n_samples = X.shape[0]
    order = np.random.default_rng(seed).permutation(n_samples)
    return best_features(SampleValues(X), know(said, n_samples), order).tolist()


def table(n_samples=60, n_features=30, seed=5):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def links(said):
    must = [(a, b) for a, b, answer in said if answer == "alike"]
    cannot = [(a, b) for a, b, answer in said if answer == "different"]
    return Pairs(must, cannot)


@pytest.mark.parametrize("said", [RIGHT, [*RIGHT, (5, 6, "different"), (7, 8, "unsure")]])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, csr_array, csc_array])
def test_they_are_those_of_the_selector_of_the_page(said, kind):
    X = table()
    found = best(kind(X), said)
    assert found == LinkSelector(10).fit(X, pairs=links(said)).order_[:10].tolist()


def test_groups_that_are_told_apart_count_as_classes():
    X = table(40)
    said = [(a, a + 1, "alike") for a in (*range(8), *range(10, 18))]
    apart = [*said, (0, 10, "different")]
    assert best(X, apart) == LinkSelector(10).fit(X, pairs=links(apart)).order_[:10].tolist()
    assert best(X, apart) != best(X, said)


def test_with_nothing_known_they_stand_for_all_others():
    X = table()
    assert best(X, []) == LinkSelector(10).fit(X).order_[:10].tolist()
    assert best(X, [(0, 1, "different")]) == best(X, [])


def test_only_answers_that_matter_lead_to_another_choice():
    X, samples = table(), SampleValues(table())
    order = np.arange(60)
    first = best_features(samples, know(RIGHT, 60), order)
    assert best_features(samples, know([*RIGHT, (7, 8, "different")], 60), order) is first
    assert best_features(samples, know([*RIGHT, (7, 8, "alike")], 60), order) is not first
    # Another X has its own choices.
    other = best_features(SampleValues(X[:, ::-1]), know(RIGHT, 60), order)
    assert sorted(29 - other) == sorted(first)


def test_few_samples_suffice():
    """For large data, only the samples of pairs and some random samples are read."""
    X = table(3000, 12)
    X[:, 0] *= 1e3
    X[::2, 1] += 30.0
    said = [(a, a + 2, "alike") for a in range(0, 400, 4)]
    order = np.random.default_rng(0).permutation(3000)
    ends = np.unique([row for a, b, _ in said[:50] for row in (a, b)])
    rows = np.sort(np.concatenate([ends, order[~np.isin(order, ends)][: 200 - len(ends)]]))
    place = {row: index for index, row in enumerate(rows.tolist())}
    must = [(place[a], place[b]) for a, b, _ in said[:50]]
    expected = LinkSelector(4).fit(X[rows], pairs=Pairs(must=must)).order_[:4].tolist()
    assert best(X, said) == expected


@pytest.mark.parametrize(
    ("n_features", "expected"), [(1, 1), (2, 2), (8, 2), (9, 3), (59, 19), (300, 20)]
)
def test_a_third_of_the_features_is_used_from_two_to_twenty(n_features, expected):
    assert len(best(table(6, n_features), RIGHT)) == expected


def test_constant_features_are_never_among_the_best():
    X = np.ones((6, 9))
    assert best(X, RIGHT) == []
    X[:, 8] = np.arange(6)
    assert best(X, RIGHT) == [8]
