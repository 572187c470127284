"""mRMR, FCBF and the counting under them against their definitions."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.callback import ProgressBar
from sklearn.preprocessing import KBinsDiscretizer

import linkselect as ls
import literal
from linkselect.search import (
    Discrete,
    fcbf,
    mrmr,
    mutual_information,
    states_of,
    symmetric_uncertainty,
)
from linkselect.search.information import CELLS_AS_BITS, STATES_AS_BITS
from problems import labels, samples
from test_scores import fitted

# -- states ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_deviation_equals_the_definition(dtype):
    X = (np.random.default_rng(0).normal(size=(101, 300)) * 40).astype(dtype)
    expected = np.array([literal.deviation_states(f) for f in X.astype(float).T.tolist()]).T
    assert_array_equal(states_of(X, "deviation"), expected)
    assert_array_equal(states_of(sparse.csr_array(X), "deviation"), expected)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.1, 0.7), (-0.3, 0.1), (1e8, 1e8 + 0.1), (0, 1e-160), (0, 1e300)]
)
@pytest.mark.parametrize("n_samples", [2, 6, 10, 1000])
def test_two_equally_frequent_values_stay_apart(low, high, n_samples):
    """They lie on the cuts, where rounding would decide and could make the feature constant."""
    f = np.tile([low, high], n_samples // 2)[:, None]
    assert_array_equal(states_of(f, "deviation").ravel(), np.where(f.ravel() == low, 0, 1))


def test_a_large_offset_changes_no_state():
    X = np.random.default_rng(1).integers(-1000, 1000, (50, 5)) * 2.0**-20
    assert_array_equal(states_of(X + 2.0**27, "deviation"), states_of(X, "deviation"))


@pytest.mark.parametrize("how", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(how):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), rng.integers(0, 30, 40), np.arange(40)])
    bins = KBinsDiscretizer(
        5, encode="ordinal", strategy=how, quantile_method="averaged_inverted_cdf"
    )
    assert_array_equal(states_of(X, how), bins.fit_transform(X))


@pytest.mark.parametrize("how", ["deviation", "uniform", "quantile", None])
def test_a_constant_is_one_state(how):
    assert len(np.unique(states_of(np.full((7, 1), 0.1), how))) == 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, float, bool])
def test_discrete_values_keep_their_partition(dtype):
    X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]]).astype(dtype)
    expected = [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert_array_equal(states_of(X, None), expected)
    assert_array_equal(states_of(sparse.csr_array(X), None), expected)


def test_discrete_values_of_any_size_and_number():
    X = np.array([[-(2**62), 0], [2**62, 300], [2**62 - 1, 5]])
    assert_array_equal(states_of(X, None), [[0, 0], [2, 2], [1, 1]])
    many = np.column_stack([np.arange(400) % 2, np.arange(400)])
    assert_array_equal(states_of(many, None), many)


# -- information ---------------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**20))
def test_information_equals_the_definition(n_samples, n_states, n_values, seed):
    rng = np.random.default_rng(seed)
    states = rng.integers(0, rng.integers(1, n_states + 1, 4), (n_samples, 4))
    variable = rng.integers(0, n_values, n_samples)
    features, columns = Discrete.of(states), states.T.tolist()
    of = variable.tolist()
    assert_allclose(features.entropy, [literal.entropy(f) for f in columns], atol=1e-12)
    expected = [literal.information(f, of) for f in columns]
    assert_allclose(mutual_information(features, variable), expected, atol=1e-12)
    expected = [literal.uncertainty(f, of) for f in columns]
    assert_allclose(symmetric_uncertainty(features, variable), expected, atol=1e-12)


@pytest.mark.parametrize("n_values", [2, CELLS_AS_BITS // STATES_AS_BITS, 100])
def test_bits_and_sorting_agree_on_some_columns(n_values):
    rng = np.random.default_rng(0)
    states = rng.integers(0, [2, 3, STATES_AS_BITS, STATES_AS_BITS + 1, 500], (1000, 5))
    variable = rng.integers(0, n_values, 1000)
    some = np.array([4, 1, 2])
    expected = [literal.information(states[:, f].tolist(), variable.tolist()) for f in some]
    assert_allclose(mutual_information(Discrete.of(states), variable, some), expected, atol=1e-12)


# -- mRMR --------------------------------------------------------------------------------------


def discrete_problem(seed, n_samples, n_features=8):
    """Noise, copies of the class with errors, and constants."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_samples)
    y[:2] = 0, 1
    noise = rng.integers(0, rng.integers(1, 5, n_features), (n_samples, n_features))
    return np.where(
        rng.random((n_samples, n_features)) < rng.random(n_features), noise, y[:, None]
    ), y


