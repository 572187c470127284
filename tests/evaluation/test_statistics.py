import numpy as np
import pytest
from scipy import stats

from linkselect import FisherScore, compare
from linkselect.evaluation._curves import RANDOM, Curve
from linkselect.evaluation._significance import (
    corrected_t_test,
    paired_differences,
    stability_of_best,
)
from tests.helpers.compared import Worst, two_classes


def test_the_same_method_twice_differs_by_nothing():
    X, y = two_classes()
    found = compare({"a": FisherScore(), "b": FisherScore()}, X, y, n_splits=4)
    gap = found.difference("a", "b")
    assert (gap.mean, gap.p) == (0.0, 1.0)
    assert found.spearman[0][1] == pytest.approx(1.0)
    assert found.overlap[0][1] == 1.0


def test_the_test_counts_the_rows_of_the_splits():
    """For 7 samples, a test size of 0.3 means 3 samples, not 2.1."""
    X, y = two_classes(n=7, d=3)
    found = compare({"fisher": FisherScore()}, X, y, n_splits=3, test_size=0.3)
    values = {name: curve.values.mean(axis=1) for name, curve in found.accuracy.items()}
    expected = corrected_t_test(values["fisher"] - values[RANDOM], 4, 3)
    assert found.difference("fisher", RANDOM).p == pytest.approx(expected)


def test_agreement_and_stability():
    X, y = two_classes()
    methods = {"fisher": FisherScore(), "worst": Worst()}
    found = compare(methods, X, y, top=2, n_splits=5)
    assert set(found.rankings["fisher"][:2]) == {0, 1}
    assert found.overlap[0][1] == 0.0
    ranks = [np.argsort(found.rankings[name]) for name in methods]
    assert found.spearman[0][1] == pytest.approx(stats.spearmanr(*ranks).statistic)
    assert found.stability["fisher"] == pytest.approx(1.0)
    assert found.accuracy["fisher"].values.shape[0] == 5
    assert all(seconds > 0 for seconds in found.seconds.values())


def test_paired_differences_by_hand():
    counts = np.array([1, 2])
    curves = {
        "low": Curve(counts, np.array([[0.5, 0.5], [0.6, 0.4]])),
        "high": Curve(counts, np.array([[0.9, 0.7], [0.8, 0.8]])),
    }
    (found,) = paired_differences(curves, n_train=8, n_test=2)
    assert (found.better, found.worse, found.mean) == ("high", "low", pytest.approx(0.3))
    assert found.p == found.p_adjusted == pytest.approx(corrected_t_test([0.3, 0.3], 8, 2))


def test_stability_of_the_best():
    assert stability_of_best([np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])], top=2) == 1.0
    assert stability_of_best([np.array([0, 1, 2, 3]), np.array([2, 3, 0, 1])], top=2) < 0
