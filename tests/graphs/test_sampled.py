"""Compare sampled queries with the graph of all samples, and proposals with the exact search."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import linkselect as ls
from linkselect import graphs
from linkselect._forms import degree_form, laplacian_form
from linkselect._samples import as_samples
from linkselect._samples.devices import to_numpy
from linkselect._supervision import from_labels
from linkselect.graphs import _sampled as sampled
from linkselect.graphs._sampled import Queries

UNSUPERVISED = [ls.LaplacianScore(), ls.LaplacianScore(weights="binary"), ls.SpectralScore(style=1)]
FROM_LABELS = [
    ls.LSDF(),
    ls.ConstrainedLaplacianScore(sigma=5.0),
    ls.ConstrainedLaplacianScore(variant="2014", sigma=5.0),
    ls.CompensatedLaplacianScore(sigma=5.0),
]
GRAPH_SELECTORS = [*UNSUPERVISED, *FROM_LABELS]
every_graph_selector = pytest.mark.parametrize("selector", GRAPH_SELECTORS, ids=repr)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 6)) * [1, 2, 3, 1, 1, 5]


@pytest.fixture
def y():
    return np.where(np.arange(300) < 30, np.arange(300) % 2, -1)


def queries(always, drawn):
    return Queries(np.array(always, dtype=np.intp), np.array(drawn, dtype=np.intp))


def sums(X, near):
    """Return the terms of scores: the form over edges, the degrees, and the form over degrees."""
    near = graphs.gaussian_edges(near, 1.5)
    degrees = near.degrees
    return np.concatenate(
        [laplacian_form(X, near), degrees, degree_form(X, degrees, centred=False)]
    )


@pytest.mark.parametrize("always", [[], [2, 7]])
@pytest.mark.parametrize("n_drawn", [1, 2, 5])
def test_sums_are_unbiased_over_all_draws(always, n_drawn):
    X = np.random.default_rng(1).normal(size=(9, 3))
    others = np.setdiff1d(np.arange(9), always)
    found = [
        sums(X, sampled.sampled_edges(X, 2, queries(always, drawn)).counted())
        for drawn in combinations(others, n_drawn)
    ]
    assert_allclose(np.mean(found, axis=0), sums(X, graphs.nearest_edges(X, 2)), rtol=1e-12)
    assert np.std(found, axis=0).max() > 0


def test_counts_by_hand():
    # On this line, the nearest neighbours are 0 -> 1, 1 -> 0, 2 -> 1 and 3 -> 2.
    X = np.array([[0.0], [1.0], [3.0], [6.0]])

    def counts(always, drawn):
        near = sampled.sampled_edges(X, 1, queries(always, drawn)).counted()
        return {
            (int(i), int(j)): c for i, j, c in zip(near.left, near.right, near.counts, strict=True)
        }

    # Edge 0-1 is missed only if 2 and 3 are drawn: in one of six draws of two samples.
    assert counts([], [0, 2]) == pytest.approx({(0, 1): 6 / 5, (1, 2): 2.0})
    # Only sample 2 finds edge 1-2, so it must be drawn although sample 1 is always a query.
    assert counts([1], [2]) == pytest.approx({(0, 1): 1.0, (1, 2): 3.0})
    assert counts([2], [3]) == pytest.approx({(1, 2): 1.0, (2, 3): 3.0})
    assert counts([0], [3, 1, 2]) == {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0}


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_drawing_all_samples_gives_the_exact_graph(X, store):
    near = graphs.nearest_edges(store(X), 4)
    found = sampled.sampled_edges(store(X), 4, queries([5, 6], np.r_[0:5, 7:300])).counted()
    for name in ("left", "right", "weights"):
        assert_array_equal(getattr(found, name), getattr(near, name))
    assert_array_equal(found.counts, 1.0)


def test_edges_found_only_by_samples_not_drawn_are_missing(X):
    whole = graphs.nearest(X, 3)
    of_five = set(
        zip(*(end[np.isin(whole[0], range(5))].tolist() for end in whole[:2]), strict=True)
    )
    seen = sampled.sampled_edges(X, 3, queries([], range(5))).edges
    ends = set(zip(seen.left.tolist(), seen.right.tolist(), strict=True))
    assert ends == {tuple(sorted(pair)) for pair in of_five}


def test_counts_are_kept_by_every_graph_of_neighbours(X, y):
    near = sampled.sampled_edges(X, 4, queries(range(30), range(100, 150))).counted()
    known = from_labels(y, 300)
    for graph in [
        graphs.gaussian_edges(near, 5.0),
        near.reweigh(2.0),
        near.keep(near.left < 200),
        graphs.lsdf_graph(near, known, 1.0)[0],
        graphs.constrained_graph(X, near, known, 5.0)[0],
        graphs.reward_graph(X, near, known, 5.0)[0],
        graphs.compensated_graph(near, known, 5.0, 0.5, 0.5)[0],
    ]:
        assert graph.counts.max() == 270 / 50
        plain = graphs.Edges(graph.n_samples, graph.left, graph.right, graph.totals)
        assert_array_equal(graph.degrees, plain.degrees)
        assert_array_equal(graph.to_csr().toarray(), plain.to_csr().toarray())
        for data in (X, sparse.csr_array(X)):
            assert_array_equal(laplacian_form(data, graph), laplacian_form(data, plain))


def test_labelled_samples_come_first_unless_they_dominate():
    first = np.arange(40) < 6
    found = sampled.draw_queries(first, 12, np.random.default_rng(0))
    assert_array_equal(found.always, np.arange(6))
    assert len(set(found.drawn)) == 6
    assert not first[found.drawn].any()
    found = sampled.draw_queries(first, 11, np.random.default_rng(0))
    assert len(found.always) == 0
    assert len(set(found.drawn)) == 11


@every_graph_selector
def test_as_many_queries_as_samples_change_nothing(selector, X, y):
    exact = clone(selector).fit(X, y)
    found = clone(selector).set_params(max_queries=300).fit(X, y)
    assert_array_equal(found.scores_, exact.scores_)
    assert not hasattr(found, "standard_errors_")


@every_graph_selector
def test_scores_are_close_to_exact_for_any_kind_of_x(selector, X, y):
    exact = clone(selector).fit(X, y).scores_
    some = clone(selector).set_params(max_queries=240, random_state=3)
    found = clone(some).fit(X, y)
    assert not np.array_equal(found.scores_, exact)
    assert (np.abs(found.scores_ - exact) < 6 * found.standard_errors_).all()
    again = clone(some).fit(sparse.csr_array(X), y)
    assert_allclose(again.scores_, found.scores_, rtol=1e-10)
    assert_allclose(again.standard_errors_, found.standard_errors_, rtol=1e-6)
    assert_array_equal(clone(some).fit(X, y).scores_, found.scores_)
    assert not np.array_equal(some.set_params(random_state=4).fit(X, y).scores_, found.scores_)


@pytest.mark.slow
@pytest.mark.parametrize("selector", GRAPH_SELECTORS[::2], ids=repr)
def test_standard_errors_match_the_variation_between_draws(selector):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500, [10, 11, 12, 19, 20, 21]], np.where(np.arange(500) < 20, y[:500] % 2, -1)
    fits = [
        clone(selector).set_params(max_queries=150, random_state=seed, n_jobs=1).fit(X, y)
        for seed in range(25)
    ]
    spread = np.std([fit.scores_ for fit in fits], axis=0, ddof=1)
    stated = np.mean([fit.standard_errors_ for fit in fits], axis=0)
    assert 0.7 < np.median(stated / spread) < 1.4
    # Any bias is within the uncertainty of the mean over draws.
    exact = clone(selector).fit(X, y).scores_
    mean = np.mean([fit.scores_ for fit in fits], axis=0)
    assert (np.abs(mean - exact) < 5 * spread / np.sqrt(25) + 0.02 * np.abs(exact)).all()


def word_counts(n_samples=500, n_words=150):
    """Return counts of mostly rare words in texts of two classes, and a few labels."""
    random = np.random.default_rng(0)
    classes = np.arange(n_samples) % 2
    length = random.lognormal(sigma=0.5, size=n_samples)
    rate = 6.0 / np.arange(6, n_words + 6) ** 1.3
    in_class = np.where(np.arange(n_words) % 2 == classes[:, None], 1.5, 0.5)
    X = random.poisson(np.outer(length, rate) * in_class).astype(float)
    return X, np.where(np.arange(n_samples) < 60, classes, -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(no standard error|no score):UserWarning")
@pytest.mark.parametrize(
    "selector",
    [ls.LaplacianScore(), ls.LSDF(), ls.CompensatedLaplacianScore(sigma="auto")],
    ids=repr,
)
def test_two_standard_errors_cover_the_exact_scores_of_word_counts(selector):
    X, y = word_counts()
    exact = clone(selector).set_params(n_jobs=1).fit(X, y).scores_
    covered = []
    for seed in range(12):
        found = clone(selector).set_params(max_queries=300, random_state=seed, n_jobs=1).fit(X, y)
        errors = found.standard_errors_
        stated = np.isfinite(errors)
        covered.append(np.abs(found.scores_[stated] - exact[stated]) <= 2 * errors[stated])
    # The most frequent words have a standard error.
    assert np.isfinite(errors[:5]).all()
    assert np.mean(np.concatenate(covered)) >= 0.9


def test_no_standard_error_if_few_drawn_samples_vary():
    """About 20 of the 100 drawn samples must vary; in column 1, only about 12 do."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    X[:, 0], X[:, 1] = np.arange(400) % 4 == 0, np.arange(400) % 8 == 0
    with pytest.warns(
        UserWarning, match=r"1 of 4 features has no standard error .* Pass max_queries=123 "
    ):
        found = ls.LaplacianScore(max_queries=100, random_state=0).fit(X)
    assert_array_equal(np.isnan(found.standard_errors_), [False, True, False, False])
    assert np.isfinite(found.scores_).all()
    assert np.isfinite(found.set_params(max_queries=123).fit(X).standard_errors_).all()


