"""The scikit-learn interface of every selector."""

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
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import linkselect as ls
from tests.helpers.estimators import (
    CLUSTERERS,
    COMBINED,
    SEARCHING,
    SELECTORS,
    UNSUPERVISED,
    WRAPPERS,
    every_pair_selector,
    every_partly_labelled,
    every_search,
    every_selector,
)
from tests.helpers.fitting import needs_callbacks


# The checks use data with few features, which SparsityScore reconstructs exactly.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All .* are reconstructed exactly:UserWarning")
@parametrize_with_checks(SELECTORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_list_has_every_selector():
    public = {getattr(ls, name) for name in ls.__all__}
    classes = {each for each in public if isinstance(each, type)}
    selectors = {cls for cls in classes if issubclass(cls, SelectorMixin)}
    clusterers = {type(clusterer) for clusterer in CLUSTERERS}
    wrappers = {type(wrapper) for wrapper in [*WRAPPERS, *COMBINED]}
    assert {type(selector) for selector in SELECTORS} == selectors - wrappers
    assert classes == selectors | clusterers | {ls.Pairs, ls.AsScoreFunction}
    assert public - classes == {ls.center_batches, ls.compare, ls.open_stored}


@pytest.fixture
def iris(iris):
    """Return every other flower: most of these tests fit every selector several times."""
    X, y = iris
    return X[::2], y[::2]


@pytest.fixture
def pairs(iris):
    return ls.Pairs.from_labels(iris[1], n_must=20, n_cannot=20, random_state=0)


@every_selector
def test_fitted_attributes(selector, iris):
    fitted = selector.fit(*iris)
    assert sorted(fitted.ranking_) == [1, 2, 3, 4]
    assert_array_equal(fitted.ranking_[fitted.order_], [1, 2, 3, 4])
    best = fitted.scores_[fitted.order_]
    best = best if fitted.greater_is_better else -best
    if isinstance(fitted, SEARCHING):
        path = fitted.path_ if fitted.greater_is_better else -fitted.path_
        assert 1 <= len(path) <= 4
        assert path[0] == pytest.approx(best.max())
    elif not hasattr(fitted, "path_"):  # mRMR ranks by what a feature adds
        assert (np.diff(best) <= 0).all()
    similar = isinstance(fitted, ls.SimilarityConstraintScore)
    own_count = similar and fitted.n_features_to_select == "auto"
    expected = fitted.path_.argmin() + 1 if own_count else 2
    if isinstance(fitted, ls.LinkSelector):
        expected = len(fitted.path_)
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
        assert list(table.columns) == ["feature", "score", "rank", "selected", "reason"]
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


# -- supervision that each method uses ---------------------------------------------------------


@every_pair_selector
def test_shuffling_y_changes_nothing_when_pairs_are_given(selector, iris, pairs):
    X, y = iris
    other = np.random.default_rng(0).permutation(y)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(MinMaxScaler(), clone(selector), KNeighborsClassifier(1))
        found = pipe.fit(X, y, pairs=pairs)[1].scores_
        assert_array_equal(pipe.fit(X, other, pairs=pairs)[1].scores_, found)
    scaled = MinMaxScaler().fit_transform(X)
    assert_array_equal(clone(selector).fit(scaled, "not even labels", pairs=pairs).scores_, found)


@pytest.mark.parametrize("selector", UNSUPERVISED, ids=repr)
def test_unsupervised_selectors_ignore_y_and_pairs(selector, iris, pairs):
    X, y = iris
    found = selector.fit(X).scores_
    assert_array_equal(selector.fit(X, y, pairs=pairs).scores_, found)
    assert_array_equal(selector.fit(X, ["any", "thing"]).scores_, found)


@every_partly_labelled
@pytest.mark.parametrize("nothing", [-1, None, np.nan, pd.NA])
def test_every_marker_of_unlabelled_samples(selector, nothing, iris):
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
    partial = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    expected = selector.fit(X, np.where(np.isnan(partial), -1, y)).scores_
    assert_array_equal(selector.fit(X, partial).scores_, expected)


@every_pair_selector
def test_pairs_by_any_id(selector, iris, pairs):
    X, _ = iris
    ids = [("sample", i) for i in range(len(X))]
    named = ls.Pairs(
        [(ids[a], ids[b]) for a, b in pairs.must], [(ids[a], ids[b]) for a, b in pairs.cannot]
    )
    expected = selector.fit(X, pairs=pairs).scores_
    assert_array_equal(selector.fit(X, pairs=named, sample_ids=ids).scores_, expected)
    frame = pd.DataFrame(X, index=pd.Index([f"s{i}" for i in range(len(X))]))
    by_index = ls.Pairs(
        [(f"s{a}", f"s{b}") for a, b in pairs.must], [(f"s{a}", f"s{b}") for a, b in pairs.cannot]
    )
    assert_allclose(selector.fit(frame, pairs=by_index).scores_, expected, rtol=1e-12)


@pytest.mark.slow
@every_pair_selector
def test_pairs_survive_cross_validation(selector, cancer):
    X, y = cancer
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
    # A fold has 38 samples, so the smallest of five accuracies is mostly chance.
    assert found["test_score"].mean() > 0.85
    for model, (train, _) in zip(found["estimator"], folds.split(X), strict=True):
        scaled = MinMaxScaler().fit_transform(X[train])
        alone = clone(selector).fit(scaled, pairs=pairs, sample_ids=ids[train])
        assert_array_equal(model[1].scores_, alone.scores_)


# -- degenerate features, warnings, threads ----------------------------------------------------


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
        # The formula gives both constant features the same score.
        assert fitted.scores_[1] == fitted.scores_[3]
    else:
        assert_array_equal(fitted.scores_[[1, 3]], [0, 0])


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


def test_n_jobs_1_starts_no_thread(monkeypatch, iris):

    def refuse(*_):
        raise AssertionError("a thread was started")

    monkeypatch.setattr("threading.Thread.start", refuse)
    # By default there are as many threads as BLAS may have.
    with threadpool_limits(2, "blas"):
        for selector in SELECTORS:
            if "n_jobs" in selector.get_params():
                clone(selector).set_params(n_jobs=1).fit(*iris)


# -- searches: sparse data, numbers of features, progress and interruption ---------------------


@every_search
def test_a_search_of_sparse_data_finds_the_same(selector, wine):
    X, y = wine
    dense = clone(selector).fit(X, y)
    stored = clone(selector).fit(sparse.csr_array(X), y)
    assert_array_equal(stored.order_, dense.order_)
    assert_allclose(stored.path_, dense.path_, rtol=1e-12)


@pytest.mark.parametrize(("wanted", "kept"), [(3, 3), (0.5, 6), (1.0, 13)])
@pytest.mark.parametrize("search", SEARCHING)
def test_number_of_features_of_a_search(search, wanted, kept, wine):
    found = search(wanted).fit(*wine)
    assert found.n_features_ == len(found.path_) == kept


@pytest.mark.parametrize("selector", SEARCHING)
def test_more_features_than_there_are(selector, wine):
    with pytest.raises(ValueError, match=r"n_features_to_select=14, but X has 13 features. Choose"):
        selector(14).fit(*wine)


class Recorder:
    """A callback that counts steps, and can interrupt or end the fit."""

    def __init__(self, interrupt_at=None, stop_at=None):
        self.begun = self.ended = 0
        self.max_steps = None
        self.interrupt_at, self.stop_at = interrupt_at, stop_at

    def setup(self, estimator, context):
        self.max_steps = context.max_subtasks

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **_):
        if context.task_name == "step":
            self.begun += 1
            if self.begun == self.interrupt_at:
                raise KeyboardInterrupt

    def on_fit_task_end(self, estimator, context, **_):
        if context.task_name == "step":
            self.ended += 1
            return self.ended == self.stop_at
        return False


