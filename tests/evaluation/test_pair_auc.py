"""The AUC of held-out pairs as a measure of a ranking."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.model_selection import GridSearchCV, KFold

import linkselect as ls
from linkselect.evaluation import PairKFold, pair_auc, pair_auc_curve, pair_scorer
from linkselect.evaluation._inputs import in_order_of_rows


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


def test_equal_distances_tie_in_any_units_and_order_of_features():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 6)), rng.integers(0, 3, 60)
    pairs = ls.Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    expected = pair_auc(X, pairs)
    assert pair_auc(X / 3, pairs) == pair_auc(X[:, ::-1] / 3, pairs) == expected


def test_the_standard_error_is_that_of_repeated_draws():
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(400):
        # 15 must-links and 20 cannot-links, with mean distances about one deviation apart.
        apart = np.concatenate([rng.normal(size=15) + 5, rng.normal(size=20) + 6])
        X = np.zeros((70, 1))
        X[35:, 0] = apart
        pairs = ls.Pairs([(i, 35 + i) for i in range(15)], [(i, 35 + i) for i in range(15, 35)])
        found = pair_auc(X, pairs)
        values.append(found.auc)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


def test_the_standard_error_by_hand():
    """Hanley & McNeil (1982), with one additional success and failure."""
    distances = [1.0, 3.0, 2.0, 4.0, 5.0]  # two must-links and three cannot-links
    X = np.zeros((10, 1))
    X[5:, 0] = distances
    pairs = ls.Pairs([(0, 5), (1, 6)], [(2, 7), (3, 8), (4, 9)])
    auc = (5 + 1) / (2 * 3 + 2)  # five successes in six comparisons
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (3 - 1) * (q1 - auc**2) + (2 - 1) * (q2 - auc**2)
    assert pair_auc(X, pairs).standard_error == pytest.approx(np.sqrt(variance / (2 * 3)))


def test_ids_and_frames():
    X = pd.DataFrame({"f": [0.0, 0.2, 1.0, 1.1]}, index=list("abcd"))
    pairs = ls.Pairs(must=[("a", "b")], cannot=[("a", "c")])
    assert pair_auc(X, pairs).auc == 1.0
    assert pair_auc(X.to_numpy(), pairs, sample_ids="abcd").auc == 1.0
    with pytest.raises(ValueError, match="contains row 'a'"):
        pair_auc(X.to_numpy(), pairs)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_both_kinds_are_needed(kind):
    with pytest.raises(ValueError, match="There are no (must|cannot)-links"):
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
    assert curve.values.shape == (8, 3)
    assert (curve.mean > 0.8).all()
    assert (curve.standard_error < 0.2).all()
    assert curve.average.auc - 2 * curve.average.standard_error > curve.chance
    noise = np.random.default_rng(1).normal(size=X.shape)
    by_chance = pair_auc_curve(ls.ConstraintScore(), noise, pairs, [1, 3, 10]).average
    assert abs(by_chance.auc - 0.5) < 3 * by_chance.standard_error


def test_a_curve_is_made_of_fits_without_the_held_out_pairs():
    X, pairs = informative(2)
    folds = PairKFold(2, random_state=1)
    curve = pair_auc_curve(ls.LSDF(), X, pairs, [2, 5], cv=folds)
    in_order = in_order_of_rows(pairs, len(X))
    for row, (train, test) in zip(curve.values, folds.split(in_order), strict=True):
        order = ls.LSDF().fit(X, pairs=train).order_
        expected = [pair_auc(X[:, order[:count]], test).auc for count in (2, 5)]
        assert_allclose(row, expected)
    assert curve.all_features == pytest.approx(
        np.mean([pair_auc(X, test).auc for _, test in folds.split(in_order)])
    )


def test_repeats_do_not_promise_more_than_the_pairs_hold():
    X, pairs = informative(3)
    once = pair_auc_curve(ls.ConstraintScore(), X, pairs, [3], cv=PairKFold(2, random_state=0))
    often = PairKFold(2, n_repeats=4, random_state=0)
    repeated = pair_auc_curve(ls.ConstraintScore(), X, pairs, [3], cv=often)
    assert repeated.values.shape == (8, 1)
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
    with pytest.raises(ValueError, match="X has no index"):
        pair_scorer(named)(search.best_estimator_, X)


# -- arguments ---------------------------------------------------------------------------------


BOTH = ls.Pairs(
    must=[(2 * i, 2 * i + 1) for i in range(5)], cannot=[(2 * i, 2 * i + 1) for i in range(5, 10)]
)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0], [np.nan], [1.0], [1.1], [2.0]], "contains NaN"),
        ([[0.0], [np.inf], [1.0], [1.1], [2.0]], "contains infinity"),
        ([[0.0], [1e200], *[[float(i)] for i in range(18)]], "squares overflow"),
        ([[0.0], [1e-200], [2e-200], [3e-200], [4e-200]], "underflow to 0"),
        (np.empty((5, 0)), "0 feature"),
        (np.arange(5.0), "Expected 2D array"),
        ([["a"], ["b"], ["c"], ["d"], ["e"]], "could not convert|Unable to convert|numeric"),
    ],
    ids=["nan", "infinity", "large", "tiny", "no columns", "one dimension", "text"],
)
@pytest.mark.parametrize("measure", [pair_auc, partial(pair_auc_curve, ls.VarianceScore())])
def test_samples_are_checked_as_by_a_selector(X, message, measure):
    with pytest.raises(ValueError, match=message):
        measure(X, BOTH)


def test_lists_and_narrow_integers():
    X, pairs = informative(5)
    whole = np.clip(20 * X, -100, 100).astype(np.int8)
    expected = pair_auc(whole.astype(float), pairs)
    assert pair_auc(whole.tolist(), pairs) == expected
    for stored in (whole, sparse.csr_array(whole), sparse.csc_array(whole)):
        assert pair_auc(stored, pairs) == expected
    curve = pair_auc_curve(ls.LSDF(), whole.tolist(), pairs, [2, 5])
    assert_array_equal(curve.values, pair_auc_curve(ls.LSDF(), whole, pairs, [2, 5]).values)


def shuffled_frame(seed):
    """Return samples with an integer index that differs from the row numbers."""
    X, pairs = informative(seed)
    index = np.random.default_rng(seed).permutation(len(X))
    return pd.DataFrame(X, index=index), pairs


def test_row_numbers_and_an_index_in_another_order_are_refused_as_by_fit():
    frame, pairs = shuffled_frame(6)
    with pytest.raises(ValueError, match="index of X contains other ids") as expected:
        ls.ConstraintScore().fit(frame, pairs=pairs)
    calls = [
        lambda: pair_auc(frame, pairs),
        lambda: pair_auc_curve(ls.ConstraintScore(), frame, pairs),
        lambda: pair_scorer(pairs)(ls.VarianceScore().fit(frame), frame),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="index of X contains other ids") as caught:
            call()
        assert str(caught.value) == str(expected.value)
    rows = range(len(frame))
    assert pair_auc(frame, pairs, rows) == pair_auc(frame.to_numpy(), pairs)
    curve = pair_auc_curve(ls.LSDF(), frame, pairs, [3], sample_ids=rows)
    assert_array_equal(curve.values, pair_auc_curve(ls.LSDF(), frame.to_numpy(), pairs, [3]).values)


def listed_otherwise(pairs, seed):
    """List the same pairs in another order, with their samples exchanged."""
    rng = np.random.default_rng(seed)

    def shuffle(links):
        turned = [link[::-1] if rng.random() < 0.5 else link for link in links]
        return [turned[place] for place in rng.permutation(len(turned))]

    return ls.Pairs(shuffle(pairs.must), shuffle(pairs.cannot))


def test_the_order_in_which_pairs_are_listed_does_not_matter():
    X, pairs = informative(7)
    one, two = (
        pair_auc_curve(ls.ConstraintScore(), X, listed_otherwise(pairs, seed), [1, 3])
        for seed in (0, 1)
    )
    assert_array_equal(one.values, two.values)
    assert pair_auc(X, listed_otherwise(pairs, 0)) == pair_auc(X, pairs)


@pytest.mark.parametrize(
    "selector",
    [
        ls.ConsensusSelector(),
        ls.ConsensusSelector(estimators=[("drawn", ls.EnsembleCLS(n_estimators=3))]),
        ls.Redundancy(ls.EnsembleCLS(n_estimators=3)),
    ],
    ids=["consensus", "member", "wrapped"],
)
def test_an_unset_random_state_is_seeded(selector):
    X, pairs = informative(8)
    one, two = (
        pair_auc_curve(selector, X, pairs, [2, 5], cv=PairKFold(2, random_state=0))
        for _ in range(2)
    )
    assert_array_equal(one.values, two.values)


def test_contradictions_are_left_out_as_the_selector_does():
    X, pairs = informative(9)
    wrong = pairs | ls.Pairs(cannot=[pairs.must[0]])
    with pytest.raises(ValueError, match=r"pass pairs.without_conflicts\(\)"):
        pair_auc_curve(ls.ConstraintScore(), X, wrong, [3])
    expected = pair_auc_curve(ls.ConstraintScore(), X, wrong.without_conflicts(), [3])
    dropping = ls.ConstraintScore(on_conflict="drop")
    for selector in (dropping, ls.ConsensusSelector(estimators=[("one", dropping)])):
        assert_array_equal(pair_auc_curve(selector, X, wrong, [3]).values, expected.values)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cv": 5}, TypeError, r"cv=5, .*PairKFold\(5, random_state=0\)"),
        ({"cv": KFold(3)}, TypeError, "PairKFold"),
        ({"selector": ls.LSDF}, TypeError, r"is not a selector. .*such as ConstraintScore\(\)"),
        ({"selector": "lsdf"}, TypeError, "'lsdf' is not a selector"),
        ({"selector": VarianceThreshold()}, ValueError, r"StableSelector\(VarianceThreshold"),
        ({"selector": SelectKBest()}, ValueError, "requires y"),
        ({"n_features": 3}, ValueError, r"\[5\] for one number"),
        ({"n_features": [2.5]}, ValueError, "whole numbers"),
        ({"pairs": [(0, 1)]}, TypeError, "must be a linkselect.Pairs"),
        ({"pairs": ls.Pairs(must=[(0, 999)])}, ValueError, "contains row 999"),
        (
            {"pairs": ls.Pairs([(0, 1)], n_samples=9)},
            ValueError,
            "row numbers of 9 samples, but X has 90",
        ),
    ],
)
def test_mistakes_are_answered(arguments, error, message):
    X, pairs = informative(0)
    with pytest.raises(error, match=message):
        pair_auc_curve(**{"selector": ls.LSDF(), "X": X, "pairs": pairs} | arguments)


def test_a_foreign_selector_is_measured_in_a_selector_that_ranks():
    X, pairs = informative(1)
    selector = ls.StableSelector(VarianceThreshold(1.0), n_resamples=4)
    assert pair_auc_curve(selector, X, pairs, [3]).mean[0] > 0.5


def test_a_scorer_can_be_pickled():
    X, pairs = informative(4)
    frame = pd.DataFrame(X)
    fitted = ls.VarianceScore(3).fit(frame)
    scorer = pair_scorer(pairs)
    again = pickle.loads(pickle.dumps(scorer))
    assert (
        again(fitted, frame) == scorer(fitted, frame) == pair_auc(X[:, fitted.support_], pairs).auc
    )
    assert repr(again).startswith("pair_scorer(Pairs(")
    with pytest.raises(TypeError, match=r"must be a linkselect\.Pairs"):
        pair_scorer([(0, 1)])
    with pytest.raises(ValueError, match="fewer, larger folds"):
        again(fitted, frame.iloc[:2])
