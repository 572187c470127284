"""From scores to an order and a number of features."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import linkselect as ls
from linkselect.selectors._ranking import best_first, count_features


@pytest.mark.parametrize(
    ("wanted", "kept"), [("auto", 2), (1, 1), (4, 4), (0.5, 2), (0.25, 1), (0.01, 1), (1.0, 4)]
)
def test_number_of_features(wanted, kept, iris):
    assert ls.VarianceScore(wanted).fit(*iris).n_features_ == kept


def test_one_feature_can_be_kept():
    assert ls.VarianceScore().fit(np.arange(5.0)[:, None]).n_features_ == 1


def test_ties_go_by_index():
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert_array_equal(ls.VarianceScore().fit(X).order_, [0, 1, 2])


def test_infinite_scores_rank_last_when_small_is_good_and_first_when_large_is():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 2.0]])
    assert_array_equal(ls.FisherScore().fit(X, [0, 0, 1, 1]).scores_[0], np.inf)
    assert ls.FisherScore().fit(X, [0, 0, 1, 1]).order_[0] == 0
    pairs = ls.Pairs(must=[(0, 2)], cannot=[(0, 1)])
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=pairs).scores_, [np.inf, 0.0])
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=pairs).order_, [1, 0])


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_best_first_has_ties_by_index_and_undefined_scores_last(greater_is_better):
    scores = np.array([np.nan, 1.0, np.inf, 1.0, -np.inf, np.nan, 2.0])
    expected = [2, 6, 1, 3, 4, 0, 5] if greater_is_better else [4, 1, 3, 6, 2, 0, 5]
    assert_array_equal(best_first(scores, greater_is_better), expected)


@given(st.lists(st.sampled_from([0.0, -0.0, 0.5, 2.0, np.inf, np.nan]), min_size=1, max_size=40))
def test_best_first_equals_a_stable_sort(values):
    scores = np.array(values)
    assert_array_equal(best_first(scores, False), np.argsort(scores, kind="stable"))
    assert_array_equal(best_first(scores, True), np.argsort(-scores, kind="stable"))


def test_fractions_that_binary_rounds_down_keep_the_whole_number():
    # 0.29 * 100 is 28.999999999999996 in binary.
    assert count_features(0.29, 100) == 29
    assert count_features("auto", 7) == 3
    assert count_features(np.int64(7), 7) == 7


# -- in a notebook -----------------------------------------------------------------------------


@pytest.fixture
def named():
    X = np.random.default_rng(0).random((12, 14)) * np.arange(14, 0, -1)
    return pd.DataFrame(X, columns=["<script>", *(f"f{place}" for place in range(1, 14))])


def test_a_fitted_selector_shows_its_ranking_below_the_diagram(named):
    unfitted, fitted = ls.VarianceScore(3), ls.VarianceScore(3).fit(named)
    assert "sk-top-container" in unfitted._repr_html_()
    assert "linkselect-view" not in unfitted._repr_html_()
    html = fitted._repr_html_()
    assert "sk-top-container" in html
    assert "VarianceScore selects 3 of 14 features" in html
    view = html[html.index("linkselect-view") :]
    assert "<script>" not in view
    assert "&lt;script&gt;" in view
    assert view.count("✓") == 3
    assert "Larger scores are better. 4 more features." in view
    assert fitted._repr_mimebundle_()["text/html"].count("VarianceScore selects") == 1


def test_display_settings_and_pipelines_stay_scikit_learns(named):
    fitted = ls.VarianceScore(3).fit(named)
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert "text/html" not in fitted._repr_mimebundle_()
    assert "linkselect-view" not in make_pipeline(fitted)._repr_html_()
