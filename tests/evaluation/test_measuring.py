from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from linkselect import (
    LSDF,
    ConstraintScore,
    FisherScore,
    Pairs,
    StableSelector,
    VarianceScore,
    compare,
)
from linkselect.evaluation._curves import RANDOM
from tests.helpers.compared import two_classes


def test_accuracy_is_that_of_a_classifier_on_the_test_rows():
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.neighbors import KNeighborsClassifier

    X, y = two_classes()
    found = compare({"fisher": FisherScore()}, X, y, n_features=[1, 4], n_splits=3, random_state=5)
    splits = StratifiedShuffleSplit(3, test_size=0.2, random_state=5).split(X, y)
    for run, (train, test) in enumerate(splits):
        order = FisherScore().fit(X[train], y[train]).order_
        for point, count in enumerate([1, 4]):
            kept = order[:count]
            model = KNeighborsClassifier(1).fit(X[train][:, kept], y[train])
            expected = model.score(X[test][:, kept], y[test])
            assert found.accuracy["fisher"].values[run, point] == pytest.approx(expected)


def test_scaling_is_learned_from_training_rows_only():
    X, y = two_classes()
    found = compare(
        {"variance": VarianceScore()}, X, y, prepare=MinMaxScaler(), n_splits=3, n_features=[1]
    )
    assert found.rankings["variance"][0] == int(np.argmax(MinMaxScaler().fit_transform(X).var(0)))


@pytest.mark.parametrize("frames", [pandas, polars])
def test_what_prepares_may_make_frames(frames):
    X, y = two_classes()
    scaler = MinMaxScaler().set_output(transform=frames.__name__)
    pairs = Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    found, expected = (
        compare({"constraint": ConstraintScore()}, X, y, pairs=pairs, prepare=one, n_splits=2)
        for one in (scaler, MinMaxScaler())
    )
    assert len(found.measures) == 2
    assert [one.means for one in found.measures] == [one.means for one in expected.measures]


def test_unlabelled_rows_are_for_methods_that_can_use_them():
    X, y = two_classes()
    partial = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    found = compare({"fisher": FisherScore(), "lsdf": LSDF()}, X, partial, n_splits=3)
    assert set(found.rankings["fisher"][:2]) == {0, 1}
    labelled = partial >= 0
    assert tuple(FisherScore(12).fit(X[labelled], y[labelled]).order_) == found.rankings["fisher"]
    assert tuple(LSDF(12).fit(X, partial).order_) == found.rankings["lsdf"]


def test_pairs_by_row_and_by_id():
    X, y = two_classes()
    pairs = Pairs.from_labels(y, n_must=60, n_cannot=60, random_state=0)
    by_row = compare({"constraint": ConstraintScore()}, X, y, pairs=pairs, n_splits=3)
    names = [f"s{i}" for i in range(len(y))]
    named = Pairs.from_labels(y, sample_ids=names, n_must=60, n_cannot=60, random_state=0)
    by_id = compare(
        {"constraint": ConstraintScore()}, X, y, pairs=named, sample_ids=names, n_splits=3
    )
    assert by_row.rankings == by_id.rankings
    np.testing.assert_array_equal(
        by_row.accuracy["constraint"].values, by_id.accuracy["constraint"].values
    )


def test_ties_of_counts_do_not_depend_on_storage():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (50, 5)), rng.integers(0, 3, 50)
    dense, sparse = (
        compare({"fisher": FisherScore()}, store(X), y, n_splits=3, n_features=[1, 3])
        for store in (np.asarray, csr_array)
    )
    for name in dense.accuracy:
        np.testing.assert_array_equal(dense.accuracy[name].values, sparse.accuracy[name].values)
    assert dense.all_features == sparse.all_features


def test_sparse_and_another_classifier():
    X, y = two_classes()
    methods = {"fisher": FisherScore()}
    dense = compare(methods, X, y, n_splits=3, n_features=[1, 2])
    sparse = compare(methods, csr_array(X), y, n_splits=3, n_features=[1, 2])
    np.testing.assert_allclose(
        dense.accuracy["fisher"].values, sparse.accuracy["fisher"].values, atol=1e-12
    )
    tree = DecisionTreeClassifier(random_state=0)
    assert compare(methods, X, y, n_splits=2, classifier=tree).classifier == (
        "DecisionTreeClassifier"
    )


def test_what_each_method_used():
    X, y = two_classes()
    drawn = Pairs.from_labels(y, n_must=30, n_cannot=20, random_state=0)
    pairs = Pairs(must=drawn.must, cannot=[*drawn.cannot, (4, 999)])  # one names a missing sample
    methods = {
        "fisher": FisherScore(),
        "stable": StableSelector(FisherScore(), n_resamples=3, random_state=0),
        "constraint": ConstraintScore(),
        "variance": VarianceScore(),
    }
    y = np.where(np.arange(120) < 100, y, -1)
    found = compare(methods, X, y, pairs=pairs, n_splits=2, random_state=3)
    assert found.saw == {
        "fisher": "the labels of 100 samples",
        "stable": "the labels of 100 samples",
        "constraint": "50 pairs",
        "variance": "neither labels nor pairs",
    }
    assert found.to_dict()["saw"] == found.saw
    assert "the labels of 100 samples (fisher, stable); 50 pairs (constraint)" in " ".join(
        found.summary
    )
    alike = compare({"constraint": ConstraintScore()}, X, y, n_splits=2)
    assert alike.saw == {"constraint": "the labels of 100 samples"}
    assert "constraint used the labels of 100 samples." in " ".join(alike.summary)


class SlowAtFirst(VarianceScore):
    """A selector whose first fit is slow, as if it had to load or compile something."""

    n_fits: ClassVar[int] = 0

    def _score(self, X, known):
        self._clock.now += 100.0 if SlowAtFirst.n_fits == 0 else 1.0
        SlowAtFirst.n_fits += 1
        return np.arange(X.shape[1], dtype=float)


def test_the_time_does_not_count_what_is_loaded_once(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(SlowAtFirst, "_clock", clock, raising=False)
    monkeypatch.setattr(SlowAtFirst, "n_fits", 0)
    monkeypatch.setattr("linkselect.evaluation._measuring.time.perf_counter", lambda: clock.now)
    X, y = two_classes()
    assert compare({"slow": SlowAtFirst()}, X, y, n_splits=3).seconds == {"slow": 1.0}


def test_all_features_are_measured_as_the_curves_are():
    """Ties must be broken consistently, or all features would beat themselves."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, size=(80, 3)).astype(float), rng.integers(0, 2, size=80)
    found = compare({"fisher": FisherScore()}, X, y, n_splits=20, n_features=[3])
    assert found.accuracy["fisher"].values[:, 0].tolist() == list(found.all_features)
    assert found.accuracy[RANDOM].values[:, 0] == pytest.approx(found.all_features)
