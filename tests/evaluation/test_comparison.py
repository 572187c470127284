import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import linkselect
from linkselect import MRMR, FisherScore, LaplacianScore, compare, evaluation
from linkselect.evaluation import numbers_of_features
from tests.helpers.compared import two_classes


def test_compare_has_a_short_name():
    assert linkselect.compare is evaluation.compare is compare
    assert "compare" in dir(linkselect)


def test_a_feature_that_varies_too_little_is_named():
    X, y = two_classes(d=3)
    X = pd.DataFrame(X, columns=["a", "b", "c"]).assign(faint=np.linspace(0.0, 1e-95, len(X)))
    methods = {"mrmr": MRMR()}
    with pytest.raises(ValueError, match="1e-90: feature 'faint'"):
        compare(methods, X, y, n_splits=2)
    compare(methods, X, y, n_splits=2, prepare=StandardScaler())
    compare(methods, X, y, n_splits=2, classifier=DecisionTreeClassifier())


def test_steps_can_be_counted():
    X, y = two_classes()
    seen = []

    def track(steps):
        for step in steps:
            seen.append(step)
            yield step

    compare({"a": FisherScore(), "b": LaplacianScore()}, X, y, n_splits=2, track=track)
    assert seen == [(name, split) for split in (-1, 0, 1) for name in ("a", "b")]


def test_numbers_of_features():
    assert numbers_of_features(1) == (1,)
    assert numbers_of_features(10) == (1, 2, 3, 5, 7, 10)
    assert numbers_of_features(5000)[-1] == 100