def test_no_standard_errors_if_most_samples_have_the_same_neighbour():
    X = np.random.default_rng(0).random(size=(200, 50))
    assert np.isfinite(fit_of(X).standard_errors_).all()
    # In many dimensions, the centre is closer to each sample than other samples are.
    X[17] = 0.5
    assert sampled.sampled_edges(X, 5, queries([], range(100))).largest_hub > 0.9
    with pytest.warns(UserWarning, match=r"features are NaN.* a neighbour of \d+% of the drawn"):
        found = fit_of(X)
    assert np.isnan(found.standard_errors_).all()
    assert np.isfinite(found.scores_).all()


def fit_of(X):
    return ls.LaplacianScore(max_queries=100, random_state=0).fit(X)


def test_the_largest_hub_by_hand():
    # The nearest neighbours are 0 -> 1, 1 -> 0, 2 -> 1 and 3 -> 2, so 1 is found by two of 0, 2 and
    # 3.
    X = np.array([[0.0], [1.0], [3.0], [6.0]])
    assert sampled.sampled_edges(X, 1, queries([], [0, 2, 3])).largest_hub == 2 / 3
    # Only drawn samples count.
    assert sampled.sampled_edges(X, 1, queries([0, 2], [3])).largest_hub == 1.0
    assert sampled.sampled_edges(X, 1, queries([0], [2, 3])).largest_hub == 1 / 2


