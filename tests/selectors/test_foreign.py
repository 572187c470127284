"""Rankings by selectors of scikit-learn, as used by `compare` and the command line."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from linkselect import FisherScore, compare
from linkselect.selectors._foreign import Ranked, ranked_with
from linkselect.selectors._method import describe

MODEL = LogisticRegression(max_iter=1000)
SELECTORS = [
    SelectKBest(),
    SelectPercentile(percentile=20),
    RFE(LinearSVC(random_state=0)),
    SelectFromModel(MODEL),
    SelectFromModel(RandomForestClassifier(10, random_state=0)),
    SequentialFeatureSelector(GaussianNB(), n_features_to_select=2, cv=2),
    VarianceThreshold(),
]


def names(selector):
    return repr(selector).split("(")[0]


@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_a_ranking_of_every_feature(selector, wine):
    X, y = wine
    found = Ranked(selector, 5).fit(X, y)
    assert sorted(found.order_) == list(range(X.shape[1]))
    assert (found.n_features_, found.support_.sum()) == (5, 5)
    assert not hasattr(selector, "n_features_in_")


def test_the_order_is_that_of_the_scores(wine):
    X, y = wine
    found = Ranked(SelectKBest(k=3)).fit(X, y)
    np.testing.assert_array_equal(found.order_, np.argsort(-f_classif(X, y)[0]))
    assert found.n_features_ == 3
    np.testing.assert_array_equal(found.get_support(), SelectKBest(k=3).fit(X, y).get_support())


def test_the_order_of_eliminated_features_is_kept(wine):
    X, y = wine
    model = LinearSVC(random_state=0)
    found = Ranked(RFE(model), 4).fit(X, y)
    plain = RFE(model, n_features_to_select=4).fit(X, y)
    np.testing.assert_array_equal(np.sort(plain.ranking_), plain.ranking_[found.order_])
    # The kept features, which tie in `ranking_`, are ordered by the last model.
    weights = np.abs(plain.estimator_.coef_).sum(axis=0)
    kept = np.flatnonzero(plain.support_)
    np.testing.assert_array_equal(found.order_[:4], kept[np.argsort(-weights)])


def test_coefficients_rank_what_a_model_keeps(wine):
    X, y = wine
    found = Ranked(SelectFromModel(MODEL), 2).fit(X, y)
    size = np.abs(MODEL.fit(X, y).coef_).sum(axis=0)
    np.testing.assert_allclose(found.scores_, size)
    np.testing.assert_array_equal(found.order_, np.argsort(-size))


def test_selectors_of_this_library_are_only_copied(wine):
    ours = FisherScore()
    assert isinstance(ranked_with(ours, 2), FisherScore)
    assert ranked_with(ours, 2).n_features_to_select == 2
    assert isinstance(ranked_with(SelectKBest(), 2), Ranked)
    assert describe(Ranked(SelectKBest())).sees == "labels"


def test_compare_accepts_selectors_of_both_libraries(wine):
    X, y = wine
    methods = {
        "fisher": FisherScore(),
        "k best": SelectKBest(),
        "rfe": RFE(LinearSVC(random_state=0)),
        "model": SelectFromModel(MODEL),
    }
    found = compare(methods, X, y, n_splits=3, n_features=[1, 3])
    # The F statistic and the Fisher Score give the same ranking.
    assert found.rankings["k best"] == found.rankings["fisher"]
    np.testing.assert_array_equal(found.accuracy["k best"].values, found.accuracy["fisher"].values)
    assert min(found.mean_accuracy.values()) > found.measures[0].by_chance


def test_unlabelled_rows_are_not_a_class_for_them(wine):
    X, y = wine
    some = y.copy()
    some[::2] = -1
    noise = X.copy()
    noise[some < 0] += 5  # separating these rows would dominate every score
    methods = {"k best": SelectKBest(), "model": SelectFromModel(MODEL), "fisher": FisherScore()}
    found = compare(methods, noise, some, n_splits=2, n_features=[2])
    labelled = some >= 0
    for name in ("k best", "model"):
        alone = ranked_with(methods[name], 2).fit(X[labelled], y[labelled])
        assert found.rankings[name] == tuple(alone.order_)


def test_objects_that_are_not_selectors_are_refused(wine):
    X, y = wine
    for wrong in (LinearSVC(), SelectKBest, "fisher"):
        with pytest.raises(TypeError, match="'mine' is .* not a selector.*Pass an instance such"):
            compare({"mine": wrong}, X, y)
