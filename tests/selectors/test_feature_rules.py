"""Rules around every selector: kept and excluded features, groups, copies, reasons."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import linkselect as ls
from linkselect._search.discretize import states_of
from linkselect._search.fcbf import fcbf
from linkselect._search.information import Discrete, mutual_information
from linkselect._search.redundancy import rank_merit
from linkselect._search.trace_ratio import best_trace_ratio
from linkselect.selectors._method import describe
from linkselect.selectors._reasons import feature_reasons
from tests.helpers.estimators import SELECTORS, every_selector

SCORING = [one for one in SELECTORS if not describe(one).searches]


def some_data(n_features=8, n_samples=40):
    rng = np.random.default_rng(3)
    y = np.arange(n_samples) % 2
    X = rng.uniform(size=(n_samples, n_features)) + np.linspace(0.8, 0, n_features) * y[:, None]
    return X / 2, y


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y)


@every_selector
def test_without_rules_it_is_the_selector(selector):
    X, y = some_data()
    alone, found = fit(selector, X, y), fit(ls.FeatureRules(selector), X, y)
    for name in ("scores_", "order_", "ranking_", "support_", "n_features_"):
        assert_array_equal(getattr(found, name), getattr(alone, name))
    assert_array_equal(found.reasons_ == "selected", alone.support_)
    assert (found.greater_is_better, found.searches) == (alone.greater_is_better, alone.searches)


@every_selector
def test_kept_come_first_and_excluded_take_no_part(selector):
    X, y = some_data()
    rules = ls.FeatureRules(selector, 4, keep=[7, 5], exclude=[0, 6])
    found = fit(rules, X, y)
    assert_array_equal(found.order_[:2], [7, 5])
    assert_array_equal(np.sort(found.order_[-2:]), [0, 6])
    assert np.isnan(found.scores_[[0, 6]]).all()
    assert found.n_features_ == found.support_.sum() == 4
    assert_array_equal(found.support_, found.ranking_ <= 4)
    other = X.copy()
    other[:, [0, 6]] = np.random.default_rng(1).normal(size=(len(X), 2)) * 100
    again = fit(rules, other, y)
    assert_array_equal(again.order_[:6], found.order_[:6])
    assert_array_equal(again.scores_, found.scores_)


@pytest.mark.parametrize("selector", SCORING, ids=repr)
def test_a_kept_feature_leaves_the_order_of_single_features(selector):
    X, y = some_data()
    alone = fit(selector, X, y).order_
    found = fit(ls.FeatureRules(selector, keep=[7]), X, y).order_
    assert_array_equal(found, [7, *alone[alone != 7]])


@every_selector
def test_groups_are_taken_whole(selector):
    X, y = some_data()
    found = fit(ls.FeatureRules(selector, 4, groups=[[0, 7], [2, 5, 6]]), X, y)
    for group in ([0, 7], [2, 5, 6]):
        assert len(set(found.support_[group])) == 1
        assert len(set(found.scores_[group])) == 1
        assert np.ptp(found.ranking_[group]) == len(group) - 1
    assert found.n_features_ == 4
    alone = fit(ls.FeatureRules(selector, 4), X, y)
    if not alone.searches:
        np.testing.assert_allclose(found.scores_[[0, 7]], alone.scores_[[0, 7]].mean())


@every_selector
def test_copies_take_one_place(selector):
    X, y = some_data(6)
    X = np.column_stack([X, X[:, 0], 0.5 - X[:, 1] / 2])
    found = fit(ls.FeatureRules(selector, 5, copies="one"), X, y)
    for one, other in ((0, 6), (1, 7)):
        assert found.support_[[one, other]].sum() <= 1
        if found.support_[[one, other]].any():
            best, copy = (one, other) if found.support_[one] else (other, one)
            assert found.copy_of_[copy] == best
            assert found.reasons_[copy] == f"copy of x{best}"
            assert found.ranking_[copy] > 6
    assert found.n_features_ == 5


def greedy(value, n_features, first, n_steps):
    """Add the feature with the largest value, given the selected features."""
    chosen = list(first)
    while len(chosen) < n_steps:
        rest = [one for one in range(n_features) if one not in chosen]
        chosen.append(max(rest, key=lambda one: value(one, chosen)))
    return chosen


def test_link_selector_adds_to_what_is_kept():
    X, _ = some_data()
    keep = [7, 3]
    # Without supervision T = FF', so the literal criterion is short.
    F = X / np.ptp(X, axis=0)
    F = F - F.mean(axis=0)
    ridge = 0.5 * (F**2).sum() / 8

    def explained(one, chosen):
        S = F[:, [*chosen, one]]
        inverse = np.linalg.inv(S.T @ S + ridge * np.eye(S.shape[1]))
        return np.trace(F @ F.T @ S @ inverse @ S.T)

    rules = ls.FeatureRules(ls.LinkSelector(scale="range"), 6, keep=keep).fit(X)
    assert_array_equal(rules.order_[:6], greedy(explained, 8, keep, 6))
    # If a copy of the best feature is kept, the best feature adds nothing.
    best = ls.LinkSelector(scale="range").fit(X).order_[0]
    twice = np.column_stack([X, X[:, best]])
    again = ls.FeatureRules(ls.LinkSelector(scale="range"), 4, keep=[8]).fit(twice)
    assert best not in again.order_[:4]


def test_mrmr_counts_redundancy_with_what_is_kept():
    X, y = some_data()
    states = states_of(X, "deviation")
    features = Discrete.of(states)
    relevance = mutual_information(features, y).value
    shared = np.array([mutual_information(features, states[:, one]).value for one in range(8)])

    def value(one, chosen):
        return relevance[one] - shared[one, chosen].mean()

    found = ls.FeatureRules(ls.MRMR(), 6, keep=[6, 4]).fit(X, y)
    assert_array_equal(found.order_[:6], greedy(value, 8, [6, 4], 6))


def test_redundancy_counts_correlation_with_what_is_kept():
    X, y = some_data()
    merit = rank_merit(ls.FisherScore().fit(X, y).order_)
    correlation = np.abs(np.corrcoef(X.T))

    def value(one, chosen):
        return 0.3 * merit[one] - 0.7 * correlation[one, chosen].max()

    inner = ls.Redundancy(ls.FisherScore(), weight=0.7)
    found = ls.FeatureRules(inner, 6, keep=[7, 2]).fit(X, y)
    assert_array_equal(found.order_[:6], greedy(value, 8, [7, 2], 6))


@pytest.mark.parametrize("inner", [ls.SimilarityConstraintScore(), ls.NearestNeighborSFS()])
def test_other_searches_add_to_what_is_kept(inner):
    X, y = some_data()
    sign = -1 if isinstance(inner, ls.SimilarityConstraintScore) else 1

    def value(one, chosen):
        if sign < 0:
            F = X[:, [*chosen, one]]
            kernel = np.exp(-((F[:, None] - F) ** 2).sum(axis=2) / 2)
            return -((kernel - (y[:, None] == y)) ** 2).sum()
        F = X[:, [*chosen, one]]
        distances = ((F[:, None] - F) ** 2).sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        return (y[distances.argmin(axis=1)] == y).mean()

    found = ls.FeatureRules(inner, 5, keep=[7, 5]).fit(X, y)
    assert_array_equal(found.order_[:5], greedy(value, 8, [7, 5], 5))
    ls.FeatureRules(inner, keep=[7, 5]).fit(X, y)


def test_trace_ratio_with_kept_features_is_the_best_subset_that_has_them():
    rng = np.random.default_rng(0)
    between, within = rng.uniform(size=(2, 7))
    for size in (2, 3, 5, 7):
        best = best_trace_ratio(between, within, size, [6, 2])
        subsets = [[6, 2, *more] for more in combinations([0, 1, 3, 4, 5], size - 2)]
        expected = max(between[one].sum() / within[one].sum() for one in subsets)
        np.testing.assert_allclose(best.ratio, expected)
        chosen = best.order[:size]
        np.testing.assert_allclose(between[chosen].sum() / within[chosen].sum(), expected)
    assert best_trace_ratio(between, 0 * within, 3, [6]).ratio == np.inf


def test_fcbf_removes_what_a_kept_feature_makes_redundant():
    states = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    found = fcbf(states, np.array([0, 0, 1, 1]), first=[1])
    assert found.order.tolist() == [1, 0, 2]
    assert found.n_predominant == 1


def test_more_steps_if_copies_took_places():
    X, _ = some_data(6)
    many = np.column_stack([X, *[X + 1] * 2])
    found = ls.FeatureRules(ls.LinkSelector(scale="range"), 5, copies="one").fit(many)
    assert len({one % 6 for one in np.flatnonzero(found.support_)}) == 5


@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_array, np.int8])
def test_copies_in_odd_data(kind):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, 4)) * 20)
    X = np.column_stack([X, -X[:, 0], X[:, 1], np.ones(50)])
    if kind is np.float64:
        X = X + 1e6
    X = kind(X) if kind is sparse.csr_array else X.astype(kind)
    with pytest.warns(UserWarning, match="constant"):
        found = ls.FeatureRules(ls.VarianceScore(), 4, copies="one").fit(X)
    assert_array_equal(found.copy_of_, [-1, -1, -1, -1, 0, 1, -1])
    assert set(found.order_[-3:-1]) == {4, 5}
    assert found.reasons_[6] == "constant"


def framed():
    X, y = some_data(6)
    return pd.DataFrame(X, columns=["temp_a", "temp_b", "press_a", "press_b", "age", "dose"]), y


def test_names_patterns_and_frames():
    X, y = framed()
    for groups in (["temp_*"], {"temp": "temp_*"}, [["temp_a", "temp_b"]], [[0, 1]]):
        rules = ls.FeatureRules(
            ls.FisherScore(), 3, keep=["temp_b"], exclude=["age"], groups=groups
        )
        found = rules.fit(X, y)
        assert_array_equal(found.order_[:2], [0, 1])
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "score", "rank", "selected", "reason"]
    assert list(frame["reason"]) == ["selected"] * 3 + ["below the cut"] * 2 + ["excluded"]
    assert list(found.set_output(transform="pandas").transform(X).columns[:2]) == [
        "temp_a",
        "temp_b",
    ]
    mask = X.columns == "age"
    assert ls.FeatureRules(ls.FisherScore(), 1, keep=mask).fit(X, y).order_[0] == 4
    again = pickle.loads(pickle.dumps(clone(rules).fit(X, y)))
    assert_array_equal(again.order_, found.order_)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"keep": ["tmp_a"]}, "'tmp_a', which is not a feature.* Did you mean 'temp_a'"),
        ({"keep": [6]}, "keep contains 6, which is not a feature.*0 to 5"),
        ({"exclude": [True]}, "mask of 1 value, but X has 6 features"),
        ({"keep": ["age"], "exclude": ["age"]}, "'age' is both kept and excluded"),
        ({"exclude": list(range(6))}, "exclude removes every feature"),
        ({"groups": ["wind_*"]}, r"No feature matches the pattern 'wind_\*'"),
        ({"groups": {"a": [0, 1], "b": [1, 2]}}, "'temp_b' is in two groups, 'a' and 'b'"),
        ({"groups": [[]]}, "Group 0 has no members"),
        ({"groups": [[0, 1, 2], [3, 4, 5]], "n_features_to_select": 2}, "group contains 3"),
        ({"keep": [0, 1, 2], "n_features_to_select": 2}, "keep contains 3 features.*allows only 2"),
        ({"exclude": [0, 1], "n_features_to_select": 5}, "only 4 features remain"),
        ({"copies": "some"}, "'copies' parameter"),
    ],
)
def test_errors(rules, message):
    X, y = framed()
    with pytest.raises(ValueError, match=message):
        ls.FeatureRules(ls.FisherScore(), **rules).fit(X, y)


@pytest.mark.parametrize("rules", [{"keep": ["a"]}, {"groups": ["a*"]}])
def test_names_need_a_frame(rules):
    with pytest.raises(ValueError, match="X has no feature names"):
        ls.FeatureRules(ls.FisherScore(), **rules).fit(*some_data())


def test_selectors_of_scikit_learn():
    X, y = some_data()
    found = ls.FeatureRules(SelectKBest(f_classif, k=3), keep=[7], exclude=[0]).fit(X, y)
    assert found.n_features_ == 3
    assert isinstance(found.estimator_, SelectKBest)
    best = ls.FisherScore().fit(X, y).order_
    assert_array_equal(found.order_[:3], [7, *best[~np.isin(best, [0, 7])][:2]])


def test_grid_search_with_pairs_in_a_pipeline():
    X, y = some_data()
    ids = np.arange(len(y)) + 100
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=40, n_cannot=40, random_state=0)
    rules = ls.FeatureRules(ls.ConstraintScore(), 3, keep=[6])
    with config_context(enable_metadata_routing=True):
        pipeline = Pipeline([("rules", rules), ("knn", KNeighborsClassifier(1))])
        grid = {"rules__estimator__criterion": ["ratio", "difference"], "rules__keep": [[6], None]}
        search = GridSearchCV(pipeline, grid, cv=5, error_score="raise")
        search.fit(X, y, pairs=pairs, sample_ids=ids)
    assert search.best_estimator_[0].n_features_ == 3


def test_all_reasons():
    found = feature_reasons(
        np.arange(7),
        1,
        np.arange(7) == 1,
        list("abcdefg"),
        copy_of=np.array([-1, -1, 0, -1, -1, -1, -1]),
        correlated={3: 0, 4: 0},
        excluded=np.arange(7) == 5,
        unstable=np.arange(7) == 4,
    )
    assert found.tolist() == [
        "selected",
        "constant",
        "copy of a",
        "correlated with a",
        "unstable",
        "excluded",
        "below the cut",
    ]
