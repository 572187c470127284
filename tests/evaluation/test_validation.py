"""Validation of a ranking."""

import json
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.preprocessing import MinMaxScaler

from linkselect import (
    LSDF,
    SCGS,
    CompensatedLaplacianScore,
    ConsensusSelector,
    ConstraintScore,
    EnsembleCLS,
    FisherScore,
    LaplacianScore,
    LinkSelector,
    NearestNeighborSFS,
    Pairs,
    Redundancy,
    SimilarityConstraintScore,
    StableSelector,
    VarianceScore,
)
from linkselect.evaluation import PairKFold, choose_number, pair_auc, pair_auc_curve, validate
from linkselect.evaluation._effort import plan_fits
from linkselect.evaluation._frequencies import correlated_twins
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.evaluation._held_out_pairs import PairFolds
from linkselect.evaluation._inputs import check_matrix, in_order_of_rows
from linkselect.evaluation._pair_folds import read_units
from linkselect.evaluation._permutation import Arrangements
from linkselect.selectors._foreign import ranked_with
from tests.helpers.spectra import draw_spectra, n_inside


def wine():
    X, y = load_wine(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


def wine_pairs():
    X, y = wine()
    return X, Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)


def informative(seed):
    """Draw two classes whose means differ by 2 standard deviations in 10 of 50 features."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 50))
    X[:, :10] += 2 * y[:, None]
    pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=seed)
    return MinMaxScaler().fit_transform(X), pairs


@pytest.fixture
def set_resamples(monkeypatch):
    return lambda n: monkeypatch.setattr("linkselect.evaluation._effort.MOST_RESAMPLES", n)


@pytest.fixture
def estimate_alone(set_resamples):
    """Skip the resamples."""
    set_resamples(1)


# -- held-out pairs ----------------------------------------------------------------------------


def test_held_out_pairs_by_hand():
    X, pairs = wine_pairs()
    found = validate(ConstraintScore(4), X, pairs=pairs).estimate
    expected, every, counts = [], [], []
    in_order = in_order_of_rows(pairs, len(X))
    for train, test in PairKFold(2, n_repeats=2, random_state=0).split(in_order):
        best = ConstraintScore(4).fit(X, pairs=train).order_[:4]
        expected.append(pair_auc(X[:, best], test).auc)
        every.append(pair_auc(X, test).auc)
        counts.append(read_units(test).independent)
    assert (found.measure, found.contrast) == ("pair AUC", "cannot-links")
    assert (found.n_folds, found.n_repeats) == (2, 2)
    np.testing.assert_allclose(found.value, np.mean(expected))
    np.testing.assert_allclose(found.all_features, np.mean(every))
    m, n = np.sum(counts, axis=0) // 2
    assert found.standard_error == pytest.approx(np.sqrt(1.5 * (m + n + 1) / (12 * m * n)))
    curve = pair_auc_curve(
        ConstraintScore(4), X, pairs, [4], cv=PairKFold(2, n_repeats=2, random_state=0)
    )
    np.testing.assert_allclose(found.value, curve.mean[0])
    assert curve.standard_error[0] == found.standard_error


@pytest.mark.parametrize("store", [np.asarray, csr_array, pd.DataFrame])
def test_storage_does_not_matter(store):
    X, pairs = wine_pairs()
    expected = validate(ConstraintScore(4), X, pairs=pairs)
    found = validate(ConstraintScore(4), store(X), pairs=pairs)
    assert (found.selected, found.selected_again) == (expected.selected, expected.selected_again)
    np.testing.assert_allclose(found.estimate.value, expected.estimate.value)


def test_ids_are_as_good_as_row_numbers():
    X, y = wine()
    ids = [f"s{row}" for row in range(len(X))]
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, sample_ids=ids, random_state=0)
    expected = validate(ConstraintScore(4), X, pairs=wine_pairs()[1])
    assert validate(ConstraintScore(4), X, pairs=pairs, sample_ids=iter(ids)) == expected


def test_few_pairs_are_a_sentence_and_no_error():
    X, _ = wine_pairs()
    found = validate(ConstraintScore(4), X, pairs=Pairs(must=[(0, 1)], cannot=[(0, 100)]))
    assert found.estimate is None
    assert found.better_than_chance is found.better_than_random is None
    assert found.reason.startswith("Cannot validate: at least 5 independent must-links")
    # Every resample would contain the only must-link and the only cannot-link.
    assert (found.selected_again, found.n_resamples) == ((), 0)
    # A method that does not use pairs is resampled nevertheless.
    assert len(validate(LaplacianScore(4), X, pairs=Pairs(must=[(0, 1)])).selected_again) == 4


def test_stability_is_measured_from_one_kind_of_pairs():
    X, y = wine()
    must = Pairs.from_labels(y, n_must=12, n_cannot=0, random_state=0)
    found = validate(SCGS(4), X, pairs=must)
    assert len(found.selected_again) == 4
    assert found.estimate.contrast == "random pairs"
    assert found.estimate.n_held_out <= 12
    cannot = Pairs.from_labels(y, n_must=0, n_cannot=12, random_state=0)
    found = validate(CompensatedLaplacianScore(4), X, pairs=cannot)
    assert found.reason == "Cannot validate: there are no must-links."
    assert len(found.selected_again) == 4


def test_must_links_alone_by_hand():
    X, y = wine()
    rows = np.random.default_rng(0).permutation(len(X))[:60]
    must = disjoint_must(y, rows)
    found = validate(VarianceScore(4), X, pairs=must).estimate
    best = VarianceScore(4).fit(X).order_[:4]
    values = []
    for _, test in PairKFold(2, n_repeats=2, random_state=0).split(in_order_of_rows(must, len(X))):
        unit = {row: place for place, pair in enumerate(test.must) for row in pair}
        contrast = [(a, b) for a, b in combinations(sorted(unit), 2) if unit[a] != unit[b]]
        values.append(pair_auc(X[:, best], Pairs(test.must, contrast)).auc)
    assert found.value == pytest.approx(np.mean(values))


def disjoint_must(y, rows):
    left, must = list(rows), []
    while left:
        one = left.pop()
        other = next((row for row in left if y[row] == y[one]), None)
        if other is not None:
            left.remove(other)
            must.append((int(one), int(other)))
    return Pairs(must)


# -- better than chance? -----------------------------------------------------------------------


def noise(seed, rare=None, n_samples=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 100))
    y = np.arange(n_samples) % 2 if rare is None else (np.arange(n_samples) < rare).astype(int)
    return X, Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=seed)


def test_pairs_that_share_samples_do_not_sell_noise(estimate_alone):
    """With three rare samples, both sides had common samples: AUC 0.85, "better"."""
    X, pairs = noise(0, rare=3)
    found = validate(ConstraintScore(), X, pairs=pairs)
    assert found.better_than_chance is None
    assert "5 independent cannot-links" in found.reason


@pytest.mark.parametrize("rare", [None, 10])
def test_noise_is_not_better_than_chance(rare, estimate_alone):
    problems = [noise(seed, rare) for seed in range(20)]
    called = [
        validate(ConstraintScore(20), X, pairs=pairs).better_than_chance for X, pairs in problems
    ]
    # At most 2.5 % are expected: three or more of 20 occur in one of 70 runs of this test.
    assert called.count(True) <= 2
    assert called.count(False) >= 15


def test_p_values_are_those_of_permuted_rows(estimate_alone):
    X, pairs = noise(1)
    found = validate(ConstraintScore(20), X, pairs=pairs)
    in_order = in_order_of_rows(pairs, len(X))
    folds = list(PairKFold(2, n_repeats=2, random_state=0).split(in_order))
    ways, rng = Arrangements.of(len(X)), np.random.RandomState(0)

    def statistic(X):
        orders = [ConstraintScore().fit(X, pairs=train).order_[:20] for train, _ in folds]
        return np.mean(
            [pair_auc(X[:, o], test).auc for o, (_, test) in zip(orders, folds, strict=True)]
        )

    null = [statistic(X[ways.draw(rng)]) for _ in range(39)]
    assert found.p_value == (1 + np.sum(null >= statistic(X))) / 40
    assert found.estimate.chance == pytest.approx(np.mean(null))


def test_a_slow_method_is_tested_on_held_out_samples_alone(estimate_alone):
    X, pairs = informative(0)
    X, pairs = np.tile(X, (3, 1)) + 0.1, pairs
    y = np.tile(np.arange(60) % 2, 3)
    pairs = Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=0)
    slow = ConsensusSelector(estimators=[("one", ConstraintScore())], n_features_to_select=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkselect.evaluation._effort.SECONDS", 1e-9)
        found = validate(slow, X, pairs=pairs)
        few = validate(slow, X, pairs=Pairs(pairs.must[:9], pairs.cannot[:9]))
    assert found.p_value == pytest.approx(0.002)
    assert found.better_than_chance
    assert few.better_than_chance is None
    assert "a permutation test without refitting the method requires more" in few.reason
    assert few.estimate is not None


def test_groups_are_exchanged_as_a_whole(estimate_alone):
    X, pairs = informative(3)
    X = np.repeat(X, 2, axis=0)
    named = Pairs(
        [(2 * a, 2 * b) for a, b in pairs.must], [(2 * a, 2 * b) for a, b in pairs.cannot]
    )
    groups = np.repeat(np.arange(60), 2)
    found = validate(ConstraintScore(10), X, pairs=named, groups=groups)
    assert found.better_than_chance
    inside = Pairs(must=[(2 * i, 2 * i + 1) for i in range(20)])
    found = validate(VarianceScore(10), X, pairs=inside, groups=groups)
    assert found.better_than_chance is None
    assert "every pair lies within a single group" in found.reason
    # Every sample is a batch of its own, so none can be permuted.
    found = validate(VarianceScore(10), X, pairs=named, batches=np.arange(120))
    assert found.better_than_chance is None
    assert "fewer than 40 distinct permutations" in found.reason


@pytest.mark.parametrize("name", ["groups", "batches"])
def test_every_row_needs_a_group(name):
    X, pairs = wine_pairs()
    with pytest.raises(ValueError, match=f"{name} has 2 values, but X has"):
        validate(ConstraintScore(4), X, pairs=pairs, **{name: [0, 1]})
    missing = [None, *range(1, len(X))]
    with pytest.raises(ValueError, match=f"{name} has 1 missing value"):
        validate(ConstraintScore(4), X, pairs=pairs, **{name: missing})


def test_only_random_pairs_validate_adaptive_ones(estimate_alone):
    X, pairs = informative(5)
    rng = np.random.default_rng(0)
    X = np.vstack([X, X + 0.01 * rng.normal(size=X.shape)])
    every = Pairs(pairs.must, pairs.cannot, adaptive=pairs.must + pairs.cannot)
    found = validate(ConstraintScore(10), X, pairs=every)
    assert found.reason == "Cannot validate: there are no randomly drawn must-links."
    random = Pairs(
        must=[(60 + 2 * i, 62 + 2 * i) for i in range(0, 12, 2)],
        cannot=[(60 + 2 * i, 61 + 2 * i) for i in range(13, 25)],
    )
    found = validate(ConstraintScore(10), X, pairs=every | random)
    assert (found.estimate.n_folds, found.estimate.n_held_out) == (1, 18)
    assert found.better_than_chance


# -- held-out labels ---------------------------------------------------------------------------


def test_labels_that_every_resample_would_hold():
    X, y = wine()
    one_each = np.full(len(y), -1)
    one_each[[0, 100]] = 0, 1
    found = validate(CompensatedLaplacianScore(4), X, one_each)
    assert "two labelled samples per class" in found.reason
    assert found.selected_again == ()


def test_contradicting_pairs_that_the_method_drops():
    X, pairs = wine_pairs()
    wrong = pairs | Pairs(cannot=[pairs.must[0]])
    found = validate(ConstraintScore(4, on_conflict="drop"), X, pairs=wrong)
    assert found.estimate == validate(ConstraintScore(4), X, pairs=pairs).estimate


def test_held_out_labels_beside_chance():
    X, y = wine()
    found = validate(FisherScore(4), X, y).estimate
    assert (found.measure, found.n_held_out, found.n_folds) == ("1-NN accuracy", 178, 5)
    assert found.chance == pytest.approx(np.mean((np.bincount(y) / len(y)) ** 2) * 3, abs=0.05)
    assert 0.85 < found.value < 1
    assert found.random_features < found.value
    assert found.all_features > 0.9
    assert found.contrast is None


def test_a_random_ranking_is_not_better_than_random_features(estimate_alone):
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    claimed = 0
    for _ in range(10):
        rows = rng.choice(len(y), 150, replace=False)
        scores = rng.random(30)
        ranking = SelectKBest(partial(lambda X, y, scores: scores, scores=scores), k=3)
        claimed += bool(validate(ranked_with(ranking, 3), X[rows], y[rows]).better_than_random)
    assert claimed <= 1


def test_a_number_chosen_on_folds_that_split_groups_is_refused():
    X, y = wine()
    groups = np.arange(len(y)) // 2
    selector = FisherScore().fit(X, y)
    number = choose_number(selector, X, y)
    with pytest.raises(ValueError, match="Pass the same groups to choose_number"):
        validate(selector, X, y, groups=groups, rankings=number.rankings)
    number = choose_number(selector, X, y, groups=groups)
    for fold in number.rankings.held_out.folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
    assert validate(selector, X, y, groups=groups, rankings=number.rankings).estimate.value > 0.8


def test_no_claim_if_no_label_can_move(estimate_alone):
    X, y = wine()
    found = validate(FisherScore(4), X, y, batches=y)
    assert (found.better_than_chance, found.p_value) == (None, None)
    assert found.reason.startswith(
        "Cannot test against chance. Every batch contains only one class"
    )
    assert found.estimate.value > 0.8


def test_pairs_inside_groups_cannot_be_held_out(estimate_alone):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    found = validate(ConstraintScore(4), X, pairs=pairs, groups=np.zeros(len(y)))
    assert found.reason.startswith("Cannot validate: every pair lies within a single group")


def halves_twice(X):
    """Store every entry as two halves, which sparse matrices add up."""
    n_rows, n_columns = X.shape
    columns = np.repeat(np.tile(np.arange(n_columns), n_rows), 2)
    starts = np.arange(0, 2 * X.size + 1, 2 * n_columns)
    return csr_array((np.repeat(X.ravel() / 2, 2), columns, starts), shape=X.shape)


@pytest.mark.parametrize("store", [np.asarray, csr_array, halves_twice])
def test_the_first_of_equally_near_rows_decides(store):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 4)), rng.integers(0, 3, 60)
    held_out, best = LabelFolds(check_matrix(store(X)), y, 3, seed=0), np.array([1, 3, 2])
    for fold in held_out.folds:
        train, test, _ = fold
        apart = np.square(X[test][:, None, best] - X[train][:, best]).sum(axis=2)
        expected = np.mean(y[train][apart.argmin(axis=1)] == y[test])
        assert held_out.value(best, fold) == expected
        assert held_out.curve(best, fold, np.array([3])) == expected


def test_some_labels_hold_out_labelled_rows_only():
    X, y = wine()
    y = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    found = validate(CompensatedLaplacianScore(4), X, y).estimate
    assert found.n_held_out == np.count_nonzero(y >= 0)


def test_rows_without_a_label_are_not_for_methods_that_need_one(estimate_alone):
    X, y = wine()
    labelled = np.arange(len(y)) % 3 > 0
    some = np.where(labelled, y.astype(object), None)
    fitted = FisherScore(4).fit(X[labelled], y[labelled])
    expected = validate(fitted, X[labelled], y[labelled]).estimate.value
    assert validate(fitted, X, some).estimate.value == expected


def test_of_many_rows_or_pairs_some_are_drawn_each_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2300, 2)), np.arange(2300) % 2
    held_out = LabelFolds(X, y, 3, seed=0)
    assert held_out.n_held_out == len(np.unique(held_out.named())) == 2000
    must = [(2 * i, 2 * i + 1) for i in range(1150)]
    held_out = PairFolds(X, Pairs(must), tuple(range(2300)), 1, seed=0)
    assert [len(np.unique(fold.test.must, axis=0)) for fold in held_out.folds] == [500, 500]


def test_shuffled_labels_are_chance():
    X, y = wine()
    shuffled = np.random.default_rng(0).permutation(y)
    assert validate(FisherScore(4), X, shuffled).better_than_chance is False


@pytest.mark.parametrize("y", [np.arange(150), np.r_[0, 0, 1, np.full(147, -1)]])
def test_labels_that_cannot_be_held_out(y):
    X, _ = load_iris(return_X_y=True)
    found = validate(VarianceScore(2), X, y)
    assert found.estimate is None
    assert "two labelled samples per class" in found.reason


def test_pairs_come_first_unless_the_method_needs_labels():
    X, y = wine()
    pairs = wine_pairs()[1]
    for selector, measure in (
        (ConstraintScore(4), "pair AUC"),
        (LaplacianScore(4), "pair AUC"),
        (FisherScore(4), "1-NN accuracy"),
    ):
        assert validate(selector, X, y, pairs=pairs).estimate.measure == measure


def test_nothing_known_nothing_held_out():
    X, _ = wine()
    found = validate(LaplacianScore(4), X)
    assert (found.estimate, found.reason, found.better_than_chance) == (None, None, None)
    assert len(found.selected_again) == 4


def test_labels_are_permuted_with_their_folds(estimate_alone):
    X, y = wine()
    found = validate(FisherScore(4), X, y)
    assert found.p_value == 1 / 40
    assert found.better_than_chance
    assert found.better_than_random is (found.p_random <= 0.025)


def test_noise_with_a_rare_class_is_not_better_than_the_largest(estimate_alone):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), (np.arange(60) < 6).astype(int)
    found = validate(FisherScore(5), X, y)
    assert found.better_than_chance is False


# -- resamples, correlations, output -----------------------------------------------------------


def test_resamples_are_those_of_the_stable_selector():
    X, pairs = wine_pairs()
    found = validate(ConstraintScore(4), X, pairs=pairs)
    rng = np.random.RandomState(0)
    stable = StableSelector(ConstraintScore(4), n_resamples=50, random_state=rng)
    shares = stable.fit(X, pairs=in_order_of_rows(pairs, len(X))).selection_frequencies_
    assert found.n_resamples == 50
    np.testing.assert_allclose(found.selected_again, shares[list(found.selected)])


def test_equivalent_features_are_stable_together():
    """LinkSelector selects one of two copies, depending on the half; together they are stable."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 12))
    X[:, 0] += 4 * y
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=80)
    found = validate(LinkSelector(1), X, y)
    [own], [together] = found.selected_again, found.together
    assert own < 0.95 < together
    assert found.frequencies[0] + found.frequencies[1] == pytest.approx(together)
    assert len(found.frequencies) == len(found.frequency_errors) == 12


