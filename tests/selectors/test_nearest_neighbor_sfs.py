"""NearestNeighborSFS: invalid input."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import linkselect as ls


@pytest.mark.parametrize("cv", ["kfold", 1])
def test_parameters_out_of_range(cv, wine):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        ls.NearestNeighborSFS(cv=cv).fit(*wine)


def test_neighbours_need_labels(wine):
    X, y = wine
    selector = ls.NearestNeighborSFS()
    pairs = ls.Pairs.from_labels(y, n_must=5, n_cannot=5, random_state=0)
    with pytest.raises(ValueError, match=r"requires y to be passed.*fit\(X, pairs=pairs\)"):
        selector.fit(X, pairs=pairs)
    with pytest.raises(ValueError, match="y contains only the class 7, but NearestNeighborSFS"):
        selector.fit(X, np.full(len(y), 7))
    with pytest.raises(ValueError, match="y contains no labels, but NearestNeighborSFS"):
        selector.fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match=r"needs at least 2 classes, but y has only one class"):
        selector.fit(X, np.where(y == 0, 5, -1))
    with pytest.raises(ValueError, match="means unlabelled here"):
        selector.fit(X, np.where(y == 0, 1, -1))
    with pytest.raises(ValueError, match="y has 5 labels, but X has 178 rows"):
        selector.fit(X, y[:5])
    with pytest.raises(ValueError, match="y has the value 0.5"):
        selector.fit(X, y + 0.5)


def test_splits_that_cannot_be_scored(wine):
    X, y = wine
    partial = np.where(np.arange(len(y)) < 10, -1, y)
    rows = np.arange(len(y))
    for cv, message in (
        ([], "cv has no splits"),
        ([(rows[:9], rows[10:])], "Split 0 of cv has no labelled training sample among its 9"),
        ([(rows[10:], rows[:9])], r'no labelled test sample among its 9 rows. .*cv="loo"'),
        ([(rows, rows + 1)], r"Split 0 of cv contains row 178, but X has 178 rows \(0..177\)"),
        ([(rows - 1, rows)], "contains row -1"),
        (GroupKFold(3), "groups"),
    ):
        with pytest.raises(ValueError, match=message):
            ls.NearestNeighborSFS(2, cv=cv).fit(X, partial)
