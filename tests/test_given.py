"""What `fit` was given: pairs come before labels, and a pandas index is the default of ids."""

import numpy as np
import pandas as pd
import pytest

from linkselect import Pairs
from linkselect.given import Given
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
    with pytest.raises(ValueError, match="the index of X does not: it starts with 2"):
        Given.read(frame, pairs=pairs).supervision(3)
    assert Given.read(frame, None, pairs, range(3)).supervision(3).must.tolist() == [[0, 1]]


def test_conflicts():
    given = Given(pairs=Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2), (0, 3)]))
    with pytest.raises(PairConflictError, match="0 = 1 = 2"):
        given.supervision(4)
    with pytest.warns(UserWarning, match=r"0 = 1 = 2\. They were left out\. Correct"):
        warned = given.supervision(4, "warn")
    assert warned.cannot.tolist() == given.supervision(4, "drop").cannot.tolist() == [[0, 3]]
