import numpy as np
import pytest

from linkselect.scores._left_out import squared_differences, sums_without_each


@pytest.mark.parametrize("n_rows", [0, 1, 2, 7])
def test_sums_are_those_of_the_other_rows(n_rows):
    values = np.random.default_rng(0).random((n_rows, 3))
    without, total = sums_without_each(values)
    for row in range(n_rows):
        np.testing.assert_allclose(without[row], np.delete(values, row, axis=0).sum(axis=0))
    np.testing.assert_allclose(total, values.sum(axis=0))


def test_sums_do_not_cancel():
    without, _ = sums_without_each(np.array([[1e30], [1e-30], [0.0]]))
    assert without.ravel().tolist() == [1e-30, 1e30, 1e30]


def test_squared_differences_of_links():
    block = np.array([[1.0, 0.0], [4.0, 2.0], [0.0, 0.0]])
    links = np.array([[0, 1], [2, 1]])
    assert squared_differences(block, links).tolist() == [[9.0, 4.0], [16.0, 4.0]]