@needs_callbacks
@every_search
def test_every_step_is_reported(selector, wine):
    recorder = Recorder()
    fitted = clone(selector).set_callbacks(recorder).fit(*wine)
    assert recorder.begun == recorder.ended == len(fitted.path_)
    assert_array_equal(fitted.order_, clone(selector).fit(*wine).order_)


@needs_callbacks
@every_search
def test_a_progress_bar_can_be_set(selector, wine, capsys):
    from sklearn.callback import ProgressBar

    clone(selector).set_callbacks(ProgressBar()).fit(*wine)
    assert type(selector).__name__ in capsys.readouterr().out


@needs_callbacks
@every_search
def test_a_callback_can_end_the_search(selector, wine):
    fitted = clone(selector).set_callbacks(Recorder(stop_at=2)).fit(*wine)
    assert len(fitted.path_) == 2
    assert sorted(fitted.order_) == list(range(13))


@needs_callbacks
@every_search
def test_an_interrupted_fit_leaves_the_object_as_it_was(selector, wine):
    X, y = wine
    fresh = clone(selector).set_callbacks(Recorder(interrupt_at=2))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not [name for name in vars(fresh) if name.endswith("_") and name[0] != "_"]
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    fitted = clone(selector).fit(X, y)
    before = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    fitted.set_callbacks(Recorder(interrupt_at=2))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:, :7], y)
    after = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert fitted.transform(X).shape == (len(X), fitted.n_features_)