def test_groups_are_never_split_in_resamples(monkeypatch):
    X, y = wine()
    groups = np.arange(len(y)) // 3
    seen = []

    class Recording(FisherScore):
        def fit(self, X, *arguments, **more):
            seen.append({tuple(row) for row in X})
            return super().fit(X, *arguments, **more)

    validate(Recording(4), X, y, groups=groups, n_resamples=4)
    for half in seen[-4:]:
        inside = np.array([tuple(row) in half for row in X])
        for group in np.unique(groups):
            assert len(set(inside[groups == group])) == 1


def test_how_many_pairs_a_half_keeps_is_counted():
    X, pairs = wine_pairs()
    found = validate(ConstraintScore(4), X, pairs=pairs, n_resamples=20)
    must, cannot = found.pairs_left
    assert must == pytest.approx(pairs.n_must / 2, abs=1)
    assert 2 < cannot < pairs.n_cannot / 2
    assert found.n_resamples + found.n_unranked == 20
    assert validate(FisherScore(4), *wine(), n_resamples=3).pairs_left is None
    with pytest.raises(ValueError, match="n_resamples=-1"):
        validate(ConstraintScore(4), X, pairs=pairs, n_resamples=-1)


def test_a_fitted_selector_stays_as_it_is():
    X, pairs = wine_pairs()
    fitted = SimilarityConstraintScore(sigma=0.4).fit(X, pairs=pairs)
    order = fitted.order_.copy()
    found = validate(fitted, X, pairs=pairs)
    assert fitted.n_features_to_select == "auto"
    np.testing.assert_array_equal(fitted.order_, order)
    assert found.selected == tuple(order[: len(found.selected)])
    assert found == validate(SimilarityConstraintScore(sigma=0.4), X, pairs=pairs)


