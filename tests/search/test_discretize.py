"""States of features compared with their definitions and with the bins of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.preprocessing import KBinsDiscretizer

from linkselect._search.discretize import states_of
from tests.helpers import literal


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_deviation_equals_the_definition(dtype):
    X = (np.random.default_rng(0).normal(size=(101, 300)) * 40).astype(dtype)
    expected = np.array([literal.deviation_states(f) for f in X.astype(float).T.tolist()]).T
    assert_array_equal(states_of(X, "deviation"), expected)
    assert_array_equal(states_of(sparse.csr_array(X), "deviation"), expected)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.1, 0.7), (-0.3, 0.1), (1e8, 1e8 + 0.1), (0, 1e-160), (0, 1e300)]
)
@pytest.mark.parametrize("n_samples", [2, 6, 10, 1000, 100_000])
def test_two_equally_frequent_values_stay_apart(low, high, n_samples):
    """They lie exactly on the cuts, where rounding could make the feature constant.

    With several columns, NumPy would add rows sequentially, with a larger error.
    """
    f = np.tile([low, high], n_samples // 2)
    f = np.column_stack([f, np.random.default_rng(0).permutation(f)])
    for X in (f[:, :1], f):
        assert_array_equal(states_of(X, "deviation"), np.where(low == X, 0, 1))


@pytest.mark.parametrize("how", ["deviation", "uniform", "quantile"])
def test_row_order_units_and_a_large_offset_change_no_state(how):
    rng = np.random.default_rng(1)
    X = rng.integers(-1000, 1000, (50, 5)) * 2.0**-20
    states, rows = states_of(X, how), rng.permutation(50)
    assert_array_equal(states_of(X + 2.0**27, how), states)
    assert_array_equal(states_of(3 * X, how), states)
    assert_array_equal(states_of(X[rows], how), states[rows])


@pytest.mark.parametrize("how", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(how):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), rng.integers(0, 30, 40), np.arange(40)])
    bins = KBinsDiscretizer(
        5, encode="ordinal", strategy=how, quantile_method="averaged_inverted_cdf"
    )
    assert_array_equal(states_of(X, how), bins.fit_transform(X))


@pytest.mark.parametrize("how", ["deviation", "uniform", "quantile", None])
def test_a_constant_has_one_state(how):
    assert len(np.unique(states_of(np.full((7, 1), 0.1), how))) == 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, float, bool])
def test_discrete_values_keep_their_partition(dtype):
    X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]]).astype(dtype)
    expected = [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert_array_equal(states_of(X, None), expected)
    assert_array_equal(states_of(sparse.csr_array(X), None), expected)


def test_discrete_values_may_be_large_and_many():
    X = np.array([[-(2**62), 0], [2**62, 300], [2**62 - 1, 5]])
    assert_array_equal(states_of(X, None), [[0, 0], [2, 2], [1, 1]])
    assert_array_equal(states_of(sparse.csr_array(X), None), [[0, 0], [2, 2], [1, 1]])
    many = np.column_stack([np.arange(400) % 2, np.arange(400)])
    assert_array_equal(states_of(many, None), many)
