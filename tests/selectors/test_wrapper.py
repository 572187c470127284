"""Shared behaviour of wrappers: scikit-learn's checks, pairs, errors, constant features."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkselect as ls
from tests.helpers.estimators import WRAPPERS, every_wrapper


@pytest.mark.slow
@parametrize_with_checks(WRAPPERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_wrapper
def test_wrapper_has_the_attributes_of_a_selector(wrapper, cancer):
    X, y = cancer
    model = clone(wrapper).set_params(n_features_to_select=4).fit(X, y)
    assert_array_equal(np.sort(model.ranking_), np.arange(1, 13))
    assert_array_equal(model.ranking_[model.order_], np.arange(1, 13))
    assert model.n_features_ == model.support_.sum() == 4
    assert_array_equal(model.transform(X), X[:, model.support_])
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])
    framed = clone(wrapper).set_params(n_features_to_select=4).fit(frame, y)
    assert_array_equal(framed.order_, model.order_)
    table = framed.to_frame()
    assert list(table.columns)[:4] == ["feature", "score", "rank", "selected"]
    assert list(table["feature"]) == [f"f{i}" for i in model.order_]
    stored = clone(wrapper).set_params(n_features_to_select=4).fit(sparse.csr_array(X), y)
    assert_array_equal(stored.order_, model.order_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.order_, model.order_)
    assert not hasattr(wrapper.estimator, "scores_")


@pytest.mark.slow
@pytest.mark.parametrize("inner", [ls.ConstraintScore(3), ls.LSDF(3), ls.SCGS(3)], ids=repr)
@pytest.mark.parametrize("kind", [ls.StableSelector, ls.Redundancy])
def test_pairs_reach_the_estimator_in_cross_validation(kind, inner, cancer):
    X, y = cancer
    ids = np.array([f"patient {i}" for i in range(len(y))])
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=60, n_cannot=60, random_state=0)
    wrapper = kind(inner, 4)
    if kind is ls.StableSelector:
        wrapper.set_params(n_resamples=5, random_state=0)
    folds = KFold(5, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            make_pipeline(clone(wrapper), KNeighborsClassifier(1)),
            X,
            y,
            cv=folds,
            params={"pairs": pairs, "sample_ids": ids},
            return_estimator=True,
            error_score="raise",
        )
    for model, (train, _) in zip(found["estimator"], folds.split(X), strict=True):
        alone = clone(wrapper).fit(X[train], pairs=pairs, sample_ids=ids[train])
        assert_array_equal(model[0].order_, alone.order_)
        inside = clone(inner).fit(X[train], pairs=pairs, sample_ids=ids[train])
        assert_array_equal(model[0].estimator_.scores_, inside.scores_)


@every_wrapper
def test_errors_are_those_of_other_selectors(wrapper, cancer):
    X, y = cancer
    if not isinstance(wrapper.estimator, ls.VarianceScore):
        with pytest.raises(ValueError, match="neither pairs nor y|requires y to be passed"):
            clone(wrapper).fit(X)
    with pytest.raises(ValueError, match="n_features_to_select=13, but X has 12 features"):
        clone(wrapper).set_params(n_features_to_select=13).fit(X, y)
    with pytest.raises(ValueError, match="parameter of .* must be"):
        type(wrapper)(KNeighborsClassifier()).fit(X, y)


@pytest.mark.parametrize("kind", [ls.StableSelector, ls.Redundancy])
def test_contradictory_pairs(kind, cancer):
    pairs = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2), (0, 5)])
    with pytest.raises(ValueError, match=r"cannot-link \(0, 2\).*0 = 1 = 2"):
        kind(ls.ConstraintScore()).fit(cancer[0], pairs=pairs)
    dropping = ls.ConstraintScore(on_conflict="drop")
    kind(dropping).fit(cancer[0], pairs=ls.Pairs(pairs.must, [(0, 2), (0, 5), (0, 9)]))


@every_wrapper
def test_constant_features_are_reported_once(wrapper, cancer):
    X, y = cancer
    X = X.copy()
    X[:, [1, 3]] = 0.1
    with pytest.warns(UserWarning, match="2 of 12 features are constant") as caught:
        model = clone(wrapper).fit(X, y)
    assert len(caught) == 1
    if isinstance(wrapper, ls.StableSelector) and model.estimator_._constant_is_undefined:
        assert_array_equal(model.scores_[[1, 3]], [0, 0])


def test_selectors_of_scikit_learn_can_be_wrapped(cancer):
    X, y = cancer
    inner = SelectKBest(f_classif, k=4)
    assert ls.StableSelector(inner, 4, random_state=0).fit(X, y).kuncheva_ > 0.5
    assert_array_equal(
        ls.Redundancy(inner, weight=0).fit(X, y).order_, ls.FisherScore().fit(X, y).order_
    )