@given(st.sampled_from(["difference", "quotient"]), st.integers(2, 60), st.integers(0, 2**20))
def test_mrmr_equals_the_definition(scheme, n_samples, seed):
    X, y = discrete_problem(seed, n_samples)
    wanted = seed % 8 + 1
    relevance, order, path = literal.mrmr(X.T.tolist(), y.tolist(), wanted, scheme)
    for store in (np.asarray, sparse.csr_array):
        found = fitted(ls.MRMR(wanted, scheme=scheme, discretize=None), store(X), y)
        assert_allclose(found.scores_, relevance, atol=1e-12)
        assert_array_equal(found.order_, order)
        assert_allclose(found.path_, path, atol=1e-10, rtol=1e-10)
        assert found.n_features_ == wanted


@given(st.data())
def test_mrmr_and_fcbf_on_numeric_features(data):
    X = data.draw(samples())
    y = data.draw(labels(len(X), unlabelled=False))
    columns = states_of(X, "deviation").T.tolist()
    expected = literal.mrmr(columns, y.tolist(), X.shape[1], "difference")
    assert_array_equal(fitted(ls.MRMR(1.0), X, y).order_, expected[1])
    expected = literal.fcbf(columns, y.tolist(), 0.0)
    assert_array_equal(fitted(ls.FCBF(), X, y).order_, expected[1])


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_renaming_states_changes_no_tie(scheme):
    """A feature and its mirror image tie; sums in another order must not decide between them."""
    rng = np.random.default_rng(0)
    states, y = rng.integers(0, 3, (200, 10)), rng.integers(0, 4, 200)
    selector = ls.MRMR(15, scheme=scheme, discretize=None)
    found = selector.fit(np.column_stack([states, 2 - states]), y).order_
    assert_array_equal(selector.fit(np.column_stack([2 - states, states]), y).order_, found)


def test_quotient_over_no_redundancy_prefers_relevance():
    high, middle, low = np.unravel_index(np.arange(8), (2, 2, 2))
    noisy_low = np.where(np.arange(8) == 7, 0, low)
    X = np.column_stack([np.zeros(8, int), high, middle, low, noisy_low])
    found = fitted(ls.MRMR(5, scheme="quotient", discretize=None), X, 2 * high + low)
    assert_array_equal(found.order_[:2], [1, 3])
    assert np.isinf(found.path_[1])
    # A constant is 0 / 0 against every feature.
    assert_array_equal(found.order_[-2:], [2, 0])
    assert np.isnan(found.path_[-1])
    assert np.isnan(found.scores_[0])


def test_a_constant_feature_is_never_chosen_by_quotient_before_another():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([np.zeros(40), rng.integers(0, 3, (40, 4)), y])
    by_quotient = fitted(ls.MRMR(5, scheme="quotient", discretize=None), X, y)
    assert by_quotient.order_[-1] == 0
    assert not by_quotient.support_[0]
    # Also where nothing is relevant, so that the first choice is a tie.
    nothing = fitted(
        ls.MRMR(1, scheme="quotient", discretize=None), X[:, [0, 5]], np.arange(40) % 2
    )
    assert_array_equal(nothing.order_, [1, 0])
    # In a difference it is what the formula says: 0, more than a redundant feature has.
    by_difference = fitted(ls.MRMR(5, discretize=None), X, y)
    assert by_difference.scores_[0] == 0


def test_as_many_values_as_samples():
    X = np.column_stack([np.arange(300) % 2, np.arange(300.0)])
    y = np.arange(300) % 3
    found = ls.MRMR(1, discretize=None).fit(X, y)
    assert_allclose(found.scores_, [0, np.log(3)], atol=1e-12)
    assert_array_equal(ls.FCBF(discretize=None).fit(X, y).order_, [1, 0])


