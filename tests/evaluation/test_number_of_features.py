"""The choice of the number of features."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from linkselect import (
    FCBF,
    ConstraintScore,
    FisherScore,
    LinkSelector,
    NearestNeighborSFS,
    Pairs,
    SimilarityConstraintScore,
    VarianceScore,
)
from linkselect.evaluation import choose_number, nearest_neighbor_curve, validate
from linkselect.evaluation._curves import Curve
from linkselect.evaluation._fold_rankings import rank_each
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.evaluation._number_of_features import (
    _counts,
    _smallest_near_best,
    largest_number,
)


def informative(n_samples=80, n_features=400, n_informative=15, shift=1.5):
    """Draw two classes whose means differ in the first features."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, n_features))
    X[:, :n_informative] += shift * y[:, None]
    return X, y


def test_labels_choose_few_of_many_features():
    X, y = informative()
    found = choose_number(FisherScore().fit(X, y), X, y)
    assert found.rule == "held-out accuracy"
    assert 5 <= found.n_features <= 50
    assert found.curve.values.shape == (15, len(found.curve.n_features)), (
        "three repeats of five folds"
    )
    assert found.curve.n_features[-1] == largest_number(400) == 200


def test_the_curve_by_hand():
    X, y = informative(n_samples=40, n_features=60)
    found = choose_number(FisherScore().fit(X, y), X, y)
    expected = []
    for repeat in range(3):
        folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
        for train, test in folds.split(X, y):
            order = FisherScore().fit(X[train], y[train]).order_
            parts = (X[train], y[train], X[test], y[test], order)
            expected.append(nearest_neighbor_curve(*parts, found.curve.n_features))
    np.testing.assert_allclose(found.curve.values, expected)


def curve(means):
    return Curve(np.array([1, 2, 3, 5, 7, 10, 15, 20])[: len(means)], np.array([means]))


@pytest.mark.parametrize(
    ("means", "number"),
    [
        ([0.9, 0.9, 0.9, 0.5, 0.6, 0.89, 0.9, 0.9], 10),  # within one point, and at least five
        ([0.1, 0.1, 0.1, 0.885, 0.6, 0.5, 0.9, 0.5], 15),
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], 5),
        ([0.9, 0.8], 2),  # there are four features
    ],
)
def test_the_smallest_within_a_point_of_the_best(means, number):
    assert _smallest_near_best(curve(means)) == number


def test_storage_does_not_matter():
    X, y = informative(n_samples=40, n_features=60)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = choose_number(FisherScore().fit(X, y), X, y)
    sparse = choose_number(FisherScore().fit(csr_array(X), y), csr_array(X), y)
    assert dense.n_features == sparse.n_features
    np.testing.assert_allclose(dense.curve.values, sparse.curve.values)


def test_some_labels_count_if_they_are_enough():
    X, y = informative()
    few, many = y.copy(), y.copy()
    few[20:], many[40:] = -1, -1
    selector = ConstraintScore()
    assert choose_number(selector.fit(X, many), X, many).rule == "held-out accuracy"
    found = choose_number(selector.fit(X, few), X, few)
    assert (found.rule, found.n_features, found.curve) == ("half, at most 300", 200, None)
    assert "needs 30 labels, but y has 20 labels" in found.reason


def test_pairs_give_a_plain_number_and_a_curve():
    X, y = informative(n_features=1000)
    pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    found = choose_number(ConstraintScore().fit(X, pairs=pairs), X, pairs=pairs)
    assert (found.rule, found.n_features, found.measure) == ("half, at most 300", 300, "pair AUC")
    at_ten = validate(ConstraintScore(10), X, pairs=pairs).estimate.value
    np.testing.assert_allclose(found.curve.mean[found.curve.n_features == 10], at_ten)


def test_without_anything_it_is_half_at_most_300():
    X, _ = informative(n_features=1000)
    found = choose_number(VarianceScore().fit(X), X)
    assert (found.n_features, found.curve) == (300, None)
    assert choose_number(VarianceScore().fit(X[:, :7]), X[:, :7]).n_features == 3


def test_an_own_optimum_wins_if_it_is_sane():
    X, y = informative(n_samples=60, n_features=40, n_informative=6)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    similar = SimilarityConstraintScore().fit(X, y)
    found = choose_number(similar, X, y)
    assert (found.rule, found.n_features) == ("own optimum", similar.path_.argmin() + 1)
    fcbf = FCBF().fit(X, y)
    assert choose_number(fcbf, X, y).n_features == fcbf.n_features_
    fcbf.n_features_ = 1
    found = choose_number(fcbf, X, y)
    assert found.rule == "held-out accuracy"
    assert found.reason.endswith(
        "own optimum, 1 of 40 features, is not used, because the number must be at least 2, at "
        "most 500 and less than the total."
    )