def test_twins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:, 3] = 1e8 - 2 * X[:, 0]
    X[:, 4] = X[:, 0] + 0.1 * rng.normal(size=50)
    X[:, 5] = 7.0
    expected = np.corrcoef(X[:, :5], rowvar=False)
    for given in (X, csr_array(X)):
        (first, none, constant), left_out = correlated_twins(given, np.array([0, 1, 5]))
        assert [twin.feature for twin in first] == [3, 4]
        np.testing.assert_allclose([t.correlation for t in first], expected[0, [3, 4]], atol=1e-6)
        assert none == constant == ()
        assert [(feature, twin.feature) for feature, twin in left_out] == [(3, 0), (4, 0)]


def test_twins_in_many_blocks_keep_the_best():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 40))[:, [0] * 40] + 0.01 * rng.normal(size=(40_000, 40))
    X[:, 37] = X[:, 5]
    [twins], left_out = correlated_twins(X, np.array([5]))
    assert len(left_out) == 39
    assert len(twins) == 3
    assert twins[0] == (37, pytest.approx(1.0))


def test_plain_values():
    X, pairs = wine_pairs()
    found = validate(ConstraintScore(4), X, pairs=pairs)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["estimate"]["chance"] == found.estimate.chance
    assert plain["p_value"] == found.p_value
    assert plain["selected"] == list(found.selected)


