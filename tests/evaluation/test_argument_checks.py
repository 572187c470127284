import numpy as np
import pandas as pd
import pytest

from linkselect import LSDF, FisherScore, compare
from linkselect.evaluation._curves import RANDOM
from tests.helpers.compared import Worst, two_classes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_features": [0, 1]}, "ascending list of whole numbers from 1 to 12"),
        ({"n_features": [13]}, "ascending list of whole numbers from 1 to 12"),
        ({"n_splits": 1}, "n_splits=1, .* at least 2"),
        ({"y": np.zeros(120, dtype=int)}, "two classes"),
        ({"y": np.r_[1, np.zeros(119, dtype=int)]}, "smallest with 1"),
        ({"selectors": {}}, "no method"),
        ({"selectors": {RANDOM: FisherScore()}}, "Choose another name"),
        ({"y": np.where(np.arange(120) % 2, 1, -1)}, "1 class, .*-1 means unlabelled"),
        ({"y": ["one", -1] * 60}, "1 class, .*-1 means unlabelled"),
        ({"y": ["one", None] * 60}, r"1 class, .*two samples each\.$"),
        ({"n_features": []}, "ascending list of whole numbers from 1 to 12"),
        ({"n_features": [1.5]}, "whole numbers"),
        ({"top": 0}, "top=0, .* at least 1"),
        ({"test_size": 30}, "between 0 and 1"),
        ({"y": np.arange(119) % 2}, "inconsistent"),
    ],
)
def test_bad_input(change, words):
    X, y = two_classes()
    arguments = {"selectors": {"fisher": FisherScore()}, "X": X, "y": y, **change}
    with pytest.raises(ValueError, match=words):
        compare(**arguments)


def test_methods_without_names_are_refused():
    X, y = two_classes()
    with pytest.raises(TypeError, match=r"selectors is a list.*\{\"fisher\": FisherScore\(\)"):
        compare([FisherScore()], X, y)


def test_labels_of_pandas_may_be_missing():
    X, y = two_classes()
    missing = pd.Series(y, dtype="string").mask(np.arange(len(y)) % 5 == 0)
    found = compare({"lsdf": LSDF()}, X, missing, n_splits=2)
    expected = compare({"lsdf": LSDF()}, X, missing.fillna("-1").astype(int), n_splits=2)
    assert found.measures[0].means == expected.measures[0].means


def test_minus_one_as_text_is_a_class():
    X, y = two_classes()
    found = compare({"fisher": FisherScore()}, X, np.where(y, "1", "-1"), n_splits=2)
    assert found.saw["fisher"] == "the labels of 120 samples"


def test_top_is_at_most_all_features():
    X, y = two_classes()
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_splits=2, top=100)
    assert found.top == 12
    assert found.overlap == ((1.0, 1.0), (1.0, 1.0))


def test_numbers_of_features_may_be_an_array():
    X, y = two_classes()
    found = compare({"fisher": FisherScore()}, X, y, n_splits=2, n_features=np.array([1, 2]))
    assert found.accuracy["fisher"].n_features.tolist() == [1, 2]
