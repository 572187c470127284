"""Compare entropies and mutual information with their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from linkselect._search.information import (
    CELLS_AS_BITS,
    STATES_AS_BITS,
    Discrete,
    mutual_information,
    symmetric_uncertainty,
)
from tests.helpers import literal


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**20))
def test_information_equals_the_definition(n_samples, n_states, n_values, seed):
    rng = np.random.default_rng(seed)
    states = rng.integers(0, rng.integers(1, n_states + 1, 4), (n_samples, 4))
    variable = rng.integers(0, n_values, n_samples)
    features, columns = Discrete.of(states), states.T.tolist()
    of = variable.tolist()
    assert_allclose(features.entropy, [literal.entropy(f) for f in columns], atol=1e-12)
    expected = [literal.information(f, of) for f in columns]
    assert_allclose(mutual_information(features, variable).value, expected, atol=1e-12)
    expected = [literal.uncertainty(f, of) for f in columns]
    assert_allclose(symmetric_uncertainty(features, variable).value, expected, atol=1e-12)


@pytest.mark.parametrize("n_values", [2, CELLS_AS_BITS // STATES_AS_BITS, 100])
def test_counting_by_bits_and_by_sorting_agree(n_values):
    rng = np.random.default_rng(0)
    states = rng.integers(0, [2, 3, STATES_AS_BITS, STATES_AS_BITS + 1, 500], (1000, 5))
    variable = rng.integers(0, n_values, 1000)
    some = np.array([4, 1, 2])
    expected = [literal.information(states[:, f].tolist(), variable.tolist()) for f in some]
    found = mutual_information(Discrete.of(states), variable, some).value
    assert_allclose(found, expected, atol=1e-12)