def test_progress_and_repetition():
    X, pairs = wine_pairs()
    steps = []

    def track(items):
        for item in items:
            steps.append(item)
            yield item

    found = validate(ConstraintScore(4), X, pairs=pairs, track=track)
    # Steps of folds, permutations and resamples.
    assert len(steps) == 2 + 10 + 7
    assert found == validate(ConstraintScore(4), X, pairs=pairs)
    assert found != validate(ConstraintScore(4), X, pairs=pairs, random_state=1)


def test_effort_follows_from_size_and_method():
    assert plan_fits(ConstraintScore(), 60, 300) == (5, 2, 50, 39)
    assert plan_fits(ConstraintScore(), 60, 300, 40, by_pairs=True) == (2, 2, 50, 39)
    assert plan_fits(SCGS(), 200, 5000) == (3, 1, 10, 0)
    # There are too few held-out groups to permute, so ranking again may take longer.
    permuted = [plan_fits(LSDF(), 200, 4000, grouped=one).n_permutations for one in (False, True)]
    assert permuted == [0, 39]
    assert plan_fits(ConsensusSelector(), 200, 5000, 40, by_pairs=True) == (2, 1, 10, 0)
    assert plan_fits(SimilarityConstraintScore(), 200, 5000, n_pairs=40).n_resamples == 50
    assert plan_fits(SimilarityConstraintScore(), 200, 5000) == (3, 1, 10, 0)
    assert plan_fits(NearestNeighborSFS(), 400, 400).n_resamples < 50
    assert plan_fits(StableSelector(SCGS()), 60, 300) == (3, 1, 10, 0)
    once, often = (plan_fits(LSDF(), 60, 300, fits_per_fold=n) for n in (1, 4))
    assert once.n_repeats >= often.n_repeats
    sizes = [plan_fits(ConstraintScore(), n, 1000) for n in (100, 1000, 10_000, 100_000)]
    assert sizes == sorted(sizes, reverse=True)


