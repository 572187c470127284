"""StableSelector against refits by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest

import linkselect as ls
from linkselect.selectors._stability import kuncheva_index


def test_frequencies_are_those_of_refits(cancer):
    """A selector that records the rows it sees is refitted by hand on the same rows."""
    X, y = cancer
    seen = []

    class Recording(ls.FisherScore):
        def _rank(self, X, known, *rest):
            seen.append((X.values.copy(), known.classes.copy()))
            return super()._rank(X, known, *rest)

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
    """Pairs join the same samples in every draw, whatever their row numbers."""
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=0)
    value_of = {i: tuple(row) for i, row in enumerate(X)}
    allowed = {frozenset((value_of[a], value_of[b])) for a, b in pairs.must}
    n_must = []

    class Recording(ls.ConstraintScore):
        def _rank(self, X, known, *rest):
            links = {frozenset((tuple(X.values[a]), tuple(X.values[b]))) for a, b in known.must}
            assert links <= allowed
            n_must.append(len(links))
            return super()._rank(X, known, *rest)

    model = ls.StableSelector(Recording(4), n_resamples=8, random_state=0, n_jobs=1)
    by_row = model.fit(X, pairs=pairs)
    # A must-link is in one half or the other.
    assert n_must[0] == 40
    assert [a + b for a, b in zip(n_must[1::2], n_must[2::2], strict=True)] == [40] * 4
    ids = [f"s{i}" for i in range(len(X))]
    named = ls.Pairs(
        [(ids[a], ids[b]) for a, b in pairs.must], [(ids[a], ids[b]) for a, b in pairs.cannot]
    )
    by_id = clone(model).fit(X, pairs=named, sample_ids=ids)
    assert_array_equal(by_id.scores_, by_row.scores_)


def test_unsupervised_estimator_on_any_number_of_threads(cancer):
    X, _ = cancer
    one = ls.StableSelector(ls.LaplacianScore(3), n_resamples=10, random_state=0, n_jobs=1).fit(X)
    three = ls.StableSelector(ls.LaplacianScore(3), n_resamples=10, random_state=0, n_jobs=3).fit(X)
    assert_array_equal(one.scores_, three.scores_)
    assert 0 < one.nogueira_ <= 1


def test_an_ignored_y_does_not_change_the_draws(cancer):
    X, _ = cancer
    model = ls.StableSelector(ls.VarianceScore(3), n_resamples=10, random_state=0)
    expected = model.fit(X).scores_
    for ignored in (X[:, 0], ["any", "thing"], X):
        assert_array_equal(model.fit(X, ignored).scores_, expected)


def test_labels_are_still_used_when_pairs_are_given(cancer):
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=3, n_cannot=3, random_state=0)
    wrapper = ls.StableSelector(ls.FisherScore(3), n_resamples=5, random_state=0)
    with_pairs = wrapper.fit(X, y, pairs=pairs).selection_frequencies_
    assert_array_equal(with_pairs, wrapper.fit(X, y).selection_frequencies_)


def test_minus_one_is_drawn_as_the_estimator_reads_it():
    """A class of two samples is complete in every draw; half of the unlabelled ones are drawn."""
    X = np.random.default_rng(0).normal(size=(20, 4))
    y = np.repeat([-1, 1], [2, 18])
    model = ls.StableSelector(ls.FisherScore(), n_resamples=6, random_state=0)
    assert_array_equal(model.fit(X, y).scores_, model.fit(X, y == 1).scores_)
    y[1] = 1
    assert_array_equal(model.fit(X, y).scores_, model.fit(X, y == 1).scores_)


def test_a_random_estimator_is_seeded(cancer):
    inner = ls.EnsembleCLS(3, n_estimators=4, max_samples=0.3)
    model = ls.StableSelector(inner, n_resamples=4, random_state=0)
    found = model.fit(*cancer).scores_
    assert_array_equal(clone(model).fit(*cancer).scores_, found)


def test_auto_keeps_frequently_selected_features(cancer):
    X, y = cancer
    model = ls.StableSelector(ls.FisherScore(4), threshold=0.9, random_state=0).fit(X, y)
    assert_array_equal(model.support_, model.scores_ >= 0.9)
    noise = np.random.default_rng(0).normal(size=(30, 12))
    strict = ls.StableSelector(ls.FisherScore(1), threshold=1.0, random_state=0)
    assert strict.fit(noise, np.arange(30) % 2).n_features_ == 1


@pytest.mark.parametrize("parameter", [{"n_resamples": 0}, {"max_samples": 0}, {"threshold": 1.5}])
def test_parameters_out_of_range(parameter, cancer):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        ls.StableSelector(ls.VarianceScore(), **parameter).fit(*cancer)


def test_selectors_of_scikit_learn_are_given_no_pairs(cancer):
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    for wrapper in (
        ls.StableSelector(SelectKBest(k=3), n_resamples=3),
        ls.Redundancy(SelectKBest(k=3)),
    ):
        assert wrapper.fit(X, y, pairs=pairs).support_.any()


def test_draws_are_large_enough_for_the_neighbours_of_a_wrapped_wrapper():
    X = np.random.default_rng(0).random((10, 4))
    inner = ls.Redundancy(ls.LaplacianScore(2))
    assert ls.StableSelector(inner, n_resamples=3, random_state=0).fit(X).support_.any()


def test_equal_pairs_in_another_order_give_the_same_ranking(cancer):
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    turned = ls.Pairs(
        [(b, a) for a, b in reversed(pairs.must)], [(b, a) for a, b in reversed(pairs.cannot)]
    )
    assert turned == pairs
    one, other = (
        ls.StableSelector(ls.ConstraintScore(5), n_resamples=10, random_state=0).fit(X, pairs=some)
        for some in (pairs, turned)
    )
    assert_array_equal(one.scores_, other.scores_)
    assert_array_equal(one.order_, other.order_)


def test_halves_are_complementary(cancer):
    X, y = cancer
    rows = []

    class Recording(ls.FisherScore):
        def _rank(self, X, known, *rest):
            rows.append({tuple(row) for row in X.values})
            return super()._rank(X, known, *rest)

    ls.StableSelector(Recording(4), n_resamples=4, random_state=0, n_jobs=1).fit(X, y)
    for one, other in zip(rows[1::2], rows[2::2], strict=True):
        assert one | other == rows[0]
        assert not one & other


def test_the_bound_by_hand(cancer):
    X, y = cancer
    model = ls.StableSelector(ls.FisherScore(4), threshold=0.9, random_state=0).fit(X, y)
    least = model.scores_[model.support_].min()
    assert_allclose(model.error_bound_, 4**2 / ((2 * least - 1) * X.shape[1]))
    many = ls.StableSelector(ls.FisherScore(4), X.shape[1], random_state=0).fit(X, y)
    assert np.isnan(many.error_bound_)


def test_the_bound_holds_on_noise():
    """With exchangeable features, all selections are false and due to chance."""
    rng = np.random.default_rng(0)
    counts, bounds = [], []
    for seed in range(40):
        X, y = rng.normal(size=(40, 60)), np.arange(40) % 2
        model = ls.StableSelector(ls.FisherScore(6), random_state=seed).fit(X, y)
        often = model.scores_ >= model.threshold
        counts.append(often.sum())
        bounds.append(6**2 / ((2 * model.threshold - 1) * 60))
    assert np.mean(counts) <= np.mean(bounds)


def test_draws_that_cannot_be_ranked_are_left_out():
    """With few cannot-links, some halves have none. If no draw works, the error is raised."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    pairs = ls.Pairs(must=[(0, 1), (2, 3), (4, 5), (6, 7)], cannot=[(8, 9), (10, 11), (12, 13)])
    model = ls.StableSelector(ls.ConstraintScore(2), n_resamples=30, random_state=0)
    model.fit(X, pairs=pairs)
    assert 0 < model.n_resamples_ < 30
    assert_allclose(model.scores_.sum(), 2)

    class Demanding(ls.VarianceScore):
        def _rank(self, X, *rest):
            if X.shape[0] < 40:
                raise ValueError("too few")
            return super()._rank(X, *rest)

    with pytest.raises(ValueError, match="too few"):
        ls.StableSelector(Demanding()).fit(X)