def test_mrmr_takes_no_more_steps_than_it_must(monkeypatch):
    module = import_module("linkselect.search.mrmr")
    calls = []
    count = module.mutual_information
    monkeypatch.setattr(
        module, "mutual_information", lambda *given: calls.append(1) or count(*given)
    )
    X, y = discrete_problem(0, 50)
    found = module.mrmr(X, y, 3)
    assert len(calls) == 3  # relevance, and redundancy with the first two
    assert_array_equal(np.sort(found.order), np.arange(8))


def test_a_search_that_is_ended_early_keeps_what_it_found():
    X, y = discrete_problem(1, 80)

    def two(steps):
        for number, step in enumerate(steps):
            yield step
            if number == 1:
                return

    assert_array_equal(mrmr(X, y, 8, track=two).order[:2], mrmr(X, y, 8).order[:2])
    assert len(mrmr(X, y, 8, track=two).path) == 2
    assert fcbf(X, y, track=two).n_predominant <= 2


# -- FCBF --------------------------------------------------------------------------------------


@given(st.integers(2, 80), st.sampled_from([0.0, 0.05, 0.3]), st.integers(0, 2**20))
def test_fcbf_equals_the_definition(n_samples, threshold, seed):
    X, y = discrete_problem(seed, n_samples, n_features=12)
    uncertainty, order, n_predominant = literal.fcbf(X.T.tolist(), y.tolist(), threshold)
    found = fitted(ls.FCBF(threshold=threshold, discretize=None), X, y)
    assert_allclose(found.scores_, uncertainty, atol=1e-10)
    assert_array_equal(found.order_, order)
    assert found.n_features_ == max(1, n_predominant)
    assert_allclose(found.path_, np.array(uncertainty)[order[:n_predominant]], atol=1e-10)


def test_predominant_by_its_definition():
    """No predominant feature has a Markov blanket before it; every relevant other one has."""
    X, y = discrete_problem(0, 300, n_features=40)
    found = fitted(ls.FCBF(discretize=None), X, y)
    predominant, rest = np.split(found.order_, [found.n_features_])
    score = found.scores_

    def covered(q, candidates):
        return any(
            literal.uncertainty(X[:, p].tolist(), X[:, q].tolist()) >= score[q]
            for p in candidates
            if score[p] >= score[q]
        )

    assert not any(covered(q, predominant[:place]) for place, q in enumerate(predominant))
    assert all(covered(q, predominant) for q in rest if score[q] > 0)


@pytest.mark.parametrize("method", [ls.MRMR, ls.FCBF])
def test_a_transformer_may_make_the_states(method):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
    found = method(discretize=bins).fit(X, y)
    assert_array_equal(found.scores_, method(discretize="uniform").fit(X, y).scores_)
    assert not hasattr(bins, "bin_edges_")
    framed = method(discretize=bins.set_output(transform="pandas")).fit(X, y)
    assert_array_equal(framed.scores_, found.scores_)


@pytest.mark.parametrize("selector", [ls.MRMR(3), ls.FCBF()], ids=repr)
def test_progress_is_reported(selector):
    X, y = discrete_problem(2, 80)
    expected = selector.fit(X, y).order_
    selector.set_callbacks(ProgressBar())
    assert_array_equal(selector.fit(X, y).order_, expected)


def test_a_feature_that_only_meets_the_threshold_is_not_relevant():
    high, middle, low = np.unravel_index(np.arange(8), (2, 2, 2))
    states = np.column_stack([middle, low])
    # Both tell nothing about the class: an uncertainty of 0 does not exceed 0.
    assert fcbf(states, high).n_predominant == 0
    # The uncertainty of a feature with itself is 1, with a copy that is half as fine 2/3.
    both = fcbf(np.column_stack([high]), 2 * high + low, threshold=0.6)
    assert both.n_predominant == 1
    limit = np.round(both.uncertainty[0], 11)
    assert fcbf(np.column_stack([high]), 2 * high + low, threshold=limit).n_predominant == 0