# -- sensitivity of the test -------------------------------------------------------------------


def test_the_spectra_are_what_they_should_be():
    draws = [draw_spectra(seed) for seed in range(20)]
    compensated, constraint = (
        np.median([n_inside(selector, *draw) for draw in draws])
        for selector in (CompensatedLaplacianScore(20), ConstraintScore(20))
    )
    assert compensated <= 1
    assert constraint >= 7


MISLED = [CompensatedLaplacianScore(20), ConsensusSelector(n_features_to_select=20)]


@pytest.mark.parametrize("selector", MISLED, ids=lambda selector: type(selector).__name__)
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_spectra_that_mislead_a_method_are_not_trusted(seed, selector, estimate_alone):
    X, pairs, inside = draw_spectra(seed)
    fewer = n_inside(selector, X, pairs, inside) < n_inside(ConstraintScore(20), X, pairs, inside)
    assert not fewer or validate(selector, X, pairs=pairs).better_than_chance is not True


@pytest.mark.parametrize("selector", [CompensatedLaplacianScore(), ConstraintScore()])
def test_informative_data_are_trusted(selector, estimate_alone):
    problems = map(informative, range(10))
    doubted = [not validate(selector, X, pairs=pairs).better_than_chance for X, pairs in problems]
    assert sum(doubted) <= 1


