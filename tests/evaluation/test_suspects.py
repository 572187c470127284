import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import minmax_scale

from linkselect import Pairs
from linkselect.evaluation import suspect_pairs

X, Y = load_wine(return_X_y=True)
RIGHT = Pairs.from_labels(Y, n_must=20, n_cannot=20, random_state=0)
# The first three of each kind are wrong.
PAIRS = Pairs(
    must=[*RIGHT.cannot[:3], *RIGHT.must[3:]], cannot=[*RIGHT.must[:3], *RIGHT.cannot[3:]]
)


def literal(X, pairs):
    """Compute the suspicion of each pair separately, as defined in the docstring."""
    X = minmax_scale(X)
    v = 2 * X.var(axis=0)
    links = [(*pair, "must") for pair in pairs.must] + [(*pair, "cannot") for pair in pairs.cannot]
    found = {}
    for own in links:
        means, shrunk = [], []
        for kind in ("must", "cannot"):
            others = [
                (X[a] - X[b]) ** 2 for a, b, link in links if link == kind and (a, b, link) != own
            ]
            means.append(np.mean(others, axis=0))
            shrunk.append((np.sum(others, axis=0) + v) / (len(others) + 1))
        a, b = shrunk
        w = np.maximum(b - a, 0) / (a + b)
        d = w @ (X[own[0]] - X[own[1]]) ** 2
        at = np.log(d) - (np.log(w @ means[0]) + np.log(w @ means[1])) / 2
        found[own] = at if own[2] == "must" else -at
    return found


@pytest.mark.parametrize("kind", [np.asarray, csr_array, pd.DataFrame])
def test_identity_with_the_literal_formula(kind):
    expected = literal(X, PAIRS)
    found = suspect_pairs(kind(X), PAIRS)
    for one in found:
        np.testing.assert_allclose(one.suspicion, expected[one[:3]], rtol=1e-10)
    assert [one.rank for one in found] == list(range(1, 41))
    values = [one.suspicion for one in found]
    assert values == sorted(values, reverse=True)


def test_wrong_pairs_come_first():
    found = []
    for seed in range(5):
        right = Pairs.from_labels(Y, n_must=50, n_cannot=50, random_state=seed)
        wrong = {*right.must[:5], *right.cannot[:5]}
        must = [*right.cannot[:5], *right.must[5:]]
        suspects = suspect_pairs(X, Pairs(must, [*right.must[:5], *right.cannot[5:]]))
        is_wrong = [(one.a, one.b) in wrong for one in suspects]
        found.append(roc_auc_score(is_wrong, [one.suspicion for one in suspects]))
    assert np.mean(found) > 0.85


def test_scale_and_offset_of_features_and_constants_do_not_matter():
    moved = X * np.logspace(-3, 3, X.shape[1]) + 7
    wide = np.column_stack([moved, np.ones(len(X))])
    for one, other in zip(suspect_pairs(X, PAIRS), suspect_pairs(wide, PAIRS), strict=True):
        assert one[:3] == other[:3]
        np.testing.assert_allclose(one.suspicion, other.suspicion, rtol=1e-8)


def test_blocks_of_features_do_not_matter(shrink):
    wide = np.tile(X, 5)
    before = suspect_pairs(wide, PAIRS)
    shrink()
    for one, other in zip(before, suspect_pairs(wide, PAIRS), strict=True):
        np.testing.assert_allclose(one.suspicion, other.suspicion, rtol=1e-10)


def test_ids():
    ids = [f"w{i}" for i in range(len(X))]
    pairs = Pairs(*([(ids[a], ids[b]) for a, b in kind] for kind in (PAIRS.must, PAIRS.cannot)))
    plain = suspect_pairs(X, PAIRS)
    for found in (suspect_pairs(X, pairs, iter(ids)), suspect_pairs(pd.DataFrame(X, ids), pairs)):
        assert [one.a for one in found] == [f"w{one.a}" for one in plain]


def test_contradicting_pairs_are_taken():
    pairs = Pairs(must=[(0, 1), (1, 2), (0, 70)], cannot=[(0, 2), (0, 70), (5, 100)])
    found = suspect_pairs(X, pairs)
    assert len(found) == 6
    of_pair = {one.link: one.suspicion for one in found if one[:2] == (0, 70)}
    assert of_pair["must"] > of_pair["cannot"]


@pytest.mark.parametrize(
    ("pairs", "missing"),
    [
        (Pairs(must=[(0, 1)]), "no cannot-link"),
        (Pairs(must=[(0, 1), (1, 2), (2, 3)]), "no cannot-link"),
        (Pairs(cannot=[(0, 70), (1, 71)]), "no must-link"),
        (Pairs(), "no must-link"),
    ],
)
def test_one_kind_is_too_little(pairs, missing):
    with pytest.raises(ValueError, match=missing):
        suspect_pairs(X, pairs)


def test_one_pair_of_each_kind():
    """Without another pair of its kind, the expectation for two random samples is used."""
    found = suspect_pairs(X, Pairs(must=[(0, 1)], cannot=[(0, 170)]))
    assert all(abs(one.suspicion) < 20 for one in found)
    flipped = suspect_pairs(X, Pairs(must=[(0, 170)], cannot=[(0, 1)]))
    assert min(one.suspicion for one in flipped) > max(one.suspicion for one in found)


def test_identical_samples():
    samples = np.repeat([[0.0, 1.0], [1.0, 3.0], [4.0, 2.0]], 4, axis=0)
    pairs = Pairs(must=[(0, 1), (4, 5), (8, 9)], cannot=[(0, 4), (5, 9), (2, 3)])
    found = suspect_pairs(samples, pairs)
    assert np.isfinite([one.suspicion for one in found]).all()
    assert found[0][:3] == (2, 3, "cannot")
    with pytest.raises(ValueError, match="constant"):
        suspect_pairs(np.ones((12, 2)), pairs)


def test_pairs_of_absent_samples():
    ids = range(100, 100 + len(X))
    pairs = Pairs(must=[(100, 101), (7, 100)], cannot=[(100, 170), (101, 180)])
    assert len(suspect_pairs(X, pairs, ids)) == 3
    with pytest.raises(ValueError, match="No pair has both of its samples in X"):
        suspect_pairs(X, Pairs(must=[(7, 8)]), ids)
    with pytest.raises(ValueError, match="contains row 999"):
        suspect_pairs(X, Pairs(must=[(0, 999)]))
    with pytest.raises(ValueError, match="NaN"):
        suspect_pairs(np.where(X > 1000, np.nan, X), PAIRS)


def test_ten_thousand_pairs():
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 400)
    pairs = Pairs.from_labels(labels, n_must=5000, n_cannot=5000, random_state=0)
    samples = random.normal(size=(400, 50))
    samples[:, :5] += 2 * labels[:, None]
    found = suspect_pairs(samples, pairs)
    assert len(found) == 10_000
    assert np.isfinite([one.suspicion for one in found]).all()
