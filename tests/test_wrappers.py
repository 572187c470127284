"""StableSelector and Redundancy: scikit-learn's checks, definitions, labels, pairs and ids."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkselect as ls
from linkselect.search import least_redundant, rank_merit
from linkselect.selectors.stability import kuncheva_index, nogueira_index
from test_scores import fitted
from test_selectors import WRAPPERS

every_wrapper = pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)


@parametrize_with_checks(WRAPPERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return MinMaxScaler().fit_transform(X)[::3, :12], y[::3]


# -- both --------------------------------------------------------------------------------------


@every_wrapper
def test_the_whole_contract(wrapper, cancer):
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
    assert list(table.columns) == ["feature", "score", "rank", "selected"]
    assert list(table["feature"]) == [f"f{i}" for i in model.order_]
    stored = clone(wrapper).set_params(n_features_to_select=4).fit(sparse.csr_array(X), y)
    assert_array_equal(stored.order_, model.order_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.order_, model.order_)
    assert not hasattr(wrapper.estimator, "scores_")


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
def test_mistakes_are_reported_in_the_usual_words(wrapper, cancer):
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


@pytest.mark.parametrize(
    "selector",
    [
        ls.StableSelector(ls.VarianceScore(), n_resamples=0),
        ls.StableSelector(ls.VarianceScore(), max_samples=0),
        ls.StableSelector(ls.VarianceScore(), threshold=1.5),
        ls.Redundancy(ls.VarianceScore(), weight=2),
    ],
    ids=repr,
)
def test_parameters_out_of_range(selector, cancer):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        selector.fit(*cancer)


# -- stability ---------------------------------------------------------------------------------


def test_frequencies_are_those_of_refits(cancer):
    """A selector that records the rows it sees is refitted by hand on the same rows."""
    X, y = cancer
    seen = []

    class Recording(ls.FisherScore):
        def _rank(self, X, known, track):
            seen.append((X.copy(), known.classes.copy()))
            return super()._rank(X, known, track)

    model = ls.StableSelector(Recording(4), n_resamples=6, random_state=0, n_jobs=1).fit(X, y)
    assert_array_equal(seen[0][0], X)
    refits = [ls.FisherScore(4).fit(*draw) for draw in seen[1:]]
    assert_allclose(model.scores_, np.mean([refit.support_ for refit in refits], axis=0))
    assert_array_equal(model.scores_, model.selection_frequencies_)
    mean_rank = np.mean([refit.ranking_ for refit in refits], axis=0)
    assert_array_equal(model.order_, np.lexsort((mean_rank, -model.scores_)))
    assert model.kuncheva_ == kuncheva_index(np.array([refit.support_ for refit in refits]))
    sizes = [np.bincount(classes) for _, classes in seen[1:]]
    assert_array_equal(sizes, [np.round(np.bincount(y) / 2).astype(int)] * 6)


def test_pairs_follow_their_samples_into_a_draw(cancer):
    """Every draw speaks of the same values of the same samples, whatever their new rows."""
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    value_of = {i: tuple(row) for i, row in enumerate(X)}
    allowed = {frozenset((value_of[a], value_of[b])) for a, b in pairs.must}
    n_must = []

    class Recording(ls.ConstraintScore):
        def _rank(self, X, known, track):
            links = {frozenset((tuple(X[a]), tuple(X[b]))) for a, b in known.must}
            assert links <= allowed
            n_must.append(len(links))
            return super()._rank(X, known, track)

    model = ls.StableSelector(Recording(4), n_resamples=8, random_state=0)
    by_row = model.fit(X, pairs=pairs)
    assert n_must == [10] + [5] * 8
    ids = [f"s{i}" for i in range(len(X))]
    named = ls.Pairs(
        [(ids[a], ids[b]) for a, b in pairs.must], [(ids[a], ids[b]) for a, b in pairs.cannot]
    )
    by_id = clone(model).fit(X, pairs=named, sample_ids=ids)
    assert_array_equal(by_id.scores_, by_row.scores_)


def test_stability_without_any_supervision_and_on_threads(cancer):
    X, _ = cancer
    one = ls.StableSelector(ls.LaplacianScore(3), n_resamples=10, random_state=0, n_jobs=1).fit(X)
    three = ls.StableSelector(ls.LaplacianScore(3), n_resamples=10, random_state=0, n_jobs=3).fit(X)
    assert_array_equal(one.scores_, three.scores_)
    assert 0 < one.nogueira_ <= 1


def test_a_y_that_the_selector_ignores_changes_no_draw(cancer):
    X, _ = cancer
    model = ls.StableSelector(ls.VarianceScore(3), n_resamples=10, random_state=0)
    expected = model.fit(X).scores_
    for ignored in (X[:, 0], ["any", "thing"], X):
        assert_array_equal(model.fit(X, ignored).scores_, expected)


def test_pairs_do_not_take_the_labels_away(cancer):
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=3, n_cannot=3, random_state=0)
    wrapper = ls.StableSelector(ls.FisherScore(3), n_resamples=5, random_state=0)
    with_pairs = wrapper.fit(X, y, pairs=pairs).selection_frequencies_
    assert_array_equal(with_pairs, wrapper.fit(X, y).selection_frequencies_)


def test_a_random_estimator_is_seeded(cancer):
    inner = ls.EnsembleCLS(3, n_estimators=4, max_samples=0.3)
    model = ls.StableSelector(inner, n_resamples=4, random_state=0)
    found = model.fit(*cancer).scores_
    assert_array_equal(clone(model).fit(*cancer).scores_, found)


def test_auto_keeps_what_is_selected_often(cancer):
    X, y = cancer
    model = ls.StableSelector(ls.FisherScore(4), threshold=0.9, random_state=0).fit(X, y)
    assert_array_equal(model.support_, model.scores_ >= 0.9)
    noise = np.random.default_rng(0).normal(size=(30, 12))
    strict = ls.StableSelector(ls.FisherScore(1), threshold=1.0, random_state=0)
    assert strict.fit(noise, np.arange(30) % 2).n_features_ == 1


def test_selectors_of_scikit_learn_can_be_wrapped(cancer):
    X, y = cancer
    inner = SelectKBest(f_classif, k=4)
    assert ls.StableSelector(inner, 4, random_state=0).fit(X, y).kuncheva_ > 0.5
    assert_array_equal(
        ls.Redundancy(inner, weight=0).fit(X, y).order_, ls.FisherScore().fit(X, y).order_
    )


def test_kuncheva_by_hand():
    # k = 2 of d = 5: one in common gives (5 - 4) / 6, none gives -4 / 6.
    three = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=bool)
    assert kuncheva_index(three[:2]) == pytest.approx(1 / 6)
    assert kuncheva_index(three[[0, 2]]) == pytest.approx(-4 / 6)
    assert kuncheva_index(three) == pytest.approx((1 / 6 - 4 / 6 + 1 / 6) / 3)


def test_nogueira_by_hand():
    # Frequencies 1, 1/2, 0, 0: s^2 = 2 * 1/4 for the second, mean 1/8; k/d = 3/8.
    selected = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    assert nogueira_index(selected) == pytest.approx(1 - (1 / 8) / (3 / 8 * 5 / 8))


@given(st.integers(2, 8), st.integers(2, 12), st.integers(0, 2**20))
def test_with_equal_sizes_both_are_the_mean_over_pairs_of_runs(n_runs, n_features, seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, n_features)
    selected = np.zeros((n_runs, n_features), dtype=bool)
    for run in selected:
        run[rng.choice(n_features, size, replace=False)] = True
    expected = np.mean(
        [
            ((a & b).sum() * n_features - size**2) / (size * (n_features - size))
            for a, b in combinations(selected, 2)
        ]
    )
    assert kuncheva_index(selected) == pytest.approx(expected, abs=1e-12)
    assert nogueira_index(selected) == pytest.approx(expected, abs=1e-12)


def test_always_the_same_is_one_and_the_undefined_is_nan():
    assert nogueira_index(np.tile([True, False, False], (4, 1))) == 1
    for selected in (np.ones((3, 4), bool), np.zeros((3, 4), bool), np.eye(1, 4, dtype=bool)):
        assert np.isnan(kuncheva_index(selected))
        assert np.isnan(nogueira_index(selected))
    assert np.isnan(kuncheva_index(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)))


# -- redundancy --------------------------------------------------------------------------------


def literal_redundancy(X, merit, weight, n_chosen):
    correlation = np.abs(np.corrcoef(X, rowvar=False))
    chosen, path = [], []
    while len(chosen) < n_chosen:
        values = {f: merit[f] for f in range(X.shape[1]) if f not in chosen}
        if chosen:
            for f in values:
                most = max(correlation[f, g] for g in chosen)
                values[f] = (1 - weight) * merit[f] - weight * most
        ranked = sorted(values, key=lambda f: (-round(values[f], 12), -merit[f], f))
        chosen.append(ranked[0])
        path.append(values[ranked[0]])
    return chosen + ranked[1:], path


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_chosen", [1, 7, 20])
def test_redundancy_equals_the_definition(weight, n_chosen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20)) @ rng.normal(size=(20, 20))
    y = (X[:, 0] > 0).astype(int)
    model = ls.Redundancy(ls.FisherScore(), n_chosen, weight=weight).fit(X, y)
    merit = rank_merit(ls.FisherScore().fit(X, y).order_)
    order, path = literal_redundancy(X, merit, weight, n_chosen)
    assert_array_equal(model.order_, order)
    assert_allclose(model.path_, path, atol=1e-12)
    assert_array_equal(model.scores_, model.estimator_.scores_)


def test_copies_go_last_and_constants_hurt_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) + 1e8
    X = np.column_stack([X, -X, np.full(30, 0.1), 1e-160 * X[:, 0]])
    merit = np.array([1, 0.9, 0.8, 1, 0.9, 0.8, 0.85, 0.95])
    found = least_redundant(X, merit, 0.5, 8)
    assert set(found.order[:4]) == {0, 1, 2, 6}


def test_weight_zero_is_the_estimator_and_auto_its_number(cancer):
    model = ls.Redundancy(ls.FCBF(), weight=0).fit(*cancer)
    alone = ls.FCBF().fit(*cancer)
    assert_array_equal(model.order_, alone.order_)
    assert model.n_features_ == alone.n_features_
    assert model.greater_is_better
    assert not ls.Redundancy(ls.LaplacianScore()).greater_is_better


def test_undefined_scores_rank_last():
    X = np.column_stack([np.arange(8.0), np.ones(8), np.arange(8) % 2])
    found = fitted(ls.Redundancy(ls.FisherScore(), 3, weight=0.0), X, np.arange(8) // 4)
    assert_array_equal(found.order_, [0, 2, 1])