def test_the_number_of_a_link_selector_stands():
    X, y = informative(n_samples=60, n_features=40, n_informative=6)
    few = LinkSelector().fit(X, y)
    few.n_features_ = 1
    found = choose_number(few, X, y)
    assert (found.n_features, found.rule) == (1, "own optimum")
    assert found.reason == (
        "The fewest features that together explain 90 % of what all explain, at most 300."
    )
    noise = np.random.default_rng(0).normal(size=(50, 3))
    assert choose_number(LinkSelector().fit(noise), noise).n_features == 3
    typed = choose_number(LinkSelector(7).fit(X, y), X, y)
    assert typed.rule == "held-out accuracy"
    with pytest.warns(match="constant"):
        constant = LinkSelector().fit(np.ones((40, 6)))
    assert choose_number(constant, np.ones((40, 6))).rule == "half, at most 300"


def test_features_that_share_the_worst_score_are_not_kept():
    X, _ = informative(n_features=100)
    selector = VarianceScore().fit(X)
    selector.scores_ = np.where(selector.ranking_ <= 8, selector.scores_, 0.0)
    found = choose_number(selector, X)
    assert found.n_features == 8
    assert found.reason.endswith("Limited to 8: all others share the worst score, 0.")
    selector.scores_ = np.where(selector.ranking_ <= 1, selector.scores_, 0.0)
    assert choose_number(selector, X).n_features == 50, "one feature leaves no choice"
    selector.scores_ = np.arange(100.0)[selector.ranking_ - 1] * -1
    assert choose_number(selector, X).n_features == 50


def test_one_more_hit_does_not_make_an_optimum():
    X, y = informative(n_samples=50, n_features=12, n_informative=3)
    selector = NearestNeighborSFS(6).fit(X, y)
    selector.path_ = np.array([0.8, 0.9, 0.94, 0.94, 0.94, 0.96])
    assert choose_number(selector, X, y).n_features == 3


def test_folds_are_not_ranked_again_by_validate():
    X, y = informative(n_samples=40, n_features=60)
    selector = FisherScore(7).fit(X, y)
    found = choose_number(selector, X, y)
    with_them = validate(selector, X, y, rankings=found.rankings)
    without = validate(selector, X, y)
    # The estimate is the mean over all repeats, each with its own number; the rest is the same.
    assert with_them.selected_again == without.selected_again
    assert with_them.estimate.n_folds == without.estimate.n_folds
    assert with_them.estimate.value == found.rankings.mean(7)


def test_a_selector_that_is_not_fitted():
    X, y = informative(n_samples=40, n_features=60)
    with pytest.raises(NotFittedError):
        choose_number(FisherScore(), X, y)


class _SomeTied(VarianceScore):
    """Gives all but the best six features the score 0, and ranks these by column."""

    def _score(self, X, known):
        scores = super()._score(X, known)
        return np.where(scores >= np.sort(scores)[-6], scores, 0.0)


def test_the_accuracy_is_that_of_the_features_a_score_tells_apart():
    X, y = informative(n_samples=80, n_features=60, n_informative=30)
    X[:, 30:36] *= 100  # these are uninformative, and all others have the score 0
    found = choose_number(_SomeTied().fit(X, y), X, y)
    assert found.curve.n_features.tolist() == [1, 2, 3, 5, 6]
    assert found.n_features <= 6
    assert all(len(order) == 6 for order in found.rankings.orders)
    assert f"reached an accuracy of {found.rankings.mean(found.n_features):.1%}" in found.reason
    # All further features are ranked by column, which a permutation changes.
    columns = np.random.default_rng(0).permutation(60)
    other = choose_number(_SomeTied().fit(X[:, columns], y), X[:, columns], y)
    np.testing.assert_allclose(other.curve.mean, found.curve.mean)


def test_each_fold_chooses_its_number_without_the_rows_it_holds_out():
    X, y = informative(n_samples=80, n_features=60)
    selector = FisherScore().fit(X, y)
    found = choose_number(selector, X, y)
    selector.set_params(n_features_to_select=found.n_features).fit(X, y)
    estimate = validate(selector, X, y, rankings=found.rankings).estimate
    rankings = found.rankings
    assert len(rankings.orders) == len(rankings.numbers) == 3 * estimate.n_folds
    values = [
        rankings.held_out.value(order[:number], fold)
        for order, number, fold in zip(
            rankings.orders, rankings.numbers, rankings.held_out.folds, strict=True
        )
    ]
    assert estimate.value == pytest.approx(np.mean(values))
    # Other labels of held-out samples change neither the ranking nor the number.
    fold = rankings.held_out.folds[0]
    other = y.copy()
    other[fold.test] = 1 - other[fold.test]
    rows = np.setdiff1d(np.arange(80), fold.test)
    inside = LabelFolds(X[rows], other[rows], 3, 0)
    curve = rank_each(inside, FisherScore(30)).curve(_counts(60))
    assert _smallest_near_best(curve) == rankings.numbers[0]
    assert "from 5 features upwards" in found.reason


def test_accuracy_at_a_chosen_number_is_that_of_noise_on_noise():
    """The best of many numbers is up to 7 points too optimistic; the reported one is not."""
    best, reported = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 200)), np.arange(40) % 2
        found = choose_number(FisherScore().fit(X, y), X, y)
        best.append(found.curve.mean.max())
        reported.append(found.rankings.mean(found.n_features))
    assert np.mean(best) > 0.55
    assert abs(np.mean(reported) - 0.5) < 0.05
