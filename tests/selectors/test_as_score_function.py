"""Scores of this library inside scikit-learn's own univariate selectors."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import GenericUnivariateSelect, SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import linkselect as ls
from linkselect import AsScoreFunction
from tests.helpers.estimators import (
    INFORMATION,
    PAIRWISE,
    SEARCHING,
    SUPERVISED,
    UNSUPERVISED,
    WRAPPERS,
)

EVERYTHING = [*UNSUPERVISED, *SUPERVISED, *PAIRWISE, *INFORMATION, *WRAPPERS]


SEARCHES_OF_ALL_KINDS = (*SEARCHING, ls.MRMR, ls.FCBF, ls.Redundancy)


PER_FEATURE = [each for each in EVERYTHING if not isinstance(each, SEARCHES_OF_ALL_KINDS)]


SUBSET = [each for each in EVERYTHING if isinstance(each, SEARCHES_OF_ALL_KINDS)]


every_score = pytest.mark.parametrize("selector", PER_FEATURE, ids=repr)


reconstructed = pytest.mark.filterwarnings("ignore:All .* are reconstructed exactly:UserWarning")


@pytest.mark.slow
@reconstructed
@every_score
@pytest.mark.parametrize("k", [1, 5, 12])
def test_the_same_features_as_the_selector(selector, k, wine):
    fitted = clone(selector).set_params(n_features_to_select=k).fit(*wine)
    kept = SelectKBest(AsScoreFunction(selector), k=k).fit(*wine).get_support()
    edge = np.sort(fitted.scores_[fitted.order_[k - 1 : k + 1]])
    if edge[0] == edge[1]:  # a tie for the last place: the kept feature may differ
        assert_array_equal(np.sort(fitted.scores_[kept]), np.sort(fitted.scores_[fitted.support_]))
    else:
        assert_array_equal(kept, fitted.support_)


@every_score
def test_larger_is_better(selector, wine):
    fitted = clone(selector).fit(*wine)
    values = AsScoreFunction(selector)(*wine)
    assert_allclose(values, fitted.scores_ if fitted.greater_is_better else -fitted.scores_)


def test_the_wrapped_selector_stays_unfitted(wine):
    selector = ls.FisherScore()
    SelectKBest(AsScoreFunction(selector), k=3).fit(*wine)
    assert not hasattr(selector, "scores_")


@every_score
def test_pickle_and_clone(selector, wine):
    function = AsScoreFunction(selector)
    expected = function(*wine)
    assert_array_equal(pickle.loads(pickle.dumps(function))(*wine), expected)
    copied = clone(SelectKBest(function, k=3))
    assert copied.score_func is not function
    assert_array_equal(copied.fit(*wine).scores_, expected)


def test_undefined_scores_come_last_and_infinitely_bad_ones_before_them():
    function = AsScoreFunction(_Fixed(np.array([0.5, np.nan, np.inf])))
    X = np.zeros((4, 3))
    assert np.isnan(function(X)[1])
    assert_array_equal(SelectKBest(function, k=2).fit(X).get_support(), [True, False, True])


def test_constant_features_come_last():
    X = np.array([[0, 0, 1, 1], [5, 5, 5, 5], [0, 1, 2, 3]], dtype=float).T
    with pytest.warns(UserWarning, match="1 of 3 features is constant"):
        kept = SelectKBest(AsScoreFunction(ls.ConstraintScore()), k=2).fit(X, [0, 0, 1, 1])
    assert_array_equal(kept.get_support(), [True, False, True])


class _Fixed(ls.VarianceScore):
    """A selector with given scores; smaller is better."""

    greater_is_better = False

    def __init__(self, values):
        self.values = values

    def fit(self, X, y=None):
        self.scores_ = self.values
        return self


@pytest.mark.parametrize("selector", [*SUBSET, ls.NearestNeighborSFS()], ids=repr)
def test_searches_are_refused_with_a_hint(selector, wine):
    with pytest.raises(ValueError, match=r"searches for a subset.*n_features_to_select=k"):
        SelectKBest(AsScoreFunction(selector), k=3).fit(*wine)


def test_sparse_data_and_no_labels(wine):
    X, y = wine
    function = AsScoreFunction(ls.LaplacianScore())
    from_dense = SelectKBest(function, k=4).fit(X, y)
    from_sparse = SelectKBest(function, k=4).fit(sparse.csr_array(X))
    assert_array_equal(from_dense.get_support(), from_sparse.get_support())


def test_other_univariate_selectors(wine):
    half = GenericUnivariateSelect(AsScoreFunction(ls.FisherScore()), mode="percentile", param=50)
    assert half.fit(*wine).get_support().sum() == 6


def test_grid_search_over_the_parameters_of_the_score(wine):
    steps = make_pipeline(
        SelectKBest(AsScoreFunction(ls.LaplacianScore()), k=3), KNeighborsClassifier()
    )
    grid = {"selectkbest__score_func__estimator__n_neighbors": [3, 30], "selectkbest__k": [3, 6]}
    search = GridSearchCV(steps, grid, cv=3).fit(*wine)
    assert search.best_params_.keys() == grid.keys()
    assert len(np.unique(search.cv_results_["mean_test_score"])) > 1


def test_the_name_of_the_last_version_works_with_a_warning(wine):
    with pytest.warns(FutureWarning, match=r"is now AsScoreFunction.*0\.3") as caught:
        from linkselect import ScoreFunction
    assert {one.filename for one in caught} == {__file__}
    with pytest.warns(FutureWarning, match="is now AsScoreFunction"):
        assert ls.selectors.ScoreFunction is ScoreFunction
    old = SelectKBest(ScoreFunction(selector=ls.LaplacianScore()), k=3)
    old = clone(old).set_params(score_func__selector__n_neighbors=9).fit(*wine)
    new = AsScoreFunction(ls.LaplacianScore(n_neighbors=9))
    assert_array_equal(old.scores_, new(*wine))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = ls.selectors.Nothing
