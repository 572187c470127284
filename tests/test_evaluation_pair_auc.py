"""Held-out pairs as a measure of a ranking."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold

import linkselect as ls
from linkselect.evaluation import PairKFold, pair_auc, pair_auc_curve, pair_scorer


@given(st.integers(0, 200))
def test_the_share_of_comparisons_that_a_cannot_link_wins(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (12, 2)).astype(float)
    pairs = ls.Pairs.from_labels(rng.permutation(np.arange(12) % 3), random_state=seed)

    def distance(pair):
        return np.sum((X[pair[0]] - X[pair[1]]) ** 2)

    wins = [
        (distance(c) > distance(m)) + (distance(c) == distance(m)) / 2
        for m in pairs.must
        for c in pairs.cannot
    ]
    found = pair_auc(X, pairs)
    assert found.auc == pytest.approx(np.mean(wins))
    assert found.chance == 0.5
    assert 0 < found.standard_error < 0.5
    assert pair_auc(sparse.csr_array(X), pairs) == pytest.approx(found)


def test_the_standard_error_is_that_of_repeated_draws():
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(400):
        # 15 must-links and 20 cannot-links whose distances differ by about one deviation.
        apart = np.concatenate([rng.normal(size=15) + 5, rng.normal(size=20) + 6])
        X = np.zeros((70, 1))
        X[35:, 0] = apart
        pairs = ls.Pairs([(i, 35 + i) for i in range(15)], [(i, 35 + i) for i in range(15, 35)])
        found = pair_auc(X, pairs)
        values.append(found.auc)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


def test_ids_and_frames():
    X = pd.DataFrame({"f": [0.0, 0.2, 1.0, 1.1]}, index=list("abcd"))
    pairs = ls.Pairs(must=[("a", "b")], cannot=[("a", "c")])
    assert pair_auc(X, pairs).auc == 1.0
    assert pair_auc(X.to_numpy(), pairs, sample_ids="abcd").auc == 1.0
    with pytest.raises(ValueError, match="names row 'a'"):
        pair_auc(X.to_numpy(), pairs)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_both_kinds_are_needed(kind):
    with pytest.raises(ValueError, match="There is no (must|cannot)-link"):
        pair_auc(np.zeros((4, 1)), ls.Pairs(**{kind: [(0, 1)]}))


def informative(seed, n_features=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, n_features))
    X[:, :3] += 2.5 * y[:, None]
    return X, ls.Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=seed)


def test_a_curve_tells_a_good_ranking_from_chance():
    X, pairs = informative(0)
    curve = pair_auc_curve(ls.ConstraintScore(), X, pairs, [1, 3, 10])
    assert_array_equal(curve.n_features, [1, 3, 10])
    assert curve.values.shape == (5, 3)
    assert (curve.mean > 0.8).all()
    assert (curve.standard_error < 0.12).all()
    assert curve.average.auc - 2 * curve.average.standard_error > curve.chance
    noise = np.random.default_rng(1).normal(size=X.shape)
    by_chance = pair_auc_curve(ls.ConstraintScore(), noise, pairs, [1, 3, 10]).average
    assert abs(by_chance.auc - 0.5) < 3 * by_chance.standard_error


def test_a_curve_is_made_of_fits_without_the_held_out_pairs():
    X, pairs = informative(2)
    folds = PairKFold(3, random_state=1)
    curve = pair_auc_curve(ls.LSDF(), X, pairs, [2, 5], cv=folds)
    for row, (train, test) in zip(curve.values, folds.split(pairs), strict=True):
        order = ls.LSDF().fit(X, pairs=train).order_
        expected = [pair_auc(X[:, order[:count]], test).auc for count in (2, 5)]
        assert_allclose(row, expected)
    assert curve.all_features == pytest.approx(
        np.mean([pair_auc(X, test).auc for _, test in folds.split(pairs)])
    )


def test_repeats_do_not_promise_more_than_the_pairs_hold():
    X, pairs = informative(3)
    once = pair_auc_curve(ls.ConstraintScore(), X, pairs, [3], cv=PairKFold(5, random_state=0))
    often = PairKFold(5, n_repeats=4, random_state=0)
    repeated = pair_auc_curve(ls.ConstraintScore(), X, pairs, [3], cv=often)
    assert repeated.values.shape == (20, 1)
    assert repeated.standard_error == pytest.approx(once.standard_error, rel=0.3)


def test_a_search_over_parameters_by_held_out_pairs():
    X, pairs = informative(4)
    frame = pd.DataFrame(X, index=[f"s{row}" for row in range(len(X))])
    named = ls.Pairs(
        [(f"s{a}", f"s{b}") for a, b in pairs.must], [(f"s{a}", f"s{b}") for a, b in pairs.cannot]
    )
    search = GridSearchCV(
        ls.VarianceScore(),
        {"n_features_to_select": [3, 30]},
        scoring=pair_scorer(named),
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(frame)
    assert search.best_params_ == {"n_features_to_select": 3}
    with pytest.raises(ValueError, match="X has no ids"):
        pair_scorer(named)(search.best_estimator_, X)
