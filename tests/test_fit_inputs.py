"""Inputs of `fit`: pairs take precedence over labels, and ids default to a pandas index."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from linkselect import (
    ConstraintScore,
    COPKMeans,
    FisherScore,
    Pairs,
    VarianceScore,
    compare,
)
from linkselect._samples.checks import Given
from linkselect.pairs import PairConflictError


def test_pairs_come_before_labels_which_are_then_not_looked_at():
    pairs = Pairs(must=[(0, 3)], cannot=[(0, 1)])
    given = Given.read(np.zeros((4, 1)), "not labels", pairs)
    assert given.labels() is None
    assert given.supervision(4).classes.tolist() == [0, 1, -1, 0]


def test_labels_are_checked():
    given = Given.read(np.zeros((4, 1)), [[0], [0], [1], [-1]])
    assert given.labels().tolist() == [0, 0, 1, -1]
    assert given.supervision(4).classes.tolist() == [0, 0, 1, -1]
    with pytest.raises(ValueError, match="y has the value 0.5"):
        Given(y=[0.5, 1.0]).supervision(2)


def test_nothing_is_known_without_both():
    given = Given.read(np.zeros((4, 1)))
    assert given.is_empty
    assert given.supervision(4).unlabelled.all()
    assert not Given(y=[0, 1]).is_empty
    assert not Given(pairs=Pairs()).is_empty


def test_ids_are_those_passed_or_else_the_index_of_a_frame():
    frame = pd.DataFrame({"f": [0.0, 1.0, 2.0]}, index=["a", "b", "c"])
    by_index = Given.read(frame, pairs=Pairs(must=[("a", "c")]))
    assert by_index.ids_are_index
    assert by_index.supervision(3).must.tolist() == [[0, 2]]
    passed = Given.read(frame, pairs=Pairs(must=[(7, 9)]), sample_ids=iter([7, 8, 9]))
    assert not passed.ids_are_index
    assert passed.supervision(3).must.tolist() == [[0, 2]]
    rows = Given.read(frame.to_numpy(), pairs=Pairs(must=[(0, 2)]))
    assert (rows.sample_ids, rows.ids_are_index) == (None, False)


def test_row_numbers_do_not_name_an_index_that_means_something_else():
    frame = pd.DataFrame({"f": [0.0, 1.0, 2.0]}, index=[2, 1, 0])
    pairs = Pairs.from_labels([0, 0, 1])
    with pytest.raises(ValueError, match="the index of X contains other ids: it starts with 2"):
        Given.read(frame, pairs=pairs).supervision(3)
    assert Given.read(frame, None, pairs, range(3)).supervision(3).must.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("index", "warns"),
    [(["b", "a"], True), (["a", "b"], False), (["a", "c"], False), ([0, 1], False)],
)
def test_labels_in_another_order_than_the_samples(index, warns):
    frame = pd.DataFrame({"f": [0.0, 1.0]}, index=["a", "b"])
    y = pd.Series([0, 1], index=index)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert Given.read(frame, y).labels().tolist() == [0, 1]
    assert [r"y.loc[X.index]" in str(one.message) for one in caught] == [True] * warns


def test_conflicts():
    given = Given(pairs=Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2), (0, 3)]))
    with pytest.raises(PairConflictError, match="0 = 1 = 2"):
        given.supervision(4)
    with pytest.warns(UserWarning, match=r"0 = 1 = 2\. It is ignored\. Correct"):
        warned = given.supervision(4, "warn")
    assert warned.cannot.tolist() == given.supervision(4, "drop").cannot.tolist() == [[0, 3]]


@pytest.mark.parametrize(
    "fit",
    [
        ConstraintScore().fit,
        FisherScore().fit,
        VarianceScore().fit,
        COPKMeans(2).fit,
        make_pipeline(ConstraintScore()).fit,
        partial(compare, {"constraint": ConstraintScore()}),
    ],
    ids=["pairs", "labels", "nothing", "clusterer", "pipeline", "compare"],
)
def test_pairs_by_position_are_told_their_name(fit):
    X = np.random.default_rng(0).random((8, 3))
    with pytest.raises(TypeError, match=r"second argument, y.*Pairs.*fit\(X, pairs=pairs\)"):
        fit(X, Pairs(must=[(0, 3)], cannot=[(0, 6)]))
