"""`compare(groups=)`: no group is on both sides of a split."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from linkselect import ConstraintScore, FisherScore, LaplacianScore, Pairs, VarianceScore, compare
from linkselect.evaluation import PairKFold, corrected_t_test
from linkselect.evaluation._label_splits import split_rows
from tests.helpers.compared import two_classes


def splits(y, groups, n_splits=20, test_size=0.2, seed=0):
    y, groups = np.asarray(y), np.asarray(groups)
    names = np.array([f"class {one}" for one in range(y.max() + 1)], dtype=object)
    return list(split_rows(y, n_splits, test_size, seed, groups, names))


def replicates(n_patients=30, seed=0, n_features=50):
    """Draw noise: three samples and one label per patient, and large patient effects."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), 3)
    X = rng.normal(size=(n_patients, n_features))[patient]
    X += 0.3 * rng.normal(size=X.shape)
    return X, rng.permutation(np.arange(n_patients) % 2)[patient], patient


class Seen(LaplacianScore):
    """Record the first feature, the labels and the pairs of every fit."""

    fits: list = []

    def fit(self, X, y=None, *, pairs=None, sample_ids=None):
        Seen.fits.append((np.asarray(X)[:, 0].astype(int), y, pairs))
        return super().fit(X, y, pairs=pairs, sample_ids=sample_ids)


class SeenPairs(Seen):
    sees = "pairs"


@pytest.mark.parametrize("sizes", [[3] * 30, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]])
@pytest.mark.parametrize("test_size", [0.2, 0.5, 0.8])
def test_splits_of_pure_groups(sizes, test_size):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = groups % 2
    found = splits(y, groups, test_size=test_size)
    assert len(found) == 20
    assert len({tuple(test) for _, test in found}) > 8, (
        "splits are random, also with groups of different sizes"
    )
    for train, test in found:
        assert not set(groups[train]) & set(groups[test])
        assert_array_equal(np.union1d(train, test), np.arange(len(y)))
        assert set(y[train]) == set(y[test]) == {0, 1}
        share = len(np.unique(groups[test])) / len(sizes)
        assert share == pytest.approx(test_size, abs=0.1)


@pytest.mark.parametrize("n_classes", [2, 5, 12])
def test_every_class_is_on_both_sides_of_every_split(n_classes):
    groups = np.repeat(np.arange(2 * n_classes), 2)  # two groups for each class
    y = groups % n_classes
    for train, test in splits(y, groups):
        assert set(y[train]) == set(y[test]) == set(range(n_classes))


def test_groups_that_hold_several_classes():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 10)  # sites
    y = (rng.random(60) < 0.4).astype(int)
    y[groups == 5] = 1  # the only site where this class is the most frequent
    y[groups == 0], y[0] = 0, 2
    y[10] = 2  # and a class that two sites have
    for train, test in splits(y, groups):
        assert not set(groups[train]) & set(groups[test])
        assert set(y[train]) == set(y[test]) == {0, 1, 2}


def test_classes_whose_groups_are_as_many_are_not_drawn_alike():
    groups = np.repeat(np.arange(20), 3)
    y = (groups >= 10).astype(int)
    apart = [
        set(groups[test[y[test] == 0]] + 10) != set(groups[test[y[test] == 1]])
        for _, test in splits(y, groups)
    ]
    assert any(apart)


def test_too_few_groups_are_counted():
    groups = np.repeat(np.arange(5), 4)
    with pytest.raises(ValueError, match="class 'class 1' are in one group.*second group"):
        splits((groups == 0).astype(int), groups)
    groups = np.arange(12) % 2
    y = np.repeat(np.arange(3), 4)
    assert len(splits(y, groups)) == 20, "all classes are in both groups"
    # Four classes in a ring, each in two of four groups: no half of the groups has all classes.
    ring = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
    y = np.repeat(np.arange(6), 2)
    with pytest.raises(
        ValueError, match="4 groups of labelled samples could not be split.*all 6 classes"
    ):
        splits(y, np.ravel(ring))


