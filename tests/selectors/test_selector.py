"""The base class of all selectors: warnings, ids, pipelines, callbacks, data frames."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import linkselect as ls
from tests.helpers.fitting import needs_callbacks


@pytest.fixture
def pairs(iris):
    return ls.Pairs.from_labels(iris[1], n_must=20, n_cannot=20, random_state=0)


def test_features_that_do_not_vary_over_the_pairs_are_reported():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [5.0, 2.0]])
    pairs = ls.Pairs(must=[(0, 1)], cannot=[(1, 3)])
    X[3, 0] = 0.0
    with pytest.warns(UserWarning, match="1 of 2 features varies but has no score") as caught:
        fitted = ls.ConstraintScore().fit(X, pairs=pairs)
    assert len(caught) == 1
    assert np.isnan(fitted.scores_[0])


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


def test_an_unfitted_selector_raises_only_that_error():
    X, _ = load_breast_cancer(return_X_y=True, as_frame=True)
    with pytest.raises(NotFittedError, match="not fitted yet"):  # and no warning about names
        ls.FisherScore().transform(X)


def test_row_numbers_are_not_used_as_index_labels():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    mixed = np.random.default_rng(0).permutation(len(X))[:400]
    X, y = X.iloc[mixed], y.iloc[mixed]
    by_row = ls.Pairs.from_labels(y.to_numpy(), n_must=20, n_cannot=20, random_state=0)
    with pytest.raises(ValueError, match=r"the index of X contains other.*sample_ids=range\(400\)"):
        ls.ConstraintScore().fit(X, pairs=by_row)
    expected = ls.ConstraintScore().fit(X.to_numpy(), pairs=by_row).scores_
    found = ls.ConstraintScore().fit(X, pairs=by_row, sample_ids=range(400)).scores_
    assert_array_equal(found, expected)
    by_id = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    assert_array_equal(ls.ConstraintScore().fit(X, pairs=by_id).scores_, expected)


@needs_callbacks
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


@pytest.mark.parametrize(
    ("library", "package"), [("pandas", r"'linkselect\[frame\]'"), ("polars", "polars")]
)
def test_a_frame_without_its_library_says_what_to_install(library, package, iris, monkeypatch):
    fitted = ls.VarianceScore().fit(*iris)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"needs {library}.*pip install {package}.*order_"):
        fitted.to_frame(library)


# -- pipelines and cross-validation ------------------------------------------------------------


def test_a_pandas_index_gives_the_ids_in_a_fold():
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


def test_step_parameters_work_without_routing(iris, pairs):
    pipe = make_pipeline(ls.ConstraintScore(), KNeighborsClassifier(1))
    pipe.fit(*iris, constraintscore__pairs=pairs)
    expected = ls.ConstraintScore().fit(iris[0], pairs=pairs).scores_
    assert_array_equal(pipe[0].scores_, expected)


@pytest.mark.slow
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
