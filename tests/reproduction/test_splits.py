import numpy as np
import pytest

from linkselect.reproduction import (
    every_second,
    first_half,
    first_part,
    fixed_size,
    load_dataset,
    prototypes,
    random_pairs,
    stratified_half,
)
from linkselect.reproduction._scaling import fill_missing, scale_by_maximum, scale_to_unit

Y = np.array([1, 0, 0, 1, 1, 0, 1, 1, 0, 2, 2])


def rows(split):
    return [part.tolist() for part in split]


def test_first_half_includes_the_middle_row():
    assert rows(first_half(Y)) == [[0, 1, 2, 3, 4, 9], [5, 6, 7, 8, 10]]


def test_every_second_starts_with_the_first():
    assert rows(every_second(Y)) == [[0, 1, 4, 5, 7, 9], [2, 3, 6, 8, 10]]


def test_first_part_has_the_requested_size_and_class_proportions():
    y = np.array([0] * 7 + [1] * 3)
    assert rows(first_part(y, 5))[0] == [0, 1, 2, 3, 7]
    assert [len(first_part(y, n)[0]) for n in range(1, 10)] == list(range(1, 10))
    y = load_dataset("WDBC").y
    train, _ = first_part(y, 376)  # as in table 1 of the 2020 paper
    assert np.bincount(y[train]).tolist() == [140, 236]


@pytest.mark.parametrize(
    "split",
    [
        lambda random: stratified_half(Y, random),
        lambda random: fixed_size(Y, 1, random),
    ],
)
def test_random_splits_depend_on_the_generator_and_use_each_row_once(split):
    train, test = split(np.random.default_rng(0))
    assert sorted([*train, *test]) == list(range(len(Y)))
    assert rows(split(np.random.default_rng(0))) == [train.tolist(), test.tolist()]
    others = {tuple(split(np.random.default_rng(seed))[0]) for seed in range(20)}
    assert len(others) > 3


def test_random_splits_have_the_requested_class_sizes():
    random = np.random.default_rng(0)
    assert np.bincount(Y[stratified_half(Y, random)[0]]).tolist() == [2, 3, 1]
    assert np.bincount(Y[fixed_size(Y, 2, random)[0]]).tolist() == [2, 2, 2]
    assert np.bincount(Y[prototypes(Y, 2, random)]).tolist() == [2, 2, 2]


def test_more_prototypes_than_rows_are_refused():
    with pytest.raises(ValueError, match="p=3, but the smallest class has only 2 rows"):
        prototypes(Y, 3, np.random.default_rng(0))


def test_random_pairs_have_the_requested_numbers_and_kinds():
    pairs = random_pairs(Y, 4, 6, np.random.default_rng(0))
    assert (pairs.n_must, pairs.n_cannot) == (4, 6)
    assert all(Y[a] == Y[b] for a, b in pairs.must)
    assert all(Y[a] != Y[b] for a, b in pairs.cannot)
    assert pairs == random_pairs(Y, 4, 6, np.random.default_rng(0))
    assert pairs != random_pairs(Y, 4, 6, np.random.default_rng(1))


def test_missing_values_get_the_median_of_the_training_rows():
    nan = np.nan
    X = np.array([[1.0, nan], [3.0, nan], [nan, 5.0], [100.0, nan]])
    filled = fill_missing(X, np.array([0, 1, 2]))
    assert filled.tolist() == [[1.0, 5.0], [3.0, 5.0], [2.0, 5.0], [100.0, 5.0]]
    assert np.isnan(X[2, 0])  # the input is not changed
    assert fill_missing(X, np.array([0, 1]))[0, 1] == 0  # no training row has a value


def test_scaling_keeps_constants():
    X = np.array([[0.0, 2.0, 0.0, -4.0], [5.0, 2.0, 0.0, -2.0], [10.0, 2.0, 0.0, -1.0]])
    unit = scale_to_unit(X)
    np.testing.assert_allclose(unit, [[0, 0, 0, 0], [0.5, 0, 0, 2 / 3], [1, 0, 0, 1]])
    by_maximum = scale_by_maximum(X)
    np.testing.assert_allclose(by_maximum, [[0, 1, 0, 4], [0.5, 1, 0, 2], [1, 1, 0, 1]])