def test_no_row_of_a_test_group_trains():
    X, y = two_classes(n=90)
    X[:, 0] = np.arange(90)
    groups = np.array(list("abcdefghijklmnopqrstuvwxyzABCD"), dtype=object)[np.arange(90) // 3]
    y = (np.arange(90) // 3) % 2
    y = np.where(np.arange(90) % 3 == 2, -1, y)  # the third sample of each patient is unlabelled
    pairs = Pairs(must=[(2, 5), (8, 11), (0, 6)], cannot=[(0, 3), (5, 20)])
    for kind in (Seen, SeenPairs):
        Seen.fits.clear()
        methods = {"seen": kind(), "fisher": FisherScore()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there are too few pairs to be held out
            found = compare(methods, X, y, pairs=pairs, groups=groups, n_splits=6, n_features=[3])
        assert len(Seen.fits) == 7
        for rows, labels, given in Seen.fits[1:]:
            out = np.setdiff1d(np.arange(90), rows)
            assert len(out) == 18
            assert len(np.unique(groups[out])) == 6, "whole patients are held out"
            assert (np.asarray(labels) == -1).sum() == 24, (
                "unlabelled samples of the others are used for training"
            )
            if kind is SeenPairs:
                assert {row for pair in (*given.must, *given.cannot) for row in pair} <= set(rows)
        assert found.accuracy["seen"].values.shape == (6, 1)


def test_pairs_are_held_out_by_groups():
    X, y, patient = replicates(100)
    pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    SeenPairs.fits.clear()
    methods = {"seen": SeenPairs(), "variance": VarianceScore()}
    cv = PairKFold(3, random_state=0)
    found = compare(methods, X, pairs=pairs, groups=patient, n_features=[5], cv=cv)
    assert found.held_out_pairs.n_folds == 3
    group_of = dict(enumerate(patient.tolist()))
    expected = list(cv.split(pairs, group_of))
    for (*_, given), (train, test) in zip(SeenPairs.fits[1:], expected, strict=True):
        assert set(given.must) == set(train.must)
        ends = [
            {group_of[one] for pair in (*some.must, *some.cannot) for one in pair}
            for some in (given, test)
        ]
        assert not ends[0] & ends[1]
    inside = Pairs(
        [(row, row + 1) for row in range(0, 30, 3)], [(row, row + 1) for row in range(30, 60, 3)]
    )
    with pytest.raises(ValueError, match="every pair lies within a single group"):
        compare(methods, X, pairs=inside, groups=patient)


def test_replicates_do_not_make_noise_accurate():
    alone, together = [], []
    for seed in range(6):
        X, y, patient = replicates(seed=seed)
        methods = {"fisher": FisherScore(), "constraint": ConstraintScore()}
        alone.append(compare(methods, X, y, n_splits=8, n_features=[10]))
        together.append(compare(methods, X, y, groups=patient, n_splits=8, n_features=[10]))
    assert min(found.mean_accuracy["fisher"] for found in alone) > 0.9
    assert np.mean([found.mean_accuracy["fisher"] for found in together]) < 0.6


def test_differences_count_groups_not_rows():
    X, y, patient = replicates()
    found = compare(
        {"a": FisherScore(), "b": VarianceScore()}, X, y, groups=patient, n_features=[5]
    )
    gap = found.difference("a", "b")
    curves = [found.accuracy[name].values.mean(axis=1) for name in (gap.better, gap.worse)]
    assert gap.p == pytest.approx(corrected_t_test(curves[0] - curves[1], 24, 6))


def test_groups_of_one_row_each_are_rows():
    X, y = two_classes()
    methods = {"fisher": FisherScore()}
    found = compare(methods, X, y, groups=np.arange(len(y)), n_splits=4, n_features=[2])
    assert found.mean_accuracy["fisher"] > 0.9


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (np.zeros(5), "groups has 5 values, but X has"),
        ([None, *range(119)], "1 missing value"),
        (pd.Series(["a"] * 120), "All labelled samples of class '0' are in one group"),
    ],
)
def test_groups_that_do_not_fit(groups, problem):
    X, y = two_classes()
    with pytest.raises(ValueError, match=problem):
        compare({"fisher": FisherScore()}, X, y, groups=groups)
