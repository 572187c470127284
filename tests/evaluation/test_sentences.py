import numpy as np
import pytest

from linkselect import FisherScore, VarianceScore, compare
from tests.helpers.compared import Worst, two_classes


def summary_of(methods, **options):
    X, y = two_classes()
    return " ".join(compare(methods, X, y, **{"n_splits": 4} | options).summary)


def test_a_clear_winner_is_named():
    X, y = two_classes()
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_features=[1, 2, 3])
    assert found.leader == "fisher"
    gap = found.difference("worst", "fisher")
    assert (gap.better, gap.worse) == ("fisher", "worst")
    assert gap.p_adjusted < 0.01
    means = found.mean_accuracy
    assert gap.mean == pytest.approx(means["fisher"] - means["worst"])
    text = " ".join(found.summary)
    assert "fisher was significantly better than worst (" in text
    assert "not significantly better than a random choice" in text


def test_nothing_differs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 10)), np.arange(80) % 2
    found = compare({"fisher": FisherScore(), "variance": VarianceScore()}, X, y, n_splits=10)
    text = " ".join(found.summary)
    assert "variance was not significantly better than fisher (" in text
    assert "No method was significantly better than a random choice" in text
    assert all(gap.p_adjusted > 0.05 for gap in found.differences)


def test_words_for_one_method_and_one_number_of_features():
    text = summary_of({"fisher": FisherScore()}, n_features=[1])
    assert "On 4 random splits, using 1-NN with 1 feature, fisher had a mean accuracy of" in text
    assert "highest" not in text
    assert "Every method" not in text
    assert "with 1 to 3 features" in summary_of({"fisher": FisherScore()}, n_features=[1, 3])


def test_a_tie_for_first_is_no_lead():
    methods = {"a": FisherScore(), "b": FisherScore(), "c": Worst()}
    text = summary_of(methods, n_features=[1, 2], n_splits=20)
    assert "a and b had the same highest mean accuracy" in text
    assert "a was significantly better than c (" in text
    assert "b (" not in text


def test_less_than_a_random_choice_is_said():
    text = summary_of({"worst": Worst(), "wide": VarianceScore()}, n_features=[1])
    assert "lower than for a random choice of features" in text
    assert "the others" not in text
    assert "lower than" not in summary_of({"fisher": FisherScore()}, n_features=[1])


def test_a_tiny_p_value_is_no_certainty_in_words_either():
    X, y = two_classes()
    X[:, 0] += 100.0 * y
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_features=[1])
    text = " ".join(found.summary)
    assert "p < 0.001)" in text
    assert "p = 0)" not in text