def test_the_suggested_draw_is_at_most_all_samples(X):
    X = np.column_stack([X, np.arange(300) < 2])
    with pytest.warns(UserWarning, match=r"1 of 7 features .* Pass max_queries=300 for"):
        ls.LaplacianScore(max_queries=200, random_state=0).fit(X)


def test_from_pairs_and_when_most_samples_are_labelled(X):
    pairs = ls.Pairs(must=[(0, 3), (5, 8)], cannot=[(0, 5), (3, 299)])
    labels = np.arange(300) % 3
    for selector in FROM_LABELS:
        exact = clone(selector).fit(X, pairs=pairs).scores_
        some = clone(selector).set_params(max_queries=250, random_state=0)
        assert_allclose(some.fit(X, pairs=pairs).scores_, exact, rtol=0.2)
        if isinstance(selector, ls.ConstrainedLaplacianScore):
            with pytest.raises(ValueError, match=r"in a pair .300 of 300.*600 or more"):
                some.fit(X, labels)
        else:
            assert_allclose(
                some.fit(X, labels).scores_, clone(selector).fit(X, labels).scores_, 0.2
            )


def test_without_unlabelled_samples_lsdf_scores_are_those_of_the_formula(X):
    labels = np.arange(300) % 3
    expected = ls.scores.lsdf(X, graphs.nearest_edges(X, 5), from_labels(labels, 300), 100.0)
    assert_array_equal(ls.LSDF().fit(X, labels).scores_, expected)
    with pytest.raises(ValueError, match="n_neighbors=300"):
        ls.LSDF(n_neighbors=300).fit(X, labels)


def test_a_feature_constant_in_the_draw_is_reported(X):
    X = np.column_stack([X, np.arange(300) == 299])
    with (
        pytest.warns(UserWarning, match=r"1 of 7 features varies but.*a larger max_queries helps"),
        pytest.warns(UserWarning, match=r"6 of 7 features have no standard error"),
    ):
        found = ls.LaplacianScore(max_queries=5, random_state=0).fit(X)
    assert found.order_[-1] == 6
    assert np.isnan(found.standard_errors_[6])


