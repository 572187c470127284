"""Functions shared by all implementations of the similarity criterion."""

import numpy as np
from numpy.testing import assert_allclose

from linkselect._search.criterion import (
    form_rounding,
    lowest_of_ties,
    one_feature_kernel,
)


def test_ties_go_to_the_lowest_index():
    features, values = np.array([5, 2, 9, 1]), np.array([1.0, 1.5, 1.25, 1.75])
    for rounding, expected in [(0.0, 5), (0.25, 5), (0.5, 2), (0.74, 2), (0.75, 1)]:
        assert lowest_of_ties(features, values, rounding) == expected


def test_the_rounding_bound_of_forms_depends_on_samples_and_terms():
    assert form_rounding(10, 3) == 1e-12
    assert form_rounding(10**5, 7) == (5 * 10**5 + 8 * 49 + 2048) * 2.0**-53


def test_the_kernel_of_one_feature():
    difference = np.array([0.0, 3.0, -6.0])
    found = one_feature_kernel(difference, 3.0)
    assert_allclose(found, np.exp([0.0, -0.5, -2.0]), rtol=1e-15)
    assert found is difference
