"""The scikit-learn surface of every selector."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkselect as ls
from test_cluster import CLUSTERERS

# The one list that the common tests run over: every selector, with the options that change its way.
UNSUPERVISED = [ls.VarianceScore(), ls.LaplacianScore(), ls.SpectralScore(style=1)]
UNSUPERVISED += [ls.SpectralScore(), ls.SpectralScore(style=3)]
UNSUPERVISED += [ls.SparsityScore(), ls.SparsityScore(graph="l2"), ls.SparsityScore(graph="lle")]
UNSUPERVISED += [ls.SparsityScore(form="tolerance", tolerance=1e3)]
SUPERVISED = [ls.FisherScore(), ls.FRLL(), ls.FRLL(criterion="difference", neighbors="per_class")]
SUPERVISED += [ls.ReliefF(), ls.ReliefF(discrete=True), ls.FisherMarkov()]
SEARCHES = [ls.MRMR(), ls.MRMR(scheme="quotient", discretize="quantile"), ls.FCBF()]
PAIRWISE = [
    ls.ConstraintScore(),
    ls.ConstraintScore(criterion="difference"),
    ls.LSDF(),
    ls.LaplacianConstraintScore(),
    ls.ConstrainedLaplacianScore(),
    ls.ConstrainedLaplacianScore(variant="2014"),
    ls.CompensatedLaplacianScore(),
    ls.SCGS(),
    ls.EnsembleCLS(n_estimators=10, random_state=0),
    ls.SimilarityConstraintScore(),
    ls.SimilarityConstraintScore(mode="semi-supervised", sigma="target"),
    ls.SimilarityConstraintScore(0.5, mode="semi-supervised", max_pairs=50, random_state=0),
]
SUPERVISED += [ls.TraceRatio()]
PARTLY_LABELLED = [ls.NearestNeighborSFS(), ls.NearestNeighborSFS(cv=2)]
# The wrappers, each around a selector of another kind; their own tests are in test_wrappers.py.
WRAPPERS = [
    ls.StableSelector(ls.FisherScore(), n_resamples=10, random_state=0),
    ls.StableSelector(ls.ConstraintScore(criterion="difference"), n_resamples=10, random_state=0),
    ls.Redundancy(ls.FisherScore()),
    ls.Redundancy(ls.VarianceScore()),
]
SELECTORS = [*UNSUPERVISED, *SUPERVISED, *SEARCHES, *PAIRWISE, *PARTLY_LABELLED]
# Greedy methods and subset scores: their order is not that of the features alone.
SEARCHING = (ls.SimilarityConstraintScore, ls.TraceRatio, ls.NearestNeighborSFS)

every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)
every_pair_selector = pytest.mark.parametrize("selector", PAIRWISE, ids=repr)
every_partly_labelled = pytest.mark.parametrize("selector", [*PAIRWISE, *PARTLY_LABELLED], ids=repr)


# The checks have data of few features, which SparsityScore rebuilds exactly.
@pytest.mark.filterwarnings("ignore:All .* are rebuilt exactly:UserWarning")
@parametrize_with_checks(SELECTORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_list_has_every_selector():
    public = {getattr(ls, name) for name in ls.__all__}
    selectors = {cls for cls in public if issubclass(cls, SelectorMixin)}
    clusterers = {type(clusterer) for clusterer in CLUSTERERS}
    wrappers = {type(wrapper) for wrapper in WRAPPERS}
    assert {type(selector) for selector in SELECTORS} == selectors - wrappers
    assert public == selectors | clusterers | {ls.Pairs, ls.ScoreFunction}


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


@pytest.fixture
def pairs(iris):
    return ls.Pairs.from_labels(iris[1], n_must=20, n_cannot=20, random_state=0)


@every_selector
def test_what_a_fit_leaves(selector, iris):
    fitted = selector.fit(*iris)
    assert sorted(fitted.ranking_) == [1, 2, 3, 4]
    assert_array_equal(fitted.ranking_[fitted.order_], [1, 2, 3, 4])
    best = fitted.scores_[fitted.order_]
    best = best if fitted.greater_is_better else -best
    if isinstance(fitted, SEARCHING):
        path = fitted.path_ if fitted.greater_is_better else -fitted.path_
        assert 1 <= len(path) <= 4
        assert path[0] == pytest.approx(best.max())
    elif not hasattr(fitted, "path_"):  # mRMR goes by what a feature adds
        assert (np.diff(best) <= 0).all()
    similar = isinstance(fitted, ls.SimilarityConstraintScore)
    own_count = similar and fitted.n_features_to_select == "auto"
    expected = fitted.path_.argmin() + 1 if own_count else 2
    assert fitted.n_features_ == fitted.support_.sum() == expected
    assert_array_equal(fitted.transform(iris[0]), iris[0][:, fitted.support_])
    assert fitted.inverse_transform(fitted.transform(iris[0])).shape == iris[0].shape


@every_selector
def test_frames_in_frames_out(selector, iris):
    X, y = iris
    names = ["a", "b", "c", "d"]
    expected = selector.fit(X, y)
    kept = [name for name, chosen in zip(names, expected.support_, strict=True) if chosen]
    for library, frame in (
        ("pandas", pd.DataFrame(X, columns=names)),
        ("polars", pl.DataFrame(X, schema=names)),
    ):
        fitted = clone(selector).set_output(transform=library).fit(frame, y)
        # A frame may be stored by columns, which changes the order of sums.
        assert_allclose(fitted.scores_, expected.scores_, rtol=1e-12)
        assert_array_equal(fitted.feature_names_in_, names)
        assert_array_equal(fitted.get_feature_names_out(), kept)
        small = fitted.transform(frame)
        assert type(small) is type(frame)
        assert list(small.columns) == kept
        table = fitted.to_frame(library)
        assert list(table.columns) == ["feature", "score", "rank", "selected"]
        assert list(table["feature"]) == [names[i] for i in fitted.order_]
        assert list(table["rank"]) == [1, 2, 3, 4]


@every_selector
def test_pickle_and_clone(selector, iris):
    fitted = selector.fit(*iris)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.transform(iris[0]), fitted.transform(iris[0]))
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "scores_")


@every_selector
@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_in_sparse_out(selector, store, iris):
    X, y = iris
    stored = store(X)
    small = selector.fit(stored, y).transform(stored)
    assert sparse.issparse(small)
    assert_array_equal(small.toarray(), selector.fit(X, y).transform(X))


def test_sparse_with_repeated_entries_is_summed_and_left_alone():
    X = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [0, 0, 1])), shape=(3, 2))
    repeated = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3, 3])), shape=(3, 2)
    )
    found = ls.VarianceScore().fit(repeated).scores_
    np.testing.assert_allclose(found, X.toarray().var(axis=0))
    assert repeated.nnz == 3


@pytest.mark.parametrize(
    ("wanted", "kept"), [("auto", 2), (1, 1), (4, 4), (0.5, 2), (0.25, 1), (0.01, 1), (1.0, 4)]
)
def test_number_of_features(wanted, kept, iris):
    assert ls.VarianceScore(wanted).fit(*iris).n_features_ == kept


def test_one_feature_can_be_kept():
    assert ls.VarianceScore().fit(np.arange(5.0)[:, None]).n_features_ == 1


# -- what each method may see ------------------------------------------------------------------


@every_pair_selector
def test_shuffling_y_changes_nothing_when_pairs_are_given(selector, iris, pairs):
    X, y = iris
    other = np.random.default_rng(0).permutation(y)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(MinMaxScaler(), clone(selector), KNeighborsClassifier(1))
        found = pipe.fit(X, y, pairs=pairs)[1].scores_
        assert_array_equal(pipe.fit(X, other, pairs=pairs)[1].scores_, found)
    assert_array_equal(clone(selector).fit(X, "not even labels", pairs=pairs).scores_, found)


@pytest.mark.parametrize("selector", UNSUPERVISED, ids=repr)
def test_unsupervised_selectors_ignore_y_and_pairs(selector, iris, pairs):
    X, y = iris
    found = selector.fit(X).scores_
    assert_array_equal(selector.fit(X, y, pairs=pairs).scores_, found)
    assert_array_equal(selector.fit(X, ["any", "thing"]).scores_, found)


@every_partly_labelled
@pytest.mark.parametrize("nothing", [-1, None, np.nan, pd.NA])
def test_every_way_to_say_unlabelled(selector, nothing, iris):
    X, y = iris
    partial = y.copy()
    partial[::3] = -1
    as_objects = partial.astype(object)
    as_objects[::3] = nothing
    expected = selector.fit(X, partial).scores_
    assert_array_equal(selector.fit(X, as_objects).scores_, expected)
    as_text = np.array(["low", "mid", "top"], dtype=object)[y]
    as_text[::3] = nothing
    assert_array_equal(selector.fit(X, as_text).scores_, expected)
    assert_array_equal(selector.fit(X, pd.Series(as_text)).scores_, expected)


@every_partly_labelled
def test_float_labels_with_nan(selector, iris):
    X, y = iris
    partial = np.where(np.arange(150) % 3 == 0, np.nan, y)
    expected = selector.fit(X, np.where(np.isnan(partial), -1, y)).scores_
    assert_array_equal(selector.fit(X, partial).scores_, expected)


@every_pair_selector
def test_pairs_by_any_id(selector, iris, pairs):
    X, _ = iris
    ids = [("sample", i) for i in range(150)]
    named = ls.Pairs(
        [(ids[a], ids[b]) for a, b in pairs.must], [(ids[a], ids[b]) for a, b in pairs.cannot]
    )
    expected = selector.fit(X, pairs=pairs).scores_
    assert_array_equal(selector.fit(X, pairs=named, sample_ids=ids).scores_, expected)
    frame = pd.DataFrame(X, index=pd.Index([f"s{i}" for i in range(150)]))
    by_index = ls.Pairs(
        [(f"s{a}", f"s{b}") for a, b in pairs.must], [(f"s{a}", f"s{b}") for a, b in pairs.cannot]
    )
    assert_allclose(selector.fit(frame, pairs=by_index).scores_, expected, rtol=1e-12)


# -- pipelines and cross-validation --------------------------------------------------------------


@every_pair_selector
def test_pairs_survive_cross_validation(selector):
    X, y = load_breast_cancer(return_X_y=True)
    ids = np.array([f"patient {i}" for i in range(len(y))])
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=40, n_cannot=40, random_state=0)
    folds = KFold(5, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(MinMaxScaler(), clone(selector), KNeighborsClassifier(1))
        found = cross_validate(
            pipe,
            X,
            y,
            cv=folds,
            params={"pairs": pairs, "sample_ids": ids},
            return_estimator=True,
            error_score="raise",
        )
    assert found["test_score"].min() > 0.8
    for model, (train, _) in zip(found["estimator"], folds.split(X), strict=True):
        scaled = MinMaxScaler().fit_transform(X[train])
        alone = clone(selector).fit(scaled, pairs=pairs, sample_ids=ids[train])
        assert_array_equal(model[1].scores_, alone.scores_)


def test_pandas_brings_its_ids_into_a_fold():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pairs = ls.Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    folds = KFold(5, shuffle=True, random_state=1)
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            make_pipeline(ls.ConstraintScore(), KNeighborsClassifier(1)),
            X,
            y,
            cv=folds,
            params={"pairs": pairs},
            return_estimator=True,
            error_score="raise",
        )
    assert found["test_score"].min() > 0.8
    for model, (train, _) in zip(found["estimator"], folds.split(X), strict=True):
        alone = ls.ConstraintScore().fit(X.to_numpy()[train], pairs=pairs, sample_ids=train)
        assert_array_equal(model[0].scores_, alone.scores_)


def test_grid_search_with_requested_pairs(iris):
    X, y = iris
    ids = np.arange(1000, 1150)
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=40, n_cannot=40, random_state=0)
    with config_context(enable_metadata_routing=True):
        selector = ls.ConstraintScore().set_fit_request(pairs=True, sample_ids=True)
        search = GridSearchCV(
            make_pipeline(selector, KNeighborsClassifier(1)),
            {
                "constraintscore__n_features_to_select": [1, 2, 3],
                "constraintscore__criterion": ["ratio", "difference"],
            },
            cv=KFold(5, shuffle=True, random_state=0),
            error_score="raise",
        )
        search.fit(X, y, pairs=pairs, sample_ids=ids)
    assert search.best_score_ > 0.9


def test_without_routing_step_parameters_work(iris, pairs):
    pipe = make_pipeline(ls.ConstraintScore(), KNeighborsClassifier(1))
    pipe.fit(*iris, constraintscore__pairs=pairs)
    expected = ls.ConstraintScore().fit(iris[0], pairs=pairs).scores_
    assert_array_equal(pipe[0].scores_, expected)


def test_n_jobs_in_worker_processes(iris, pairs):
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            make_pipeline(ls.LSDF(), KNeighborsClassifier(1)),
            *iris,
            cv=KFold(5, shuffle=True, random_state=0),
            n_jobs=2,
            params={"pairs": pairs, "sample_ids": np.arange(150)},
            error_score="raise",
        )
    assert found["test_score"].min() > 0.8


# -- degenerate features ---------------------------------------------------------------------------


@every_selector
def test_constant_features_rank_last_with_one_warning(selector):
    X, y = make_blobs(40, 5, centers=3, random_state=0)
    X = MinMaxScaler().fit_transform(X)
    X[:, [1, 3]] = [0.1, 7.0]  # 0.1 is not exact in binary: its mean may differ from itself
    with pytest.warns(UserWarning, match="2 of 5 features are constant") as caught:
        fitted = clone(selector).fit(X, y)
    assert len(caught) == 1
    if fitted._constant_is_undefined:
        assert_array_equal(np.isnan(fitted.scores_), [False, True, False, True, False])
        assert_array_equal(fitted.order_[-2:], [1, 3])
    elif isinstance(fitted, SEARCHING):
        # Whatever the formula says of a feature that tells nothing, it says of both.
        assert fitted.scores_[1] == fitted.scores_[3]
    else:
        assert_array_equal(fitted.scores_[[1, 3]], [0, 0])


def test_infinite_scores_rank_last_when_small_is_good_and_first_when_large_is():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 2.0]])
    assert_array_equal(ls.FisherScore().fit(X, [0, 0, 1, 1]).scores_[0], np.inf)
    assert ls.FisherScore().fit(X, [0, 0, 1, 1]).order_[0] == 0
    pairs = ls.Pairs(must=[(0, 2)], cannot=[(0, 1)])
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=pairs).scores_, [np.inf, 0.0])
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=pairs).order_, [1, 0])


def test_features_that_do_not_vary_over_the_pairs_are_reported():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [5.0, 2.0]])
    pairs = ls.Pairs(must=[(0, 1)], cannot=[(1, 3)])
    X[3, 0] = 0.0
    with pytest.warns(UserWarning, match="1 of 2 features vary, but have no score") as caught:
        fitted = ls.ConstraintScore().fit(X, pairs=pairs)
    assert len(caught) == 1
    assert np.isnan(fitted.scores_[0])


def test_ties_go_by_index():
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert_array_equal(ls.VarianceScore().fit(X).order_, [0, 1, 2])


@every_selector
def test_no_warning_from_numpy(selector):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (30, 6)) * np.array([1e-80, 1.0, 1e3, 0.0, 1e-30, 1e8])
    y = rng.integers(0, 3, 30)
    selector = clone(selector)
    if "sigma" in selector.get_params():
        selector.set_params(sigma="auto")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector.fit(X, y)
    assert all(issubclass(warning.category, UserWarning) for warning in caught)


def test_warnings_point_at_the_line_of_the_user():
    X = np.ones((10, 3))
    with pytest.warns(UserWarning, match="constant") as caught:
        ls.VarianceScore().fit(X)
    assert caught[0].filename == __file__
    pairs = ls.Pairs(must=[(0, 1), (20, 21)], cannot=[(0, 2), (22, 23), (24, 25)])
    with pytest.warns(UserWarning, match="3 of 5 pairs") as caught:
        ls.ConstraintScore().fit(
            np.random.default_rng(0).random((10, 3)), pairs=pairs, sample_ids=range(10)
        )
    assert caught[0].filename == __file__


def test_row_numbers_are_not_taken_for_index_labels():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    mixed = np.random.default_rng(0).permutation(len(X))[:400]
    X, y = X.iloc[mixed], y.iloc[mixed]
    by_row = ls.Pairs.from_labels(y.to_numpy(), n_must=20, n_cannot=20, random_state=0)
    with pytest.raises(ValueError, match=r"the index of X does not.*sample_ids=range\(400\)"):
        ls.ConstraintScore().fit(X, pairs=by_row)
    expected = ls.ConstraintScore().fit(X.to_numpy(), pairs=by_row).scores_
    found = ls.ConstraintScore().fit(X, pairs=by_row, sample_ids=range(400)).scores_
    assert_array_equal(found, expected)
    by_id = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=by_id).scores_, expected)


def test_n_jobs_1_starts_no_thread(monkeypatch, iris):
    from linkselect import blocks

    def refuse(*_):
        raise AssertionError("a thread pool was started")

    monkeypatch.setattr(blocks, "_share_out", refuse)
    for selector in SELECTORS:
        if "n_jobs" in selector.get_params():
            clone(selector).set_params(n_jobs=1).fit(*iris)


def test_callbacks_see_the_fit(iris):
    class Recorder:
        def __init__(self):
            self.seen = []

        def setup(self, estimator, context):
            self.seen.append("setup")

        def on_fit_task_begin(self, estimator, context):
            self.seen.append("begin")

        def on_fit_task_end(self, estimator, context):
            self.seen.append("end")

        def teardown(self, estimator, context):
            self.seen.append("teardown")

    recorder = Recorder()
    ls.LSDF().set_callbacks(recorder).fit(*iris)
    assert recorder.seen == ["setup", "begin", "end", "teardown"]


def test_frames_are_made_by_known_libraries_only(iris):
    with pytest.raises(ValueError, match="library='os'"):
        ls.VarianceScore().fit(*iris).to_frame("os")