# -- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [ConstraintScore(4), LaplacianScore(4)])
def test_pairs_are_read_as_by_fit(selector):
    X, y = wine()
    for pairs, message in (
        (Pairs(must=[(0, 1)], cannot=[(0, 999)]), "contains row 999, but X has 178 rows"),
        (Pairs([(0, 1)], [(0, 100)], n_samples=150), "row numbers of 150 samples, but X has 178"),
    ):
        with pytest.raises(ValueError, match=message):
            validate(selector, X, pairs=pairs)
        with pytest.raises(ValueError, match=message):
            validate(clone(selector).fit(X, y), X, pairs=pairs)
    frame = pd.DataFrame(X, index=np.random.default_rng(0).permutation(len(X)))
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    with pytest.raises(ValueError, match="index of X contains other ids"):
        validate(selector, frame, pairs=pairs)
    by_row = validate(selector, frame, pairs=pairs, sample_ids=range(len(X)))
    assert by_row == validate(selector, X, pairs=pairs)
    # As in `fit`, a method that uses labels only ignores pairs.
    validate(FisherScore(4), X, y, pairs=Pairs(must=[(0, 999)]))


def test_the_order_in_which_pairs_are_listed_does_not_matter(estimate_alone):
    X, pairs = wine_pairs()
    turned = Pairs([(b, a) for a, b in pairs.must[::-1]], [(b, a) for a, b in pairs.cannot[::-1]])
    for selector in (ConstraintScore(4), ConsensusSelector(n_features_to_select=4)):
        assert validate(selector, X, pairs=pairs) == validate(selector, X, pairs=turned)