def test_standard_errors_by_hand():
    """The jackknife factor of 4 groups is 3/4; drawing 10 of 20 samples halves the variance."""
    found = SimpleNamespace(
        sizes=np.array([2, 3, 3, 2]), n_others=20, counted=lambda without: without
    )
    without_group = np.array([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0], [5.0, 7.0]])
    errors = sampled.standard_errors(lambda group: without_group[group], found)
    assert_allclose(errors, [np.sqrt(10 * 3 / 4 / 2), 0.0])


def test_one_query_has_no_standard_error(X):
    found = ls.LaplacianScore(max_queries=1, random_state=0).fit(X)
    assert np.isfinite(found.scores_).all()
    assert np.isnan(found.standard_errors_).all()


@pytest.mark.usefixtures("small_draws")
def test_samples_on_a_device_give_the_same(X, y):
    strict = pytest.importorskip("array_api_strict")
    for selector in (ls.LaplacianScore(), ls.CompensatedLaplacianScore(sigma=5.0)):
        some = clone(selector).set_params(max_queries=100, random_state=0)
        expected = clone(some).fit(X, y)
        with config_context(array_api_dispatch=True):
            some.fit(strict.asarray(X), strict.asarray(y))
        for name in ("scores_", "standard_errors_"):
            assert isinstance(getattr(some, name), type(strict.asarray(X)))
            assert_allclose(to_numpy(getattr(some, name)), getattr(expected, name), rtol=1e-9)
    proposing = ls.LaplacianScore(neighbors_transformer=KNeighborsTransformer())
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="X is on a device"),
    ):
        proposing.fit(strict.asarray(X))


# -- samples outside memory ---------------------------------------------------------------------


@every_graph_selector
@pytest.mark.parametrize("max_queries", [240, 40])
@pytest.mark.usefixtures("small_draws")
def test_samples_outside_memory_give_the_same(selector, X, y, max_queries, tmp_path, sizes):
    np.save(tmp_path / "X.npy", X)
    some = clone(selector).set_params(max_queries=max_queries, random_state=0)
    if isinstance(selector, ls.ConstrainedLaplacianScore) and max_queries == 40:
        with pytest.raises(ValueError, match=r"with a label or in a pair .30 of 300.*=60 or more"):
            some.fit(tmp_path / "X.npy", y)
        return
    expected = clone(some).fit(X, y)
    # Only two columns fit in memory at a time.
    sizes(HELD_BYTES=300 * 8 * 2)
    found = some.fit(tmp_path / "X.npy", y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-10)
    assert_allclose(found.standard_errors_, expected.standard_errors_, rtol=1e-6)


@pytest.mark.parametrize("n_features", [3, 50])
def test_nearly_all_samples_outside_memory(n_features, tmp_path):
    # All neighbours are queries already, so the second search has none.
    X = np.random.default_rng(0).normal(size=(40, n_features))
    X[-1] += 100.0
    np.save(tmp_path / "X.npy", X)
    stored = as_samples(ls.open_stored(tmp_path / "X.npy"))
    found = sampled.sampled_edges(stored, 2, queries([], range(39))).counted()
    expected = sampled.sampled_edges(X, 2, queries([], range(39))).counted()
    for name in ("left", "right", "counts"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.usefixtures("small_draws")
def test_few_samples_outside_memory_stay_there(tmp_path):
    X = np.random.default_rng(0).random(size=(60, 100))
    np.save(tmp_path / "X.npy", X)
    some = ls.LaplacianScore(max_queries=30, random_state=0)
    expected = clone(some).fit(X)
    found = some.fit(tmp_path / "X.npy")
    assert np.isfinite(expected.standard_errors_).all()
    assert_allclose(found.scores_, expected.scores_, rtol=1e-10)
    assert_allclose(found.standard_errors_, expected.standard_errors_, rtol=1e-6)


def test_samples_outside_memory_are_drawn_if_they_are_many(X, tmp_path, sizes):
    sizes(QUERIES=100)
    np.save(tmp_path / "X.npy", X)
    with pytest.warns(UserWarning, match=r"300 samples stored .* only 100 samples"):
        found = ls.LaplacianScore(random_state=0).fit(tmp_path / "X.npy")
    expected = ls.LaplacianScore(random_state=0, max_queries=100).fit(X)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-10)


@pytest.mark.parametrize(
    "parameters", [{"radius": 1.0}, {"neighbors_transformer": KNeighborsTransformer()}]
)
def test_other_ways_to_find_neighbours_need_samples_in_memory(X, parameters, tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="requires the samples in memory"):
        ls.LaplacianScore(**parameters).fit(tmp_path / "X.npy")


