"""The working score from sums over groups against its formula over all pairs that follow."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from linkselect import Pairs
from linkselect.asking._answers import know
from linkselect.asking._asked_samples import SampleValues
from linkselect.asking._working import best_features, closure_scatter, working_scores


def links(said):
    must = [(a, b) for a, b, answer in said if answer == "alike"]
    cannot = [(a, b) for a, b, answer in said if answer == "different"]
    return Pairs(must, cannot).closure()


def literal_scores(X, said):
    """Follow the words: lists every pair of the closure."""
    X = np.asarray(X, dtype=np.longdouble)
    closure = links(said)
    v = 2 * ((X - X.mean(axis=0)) ** 2).mean(axis=0)
    parts = []
    for some in (closure.must, closure.cannot):
        weight = min(len(some), 5) / 5
        mean = sum(((X[a] - X[b]) ** 2 for a, b in some), np.zeros(X.shape[1])) / max(len(some), 1)
        parts.append(weight * mean + (1 - weight) * v + 0.05 * v)
    with np.errstate(invalid="ignore"):
        return (parts[0] / parts[1]).astype(float)


RIGHT = [(0, 1, "alike"), (1, 2, "alike"), (3, 4, "alike"), (0, 3, "different")]
LISTS = {
    "nothing": [],
    "one alike": [(0, 1, "alike")],
    "one different": [(5, 2, "different")],
    "unsure only": [(5, 2, "unsure")],
    "groups": [*RIGHT, (5, 0, "different"), (5, 6, "unsure"), (7, 8, "alike")],
    "many": [*RIGHT, (5, 4, "alike"), (6, 7, "alike"), (7, 8, "alike"), (8, 4, "different")],
}


def odd_data(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 9))
    X[:, 1] = X[:, 0]  # a twin
    X[:, 2] = 3.0  # constant
    X[4] = X[0]  # a duplicate across groups
    if kind == "offset":
        X += 1e8
    if kind == "far groups":
        X[:3] += 1e8
    if kind == "int8":
        return np.clip(100 * X, -127, 127).astype(np.int8)
    if kind == "bool":
        return X > 0
    return X.astype(np.float32) if kind == "float32" else X


@pytest.mark.parametrize("said", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("kind", ["plain", "offset", "far groups", "int8", "bool", "float32"])
def test_working_score_is_that_of_the_listed_closure(kind, said):
    X = odd_data(kind)
    samples, known = SampleValues(X), know(said, len(X))
    expected = literal_scores(X, said)
    found = working_scores(samples, known)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.isnan(found[2]) == (np.ptp(X[:, 2].astype(float)) == 0)


@pytest.mark.parametrize("make", [csr_array, csc_array])
def test_sparse_samples_have_the_same_scores(make):
    X = np.where(np.random.default_rng(0).random((12, 6)) < 0.5, 0.0, odd_data("plain")[:, 3:])
    known = know(LISTS["many"], len(X))
    found = working_scores(SampleValues(make(X)), known)
    np.testing.assert_allclose(found, working_scores(SampleValues(X), known), rtol=1e-12)


def test_closure_is_counted_without_listing_it():
    known = know(LISTS["many"], 12)
    closure = links(LISTS["many"])
    _, n_must, _, n_cannot = closure_scatter(SampleValues(odd_data("plain")), known)
    assert (n_must, n_cannot) == (closure.n_must, closure.n_cannot)


@pytest.mark.parametrize(
    ("n_features", "expected"), [(1, 1), (2, 2), (8, 2), (9, 3), (59, 19), (300, 20)]
)
def test_a_third_of_the_features_is_used_from_two_to_twenty(n_features, expected):
    X = np.random.default_rng(0).normal(size=(6, n_features))
    assert len(best_features(SampleValues(X), know(RIGHT, 6))) == expected


def test_constant_features_are_never_among_the_best():
    X = np.ones((6, 9))
    X[:, 8] = np.arange(6)
    assert best_features(SampleValues(X), know(RIGHT, 6)).tolist() == [8]