@pytest.mark.parametrize(
    "selector",
    [
        ConsensusSelector(n_features_to_select=4),
        ConsensusSelector(
            estimators=[("drawn", EnsembleCLS(n_estimators=3))], n_features_to_select=4
        ),
        StableSelector(Redundancy(EnsembleCLS(n_estimators=3)), 4, n_resamples=2),
    ],
    ids=["consensus", "member", "nested"],
)
def test_an_unset_random_state_is_seeded(selector, set_resamples):
    set_resamples(3)
    X, pairs = wine_pairs()
    assert validate(selector, X, pairs=pairs) == validate(selector, X, pairs=pairs)


def test_lists_of_lists():
    X, pairs = wine_pairs()
    expected = validate(ConstraintScore(4), X, pairs=pairs)
    assert validate(ConstraintScore(4), X.tolist(), pairs=pairs) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"selector": ConstraintScore(2).fit(wine()[0][:, :5], wine()[1])}, ValueError, "already"),
        ({"selector": ConstraintScore}, TypeError, "is not a selector"),
        ({"selector": VarianceThreshold()}, ValueError, "has no order_"),
        ({"pairs": None, "y": [0, 1]}, ValueError, "inconsistent"),
        ({"X": wine()[0][:, 0]}, ValueError, "Expected 2D"),
        ({"X": np.where(wine()[0] > 0.99, np.nan, wine()[0])}, ValueError, "NaN"),
    ],
)
def test_mistakes_are_answered(arguments, error, message):
    X, pairs = wine_pairs()
    with pytest.raises(error, match=message):
        validate(**{"selector": ConstraintScore(4), "X": X, "pairs": pairs} | arguments)


def test_a_selector_fitted_on_other_columns_is_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = FisherScore(2).fit(X, y)
    with pytest.raises(ValueError, match="fitted to 4 features, but X has other features"):
        validate(fitted, X.rename(columns=str.upper), y)


def test_what_fit_has_warned_of_is_not_said_again(recwarn):
    X, pairs = wine_pairs()
    fitted = ConstraintScore(4).fit(X, pairs=pairs)
    ids = [row if row in pairs.ids[:20] else f"other {row}" for row in range(len(X))]
    validate(fitted, X, pairs=pairs, sample_ids=ids)
    assert not recwarn.list