@pytest.mark.usefixtures("small_draws")
def test_too_many_neighbours_or_labels_outside_memory_are_refused(X, y, tmp_path, sizes):
    sizes(MOST_LISTED=400, MOST_LABELLED=20)
    np.save(tmp_path / "X.npy", X)
    some = ls.LaplacianScore(n_neighbors=10, max_queries=50, random_state=0)
    with pytest.raises(ValueError, match="n_neighbors=10 for 50 samples yields 500 .*400"):
        some.fit(tmp_path / "X.npy")
    some.set_params(max_queries=40).fit(tmp_path / "X.npy")
    assert hasattr(ls.LSDF(n_neighbors=10).fit(tmp_path / "X.npy", (X[:, 0] > 0)), "scores_")
    with pytest.raises(ValueError, match="30 samples have a label.*at most 20 labels.*any number"):
        ls.ConstrainedLaplacianScore(n_neighbors=1).fit(tmp_path / "X.npy", y)


def test_mutual_neighbours_do_not_depend_on_the_batch_size(X, shrink):
    asked = queries([], range(40))
    expected = sampled.sampled_edges(X, 5, asked)
    shrink(34)
    found = sampled.sampled_edges(X, 5, asked)
    assert_array_equal(found.finds, expected.finds)


# -- proposals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@every_graph_selector
def test_proposals_of_scikit_learn_give_the_exact_graph(selector, X, y, store):
    proposing = KNeighborsTransformer(n_neighbors=10)
    found = clone(selector).set_params(neighbors_transformer=proposing).fit(store(X), y)
    assert_array_equal(found.scores_, clone(selector).fit(store(X), y).scores_)
    assert not hasattr(proposing, "n_features_in_")
    found.set_params(neighbors_transformer__n_neighbors=3)
    assert proposing.n_neighbors == 3


def test_proposals_are_compared_exactly():
    # In float32 the rows are equal, so proposals come in row order.
    X = 1e8 + np.array([[0.0], [3.0], [1.0], [7.0]])
    proposals = sparse.csr_array(np.ones((4, 4)))
    found, exact = graphs.proposed_edges(X, proposals, 1), graphs.nearest_edges(X, 1)
    for name in ("left", "right", "weights"):
        assert_array_equal(getattr(found, name), getattr(exact, name))


class Proposing(TransformerMixin, BaseEstimator):
    """Return the given proposals."""

    def __init__(self, proposals=None):
        self.proposals = proposals

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.proposals


def test_stored_zeros_and_repeated_proposals_count(X):
    left, right = graphs.nearest(X, 8)[:2]
    twice = np.r_[left, left], np.r_[right, right]
    proposals = sparse.coo_array((np.zeros(len(twice[0])), twice), shape=(300, 300))
    found = ls.LaplacianScore(neighbors_transformer=Proposing(proposals)).fit(X)
    assert_array_equal(found.scores_, ls.LaplacianScore().fit(X).scores_)


def test_too_few_proposals_are_reported(X):
    few = KNeighborsTransformer(n_neighbors=4)
    with pytest.warns(UserWarning, match=r"fewer than n_neighbors=5 other samples for 300 of 300"):
        found = ls.LaplacianScore(neighbors_transformer=few).fit(X)
    assert_array_equal(found.scores_, ls.LaplacianScore(n_neighbors=4).fit(X).scores_)
    some = RadiusNeighborsTransformer(radius=4.0)
    with pytest.warns(UserWarning, match=r"Configure the transformer to return more"):
        ls.LaplacianScore(neighbors_transformer=some).fit(X)


@pytest.mark.parametrize(
    ("proposals", "message"),
    [
        (np.ones((300, 300)), "returned ndarray, not a SciPy sparse matrix of shape"),
        (sparse.csr_array((300, 6)), r"shape \(300, 6\), not"),
    ],
)
def test_invalid_proposals_are_refused(X, proposals, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ls.LaplacianScore(neighbors_transformer=Proposing(proposals)).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_queries": 0}, "'max_queries' parameter"),
        ({"max_queries": 2.5}, "'max_queries' parameter"),
        ({"neighbors_transformer": "faiss"}, "'neighbors_transformer' parameter"),
        ({"max_queries": 9, "radius": 1.0}, "radius and max_queries are alternative"),
        (
            {"max_queries": 9, "neighbors_transformer": KNeighborsTransformer()},
            "neighbors_transformer and max_queries are alternative",
        ),
        ({"max_queries": 9, "n_neighbors": 300}, "n_neighbors=300"),
    ],
)
def test_incompatible_parameters_are_refused(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        ls.LaplacianScore(**parameters).fit(X)
