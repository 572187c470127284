"""Tests of quotients of quadratic forms."""

import warnings

import numpy as np
from numpy.testing import assert_array_equal

from linkselect._forms import ratio


def test_zero_over_zero_is_undefined_and_other_quotients_over_zero_infinite():
    above, below = np.array([0.0, 2.0, -2.0, 3.0, 0.0]), np.array([0.0, 0.0, 0.0, 4.0, 5.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(ratio(above, below), [np.nan, np.inf, -np.inf, 0.75, 0.0])


def test_an_overflow_is_infinite_without_a_warning():
    with np.errstate(all="raise"):
        assert_array_equal(ratio(np.array([1e300]), np.array([1e-300])), [np.inf])
